"""Settings: everything that decides a run, apart from the data, the seeds and the device. Recipes hold presets of them.

`recipes/<method>/<preset>.toml` holds a preset, `<preset>.<dataset>.toml` what differs on one dataset. If no preset is
named it is `default`, which starts from `paper` if the method has both; without a `default` it is `paper`, or else the
first by name. A recipe that names another `method` stands for that method's preset of the same name.
"""

import tomllib
import types
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, fields, replace
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from typing import Any, Literal, Self, Union, get_args, get_origin, get_type_hints

from hiergcn.coarsen import CoarsenConfig
from hiergcn.errors import InputError
from hiergcn.model.registry import config_class, method_class
from hiergcn.train.config import TrainConfig

GROUPS = ("model", "train", "coarsen")
SIBLING = {"hgcn": "hgcn-plus", "hgcn-plus": "hgcn"}
"""The model that is easily confused with another, because one of them is the default."""


@dataclass(frozen=True)
class Settings:
    """The settings of a method in three groups, and the preset that they started from."""

    method: str
    preset: str
    model: Any
    train: TrainConfig
    coarsen: CoarsenConfig

    def values(self) -> dict[str, Any]:
        """Return all settings of the three groups, by name."""
        return {name: value for group in GROUPS for name, value in vars(getattr(self, group)).items()}

    def override(self, changes: Mapping[str, Any]) -> Self:
        """Return settings with some changed by name; strings are parsed, so that `--set hidden=64` works."""
        group_of = {field.name: group for group in GROUPS for field in fields(getattr(self, group))}
        grouped: dict[str, dict[str, Any]] = {}
        for name, value in changes.items():
            if name not in group_of:
                raise InputError(f"{self.method} has no setting named {name!r}{_hint(self.method, name, group_of)}")
            group = group_of[name]
            if why := self.without_effect(group):
                raise InputError(f"{name} has no effect here: {why}; leave it out.")
            kind = get_type_hints(type(getattr(self, group)))[name]
            grouped.setdefault(group, {})[name] = parse(name, value, kind) if isinstance(value, str) else value
        return replace(self, **{group: replace(getattr(self, group), **part) for group, part in grouped.items()})

    def effective(self, changes: Mapping[str, Any]) -> dict[str, Any]:
        """Return those of the changes that the method has and that matter to it."""
        groups = [group for group in GROUPS if not self.without_effect(group)]
        return {name: changes[name] for name in changes if any(name in vars(getattr(self, one)) for one in groups)}

    def without_effect(self, group: str) -> str | None:
        """Return why the settings of a group do not matter to the method; None if they do."""
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


def settings_for(method: str = "hgcn", preset: str | None = None, dataset: str | None = None) -> Settings:
    """Return the settings of a preset on a dataset; without a preset, the method's default.

    A preset may belong to another method: `plus` of hgcn gives settings of hgcn-plus.
    """
    method = method_of(method, preset)
    model, train, coarsen = config_class(method)(), TrainConfig(), CoarsenConfig()
    preset = preset or default_preset(method, dataset)
    for layer in recipe_layers(method, preset, dataset):
        model = replace(model, **layer.get("model", {}))
        train = replace(train, **layer.get("train", {}))
        coarsen = replace(coarsen, **layer.get("coarsen", {}))
    return Settings(method, preset, model, train, coarsen)


def parse(name: str, text: str, kind: Any) -> Any:
    """Return the text of a setting as a value of its type: int, float, bool, str, Literal, or one of these or None."""
    if get_origin(kind) in (Union, types.UnionType):
        if text.lower() in ("none", "null"):
            return None
        kind = next(part for part in get_args(kind) if part is not types.NoneType)
    if get_origin(kind) is Literal or kind is str:
        return text  # the config class checks it and names the choices
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


@cache
def recipe_files(method: str) -> dict[str, dict[str, Any]]:
    """Return every recipe of a method, by its file name without the ending."""
    folder = files("hiergcn") / "recipes" / method
    if not folder.is_dir():
        return {}  # of an unknown method, which is reported when it is looked up
    return {
        entry.name.removesuffix(".toml"): tomllib.loads(entry.read_text(encoding="utf-8"))
        for entry in sorted(folder.iterdir(), key=lambda entry: entry.name)
        if entry.name.endswith(".toml")
    }


def preset_names(method: str) -> tuple[str, ...]:
    """Return the presets of a method; `default` is one if it has a recipe or can start from `paper`."""
    names = {name.split(".")[0] for name in recipe_files(method)}
    return tuple(sorted(names | {"default"} if "paper" in names else names))


def has_recipe(method: str, dataset: str) -> bool:
    """Return whether a method has a recipe for this very dataset."""
    return any(name.endswith(f".{dataset}") for name in recipe_files(method))


def published(method: str, dataset: str) -> float | None:
    """Return the accuracy that was published for the method on the dataset, a fraction of 1."""
    found = (recipe.get("published", {}).get(dataset) for recipe in recipe_files(method).values())
    return next((float(accuracy) for accuracy in found if accuracy is not None), None)


def default_preset(method: str, dataset: str | None) -> str:
    """Return the preset that is used if none is named."""
    found = recipe_files(method)
    for preset in ("default", "paper"):
        if {preset, f"{preset}.{dataset}"} & set(found):
            return preset
    return min(found)


def method_of(method: str, preset: str | None) -> str:
    """Return the method that a preset belongs to: another one if its recipe names it."""
    named: str = recipe_files(method).get(preset or "", {}).get("method", method)
    return named


def recipe_layers(method: str, preset: str, dataset: str | None) -> list[dict[str, Any]]:
    """Return the recipes that make up a preset; later ones override earlier ones."""
    found = recipe_files(method)
    if preset not in preset_names(method):
        raise InputError(f"{method} has no preset named {preset!r}; choose one of {', '.join(preset_names(method))}.")
    bases = [preset] if preset in found else ["paper", preset]
    names = bases + [f"{base}.{dataset}" for base in bases]
    return [found[name] for name in names if name in found]


def _loaded_model(kind: type[Any], saved: Mapping[str, Any]) -> Any:
    """Return a model's settings without removed ones, which change nothing at their default."""
    removed = getattr(kind, "removed", {})
    for name, default in removed.items():
        if saved.get(name, default) != default:
            raise InputError(f"The run has {name}={saved[name]}, a setting that was removed; run the fit again.")
    return kind(**{name: value for name, value in saved.items() if name not in removed})


def _hint(method: str, name: str, known: Collection[str]) -> str:
    """Return the end of a sentence about an unknown setting: the model that has it, or the nearest name."""
    near = get_close_matches(name, known, n=1)
    other = SIBLING.get(method)
    if other and name in vars(config_class(other)()):
        alike = [one for one in sorted(known) if one.endswith(f"_{name}")] or near  # dropout: input_dropout
        nearest = f", or set {' or '.join(alike)}" if alike else ""
        return f", but {other} has: choose that model{nearest}."
    return f"; did you mean {near[0]}?" if near else f"; the settings are {', '.join(sorted(known))}."
