"""The experiments of the paper's Section 4, and what we measure beside them, at full size or smaller.

Where the paper's settings do not learn (H-GCN on NELL with dropout 0.85) the paper's settings are run all the same, as
the arm `hgcn`, and our recipe beside them, as `hgcn-nell`. Ablations and figures on NELL would say nothing about a
network that has not learned: they are made with our recipe alone.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from hiergcn.errors import InputError
from hiergcn.graph.split import PUBLIC, few_labels, random_splits
from hiergcn.paper.experiment import Arm, Column, Experiment, Measurement
from hiergcn.paper.names import NAMES

CITATION = ("cora", "citeseer", "pubmed")
NELL = "nell"


@dataclass(frozen=True)
class Scale:
    """How much of everything."""

    name: str
    datasets: tuple[str, ...] = (*CITATION, NELL)
    few_labels_on: str = "pubmed"
    seeds: int = 20
    nell_seeds: int = 5
    """In the two figures; a run on NELL takes five times as long as one on Pubmed."""
    labels: tuple[int, ...] = (20, 15, 10, 5)
    draws: int = 10
    draw_seeds: int = 5
    """Of H-GCN on each draw."""
    draw_seeds_others: int = 2
    fewer_draws: Mapping[str, int] = field(default_factory=dict)
    """Draws of methods whose runs take long."""
    levels: tuple[int, ...] = (1, 2, 3, 4, 5, 6, 7, 8)
    channels: tuple[int, ...] = (1, 2, 3, 4, 5, 6, 7, 8)
    splits: int = 100
    fewer_splits: Mapping[str, int] = field(default_factory=dict)
    """Random splits of methods that are trained one run at a time, or whose runs take long."""
    most_epochs: int | None = None
    lighter: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Settings by method that spare time where epochs are not what takes it."""
    sizes: tuple[int, ...] = (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
    """Nodes of the graphs that times are measured on."""
    degrees: tuple[int, ...] = (3, 10, 30, 100)
    degrees_at: int = 30_000
    reach_levels: int = 8

    @property
    def citation(self) -> tuple[str, ...]:
        return tuple(name for name in self.datasets if name in CITATION)


FULL = Scale(
    "full",
    fewer_draws={"gat": 5},
    fewer_splits=dict.fromkeys(("dgcn", "gat", "grand", "planetoid-i", "planetoid-t", "graph-unet", "deepwalk"), 10),
)
QUICK = Scale(
    "quick",
    datasets=("cora",),
    few_labels_on="cora",
    seeds=3,
    labels=(20, 5),
    draws=2,
    draw_seeds=1,
    draw_seeds_others=1,
    levels=(1, 2, 4, 8),
    channels=(1, 4, 8),
    splits=3,
    most_epochs=60,
    lighter={
        "deepwalk": {"walks": 5},
        "planetoid-t": {"label_steps": 100, "graph_steps": 100},
        "planetoid-i": {"label_steps": 500, "steps": 5},
    },
    sizes=(1_000, 10_000, 100_000),
    degrees=(3, 10, 30),
    degrees_at=10_000,
)
SCALES = {scale.name: scale for scale in (FULL, QUICK)}

# In the order in which they are worth running: what the paper is about, then what costs little.
_BASELINES = ("gcn", "dgcn", "label-propagation", "mlp", "gat", "grand", "appnp")
_SLOW = ("planetoid-i", "planetoid-t", "graph-unet", "deepwalk")


def experiments(scale: Scale = FULL) -> dict[str, Experiment]:
    """Every experiment by its name."""
    makers = (_table1, _table2, _table3, _table4, _levels, _channels, _toy, _reach, _complexity, _random_splits)
    return {made.name: made for made in (maker(scale) for maker in makers)}


def chosen(names: list[str], scale: Scale = FULL) -> list[Experiment]:
    """The experiments named, in the order given; `all` is every one."""
    every = experiments(scale)
    unknown = [name for name in names if name not in every and name != "all"]
    if unknown:
        raise InputError(f"There is no experiment named {unknown[0]!r}; give all or some of {', '.join(every)}.")
    words = [one for name in names for one in (every if name == "all" else (name,))]
    return [every[name] for name in dict.fromkeys(words)]


def _hgcn(name: str = "hgcn", **changes: object) -> Arm:
    return Arm(name, "hgcn", "paper", changes)


def _on_nell(name: str, seeds: int | None = None, **changes: object) -> Arm:
    """H-GCN by the recipe that learns on NELL."""
    return Arm(name, "hgcn", "default", changes, datasets=(NELL,), seeds=seeds)


def _others(scale: Scale, names: tuple[str, ...], seeds: int | None = None) -> tuple[Arm, ...]:
    """Other methods by their own recipes. Graph U-Net squares the adjacency, which NELL's hubs make too dense."""
    return tuple(
        Arm(
            name,
            name,
            changes=scale.lighter.get(name, {}),
            datasets=CITATION if name == "graph-unet" else None,
            seeds=seeds,
        )
        for name in names
    )


def _table1(scale: Scale) -> Experiment:
    return Experiment(
        "table1",
        "Datasets",
        "Statistics of the datasets, counted in the files.",
        measurements=tuple(Measurement("table1", "statistics", {"dataset": name}) for name in scale.datasets),
    )


def _table2(scale: Scale) -> Experiment:
    return Experiment(
        "table2",
        "Node classification",
        f"Every method on the public splits, {scale.seeds} seeds.",
        arms=(_on_nell("hgcn-nell"), _hgcn(), *_others(scale, (*_BASELINES, *_SLOW))),
        datasets=scale.datasets,
        seeds=scale.seeds,
        most_epochs=scale.most_epochs,
        measurements=tuple(
            Measurement("table2", "memory", {"dataset": NELL, "method": "gat"})  # "requires more than 64G"
            for name in scale.datasets
            if name == NELL
        ),
    )


def _table3(scale: Scale) -> Experiment:
    """Draws and seeds are crossed. 20 a class with all validation nodes is the public split: there is one draw."""
    columns = []
    for small in (False, True):
        for count in scale.labels:
            name = f"{count} small" if small else str(count)
            if count == max(scale.labels) and not small:
                columns.append(Column(name, splits=(PUBLIC,), seeds=scale.seeds))
            else:
                columns.append(Column(name, splits=few_labels(count, scale.draws, small_validation=small)))
    others = _others(scale, ("gcn", "dgcn", "gat", "grand", "appnp"), scale.draw_seeds_others)
    return Experiment(
        "table3",
        "Few labels",
        f"{scale.few_labels_on.capitalize()} with {', '.join(map(str, scale.labels))} labels a class, drawn "
        f"{scale.draws} times from the training set{_fewer(scale.fewer_draws)}; with all validation nodes and with as "
        "few as train.",
        arms=(
            Arm("hgcn", "hgcn", "paper", seeds=scale.draw_seeds),
            *(replace(arm, splits=scale.fewer_draws.get(arm.name)) for arm in others),
        ),
        datasets=(scale.few_labels_on,),
        columns=tuple(columns),
        most_epochs=scale.most_epochs,
    )


def _table4(scale: Scale) -> Experiment:
    return Experiment(
        "table4",
        "Ablation",
        f"H-GCN without coarsening (short-cuts kept) and without node-weight embedding, {scale.seeds} seeds.",
        arms=(
            _on_nell("hgcn-nell"),
            _on_nell("no-coarsening-nell", coarsening=False),
            _on_nell("no-embedding-nell", weight_embedding=0),
            _hgcn(),
            replace(_hgcn("no-coarsening", coarsening=False), datasets=CITATION),
            replace(_hgcn("no-embedding", weight_embedding=0), datasets=CITATION),
        ),
        datasets=scale.datasets,
        seeds=scale.seeds,
        most_epochs=scale.most_epochs,
    )


def _varied(scale: Scale, name: str, title: str, setting: str, values: tuple[int, ...]) -> Experiment:
    return Experiment(
        name,
        title,
        f"H-GCN with {setting} of {values[0]} to {values[-1]}; on NELL by our recipe, {scale.nell_seeds} seeds.",
        arms=(Arm("hgcn", "hgcn", "paper", datasets=CITATION), _on_nell("hgcn", scale.nell_seeds)),
        datasets=scale.datasets,
        columns=tuple(Column(str(value), {setting: value}) for value in values),
        seeds=scale.seeds,
        most_epochs=scale.most_epochs,
    )


def _levels(scale: Scale) -> Experiment:
    return _varied(scale, "figure-levels", "Coarsening layers", "levels", scale.levels)


def _channels(scale: Scale) -> Experiment:
    return _varied(scale, "figure-channels", "Channels", "channels", scale.channels)


def _toy(_: Scale) -> Experiment:
    return Experiment(
        "figure-coarsening",
        "Coarsening, step by step",
        "The toy graph of the paper's coarsening figure.",
        measurements=(Measurement("figure-coarsening", "toy", {}),),
    )


def _reach(scale: Scale) -> Experiment:
    return Experiment(
        "figure-receptive-field",
        "Receptive field",
        f"Nodes that reach a node's output: GCN, and H-GCN with 0 to {scale.reach_levels} levels.",
        measurements=tuple(
            Measurement("figure-receptive-field", "reach", {"dataset": name, "levels": scale.reach_levels})
            for name in scale.datasets
        ),
    )


def _complexity(scale: Scale) -> Experiment:
    points = [(size, 10) for size in scale.sizes] + [(scale.degrees_at, degree) for degree in scale.degrees]
    return Experiment(
        "complexity",
        "Cost",
        f"Preprocessing and epochs on planted graphs of {scale.sizes[0]:,} to {scale.sizes[-1]:,} nodes, one thread.",
        measurements=tuple(
            Measurement("complexity", "cost", {"nodes": nodes, "degree": degree}, alone=True)
            for nodes, degree in dict.fromkeys(points)
        ),
    )


def _random_splits(scale: Scale) -> Experiment:
    arms = (_hgcn(), *_others(scale, (*_BASELINES, *_SLOW)))
    return Experiment(
        "random-splits",
        "Random splits",
        f"Table 2 on {scale.splits} random splits of the citation networks, one seed each{_fewer(scale.fewer_splits)}.",
        arms=tuple(replace(arm, splits=scale.fewer_splits.get(arm.name)) for arm in arms),
        datasets=scale.citation,
        columns=(Column(splits=random_splits(scale.splits)),),
        most_epochs=scale.most_epochs,
    )


def _fewer(counts: Mapping[str, int]) -> str:
    """Which methods have fewer splits or draws, in words."""
    by_count: dict[int, list[str]] = {}
    for method, count in counts.items():
        by_count.setdefault(count, []).append(NAMES[method])
    words = "; ".join(f"{count} of them for {', '.join(methods)}" for count, methods in by_count.items())
    return f" ({words})" if words else ""
