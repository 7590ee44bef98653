"""What simpler methods give on the user's own graph, so that it shows whether the hierarchy helps there.

Label propagation knows the edges alone, the perceptron the features alone, GCN both without a hierarchy. They run on
the same split through the same `fit`, each with settings that suit the graph.
"""

from collections.abc import Sequence

from hiergcn.errors import HierGCNError
from hiergcn.graph import Graph, Split
from hiergcn.run.adapt import adapted_settings
from hiergcn.run.fit import fit
from hiergcn.run.result import Baseline
from hiergcn.run.settings import settings_for

METHODS = ("label-propagation", "mlp", "gcn")
SAME_FOR_ALL_SEEDS = ("label-propagation",)  # nothing is drawn


def fit_baselines(
    graph: Graph,
    split: Split,
    seeds: Sequence[int],
    *,
    dataset: str | None = None,
    leave_out: Sequence[str] = (),
    device: str = "auto",
) -> tuple[Baseline, ...]:
    """Every method but those left out, in the order of METHODS; a named dataset has recipes of its own."""
    return tuple(_fit_one(name, graph, split, seeds, dataset, device) for name in METHODS if name not in leave_out)


def _fit_one(name: str, graph: Graph, split: Split, seeds: Sequence[int], dataset: str | None, device: str) -> Baseline:
    if name == "mlp" and graph.features is None:
        return _without(name, "has nothing to learn from: the nodes have no features")
    own_seeds = seeds[:1] if name in SAME_FOR_ALL_SEEDS else seeds
    settings = settings_for(name, None, dataset) if dataset else adapted_settings(graph, split, name).settings
    try:
        result = fit(graph, split, settings, own_seeds, device=device)
    except (HierGCNError, MemoryError, RuntimeError) as error:  # the run that it stands beside must not be lost
        return _without(name, f"failed ({error!s:.200})")
    return Baseline(name, len(own_seeds), result.validation, result.test, result.seconds["train"])


def _without(name: str, reason: str) -> Baseline:
    return Baseline(name, 0, None, None, None, reason)
