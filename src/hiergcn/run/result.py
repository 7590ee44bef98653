"""What a run gave, as one immutable value."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from hiergcn.choose.adapt import AUTO
from hiergcn.choose.portfolio import candidate_title
from hiergcn.coarsen import Hierarchy, coarsen
from hiergcn.evaluate.metrics import METRICS, PartReport, metrics_for, result_key
from hiergcn.evaluate.report import Answers, ClassReport, Report, SetReport
from hiergcn.explain.votes import Votes
from hiergcn.fragments import card, sentence, table
from hiergcn.graph import Graph, Split
from hiergcn.graph.order import canonical_order
from hiergcn.graph.split import ALL_PARTS
from hiergcn.run.predict import Answer, Member, SavedModel
from hiergcn.train.loop import SeedOutcome
from hiergcn.train.seeds import turn_of

VIEW_LEVELS = 4
"""Levels of a hierarchy that is made for the page alone."""
NUMBER_SELECTION = "epoch of lowest squared error on validation"


@dataclass(frozen=True)
class Candidate:
    """The scores of a method on the split, or the reason why there are none."""

    name: str
    """The method and how it differs from its usual settings, such as `gcn+harmonic`."""
    model: str
    seeds: int = 0
    validation: PartReport | None = None
    test: PartReport | None = None
    seconds: float | None = None
    left_out: str | None = None
    weight: float = 0.0
    """Its weight in the answer."""

    def to_dict(self) -> dict[str, Any]:
        def scores(report: PartReport | None) -> dict[str, Any]:
            return {
                name: None if report is None else report[name].to_dict()
                for name in self.validation or metrics_for("classes")
            }

        return vars(self) | {"test": scores(self.test), "validation": scores(self.validation)}


class Leaderboard(tuple[Candidate, ...]):
    """Candidates, best on validation first; a notebook shows them as a table."""

    def __repr__(self) -> str:
        done = [f"{one.name} {score_text(one.validation)}" for one in self if one.validation is not None]
        return f"Leaderboard({', '.join(done)}; {len(self) - len(done)} gave no result)"

    def _repr_html_(self) -> str:
        done = [one for one in self if one.validation is not None]
        tested = any(one.test is not None for one in done)
        rows = [
            (
                candidate_title(one.name, one.model),
                score_text(one.validation),
                *([score_text(one.test)] if tested else []),
                f"{100 * one.weight:.0f} %" if one.weight else "",
                one.seeds,
                "" if one.seconds is None else f"{one.seconds:.1f} s",
            )
            for one in done
        ]
        columns = ("candidate", "validation", *(["test"] if tested else []), "weight", "seeds", "time")
        shares = [(one.test or one.validation or {}).main.mean for one in done]  # type: ignore[union-attr]
        more = len(self) - len(done)
        return table(columns, rows, shares) + (sentence(f"{more} more gave no result.") if more else "")


def score_text(report: PartReport | None) -> str:
    """Return the main score of a part as people read it: an accuracy in per cent, or R²."""
    if report is None or report.main.mean is None:
        return ""
    name, value = next(iter(report)), report.main.mean
    return f"{100 * value:.1f} %" if METRICS[name].kind == "classes" else f"R² {value:.3f}"


@dataclass(frozen=True, eq=False, repr=False)
class RunResult(Answer):
    """A finished run: the scores of every seed, and the predictions, their weighted mean."""

    graph: Graph
    split: Split
    hierarchy: Hierarchy | None
    members: tuple[Member, ...]
    """The networks of the answer, that with the largest share first."""
    outcomes: tuple[SeedOutcome, ...]  # without arrays; of the first member's method
    validation: PartReport
    test: PartReport | None
    report: Report
    """The scores of the answer."""
    probabilities: np.ndarray  # (n, classes) of the answer, or its numbers, (n, 1)
    history: pd.DataFrame  # seed, epoch, losses and accuracies
    seconds: dict[str, float]  # coarsen, train, epoch
    device: str
    notes: tuple[str, ...] = ()
    interrupted: bool = False
    claim: float | None = None
    """Accuracy that the paper claims on this dataset."""
    baselines: tuple[Candidate, ...] | None = None
    """What simpler methods give on the same split; None if they were not run."""
    leaderboard: Leaderboard | None = None
    """Every candidate of the automatic choice, best on validation first; None if a method was named."""
    verdict: str | None = None
    """What the automatic choice chose and why, in a sentence."""
    reasons: Mapping[str, str] = field(default_factory=dict)
    """The reason for each setting that was chosen for the graph, by name."""
    doubtful: pd.DataFrame | None = None
    """Labels to doubt, the most doubtful first, as in `doubtful_labels.csv`; None if labels were not judged."""
    suggestions: pd.DataFrame | None = None
    """Nodes to label next, as in `suggestions.csv`; None if none were looked for or all nodes have a label."""
    turns: int = 1
    """Number of turns in which training and validation labels were left out of training; see `seeds`."""
    votes: Votes | None = None
    """The votes behind the predictions, by the first member, if its output layer can be decomposed."""

    def __repr__(self) -> str:
        method = self.settings.method if self.leaderboard is None else AUTO
        part, score = ("test", self.test) if self.test else ("validation", self.validation)
        scored = f"{part} {score_text(score)}"
        return f"{type(self).__name__}({self.graph.name!r}, {method!r}, {scored}, seeds={len(self.seeds)})"

    def _repr_html_(self) -> str:
        """Return the HTML for a notebook: scores, the choice, and a table of the methods."""
        facts: dict[str, object] = {"test": score_text(self.test)} if self.test else {}
        facts |= {"validation": score_text(self.validation), "seeds": len(self.seeds)}
        facts |= {"nodes": self.graph.n_nodes, "training": f"{self.seconds['train']:.1f} s"}
        title = f"{self.graph.name}: {self.settings.method if self.leaderboard is None else 'automatic choice'}"
        parts = [sentence(self.verdict)] if self.verdict else []
        board = self.leaderboard or (Leaderboard(self.baselines) if self.baselines else None)
        return card(title, facts, *parts, *([board._repr_html_()] if board else []))

    @cached_property
    def view(self) -> Hierarchy:
        """A hierarchy to look at the graph by: that of the model, or one made for the page alone."""
        return self.hierarchy or coarsen(self.graph.adjacency, VIEW_LEVELS)

    @property
    def selected_seed(self) -> int:
        """The seed of the first member: of its method, the best on validation."""
        return self.members[0].seed

    @property
    def model(self) -> SavedModel:
        """The answer as a model."""
        graph, train, turn = self.graph, self.split.train, None
        if self.turns > 1:
            train, turn = turn_of(self.split, graph.truth, self.turns, canonical_order(graph.ids))
        return SavedModel(
            self.members,
            graph.n_features,
            graph.class_names,
            None if self.hierarchy is None else self.hierarchy.reordered(canonical_order(graph.ids)),
            graph.columns,
            graph.ids.astype(str),
            train,
            graph.truth[train],
            turn,
            graph.target.for_training(train).scale,
        )

    def reordered(self, order: np.ndarray) -> "RunResult":
        """Return the same run with the nodes of its graph in another order."""
        return replace(
            self,
            graph=self.graph.reordered(order),
            split=self.split.reordered(order),
            hierarchy=None if self.hierarchy is None else self.hierarchy.reordered(order),
            probabilities=self.probabilities[order],
            votes=None if self.votes is None else self.votes.reordered(order),
        )

    @property
    def delivered(self) -> ClassReport:
        """The scores of an answer of classes: accuracy, scores of each class, calibration."""
        assert isinstance(self.report, ClassReport), "the run predicts numbers"
        return self.report

    @property
    def answers(self) -> Answers:
        """What turns outputs into predictions."""
        return self.report.answers

    @property
    def sets(self) -> SetReport | None:
        """Prediction sets, if a coverage was asked for."""
        return self.report.sets if isinstance(self.report, ClassReport) else None

    @property
    def seeds(self) -> tuple[int, ...]:
        return tuple(outcome.seed for outcome in self.outcomes)

    @property
    def failed_seeds(self) -> tuple[int, ...]:
        return tuple(outcome.seed for outcome in self.outcomes if outcome.failure)

    @property
    def selection_rule(self) -> str:
        """The rule by which validation selects the epoch, in words."""
        learner = next((one for one in self.members if one.uses_features), self.members[0])
        return learner.settings.train.selection_rule if self.graph.targets is None else NUMBER_SELECTION

    @property
    def predicted(self) -> np.ndarray:
        """Class of each node, or its number; (n,)."""
        return self.graph.target.hard_predictions(self.probabilities)

    def metrics(self) -> dict[str, Any]:
        """The figures as they stand in `metrics.json`; accuracies are fractions of 1."""
        nodes, edges = self.hierarchy.sizes() if self.hierarchy else ((self.graph.n_nodes,), (self.graph.n_edges,))
        test = self.test
        return {
            "model": self.settings.method if self.leaderboard is None else AUTO,
            "preset": self.settings.preset,
            "dataset": self.graph.name,
            "seeds": list(self.seeds),
            "failed_seeds": {str(outcome.seed): outcome.failure for outcome in self.outcomes if outcome.failure},
            **({"target": self.graph.target_name} if self.graph.target.kind == "numbers" else {}),
            **{result_key(name): test[name].to_dict() if test else None for name in self.validation},
            **{f"val_{name}": summary.to_dict() for name, summary in self.validation.items()},
            **self.report.metrics(),
            "doubtful_labels": None if self.doubtful is None else len(self.doubtful),
            "baselines": None if self.baselines is None else [one.to_dict() for one in self.baselines],
            "leaderboard": None if self.leaderboard is None else [one.to_dict() for one in self.leaderboard],
            "verdict": self.verdict,
            "claim": self.claim,
            "best_epoch": [outcome.best_epoch for outcome in self.outcomes],
            "epochs": len(self.history),
            "turns": self.turns,
            "selected_seed": self.selected_seed,
            "selection": self.selection_rule,
            "hierarchy": {"nodes": [int(n) for n in nodes], "edges": [int(e) for e in edges]},
            "split": {
                "train": len(self.split.train),
                "val": len(self.split.validation),
                "test": len(self.split.test),
                "calibration": len(self.split.calibration),
            },
            "seconds": self.seconds,
            "device": self.device,
            "interrupted": self.interrupted,
            "notes": list(self.notes),
            "reading": list(self.graph.notes),
        }

    def predictions(self) -> pd.DataFrame:
        """A row for each node, by the user's own ids."""
        graph, part = self.graph, np.full(self.graph.n_nodes, "", dtype=object)
        for name in ALL_PARTS:
            part[getattr(self.split, name)] = name
        return pd.DataFrame(
            {
                "id": graph.ids,
                **self.answers.columns(self.probabilities),
                "given": np.isin(part, ("train", "validation")),
                **graph.target.column(),
                "split": part,
            }
        )
