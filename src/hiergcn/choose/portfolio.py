"""The candidates of the automatic choice: methods with settings for the graph, cheap ones first.

A candidate that costs more is tried only if what is known by then speaks for it: the graph's profile and the validation
accuracies so far. Conditions, settings and order were designed by test accuracy on split 0 of some 40 tasks and changed
after earlier runs of the benchmark, see docs/results/choosing: the portfolio is fixed, no user's test label is used.
"""

from collections.abc import Mapping
from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple

import hiergcn.settings.methods  # noqa: F401  (registers the methods whose recipes are read here)
from hiergcn.settings.fields import TrainConfig
from hiergcn.settings.registry import config_class, method_named_in, method_title
from hiergcn.settings.settings import (
    AUTO,
    GROUPS,
    Settings,
    check_for_any,
    has_recipe,
    is_automatic,
    method_for,
    recipe_files,
    settings_for,
)

if TYPE_CHECKING:
    from hiergcn.graph.profile import GraphProfile

WEAK_HOMOPHILY = 0.3
"""Adjusted homophily below which GraphSAGE is tried early."""

NO_TIME = "no time was left"
"""Why a candidate was not tried, most often."""


class SearchState(NamedTuple):
    """What is known when a candidate is considered."""

    profile: "GraphProfile"
    accuracy: Mapping[str, float]
    """Validation accuracy of each finished candidate."""
    error: float
    """Standard error of a validation accuracy."""
    has_features: bool = True
    """Whether the nodes have features of their own, which were not made from the edges."""

    def best(self, *names: str) -> float:
        """Return the best accuracy among these candidates; 0 if none is finished."""
        return max((self.accuracy.get(name, 0.0) for name in names), default=0.0)

    @property
    def columns_help(self) -> bool:
        """Whether GCN with harmonic columns is no worse than without."""
        return self.best("gcn+harmonic") >= self.best("gcn") - self.error

    @property
    def columns_lead(self) -> bool:
        """Whether GCN with harmonic columns is clearly better than without."""
        return 0 < self.best("gcn") < self.best("gcn+harmonic") - self.error

    @property
    def labels_lead(self) -> bool:
        """Whether labels alone are ahead of the networks that propagate features."""
        return self.best("label-propagation", "harmonic") >= self.best("gcn", "graphsage", "mlp") + self.error

    @property
    def labels_first(self) -> bool:
        """Whether GCN is finished and labels alone are ahead of it, so that labels as input promise most."""
        return self.best("gcn") > 0 and self.labels_lead

    @property
    def features_can_catch_up(self) -> bool:
        """Whether labels alone are not so far ahead that propagated features cannot be expected to catch up."""
        return self.best("label-propagation", "harmonic") < self.best("gcn", "mlp") + 6 * self.error

    @property
    def reaches_far(self) -> bool:
        """Whether coarser levels may pay: the graph has a large diameter, or labels alone are ahead."""
        return self.profile.large_diameter or self.labels_lead

    @property
    def neighbours_differ(self) -> bool:
        """Whether it helps, or may help, to keep a node's own features apart from those of its neighbours."""
        return 0 < self.best("graphsage") >= self.best("gcn") - (self.error if self.neighbours_not_alike else 0.0)

    @property
    def neighbours_not_alike(self) -> bool:
        """Whether training labels do not say that neighbours tend to share their class, also if too few tell."""
        return (self.profile.adjusted_homophily or 0.0) < WEAK_HOMOPHILY

    @property
    def neighbours_may_differ(self) -> bool:
        """Whether training labels, or MLP being level with GCN, say that neighbours tend to differ."""
        weak = self.profile.adjusted_homophily is not None and self.neighbours_not_alike
        return self.best("gcn") > 0 and (weak or self.best("mlp") >= self.best("gcn"))

    @property
    def only_degrees_tell(self) -> bool:
        """Whether neighbours are not alike and there are no features that could say more than degrees."""
        return self.neighbours_not_alike and not self.has_features

    @property
    def propagation_leads(self) -> bool:
        """Whether H-GCN+ is near the best so far."""
        return self.best("hgcn-plus", "hgcn-plus-flat") >= max(self.accuracy.values(), default=0.0) - 2 * self.error


class Condition(Enum):
    """What must hold for a candidate to be tried: a property of `SearchState`, why it was not tried if it does not
    hold, and the candidates that it depends on. While these run, or if there was no time for them, it is unknown."""

    has_features = "the nodes have no features", ()
    neighbours_not_alike = "neighbours tend to share their class", ()
    labels_lead = "labels alone are not ahead", ("gcn",)
    reaches_far = "the diameter is small, and labels alone are not ahead", ("gcn",)
    features_can_catch_up = "labels alone are far ahead of propagated features", ("gcn",)
    columns_help = "harmonic columns did not help GCN", ("gcn+harmonic",)
    propagation_leads = "H-GCN+ is behind other methods", ("hgcn-plus",)
    neighbours_differ = "GraphSAGE is behind GCN", ("graphsage",)

    def __init__(self, otherwise: str, evidence: tuple[str, ...]) -> None:
        self.otherwise, self.evidence = otherwise, evidence


class Candidate(NamedTuple):
    """A candidate: its name, which begins with its method, and how its settings differ from those for the graph."""

    name: str
    changes: Mapping[str, Any] = {}
    when: Condition | None = None
    """What must hold for it to be tried."""
    early: str | None = None
    """Property of `SearchState` by which it is tried out of order, because what is known by now speaks for it."""
    recipe: bool = False
    """Whether its settings are the recipe for a named dataset, not those adapted to the graph."""

    @property
    def method(self) -> str:
        return method_named_in(self.name)

    @property
    def uses_features(self) -> bool:
        """Whether it learns from more than labels. Then another seed gives another model."""
        label_only: bool = config_class(self.method).label_only
        return not label_only


def candidate_title(name: str) -> str:
    """Return a candidate's name as people read it, such as `GCN with harmonic columns`."""
    from hiergcn.model.inputs import INPUTS

    method = method_named_in(name)
    kind, *inputs = name.removeprefix(method).split("+")
    kind = kind.removeprefix("-").replace("-", " ")
    titles = [added.title for added in INPUTS if added.name in inputs]
    beside = " and".join(title if k == 0 else title.removeprefix(" with") for k, title in enumerate(titles))
    return method_title(method) + (f" ({kind})" if kind else "") + beside


_HARMONIC = {"harmonic": True}
_SHARP = _HARMONIC | {"sharp": True}
_NEARNESS = {"nearness": True}
_DEGREES = {"degrees": True, "dropout": 0.0, "learning_rate": 0.03}  # three columns
_FLAT = {"share": 0.0}


def _of_recipe(names: str, method: str, *recipes: str) -> dict[str, Any]:
    """Return some settings of recipes, by their names; nothing is checked, so nothing heavy is imported."""
    files, configs = recipe_files(method), (config_class(method), TrainConfig)
    values = {
        name: value for recipe in recipes for part in GROUPS for name, value in files[recipe].get(part, {}).items()
    }
    usual = {name: getattr(config, name) for config in configs for name in names.split() if hasattr(config, name)}
    return {name: values.get(name, usual[name]) for name in names.split()}


_RANDOM = (
    "drop_node input_dropout hidden_dropout temperature consistency warm_up hidden order level_order epochs patience"
)
_STARTED = f"{_RANDOM} share initial scaling learning_rate"
_STRONG = _of_recipe(f"{_RANDOM} selection", "hgcn-plus", "plus", "plus.cora")  # regularised as on citation networks
_LIGHT = _of_recipe(_STARTED, "hgcn-plus", "plus", "plus.citeseer")  # little dropout and a sharp target; learns slowly
_NEAR = _STRONG | {"order": 2, "level_order": 1, "share": 0.3}  # the same over nearer neighbours
_NORMALISED = _of_recipe(
    f"{_STARTED} batch_norm input_dropout_on l2", "hgcn-plus", "plus", "plus.pubmed"
)  # large steps
_SHORT = {"epochs": 300, "patience": 100}
_DEEP = {"layers": 6, "dropout": 0.1, "l2": 1e-5, "epochs": 400, "patience": 100}
_LONG = _of_recipe(
    "channels hidden pooling output_relu weight_embedding loss learning_rate l2", "hgcn", "long-range"
) | {"dropout": 0.0, "epochs": 600, "patience": 150, "levels": 10}

_SIMPLE = (
    Candidate("label-propagation"),
    Candidate("harmonic"),
    Candidate("mlp", {}, Condition.has_features),
    Candidate("gcn"),
)

PORTFOLIO = (
    *_SIMPLE,
    Candidate("hgcn-plus", {}, Condition.features_can_catch_up),
    Candidate("gcn+harmonic", _HARMONIC, early="labels_first"),
    Candidate("mlp+degrees", _DEGREES, Condition.neighbours_not_alike, "only_degrees_tell"),
    Candidate("mlp+harmonic", _HARMONIC, Condition.labels_lead, "labels_first"),
    Candidate("mlp+nearness", _NEARNESS, Condition.reaches_far, "labels_first"),
    Candidate("mlp+sharp", _SHARP, Condition.labels_lead),
    Candidate("gcn+sharp", _SHARP, Condition.labels_lead),
    Candidate("hgcn+nearness", _LONG | _NEARNESS, Condition.reaches_far),
    Candidate("hgcn+harmonic", {**_LONG, "dropout": 0.2, **_HARMONIC}, Condition.reaches_far),
    Candidate("hgcn-plus-strong-flat", _STRONG | _FLAT, Condition.propagation_leads),
    Candidate("hgcn-plus-near", _NEAR, Condition.propagation_leads),
    Candidate("hgcn-plus+harmonic", _HARMONIC, Condition.columns_help, "columns_lead"),
    Candidate("graphsage", {}, Condition.features_can_catch_up, "neighbours_may_differ"),
    Candidate("graphsage-deep", _DEEP, Condition.neighbours_differ, "neighbours_differ"),
    Candidate("hgcn-plus-light", _LIGHT, Condition.propagation_leads),
    Candidate("hgcn-plus-strong", _STRONG, Condition.propagation_leads),
    Candidate("appnp+harmonic", _SHORT | _HARMONIC, Condition.columns_help),
    Candidate("hgcn-plus-flat", _FLAT, Condition.features_can_catch_up),
    Candidate("hgcn-plus-normalised", _NORMALISED, Condition.propagation_leads),
)
"""In the order in which they are tried, unless one is tried early; the first four are the simple methods."""

WITH_RECIPES = tuple(
    Candidate(name, recipe=True)
    for name in ("label-propagation", "harmonic", "mlp", "gcn", "appnp", "hgcn-plus", "grand")
)
"""Candidates for a named dataset that has recipes of its own."""

NUMBER_PORTFOLIO = (
    Candidate("constant"),
    *_SIMPLE,
    Candidate("mlp+harmonic", {"dropout": 0.1} | _HARMONIC),
    Candidate("graphsage+harmonic", {"dropout": 0.2} | _HARMONIC),
    Candidate("gcn+harmonic", _HARMONIC),
    Candidate("hgcn-plus+harmonic", _HARMONIC),
    Candidate("graphsage", {}, Condition.features_can_catch_up),
    Candidate("hgcn-plus", {}, Condition.features_can_catch_up),
    Candidate("hgcn+harmonic", {**_LONG, "dropout": 0.2, **_HARMONIC}, Condition.reaches_far),
    Candidate("hgcn", _LONG, Condition.reaches_far),
    Candidate("appnp+harmonic", _SHORT | _HARMONIC, Condition.columns_help),
)
"""The same for numbers. The harmonic column is often the best one, and much dropout would hide it; this list was
designed by validation on two splits of four tasks, see docs/results/numbers."""


def candidates_for(dataset: str | None, *, numbers: bool = False) -> tuple[Candidate, ...]:
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
    settings: Settings = settings_for(model or method_for(preset, dataset), preset, dataset).override(changes or {})
    return settings.method
