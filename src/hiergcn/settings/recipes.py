"""Recipes: files that hold presets of settings, with their source and the accuracies that were published for them.

`recipes/<method>/<preset>.toml` holds a preset, `<preset>.<dataset>.toml` what differs on one dataset. If no preset is
named it is `default`, which starts from `paper` if the method has both; without a `default` it is `paper`, or else the
first by name. A recipe that names another `method` stands for that method's preset of the same name.
"""

import tomllib
from functools import cache
from typing import Any

from hiergcn.errors import InputError
from hiergcn.settings.registry import method_info, method_names

DEFAULT = "default"


@cache
def recipe_files(method: str) -> dict[str, dict[str, Any]]:
    """Return every recipe of a method, by its file name without the ending."""
    folder = method_info(method).recipe_folder
    if not folder.is_dir():
        return {}
    return {
        entry.name.removesuffix(".toml"): tomllib.loads(entry.read_text(encoding="utf-8"))
        for entry in sorted(folder.iterdir(), key=lambda entry: entry.name)
        if entry.name.endswith(".toml")
    }


def preset_names(method: str | None = None) -> tuple[str, ...]:
    """Return the presets of a method, or of all; `default` is one if it has a recipe or can start from `paper`."""
    if method is None:
        return tuple(sorted({name for each in method_names() for name in preset_names(each)}))
    names = {name.split(".")[0] for name in recipe_files(method)}
    return tuple(sorted(names | {DEFAULT} if "paper" in names or not names else names))


def has_recipe(method: str, dataset: str) -> bool:
    """Return whether a method has a recipe for this very dataset."""
    return any(name.endswith(f".{dataset}") for name in recipe_files(method))


def published(method: str, dataset: str) -> float | None:
    """Return the accuracy that was published for the method on the dataset, a fraction of 1."""
    accuracies = (recipe.get("published", {}).get(dataset) for recipe in recipe_files(method).values())
    return next((float(accuracy) for accuracy in accuracies if accuracy is not None), None)


def default_preset(method: str, dataset: str | None = None) -> str:
    """Return the preset that is used if none is named."""
    recipes = recipe_files(method)
    for preset in (DEFAULT, "paper"):
        if {preset, f"{preset}.{dataset}"} & set(recipes):
            return preset
    return min(recipes, default=DEFAULT)


def method_of(method: str, preset: str | None) -> str:
    """Return the method that a preset belongs to: another one if its recipe names it."""
    recipe = recipe_files(method).get(preset, {}) if preset else {}
    return str(recipe.get("method", method))


def recipe_layers(method: str, preset: str, dataset: str | None = None) -> list[dict[str, Any]]:
    """Return the recipes that make up a preset; later ones override earlier ones."""
    recipes = recipe_files(method)
    if preset not in preset_names(method):
        raise InputError(f"{method} has no preset named {preset!r}; choose one of {', '.join(preset_names(method))}.")
    bases = [preset] if preset in recipes else ["paper", preset]
    names = bases + [f"{base}.{dataset}" for base in bases]
    return [recipes[name] for name in names if name in recipes]
