"""What the experiments expand to."""

import pytest

from hiergcn.errors import InputError
from hiergcn.graph.split import few_labels, random_splits
from hiergcn.paper.experiments import FULL, QUICK, SCALES, chosen, experiments


def runs(name: str) -> int:
    return sum(len(cell.runs) for cell in experiments(FULL)[name].cells())


def test_full_size_has_as_many_runs_as_the_paper_asks_for() -> None:
    arms_on_all, nell_alone, graph_unet = 11, 1, 3  # hgcn and ten others on four datasets
    assert runs("table2") == 20 * (4 * arms_on_all + nell_alone + graph_unet)
    draws = 10 * (5 + 4 * 2) + 5 * 2  # five seeds for hgcn, two for the others, of which gat has half the draws
    assert runs("table3") == 6 * 20 + 7 * draws  # the public column, then 3 + 4 columns of draws
    assert runs("table4") == 20 * (4 + 2 * 3 + 3)  # hgcn on four, two ablations on three, our recipe on NELL
    assert runs("figure-levels") == runs("figure-channels") == 8 * (3 * 20 + 5)
    assert runs("random-splits") == 3 * (5 * 100 + 7 * 10)  # seven methods are slow


def test_fewer_splits_are_the_first_ones_and_the_experiment_says_so() -> None:
    experiment = experiments(FULL)["random-splits"]
    slow = next(cell for cell in experiment.cells() if cell.arm == "deepwalk")
    assert [split for split, _ in slow.runs] == list(random_splits(10))
    assert "(10 of them for DGCN, GAT, GRAND, Planetoid-I, Planetoid-T, Graph U-Net, DeepWalk)" in experiment.about
    few = experiments(FULL)["table3"]
    gat = next(cell for cell in few.cells() if cell.key == ("gat", "pubmed", "5"))
    assert dict.fromkeys(split for split, _ in gat.runs) == dict.fromkeys(few_labels(5, 5, small_validation=False))
    assert "(5 of them for GAT)" in few.about


def test_the_settings_are_the_papers_but_for_what_is_varied() -> None:
    levels = {cell.key: cell.settings for cell in experiments(FULL)["figure-levels"].cells()}
    assert levels["hgcn", "cora", "7"].model.levels == 7
    assert levels["hgcn", "cora", "7"].model.dropout == 0.85
    assert levels["hgcn", "nell", "7"].model.dropout == 0.5  # our recipe: the paper's does not learn
    ablation = {cell.key: cell.settings.model for cell in experiments(FULL)["table4"].cells()}
    assert not ablation["no-coarsening", "pubmed", ""].coarsening
    assert ablation["no-embedding", "pubmed", ""].weight_embedding == 0
    table2 = {cell.key: cell.settings for cell in experiments(FULL)["table2"].cells()}
    assert table2["hgcn", "nell", ""].model.levels == 5
    assert ("hgcn-nell", "cora", "") not in table2


@pytest.mark.parametrize("name", SCALES)
def test_every_experiment_has_something_to_run(name: str) -> None:
    for experiment in experiments(SCALES[name]).values():
        assert list(experiment.cells()) or experiment.measurements


def test_quick_trains_no_longer_than_it_says() -> None:
    for experiment in experiments(QUICK).values():
        for cell in experiment.cells():
            assert cell.settings.train.epochs <= 60
            assert cell.dataset == "cora"


def test_experiments_are_chosen_by_name_once_in_the_order_given() -> None:
    assert [one.name for one in chosen(["table4", "table2", "table4"])] == ["table4", "table2"]
    assert [one.name for one in chosen(["table4", "all"])][:2] == ["table4", "table1"]
    with pytest.raises(InputError, match="no experiment named 'table9'"):
        chosen(["table9"])
