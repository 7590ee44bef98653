"""What `import hiergcn` offers: functions, configs and help."""

import inspect
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.utils import estimator_checks as checks

import hiergcn
from hiergcn import Graph, HGCNClassifier, InputError, NodeClassifier, NodeRegressor
from hiergcn.coarsening import Hierarchy
from hiergcn.datasets import planted_graph
from hiergcn.datasets.planted import planted_numbers

FUNCTIONS = ("coarsen", "compare", "explain", "fit", "load", "report", "suggest")
QUICK: dict[str, Any] = {"epochs": 3, "hidden": 4}


@pytest.fixture(scope="module")
def graph() -> Graph:
    planted = planted_graph(60, classes=3, seed=2)
    ids = np.array([f"n{k}" for k in range(60)])
    return Graph(planted.adjacency, planted.features, planted.labels, ids, ("a", "b", "c"), "mine")


def test_functions_and_configs_are_found_by_completion() -> None:
    assert {*FUNCTIONS, "CoarsenConfig", "HGCNConfig", "HGCNPlusConfig", "TrainConfig"} <= set(dir(hiergcn))
    for name in dir(hiergcn):
        assert getattr(hiergcn, name) is not None
    for name in FUNCTIONS:
        function = getattr(hiergcn, name)
        assert callable(function)
        first = next(iter(inspect.signature(function).parameters))
        assert first in ("data", "graph", "run", "path")
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = hiergcn.nonsense


def test_a_graph_is_coarsened(graph: Graph) -> None:
    found = hiergcn.coarsen(graph, levels=2)
    assert isinstance(found, Hierarchy)
    assert found.depth == 2
    assert hiergcn.coarsen(graph, 1, "random", seed=3).config.seed == 3


def test_import_is_instant_and_no_package_hides_a_function() -> None:
    code = (
        "import sys, hiergcn\n"
        "heavy = [name for name in ('numpy', 'torch', 'pandas', 'inspect') if name in sys.modules]\n"
        "import hiergcn.comparison, hiergcn.coarsening, hiergcn.explanation, hiergcn.reports, hiergcn.advise.suggest\n"
        f"print(heavy, {{getattr(hiergcn, name).__module__ for name in {FUNCTIONS}}})\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[] {'hiergcn.api'}\n"


def test_from_fit_to_report(graph: Graph, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = hiergcn.fit(graph, "gcn", seeds=2, device="cpu", verbose=True, **QUICK)
    assert "seed 1: validation score" in capsys.readouterr().out
    assert len(repr(result)) < 100
    result.save(tmp_path / "run")
    loaded = hiergcn.load(tmp_path / "run", device="cpu")
    assert isinstance(loaded, NodeClassifier)
    np.testing.assert_allclose(loaded.predict_proba(), result.probabilities, atol=1e-6)
    expected = hiergcn.explain(result, "n7").to_dict()
    for run in (tmp_path / "run", loaded):
        found = hiergcn.explain(run, "n7")
        assert found.nodes[0].id in found._repr_html_()
        assert found.to_dict()["predicted"] == expected["predicted"]
        assert found.score == pytest.approx(expected["score"], abs=1e-4)
    assert len(repr(found)) < 200
    assert len(hiergcn.suggest(Graph(graph.adjacency, graph.features), 4)) == 4
    assert hiergcn.report(tmp_path / "run") == tmp_path / "run" / "report.html"
    page = hiergcn.report(result, tmp_path / "page.html")
    assert "<html" in page.read_text(encoding="utf-8")
    with pytest.raises(InputError, match="exists already"):
        hiergcn.report(result, tmp_path / "page.html")
    with pytest.raises(InputError, match="not a DataFrame"):
        hiergcn.fit(pd.DataFrame())  # type: ignore[arg-type]


def test_a_comparison_has_a_table(graph: Graph, tmp_path: Path) -> None:
    found = hiergcn.compare(graph, ["mlp", "gcn"], seeds=2, device="cpu", **QUICK)
    table = found.to_frame()
    assert list(table.index) == ["mlp", "gcn"]
    assert table["accuracy"].between(0, 1).all()
    assert "difference" in found._repr_html_()
    assert len(repr(found)) < 150
    assert hiergcn.report(found, tmp_path / "page.html").is_file()


def test_predictions_by_the_users_ids(graph: Graph, tmp_path: Path) -> None:
    classifier = NodeClassifier("mlp", device="cpu", **QUICK).fit(graph)
    named = classifier.predict(as_frame=True)
    assert list(named.index) == list(graph.ids)
    assert named.index.name == "id"
    assert list(named) == list(classifier.predict())
    shares = classifier.predict_proba(graph, as_frame=True)
    assert list(shares.columns) == ["a", "b", "c"]
    np.testing.assert_allclose(shares.to_numpy(), classifier.predict_proba(), atol=1e-6)
    classifier.save(tmp_path / "run")
    again = NodeClassifier.load(tmp_path / "run", device="cpu").predict(as_frame=True)
    assert dict(again) == dict(named)
    numbers = planted_numbers(60, seed=1)
    found = NodeRegressor("mlp", device="cpu", **QUICK).fit(numbers).predict(as_frame=True)
    assert found.name == numbers.target_name


def test_help_begins_with_what_matters() -> None:
    written = "time_limit: float | None = None, coverage: float | None = None, verbose: bool = False, **settings"
    assert written in str(inspect.signature(NodeClassifier))
    assert not [name for name in dir(HGCNClassifier) if name.startswith("set_") and name != "set_params"]


WITHOUT_FIT = (
    checks.check_get_params_invariance,
    checks.check_set_params,
    checks.check_estimator_cloneable,
    checks.check_estimator_repr,
    checks.check_estimator_tags_renamed,
)
"""scikit-learn's checks that do not call `fit` with a table. `fit` takes a graph, since the neighbours of a node help
to classify it, so the others do not apply. Nor do three of the constructor, which is meant to refuse an unknown setting
at once: `check_do_not_raise_errors_in_init_or_set_params`, `check_parameters_default_constructible` and
`check_no_attributes_set_in_init`; settings depend on the model and are kept together."""


@pytest.mark.filterwarnings("error:Estimator's parameters changed", "ignore:.*occurred during set_params")
@pytest.mark.parametrize("check", WITHOUT_FIT, ids=lambda check: check.__name__)
@pytest.mark.parametrize("estimator", [NodeClassifier(), HGCNClassifier(levels=2), NodeRegressor("mlp")], ids=repr)
def test_scikit_learn(check: object, estimator: object) -> None:
    assert callable(check)
    check(type(estimator).__name__, clone(estimator))
