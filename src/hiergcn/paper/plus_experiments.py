"""The experiments of H-GCN+, and variants of H-GCN: choices that the paper's text leaves open.

H-GCN+ is compared with itself without hierarchy (`share=0`, nothing else changed), with GRAND and with GCN. Runs that
the paper's experiments have too are shared with them.
"""

from dataclasses import replace

from hiergcn.graph.split import few_labels, random_splits
from hiergcn.paper.experiment import NUMBERED, Arm, Column, Experiment
from hiergcn.paper.experiments import FULL, NELL, Scale, described

RIVALS = ("no-hierarchy", "grand", "gcn")
"""What H-GCN+ is compared with, in the order of the tables."""
MANY_LABELS = ("20", "15", "10")
"""Columns in which GRAND and GCN have Table 3's runs on Pubmed: fewer draws, two seeds each."""


def plus_experiments(scale: Scale = FULL) -> dict[str, Experiment]:
    """Return H-GCN+'s experiments by name."""
    return described((_public(scale), _few(scale), _random(scale), _variants(scale)), scale)


def _plus(preset: str) -> tuple[Arm, Arm]:
    whole = Arm("hgcn-plus", "hgcn", preset)
    return whole, replace(whole, name="no-hierarchy", changes={"share": 0.0})


def _public(scale: Scale) -> Experiment:
    return Experiment(
        "plus-public",
        arms=(
            *_plus("plus"),
            Arm("grand", "grand"),
            Arm("gcn", "gcn"),
            Arm("hgcn-plus-4", "hgcn", "plus", {"networks": 4}, datasets=("cora", "citeseer")),
            Arm("grand-4", "grand", changes={"networks": 4}, datasets=(NELL,), seeds=min(scale.seeds, 10)),
        ),
        datasets=scale.datasets,
        seeds=scale.seeds,
    )


def _few(scale: Scale) -> Experiment:
    columns = [
        Column(str(count), splits=few_labels(count, scale.plus_draws, small_validation=True))
        for count in scale.plus_labels
    ]
    few = tuple(column.name for column in columns if column.name not in MANY_LABELS)
    rivals = [Arm(name, name) for name in ("grand", "gcn")]
    return Experiment(
        "plus-few-labels",
        arms=(
            *_plus("plus-few"),
            *(replace(arm, datasets=("cora",)) for arm in rivals),
            *(replace(arm, datasets=("pubmed",), columns=few) for arm in rivals),
            *(replace(arm, datasets=("pubmed",), columns=MANY_LABELS, splits=10, seeds=2) for arm in rivals),
        ),
        datasets=tuple(name for name in ("pubmed", "cora") if name in scale.datasets),
        columns=tuple(columns),
        seeds=NUMBERED,
    )


def _random(scale: Scale) -> Experiment:
    return Experiment(
        "plus-random-splits",
        arms=(*_plus("plus"), Arm("grand", "grand"), Arm("gcn", "gcn", seeds=1)),
        datasets=scale.citation,
        columns=(Column(splits=random_splits(scale.splits)),),
        seeds=NUMBERED,
    )


def _variants(scale: Scale) -> Experiment:
    paper = Arm("hgcn", "hgcn", "paper")
    return Experiment(
        "variants",
        arms=(
            paper,
            Arm("reference", "hgcn", "reference"),
            replace(paper, name="mean-loss", changes={"loss": "mean"}, datasets=("cora", "citeseer")),
            replace(paper, name="no-output-relu", changes={"output_relu": False}, datasets=("citeseer",)),
            replace(paper, name="one-channel", changes={"channels": 1, "output_relu": False}, datasets=("cora",)),
        ),
        datasets=scale.citation,
        seeds=scale.seeds,
    )
