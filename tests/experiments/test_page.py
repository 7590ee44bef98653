"""The page of the paper's experiments, made from results that are whole, in part there, or not there at all."""

import csv
import re
from pathlib import Path

import pytest
from made_up import TINY, records_of

from hiergcn_experiments.experiment import Cell, Measurement
from hiergcn_experiments.page import Table, table_lines, with_code
from hiergcn_experiments.paper.evidence import Evidence
from hiergcn_experiments.paper.experiments import FULL, paper_experiments
from hiergcn_experiments.paper.pages import overview_table, plus_sections, write_paper
from hiergcn_experiments.results import Results
from hiergcn_experiments.runner import measured
from hiergcn_experiments.store import PACKED, Record, read_records
from hiergcn_experiments.studies import write_pages

RESULTS = Path(__file__).parents[2] / "docs" / "results"


def accuracy(cell: Cell, split: int, seed: int) -> float | None:
    """Every third run of GAT failed."""
    if cell.variant == "gat" and seed % 3 == 0:
        return None
    return 0.7 + 0.01 * split + 0.001 * seed + 0.002 * len(cell.variant)


@pytest.fixture
def whole() -> list[Record]:
    """Return all trainings and the fast measurements of the paper's experiments."""
    every = paper_experiments(TINY)
    toy, statistics = Measurement("toy-graph"), Measurement("statistics", {"dataset": "cora"})
    field = Measurement("receptive-field", {"dataset": "cora", "levels": 8})
    return records_of(every.values(), accuracy) + [measured(job) for job in (toy, field, statistics)]


def test_the_page_names_failed_runs_and_marks_verdicts(whole: list[Record], tmp_path: Path) -> None:
    (written,) = write_paper(whole, tmp_path, TINY)
    page, text = (path.read_text(encoding="utf-8") for path in (written, written.parent / "README.md"))
    assert not (written.parent / "figures" / "complexity.svg").exists()  # not measured
    assert page.index("claims hold") < page.index('id="table2"') < page.index('id="claims"') < page.index("Commits: ")
    assert "1 failed" in text
    assert "GAT on Cora: 1 of 2 runs failed; the first diverged at epoch 2." in text
    assert "<sub>2 splits</sub><br><sub>to H-GCN −0.2 (p = 1.000)</sub>" in text  # GCN on random splits
    assert '<span class="verdict does-not-hold">does not hold</span>' in page
    assert '<tr data-verdict="does not hold">' in page
    assert '<tr class="ours"><th scope="row" class="words">H-GCN</th>' in page


def test_means_in_the_tables_are_those_of_the_runs(whole: list[Record], tmp_path: Path) -> None:
    write_paper(whole, tmp_path, TINY)
    with (tmp_path / "runs.csv").open(encoding="utf-8") as lines:
        runs = [row for row in csv.DictReader(lines) if (row["experiment"], row["arm"]) == ("table2", "gcn")]
    mean = sum(float(row["test_accuracy"]) for row in runs) / len(runs)
    assert [row["seed"] for row in runs] == ["0", "1"]
    assert f"| GCN | {100 * mean:.1f} ± 0.1<br>" in (tmp_path / "paper" / "README.md").read_text(encoding="utf-8")


def test_a_page_of_some_runs_counts_what_is_missing(tmp_path: Path) -> None:
    table = paper_experiments(FULL)["table2"]
    some = [one for one in records_of([table], accuracy) if one.key["method"] == "hgcn" and one.key["seed"] < 5]
    write_paper(some, tmp_path / "page", FULL)
    text = (tmp_path / "page" / "paper" / "README.md").read_text(encoding="utf-8")
    assert "<sub>5 of 20 runs</sub><br><sub>paper 84.5 ± 0.5</sub>" in text
    assert "| GCN | not run<br><sub>paper 81.5</sub> |" in text


def test_a_mean_far_below_the_others_is_written_beside_the_axis(tmp_path: Path) -> None:
    channels = paper_experiments(FULL)["figure-channels"]
    records = records_of([channels], lambda cell, *_: 0.2 if cell.condition == "1" else 0.8)
    write_paper(records, tmp_path / "page", FULL)
    assert "20.0 ± 0.0" in (tmp_path / "page" / "paper" / "figures" / "channels.svg").read_text(encoding="utf-8")


@pytest.mark.parametrize("store", sorted(RESULTS.rglob(PACKED)), ids=lambda path: path.parent.name)
def test_committed_pages_follow_from_the_committed_runs(store: Path, tmp_path: Path) -> None:
    pages = write_pages(read_records(store), tmp_path)
    assert {page.parent.name for page in pages} == (
        {"paper", "plus"} if store.parent == RESULTS else {store.parent.name}
    )
    for page in pages:
        html = page.read_text(encoding="utf-8")
        names = re.findall(r' id="([^"]+)"', html)
        assert len(names) == len(set(names))
        assert set(re.findall(r'href="#([^"]+)"', html)) <= set(names)
    made = [path for path in tmp_path.rglob("*") if path.suffix in (".md", ".svg", ".gz")]
    assert len(made) > 1
    assert not [path for path in made if path.read_bytes() != (RESULTS / path.relative_to(tmp_path)).read_bytes()]


def test_tables_on_written_pages_follow_too() -> None:
    evidence = Evidence(Results(read_records(RESULTS / PACKED)), FULL)
    overview = "\n".join(table_lines(overview_table(evidence)))
    assert overview in (RESULTS / "README.md").read_text(encoding="utf-8")
    table = plus_sections(evidence)[0].blocks[0]
    assert isinstance(table, Table)
    public = "\n".join(table_lines(table))
    assert public in (RESULTS / "plus" / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("run `hiergcn <x>` & look", "run <code>hiergcn &lt;x&gt;</code> &amp; look"),
        ("a lone ` <b>", "a lone ` &lt;b&gt;"),
        ("`a` and `b`", "<code>a</code> and <code>b</code>"),
        ("*best <i>* of `a*b*c`, 2 * 3 * 4", "<em>best &lt;i&gt;</em> of <code>a*b*c</code>, 2 * 3 * 4"),
    ],
)
def test_code_and_emphasis(text: str, expected: str) -> None:
    assert with_code(text) == expected
