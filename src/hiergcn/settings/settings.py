"""Settings: everything that decides a run, apart from the data, the seeds and the device.

Recipes are files that hold presets of settings, with their source and the accuracies that were published for them.

`recipes/<method>/<preset>.toml` holds a preset, `<preset>.<dataset>.toml` what differs on one dataset. If no preset is
named it is `default`, which starts from `paper` if the method has both; without a `default` it is `paper`, or else the
first by name. A recipe that names another `method` stands for that method's preset of the same name.
"""

import tomllib
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, fields, replace
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, NamedTuple, Self, TypeVar

from hiergcn.errors import InputError
from hiergcn.settings.fields import CoarsenConfig, Setting, TrainConfig, settings_of
from hiergcn.settings.registry import config_class, method_info

DEFAULT_PRESET = "default"


@cache
def recipe_files(method: str) -> dict[str, dict[str, Any]]:
    """Return every recipe of a method, by its file name without the ending."""
    info = method_info(method)
    if isinstance(info.recipes, Path):
        folder: Traversable | Path = info.recipes
    else:
        package, _, name = (info.recipes or f"hiergcn:recipes/{info.name}").partition(":")
        folder = files(package) / name
    if not folder.is_dir():
        return {}
    return {
        entry.name.removesuffix(".toml"): tomllib.loads(entry.read_text(encoding="utf-8"))
        for entry in sorted(folder.iterdir(), key=lambda entry: entry.name)
        if entry.name.endswith(".toml")
    }


def preset_names(method: str) -> tuple[str, ...]:
    """Return the presets of a method; `default` is one if it has a recipe or can start from `paper`."""
    names = {name.split(".")[0] for name in recipe_files(method)}
    return tuple(sorted(names | {DEFAULT_PRESET} if "paper" in names or not names else names))


def has_recipe(method: str, dataset: str) -> bool:
    """Return whether a method has a recipe for this very dataset."""
    return any(name.endswith(f".{dataset}") for name in recipe_files(method))


def published(method: str, dataset: str) -> float | None:
    """Return the accuracy that was published for the method on the dataset, a fraction of 1."""
    accuracies = (recipe.get("published", {}).get(dataset) for recipe in recipe_files(method).values())
    return next((float(accuracy) for accuracy in accuracies if accuracy is not None), None)


def method_of(method: str, preset: str | None) -> str:
    """Return the method that a preset belongs to: another one if its recipe names it."""
    recipe = recipe_files(method).get(preset, {}) if preset else {}
    return str(recipe.get("method", method))


T = TypeVar("T")

AUTO = "auto"
"""Name of the automatic choice among methods."""
DEFAULT = "hgcn-plus"
"""Method for a graph without a recipe; it had the best validation accuracy on the graphs that were tried."""
GROUPS = ("model", "train", "coarsen")


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
        grouped = parsed_changes(self.method, changes)
        return replace(self, **{group: replace(getattr(self, group), **part) for group, part in grouped.items()})

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any]) -> Self:
        groups = {group: _loaded(config, saved[group]) for group, config in _classes(saved["method"]).items()}
        return cls(saved["method"], saved["preset"], **groups)


def value_text(value: Any) -> str:
    """Return the value of a setting as a user would write it."""
    return str(value).lower() if value is None or isinstance(value, bool) else str(value)


class Choice(NamedTuple):
    """One setting, its value and why it was chosen."""

    setting: str
    value: Any
    reason: str


@dataclass(frozen=True)
class ChosenSettings:
    """Settings and why they were chosen."""

    settings: Settings
    choices: tuple[Choice, ...] = ()
    """Settings chosen for the graph; empty if they come from a recipe."""
    advice: tuple[str, ...] = ()
    """Other settings that may be worth trying."""

    @property
    def reasons(self) -> dict[str, str]:
        """The reason for each chosen setting, by its name."""
        return {choice.setting: choice.reason for choice in self.choices}


def is_automatic(model: str | None, preset: str | None = None, dataset: str | None = None) -> bool:
    """Return whether the method is to be chosen: `auto` is named, or neither a method nor a preset nor a dataset is."""
    return model == AUTO or not (model or preset or dataset)


def method_for(preset: str | None, dataset: str | None = None) -> str:
    """Return the default method: H-GCN for presets and named datasets, which have its recipes, else H-GCN+."""
    return "hgcn" if preset or dataset else DEFAULT


def settings_for(method: str = "hgcn", preset: str | None = None, dataset: str | None = None) -> Settings:
    """Return the settings of a preset on a dataset; without a preset, the method's default.

    A preset may belong to another method: `plus` of hgcn gives settings of hgcn-plus.
    """
    method = method_of(method, preset)
    recipes = recipe_files(method)
    usual = (name for name in (DEFAULT_PRESET, "paper") if {name, f"{name}.{dataset}"} & recipes.keys())
    preset = preset or next(usual, min(recipes, default=DEFAULT_PRESET))
    if preset not in preset_names(method):
        raise InputError(f"{method} has no preset named {preset!r}; choose one of {', '.join(preset_names(method))}.")
    settings = Settings(method, preset, **{group: config() for group, config in _classes(method).items()})
    bases = [preset] if preset in recipes else ["paper", preset]
    for name in (*bases, *(f"{base}.{dataset}" for base in bases)):  # later ones override earlier ones
        parts = {group: replace(getattr(settings, group), **recipes.get(name, {}).get(group, {})) for group in GROUPS}
        settings = replace(settings, **parts)
    return settings


def parse_methods(models: str, dataset: str | None, changes: Mapping[str, Any]) -> list[str]:
    """Return the names in a comma-separated list of NAME or NAME:PRESET; raise an `InputError` for unknown ones."""
    methods: list[str] = []
    for word in (part.strip() for part in models.split(",")):
        if not word:
            raise InputError(f"--models {models}: give names with commas between them, e.g. gcn,hgcn.")
        if word in methods:
            raise InputError(f"--models {models}: {word} is named twice; name each method once.")
        name, _, preset = word.partition(":")
        settings_for(name, preset or None, dataset).override(changes)
        methods.append(word)
    return methods


@cache
def method_settings(method: str) -> dict[str, Setting]:
    """Return the settings of a method in all groups, by name, with the defaults of their classes."""
    known = _classes(method).items()
    every = [setting._replace(group=group) for group, config in known for setting in settings_of(config).values()]
    return {setting.name: setting for setting in every}


def _classes(method: str) -> dict[str, Any]:
    """Return the dataclass of each group of settings."""
    return {"model": config_class(method), "train": TrainConfig, "coarsen": CoarsenConfig}


def without_effect(method: str, group: str) -> str | None:
    """Return why the settings of a group do not matter to a method; None if they do."""
    config = config_class(method)
    if group == "train" and config.closed_form:
        return f"{method} learns in one step and without gradients"
    if group == "coarsen" and not config.uses_hierarchy:
        return f"{method} does not coarsen the graph"
    return None


def parsed_changes(method: str, changes: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return changed settings with their values, by group. Refuse unknown names, wrong values and those without effect.

    What depends on several settings is checked by their class.
    """
    known, grouped = method_settings(method), dict[str, dict[str, Any]]()
    for name, value in changes.items():
        if name not in known:
            near = get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]}?" if near else f"the settings are {', '.join(sorted(known))}."
            raise InputError(f"{method} has no setting named {name!r}; {hint}")
        setting = known[name]
        if why := without_effect(method, setting.group):
            raise InputError(f"{name} has no effect here: {why}; leave it out.")
        grouped.setdefault(setting.group, {})[name] = setting.parsed(value)
    return grouped


def effective(method: str, changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return those of the changes that the method has and that matter to it."""
    known = method_settings(method)
    return {name: changes[name] for name in changes if name in known and not without_effect(method, known[name].group)}


def check_for_any(methods: Collection[str], changes: Mapping[str, Any]) -> None:
    """Refuse settings that none of the methods has, and values that one of them does not take."""
    known = {name for method in methods for name in method_settings(method)}
    for name in changes:
        if name not in known:
            near = get_close_matches(name, known, n=1)
            hint = f"; did you mean {near[0]}?" if near else "; see `hiergcn settings MODEL`, and name that model."
            raise InputError(f"No candidate has a setting {name!r}{hint}")
    for method in methods:
        parsed_changes(method, effective(method, changes))


def _loaded(config: type[T], saved: Mapping[str, Any]) -> T:
    """Return a group of settings without removed ones, which change nothing at their default."""
    removed: dict[str, Any] = getattr(config, "removed", {})
    known = {field.name for field in fields(config)}  # type: ignore[arg-type]
    for name, value in saved.items():
        if value != removed.get(name, value):
            raise InputError(f"The run has {name}={value}, a setting that was removed; run the fit again.")
        if name not in known | removed.keys():
            raise InputError(
                f"The run has a setting {name!r:.80}: a newer version of hiergcn wrote it; update hiergcn."
            )
    return config(**{name: value for name, value in saved.items() if name in known})
