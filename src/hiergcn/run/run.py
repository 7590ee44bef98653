"""A finished run: one value for what a fit returns, what a folder holds, and what page, screen and estimator show.

The run folder has everything needed to look at a run, to load its model again or to repeat it:

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
from dataclasses import dataclass, field, replace
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from hiergcn.coarsening import Hierarchy, coarsen
from hiergcn.errors import InputError
from hiergcn.evaluate.metrics import Answers, PartReport, saved_reports
from hiergcn.explanation.votes import Votes
from hiergcn.files import DAMAGED_ARRAYS, DIGITS, unescaped, write_csv, write_text
from hiergcn.fragments import card, sentence
from hiergcn.graph import Graph, Split
from hiergcn.graph.coordinates import Coordinates
from hiergcn.graph.split import ALL_PARTS
from hiergcn.graph.tables.column_roles import Roles
from hiergcn.graph.tables.feature_columns import FeatureColumn
from hiergcn.graph.target import Classes, Numbers, Scale, Target
from hiergcn.model.inputs import candidate_name
from hiergcn.model.method import Weights
from hiergcn.reports.leaderboard import Leaderboard, Row, score_text
from hiergcn.run.out_folder import check_manifest, folder_written_whole, write_manifest
from hiergcn.settings.settings import Settings
from hiergcn.train.loop import HISTORY, SeedOutcome
from hiergcn.workers.machine import environment

if TYPE_CHECKING:  # imported when a run predicts
    from hiergcn.run.predict import Model

VIEW_LEVELS = 4
"""Levels of a hierarchy that is made for the page alone."""

_NODE: dict[str, type] = {"id": str, "given": bool, "reached": bool, "split": str, "set": str}
_NODE |= {"lower": float, "upper": float}
_CLASSES = _NODE | {"predicted": str, "label": str, "probability": float, "confidence": float}  # a class may be 007
_NUMBERS = _NODE | {"predicted": float, "value": float}
_HISTORY = {"seed": int, "epoch": int} | dict.fromkeys(HISTORY, float)

GRAPH, DOUBTFUL, SUGGESTIONS = "graph.npz", "doubtful_labels.csv", "suggestions.csv"
COORDINATES, VIEW = "coordinates.npz", "view.npz"
REQUIRED = (
    *("config.json", "metrics.json", "environment.json"),
    *("history.csv", "predictions.csv", "probabilities.npy", "model.safetensors"),
)


@dataclass(frozen=True, eq=False, repr=False)
class Member:
    """A trained network, and the weight of its probabilities in the answer."""

    settings: Settings
    seed: int
    weights: Weights
    share: float = 1.0
    fold: int | None = None
    """The fold that it did not train on, in cross-validation."""
    temperature: float = 1.0
    """Temperature of the mean of all members with these settings."""

    def __repr__(self) -> str:
        return f"Member({self.name!r}, seed={self.seed}, share={self.share:.3g})"

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the weights."""
        return self.settings.to_dict() | {
            "seed": self.seed,
            "share": self.share,
            "turn": self.fold,
            "temperature": self.temperature,
        }

    @property
    def name(self) -> str:
        """The method, with its label inputs, such as `gcn+harmonic`."""
        return candidate_name(self.settings.method, self.settings.model)

    @property
    def uses_features(self) -> bool:
        return not self.settings.model.label_only


@dataclass(frozen=True, eq=False, repr=False)
class Run:
    """A finished run, from `fit` or from its folder.

    It is what the run folder holds; other attributes are read from that. `save` writes the folder, `Run.load` reads it.
    """

    config: Mapping[str, Any]
    """The content of `config.json`: the settings of every network, seeds, device, and where the graph came from."""
    scores: Mapping[str, Any]
    """The content of `metrics.json`."""
    table: pd.DataFrame
    """The content of `predictions.csv`."""
    members: tuple[Member, ...]
    """The networks of the answer, that with the largest share first."""
    probabilities: NDArray[Any]  # (n, classes) of the answer, or its numbers, (n, 1)
    history: pd.DataFrame
    """Losses and scores of each seed and epoch."""
    hierarchy: Hierarchy | None = None
    """As deep as any member needs; None if none uses one."""
    votes: Votes | None = None
    """The votes behind the predictions, by the first member, if its output layer can be decomposed."""
    coordinates: Coordinates | None = None
    """Where the nodes are, if the data say so."""
    outcomes: tuple[SeedOutcome, ...] = ()
    """Of the first member's method, without arrays; empty if the run was loaded."""
    fitted_graph: Graph | None = None
    """The graph; None if the run was loaded."""
    advice: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    """Tables by the names of their files, see `doubtful` and `suggestions`."""
    page_hierarchy: Hierarchy | None = None
    """A hierarchy that was made for the page alone."""
    path: Path | None = None
    """The folder; None if there is none."""

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a run folder; raise an `InputError` that says what is wrong with it, if it cannot be used."""
        path = Path(path)
        if not path.is_dir():
            raise InputError(f"There is no run folder at {path}; give the folder that `hiergcn fit --out` wrote.")
        check_manifest(path, REQUIRED)
        try:
            config = _read_json(path / "config.json")
            types = _CLASSES if config["target"] is None else _NUMBERS
            table = _read_table(path / "predictions.csv", types, "value", "lower", "upper")
            hierarchy, votes, coordinates = (path / name for name in ("hierarchy.npz", "votes.npz", COORDINATES))
            run = cls(
                config=config,
                scores=_read_json(path / "metrics.json"),
                table=unescaped(table) if config["spreadsheet_safe"] else table,
                members=_members(config, load_file(path / "model.safetensors")),
                probabilities=np.load(path / "probabilities.npy", allow_pickle=False),
                history=_read_table(path / "history.csv", _HISTORY, *HISTORY),
                hierarchy=Hierarchy.load(hierarchy) if hierarchy.exists() else None,
                votes=Votes.load(votes) if votes.exists() else None,
                coordinates=_read_coordinates(coordinates) if coordinates.exists() else None,
                path=path,
            )
            run._check_consistent(path)
        except InputError:
            raise
        except (SafetensorError, AttributeError, TypeError, *DAMAGED_ARRAYS) as damage:
            raise InputError(f"The run folder {path} is damaged ({damage}); run the fit again.") from None
        return run

    def _check_consistent(self, path: Path) -> None:
        """Refuse files that do not belong together; what is read of them later must be there."""
        (n, outputs), _, config = self.probabilities.shape, self.columns, self.config
        kinds = {"source": dict, "reasons": dict, "members": list, "class_names": list, "n_features": int}
        odd = [name for name, kind in kinds.items() if not isinstance(config[name], kind)]
        odd += [name for name in ("roles", "data") if not isinstance(config.get(name) or {}, dict)]
        odd += ["class_names"] if len(set(config["class_names"])) < len(config["class_names"]) else []
        odd += ["members"] if any(not 0 <= one.share <= 1.001 or one.temperature <= 0 for one in self.members) else []
        if odd:
            raise InputError(
                f"{path / 'config.json'} is damaged: {odd[0]!r} is not what a fit writes. Run the fit again."
            )
        rows = {"predictions.csv": len(self.table)}
        rows |= {} if self.hierarchy is None else {"hierarchy.npz": self.hierarchy.levels[0].n_nodes}
        rows |= {} if self.votes is None else {"votes.npz": len(self.votes.by_hyper_nodes)}
        for name, count in rows.items():
            if count != n:
                other = f"{path / name} is of another run: it has {count:,} nodes, and probabilities.npy {n:,}"
                raise InputError(f"{other}. Put the original back or run the fit again.")
        if outputs != self.answers.target.n_outputs or not np.isfinite(self.probabilities).all():
            what = f"it has {outputs} columns for {self.target.n_outputs} outputs, or no numbers"
            raise InputError(f"{path / 'probabilities.npy'} is damaged or of another run: {what}. Run the fit again.")

    def save(
        self,
        path: str | Path,
        python: str | None = None,
        *,
        source: Mapping[str, Any] | None = None,
        spreadsheet: bool = False,
    ) -> None:
        """Write a run folder with its page; it must be new or empty.

        Args:
            path: the folder.
            python: what made the run, for its page.
            source: where the graph can be read again, and the command; without it, the graph is written too.
            spreadsheet: escape ids and class names in `predictions.csv` that a spreadsheet would run as formulas.
        """
        run = self.from_source(source or {"python": python or repr(self)}, spreadsheet)
        run.write(Path(path))
        run.at(Path(path)).write_page()

    def from_source(self, source: Mapping[str, Any], spreadsheet: bool = False) -> Self:
        """Return the run with a record of where its graph came from."""
        return replace(self, config={**self.config, "source": dict(source), "spreadsheet_safe": spreadsheet})

    def write(self, path: Path) -> None:
        """Write the folder without its page, whole or not at all. It holds the graph unless its source is recorded."""
        with folder_written_whole(path) as draft:
            for name, content in (("config", self.config), ("metrics", self.scores), ("environment", self.environment)):
                text = json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False)
                (draft / f"{name}.json").write_text(text + "\n", encoding="utf-8")
            self.history.to_csv(draft / "history.csv", index=False)
            np.save(draft / "probabilities.npy", self.probabilities, allow_pickle=False)
            spreadsheet = self.config["spreadsheet_safe"]
            digits = DIGITS if self.target.kind == "classes" else None  # numbers are rounded already
            write_csv(self.table, draft / "predictions.csv", spreadsheet=spreadsheet, digits=digits)
            for name, table in self.advice.items():
                write_csv(table, draft / name, spreadsheet=spreadsheet)
            if self.view is not None:
                self.view.save(draft / ("hierarchy.npz" if self.hierarchy else VIEW))
            if "python" in self.config["source"]:
                self.graph.to_npz(draft / GRAPH)
            if self.votes is not None:
                self.votes.save(draft / "votes.npz")
            if (at := self.coordinates) is not None:
                np.savez_compressed(draft / COORDINATES, values=at.values, degrees=at.degrees)
            numbered = enumerate(self.members)
            weights = {f"{k}.{name}": weight for k, member in numbered for name, weight in member.weights.items()}
            try:
                save_file(weights, draft / "model.safetensors")
            except SafetensorError as error:  # its way to say that the disk is full
                raise OSError(errno.EIO, f"{error!s:.100}") from error
            (draft / "model.safetensors").chmod((draft / "config.json").stat().st_mode)  # safetensors keeps others out
            write_manifest(draft, without=(DOUBTFUL, SUGGESTIONS))

    def at(self, path: Path) -> Self:
        """Return the run as it is in the folder that it was written to."""
        return replace(self, path=path, advice={}, page_hierarchy=self.view)

    def write_page(self) -> Path:
        """Write the page into the folder."""
        assert self.path is not None
        return write_text(self.path / "report.html", self.page())

    def page(self) -> str:
        """Return the page of the run as HTML."""
        from hiergcn.reports.run_page import render

        try:
            return render(self)
        except (KeyError, TypeError, IndexError, AttributeError) as damage:
            if self.path is None:
                raise
            raise InputError(f"The run folder {self.path} is damaged ({damage!s:.100}); run the fit again.") from damage

    def show(self, height: int = 900) -> "Page":
        """Return the page of the run: the last line of a cell shows it. `height` is in pixels."""
        page = Page(self.page())
        page.height = height
        return page

    def metrics(self) -> dict[str, Any]:
        """Return the figures as they stand in `metrics.json`; accuracies are fractions of 1."""
        return dict(self.scores)

    def predictions(self) -> pd.DataFrame:
        """Return a row for each node, by the user's own ids."""
        return self.table.copy()

    def __repr__(self) -> str:
        scored = f"test {score_text(self.test)}" if self.test else f"validation {score_text(self.validation)}"
        return f"Run({self.scores['dataset']!r}, {self.scores['model']!r}, {scored}, seeds={len(self.seeds)})"

    def _repr_html_(self) -> str:
        """Return the HTML for a notebook: scores, the choice, and a table of the methods."""
        facts: dict[str, object] = {"test": score_text(self.test)} if self.test else {}
        facts |= {"validation": score_text(self.validation), "seeds": len(self.seeds)}
        facts |= {"nodes": len(self.table), "training": f"{self.seconds['train']:.1f} s"}
        how = "automatic choice" if self.leaderboard is not None else self.settings.method
        board = self.leaderboard or Leaderboard(self.baselines or ())
        shown = sentence(self.verdict) if self.verdict else "", board._repr_html_() if board else ""
        return card(f"{self.scores['dataset']}: {how}", facts, *shown)

    # what the files say

    @property
    def name(self) -> str:
        """Name of the folder, of which the commands on its page speak."""
        return "run" if self.path is None else self.path.resolve().name

    @property
    def settings(self) -> Settings:
        """The settings of the first member."""
        return self.members[0].settings

    @property
    def seeds(self) -> tuple[int, ...]:
        return tuple(self.scores["seeds"])

    @cached_property
    def validation(self) -> PartReport:
        """Every metric on validation nodes, over the seeds."""
        return saved_reports(self.scores)["validation"] or PartReport()

    @cached_property
    def test(self) -> PartReport | None:
        """The same on test nodes; None if there are none."""
        return saved_reports(self.scores)["test"]

    @cached_property
    def leaderboard(self) -> Leaderboard | None:
        """Every candidate of the automatic choice, best on validation first; None if a method was named."""
        saved = self.scores["leaderboard"]
        return None if saved is None else Leaderboard(map(Row.from_dict, saved))

    @cached_property
    def baselines(self) -> tuple[Row, ...] | None:
        """What simpler methods give on the same split; None if they were not run."""
        saved = self.scores["baselines"]
        return None if saved is None else tuple(map(Row.from_dict, saved))

    @property
    def verdict(self) -> str | None:
        """What the automatic choice chose and why, in a sentence."""
        verdict: str | None = self.scores["verdict"]
        return verdict

    @property
    def reasons(self) -> dict[str, str]:
        """The reason for each setting that was chosen for the graph, by name."""
        return dict(self.config["reasons"])

    @property
    def notes(self) -> tuple[str, ...]:
        return tuple(self.scores["notes"])

    @property
    def seconds(self) -> dict[str, float]:
        """Of coarsening, of training, and of an epoch."""
        return dict(self.scores["seconds"])

    @property
    def interrupted(self) -> bool:
        return bool(self.scores["interrupted"])

    @cached_property
    def target(self) -> Target:
        """What is predicted, without the values of the graph."""
        saved = self.config["target"]
        if saved is None:
            return Classes(None, tuple(self.config["class_names"]))
        return Numbers(None, saved["name"], Scale(float(saved["mean"]), float(saved["spread"])))

    @property
    def roles(self) -> Roles | None:
        """The names of the columns that the graph was read by; None in folders of earlier versions."""
        return Roles.from_dict(self.config.get("roles"))

    @cached_property
    def columns(self) -> tuple[FeatureColumn, ...]:
        """The table columns that the features were made of."""
        return tuple(map(FeatureColumn.from_dict, self.config["columns"]))

    @cached_property
    def answers(self) -> Answers:
        """What turns outputs into predictions."""
        return Answers.from_metrics(self.target, self.scores)

    @cached_property
    def confidence(self) -> NDArray[Any]:
        """Calibrated probabilities, (n, classes)."""
        return self.answers.confidence(self.probabilities)

    @property
    def predicted(self) -> NDArray[Any]:
        """The class of each node, or its number; (n,)."""
        return self.target.hard_predictions(self.probabilities)

    @cached_property
    def split(self) -> Split:
        """The nodes that trained, validated, tested and calibrated."""
        return Split(*(np.flatnonzero(self.table["split"] == part) for part in ALL_PARTS))

    @cached_property
    def model(self) -> "Model":
        """The answer as a model, to predict and explain with."""
        from hiergcn.run.predict import Model

        return Model(self)

    # what is read from the folder, or made, only if it is needed

    @cached_property
    def graph(self) -> Graph:
        """The graph, if it was fitted in this process or the folder holds it."""
        if self.fitted_graph is None and self.graph_file is None:
            raise InputError(f"{self.path} does not hold the graph; read it from where it came.")
        return self.fitted_graph or replace(Graph.from_npz(self.graph_file), roles=self.roles)  # type: ignore[arg-type]

    @property
    def graph_file(self) -> Path | None:
        """The file of the graph; None if the folder has none."""
        return self.path / GRAPH if self.path and (self.path / GRAPH).is_file() else None

    @cached_property
    def view(self) -> Hierarchy | None:
        """A hierarchy to look at the graph by: that of the model, or one that was made for the page alone."""
        given = self.hierarchy or self.page_hierarchy
        if given is None and self.path is not None and (file := self.path / VIEW).exists():
            return Hierarchy.load(file)
        if given is None and self.fitted_graph is not None:
            return coarsen(self.fitted_graph.adjacency, VIEW_LEVELS)
        return given

    @cached_property
    def environment(self) -> Mapping[str, Any]:
        """Versions and hardware."""
        return environment() if self.path is None else _read_json(self.path / "environment.json")

    @cached_property
    def doubtful(self) -> pd.DataFrame | None:
        """Labels to doubt, the most doubtful first, as in `doubtful_labels.csv`; None if labels were not judged."""
        return self._advice(DOUBTFUL)

    @cached_property
    def suggestions(self) -> pd.DataFrame | None:
        """Nodes to label next, as in `suggestions.csv`; None if none were looked for or all nodes have a label."""
        return self._advice(SUGGESTIONS)

    def _advice(self, name: str) -> pd.DataFrame | None:
        """Return a table for people, which they may have changed, with all columns as text; None if there is none."""
        if self.path is None or name in self.advice:
            return self.advice.get(name)
        if not (path := self.path / name).is_file():
            return None
        try:
            table = pd.read_csv(path, dtype=str, keep_default_na=False)
        except ValueError as error:
            raise InputError(f"{path} is not a table ({error!s:.90}); delete it or fit again.") from None
        return unescaped(table) if self.config["spreadsheet_safe"] else table


def _members(config: Mapping[str, Any], weights: dict[str, Tensor]) -> tuple[Member, ...]:
    """Return the networks of the answer.

    Weights must be numbers, but for the `known` numbers of label propagation, which are NaN at unlabelled nodes.
    """
    if not all(value.isfinite().all() for name, value in weights.items() if not name.endswith("known")):
        raise ValueError("model.safetensors holds weights that are not numbers")
    of_member: dict[str, dict[str, Tensor]] = {str(number): {} for number in range(len(config["members"]))}
    for name, value in weights.items():
        number, _, inner = name.partition(".")
        if number not in of_member:
            raise ValueError(f"model.safetensors holds {name!r:.40}, of a network that config.json does not name")
        of_member[number][inner] = value
    return tuple(
        Member(Settings.from_dict(saved), saved["seed"], tensors, saved["share"], saved["turn"], saved["temperature"])
        for saved, tensors in zip(config["members"], of_member.values(), strict=True)
    )


def _read_table(path: Path, types: Mapping[str, type], *numbers: str) -> pd.DataFrame:
    """Read a table. Blanks are text, but NaN in columns of `numbers`, such as losses."""
    blank = {name: ["", "nan"] for name in numbers}
    return pd.read_csv(path, dtype=dict(types), keep_default_na=False, na_values=blank)


def _read_coordinates(path: Path) -> Coordinates:
    with np.load(path, allow_pickle=False) as saved:
        return Coordinates(saved["values"], bool(saved["degrees"]))


def _read_json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        raise InputError(f"{path}, line {error.lineno} is not valid JSON; run the fit again.") from None
    if not isinstance(content, dict):
        raise InputError(f"{path} does not hold a JSON object; run the fit again.")
    return content


class Page(str):
    """The HTML of a page, which the cell of a notebook shows."""

    height = 900

    def _repr_html_(self) -> str:
        look = f'style="width: 100%; height: {self.height}px; border: 0" allow="fullscreen"'
        return f'<iframe srcdoc="{escape(self)}" {look}></iframe>'

    def __repr__(self) -> str:
        return f"Page({len(self):,} letters; a notebook shows it, save(path) writes it)"

    def save(self, path: str | Path) -> None:
        """Write the page as a file."""
        write_text(path, self)
