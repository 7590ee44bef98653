"""Keep the figures of runs under docs/results/ and make the tables from them.

python scripts/results.py add runs/cora runs/citeseer    # a JSON file for each run: settings, figures, machine, commit
python scripts/results.py table                          # docs/results/README.md, from all of them
"""

import argparse
import json
import re
import shlex
from itertools import pairwise
from pathlib import Path
from typing import Any

from hiergcn.evaluate.paired import TEST, compare_all

HERE = Path(__file__).resolve().parents[1] / "docs" / "results"
ORDER = ("cora", "citeseer", "pubmed", "nell")
AGAINST = "gcn"
BESIDE_THE_PAPER = ("hgcn (reference)", "hgcn-plus (plus)")
SEEDS = 20  # of a run unless it says otherwise
BEGIN, END = "<!-- results: python scripts/results.py table -->", "<!-- end of results -->"


def add(folder: Path) -> Path:
    """One file for a run, named by dataset, method, preset and changes; a run of the same name is replaced."""
    parts = {name: json.loads((folder / f"{name}.json").read_text()) for name in ("config", "metrics", "environment")}
    parts["config"].pop("class_names", None)
    source = parts["config"]["source"]
    source["command"] = re.sub(r" --out \S+", "", source.get("command", ""))  # where it was kept says nothing
    name = "-".join(
        [parts["metrics"]["dataset"], parts["config"]["method"], parts["config"]["preset"], *changes(parts)]
    )
    target = HERE / "runs" / f"{name}.json"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps(parts, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return target


def rows() -> list[dict[str, Any]]:
    found = [json.loads(path.read_text()) for path in sorted((HERE / "runs").glob("*.json"))]
    return sorted(found, key=lambda run: (place(run["metrics"]["dataset"]), -run["metrics"]["test_accuracy"]["mean"]))


def place(dataset: str) -> tuple[int, str]:
    return (ORDER.index(dataset) if dataset in ORDER else len(ORDER), dataset)


def per_cent(value: float | None, sign: bool = False) -> str:
    return "–" if value is None else f"{100 * value:{'+' if sign else ''}.1f}"


def changes(run: dict[str, Any]) -> list[str]:
    """The settings that the command changed, as `name=value`."""
    words = shlex.split(run["config"]["source"].get("command", ""))
    return [value for word, value in pairwise(words) if word == "--set"]


def name_of(run: dict[str, Any]) -> str:
    metrics = run["metrics"]
    about = [name for name in (metrics["preset"],) if name != "default"] + changes(run)
    return f"{metrics['model']} ({', '.join(about)})" if about else str(metrics["model"])


def figures() -> list[str]:
    lines = [
        "| dataset | model | test | seeds (failed) | published | difference | validation |",
        "|---|---|---|---|---|---|---|",
    ]
    for run in rows():
        metrics = run["metrics"]
        test, val, claim = metrics["test_accuracy"], metrics["val_accuracy"], metrics["claim"]
        gap = None if claim is None else test["mean"] - claim
        lines.append(
            f"| {metrics['dataset']} | {name_of(run)} | {per_cent(test['mean'])} ± {per_cent(test['std'])} "
            f"| {len(metrics['seeds'])} ({len(metrics['failed_seeds'])}) "
            f"| {per_cent(claim)} | {per_cent(gap, sign=True)} | {per_cent(val['mean'])} |"
        )
    return lines


def differences() -> list[str]:
    """Every method against GCN over the seeds that both have run."""
    lines = ["| dataset | model | minus gcn | 95 % interval | p (Holm) | seeds |", "|---|---|---|---|---|---|"]
    for dataset in sorted({run["metrics"]["dataset"] for run in rows()}, key=place):
        scores = {
            name_of(run): {
                (0, seed): value
                for seed, value in zip(
                    run["metrics"]["seeds"], run["metrics"]["test_accuracy"]["per_seed"], strict=True
                )
            }
            for run in rows()
            if run["metrics"]["dataset"] == dataset
        }
        for one in compare_all(scores, AGAINST) if AGAINST in scores else ():
            p = "–" if one.p_holm is None else f"{one.p_holm:.2g}"
            interval = f"{per_cent(one.low, sign=True)} to {per_cent(one.high, sign=True)}"
            lines.append(
                f"| {dataset} | {one.model} | {per_cent(one.mean, sign=True)} | {interval} | {p} | {one.units} |"
            )
    return lines


def commands() -> list[str]:
    lines = ["| dataset | model | command | processor | commit |", "|---|---|---|---|---|"]
    for run in rows():
        metrics, machine = run["metrics"], run["environment"]
        processor = machine["gpu"] if metrics["device"].startswith("cuda") else machine["processor"]
        lines.append(
            f"| {metrics['dataset']} | {name_of(run)} | `{run['config']['source'].get('command', '')}` "
            f"| {processor} | {(machine['commit'] or '')[:10]} |"
        )
    return lines


def overview() -> list[str]:
    """The README's table of what is not in the paper: the authors' settings, and H-GCN+."""
    by_cell = {(name_of(run), run["metrics"]["dataset"]): run["metrics"] for run in rows()}
    names = sorted({name for name, _ in by_cell if name in BESIDE_THE_PAPER})
    lines = ["| accuracy in % | Cora | Citeseer | Pubmed | NELL |", "|---|---|---|---|---|"]
    for name in names:
        cells = []
        for dataset in ORDER:
            metrics = by_cell.get((name, dataset))
            if metrics is None:
                cells.append("")
                continue
            test = metrics["test_accuracy"]
            few = "" if len(metrics["seeds"]) == SEEDS else f", {len(metrics['seeds'])} seeds"
            cells.append(f"{per_cent(test['mean'])} ± {per_cent(test['std'])}{few}")
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return lines


def fill_readme() -> None:
    """Put the overview between its marks."""
    path = HERE.parents[1] / "README.md"
    before, rest = path.read_text(encoding="utf-8").split(BEGIN)
    after = rest.split(END)[1]
    path.write_text("\n".join([before + BEGIN, *overview(), END + after]), encoding="utf-8")


def page() -> str:
    parts = [
        "# Results",
        "",
        "Accuracy in per cent on the public splits, mean ± sample standard deviation over seeds, selected on",
        "validation alone. `published` is what the method's source claims. A failed seed is one that diverged; it is",
        "counted here and has no accuracy. Made by `python scripts/results.py table` from the files in `runs/`, which",
        "hold every seed, the settings and the machine. Where there are fewer than 20 seeds, time or memory ended the",
        "run. What stands behind a gap is in [notes.md](notes.md); random splits, few labels and the tests against the",
        "paper are in [paper](paper/README.md), those of H-GCN+, and more of GRAND, in [plus](plus/README.md).",
        "",
        *figures(),
        "",
        f"## Against {AGAINST}, seed by seed",
        "",
        f"{TEST}; Holm's correction within a dataset.",
        "",
        *differences(),
        "",
        "## Commands",
        "",
        *commands(),
    ]
    return "\n".join(parts) + "\n"


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    what = words.add_subparsers(dest="what", required=True)
    what.add_parser("add").add_argument("runs", nargs="+", type=Path)
    what.add_parser("table")
    given = words.parse_args()
    if given.what == "add":
        for folder in given.runs:
            print(add(folder))
    (HERE / "README.md").write_text(page(), encoding="utf-8")
    fill_readme()
    print(HERE / "README.md")


if __name__ == "__main__":
    main()
