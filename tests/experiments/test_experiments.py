"""The cells and runs of the experiments."""

import numpy as np
import pytest

from hiergcn.comparison.splits import drawn_splits
from hiergcn.datasets import load_dataset
from hiergcn.errors import InputError
from hiergcn_experiments.experiment import NUMBERED, Condition, Experiment, FewLabels, Scope, Variant, few_labels
from hiergcn_experiments.paper.experiments import CITATION, FULL, QUICK, Scale, paper_experiments, plus_experiments
from hiergcn_experiments.studies import named_experiments


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
    slow = next(cell for cell in experiment.cells() if cell.variant == "deepwalk")
    assert [split for split, _ in slow.runs] == list(drawn_splits("random", 10))
    assert "(10 of them for DGCN, GAT, GRAND, Planetoid-I, Planetoid-T, Graph U-Net, DeepWalk)" in experiment.about
    few = paper_experiments(FULL)["table3"]
    gat = next(cell for cell in few.cells() if cell.key == ("gat", "pubmed", "5"))
    assert dict.fromkeys(split for split, _ in gat.runs) == dict.fromkeys(few_labels(5, 5, small_validation=False))
    assert "(5 of them for GAT)" in few.about


def test_few_labels_are_drawn_from_the_training_set_and_nested() -> None:
    cora = load_dataset("cora")
    graph, public = cora.graph, cora.split
    five, ten = (few_labels(count, 3, small_validation=False)[2].split(graph, public) for count in (5, 10))
    assert set(five.train) < set(ten.train) < set(public.train)
    assert np.bincount(graph.truth[five.train]).tolist() == [5] * 7
    for part in ("validation", "test"):
        assert np.array_equal(getattr(five, part), getattr(public, part))
    specs = few_labels(5, 1, small_validation=True)[0], few_labels(5, 2, small_validation=False)[1]
    small, other = (spec.split(graph, public) for spec in specs)
    assert set(other.train) != set(five.train)
    assert np.bincount(graph.truth[small.validation]).tolist() == [5] * 7
    assert set(small.validation) < set(public.validation)
    assert np.array_equal(small.test, public.test)
    assert [spec.name for spec in specs] == ["few-5-draw-0-small", "few-5-draw-1"]
    with pytest.raises(InputError, match="20 labelled nodes, too few for 21"):
        FewLabels(per_class=21).split(graph, public)


def test_the_settings_are_the_papers_but_for_what_is_varied() -> None:
    levels = {cell.key: cell.settings for cell in paper_experiments(FULL)["figure-levels"].cells()}
    assert levels["hgcn", "cora", "7"].model.levels == 7
    assert levels["hgcn", "cora", "7"].model.dropout == 0.85
    assert levels["hgcn", "nell", "7"].model.dropout == 0.5  # our recipe: the paper's does not learn
    ablation = {cell.key: cell.settings.model for cell in paper_experiments(FULL)["table4"].cells()}
    assert not ablation["no-coarsening", "pubmed", ""].coarsening
    assert ablation["no-embedding", "pubmed", ""].weight_embedding == 0
    table2 = {cell.key: cell.settings for cell in paper_experiments(FULL)["table2"].cells()}
    assert table2["hgcn", "nell", ""].model.levels == 5
    assert ("hgcn-nell", "cora", "") not in table2


@pytest.mark.parametrize("scale", [FULL, QUICK], ids=lambda scale: scale.name)
def test_every_experiment_has_something_to_run_and_quick_ones_train_no_longer_than_they_say(scale: Scale) -> None:
    for experiment in (paper_experiments(scale) | plus_experiments(scale)).values():
        assert experiment.jobs()
        for cell in experiment.cells() if scale is QUICK else ():
            assert cell.settings.train.epochs <= 60
            assert cell.dataset == "cora"


def test_experiments_are_chosen_by_name_once_in_the_order_given() -> None:
    assert [one.name for one in named_experiments(["table4", "table2", "table4"], Scope())] == ["table4", "table2"]
    assert [one.name for one in named_experiments(["table4", "all"], Scope())][:2] == ["table4", "table1"]
    assert [one.name for one in named_experiments(["plus"], Scope())] == list(plus_experiments(FULL))
    with pytest.raises(InputError, match="no experiment named 'table9'"):
        named_experiments(["table9"], Scope())


PLUS = {(cell.experiment, *cell.key): cell for one in plus_experiments().values() for cell in one.cells()}


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
        assert all(isinstance(split, FewLabels) and split.small_validation for split, _ in cell.runs)

    def test_rivals_share_the_runs_of_the_paper(self) -> None:
        table3 = {cell.key: cell for cell in paper_experiments(FULL)["table3"].cells()}
        for arm in ("gcn", "grand"):
            ours, theirs = PLUS["plus-few-labels", arm, "pubmed", "10"], table3[arm, "pubmed", "10 small"]
            assert ours.trainings() == theirs.trainings()
        splits = {cell.key: cell for cell in paper_experiments(FULL)["random-splits"].cells()}
        for dataset in CITATION:
            ours = PLUS["plus-random-splits", "gcn", dataset, ""]
            assert ours.trainings() == splits["gcn", dataset, ""].trainings()

    def test_an_arm_can_be_limited_to_columns(self) -> None:
        arm = Variant("mlp", "mlp", conditions=("b",), seeds=NUMBERED)
        columns = (Condition("a"), Condition("b", splits=drawn_splits("random", 3)))
        (cell,) = Experiment("small", "", "", (arm,), ("cora",), columns).cells()
        assert [seed for _, seed in cell.runs] == [0, 1, 2]
