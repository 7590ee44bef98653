"""The experiments of the paper's Section 4, those of H-GCN+, and our measurements, at full size or smaller.

With the paper's dropout of 0.85 H-GCN does not learn on NELL. The paper's settings are run there all the same, as the
variant `hgcn`, and our recipe beside them, as `hgcn-nell`. Ablations and figures of a network that has not learned
would say nothing, so on NELL they use our recipe alone.

H-GCN+ is compared with itself without hierarchy (`share=0`, nothing else changed), with GRAND and with GCN. Runs that
the paper's experiments have too are shared with them. Variants of H-GCN are choices that the paper's text leaves open.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hiergcn.research import drawn_splits, method_title
from hiergcn_experiments.experiment import Condition, Experiment, Measurement, Variant, few_labels
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

_PLAN = packaged("paper/experiments.toml")
RIVALS = ("no-hierarchy", "grand", "gcn")
"""What H-GCN+ is compared with, in the order of the tables."""


def paper_experiments(scale: Scale = FULL) -> dict[str, Experiment]:
    """Return the paper's experiments by name."""
    return _experiments("paper", scale)


def plus_experiments(scale: Scale = FULL) -> dict[str, Experiment]:
    """Return H-GCN+'s experiments by name."""
    return _experiments("plus", scale)


def _experiments(part: str, scale: Scale) -> dict[str, Experiment]:
    """Return the experiments of a part of experiments.toml, with titles and descriptions from texts.toml."""

    def few(count: int, draws: int, small: bool, name: str = "") -> Condition:
        return Condition(name or str(count), splits=few_labels(count, draws, small_validation=small))

    # Table 3 crosses draws and seeds. All 20 labels per class with all validation nodes are the public split: one draw.
    most, *fewer = sorted(scale.labels, reverse=True)
    table3 = [Condition(str(most), seeds=scale.seeds), *(few(count, scale.draws, False) for count in fewer)]
    table3 += [few(count, scale.draws, True, f"{count} small") for count in scale.labels]
    datasets = {
        "all": scale.datasets,
        "citation": scale.citation,
        "few-labels": (scale.few_labels_on,),
        "plus-few-labels": tuple(name for name in ("pubmed", "cora") if name in scale.datasets),
    }
    conditions = {
        "few-labels": tuple(table3),
        "plus-few-labels": tuple(few(count, scale.plus_draws, True) for count in scale.plus_labels),
        "levels": tuple(Condition(str(value), {"levels": value}) for value in scale.levels),
        "channels": tuple(Condition(str(value), {"channels": value}) for value in scale.channels),
        "random": (Condition(splits=drawn_splits("random", scale.splits)),),
    }
    costs = [(size, DEGREE) for size in scale.sizes] + [(scale.degrees_at, degree) for degree in scale.degrees]
    measurements = {
        "table1": [Measurement("statistics", {"dataset": name}) for name in scale.datasets],
        "table2": [Measurement("memory", {"dataset": NELL, "method": "gat"})] if NELL in scale.datasets else [],
        "figure-coarsening": [Measurement("toy-graph")],
        "figure-receptive-field": [
            Measurement("receptive-field", {"dataset": name, "levels": scale.field_levels}) for name in scale.datasets
        ],
        "complexity": [Measurement("cost", {"nodes": n, "degree": m}, alone=True) for n, m in dict.fromkeys(costs)],
    }
    ranges = {"levels": scale.levels, "channels": scale.channels, "sizes": scale.sizes}
    words: dict[str, Any] = {
        **{name: f"{values[0]:,} to {values[-1]:,}" for name, values in ranges.items()},
        "scale": scale,
        "few_labels_on": DATASET_TITLES[scale.few_labels_on],
        "labels": ", ".join(map(str, scale.labels)),
        "fewer_draws": _fewer(scale.fewer_draws),
        "fewer_splits": _fewer(scale.fewer_splits),
    }
    return {
        name: Experiment(
            name,
            TEXTS[name]["title"],
            TEXTS[name]["about"].format(**words),
            variants=tuple(_variant(one, row, scale) for row in plan.get("rows", ()) for one in row["variants"]),
            datasets=datasets[plan["datasets"]] if "datasets" in plan else (),
            conditions=conditions[plan["conditions"]] if "conditions" in plan else (Condition(),),
            seeds=_number(plan.get("seeds", 1), scale),
            most_epochs=scale.most_epochs,
            measurements=tuple(measurements.get(name, ())),
        )
        for name, plan in _PLAN[part].items()
    }


def _number(given: Any, scale: Scale) -> Any:
    return getattr(scale, given) if isinstance(given, str) else given


def _variant(name: str, row: Mapping[str, Any], scale: Scale) -> Variant:
    """Return a variant with what its row says besides; a number may be the name of one of the scale's fields."""
    given = {"name": name, "method": name, **_PLAN["variants"].get(name, {}), **row}
    given.pop("variants")
    given.setdefault("changes", scale.lighter.get(name, {}))
    numbers = {key: _number(given[key], scale) for key in ("seeds", "splits") if key in given}
    if isinstance(fewer := numbers.get("splits"), Mapping):  # fewer splits for slow methods
        numbers["splits"] = fewer.get(name)
    some = {key: tuple(given[key]) for key in ("datasets", "conditions") if key in given}
    return Variant(**given | numbers | some)


def _fewer(counts: Mapping[str, int]) -> str:
    """Name the methods with fewer draws or splits, in brackets."""
    by_count: dict[int, list[str]] = {}
    for method, count in counts.items():
        by_count.setdefault(count, []).append(variant_title(method))
    fewer = "; ".join(f"{count} of them for {', '.join(methods)}" for count, methods in by_count.items())
    return f" ({fewer})" if fewer else ""
