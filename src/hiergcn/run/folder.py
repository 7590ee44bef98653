"""The run folder: everything needed to look at a run, to load its model again or to repeat it.

config.json        settings, data, seeds, device, command       model.safetensors   weights of all members
metrics.json       every score                                  hierarchy.npz       the levels
history.csv        each seed, epoch by epoch                    votes.npz           see `explain.votes`
predictions.csv    each node, by the user's own id              environment.json    machine and versions
probabilities.npy  of every class (or numbers), a row per node   report.html         the page (made by `report`)
coordinates.npz    where the nodes are, if the data say so      view.npz            levels of the page alone
graph.npz          the graph, if it came from Python instead of files or a named dataset
doubtful_labels.csv, suggestions.csv   labels to doubt, and nodes to label next
manifest.json      digests of all of these but the page and the last two, which a user may fill in
"""

import errno
import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from hiergcn.coarsen import Hierarchy
from hiergcn.errors import InputError
from hiergcn.evaluate.calibration import Temperature
from hiergcn.evaluate.conformal import PredictionIntervals, PredictionSets
from hiergcn.evaluate.report import Answers, ClassAnswers, NumberAnswers
from hiergcn.explain.votes import Votes
from hiergcn.files import DAMAGED_ARRAYS, DIGITS, unescaped, write_csv
from hiergcn.graph import Split
from hiergcn.graph.coordinates import Coordinates
from hiergcn.graph.order import canonical_order
from hiergcn.graph.tables.feature_columns import FeatureColumn
from hiergcn.graph.target import Classes, Numbers, Scale
from hiergcn.run.out_folder import check_manifest, folder_written_whole, write_manifest
from hiergcn.run.predict import Answer, Member, SavedModel
from hiergcn.run.result import RunResult
from hiergcn.settings.settings import Settings
from hiergcn.train.seeds import turn_of
from hiergcn.train.selection import HISTORY
from hiergcn.workers.machine import environment

_NODE: dict[str, type] = {"id": str, "given": bool, "split": str}
_CLASSES = _NODE | {"predicted": str, "label": str, "probability": float, "confidence": float}  # a class may be 007
_NUMBERS = _NODE | {"predicted": float, "value": float}
_OPTIONAL = {"set": str, "lower": float, "upper": float}
_HISTORY = {"seed": int, "epoch": int} | dict.fromkeys(HISTORY, float)

GRAPH, DOUBTFUL, SUGGESTIONS = "graph.npz", "doubtful_labels.csv", "suggestions.csv"
COORDINATES, VIEW = "coordinates.npz", "view.npz"
REQUIRED = (
    *("config.json", "metrics.json", "environment.json"),
    *("history.csv", "predictions.csv", "probabilities.npy", "model.safetensors"),
)
ADDED: dict[str, Any] = dict.fromkeys(
    ("leaderboard", "verdict", "prediction_sets", "doubtful_labels", "delivered_accuracy", "delivered_val_accuracy")
) | {"turns": 1}
"""Defaults of keys that `metrics.json` of earlier versions lacks."""


def write_run(
    result: RunResult,
    path: Path,
    source: Mapping[str, Any] | None = None,
    *,
    keep_graph: bool = False,
    spreadsheet: bool = False,
) -> None:
    """Write the run folder, whole or not at all.

    Args:
        result: the run.
        path: a new or empty folder.
        source: the origin of the graph and the command, kept in `config.json` for repeating the run.
        keep_graph: write the graph as well, so that the folder can be used without its source.
        spreadsheet: escape ids and class names in `predictions.csv` that a spreadsheet would run as formulas.
    """
    with folder_written_whole(path) as draft:
        _write_files(result, draft, source, keep_graph, spreadsheet)
        write_manifest(draft, without=(DOUBTFUL, SUGGESTIONS))


def run_config(result: RunResult, source: Mapping[str, Any] | None = None, spreadsheet: bool = False) -> dict[str, Any]:
    """Return the content of `config.json`."""
    return result.settings.to_dict() | {
        "members": [one.to_dict() for one in result.members],
        "turns": result.turns,
        "dataset": result.graph.name,
        "seeds": list(result.seeds),
        "device": result.device,
        "n_features": result.graph.n_features,
        "class_names": list(result.graph.class_names),
        "target": _target(result.answers),
        "columns": [asdict(column) for column in result.graph.columns],
        "reasons": dict(result.reasons),
        "source": dict(source or {}),
        "spreadsheet_safe": spreadsheet,
    }


def write_answer(result: RunResult, path: Path, *, spreadsheet: bool = False) -> None:
    """Write `metrics.json` and `predictions.csv` alone, if there is no room for the whole run."""
    with folder_written_whole(path) as draft:
        _write_json(draft / "metrics.json", result.metrics())
        _write_predictions(result, draft, spreadsheet)


def _write_files(
    result: RunResult, folder: Path, source: Mapping[str, Any] | None, keep_graph: bool, spreadsheet: bool
) -> None:
    config = run_config(result, source, spreadsheet)
    _write_json(folder / "config.json", config)
    _write_json(folder / "metrics.json", result.metrics())
    _write_json(folder / "environment.json", environment())
    result.history.to_csv(folder / "history.csv", index=False)
    _write_predictions(result, folder, spreadsheet)
    np.save(folder / "probabilities.npy", result.probabilities, allow_pickle=False)
    for table, name in ((result.doubtful, DOUBTFUL), (result.suggestions, SUGGESTIONS)):
        if table is not None:
            write_csv(table, folder / name, spreadsheet=spreadsheet)
    result.view.save(folder / ("hierarchy.npz" if result.hierarchy else VIEW))
    if keep_graph:
        result.graph.to_npz(folder / GRAPH)
    if result.votes is not None:
        result.votes.save(folder / "votes.npz")
    if (places := result.graph.coordinates) is not None:
        np.savez_compressed(folder / COORDINATES, values=places.values, degrees=places.degrees)
    weights = [{f"{place}.{name}": w for name, w in one.weights.items()} for place, one in enumerate(result.members)]
    try:
        save_file({name: w for one in weights for name, w in one.items()}, folder / "model.safetensors")
    except SafetensorError as error:  # its way to say that the disk is full
        raise OSError(errno.EIO, f"{error!s:.100}") from error
    (folder / "model.safetensors").chmod(0o644)  # safetensors keeps others out


def _write_predictions(result: RunResult, folder: Path, spreadsheet: bool) -> None:
    digits = None if result.graph.targets is not None else DIGITS  # numbers are rounded already
    write_csv(result.predictions(), folder / "predictions.csv", spreadsheet=spreadsheet, digits=digits)


@dataclass(frozen=True, eq=False, repr=False)
class LoadedRun(Answer):
    """The content of a run folder."""

    path: Path
    members: tuple[Member, ...]
    config: dict[str, Any]
    metrics: dict[str, Any]
    environment: dict[str, Any]
    history: pd.DataFrame
    predictions: pd.DataFrame
    probabilities: np.ndarray
    hierarchy: Hierarchy | None
    columns: tuple[FeatureColumn, ...]
    """The table columns that the features were made of."""
    answers: Answers
    """What turns outputs into predictions."""
    votes: Votes | None
    coordinates: Coordinates | None = None
    """Where the nodes are, if the data say so."""

    def __repr__(self) -> str:
        return f"LoadedRun({str(self.path)!r}, {self.metrics['model']!r}, nodes={len(self.predictions)})"

    @cached_property
    def view(self) -> Hierarchy | None:
        """The hierarchy, or one that was made for the page; runs of earlier versions may have neither."""
        file = self.path / VIEW
        return self.hierarchy or (Hierarchy.load(file) if file.exists() else None)

    @cached_property
    def doubtful(self) -> pd.DataFrame | None:
        """Labels to doubt; None if they were not judged."""
        return self._advice(DOUBTFUL)

    @cached_property
    def suggestions(self) -> pd.DataFrame | None:
        """Nodes to label next; None if there are none."""
        return self._advice(SUGGESTIONS)

    def _advice(self, name: str) -> pd.DataFrame | None:
        """Return a table with all columns as text; None if the folder has none."""
        if not (self.path / name).is_file():
            return None
        try:
            table = pd.read_csv(self.path / name, dtype=str, keep_default_na=False)
        except ValueError as error:
            raise InputError(f"{self.path / name} is not a table ({error!s:.90}); delete it or fit again.") from None
        return unescaped(table) if self.config.get("spreadsheet_safe", True) else table

    @property
    def temperature(self) -> Temperature:
        """Calibration of the probabilities; none for numbers."""
        return self.answers.temperature if isinstance(self.answers, ClassAnswers) else Temperature(1.0)

    @property
    def sets(self) -> PredictionSets | None:
        """The prediction sets; None if no coverage was given."""
        return self.answers.sets if isinstance(self.answers, ClassAnswers) else None

    @property
    def graph_file(self) -> Path | None:
        """The file of the graph; None if the folder has none."""
        file = self.path / GRAPH
        return file if file.is_file() else None

    @cached_property
    def model(self) -> SavedModel:
        """The answer as a model."""
        names, ids = tuple(self.config["class_names"]), self.predictions["id"].to_numpy(str)
        part = self.predictions["split"]
        train, turn = np.flatnonzero(part == "train"), None
        scale = self.answers.target.scale
        if scale is None:
            known = pd.Index(names).get_indexer(self.predictions["label"]).astype(np.int64)
            if (count := self.config.get("turns", 1)) > 1:
                validation, none = np.flatnonzero(part == "validation"), np.empty(0, np.int64)
                train, turn = turn_of(Split(train, validation, none), known, count, canonical_order(ids))
            labels = known[train]
        else:
            labels = self.predictions["value"].to_numpy(np.float64)[train]
        return SavedModel(
            self.members,
            self.config["n_features"],
            names,
            None if self.hierarchy is None else self.hierarchy.reordered(canonical_order(ids)),
            self.columns,
            ids,
            train,
            labels,
            turn,
            scale,
        )


def load_run(path: Path) -> LoadedRun:
    """Read a run folder; raise an `InputError` that says what is wrong with it, if it cannot be used."""
    if not path.is_dir():
        raise InputError(f"There is no run folder at {path}; give the folder that `hiergcn fit --out` wrote.")
    for name in REQUIRED:
        if not (path / name).is_file():
            raise InputError(f"{path / name} is missing, so the run folder is incomplete; run the fit again.")
    version = check_manifest(path)
    try:
        config, metrics = _read_json(path / "config.json"), ADDED | _read_json(path / "metrics.json")
        history = _read_table(path / "history.csv", _HISTORY, numbers=HISTORY)
        if len(history) != metrics.get("epochs", len(history)):  # a table cut at the end of a row looks whole
            raise InputError(f"{path / 'history.csv'} has lost rows; run the fit again.")
        answers = _answers(config, metrics)
        kinds = _CLASSES if isinstance(answers, ClassAnswers) else _NUMBERS
        predictions = _read_table(path / "predictions.csv", kinds, numbers=("value", "lower", "upper"))
        if config.get("spreadsheet_safe", True):  # runs without the key were always escaped
            predictions = unescaped(predictions)
        hierarchy = path / "hierarchy.npz"
        run = LoadedRun(
            path=path,
            members=_members(config, metrics, load_file(path / "model.safetensors")),
            config=config,
            metrics=metrics,
            environment=_read_json(path / "environment.json"),
            history=history,
            predictions=predictions,
            probabilities=np.load(path / "probabilities.npy", allow_pickle=False),
            hierarchy=Hierarchy.load(hierarchy) if hierarchy.exists() else None,
            columns=tuple(map(FeatureColumn.from_dict, config["columns"])),
            answers=answers,
            votes=Votes.load(path / "votes.npz") if (path / "votes.npz").exists() else None,
            coordinates=_coordinates(path / COORDINATES),
        )
        _check_consistent(run, version)
    except InputError:
        raise
    except (SafetensorError, *DAMAGED_ARRAYS) as damage:
        raise InputError(f"The run folder {path} is damaged ({damage}); run the fit again.") from None
    return run


def _check_consistent(run: LoadedRun, version: int) -> None:
    """Refuse files that do not belong together, which is possible in a folder without a manifest."""
    n, outputs = run.probabilities.shape
    sizes = {
        "predictions.csv": len(run.predictions),
        "hierarchy.npz": n if run.hierarchy is None else run.hierarchy.levels[0].n_nodes,
        "votes.npz": n if run.votes is None else len(run.votes.by_hyper_nodes),
    }
    for name, rows in sizes.items():
        if rows != n:
            other = f"{run.path / name} is of another run: it has {rows:,} nodes, and probabilities.npy {n:,}"
            raise InputError(f"{other}. Put the original back or run the fit again.")
    classes = run.answers.target.n_outputs
    if outputs != classes or not np.isfinite(run.probabilities).all():
        what = f"it has {outputs} columns for {classes} classes" if outputs != classes else "it holds no numbers"
        raise InputError(f"{run.path / 'probabilities.npy'} is damaged or of another run: {what}. Run the fit again.")
    if version == 1 and not run.model.inductive and canonical_order(run.model.ids) is not None:
        raise InputError(
            f"{run.path} was written by an earlier hiergcn, in which {run.settings.method} knew nodes by the order of "
            f"their rows; run the fit again."
        )


def _coordinates(path: Path) -> Coordinates | None:
    if not path.exists():
        return None
    with np.load(path, allow_pickle=False) as saved:
        return Coordinates(saved["values"], bool(saved["degrees"]))


def _target(answers: Answers) -> dict[str, Any] | None:
    """Return the saved fields of a numeric target; None for classes."""
    target = answers.target
    if not isinstance(target, Numbers):
        return None
    return {"name": target.name, "mean": target.unit.mean, "spread": target.unit.std}


def _answers(config: Mapping[str, Any], metrics: Mapping[str, Any]) -> Answers:
    target = config.get("target")  # runs of earlier versions predict classes
    if target is None:
        temperature = Temperature(float(metrics["calibration"]["temperature"]))
        return ClassAnswers(
            Classes(None, tuple(config["class_names"])),
            temperature,
            _conformal(PredictionSets, metrics.get("prediction_sets"), "threshold"),
        )
    scale = Scale(float(target["mean"]), float(target["spread"]))
    return NumberAnswers(
        Numbers(None, target["name"], scale),
        _conformal(PredictionIntervals, metrics.get("prediction_intervals"), "half_width"),
    )


def _conformal(kind: type, saved: Mapping[str, Any] | None, bound: str) -> Any:
    """Return saved sets or intervals; JSON has no infinity, so None stands for an infinite bound."""
    if saved is None:
        return None
    value = math.inf if saved[bound] is None else float(saved[bound])
    return kind(saved["coverage"], value, saved["calibration_nodes"])


def _members(config: Mapping[str, Any], metrics: Mapping[str, Any], weights: dict[str, Tensor]) -> tuple[Member, ...]:
    """Return the networks of the answer; runs of earlier versions have one, the best seed.

    Weights must be numbers, but for the `known` numbers of label propagation, which are NaN at unlabelled nodes.
    """
    if not all(value.isfinite().all() for name, value in weights.items() if not name.endswith("known")):
        raise ValueError("model.safetensors holds weights that are not numbers")
    if "members" not in config:
        return (Member(Settings.from_dict(config), metrics["selected_seed"], weights),)
    found: list[dict[str, Tensor]] = [{} for _ in config["members"]]
    for name, value in weights.items():
        place, _, own = name.partition(".")
        if not (place.isdecimal() and int(place) < len(found)):
            raise ValueError(f"model.safetensors holds {name!r:.40}, of a network that config.json does not name")
        found[int(place)][own] = value
    return tuple(
        Member(
            Settings.from_dict(saved),
            saved["seed"],
            own,
            saved["share"],
            saved.get("turn"),
            saved.get("temperature", 1.0),
        )
        for saved, own in zip(config["members"], found, strict=True)
    )


def _write_json(path: Path, content: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n", encoding="utf-8")


def _read_table(path: Path, types: Mapping[str, type], numbers: Sequence[str]) -> pd.DataFrame:
    """Read a table with at least these columns. Blanks are text, but NaN in columns of `numbers`, such as losses."""
    with path.open("rb") as stream:
        if stream.seek(0, os.SEEK_END) and stream.seek(-1, os.SEEK_END) and stream.read(1) != b"\n":
            raise InputError(f"{path} ends in the middle of a row; run the fit again.")
    blank = {name: ["", "nan"] for name in numbers}
    table = pd.read_csv(path, dtype=_OPTIONAL | dict(types), keep_default_na=False, na_values=blank)
    absent = [name for name in types if name not in table]
    if absent:
        raise InputError(f"{path} has no column {absent[0]!r}; run the fit again.")
    return table


def _read_json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        raise InputError(f"{path}, line {error.lineno} is not valid JSON; run the fit again.") from None
    if not isinstance(content, dict):
        raise InputError(f"{path} does not hold a JSON object; run the fit again.")
    return content
