"""The page of a run: correct figures, safe with any name, one file."""

import base64
import hashlib
import json
import re
import shutil
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from hiergcn.datasets import planted_graph
from hiergcn.evaluate.calibration import describe_calibration
from hiergcn.evaluate.metrics import metrics_for, result_key
from hiergcn.graph import Graph, Split
from hiergcn.reports.classes import class_order
from hiergcn.reports.figures import curves_figure, reliability_figure
from hiergcn.reports.panels import Figure
from hiergcn.run.fit import fit
from hiergcn.run.out_folder import write_manifest
from hiergcn.run.run import Run
from hiergcn.settings.settings import settings_for

HOSTILE = ("<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "$\\frac{", "日本 & {{ 7*7 }}")


@pytest.fixture(scope="module")
def result() -> Run:
    """Return a run whose dataset and class names would be harmful if they were not escaped."""
    planted = planted_graph(160, classes=4, depth=1, noise=1.0, seed=3)
    graph = Graph(planted.adjacency, planted.features, planted.labels, None, HOSTILE, "<i>mine</i>")  # type: ignore[arg-type]
    split = Split.holdout(graph.truth, validation=0.2, test=0.4)
    settings = settings_for("hgcn", "paper").override({"epochs": 6, "hidden": 8, "levels": 2})
    run = fit(graph, split, settings, range(3), device="cpu")
    return replace(run, scores={**run.scores, "claim": 0.9})


@pytest.fixture(scope="module")
def finished(result: Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "run"
    result.from_source({"command": "hiergcn fit '<b>edges</b>.csv' --seeds 3"}).write(path)
    return path


@pytest.fixture
def run(finished: Path, tmp_path: Path) -> Path:
    return shutil.copytree(finished, tmp_path / "run")


class Page(HTMLParser):
    """Elements with their attributes, the text outside <style> and <script>, and the scripts."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.scripts: list[str] = []
        self._inside = ""
        self.feed(html)
        self.text = " ".join(self.text.split())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self._inside = tag

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside == "script":
            self.scripts.append(data)
        elif self._inside != "style":
            self.text += data + " "


def page_of(run: Path) -> Page:
    """Return the page of a folder whose files a test may have changed."""
    (run / "report.html").unlink(missing_ok=True)
    write_manifest(run)
    return Page(Run.load(run).write_page().read_text(encoding="utf-8"))


def change(run: Path, **values: Any) -> dict[str, Any]:
    path = run / "metrics.json"
    metrics: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps(metrics | values), encoding="utf-8")
    return metrics


def test_the_headline_comes_first(run: Path) -> None:
    metrics = change(run)
    text = page_of(run).text
    mean, std = (100 * metrics["test_accuracy"][key] for key in ("mean", "std"))
    headline = f"{mean:.1f} ± {std:.1f} %"
    assert text.index(headline, text.index("preset paper")) < text.index("What to do next") < text.index("Explore the")
    assert f"Test accuracy on {metrics['split']['test']} nodes, mean ± standard deviation over 3 seeds." in text
    assert f"The paper reports 90.0 %; this run is {90 - mean:.1f} points lower." in text


def test_every_metric_is_shown_for_test_and_validation(run: Path) -> None:
    metrics = change(run)
    text = page_of(run).text
    for name, metric in metrics_for("classes").items():
        columns = (metrics[result_key(name)], metrics[f"val_{name}"])
        cells = " ".join(f"{100 * one['mean']:.1f} ± {100 * one['std']:.1f}" for one in columns)
        assert f"{metric.title} {cells}" in text


def test_hostile_names_stay_text_and_only_our_own_script_may_run(run: Path) -> None:
    page = page_of(run)
    assert not {"img", "i", "b", "iframe"} & {tag for tag, _ in page.elements}
    kinds = [attributes.get("type") for tag, attributes in page.elements if tag == "script"]
    assert kinds == ["application/json", "text/plain", "text/plain", None]  # data, and our own script
    assert json.loads(page.scripts[0])["classes"] == list(HOSTILE)
    assert not [attributes for _, attributes in page.elements if any(name.startswith("on") for name in attributes)]
    for name in (*HOSTILE, "<i>mine</i>", "hiergcn fit '<b>edges</b>.csv' --seeds 3"):
        assert name in page.text
    policy = next(attributes["content"] for tag, attributes in page.elements if "http-equiv" in attributes)
    digest = base64.b64encode(hashlib.sha256(page.scripts[-1].encode()).digest()).decode()
    assert policy == f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-{digest}'"


def test_the_page_refers_to_nothing_outside_and_follows_the_theme(run: Path) -> None:
    html = Run.load(run).write_page().read_text(encoding="utf-8")
    assert not re.findall(r"https?://[^\s\"'<)]+", html)
    for _, attributes in Page(html).elements:
        for name in ("src", "href", "xlink:href"):
            assert (attributes.get(name) or "#").startswith(("#", "data:"))
    assert "prefers-color-scheme: dark" in html
    main = html[html.index("<main") : html.index("</main>")]
    assert not re.findall(r'(?:fill|stroke|background)[=:]"? ?#[0-9a-f]{6}', main)
    assert "var(--blue)" in main


def test_figures_have_text_alternatives_and_links_lead_somewhere(run: Path) -> None:
    page = page_of(run)
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    named = [attributes["aria-label"] for _, attributes in page.elements if attributes.get("role") == "img"]
    assert len(named) == len(set(named)) >= 6  # two curves, calibration, the map of classes, some levels
    for word in ("epoch", "mean confidence, %", "Mean cross-entropy"):
        assert word in page.text  # text of charts is text, not outlines
    assert set(re.findall(r'href="#([^"]+)"', (run / "report.html").read_text(encoding="utf-8"))) <= set(ids)
    links = [attributes.get("data-show") for tag, attributes in page.elements if tag == "a"]
    assert {"label=0&only=judged", "arrange=prediction"} <= set(links)
    assert any(link and link.startswith("label=0&predicted=") for link in links)


def test_class_scores_match_the_predictions(run: Path) -> None:
    table = pd.read_csv(run / "predictions.csv", dtype=str, keep_default_na=False)
    test = table[table["split"] == "test"]
    text = page_of(run).text
    for name in HOSTILE:
        hits = ((test["label"] == name) & (test["predicted"] == name)).sum()
        predicted, true = (test["predicted"] == name).sum(), (test["label"] == name).sum()
        precision = 100 * hits / predicted if predicted else 0.0
        f1 = 200 * hits / (predicted + true)
        trained = ((table["label"] == name) & (table["split"] == "train")).sum()
        assert f"{name} {precision:.1f} {100 * hits / true:.1f} {f1:.1f} {true} {trained}" in text
    right = int((test["label"] == test["predicted"]).sum())
    assert f"{right} of {len(test)} test nodes are correct" in text


def test_a_class_without_a_test_node_has_no_score(run: Path) -> None:
    scores = change(run)["per_class"]
    first = scores["classes"][0] | {"support": 0, "precision": 0.0, "recall": 0.0, "f1": 0.0}
    change(run, per_class=scores | {"classes": [first, *scores["classes"][1:]]})
    assert f"{first['name']} – – – 0" in page_of(run).text


def test_classes_named_by_numbers_are_in_their_order() -> None:
    named = [{"name": name, "support": support} for name, support in (("10", 5), ("9", 7), ("-1.5", 1))]
    assert class_order(named) == [2, 1, 0]
    assert class_order([*named, {"name": "rest", "support": 6}]) == [1, 3, 0, 2]  # else the largest first


def test_warnings_are_shown(run: Path) -> None:
    metrics = change(run)
    accuracies = [None, *metrics["test_accuracy"]["per_seed"][1:]]
    change(
        run,
        failed_seeds={"0": "diverged at epoch 3"},
        test_accuracy=metrics["test_accuracy"] | {"per_seed": accuracies},
        interrupted=True,
        notes=["self-loops dropped: 3"],
    )
    text = page_of(run).text
    assert "1 of 3 seeds failed and are not in the mean: seed 0 diverged at epoch 3." in text
    assert "over 2 seeds" in text
    assert "The run was stopped early: the answer is that of what was finished by then." in text
    assert "Self-loops dropped: 3." in text


@pytest.mark.parametrize(("temperature", "curves"), [(1.0, 1), (0.5, 2)])
def test_one_sentence_tells_of_calibration(run: Path, temperature: float, curves: int) -> None:
    found = change(run)["calibration"] | {"temperature": temperature, "note": None, "ece_before": 0.3, "ece_after": 0.1}
    change(run, calibration=found)
    text = page_of(run).text
    assert text.count("calibrated") == 1
    assert describe_calibration(found) in text
    assert len(reliability_figure(found).legend) == curves


def test_without_test_labels_the_headline_is_validation_accuracy(run: Path) -> None:
    metrics = change(run)
    per_class = metrics["per_class"] | {"on": "validation"}
    change(run, test_accuracy=None, macro_f1=None, balanced_accuracy=None, per_class=per_class)
    predictions = (run / "predictions.csv").read_text(encoding="utf-8")
    (run / "predictions.csv").write_text(re.sub(r",test$", ",", predictions, flags=re.MULTILINE), encoding="utf-8")
    text = page_of(run).text
    assert "Validation accuracy on" in text
    assert "validation nodes are correct" in text
    assert "The paper reports" not in text


def test_a_result_in_memory_gives_the_page_of_its_folder(
    result: Run, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved = Run.load(run)
    from_folder = saved.write_page().read_text(encoding="utf-8")

    def refuse(*_: Any) -> None:
        raise AssertionError("the hierarchy is at hand and must not be made again")

    monkeypatch.setattr("hiergcn.coarsening.hierarchy.Hierarchy.load", refuse)
    from_memory = result.from_source(saved.config["source"]).at(run).write_page().read_text(encoding="utf-8")
    assert from_memory == from_folder
    assert not [path for path in run.iterdir() if path.name.startswith(".")]


def test_baselines_are_beside_the_headline(run: Path) -> None:
    accuracy = {"accuracy": {"mean": 0.712, "std": 0.017, "per_seed": [0.7, 0.724]}}
    mlp = {"name": "mlp", "model": "mlp", "seeds": 2, "seconds": 1.0, "left_out": None}
    nothing = {"accuracy": None}
    gcn = {"name": "gcn", "model": "gcn", "left_out": "too large", "test": nothing, "validation": nothing}
    change(run, baselines=[mlp | {"test": accuracy, "validation": accuracy}, gcn])
    text = page_of(run).text
    assert "71.2 ± 1.7 71.2 2 1.0 s" in text
    assert "GCN: too large" in text


def test_without_a_hierarchy_the_page_has_no_explorer(run: Path) -> None:
    (run / "hierarchy.npz").unlink()
    page = page_of(run)
    assert "explorer" not in [attributes.get("id") for _, attributes in page.elements]
    assert not [attributes for _, attributes in page.elements if "data-show" in attributes]
    assert len(page.scripts) == 1
    assert "Confidence" in page.text


@pytest.mark.parametrize("loss", ["sum", "mean"])
def test_the_training_loss_is_per_node_and_network(loss: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Untrained networks give four classes equal probabilities, so the loss is log 4."""
    planted = planted_graph(60, classes=4, seed=3)
    changes = {"epochs": 2, "hidden": 8, "levels": 1, "networks": 3, "loss": loss}
    settings = settings_for("hgcn", "paper").override(changes)
    fit(planted, Split.holdout(planted.truth), settings, [0], device="cpu").write(tmp_path / "run")
    drawn = []

    def recorded(history: pd.DataFrame, seed: int, best_epoch: int | None, loss_terms: int, *, numbers: bool) -> Figure:
        drawn.append(history["train_loss"] / loss_terms)
        return curves_figure(history, seed, best_epoch, loss_terms, numbers=numbers)

    monkeypatch.setattr("hiergcn.reports.figures.curves_figure", recorded)
    Run.load(tmp_path / "run").write_page()
    assert float(drawn[0].iloc[0]) == pytest.approx(np.log(4), rel=0.1)
