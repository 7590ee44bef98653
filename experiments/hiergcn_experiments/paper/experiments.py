"""The experiments of the paper's Section 4, those of H-GCN+, and our measurements, at full size or smaller.

With the paper's dropout of 0.85 H-GCN does not learn on NELL. The paper's settings are run there all the same, as the
variant `hgcn`, and our recipe beside them, as `hgcn-nell`. Ablations and figures of a network that has not learned
would say nothing, so on NELL they use our recipe alone.

H-GCN+ is compared with itself without hierarchy (`share=0`, nothing else changed), with GRAND and with GCN. Runs that
the paper's experiments have too are shared with them. Variants of H-GCN are choices that the paper's text leaves open.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from hiergcn.research import drawn_splits, method_title
from hiergcn_experiments.experiment import NUMBERED, Condition, Experiment, Measurement, Variant, few_labels
from hiergcn_experiments.page import packaged

CITATION = ("cora", "citeseer", "pubmed")
NELL = "nell"
DEGREE = 10
"""Average degree of the graphs of several sizes on which seconds are measured."""
DATASET_TITLES = {"cora": "Cora", "citeseer": "Citeseer", "pubmed": "Pubmed", "nell": "NELL"}
TEXTS = packaged("paper/texts.toml")


def variant_title(variant: str) -> str:
    """Return the name of a variant as people read it."""
    return TEXTS["titles"].get(variant) or method_title(variant)


@dataclass(frozen=True)
class Scale:
    """The size of the experiments: datasets, seeds, splits, values of the varied settings."""

    name: str
    datasets: tuple[str, ...] = (*CITATION, NELL)
    few_labels_on: str = "pubmed"
    seeds: int = 20
    nell_seeds: int = 5
    """Seeds on NELL in the figures of levels and channels; a run there takes five times as long as on Pubmed."""
    labels: tuple[int, ...] = (20, 15, 10, 5)
    """Training labels per class."""
    draws: int = 10
    draw_seeds: int = 5
    """Seeds of H-GCN per draw."""
    draw_seeds_others: int = 2
    fewer_draws: Mapping[str, int] = field(default_factory=dict)
    """Number of draws for slow methods."""
    levels: tuple[int, ...] = (1, 2, 3, 4, 5, 6, 7, 8)
    channels: tuple[int, ...] = (1, 2, 3, 4, 5, 6, 7, 8)
    splits: int = 100
    fewer_splits: Mapping[str, int] = field(default_factory=dict)
    """Number of random splits for slow methods."""
    plus_labels: tuple[int, ...] = (20, 15, 10, 5, 3, 1)
    """Training labels per class in H-GCN+'s experiments."""
    plus_draws: int = 20
    most_epochs: int | None = None
    lighter: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Changed settings by method, for methods whose time does not depend on epochs."""
    sizes: tuple[int, ...] = (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
    """Nodes of the graphs on which seconds are measured."""
    degrees: tuple[int, ...] = (3, 10, 30, 100)
    degrees_at: int = 30_000
    field_levels: int = 8
    """Levels up to which the receptive field is measured."""

    @property
    def citation(self) -> tuple[str, ...]:
        return tuple(name for name in self.datasets if name in CITATION)


def _scale(name: str) -> Scale:
    values: dict[str, Any] = packaged("paper/scales.toml")[name]
    return Scale(name, **values | {key: tuple(value) for key, value in values.items() if isinstance(value, list)})


FULL, QUICK = _scale("full"), _scale("quick")

# In running order: the methods of the paper's comparison and the cheap ones first.
_BASELINES = ("gcn", "dgcn", "label-propagation", "mlp", "gat", "grand", "appnp")
_SLOW = ("planetoid-i", "planetoid-t", "graph-unet", "deepwalk")
_PAPER = Variant("hgcn", "hgcn", "paper")
_ON_NELL = Variant("hgcn-nell", "hgcn", "default", datasets=(NELL,))
"""H-GCN with the recipe that learns on NELL."""


def paper_experiments(scale: Scale = FULL) -> dict[str, Experiment]:
    """Return the paper's experiments by name."""
    gat = Measurement("memory", {"dataset": NELL, "method": "gat"})  # "requires more than 64G memory"
    # Table 3 crosses draws and seeds. All 20 labels per class with all validation nodes are the public split: one draw.
    public = Condition(str(max(scale.labels)), seeds=scale.seeds)
    few = [
        Condition(
            f"{count} small" if small else str(count), splits=few_labels(count, scale.draws, small_validation=small)
        )
        for small in (False, True)
        for count in scale.labels
    ]
    others_of_table3 = _others(scale, ("gcn", "dgcn", "gat", "grand", "appnp"), scale.draw_seeds_others)
    without: dict[str, dict[str, Any]] = {
        "no-coarsening": {"coarsening": False},
        "no-embedding": {"weight_embedding": 0},
    }
    costs = [(size, DEGREE) for size in scale.sizes] + [(scale.degrees_at, degree) for degree in scale.degrees]
    every_method = _others(scale, (*_BASELINES, *_SLOW))
    made = [
        Experiment("table1", measurements=_on_each(scale, "statistics")),
        Experiment(
            "table2",
            variants=(_ON_NELL, _PAPER, *every_method),
            datasets=scale.datasets,
            seeds=scale.seeds,
            measurements=(gat,) if NELL in scale.datasets else (),
        ),
        Experiment(
            "table3",
            variants=(
                replace(_PAPER, seeds=scale.draw_seeds),
                *(replace(variant, splits=scale.fewer_draws.get(variant.name)) for variant in others_of_table3),
            ),
            datasets=(scale.few_labels_on,),
            conditions=tuple(public if condition.name == public.name else condition for condition in few),
        ),
        Experiment(
            "table4",
            variants=(
                _ON_NELL,
                *(replace(_ON_NELL, name=f"{name}-nell", changes=changes) for name, changes in without.items()),
                _PAPER,
                *(replace(_PAPER, name=name, changes=changes, datasets=CITATION) for name, changes in without.items()),
            ),
            datasets=scale.datasets,
            seeds=scale.seeds,
        ),
        *(
            Experiment(
                f"figure-{setting}",
                variants=(replace(_PAPER, datasets=CITATION), replace(_ON_NELL, name="hgcn", seeds=scale.nell_seeds)),
                datasets=scale.datasets,
                conditions=tuple(Condition(str(value), {setting: value}) for value in values),
                seeds=scale.seeds,
            )
            for setting, values in (("levels", scale.levels), ("channels", scale.channels))
        ),
        Experiment("figure-coarsening", measurements=(Measurement("toy-graph"),)),
        Experiment(
            "figure-receptive-field", measurements=_on_each(scale, "receptive-field", levels=scale.field_levels)
        ),
        Experiment(
            "complexity",
            measurements=tuple(
                Measurement("cost", {"nodes": n, "degree": m}, alone=True) for n, m in dict.fromkeys(costs)
            ),
        ),
        Experiment(
            "random-splits",
            variants=tuple(
                replace(variant, splits=scale.fewer_splits.get(variant.name)) for variant in (_PAPER, *every_method)
            ),
            datasets=scale.citation,
            conditions=(Condition(splits=drawn_splits("random", scale.splits)),),
        ),
    ]
    return described(made, scale)


def described(experiments: Iterable[Experiment], scale: Scale) -> dict[str, Experiment]:
    """Return the experiments by name, with titles and descriptions from texts.toml and the scale's limit on epochs."""
    ranges = {"levels": scale.levels, "channels": scale.channels, "sizes": scale.sizes}
    words: dict[str, Any] = {
        **{name: f"{values[0]:,} to {values[-1]:,}" for name, values in ranges.items()},
        "scale": scale,
        "few_labels_on": DATASET_TITLES[scale.few_labels_on],
        "labels": ", ".join(map(str, scale.labels)),
    }
    for name, counts in (("fewer_draws", scale.fewer_draws), ("fewer_splits", scale.fewer_splits)):
        by_count: dict[int, list[str]] = {}
        for method, count in counts.items():
            by_count.setdefault(count, []).append(variant_title(method))
        fewer = "; ".join(f"{count} of them for {', '.join(methods)}" for count, methods in by_count.items())
        words[name] = f" ({fewer})" if fewer else ""
    found = {}
    for one in experiments:
        title, about = TEXTS[one.name]["title"], TEXTS[one.name]["about"].format(**words)
        found[one.name] = replace(one, title=title, about=about, most_epochs=scale.most_epochs)
    return found


def _on_each(scale: Scale, name: str, **arguments: object) -> tuple[Measurement, ...]:
    return tuple(Measurement(name, {"dataset": dataset, **arguments}) for dataset in scale.datasets)


def _others(scale: Scale, names: tuple[str, ...], seeds: int | None = None) -> tuple[Variant, ...]:
    """Return other methods with their own recipes.

    Graph U-Net squares the adjacency matrix, which NELL's hubs make too dense.
    """
    variants = (Variant(name, name, changes=scale.lighter.get(name, {}), seeds=seeds) for name in names)
    return tuple(
        replace(variant, datasets=CITATION) if variant.name == "graph-unet" else variant for variant in variants
    )


# H-GCN+

RIVALS = ("no-hierarchy", "grand", "gcn")
"""What H-GCN+ is compared with, in the order of the tables."""
MANY_LABELS = ("20", "15", "10")
"""Columns in which GRAND and GCN have Table 3's runs on Pubmed: fewer draws, two seeds each."""


def plus_experiments(scale: Scale = FULL) -> dict[str, Experiment]:
    """Return H-GCN+'s experiments by name."""

    def plus(preset: str) -> tuple[Variant, Variant]:
        whole = Variant("hgcn-plus", "hgcn", preset)
        return whole, replace(whole, name="no-hierarchy", changes={"share": 0.0})

    grand, gcn = Variant("grand", "grand"), Variant("gcn", "gcn")
    random = (Condition(splits=drawn_splits("random", scale.splits)),)
    labels = [
        Condition(str(count), splits=few_labels(count, scale.plus_draws, small_validation=True))
        for count in scale.plus_labels
    ]
    few = tuple(condition.name for condition in labels if condition.name not in MANY_LABELS)
    on_pubmed = [replace(variant, datasets=("pubmed",)) for variant in (grand, gcn)]
    made = (
        Experiment(
            "plus-public",
            variants=(
                *(*plus("plus"), grand, gcn),
                Variant("hgcn-plus-4", "hgcn", "plus", {"networks": 4}, datasets=("cora", "citeseer")),
                Variant("grand-4", "grand", changes={"networks": 4}, datasets=(NELL,), seeds=min(scale.seeds, 10)),
            ),
            datasets=scale.datasets,
            seeds=scale.seeds,
        ),
        Experiment(
            "plus-few-labels",
            variants=(
                *plus("plus-few"),
                *(replace(variant, datasets=("cora",)) for variant in (grand, gcn)),
                *(replace(variant, conditions=few) for variant in on_pubmed),
                *(replace(variant, conditions=MANY_LABELS, splits=10, seeds=2) for variant in on_pubmed),
            ),
            datasets=tuple(name for name in ("pubmed", "cora") if name in scale.datasets),
            conditions=tuple(labels),
            seeds=NUMBERED,
        ),
        Experiment(
            "plus-random-splits",
            variants=(*plus("plus"), grand, replace(gcn, seeds=1)),
            datasets=scale.citation,
            conditions=random,
            seeds=NUMBERED,
        ),
        Experiment(
            "variants",
            variants=(
                _PAPER,
                Variant("reference", "hgcn", "reference"),
                replace(_PAPER, name="mean-loss", changes={"loss": "mean"}, datasets=("cora", "citeseer")),
                replace(_PAPER, name="no-output-relu", changes={"output_relu": False}, datasets=("citeseer",)),
                replace(_PAPER, name="one-channel", changes={"channels": 1, "output_relu": False}, datasets=("cora",)),
            ),
            datasets=scale.citation,
            seeds=scale.seeds,
        ),
    )
    return described(made, scale)
