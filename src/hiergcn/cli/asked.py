"""What the words of a command amount to: the settings they change, a split and a folder where none is named."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from hiergcn.errors import InputError

if TYPE_CHECKING:
    from hiergcn.cli.data import Data
    from hiergcn.graph import Split
    from hiergcn.run.adapt import ChosenSettings

INTERRUPTED = 130  # what shells make of Ctrl-C
SPLIT_SEED = 0
SPLIT_FROM = (
    f"drawn: of each class a fifth for validation and a fifth, if it has five labels, for test (seed {SPLIT_SEED})"
)


def changes(pairs: list[str] | None, levels: int | None = None) -> dict[str, str]:
    """The settings that `--set KEY=VALUE` and `--levels` change."""
    found = {}
    for pair in pairs or []:
        key, equals, value = pair.partition("=")
        if not key.strip() or not equals:
            raise InputError(f"--set {pair}: write it as KEY=VALUE, e.g. --set hidden=32.")
        found[key.strip()] = value.strip()
    return found if levels is None else found | {"levels": str(levels)}


def with_split(data: "Data") -> "tuple[Data, Split]":
    """The data with its own split, or with one that is drawn from its labels."""
    if data.obstacle is not None:
        raise InputError(data.obstacle)
    if data.split is not None:
        return data, data.split
    from hiergcn.graph import Split

    assert data.graph.labels is not None
    drawn = Split.holdout(data.graph.labels, seed=SPLIT_SEED)
    return replace(data, split=drawn, split_from=SPLIT_FROM), drawn


def adapted(data: "Data", model: str, changed: dict[str, str]) -> "ChosenSettings":
    """Settings that suit the user's graph, where they gave none, and why."""
    from hiergcn.run.adapt import adapted_settings

    data, split = with_split(data)
    split.check(data.graph)
    return adapted_settings(data.graph, split, model, changed)


def check_target(out: Path | None) -> None:
    """Refuse to write over a file, or into a folder that is not there, before any work is done."""
    if out is None:
        return
    if out.exists():
        raise InputError(f"{out} exists already; name another file or move that one away.")
    if not out.parent.is_dir():
        raise InputError(f"There is no folder {out.parent} to write {out.name} into; make it first.")


def next_free(folder: Path) -> Path:
    """The folder itself, or the first of folder-2, folder-3, .. that is not taken."""
    number, candidate = 1, folder
    while candidate.is_symlink() or candidate.is_file() or (candidate.is_dir() and any(candidate.iterdir())):
        number += 1
        candidate = folder.with_name(f"{folder.name}-{number}")
    return candidate
