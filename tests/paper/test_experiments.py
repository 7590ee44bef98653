"""The cells and runs of the experiments."""

import numpy as np
import pytest

from hiergcn.datasets import load_dataset
from hiergcn.errors import InputError
from hiergcn.paper.experiment import NUMBERED, Arm, Column, Experiment
from hiergcn.paper.experiments import CITATION, FULL, QUICK, Scale, paper_experiments
from hiergcn.paper.plus_experiments import plus_experiments
from hiergcn.paper.runner import chosen
from hiergcn.paper.splits import PUBLIC, SplitSpec, few_labels, random_splits


def runs(name: str) -> int:
    return sum(len(cell.runs) for cell in paper_experiments(FULL)[name].cells())


def test_full_size_has_as_many_runs_as_the_paper_asks_for() -> None:
    arms_on_all, nell_alone, graph_unet = 11, 1, 3  # hgcn and ten others on four datasets
    assert runs("table2") == 20 * (4 * arms_on_all + nell_alone + graph_unet)
    draws = 10 * (5 + 4 * 2) + 5 * 2  # five seeds for hgcn, two for the others, of which gat has half the draws
    assert runs("table3") == 6 * 20 + 7 * draws  # the public column, then 3 + 4 columns of draws
    assert runs("table4") == 20 * (4 + 2 * 3 + 3)  # hgcn on four, two ablations on three, our recipe on NELL
    assert runs("figure-levels") == runs("figure-channels") == 8 * (3 * 20 + 5)
    assert runs("random-splits") == 3 * (5 * 100 + 7 * 10)  # seven methods are slow


def test_fewer_splits_are_the_first_ones_and_the_experiment_says_so() -> None:
    experiment = paper_experiments(FULL)["random-splits"]
    slow = next(cell for cell in experiment.cells() if cell.arm == "deepwalk")
    assert [split for split, _ in slow.runs] == list(random_splits(10))
    assert "(10 of them for DGCN, GAT, GRAND, Planetoid-I, Planetoid-T, Graph U-Net, DeepWalk)" in experiment.about
    few = paper_experiments(FULL)["table3"]
    gat = next(cell for cell in few.cells() if cell.place == ("gat", "pubmed", "5"))
    assert dict.fromkeys(split for split, _ in gat.runs) == dict.fromkeys(few_labels(5, 5, small_validation=False))
    assert "(5 of them for GAT)" in few.about


def test_the_settings_are_the_papers_but_for_what_is_varied() -> None:
    levels = {cell.place: cell.settings for cell in paper_experiments(FULL)["figure-levels"].cells()}
    assert levels["hgcn", "cora", "7"].model.levels == 7
    assert levels["hgcn", "cora", "7"].model.dropout == 0.85
    assert levels["hgcn", "nell", "7"].model.dropout == 0.5  # our recipe: the paper's does not learn
    ablation = {cell.place: cell.settings.model for cell in paper_experiments(FULL)["table4"].cells()}
    assert not ablation["no-coarsening", "pubmed", ""].coarsening
    assert ablation["no-embedding", "pubmed", ""].weight_embedding == 0
    table2 = {cell.place: cell.settings for cell in paper_experiments(FULL)["table2"].cells()}
    assert table2["hgcn", "nell", ""].model.levels == 5
    assert ("hgcn-nell", "cora", "") not in table2


@pytest.mark.parametrize("scale", [FULL, QUICK], ids=lambda scale: scale.name)
def test_every_experiment_has_something_to_run(scale: Scale) -> None:
    for experiment in (paper_experiments(scale) | plus_experiments(scale)).values():
        assert experiment.jobs()


def test_quick_trains_no_longer_than_it_says() -> None:
    for experiment in (paper_experiments(QUICK) | plus_experiments(QUICK)).values():
        for cell in experiment.cells():
            assert cell.settings.train.epochs <= 60
            assert cell.dataset == "cora"


def test_experiments_are_chosen_by_name_once_in_the_order_given() -> None:
    assert [one.name for one in chosen(["table4", "table2", "table4"], FULL)] == ["table4", "table2"]
    assert [one.name for one in chosen(["table4", "all"], FULL)][:2] == ["table4", "table1"]
    assert [one.name for one in chosen(["plus"], FULL)] == list(plus_experiments(FULL))
    with pytest.raises(InputError, match="no experiment named 'table9'"):
        chosen(["table9"], FULL)


PLUS = {(cell.experiment, *cell.place): cell for one in plus_experiments().values() for cell in one.cells()}


class TestPlus:
    def test_the_ablation_changes_the_share_and_nothing_else(self) -> None:
        for experiment, dataset, column in (("plus-public", "nell", ""), ("plus-few-labels", "pubmed", "5")):
            whole = PLUS[experiment, "hgcn-plus", dataset, column]
            ablated = PLUS[experiment, "no-hierarchy", dataset, column]
            assert whole.settings.model.share > 0
            assert ablated.settings == whole.settings.override({"share": 0.0})
            assert ablated.runs == whole.runs

    def test_a_draw_has_one_seed_which_is_its_number(self) -> None:
        cell = PLUS["plus-few-labels", "hgcn-plus", "cora", "3"]
        assert cell.settings.preset == "plus-few"
        assert [(split.number, seed) for split, seed in cell.runs] == [(number, number) for number in range(20)]
        assert all(split.small_validation for split, _ in cell.runs)

    def test_rivals_share_the_runs_of_the_paper(self) -> None:
        table3 = {cell.place: cell for cell in paper_experiments(FULL)["table3"].cells()}
        for arm in ("gcn", "grand"):
            ours, theirs = PLUS["plus-few-labels", arm, "pubmed", "10"], table3[arm, "pubmed", "10 small"]
            assert ours.trainings() == theirs.trainings()
        splits = {cell.place: cell for cell in paper_experiments(FULL)["random-splits"].cells()}
        for dataset in CITATION:
            ours = PLUS["plus-random-splits", "gcn", dataset, ""]
            assert ours.trainings() == splits["gcn", dataset, ""].trainings()

    def test_an_arm_can_be_limited_to_columns(self) -> None:
        arm = Arm("mlp", "mlp", columns=("b",), seeds=NUMBERED)
        columns = (Column("a"), Column("b", splits=random_splits(3)))
        (cell,) = Experiment("small", "", "", (arm,), ("cora",), columns).cells()
        assert [seed for _, seed in cell.runs] == [0, 1, 2]


class TestSplits:
    cora = load_dataset("cora")

    def test_few_labels_are_drawn_from_the_training_set_and_nested(self) -> None:
        graph, own = self.cora.graph, self.cora.split
        assert graph.labels is not None
        five, ten = (few_labels(count, 3, small_validation=False)[2].of(graph, own) for count in (5, 10))
        assert set(five.train) < set(ten.train) < set(own.train)
        assert np.bincount(graph.labels[five.train]).tolist() == [5] * 7
        assert np.array_equal(five.validation, own.validation)
        assert np.array_equal(five.test, own.test)
        other = few_labels(5, 3, small_validation=False)[1].of(graph, own)
        assert set(other.train) != set(five.train)

    def test_a_small_validation_set_has_as_many_of_each_class(self) -> None:
        graph, own = self.cora.graph, self.cora.split
        assert graph.labels is not None
        small = few_labels(5, 1, small_validation=True)[0].of(graph, own)
        assert np.bincount(graph.labels[small.validation]).tolist() == [5] * 7
        assert set(small.validation) < set(own.validation)
        assert np.array_equal(small.test, own.test)

    def test_random_splits_differ_and_repeat(self) -> None:
        graph, own = self.cora.graph, self.cora.split
        first, second = (split.of(graph, own) for split in random_splits(2))
        assert set(first.train) != set(second.train)
        assert np.array_equal(first.train, SplitSpec("random", 0).of(graph, own).train)
        assert (first.train.size, first.validation.size) == (140, 500)

    def test_names_tell_splits_apart(self) -> None:
        every = [
            PUBLIC,
            *random_splits(3),
            *(spec for small in (True, False) for n in (5, 10) for spec in few_labels(n, 3, small_validation=small)),
        ]
        assert len({spec.name for spec in every}) == len(every)

    def test_too_few_nodes_to_draw_from_is_said(self) -> None:
        with pytest.raises(InputError, match="20 nodes to draw 21 from"):
            SplitSpec("few", 0, 21).of(self.cora.graph, self.cora.split)
