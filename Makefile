# make demo    set up, then train H-GCN on Cora with 20 seeds
# make test    set up, then lint, types and tests

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check

.DELETE_ON_ERROR:
.PHONY: help setup demo test lint docs wheel bench explorer

help:
	@echo 'make demo    set up, then train H-GCN on Cora with 20 seeds; the result goes to runs/'
	@echo 'make test    set up, then run ruff, mypy and pytest'
	@echo 'make lint    set up, then run ruff and mypy alone'
	@echo 'make docs    set up, then build the documentation site into build/site'
	@echo 'make wheel   set up, then build wheel and sdist, and use the wheel in an empty environment'
	@echo 'make bench   set up, then measure speed and memory beside other libraries (hours; 12 GB), and draw docs/benchmarks.md'
	@echo 'make explorer   build the script of the report page again (needs Node 18 or newer; users do not)'
	@echo 'make setup   only set up: a virtual environment in $(VENV) with everything for development'
	@echo
	@echo 'PYTHON=python3.12 make ... takes another Python (3.11 or newer).'

setup: $(VENV)/.dev

demo: $(VENV)/.core
	$(BIN)/hiergcn fit cora --seeds 20

test: lint
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2

lint: $(VENV)/.dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

# Dead links, and names that the API reference does not find, fail the build.
docs: $(VENV)/.dev
	$(BIN)/zensical build --clean --strict

# The wheel is built from the sdist, checked, and used from an empty folder with nothing but its dependencies; then
# the experiments join it and write a page.
wheel: $(VENV)/.dev
	rm -rf dist build/wheel
	$(BIN)/python -m build --outdir dist .
	$(BIN)/twine check --strict dist/*
	$(BIN)/check-wheel-contents dist/*.whl
	$(PYTHON) -m venv build/wheel/env
	build/wheel/env/bin/python -m pip --disable-pip-version-check install --quiet -c constraints.txt dist/*.whl
	cd build/wheel && env/bin/hiergcn fit cora --model gcn --seeds 1 --out run && test -s run/report.html
	! build/wheel/env/bin/hiergcn reproduce list
	build/wheel/env/bin/python -m pip --disable-pip-version-check install --quiet -c constraints.txt ./experiments
	build/wheel/env/bin/hiergcn reproduce page --store docs/results/numbers/runs.json.gz --out build/wheel/pages
	cmp build/wheel/pages/numbers/README.md docs/results/numbers/README.md

bench: $(VENV)/.bench
	@set -e; for script in $$(grep -l __main__ benchmarks/*.py | grep -v plots.py) benchmarks/plots.py; do \
	  echo "$$script"; $(BIN)/python "$$script"; done

# The script that every report carries; its packages are those of explorer/package-lock.json, to the last byte.
explorer:
	cd explorer && npm ci --no-audit --no-fund && npm run check && npm run build

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo 'hiergcn needs Python 3.11 or newer, and $(PYTHON) is not: run make with PYTHON=/path/to/python3.11' >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); exit 1; }

# The pin of torch comes from constraints.txt; a stamp is remade when it or the list of dependencies changes.
$(VENV)/.core: pyproject.toml experiments/pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) install -c constraints.txt -e . -e ./experiments
	@touch $@

$(VENV)/.dev: pyproject.toml experiments/pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) install -c constraints.txt -e '.[dev]' -e './experiments[walks]'
	@touch $(VENV)/.core $@

$(VENV)/.bench: $(VENV)/.dev
	$(PIP) install -c constraints.txt -e '.[bench]'
	@touch $@
