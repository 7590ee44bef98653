"""A Ray cluster of two nodes in this process: the same results as local processes, though a node is lost."""

import logging
import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ray_units import misbehaving

from hiergcn.comparison.compare import CompareEvent, Comparison, MethodDone, RunDone, compare
from hiergcn.datasets import planted_graph
from hiergcn.errors import InputError
from hiergcn.graph import Graph, Split
from hiergcn.run.fit import fit
from hiergcn.settings.settings import Settings, settings_for
from hiergcn.workers import ray_cluster
from hiergcn.workers.pool import Engine, Reply, Request
from hiergcn.workers.ray_cluster import RayEngine

ray = pytest.importorskip("ray", reason="Ray is not installed: pip install 'hiergcn[ray]'.")
pytest.importorskip("ray.cluster_utils")

SEEDS = (0, 1, 2, 3)
NODE = {"num_cpus": 1, "object_store_memory": 80 * 2**20, "memory": 4 * 10**9}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Two nodes with a CPU each, of which the second may be lost; Ray notices that after a second, not fifteen."""
    from ray.cluster_utils import Cluster

    notice = {"health_check_initial_delay_ms": 0, "health_check_period_ms": 300, "health_check_failure_threshold": 3}
    head = NODE | {"include_dashboard": False, "_system_config": notice}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(Path(__file__).parent), prepend=os.pathsep)  # for the work of these tests
        made: Any = Cluster(initialize_head=True, head_node_args=head)
        made.add_node(**NODE)
        ray.init(address=made.address, log_to_driver=False, logging_level=logging.ERROR)
        yield made
        ray.shutdown()
        made.shutdown()


@pytest.fixture(scope="module")
def engine(cluster: Any) -> Iterator[RayEngine]:
    with closing(RayEngine()) as opened:
        yield opened


@pytest.fixture(scope="module")
def graph() -> Graph:
    return planted_graph(200, classes=3, depth=1, homophily=0.9, noise=1.0, seed=0)


@pytest.fixture(scope="module")
def split(graph: Graph) -> Split:
    return Split.random(graph.truth, per_class=10, validation=50, seed=7)


def quick(method: str = "hgcn", **changes: Any) -> Settings:
    return settings_for(method).override({"epochs": 4, "hidden": 8} | changes)


METHODS = {"shallow": quick(levels=0), "deep": quick(levels=2), "hopeless": quick(learning_rate=1e30)}


def table(comparison: Comparison) -> list[Any]:
    """Return every figure but seconds and memory."""
    scores = [vars(score) | {"seconds": None} for run in comparison.runs for score in run.scores]
    return [*scores, *comparison.differences]


def last_replies(engine: RayEngine, jobs: list[str], root: Path, request: Request) -> list[Reply]:
    with engine.pool(misbehaving, str(root)) as pool:
        found = dict(pool.replies((job, request) for job in jobs))
    return [found[number] for number in range(len(jobs))]


def test_lost_workers_cost_a_retry_and_hopeless_units_are_recorded(engine: RayEngine, tmp_path: Path) -> None:
    notes: list[str] = []
    engine.on_note = notes.append
    well, once, fail, always = last_replies(engine, ["well", "once", "fail", "always"], tmp_path, Request(10**8))
    assert well[:2] == ("result", "well")
    assert well.peak.resident is not None
    assert once[:2] == ("result", "once")
    assert fail[:2] == ("failure", "It failed with ValueError: no")
    assert always[:2] == ("death", "It was started 4 times; its worker process died.")
    assert notes.count("A unit is started again, because its worker process died.") == 1 + 3
    assert not engine.running


def test_what_is_missing_is_said(engine: RayEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray_cluster, "_TICK", 0.2)
    monkeypatch.setattr(ray_cluster, "GIVE_UP", 1.0)
    notes: list[str] = []
    engine.on_note = notes.append
    sentence = "A unit needs 1 CPU, 1 GPU and 9.0 GB of memory, and no node of the Ray cluster has that: "
    with pytest.raises(InputError, match=sentence) as raised:
        last_replies(engine, ["well"], tmp_path, Request(9 * 10**9, gpus=1))
    assert str(raised.value).endswith("the largest has 0 GPUs and 4.0 GB of memory.")
    assert notes == [str(raised.value)]
    with pytest.raises(InputError, match="No node of the Ray cluster has a GPU; give --device cpu"):
        engine.device("cuda")


def test_other_versions_are_refused(engine: RayEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = ray_cluster.versions() | {"torch": "1.0.0"}
    monkeypatch.setattr(ray_cluster, "versions", lambda: other)
    with pytest.raises(
        InputError, match=r"^Ray worker .* has torch [\d.]+, and this machine 1\.0\.0\. Install the same"
    ):
        last_replies(engine, ["well"], tmp_path, Request())


def test_seeds_of_a_fit_are_those_of_this_process(engine: RayEngine, graph: Graph, split: Split) -> None:
    here = fit(graph, split, quick(), SEEDS[:3], device="cpu")
    there = fit(graph, split, quick(), SEEDS[:3], device="cpu", engine=engine)
    assert np.array_equal(there.probabilities, here.probabilities)
    assert there.history.equals(here.history)
    assert there.scores["device"] == "cpu"


def test_ctrl_c_keeps_finished_methods_and_frees_the_workers(engine: RayEngine, graph: Graph, split: Split) -> None:
    def interrupt(event: CompareEvent) -> None:
        if isinstance(event, MethodDone):
            raise KeyboardInterrupt

    found = compare(graph, split, METHODS, SEEDS, device="cpu", engine=engine, on_event=interrupt)
    assert found.interrupted
    assert [run.model for run in found.runs] == ["shallow"]
    assert not engine.running


def test_a_node_lost_in_the_middle_of_compare_loses_nothing(
    cluster: Any, engine: RayEngine, graph: Graph, split: Split
) -> None:
    local = compare(graph, split, METHODS, SEEDS, device="cpu", engine=Engine(0))
    done: list[RunDone] = []
    seen: list[str] = []
    notes: list[str] = []
    engine.on_note = notes.append
    lost = cluster.list_all_nodes()[-1]

    def on_event(event: CompareEvent) -> None:
        if isinstance(event, RunDone):
            done.append(event)
            seen.append(engine.status())
            if len(done) == 2:
                cluster.remove_node(lost, allow_graceful=False)

    spread = compare(graph, split, METHODS, SEEDS, device="cpu", engine=engine, on_event=on_event)
    assert table(spread) == table(local)
    assert len(done) == len(set(done)) == len(METHODS) * len(SEEDS)
    assert seen[0].startswith("Ray: 2 nodes, 0 GPUs, ")
    assert len(cluster.list_all_nodes()) == 1
    assert all(note.startswith("A unit is started again, because its ") for note in notes)  # if one was under way
    assert not engine.running
