"""Splits by name, such as the third random one: the same on every machine, so that methods can be compared on them."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Literal, get_args

import numpy as np

from hiergcn.errors import InputError
from hiergcn.graph import Graph, Split
from hiergcn.graph.split import PER_CLASS

Drawn = Literal["random", "tenths", "blocked", "apart"]
_MOST_DRAWS = 30


@dataclass(frozen=True)
class SplitSpec:
    """The name of a split. The same spec gives the same split of a graph on every machine."""

    kind: Literal["public"] | Drawn = "public"
    """`public`: the graph's own. `_DRAWN` describes the others. Blocked draws without a training node of some class are
    skipped."""
    number: int = 0
    """Number of the draw."""

    @property
    def name(self) -> str:
        """The name in result files."""
        return "public" if self.kind == "public" else f"{self.kind}-{self.number}"

    def split(self, graph: Graph, public: Split) -> Split:
        """Return the split of a graph whose own one is `public`."""
        labels, seed = graph.strata, self.number
        if not graph.labelled.size:
            raise InputError(f"{graph.name} has no labels to draw a split from.")
        if self.kind == "public":
            return public
        if self.kind == "random":
            sizes = np.bincount(labels[graph.labelled], minlength=graph.n_outputs)
            too_small = np.flatnonzero((sizes > 0) & (sizes < PER_CLASS))
            if too_small.size:
                name, size = graph.target.names[too_small[0]], sizes[too_small[0]]
                raise InputError(
                    f"Class {name!r:.80} has {size} labelled nodes, too few for {PER_CLASS} training nodes per class; "
                    "use splits by shares instead: tenths:N."
                )
            return Split.random(labels, seed=seed)
        if self.kind == "tenths":
            return Split.holdout(labels, validation=0.1, test=0.8, seed=seed)
        draws = (Split.blocked(graph, seed=k) for k in range(_MOST_DRAWS))
        classes = np.unique(labels[graph.labelled]).size
        complete = (split for split in draws if np.unique(labels[split.train]).size == classes)
        blocked = next(islice(complete, seed, None), None) or Split.blocked(graph, seed=seed)  # refused if incomplete
        return blocked if self.kind == "blocked" else blocked.apart(graph, seed)


PUBLIC = SplitSpec()


def drawn_splits(kind: Drawn, count: int) -> tuple[SplitSpec, ...]:
    """Return the first draws of a kind."""
    return tuple(SplitSpec(kind, number) for number in range(count))


def parse_splits(text: str) -> tuple[SplitSpec, ...]:
    """Return the splits that a user names: `public`, or N of a kind, such as `random:N` or `blocked:N`."""
    kind, _, number = text.partition(":")
    if text == "public":
        return (PUBLIC,)
    for drawn in get_args(Drawn):
        if kind == drawn and number.isdecimal() and int(number) > 0:
            return drawn_splits(drawn, int(number))
    raise InputError(f"splits is {text!r}; give public, or random:N, tenths:N, blocked:N or apart:N for N splits.")


def splits_text(splits: Sequence[SplitSpec]) -> str:
    """Return the text that `parse_splits` turns into the splits."""
    return "public" if tuple(splits) == (PUBLIC,) else f"{splits[0].kind}:{len(splits)}"


_DRAWN = {
    "random": "random splits of the whole graph, not of its largest component: 20 nodes per class train, 500 validate, "
    "the rest test",
    "tenths": "random splits of the whole graph, not of its largest component: 10 % of each class train, 10 % "
    "validate, 80 % test",
    "blocked": "blocked splits of the whole graph: in the half nearest to a random node 10 % of all nodes train and "
    "10 % validate, the other half tests",
    "apart": "blocked splits of the whole graph: 10 % of all nodes train and 10 %, apart from these, validate in the "
    "half nearest to a random node, the other half tests",
}


def describe_splits(splits: Sequence[SplitSpec], drawn: bool = False) -> str:
    """Describe the splits in words; `drawn` is true if the graph has no split of its own."""
    if tuple(splits) == (PUBLIC,):
        from hiergcn.run.fit import DRAWN_SPLIT  # imports torch

        return f"one split, {DRAWN_SPLIT['classes']}" if drawn else "the graph's own split"
    return f"{len(splits)} {_DRAWN[splits[0].kind]}"
