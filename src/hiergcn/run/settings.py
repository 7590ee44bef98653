"""Everything that decides a run, apart from the data, the seeds and the device."""

import types
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, fields, replace
from difflib import get_close_matches
from typing import Any, Literal, Self, Union, get_args, get_origin, get_type_hints

from hiergcn.coarsen import CoarsenConfig
from hiergcn.errors import InputError
from hiergcn.model.registry import config_class, method_class
from hiergcn.run.recipes import default_preset, method_of, recipe_layers
from hiergcn.train.config import TrainConfig

GROUPS = ("model", "train", "coarsen")
SIBLINGS = {"hgcn": ("hgcn-plus",), "hgcn-plus": ("hgcn",)}
"""Models that are easily taken for each other, as one is chosen where none is named."""


@dataclass(frozen=True)
class Settings:
    """The settings of a method in three groups, and the preset they began from."""

    method: str
    preset: str
    model: Any
    train: TrainConfig
    coarsen: CoarsenConfig

    def override(self, changes: Mapping[str, Any]) -> Self:
        """Change settings by name; a string is read as the setting's own type, so `--set hidden=64` works."""
        homes = {field.name: group for group in GROUPS for field in fields(getattr(self, group))}
        grouped: dict[str, dict[str, Any]] = {}
        for name, value in changes.items():
            if name not in homes:
                raise InputError(f"{self.method} has no setting named {name!r}{_elsewhere(self.method, name, homes)}")
            if self.without_effect(homes[name]):
                raise InputError(f"{name} has no effect here: {self.without_effect(homes[name])}; leave it out.")
            hint_type = get_type_hints(type(getattr(self, homes[name])))[name]
            grouped.setdefault(homes[name], {})[name] = (
                parse(name, value, hint_type) if isinstance(value, str) else value
            )
        return replace(self, **{group: replace(getattr(self, group), **part) for group, part in grouped.items()})

    def without_effect(self, group: str) -> str | None:
        """Why no setting of the group means anything to the method; None where they do."""
        method = method_class(self.method)
        if group == "train" and method.learns_at_once:
            return f"{self.method} learns in one step and without gradients"
        if group == "coarsen" and not method.uses_hierarchy:
            return f"{self.method} does not coarsen the graph"
        return None

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any]) -> Self:
        return cls(
            method=saved["method"],
            preset=saved["preset"],
            model=_loaded_model(config_class(saved["method"]), saved["model"]),
            train=TrainConfig(**saved["train"]),
            coarsen=CoarsenConfig(**saved["coarsen"]),
        )


def _loaded_model(kind: type[Any], saved: Mapping[str, Any]) -> Any:
    """Return the model's settings without those that earlier versions had and that change nothing at their default."""
    removed = getattr(kind, "removed", {})
    for name, default in removed.items():
        if saved.get(name, default) != default:
            raise InputError(f"The run has {name}={saved[name]}, a setting that was removed; run the fit again.")
    return kind(**{name: value for name, value in saved.items() if name not in removed})


def settings_for(method: str = "hgcn", preset: str | None = None, dataset: str | None = None) -> Settings:
    """The settings of a preset on a dataset; without a preset, the method's own choice.

    A preset may be one of another method: `plus` of hgcn gives settings of hgcn-plus.
    """
    method = method_of(method, preset)
    model, train, coarsen = config_class(method)(), TrainConfig(), CoarsenConfig()
    preset = preset or default_preset(method, dataset)
    for layer in recipe_layers(method, preset, dataset):
        model = replace(model, **layer.get("model", {}))
        train = replace(train, **layer.get("train", {}))
        coarsen = replace(coarsen, **layer.get("coarsen", {}))
    return Settings(method, preset, model, train, coarsen)


def _elsewhere(method: str, name: str, homes: Collection[str]) -> str:
    """How a sentence about an unknown setting ends: with the model that has it, or the nearest that there is."""
    near = get_close_matches(name, homes, n=1)
    for other in SIBLINGS.get(method, ()):
        if name in {field.name for field in fields(config_class(other))}:
            alike = [one for one in sorted(homes) if one.endswith(f"_{name}")] or near  # dropout: input_dropout
            nearest = f", or set {' or '.join(alike)}" if alike else ""
            return f", but {other} has: choose that model{nearest}."
    return f"; did you mean {near[0]}?" if near else f"; the settings are {', '.join(sorted(homes))}."


def parse(name: str, text: str, kind: Any) -> Any:
    """The text of a setting as a value of its type: int, float, bool, str, a choice, or any of these or none."""
    if get_origin(kind) in (Union, types.UnionType):
        if text.lower() in ("none", "null"):
            return None
        kind = next(part for part in get_args(kind) if part is not types.NoneType)
    if get_origin(kind) is Literal or kind is str:
        return text  # the config class knows its choices and names them
    if kind is bool:
        truth = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}.get(text.lower())
        if truth is None:
            raise InputError(f"{name} is {text!r}; give true or false.")
        return truth
    try:
        return kind(text)
    except ValueError:
        word = "a whole number" if kind is int else "a number"
        raise InputError(f"{name} is {text!r}; give {word}.") from None
