"""When two jobs are the same."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from hiergcn.datasets import load_dataset
from hiergcn.graph import Split
from hiergcn.graph.split import PUBLIC, SplitSpec
from hiergcn.paper import identity
from hiergcn.paper.experiments import QUICK, experiments
from hiergcn.paper.identity import MeasureJob, TrainJob, data_digest, source_files, training_code
from hiergcn.paper.units import jobs_of
from hiergcn.run.settings import settings_for

JOB = TrainJob("cora", "data", settings_for("hgcn", "paper", "cora"), PUBLIC, 0, "code")


def test_everything_that_decides_a_result_changes_the_id() -> None:
    others = [
        replace(JOB, dataset="citeseer"),
        replace(JOB, data="other"),
        replace(JOB, seed=1),
        replace(JOB, split=SplitSpec("few", 0, 5)),
        replace(JOB, split=SplitSpec("few", 1, 5)),
        replace(JOB, split=SplitSpec("few", 0, 5, small_validation=True)),
        replace(JOB, code="other"),
        replace(JOB, settings=JOB.settings.override({"hidden": 33})),
        replace(JOB, settings=JOB.settings.override({"learning_rate": 0.031})),
        replace(JOB, settings=JOB.settings.override({"equivalence_limit": 2})),
        replace(JOB, settings=settings_for("gcn", None, "cora")),
    ]
    assert len({JOB.id, *(other.id for other in others)}) == 1 + len(others)


def test_what_does_not_decide_it_leaves_the_id() -> None:
    assert replace(JOB, settings=replace(JOB.settings, preset="another name")).id == JOB.id
    assert TrainJob("cora", "data", settings_for("hgcn", "paper", "cora"), SplitSpec(), 0, "code").id == JOB.id


def test_the_id_is_the_same_on_every_day() -> None:
    plain = MeasureJob("cost", {"nodes": 1000, "degree": 10}, None, "code")
    assert plain.id == "59b76852e5763cd4b336caf781e415e4"
    assert plain.id == MeasureJob("cost", {"degree": 10, "nodes": 1000}, None, "code", alone=True).id


def test_experiments_share_runs() -> None:
    """The whole of H-GCN in the ablation, and the paper's number of levels, are Table 2's runs."""
    every = experiments(QUICK)
    both = jobs_of([every["table2"], every["table4"]], ["hgcn"])
    assert len(both) == 3 * 3  # H-GCN, and two ablations, of 3 seeds each
    assert len(jobs_of([every["table2"], every["figure-levels"]], ["hgcn"])) == 4 * 3


def test_jobs_can_be_those_of_some_methods_and_datasets() -> None:
    table = experiments(QUICK)["table2"]
    assert {job.key()["method"] for job in jobs_of([table], ["gcn", "mlp"])} == {"gcn", "mlp"}
    assert jobs_of([table], datasets=["pubmed"]) == []
    assert len(jobs_of([experiments(QUICK)["table1"]], datasets=["cora"])) == 1


def test_a_change_of_data_or_split_changes_the_digest() -> None:
    cora = load_dataset("cora")
    assert data_digest(cora) == data_digest(load_dataset("cora"))
    split = Split(cora.split.train[1:], cora.split.validation, cora.split.test)
    assert data_digest(replace(cora, split=split)) != data_digest(cora)
    assert cora.graph.labels is not None
    labels = cora.graph.labels.copy()
    labels[0] += 1
    assert data_digest(replace(cora, graph=cora.graph.with_labels(labels))) != data_digest(cora)


class TestCode:
    def test_the_files_that_decide_are_those_that_are_imported(self) -> None:
        names = {path.relative_to(identity.PACKAGE).as_posix() for path in source_files(("hiergcn.model.hgcn",))}
        assert {"model/hgcn.py", "model/levels.py", "coarsen/matching.py", "graph/task.py"} <= names
        assert not names & {"model/baselines/gat.py", "report/run_page.py", "cli/fit.py", "paper/store.py"}

    def test_what_the_registry_puts_around_a_method_decides_too(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """It imports methods when they are asked for: all that it imports else stands between them and a result."""
        read: set[Path] = set()
        monkeypatch.setattr(identity, "_code_digest", lambda roots: read.update(source_files(roots)))
        training_code.__wrapped__("gcn")
        unread = set(source_files(("hiergcn.model.registry",))) - read
        assert {path.name for path in unread} == {"registry.py"}

    def test_a_change_makes_another_version_of_those_methods_alone(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        copy = tmp_path / "hiergcn"
        shutil.copytree(identity.PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__", "*.npz", "static"))
        monkeypatch.setattr(identity, "PACKAGE", copy)

        def versions() -> tuple[str, str]:
            training_code.cache_clear()
            return training_code("hgcn"), training_code("gcn")

        before = versions()
        for name in ("report/run_page.py", "cli/fit.py", "paper/runner.py"):
            _touch(copy / name)
        assert versions() == before
        _touch(copy / "model" / "hgcn.py")
        hgcn, gcn = versions()
        assert hgcn != before[0]
        assert gcn == before[1]
        _touch(copy / "train" / "loop.py")
        assert versions()[1] != before[1]
        training_code.cache_clear()


def _touch(path: Path) -> None:
    path.write_text(path.read_text(encoding="utf-8") + "\nCHANGED = True\n", encoding="utf-8")
