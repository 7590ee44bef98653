"""The candidates of the automatic choice: methods with settings for the graph, cheap ones first.

A candidate that costs more is tried only if what is known by then speaks for it: the graph's profile and the validation
accuracies so far. Conditions, settings and order were designed by test accuracy on split 0 of some 40 tasks and changed
after earlier runs of the benchmark, see docs/results/choosing: the portfolio is fixed, no user's test label is used.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from hiergcn.settings.recipes import has_recipe, method_of, recipe_layers
from hiergcn.settings.registry import config_class, method_title
from hiergcn.settings.settings import AUTO, check_for_any, is_automatic, method_for, parsed_changes

if TYPE_CHECKING:
    from hiergcn.graph.profile import GraphProfile


class Standing(NamedTuple):
    """What is known when a candidate is considered."""

    profile: "GraphProfile"
    accuracy: Mapping[str, float]
    """Validation accuracy of each finished candidate."""
    error: float
    """Standard error of a validation accuracy."""
    has_features: bool = True
    """Whether the nodes have features of their own, which were not made from the edges."""

    def of(self, *names: str) -> float:
        """Return the best accuracy among these candidates; 0 if none is finished."""
        return max((self.accuracy.get(name, 0.0) for name in names), default=0.0)

    @property
    def columns_help(self) -> bool:
        """Whether GCN with harmonic columns is no worse than without."""
        return self.of("gcn+harmonic") >= self.of("gcn") - self.error

    @property
    def columns_lead(self) -> bool:
        """Whether GCN with harmonic columns is clearly better than without."""
        return 0 < self.of("gcn") < self.of("gcn+harmonic") - self.error

    @property
    def labels_lead(self) -> bool:
        """Whether labels alone are ahead of the networks that propagate features."""
        return self.of("label-propagation", "harmonic") >= self.of("gcn", "graphsage", "mlp") + self.error

    @property
    def labels_first(self) -> bool:
        """Whether GCN is finished and labels alone are ahead of it, so that labels as input promise most."""
        return self.of("gcn") > 0 and self.labels_lead

    @property
    def labels_far_ahead(self) -> bool:
        """Whether labels alone are so far ahead that propagated features cannot be expected to catch up."""
        return self.of("label-propagation", "harmonic") >= self.of("gcn", "mlp") + 6 * self.error

    @property
    def reaches_far(self) -> bool:
        """Whether coarser levels may pay: the graph has a large diameter, or labels alone are ahead."""
        return self.profile.large_diameter or self.labels_lead

    @property
    def neighbours_differ(self) -> bool:
        """Whether it helps, or may help, to keep a node's own features apart from those of its neighbours."""
        return 0 < self.of("graphsage") >= self.of("gcn") - (0.0 if self.neighbours_share else self.error)

    @property
    def neighbours_share(self) -> bool:
        """Whether training labels say that neighbours tend to share their class; False if too few tell."""
        return (self.profile.adjusted_homophily or 0.0) >= WEAK_HOMOPHILY

    @property
    def neighbours_may_differ(self) -> bool:
        """Whether training labels, or MLP being level with GCN, say that neighbours tend to differ."""
        weak = self.profile.adjusted_homophily is not None and not self.neighbours_share
        return self.of("gcn") > 0 and (weak or self.of("mlp") >= self.of("gcn"))

    @property
    def propagation_leads(self) -> bool:
        """Whether H-GCN+ is near the best so far."""
        return self.of("hgcn-plus", "hgcn-plus-flat") >= max(self.accuracy.values(), default=0.0) - 2 * self.error


class Entry(NamedTuple):
    """A candidate: a method, how its settings differ from those adapted to the graph, and when it is tried."""

    name: str
    method: str
    changes: Mapping[str, Any] = {}
    when: Callable[[Standing], bool] = lambda _: True
    otherwise: str = ""
    """Why it was not tried, if it was not."""
    early: Callable[[Standing], bool] = lambda _: False
    """Whether it is tried before its turn, because what is known by now speaks for it."""
    recipe: bool = False
    """Whether its settings are the recipe for a named dataset, not those adapted to the graph."""

    @property
    def title(self) -> str:
        return candidate_title(self.name, self.method)

    @property
    def uses_features(self) -> bool:
        label_only: bool = config_class(self.method).label_only
        return not label_only

    @property
    def draws(self) -> bool:
        """Whether another seed gives another model."""
        return self.uses_features


def candidate_title(name: str, method: str) -> str:
    """Return a candidate's name as people read it, such as `GCN with harmonic columns`."""
    kind, _, columns = name.removeprefix(method).partition("+")
    kind = kind.removeprefix("-").replace("-", " ")
    what = {
        "harmonic": " with harmonic columns",
        "sharp": " with sharp harmonic columns",
        "nearness": " with nearness of labels",
        "degrees": " on degrees",
    }.get(columns, "")
    return method_title(method) + (f" ({kind})" if kind else "") + what


_HARMONIC = {"harmonic": True}
_SHARP = _HARMONIC | {"sharp": True}
_NEARNESS = {"nearness": True}
_DEGREES = {"degrees": True, "dropout": 0.0, "learning_rate": 0.03}  # three columns
_FLAT = {"share": 0.0}
_STRONG = {  # regularised as on citation networks
    "drop_node": 0.5,
    "input_dropout": 0.5,
    "hidden_dropout": 0.5,
    "temperature": 0.4,
    "consistency": 1.3,
    "warm_up": 100,
    "hidden": 32,
    "order": 8,
    "level_order": 4,
    "selection": "loss",
    "epochs": 300,
    "patience": 300,
}
_LIGHT = {  # little dropout and a sharp target, over near neighbours; learns slowly
    "drop_node": 0.5,
    "input_dropout": 0.0,
    "hidden_dropout": 0.2,
    "temperature": 0.3,
    "consistency": 0.7,
    "warm_up": 0,
    "hidden": 32,
    "order": 2,
    "level_order": 1,
    "share": 0.3,
    "initial": "shifted_normal",
    "scaling": "row",
    "learning_rate": 0.01,
    "epochs": 2000,
    "patience": 200,
}
_NEAR = _STRONG | {"order": 2, "level_order": 1, "share": 0.3}  # the same over nearer neighbours
_NORMALISED = {  # batch normalisation and large steps
    "drop_node": 0.5,
    "input_dropout": 0.6,
    "hidden_dropout": 0.8,
    "temperature": 0.1,
    "consistency": 0.7,
    "warm_up": 0,
    "hidden": 32,
    "order": 4,
    "level_order": 2,
    "share": 0.3,
    "initial": "shifted_normal",
    "batch_norm": True,
    "input_dropout_on": "auto",
    "scaling": "row",
    "learning_rate": 0.2,
    "l2": 0.001,
    "epochs": 250,
    "patience": 60,
}
_SHORT = {"epochs": 300, "patience": 100}
_DEEP = {"layers": 6, "dropout": 0.1, "l2": 1e-5, "epochs": 400, "patience": 100}
_LONG = {
    "channels": 1,
    "hidden": 64,
    "pooling": "mean",
    "dropout": 0.0,
    "output_relu": False,
    "weight_embedding": 8,
    "loss": "mean",
    "learning_rate": 0.01,
    "l2": 1e-5,
    "epochs": 600,
    "patience": 150,
    "levels": 10,
}

WEAK_HOMOPHILY = 0.3
"""Adjusted homophily below which GraphSAGE is tried early."""

_NO_FEATURES = "the nodes have no features"
_SIMILAR = "neighbours tend to share their class"
_FEATURES_LEAD = "labels alone are not ahead"
_NO_HELP = "harmonic columns did not help GCN"
_NOT_FAR = "the diameter is small, and labels alone are not ahead"
_LOST = "labels alone are far ahead of propagated features"
_BEHIND = "H-GCN+ is behind other methods"
_NOT_AHEAD = "GraphSAGE is behind GCN"

EVIDENCE = {
    _FEATURES_LEAD: {"gcn"},
    _NOT_FAR: {"gcn"},
    _LOST: {"gcn"},
    _NO_HELP: {"gcn+harmonic"},
    _BEHIND: {"hgcn-plus"},
    _NOT_AHEAD: {"graphsage"},
}
"""Candidates that a reason depends on: while they run, or if there was no time for them, it is unknown."""

PORTFOLIO = (
    Entry("label-propagation", "label-propagation"),
    Entry("harmonic", "harmonic"),
    Entry("mlp", "mlp", {}, lambda now: now.has_features, _NO_FEATURES),
    Entry("gcn", "gcn"),
    Entry("hgcn-plus", "hgcn-plus", {}, lambda now: not now.labels_far_ahead, _LOST),
    Entry("gcn+harmonic", "gcn", _HARMONIC, early=lambda now: now.labels_first),
    Entry(
        "mlp+degrees",
        "mlp",
        _DEGREES,
        lambda now: not now.neighbours_share,
        _SIMILAR,
        lambda now: not (now.neighbours_share or now.has_features),
    ),
    Entry("mlp+harmonic", "mlp", _HARMONIC, lambda now: now.labels_lead, _FEATURES_LEAD, lambda now: now.labels_first),
    Entry("mlp+nearness", "mlp", _NEARNESS, lambda now: now.reaches_far, _NOT_FAR, lambda now: now.labels_first),
    Entry("mlp+sharp", "mlp", _SHARP, lambda now: now.labels_lead, _FEATURES_LEAD),
    Entry("gcn+sharp", "gcn", _SHARP, lambda now: now.labels_lead, _FEATURES_LEAD),
    Entry("hgcn+nearness", "hgcn", _LONG | _NEARNESS, lambda now: now.reaches_far, _NOT_FAR),
    Entry("hgcn+harmonic", "hgcn", {**_LONG, "dropout": 0.2, **_HARMONIC}, lambda now: now.reaches_far, _NOT_FAR),
    Entry("hgcn", "hgcn", _LONG, lambda now: now.reaches_far, _NOT_FAR),
    Entry("hgcn-plus-strong-flat", "hgcn-plus", _STRONG | _FLAT, lambda now: now.propagation_leads, _BEHIND),
    Entry("hgcn-plus-near", "hgcn-plus", _NEAR, lambda now: now.propagation_leads, _BEHIND),
    Entry(
        "hgcn-plus+harmonic",
        "hgcn-plus",
        _HARMONIC,
        lambda now: now.columns_help,
        _NO_HELP,
        lambda now: now.columns_lead,
    ),
    Entry("appnp", "appnp", _SHORT, lambda now: not now.labels_far_ahead, _LOST),
    Entry(
        "graphsage", "graphsage", {}, lambda now: not now.labels_far_ahead, _LOST, lambda now: now.neighbours_may_differ
    ),
    Entry(
        "graphsage-deep",
        "graphsage",
        _DEEP,
        lambda now: now.neighbours_differ,
        _NOT_AHEAD,
        lambda now: now.neighbours_differ,
    ),
    Entry("hgcn-dropout", "hgcn", {**_LONG, "dropout": 0.2}, lambda now: now.reaches_far, _NOT_FAR),
    Entry("hgcn-plus-light", "hgcn-plus", _LIGHT, lambda now: now.propagation_leads, _BEHIND),
    Entry("hgcn-plus-strong", "hgcn-plus", _STRONG, lambda now: now.propagation_leads, _BEHIND),
    Entry("appnp+harmonic", "appnp", _SHORT | _HARMONIC, lambda now: now.columns_help, _NO_HELP),
    Entry("hgcn-plus-flat", "hgcn-plus", _FLAT, lambda now: not now.labels_far_ahead, _LOST),
    Entry("hgcn-plus-normalised", "hgcn-plus", _NORMALISED, lambda now: now.propagation_leads, _BEHIND),
    Entry("grand", "grand", {"epochs": 1000, "patience": 100}, lambda now: now.propagation_leads, _BEHIND),
)
"""In the order in which they are tried, unless one is tried early; the first four are the simple methods."""

WITH_RECIPES = tuple(
    Entry(name, name, recipe=True)
    for name in ("label-propagation", "harmonic", "mlp", "gcn", "appnp", "hgcn-plus", "grand")
)
"""Candidates for a named dataset that has recipes of its own."""


NUMBER_PORTFOLIO = (
    Entry("constant", "constant"),
    *PORTFOLIO[:4],
    Entry("mlp+harmonic", "mlp", {"dropout": 0.1} | _HARMONIC),
    Entry("graphsage+harmonic", "graphsage", {"dropout": 0.2} | _HARMONIC),
    Entry("gcn+harmonic", "gcn", _HARMONIC),
    Entry("hgcn-plus+harmonic", "hgcn-plus", _HARMONIC),
    Entry("graphsage", "graphsage", {}, lambda now: not now.labels_far_ahead, _LOST),
    Entry("hgcn-plus", "hgcn-plus", {}, lambda now: not now.labels_far_ahead, _LOST),
    Entry("hgcn+harmonic", "hgcn", {**_LONG, "dropout": 0.2, **_HARMONIC}, lambda now: now.reaches_far, _NOT_FAR),
    Entry("hgcn", "hgcn", _LONG, lambda now: now.reaches_far, _NOT_FAR),
    Entry("appnp+harmonic", "appnp", _SHORT | _HARMONIC, lambda now: now.columns_help, _NO_HELP),
)
"""The same for numbers. The harmonic column is often the best one, and much dropout would hide it; this list was
designed by validation on two splits of four tasks, see docs/results/numbers."""


def candidates_for(dataset: str | None, *, numbers: bool = False) -> tuple[Entry, ...]:
    """Return the candidates for numbers, for a named dataset with recipes, or for any other graph."""
    if numbers:
        return NUMBER_PORTFOLIO
    return WITH_RECIPES if dataset and has_recipe("hgcn-plus", dataset) else PORTFOLIO


def check_settings(changes: Mapping[str, Any]) -> None:
    """Refuse settings that no candidate has, and values that they do not take, before anything is trained."""
    check_for_any(dict.fromkeys(entry.method for entry in PORTFOLIO), changes)


def checked_method(
    model: str | None, preset: str | None, dataset: str | None, changes: Mapping[str, Any] | None = None
) -> str:
    """Return the name of the method, `auto` if it is to be chosen.

    Refuse unknown models, presets and settings, and wrong values, in a moment: nothing heavy is imported.
    """
    if is_automatic(model, preset, dataset):
        check_settings(changes or {})
        return AUTO
    method = method_of(model or method_for(preset, dataset), preset)
    parsed_changes(method, changes or {})  # raises for unknown methods too
    if preset:
        recipe_layers(method, preset, dataset)
    return method
