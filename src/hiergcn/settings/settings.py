"""Settings: everything that decides a run, apart from the data, the seeds and the device. Recipes hold presets of them.

`recipes/<method>/<preset>.toml` holds a preset, `<preset>.<dataset>.toml` what differs on one dataset. If no preset is
named it is `default`, which starts from `paper` if the method has both; without a `default` it is `paper`, or else the
first by name. A recipe that names another `method` stands for that method's preset of the same name.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeVar

from hiergcn.errors import InputError
from hiergcn.model.registry import config_class, method_recipes
from hiergcn.settings.setting_table import GROUPS as GROUPS
from hiergcn.settings.setting_table import effective, method_settings, parsed_changes, without_effect
from hiergcn.settings.train_config import TrainConfig

if TYPE_CHECKING:
    from hiergcn.coarsen import CoarsenConfig  # imports numba, which presets do not need


T = TypeVar("T")

AUTO = "auto"
"""Name of the automatic choice among methods."""
DEFAULT = "hgcn-plus"
"""Method for a graph without a recipe; it had the best validation accuracy on the graphs that were tried."""


@dataclass(frozen=True)
class Settings:
    """The settings of a method in three groups, and the preset that they started from."""

    method: str
    preset: str
    model: Any
    train: TrainConfig
    coarsen: "CoarsenConfig"

    def values(self) -> dict[str, Any]:
        """Return all settings of the three groups, by name."""
        return {name: value for group in GROUPS for name, value in vars(getattr(self, group)).items()}

    def override(self, changes: Mapping[str, Any]) -> Self:
        """Return settings with some changed by name; strings are parsed, so that `--set hidden=64` works."""
        grouped = parsed_changes(self.method, changes)
        return replace(self, **{group: replace(getattr(self, group), **part) for group, part in grouped.items()})

    def effective(self, changes: Mapping[str, Any]) -> dict[str, Any]:
        """Return those of the changes that the method has and that matter to it."""
        return effective(self.method, changes)

    def without_effect(self, group: str) -> str | None:
        """Return why the settings of a group do not matter to the method; None if they do."""
        return without_effect(self.method, group)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any]) -> Self:
        from hiergcn.coarsen import CoarsenConfig

        return cls(
            method=saved["method"],
            preset=saved["preset"],
            model=_loaded(config_class(saved["method"]), saved["model"]),
            train=_loaded(TrainConfig, saved["train"]),
            coarsen=_loaded(CoarsenConfig, saved["coarsen"]),
        )


class Choice(NamedTuple):
    """One setting, its value and why it was chosen."""

    setting: str
    value: Any
    reason: str

    @property
    def shown(self) -> str:
        """The value as a user would write it."""
        return str(self.value).lower() if isinstance(self.value, bool) else str(self.value)


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
        return {one.setting: one.reason for one in self.choices}


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
    from hiergcn.coarsen import CoarsenConfig

    method = method_of(method, preset)
    model, train, coarsen = config_class(method)(), TrainConfig(), CoarsenConfig()
    preset = preset or default_preset(method, dataset)
    for layer in recipe_layers(method, preset, dataset):
        model = replace(model, **layer.get("model", {}))
        train = replace(train, **layer.get("train", {}))
        coarsen = replace(coarsen, **layer.get("coarsen", {}))
    return Settings(method, preset, model, train, coarsen)


def default_settings(method: str, preset: str | None = None) -> dict[str, Any]:
    """Return the defaults of every setting of a method, by name, with those of its preset."""
    values = {name: one.default for name, one in method_settings(method).items()}
    for layer in recipe_layers(method, preset or default_preset(method, None), None):
        for group in GROUPS:
            values |= layer.get(group, {})
    return values


@cache
def recipe_files(method: str) -> dict[str, dict[str, Any]]:
    """Return every recipe of a method, by its file name without the ending."""
    package, path = method_recipes(method)
    folder = files(package).joinpath(path)
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


def _loaded(kind: type[T], saved: Mapping[str, Any]) -> T:
    """Return a group of settings without removed ones, which change nothing at their default."""
    removed: dict[str, Any] = getattr(kind, "removed", {})
    known = {field.name for field in fields(kind)}  # type: ignore[arg-type]
    for name, value in saved.items():
        if value != removed.get(name, value):
            raise InputError(f"The run has {name}={value}, a setting that was removed; run the fit again.")
        if name not in known | removed.keys():
            raise InputError(
                f"The run has a setting {name!r:.80}: a newer version of hiergcn wrote it; update hiergcn."
            )
    return kind(**{name: value for name, value in saved.items() if name in known})
