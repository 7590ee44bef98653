"""The run folder: everything needed to look at a run, to load its model again or to repeat it.

config.json        settings, data, seeds, device, command       model.safetensors   weights of all members
metrics.json       every score                                  hierarchy.npz       the levels
history.csv        each seed, epoch by epoch                    votes.npz           see `explanation.votes`
predictions.csv    each node, by the user's own id              environment.json    machine and versions
probabilities.npy  of every class (or numbers), a row per node   report.html         the page (made by `report`)
coordinates.npz    where the nodes are, if the data say so      view.npz            levels of the page alone
graph.npz          the graph, if it came from Python instead of files or a named dataset
doubtful_labels.csv, suggestions.csv   labels to doubt, and nodes to label next
manifest.json      digests of all of these but the page and the last two, which a user may fill in
"""

import errno
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pandas as pd
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from hiergcn.coarsening import Hierarchy
from hiergcn.errors import InputError
from hiergcn.explanation.votes import Votes
from hiergcn.files import DAMAGED_ARRAYS, DIGITS, unescaped, write_csv
from hiergcn.graph.coordinates import Coordinates
from hiergcn.run.out_folder import check_manifest, folder_written_whole, write_manifest
from hiergcn.run.predict import Member
from hiergcn.settings.settings import Settings
from hiergcn.train.loop import HISTORY

if TYPE_CHECKING:
    from hiergcn.run.run import Run

    RunClass = TypeVar("RunClass", bound=Run)

_NODE: dict[str, type] = {"id": str, "given": bool, "split": str, "set": str, "lower": float, "upper": float}
_CLASSES = _NODE | {"predicted": str, "label": str, "probability": float, "confidence": float}  # a class may be 007
_NUMBERS = _NODE | {"predicted": float, "value": float}
_HISTORY = {"seed": int, "epoch": int} | dict.fromkeys(HISTORY, float)

GRAPH, DOUBTFUL, SUGGESTIONS = "graph.npz", "doubtful_labels.csv", "suggestions.csv"
COORDINATES, VIEW = "coordinates.npz", "view.npz"
REQUIRED = (
    *("config.json", "metrics.json", "environment.json"),
    *("history.csv", "predictions.csv", "probabilities.npy", "model.safetensors"),
)


def write_run(run: "Run", path: Path) -> None:
    """Write the run folder, whole or not at all. It holds the graph unless that can be read again from its source."""
    with folder_written_whole(path) as draft:
        _write_answer(run, draft)
        _write_json(draft / "config.json", run.config)
        _write_json(draft / "environment.json", run.environment)
        run.history.to_csv(draft / "history.csv", index=False)
        np.save(draft / "probabilities.npy", run.probabilities, allow_pickle=False)
        for name, table in run.advice.items():
            write_csv(table, draft / name, spreadsheet=run.config["spreadsheet_safe"])
        if run.view is not None:
            run.view.save(draft / ("hierarchy.npz" if run.hierarchy else VIEW))
        if "python" in run.config["source"]:
            run.graph.to_npz(draft / GRAPH)
        if run.votes is not None:
            run.votes.save(draft / "votes.npz")
        if (places := run.coordinates) is not None:
            np.savez_compressed(draft / COORDINATES, values=places.values, degrees=places.degrees)
        weights = {f"{k}.{name}": weight for k, one in enumerate(run.members) for name, weight in one.weights.items()}
        try:
            save_file(weights, draft / "model.safetensors")
        except SafetensorError as error:  # its way to say that the disk is full
            raise OSError(errno.EIO, f"{error!s:.100}") from error
        (draft / "model.safetensors").chmod(0o644)  # safetensors keeps others out
        write_manifest(draft, without=(DOUBTFUL, SUGGESTIONS))


def write_answer(run: "Run", path: Path) -> None:
    """Write `metrics.json` and `predictions.csv` alone, if there is no room for the whole run."""
    with folder_written_whole(path) as draft:
        _write_answer(run, draft)


def _write_answer(run: "Run", folder: Path) -> None:
    _write_json(folder / "metrics.json", run.scores)
    digits = DIGITS if run.target.kind == "classes" else None  # numbers are rounded already
    write_csv(run.table, folder / "predictions.csv", spreadsheet=run.config["spreadsheet_safe"], digits=digits)


def read_run(kind: "type[RunClass]", path: Path) -> "RunClass":
    """Read a run folder; raise an `InputError` that says what is wrong with it, if it cannot be used."""
    if not path.is_dir():
        raise InputError(f"There is no run folder at {path}; give the folder that `hiergcn fit --out` wrote.")
    for name in REQUIRED:
        if not (path / name).is_file():
            raise InputError(f"{path / name} is missing, so the run folder is incomplete; run the fit again.")
    check_manifest(path)
    try:
        config, scores = read_json(path / "config.json"), read_json(path / "metrics.json")
        types = _CLASSES if config["target"] is None else _NUMBERS
        predictions = _read_table(path / "predictions.csv", types, "value", "lower", "upper")
        hierarchy, votes, places = (path / name for name in ("hierarchy.npz", "votes.npz", COORDINATES))
        run = kind(
            config=config,
            scores=scores,
            table=unescaped(predictions) if config["spreadsheet_safe"] else predictions,
            members=_members(config, load_file(path / "model.safetensors")),
            probabilities=np.load(path / "probabilities.npy", allow_pickle=False),
            history=_read_table(path / "history.csv", _HISTORY, *HISTORY),
            hierarchy=Hierarchy.load(hierarchy) if hierarchy.exists() else None,
            votes=Votes.load(votes) if votes.exists() else None,
            coordinates=_coordinates(places) if places.exists() else None,
            path=path,
        )
        _check_consistent(run, path)
    except InputError:
        raise
    except (SafetensorError, AttributeError, TypeError, *DAMAGED_ARRAYS) as damage:
        raise InputError(f"The run folder {path} is damaged ({damage}); run the fit again.") from None
    return run


def _check_consistent(run: "Run", path: Path) -> None:
    """Refuse files that do not belong together; what is read of them later must be there."""
    (n, outputs), _ = run.probabilities.shape, run.columns
    rows = {"predictions.csv": len(run.table)}
    rows |= {} if run.hierarchy is None else {"hierarchy.npz": run.hierarchy.levels[0].n_nodes}
    rows |= {} if run.votes is None else {"votes.npz": len(run.votes.by_hyper_nodes)}
    for name, count in rows.items():
        if count != n:
            other = f"{path / name} is of another run: it has {count:,} nodes, and probabilities.npy {n:,}"
            raise InputError(f"{other}. Put the original back or run the fit again.")
    if outputs != run.answers.target.n_outputs or not np.isfinite(run.probabilities).all():
        what = f"it has {outputs} columns for {run.target.n_outputs} outputs, or no numbers"
        raise InputError(f"{path / 'probabilities.npy'} is damaged or of another run: {what}. Run the fit again.")


def read_advice(path: Path, escaped: bool) -> pd.DataFrame | None:
    """Return a table for people, which they may have changed, with all columns as text; None if there is none."""
    if not path.is_file():
        return None
    try:
        table = pd.read_csv(path, dtype=str, keep_default_na=False)
    except ValueError as error:
        raise InputError(f"{path} is not a table ({error!s:.90}); delete it or fit again.") from None
    return unescaped(table) if escaped else table


def _coordinates(path: Path) -> Coordinates:
    with np.load(path, allow_pickle=False) as saved:
        return Coordinates(saved["values"], bool(saved["degrees"]))


def _members(config: Mapping[str, Any], weights: dict[str, Tensor]) -> tuple[Member, ...]:
    """Return the networks of the answer.

    Weights must be numbers, but for the `known` numbers of label propagation, which are NaN at unlabelled nodes.
    """
    if not all(value.isfinite().all() for name, value in weights.items() if not name.endswith("known")):
        raise ValueError("model.safetensors holds weights that are not numbers")
    of_member: list[dict[str, Tensor]] = [{} for _ in config["members"]]
    for name, value in weights.items():
        number, _, inner = name.partition(".")
        if not (number.isdecimal() and int(number) < len(of_member)):
            raise ValueError(f"model.safetensors holds {name!r:.40}, of a network that config.json does not name")
        of_member[int(number)][inner] = value
    return tuple(
        Member(Settings.from_dict(saved), saved["seed"], own, saved["share"], saved["turn"], saved["temperature"])
        for saved, own in zip(config["members"], of_member, strict=True)
    )


def _write_json(path: Path, content: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n", encoding="utf-8")


def _read_table(path: Path, types: Mapping[str, type], *numbers: str) -> pd.DataFrame:
    """Read a table. Blanks are text, but NaN in columns of `numbers`, such as losses."""
    blank = {name: ["", "nan"] for name in numbers}
    return pd.read_csv(path, dtype=dict(types), keep_default_na=False, na_values=blank)


def read_json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        raise InputError(f"{path}, line {error.lineno} is not valid JSON; run the fit again.") from None
    if not isinstance(content, dict):
        raise InputError(f"{path} does not hold a JSON object; run the fit again.")
    return content
