"""The page of the paper's experiments, made from results that are whole, in part there, or not there at all."""

import csv
import json
from dataclasses import replace
from pathlib import Path

import pytest
from made_up import TINY, records_of

from hiergcn.errors import InputError
from hiergcn.paper.experiment import Cell
from hiergcn.paper.experiments import FULL, experiments
from hiergcn.paper.identity import MeasureJob
from hiergcn.paper.page import write_paper_page
from hiergcn.paper.readme import BEGIN, END
from hiergcn.paper.store import Record, Store
from hiergcn.paper.times import busy_seconds
from hiergcn.paper.work import measured


def accuracy(cell: Cell, split: int, seed: int) -> float | None:
    """Every third run of GAT failed."""
    if cell.arm == "gat" and seed % 3 == 0:
        return None
    return 0.7 + 0.01 * split + 0.001 * seed + 0.002 * len(cell.arm)


def filled(folder: Path, records: list[Record]) -> Path:
    store = Store(folder)
    store.make()
    for record in records:
        store.write(record)
    return folder


@pytest.fixture
def whole(tmp_path: Path) -> Path:
    """All trainings, and the measurements that take no time."""
    every = experiments(TINY)
    toy = MeasureJob("toy", {}, None, "code")
    reach = MeasureJob("reach", {"dataset": "cora", "levels": 8}, "data", "code")
    statistics = MeasureJob("statistics", {"dataset": "cora"}, "data", "code")
    records = records_of(every.values(), accuracy) + [measured(job) for job in (toy, reach, statistics)]
    return filled(tmp_path / "store", records)


def test_the_page_has_every_table_and_figure(whole: Path, tmp_path: Path) -> None:
    out = tmp_path / "page"
    page = write_paper_page(whole, out, TINY).read_text(encoding="utf-8")
    text = (out / "README.md").read_text(encoding="utf-8")
    for name, experiment in experiments(TINY).items():
        assert f"(`{name}`)" in text
        assert f'id="{name}"' in page
        assert experiment.title in page
    for name in ("few-labels", "levels", "channels", "coarsening", "receptive-field", "random-splits"):
        assert (out / "figures" / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert "<svg" in (out / "figures" / f"{name}.svg").read_text(encoding="utf-8")
        assert f"figures/{name}.svg" in text
        assert f'id="{name}-title"' in page
    assert not (out / "figures" / "complexity.svg").exists()  # not measured
    assert "<script" not in page
    assert "1 failed" in text
    assert "GAT on Cora: 1 of 2 runs failed, the first one diverged at epoch 2." in text
    assert "<sub>paper 84.5 ± 0.5</sub><br><sub>" in text
    assert "5,278" in text
    assert "<sub>2 splits</sub><br><sub>to H-GCN −0.2 (p = 1.000)</sub>" in text  # GCN on random splits
    assert '<span class="verdict does-not-hold">does not hold</span>' in page


def test_means_in_the_tables_are_those_of_the_runs(whole: Path, tmp_path: Path) -> None:
    write_paper_page(whole, tmp_path, TINY)
    with (tmp_path / "runs.csv").open(encoding="utf-8") as lines:
        runs = [row for row in csv.DictReader(lines) if (row["experiment"], row["arm"]) == ("table2", "gcn")]
    mean = sum(float(row["test_accuracy"]) for row in runs) / len(runs)
    assert [row["seed"] for row in runs] == ["0", "1"]
    assert f"| GCN | {100 * mean:.1f} ± 0.1<br>" in (tmp_path / "README.md").read_text(encoding="utf-8")
    with (tmp_path / "cells.csv").open(encoding="utf-8") as lines:
        cell = next(row for row in csv.DictReader(lines) if (row["experiment"], row["arm"]) == ("table2", "gcn"))
    assert float(cell["mean"]) == pytest.approx(mean)
    assert float(cell["difference"]) == pytest.approx(mean - 0.815)


def test_the_page_can_be_made_again_from_its_own_results(whole: Path, tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    write_paper_page(whole, first, TINY)
    write_paper_page(first / "results.json", second, TINY)
    for path in sorted(first.rglob("*")):
        if path.is_file():
            assert (second / path.relative_to(first)).read_bytes() == path.read_bytes(), path.name


def test_a_readme_gets_the_results_between_its_marks(whole: Path, tmp_path: Path) -> None:
    readme = tmp_path / "README.md"
    readme.write_text(f"before\n{BEGIN}\nstale\n{END}\nafter\n", encoding="utf-8")
    for _ in range(2):  # the second time changes nothing
        write_paper_page(whole, tmp_path / "page", TINY, readme)
        text = readme.read_text(encoding="utf-8")
        assert text.startswith(f"before\n{BEGIN}\n| accuracy in %, ours (the paper's) | Cora |")
        assert text.endswith(f"{END}\nafter\n")
        assert "stale" not in text
        assert "± 0.1 (81.5) |" in text  # GCN
        assert "statements of the paper" in text
        assert "with node weight embeddings performs better” | " in text


def test_a_readme_without_the_marks_is_refused(whole: Path, tmp_path: Path) -> None:
    readme = tmp_path / "README.md"
    readme.write_text("nothing to fill\n", encoding="utf-8")
    with pytest.raises(InputError, match="lacks the two lines"):
        write_paper_page(whole, tmp_path / "page", TINY, readme)


def test_a_page_of_nothing_says_so(tmp_path: Path) -> None:
    place = filled(tmp_path / "store", [])
    write_paper_page(place, tmp_path / "page", FULL)
    text = (tmp_path / "page" / "README.md").read_text(encoding="utf-8")
    assert "0 hold, 0 do not hold, 0 not decided" in text
    assert "Nothing has been run yet." in text
    assert "not run<br><sub>paper 84.5 ± 0.5</sub>" in text
    assert not list((tmp_path / "page" / "figures").iterdir())


def test_a_page_of_some_runs_counts_what_is_missing(tmp_path: Path) -> None:
    table = experiments(FULL)["table2"]
    some = [one for one in records_of([table], accuracy) if one.key["method"] == "hgcn" and one.key["seed"] < 5]
    place = filled(tmp_path / "store", some)
    write_paper_page(place, tmp_path / "page", FULL)
    text = (tmp_path / "page" / "README.md").read_text(encoding="utf-8")
    assert "<sub>5 of 20 runs</sub><br><sub>paper 84.5 ± 0.5</sub>" in text
    assert "| GCN | not run<br><sub>paper 81.5</sub> |" in text
    words = {one["word"] for one in json.loads((tmp_path / "page" / "verdicts.json").read_text(encoding="utf-8"))}
    assert words <= {"not run", "does not hold", "not decided", "holds"}


def test_the_time_of_runs_side_by_side_is_counted_once() -> None:
    def made(second: int, share: float, beside: int) -> Record:
        stamp = f"2026-01-01T00:00:{second:02d}+00:00"
        return Record("id", {}, {}, {"seconds": share, "side_by_side": beside, "finished": stamp})

    together = [made(20, 2.0, 5)] * 5  # from 10 to 20
    assert busy_seconds(together) == pytest.approx(10.0)
    assert busy_seconds([*together, made(15, 3.0, 1)]) == pytest.approx(10.0)  # meanwhile
    assert busy_seconds([*together, made(22, 4.0, 1)]) == pytest.approx(12.0)  # two seconds longer
    assert busy_seconds([*together, made(40, 5.0, 1)]) == pytest.approx(15.0)  # with a pause between them


def test_a_mean_far_below_the_others_is_told_beside_the_axis(tmp_path: Path) -> None:
    channels = experiments(FULL)["figure-channels"]
    records = records_of([channels], lambda cell, *_: 0.2 if cell.column == "1" else 0.8)
    write_paper_page(filled(tmp_path / "store", records), tmp_path / "page", FULL)
    assert "20.0 ± 0.0" in (tmp_path / "page" / "figures" / "channels.svg").read_text(encoding="utf-8")


def test_results_of_two_versions_are_told(whole: Path, tmp_path: Path) -> None:
    record = next(one for one in Store(whole).records() if one.key.get("method") == "gcn")
    later = replace(record, id="f" * 32, key=record.key | {"code": "later"}, made=record.made | {"finished": "2027"})
    Store(whole).write(later)
    write_paper_page(whole, tmp_path / "page", TINY)
    text = (tmp_path / "page" / "README.md").read_text(encoding="utf-8")
    assert "Results of GCN come from more than one version of the code" in text
