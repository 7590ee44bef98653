"""The automatic choice: what is chosen, from which labels, in which time, and what the saved answer gives again."""

import os
import signal
from collections.abc import Sequence
from dataclasses import replace
from itertools import count
from multiprocessing import active_children
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from hiergcn.choose import portfolio, search
from hiergcn.choose.budget import Budget
from hiergcn.datasets import planted_graph
from hiergcn.errors import InputError
from hiergcn.evaluate.calibration import ENOUGH, fit_temperature
from hiergcn.graph import Graph, Split
from hiergcn.graph.order import canonical_order
from hiergcn.graph.profile import Homophily, profile_graph
from hiergcn.run.fit import _row, fit, resolve_split
from hiergcn.run.predict import explain, predictions_again, predictions_on
from hiergcn.run.run import Run
from hiergcn.settings.settings import settings_for
from hiergcn.train.events import CandidateDone, CandidateStarted, EpochDone, FitEvent
from hiergcn.train.trainer import FOLDS, Trainer, fold_of, fold_splits

LONG = 1000.0  # seconds, so that time decides nothing
SHORT = {"epochs": 25}
TRIED = ("label-propagation", "harmonic", "mlp", "gcn", "hgcn-plus", "gcn+harmonic", "graphsage")


def communities() -> Graph:
    """Three communities of 100 nodes, whose features hardly say anything."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, 300)
    upper = np.triu(rng.random((300, 300)) < np.where(labels[:, None] == labels, 0.1, 0.005), 1)
    features = np.eye(3, 8)[labels] + 4.0 * rng.normal(size=(300, 8))
    return Graph(sp.csr_array((upper | upper.T).astype(float)), features, labels)


@pytest.fixture(scope="module")
def graph() -> Graph:
    planted = planted_graph(150, homophily=0.5, noise=2.0, seed=5)
    ids = np.array([f"node {i}" for i in range(150)], dtype=object)
    return Graph(planted.adjacency, planted.features, planted.truth, ids, ("a", "b", "c", "d"), "mine")


@pytest.fixture(autouse=True, scope="module")
def few_candidates() -> Any:
    """Try fewer candidates, to save time."""
    with pytest.MonkeyPatch.context() as patch:
        few = tuple(entry for entry in portfolio.PORTFOLIO if entry.name in TRIED)
        patch.setattr(search, "candidates_for", lambda *_, **__: few)
        yield


def chosen(graph: Graph, split: Split | None = None, seeds: Sequence[int] = (0, 1), **options: Any) -> Run:
    return fit(graph, split, seeds=seeds, device="cpu", **{"time_limit": LONG, "changes": SHORT, **options})


@pytest.fixture(scope="module")
def result(graph: Graph, few_candidates: None) -> Run:
    return chosen(graph)


@pytest.fixture(scope="module")
def mixed(graph: Graph, few_candidates: None) -> Run:
    """An answer of label propagation, GCN with harmonic columns, H-GCN+ and MLP, with these weights."""
    with pytest.MonkeyPatch.context() as patch:
        weights = {"label-propagation": 0.3, "gcn+harmonic": 0.4, "hgcn-plus": 0.2, "mlp": 0.1}

        def weigh(race: Any) -> None:
            for one in race.candidates:
                one.weight = weights.get(one.entry.name, 0.0)

        patch.setattr(search.Automatic, "weigh", weigh)
        patch.setattr(search, "_WEAK", 100.0)  # none is stopped early
        return chosen(graph)


@pytest.fixture(scope="module")
def run(mixed: Run, tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder: Path = tmp_path_factory.mktemp("runs") / "run"
    mixed.write(folder)
    return Run.load(folder)


def board(result: Run) -> dict[str, Any]:
    return {one.name: one for one in result.leaderboard or ()}


def test_labels_alone_are_chosen_on_communities() -> None:
    found = chosen(communities())
    assert found.settings.method in ("label-propagation", "harmonic")
    assert found.scores["delivered_accuracy"] == 1.0
    assert board(found)["hgcn-plus"].left_out == "label-propagation makes no mistake on validation"
    assert "the edges say more than the features" in (found.verdict or "")


def roles() -> Graph:
    """50 stars whose hubs form a path. Nodes have no features, and classes are hubs and leaves."""
    hubs, leaves = np.arange(50), np.arange(50, 200)
    source, target = np.concatenate([hubs[:-1], leaves]), np.concatenate([hubs[1:], leaves % 50])
    return Graph.from_edges(source, target, n=200, labels=(np.arange(200) >= 50).astype(np.int64), name="roles")


def test_roles_are_told_by_degrees(monkeypatch: pytest.MonkeyPatch) -> None:
    few = [one for one in portfolio.PORTFOLIO if one.name in {*TRIED[: search.SIMPLE], "mlp+degrees"}]
    monkeypatch.setattr(search, "candidates_for", lambda *_, **__: few)
    found = chosen(roles(), changes={})
    assert board(found)["mlp+degrees"].weight > 0.5
    assert found.scores["delivered_accuracy"] == 1.0
    assert "MLP on degrees" in (found.verdict or "")
    assert board(found)["mlp"].left_out == "the nodes have no features"


def test_the_reason_is_that_of_most_of_the_answer(result: Run) -> None:
    """Two methods of labels outweigh an MLP that is heavier than either; without a majority there is no reason."""
    entries = {entry.name: entry for entry in portfolio.PORTFOLIO}

    def verdict(weights: dict[str, float], structural: bool = False) -> str:
        trainer = Trainer(result.graph, "cpu")
        found = search.Automatic(trainer, result.split, [0], lambda _: None, None, 1.0)
        found.candidates = [search.CandidateState(entries[name], weight=weight) for name, weight in weights.items()]
        found.validation, found.structural = np.arange(200), structural
        return found.verdict

    labels = {"label-propagation": 0.3, "harmonic": 0.3, "mlp": 0.4}
    assert verdict(labels).startswith("MLP (40 %) answers together with")
    assert verdict(labels).endswith(": the edges say more than the features.")
    assert verdict({"gcn": 0.5, "mlp": 0.5}).endswith(": no single method is clearly better.")
    assert verdict({"gcn": 1.0}, structural=True) == "GCN is best here: the edges say much, and there are no features."


def test_the_leaderboard_scores_the_mean_of_the_seeds(graph: Graph) -> None:
    """A seed that is right and sure, and one that is wrong and unsure: their mean is right."""
    right, wrong = (np.eye(4, dtype=np.float32)[(graph.truth + k) % 4] for k in (0, 1))
    one = search.CandidateState(portfolio.PORTFOLIO[0])
    one.results.probabilities |= {0: right, 1: 0.2 + 0.2 * wrong}
    split = resolve_split(graph)
    found = _row(one, graph, split.validation, split)
    assert found.seeds == 2
    assert found.validation is not None
    assert found.validation.main.per_seed == (1.0,)


def test_one_mistake_of_few_nodes_stops_no_candidate(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    found = search.Automatic(Trainer(graph, "cpu"), resolve_split(graph), [0], lambda _: None, None, 1.0)
    found.validation_labels = found.validation_labels[:20]
    one = search.CandidateState(portfolio.PORTFOLIO[0])
    found.candidates = [one]
    monkeypatch.setattr(found, "node_scores", lambda _: np.ones(20, dtype=bool))
    one.results.probabilities[0] = np.ones((1, 4))
    job = search.Job(settings_for("mlp"), [0], Budget(1.0), now=found.state(), epochs=3)
    job.check(EpochDone(seed=0, epoch=3, best_validation_accuracy=0.8), folds=4)  # one of five nodes is wrong


def test_reasons_speak_of_candidates_that_were_tried(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    """If H-GCN+ was not tried, its variants are not left out for being behind."""
    names = {*TRIED[:5], "hgcn-plus-near", "graphsage-deep", "graphsage"}
    few = [entry for entry in portfolio.PORTFOLIO if entry.name in names]
    monkeypatch.setattr(search, "candidates_for", lambda *_, **__: few)
    monkeypatch.setattr(portfolio.SearchState, "features_can_catch_up", False)
    found = board(chosen(graph, seeds=[0]))
    assert {found[name].left_out for name in names - set(TRIED[:4])} == {
        "labels alone are far ahead of propagated features"
    }


@pytest.mark.parametrize(("same", "differ"), [(0.9, False), (0.3, True), (None, True)])
def test_chance_speaks_for_graphsage_unless_neighbours_share_their_class(
    graph: Graph, same: float | None, differ: bool
) -> None:
    pairs = None if same is None else Homophily(same, 0.25, 1, 100)
    profile = replace(profile_graph(graph, resolve_split(graph)), pairs=pairs)
    now = portfolio.SearchState(profile, {"gcn": 0.55, "graphsage": 0.5}, error=0.1)
    assert now.neighbours_differ is differ
    assert not now._replace(error=0.01).neighbours_differ


def test_the_same_seed_gives_the_same_answer(graph: Graph, result: Run) -> None:
    again = chosen(graph)
    assert np.array_equal(again.probabilities, result.probabilities)
    assert again.verdict == result.verdict
    assert sum(one.share for one in result.members) == pytest.approx(1.0)
    assert sum(one.weight for one in result.leaderboard or ()) == pytest.approx(1.0)
    np.testing.assert_allclose(result.probabilities.sum(axis=1), 1.0, rtol=1e-4)


def test_test_labels_are_not_used(graph: Graph, result: Run) -> None:
    split, poisoned = result.split, graph.truth.copy()
    poisoned[split.test] = (poisoned[split.test] + 1) % 4
    other = chosen(replace(graph, labels=poisoned), split)
    assert np.array_equal(other.probabilities, result.probabilities)
    assert other.scores["delivered_accuracy"] != result.scores["delivered_accuracy"]


def test_without_time_the_simple_methods_answer(graph: Graph) -> None:
    found = board(chosen(graph, time_limit=0.0))
    assert all(found[name].seeds == 1 for name in TRIED[: search.SIMPLE])
    assert {found[name].left_out for name in TRIED[search.SIMPLE :]} == {"no time was left"}


def test_the_clock_decides_nothing_on_a_machine_that_is_quick_enough(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Within a limit that leaves some candidates out, a machine twice as fast gives the same answer."""
    limit, answers = 0.8, []
    for tick in (0.0, 1e-5):  # seconds that pass each time the clock is read
        read = count(0.0, tick).__next__
        monkeypatch.setattr(search, "Budget", lambda limit, clock, read=read: Budget(limit, read))
        answers.append(chosen(graph, time_limit=limit))
    one, other = answers
    assert np.array_equal(one.probabilities, other.probabilities)
    assert "no time was left" in {candidate.left_out for candidate in one.leaderboard or ()}
    assert any(candidate.seeds for name, candidate in board(one).items() if name not in TRIED[: search.SIMPLE])


def test_prices_alone_decide_if_the_clock_is_left_out(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that is far too slow then gives the answer of one that is quick enough."""
    quick = chosen(graph, time_limit=1.2, by_clock=False)
    monkeypatch.setattr("time.monotonic", count(0.0, 100.0).__next__)
    slow = chosen(graph, time_limit=1.2, by_clock=False)
    assert np.array_equal(slow.probabilities, quick.probabilities)
    tried = {name for name, one in board(slow).items() if one.seeds}
    assert tried > set(TRIED[: search.SIMPLE])
    assert {name for name, one in board(chosen(graph, time_limit=1.2)).items() if one.seeds} < tried


def test_a_candidate_that_the_clock_ends_keeps_its_best_epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    planted = planted_graph(400, homophily=0.8, seed=1)
    split = Split.random(planted.truth, 10, ENOUGH, None, 0)
    read = count()
    monkeypatch.setattr(search, "Budget", lambda limit, **_: Budget(limit, lambda: float(next(read))))
    entries = (portfolio.Candidate("mlp"), portfolio.Candidate("gcn"))
    monkeypatch.setattr(search, "candidates_for", lambda *_, **__: entries)
    monkeypatch.setattr(search, "SIMPLE", 1)
    found = board(chosen(planted, split, seeds=(0,), changes={"epochs": 60}, time_limit=90.0))
    assert found["gcn"].left_out is None
    assert found["gcn"].validation is not None
    assert next(read) < 60 + 60  # it was ended early


@pytest.mark.parametrize("after", [2, 0])
def test_an_interruption_keeps_what_is_finished(graph: Graph, after: int) -> None:
    """And is raised if nothing is."""
    done: list[str] = []

    def stop(event: FitEvent) -> None:
        if isinstance(event, CandidateDone):
            done.append(event.name)
        if isinstance(event, CandidateDone | CandidateStarted) and len(done) == after:
            raise KeyboardInterrupt

    if not after:
        with pytest.raises(KeyboardInterrupt):
            chosen(graph, on_event=stop)
        return
    found = chosen(graph, on_event=stop)
    assert found.interrupted
    assert found.metrics()["interrupted"]
    assert done == ["label-propagation", "harmonic"]
    assert {one.name for one in found.leaderboard or () if one.seeds} == set(done)


@pytest.fixture
def always_side_by_side(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "_WORTH_LANES", 0.0)


@pytest.mark.usefixtures("always_side_by_side")
def test_candidates_side_by_side_give_the_same_answer(graph: Graph, result: Run) -> None:
    """Two processes: same candidates, seeds and weights as one after the other, and the same bits when repeated.

    The first holds while no candidate is so weak that it is stopped: others that are done by then decide that.
    """
    one, other = chosen(graph, workers=2), chosen(graph, workers=2)
    assert np.array_equal(one.probabilities, other.probabilities)
    np.testing.assert_allclose(one.probabilities, result.probabilities, atol=1e-3)
    assert {name: found.seeds for name, found in board(one).items()} == {
        name: found.seeds for name, found in board(result).items()
    }
    assert not active_children()


@pytest.mark.usefixtures("always_side_by_side")
def test_side_by_side_within_a_limit(graph: Graph) -> None:
    """Prices decide what is tried in two processes too, and two lanes leave time for more than one."""
    few, one, other = (chosen(graph, workers=n, time_limit=0.7, by_clock=False) for n in (1, 2, 2))
    assert np.array_equal(one.probabilities, other.probabilities)
    tried = [{name for name, found in board(run).items() if found.seeds} for run in (few, one, other)]
    assert tried[0] < tried[1] == tried[2]


@pytest.mark.usefixtures("always_side_by_side")
def test_a_killed_worker_costs_its_candidate_alone(graph: Graph) -> None:
    killed: list[Any] = []

    def kill(event: FitEvent) -> None:
        if isinstance(event, CandidateStarted) and event.name == TRIED[search.SIMPLE] and not killed:
            killed.extend(active_children())
            for process in killed:
                os.kill(process.pid or 0, signal.SIGKILL)

    found = board(chosen(graph, seeds=(0,), workers=2, on_event=kill))
    assert len(killed) == 2
    lost = {name: one.left_out or "" for name, one in found.items() if not one.seeds}
    assert all("killed by SIGKILL" in lost[name] for name in TRIED[search.SIMPLE : search.SIMPLE + 2])
    assert found["graphsage"].seeds == 1


@pytest.mark.usefixtures("always_side_by_side")
def test_an_interruption_ends_the_workers(graph: Graph) -> None:
    def stop(event: FitEvent) -> None:
        if isinstance(event, CandidateDone) and event.name == "hgcn-plus":
            raise KeyboardInterrupt

    found = chosen(graph, workers=2, on_event=stop)
    assert found.interrupted
    assert board(found)["hgcn-plus"].seeds == 1
    assert not active_children()


@pytest.mark.parametrize(
    ("changes", "message"),
    [({"hiden": 8}, "No candidate has a setting 'hiden'; did you mean hidden"), ({"hidden": -1}, "hidden is -1; give")],
)
def test_wrong_settings_are_refused_before_anything_is_trained(
    graph: Graph, changes: dict[str, Any], message: str
) -> None:
    started: list[str] = []
    with pytest.raises(InputError, match=message):
        chosen(
            graph,
            changes=changes,
            on_event=lambda event: started.append(event.name) if isinstance(event, CandidateStarted) else None,
        )
    assert not started


def test_settings_reach_the_candidates_that_have_them(graph: Graph) -> None:
    """Label propagation has no epochs and is trained all the same; levels are for candidates that are not reached."""
    found = chosen(graph, changes={"epochs": 7, "levels": 2}, time_limit=0.0)
    assert board(found)["label-propagation"].seeds == 1
    assert board(found)["gcn"].seeds == 1


def test_the_first_member_is_of_the_heaviest_method(mixed: Run) -> None:
    """GCN has 40 % in two seeds of four folds, label propagation 30 % in one seed."""
    methods = [one.settings.method for one in mixed.members]
    assert methods == ["gcn"] * 8 + ["label-propagation"] * 4 + ["hgcn-plus"] * 8 + ["mlp"] * 8
    assert {one.fold for one in mixed.members} == set(range(FOLDS))
    assert mixed.settings.model.harmonic
    assert set(mixed.seeds) == {0, 1}
    assert mixed.verdict is not None
    assert mixed.verdict.startswith("GCN with harmonic columns (40 %)")


def test_a_saved_answer_predicts_the_same(run: Run, mixed: Run, graph: Graph) -> None:
    np.testing.assert_allclose(run.model.predict_proba(graph, "cpu"), mixed.probabilities, atol=1e-5)
    assert len(predictions_again(run, graph, "cpu")) == 150


def newer(graph: Graph) -> Graph:
    """The graph with ten further nodes in front, each of which is joined to three nodes of class a."""
    adjacency = np.zeros((160, 160))
    adjacency[10:, 10:] = graph.adjacency.toarray()
    for new in range(10):
        near = 10 + np.flatnonzero(graph.truth == 0)[new : new + 3]
        adjacency[new, near] = adjacency[near, new] = 1.0
    features = np.vstack([np.zeros((10, graph.n_features)), np.asarray(graph.features)])
    ids = np.concatenate([np.array([f"new {i}" for i in range(10)], dtype=object), graph.ids])
    return Graph(sp.csr_array(adjacency), features, None, ids, name="newer")


def test_a_saved_answer_predicts_on_a_newer_graph(run: Run, graph: Graph) -> None:
    table = predictions_on(run, newer(graph), "cpu")
    assert table["seen"].tolist() == [False] * 10 + [True] * 150
    before = run.table["predicted"].to_numpy()
    assert (table["predicted"].to_numpy()[10:] == before).mean() > 0.9


@pytest.mark.parametrize("method", ["label-propagation", "harmonic"])
def test_labels_spread_to_new_nodes(method: str, graph: Graph, tmp_path: Path) -> None:
    fit(graph, resolve_split(graph), model=method, device="cpu").write(tmp_path / "run")
    table = predictions_on(Run.load(tmp_path / "run"), newer(graph), "cpu")
    assert (table["predicted"][:10] == "a").mean() >= 0.8


def test_an_explanation_says_what_each_method_says(run: Run, mixed: Run, graph: Graph) -> None:
    found = explain(run, graph, "node 7", device="cpu")
    assert found.predicted == run.table["predicted"][7]
    assert found.nodes
    assert {one.name for one in found.methods} == {member.name for member in mixed.members}
    assert sum(one.weight for one in found.methods) == pytest.approx(1.0)
    assert sum(one.weight * (one.probability or 0.0) for one in found.methods) == pytest.approx(
        found.probability, abs=1e-5
    )


def test_the_simple_methods_are_the_first() -> None:
    assert tuple(entry.name for entry in portfolio.PORTFOLIO[: search.SIMPLE]) == TRIED[: search.SIMPLE]


def test_a_dataset_with_recipes_is_fitted_by_them(graph: Graph) -> None:
    assert portfolio.candidates_for("cora") == portfolio.WITH_RECIPES
    assert portfolio.candidates_for("helsinki") == portfolio.candidates_for(None) == portfolio.PORTFOLIO
    split = resolve_split(graph)
    found = search.Automatic(Trainer(graph, "cpu"), split, [0], lambda _: None, None, 1.0, 1, "citeseer")
    entry = next(one for one in portfolio.WITH_RECIPES if one.name == "hgcn-plus")
    assert found.settings_of(entry) == settings_for("hgcn-plus", None, "citeseer").override(
        {"selection": "loss"}
    )  # of cross-validation
    assert found.settings_of(portfolio.PORTFOLIO[4]) != found.settings_of(entry)


def test_every_label_validates_once(graph: Graph, result: Run) -> None:
    """Each label validates once, and a labelled node is predicted by the networks that did not train on it."""
    split = result.split
    used = np.union1d(split.train, split.validation)
    parts = fold_splits(split, graph.truth)
    assert np.array_equal(np.sort(np.concatenate([one.validation for one in parts])), used)
    for one in parts:
        assert np.array_equal(np.union1d(one.train, one.validation), used)
        assert np.array_equal(one.test, split.test)
    assert {member.settings.train.selection for member in result.members} == {"loss"}
    assert result.metrics()["turns"] == FOLDS
    nodes, fold = fold_of(split, graph.truth, order=canonical_order(graph.ids))
    model = result.model
    means: dict[str, np.ndarray] = {}
    for member, said in zip(model.members, model.each_proba(graph, "cpu"), strict=True):
        shares = model.shares(member, graph)[:, 0]
        np.testing.assert_allclose(shares[nodes[fold == member.fold]], FOLDS * member.share)
        assert not shares[nodes[(fold != member.fold) & (fold >= 0)]].any()
        np.testing.assert_allclose(shares[split.test], member.share)
        means[member.name] = means.get(member.name, 0.0) + shares[:, None] * said
    assert {name for name, _, _ in model.each_method(graph, "cpu")} == set(means)
    for name, weight, outputs in model.each_method(graph, "cpu"):
        assert np.array_equal(outputs.argmax(axis=1), means[name].argmax(axis=1))
        np.testing.assert_allclose(outputs.sum(axis=1), 1.0, atol=1e-5)
        assert 0 < weight <= 1
    np.testing.assert_allclose(model.predict_proba(graph, "cpu"), result.probabilities, atol=1e-5)


def test_a_candidate_is_weighed_by_calibrated_probabilities() -> None:
    """A method that is right but far too unsure is not thrown out for that."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, 400)
    right = np.where(rng.random(400) < 0.9, truth, (truth + 1) % 3)
    unsure = np.full((400, 3), 0.3)
    unsure[np.arange(400), right] = 0.4
    one = search.CandidateState(portfolio.PORTFOLIO[0])
    one.results.probabilities[0] = unsure
    one.temperature = fit_temperature(unsure, truth)
    assert one.temperature.value < 0.5
    assert one.outputs().max(axis=1).mean() > 0.6
    assert np.array_equal(one.outputs(0).argmax(axis=1), right)


def test_a_class_with_one_label_always_trains() -> None:
    labels = np.array([0, 0, 0, 1, 0, 0])
    parts = fold_splits(Split(np.array([0, 1, 3]), np.array([2, 4]), np.array([5])), labels, 2)
    assert all(3 in one.train for one in parts)
    assert sorted(np.concatenate([one.validation for one in parts])) == [0, 1, 2, 4]


def test_three_labels_take_two_folds(graph: Graph) -> None:
    first, second = (np.flatnonzero(graph.truth == k) for k in (0, 1))
    none = np.empty(0, dtype=np.int64)
    found = fold_splits(Split(np.array([first[0], second[0]]), first[1:2], none), graph.truth)
    assert [one.validation.tolist() for one in found] in ([[first[0]], [first[1]]], [[first[1]], [first[0]]])
    lonely = Split(first[:1], second[:1], none)
    assert fold_splits(lonely, graph.truth) == (lonely,)


def test_many_validation_nodes_do_not_train() -> None:
    planted = planted_graph(400, homophily=0.8, seed=1)
    split = Split.random(planted.truth, 10, ENOUGH, None, 0)
    found = chosen(planted, split, seeds=(0,), time_limit=0.0)
    assert found.scores["turns"] == 1
    assert {one.fold for one in found.members} == {None}
    assert np.array_equal(np.sort(found.model.train), np.sort(split.train))
