"""What stands behind a gap to a published figure, measured. AN ANALYSIS: it looks at test labels; no recipe is chosen by it.

    python scripts/gaps.py selection dgcn graph-unet --datasets cora citeseer --seeds 20
    python scripts/gaps.py nell --seeds 5 --device cuda

`selection`: what is gained by keeping the epoch that is best on the test nodes, as some authors' scripts do.
`nell`: DGCN and GCN on NELL with other settings, with 10 % of the entities labelled, and on the graph of entities that
the loader `load_nell_concise_dataset_3nd` of github.com/ZhuangCY/DGCN makes. Every row goes to docs/results/analysis/.
"""

import argparse
import csv
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from hiergcn.datasets import load_dataset
from hiergcn.evaluate.metrics import Summary
from hiergcn.graph import Graph, Split
from hiergcn.run.fit import fit
from hiergcn.run.settings import Settings, settings_for

HERE = Path(__file__).resolve().parents[1] / "docs" / "results" / "analysis"
ENTITIES, WORDS = 8_922, 5_414  # NELL's nodes that are surely entities; columns that are words
LABELLED_SHARE, PART = 0.1, 500
MEETINGS = 5  # two entities are joined if more paths of at most two edges lead from one to the other
NONE = np.empty(0, dtype=np.int64)


def row(
    about: str, model: str, cases: Sequence[tuple[Graph, Split, int]], settings: Settings, device: str
) -> dict[str, Any]:
    """One setting over splits and seeds: the epoch chosen on validation, and the epoch chosen on test."""
    honest, on_test = [], []
    for graph, split, seed in cases:
        result = fit(graph, split, settings, [seed], device=device)
        assert result.test is not None  # noqa: S101  (every split here has test nodes)
        honest.append(result.test.accuracy.mean)
        looking = fit(graph, Split(split.train, split.test, NONE), settings, [seed], device=device)
        on_test.append(looking.validation_accuracy.mean)
    chosen, looked = Summary(tuple(honest)), Summary(tuple(on_test))
    found = {
        "case": about,
        "model": model,
        "seeds": len(cases),
        "epoch chosen on validation": _shown(chosen),
        "epoch chosen on test": _shown(looked),
        "gained": f"{100 * ((looked.mean or 0.0) - (chosen.mean or 0.0)):+.1f}",
    }
    print(found, flush=True)
    return found


def _shown(summary: Summary) -> str:
    return f"{100 * (summary.mean or 0.0):.1f} ± {100 * (summary.std or 0.0):.1f}"


def selection(models: Sequence[str], datasets: Sequence[str], seeds: int, device: str) -> Iterator[dict[str, Any]]:
    for dataset in datasets:
        data = load_dataset(dataset)
        cases = [(data.graph, data.split, seed) for seed in range(seeds)]
        for model in models:
            yield row(dataset, model, cases, settings_for(model, None, dataset), device)


def nell(seeds: int, device: str) -> Iterator[dict[str, Any]]:
    data = load_dataset("nell")
    public = [(data.graph, data.split, seed) for seed in range(seeds)]
    recipe = settings_for("dgcn", None, "nell")
    reference = settings_for("dgcn", "reference", "nell").override({"supervised": "cross_entropy"})
    yield row("public split, recipe", "dgcn", public, recipe, device)
    yield row("public split, recipe", "gcn", public, settings_for("gcn", None, "nell"), device)
    many = tenth(data.graph, seeds)
    yield row("10 % of entities labelled", "gcn", many, settings_for("gcn", None, "nell"), device)
    yield row("10 % of entities labelled", "dgcn", many, recipe, device)
    concise = tenth(entity_graph(data.graph), seeds)
    yield row("10 %, graph of entities", "gcn", concise, settings_for("gcn", None, "nell"), device)
    yield row("10 %, graph of entities", "dgcn", concise, recipe, device)
    for change in (
        {"consistency": 0.0},
        {"consistency": 150.0},
        {"walk_length": 2},
        {"walk_length": 5},
        {"walk_length": 10},
        {"scaling": "none"},
        {"scaling": "binary"},
        {"dropout": 0.1},
        {"hidden": 128},
    ):
        words = ", ".join(f"{name}={value}" for name, value in change.items())
        yield row(f"public split, recipe with {words}", "dgcn", public, recipe.override(change), device)
    yield row("public split, the authors' settings for citations, cross-entropy", "dgcn", public, reference, device)


def tenth(graph: Graph, seeds: int) -> list[tuple[Graph, Split, int]]:
    """Splits with a tenth of the entities as training nodes, one of each class at least; 500 validate and 500 test."""
    assert graph.labels is not None  # noqa: S101  (NELL has labels)
    labels, cases = graph.labels, []
    for seed in range(seeds):
        shuffled = np.random.default_rng(seed).permutation(np.flatnonzero(labels >= 0))
        _, first = np.unique(labels[shuffled], return_index=True)
        order = np.concatenate([shuffled[first], np.delete(shuffled, first)])
        train, rest = np.split(order, [int(LABELLED_SHARE * ENTITIES)])
        rest = np.random.default_rng(seed).permutation(rest)
        cases.append((graph, Split(train, rest[:PART], rest[PART : 2 * PART]), seed))
    return cases


def entity_graph(graph: Graph) -> Graph:
    """Entities alone, joined where they meet often enough through relations; words as features."""
    A = sp.csr_array(graph.adjacency)
    A.data = np.ones_like(A.data)
    meetings = sp.csr_array((A + A @ A)[:ENTITIES, :ENTITIES])
    meetings.setdiag(0)
    joined = sp.csr_array((meetings > MEETINGS).astype(np.float64))
    assert graph.features is not None and graph.labels is not None  # noqa: S101, PT018  (NELL has both)
    return Graph.from_scipy(joined, graph.features[:ENTITIES, :WORDS], graph.labels[:ENTITIES], name="nell-entities")


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("what", choices=["selection", "nell"])
    words.add_argument("models", nargs="*")
    words.add_argument("--datasets", nargs="+", default=["cora", "citeseer", "pubmed"])
    words.add_argument("--seeds", type=int, default=5)
    words.add_argument("--device", default="auto")
    words.add_argument("--log", type=Path)
    given = words.parse_args()
    log = given.log or HERE / f"{given.what}.csv"
    log.parent.mkdir(parents=True, exist_ok=True)
    found = (
        nell(given.seeds, given.device)
        if given.what == "nell"
        else selection(given.models, given.datasets, given.seeds, given.device)
    )
    new = not log.exists()
    for one in found:  # a row at once, so that what is done is kept
        with log.open("a", newline="", encoding="utf-8") as lines:
            table = csv.DictWriter(lines, fieldnames=list(one), lineterminator="\n")
            if new:
                table.writeheader()
                new = False
            table.writerow(one)


if __name__ == "__main__":
    main()
