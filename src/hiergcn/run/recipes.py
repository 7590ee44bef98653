"""Recipe files: the settings of a method's preset, and what was published with them.

`recipes/<method>/<preset>.toml` holds a preset; `<preset>.<dataset>.toml` what differs on one dataset. Where no preset
is asked for it is `default`, which begins from `paper` where a method has both, or `paper` where it has no default, or
the first by name. A recipe that names another `method` stands for that method's preset of the same name.
"""

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any

from hiergcn.errors import InputError


@cache
def recipe_files(method: str) -> dict[str, dict[str, Any]]:
    """Every recipe of the method by its file's name without the ending."""
    folder = files("hiergcn") / "recipes" / method
    found: dict[str, dict[str, Any]] = {}
    if not folder.is_dir():  # of a name that is no method's, which is said where the method is looked for
        return found
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if entry.name.endswith(".toml"):
            found[entry.name.removesuffix(".toml")] = tomllib.loads(entry.read_text(encoding="utf-8"))
    return found


def preset_names(method: str) -> tuple[str, ...]:
    """`default` among them where it has a recipe or can begin from `paper`."""
    names = {name.split(".")[0] for name in recipe_files(method)}
    return tuple(sorted(names | {"default"} if "paper" in names else names))


def published(method: str, dataset: str) -> float | None:
    """Accuracy that the method's source claims on the dataset, a fraction of 1."""
    for recipe in recipe_files(method).values():
        found = recipe.get("published", {}).get(dataset)
        if found is not None:
            return float(found)
    return None


def default_preset(method: str, dataset: str | None) -> str:
    """The preset that is used where none is asked for."""
    found = recipe_files(method)
    for preset in ("default", "paper"):
        if {preset, f"{preset}.{dataset}"} & set(found):
            return preset
    return min(found)


def method_of(method: str, preset: str | None) -> str:
    """The method that a preset sets: another one where the recipe names it."""
    named: str = recipe_files(method).get(preset or "", {}).get("method", method)
    return named


def recipe_layers(method: str, preset: str, dataset: str | None) -> list[dict[str, Any]]:
    """The recipes that make up a preset, later ones over earlier ones."""
    found = recipe_files(method)
    if preset not in preset_names(method):
        raise InputError(f"{method} has no preset named {preset!r}; choose one of {', '.join(preset_names(method))}.")
    bases = [preset] if preset in found else ["paper", preset]
    names = bases + [f"{base}.{dataset}" for base in bases]
    return [found[name] for name in names if name in found]
