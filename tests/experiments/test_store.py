"""Results on disk, and when two results are of the same job."""

import gzip
import json
from dataclasses import dataclass, make_dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from made_up import TINY, records_of

from hiergcn.comparison.splits import PUBLIC
from hiergcn.datasets import load_dataset
from hiergcn.errors import InputError
from hiergcn.graph import Split
from hiergcn.settings.settings import Settings, settings_for
from hiergcn_experiments import store as store_module
from hiergcn_experiments.experiment import FewLabels, Measurement, Training
from hiergcn_experiments.paper.experiments import paper_experiments
from hiergcn_experiments.store import (
    PACKED,
    Record,
    Store,
    data_digest,
    identity,
    made_here,
    read_records,
    write_packed,
)

RUN = Training("cora", settings_for("hgcn", "paper", "cora"), PUBLIC, 0)
MEASURED = Record({"kind": "measurement", "name": "cost", "arguments": {}}, None, {"figure": 1.0})


def id_of(run: Training, data: str = "data") -> str:
    return Record(run.key(), data, {}).id


@pytest.fixture
def store(tmp_path: Path) -> Store:
    found = Store(tmp_path / "store")
    found.make()
    return found


class TestIdentity:
    def test_everything_that_decides_a_result_changes_the_id(self) -> None:
        others = [
            replace(RUN, dataset="citeseer"),
            replace(RUN, seed=1),
            replace(RUN, split=FewLabels(per_class=5)),
            replace(RUN, split=FewLabels(number=1, per_class=5)),
            replace(RUN, split=FewLabels(per_class=5, small_validation=True)),
            replace(RUN, settings=RUN.settings.override({"hidden": 33})),
            replace(RUN, settings=RUN.settings.override({"learning_rate": 0.031})),
            replace(RUN, settings=RUN.settings.override({"equivalence_limit": 2})),
            replace(RUN, settings=settings_for("gcn", None, "cora")),
        ]
        assert len({id_of(RUN), id_of(RUN, "other data"), *map(id_of, others)}) == 2 + len(others)

    def test_code_machine_and_the_name_of_the_preset_do_not_change_it(self) -> None:
        renamed = replace(RUN, settings=replace(RUN.settings, preset="another name"))
        assert id_of(renamed) == id_of(RUN)
        here = Record(RUN.key(), "data", {"test_accuracy": 0.8}, made_here(1.0, "cpu"))
        there = Record(RUN.key(), "data", {"test_accuracy": 0.7}, {"commit": "another", "processor": "a chip"})
        assert here.id == there.id

    def test_the_id_is_the_same_on_every_day(self) -> None:
        plain = Measurement("cost", {"nodes": 1000, "degree": 10})
        assert Record(plain.key(), None, {}).id == "586579d6e0eb8b8717e1068575b44e42"
        other = Measurement("cost", {"degree": 10, "nodes": 1000}, alone=True)
        assert identity(other.key()) == identity(plain.key())

    def test_a_setting_that_is_added_later_leaves_the_ids_of_old_results(self, monkeypatch: pytest.MonkeyPatch) -> None:
        old = Record(RUN.key(), "data", {})
        model = type(RUN.settings.model)
        newer = make_dataclass("Newer", [("added", int, 7)], bases=(model,), frozen=True)
        monkeypatch.setattr(store_module, "config_class", lambda _: newer)

        def with_added(value: int) -> Training:
            changed = newer(**vars(RUN.settings.model), added=value)
            return replace(RUN, settings=replace(RUN.settings, model=changed))

        assert id_of(with_added(7)) == old.id
        assert Record(RUN.key(), "data", {}).id == old.id
        assert id_of(with_added(8)) != old.id

    def test_a_default_that_changes_gives_old_results_no_new_meaning(self, monkeypatch: pytest.MonkeyPatch) -> None:
        @dataclass(frozen=True)
        class Before:
            hidden: int = 32

        @dataclass(frozen=True)
        class After:
            hidden: int = 64

        def key(model: Any) -> dict[str, Any]:
            return replace(RUN, settings=Settings("m", "p", model, RUN.settings.train, RUN.settings.coarsen)).key()

        stored = json.loads(json.dumps(key(Before())))
        monkeypatch.setattr(store_module, "config_class", lambda _: After)
        assert identity(stored) == identity(key(After(hidden=32)))
        assert identity(stored) != identity(key(After()))

    def test_a_removed_setting_counts_unless_it_had_no_effect(self) -> None:
        key = json.loads(json.dumps(RUN.key()))
        key["settings"]["model"]["gone"] = 1
        assert identity(key) != identity(RUN.key())
        plus = replace(RUN, settings=settings_for("hgcn", "plus", "cora")).key()
        key = json.loads(json.dumps(plus))
        key["settings"]["model"]["drop_level"] = 0
        assert identity(key) == identity(plus)
        key["settings"]["model"]["drop_level"] = 1
        assert identity(key) != identity(plus)

    def test_a_change_of_data_or_split_changes_the_digest(self) -> None:
        cora = load_dataset("cora")
        assert data_digest(cora) == data_digest(load_dataset("cora"))
        split = Split(cora.split.train[1:], cora.split.validation, cora.split.test)
        assert data_digest(replace(cora, split=split)) != data_digest(cora)
        labels = cora.graph.truth.copy()
        labels[0] += 1
        assert data_digest(replace(cora, graph=cora.graph.with_labels(labels))) != data_digest(cora)


def test_what_is_written_is_read_and_a_later_result_replaces_it(store: Store) -> None:
    record = replace(MEASURED, made=made_here(2.5, "cpu"))
    store.write(record)
    assert store.records() == [record]
    assert record.made["seconds"] == 2.5
    assert record.made["packages"]["torch"]
    later = replace(record, result={"figure": 2.0})
    store.write(later)
    assert store.records() == [later]


def test_a_damaged_file_is_named(store: Store) -> None:
    store.write(MEASURED)
    path = store.path(MEASURED)
    path.write_text("{", encoding="utf-8")
    with pytest.raises(InputError, match=rf"{path.name} is damaged\. Delete it"):
        store.records()


def test_a_packed_file_holds_all_results_and_gives_them_back(store: Store, tmp_path: Path) -> None:
    experiments = paper_experiments(TINY)
    every = records_of([experiments["table2"], experiments["table3"]], lambda *_: 0.5)
    for record in every:
        store.write(record)
    packed = tmp_path / PACKED
    write_packed(read_records(store.folder), packed)
    back = {record.id: record for record in read_records(packed)}
    assert back == {record.id: record for record in every}
    assert len(json.loads(gzip.decompress(packed.read_bytes()))["entries"]) < len(every)
    again = tmp_path / "again.json.gz"
    write_packed(reversed(read_records(packed)), again)
    assert again.read_bytes() == packed.read_bytes()


def test_a_place_without_results_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="There are no results in"):
        read_records(tmp_path / "nowhere")
    (tmp_path / "file.json").write_text("[]", encoding="utf-8")
    with pytest.raises(InputError, match="is not a file of results"):
        read_records(tmp_path / "file.json")
    with pytest.raises(InputError, match="is not a folder"):
        Store(tmp_path / "file.json").make()
