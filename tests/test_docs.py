"""README and docs: Python blocks run, output is as printed, shell commands parse, and links lead somewhere."""

import re
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sybil import Example, Sybil
from sybil.evaluators.python import PythonEvaluator
from sybil.parsers.markdown import CodeBlockParser
from typer.main import get_command

from hiergcn.cli import make_app
from hiergcn.datasets import planted_numbers
from hiergcn.graph.tables.text_columns import MISSING

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.glob("*.md")), *sorted(DOCS.glob("results/**/*.md"))]
GUIDE, RULES = DOCS / "own-data.md", DOCS / "files.md"


def page_name(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the files that the pages speak of: companies with a sector, or papers with a topic, and a price."""
    planted = planted_numbers(80, features=3, seed=0)
    edges, nodes = planted.to_pandas()
    nodes = nodes.rename(columns={nodes.columns[0]: "paper", planted.target_name: "price"})
    nodes["price"] = nodes["price"].where(np.arange(80) % 3 > 0)
    classes = np.where(planted.truth > np.median(planted.truth), "art", "law")
    nodes["topic"] = nodes["sector"] = np.where(np.arange(80) % 2, classes, "")
    edges.to_csv(tmp_path / "edges.csv", index=False)
    nodes.to_csv(tmp_path / "nodes.csv", index=False)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("page", [page for page in PAGES if page != GUIDE], ids=page_name)
def test_code_blocks_run(page: Path, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_blocks(page, capsys)


def run_blocks(page: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """Run the blocks of a page one after the other; return the names that its Python defines."""

    def compare(example: Example) -> str | None:
        """Compare a block of text with what the Python block before it printed, if it printed anything."""
        printed = capsys.readouterr().out
        return None if printed in ("", example.parsed) else f"Printed {printed!r}, the page says {example.parsed!r}."

    parsers = [
        CodeBlockParser("python", PythonEvaluator()),
        CodeBlockParser("text", compare),
        CodeBlockParser("sh", parse_commands),
    ]
    document = Sybil(parsers=parsers).parse(page)
    for example in document.examples():
        example.evaluate()
    return dict(document.namespace)


def parse_commands(example: Example) -> None:
    """Parse every line that starts with `hiergcn`, without running it: options, choices and numbers must be right."""
    for line in example.parsed.replace("\\\n", " ").splitlines():
        program, *words = shlex.split(line, comments=True) or [""]
        if program != "hiergcn" or words[0].startswith("-"):
            continue
        command: Any = get_command(make_app())
        while hasattr(command, "commands") and words[:1] and not words[0].startswith("-"):
            program, *words = words
            command = command.commands[program]
        command.make_context(program, words, resilient_parsing=False)


def test_the_guide_answers(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Run the guide to own data, and look at what its code found."""
    pytest.importorskip("torch_geometric", reason="PyG is not installed")
    found = run_blocks(GUIDE, capsys)
    assert set(found["predictions"].values()) <= {"art", "law"}
    assert np.array_equal(found["again"].predict(), found["classifier"].predict())
    assert found["scores"].mean() > 0.8  # iris, three classes
    assert found["logits"].shape == (150, 3)


def test_guide_and_rules_share_no_sentence() -> None:
    guide, rules = (_sentences(page) for page in (GUIDE, RULES))
    assert not guide & rules


def _sentences(page: Path) -> set[str]:
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    parts = re.split(r"[.:;|]\s", " ".join(text.split()))
    return {part.strip() for part in parts if len(part.split()) > 5}


def test_links_lead_somewhere() -> None:
    assert len(PAGES) > 15
    for page in PAGES:
        links = re.findall(r"\]\(([^)#:\s]+)(?:#([\w-]+))?\)", page.read_text(encoding="utf-8"))
        for target, heading in links:
            assert (page.parent / target).exists(), (page_name(page), target)
            assert not heading or heading in _headings(page.parent / target), (page_name(page), target, heading)


def _headings(page: Path) -> set[str]:
    lines = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {re.sub(r"[^\w -]", "", line.lower()).replace(" ", "-") for line in lines}


def test_the_rules_name_every_missing_value() -> None:
    rules = RULES.read_text(encoding="utf-8")
    assert all(f"`{word}`" in rules for word in MISSING if word)


def test_the_tests_that_guard_against_faults_exist() -> None:
    page = (DOCS / "reliability.md").read_text(encoding="utf-8")
    for row in re.findall(r"^\|.*`\w+/.*_\w+\.py`.*$", page, re.MULTILINE):
        for path, names in re.findall(r"`([\w/]+\.py)`(?:: ((?:`test_\w+`(?:, )?)+))?", row):
            source = (ROOT / "tests" / path).read_text(encoding="utf-8")
            assert all(f"def {name}(" in source for name in re.findall(r"test_\w+", names)), (path, names)
