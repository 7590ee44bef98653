"""How long does `hiergcn` take from the shell, on a fresh machine and later?

    python benchmarks/first_use.py                    # about four minutes on 2 quiet cores
    python benchmarks/first_use.py --beside FOLDER    # also the sources of another commit, in FOLDER
    python benchmarks/first_use.py --quick            # once each, without Cora; writes nothing

A graph of 300 nodes with ten features and 120 labels is fitted from the shell, without options. `fresh` has an empty
cache of machine code and a copy of the package without byte code, as after an installation; `later` is the second run
of the same copy, followed by help, an import and a wrong column. `import torch` alone is the floor. The runs take
turns. CPU time depends less on other load than seconds do; the time limit of the automatic choice, `--time-limit`, is
part of both. Cora as a user's own files, with labels for the nodes of its public split, is fitted once.
"""

import argparse
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import hiergcn
from harness import environment, provenance, write_result, write_table

NODES, FEATURES, CLASSES, LABELLED = 300, 10, 3, 0.4
REPEATS = 3
CORA = "Cora as own files"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--beside", type=Path, help="folder that holds the package of another commit")
    parser.add_argument("--repeats", type=int, default=REPEATS)
    parser.add_argument("--quick", action="store_true", help="once each, without Cora; write nothing")
    arguments = parser.parse_args()
    result: dict[str, Any] = {"environment": environment(["hiergcn", "torch", "numpy", "scipy", "numba", "pandas"])}
    sources = {"this commit": Path(hiergcn.__file__).parents[1]}
    if arguments.beside:
        sources["beside"] = arguments.beside
    runs: dict[str, list[dict[str, float]]] = {}
    for _ in range(1 if arguments.quick else arguments.repeats):
        with tempfile.TemporaryDirectory() as folder:
            for case, figures in one_round(Path(folder), sources):
                print(case, figures, flush=True)
                runs.setdefault(case, []).append(figures)
    if not arguments.quick:
        with tempfile.TemporaryDirectory() as folder:
            runs[CORA] = [fit_of_cora(Path(folder))]
    result["cases"] = {
        case: {name: statistics.median(run[name] for run in all_runs) for name in ("seconds", "cpu_seconds")}
        | {"every_run": all_runs}
        for case, all_runs in runs.items()
    }
    if not arguments.quick:
        print(write_result("first_use", result))
        write_table("first_use", table(result))


def one_round(folder: Path, sources: dict[str, Path]) -> list[tuple[str, dict[str, float]]]:
    """Run every case once, in new folders."""
    write_graph(folder)
    found = [("import torch", measured(["-c", "import torch"], dict(os.environ)))]
    for name, source in sources.items():
        home = folder / name.replace(" ", "-")
        shutil.copytree(source / "hiergcn", home / "hiergcn", ignore=shutil.ignore_patterns("__pycache__"))
        space = user_space(home, home / "numba")
        fit = ["-m", "hiergcn", "fit", str(folder / "edges.csv"), str(folder / "nodes.csv"), "--out"]
        found += [
            (f"{name}, fresh", measured([*fit, str(home / "fresh")], space)),
            (f"{name}, later", measured([*fit, str(home / "later")], space)),
            (f"{name}, --help", measured(["-m", "hiergcn", "--help"], space)),
            (f"{name}, import hiergcn", measured(["-c", "import hiergcn"], space)),
            (f"{name}, wrong column", measured([*fit, str(home / "wrong"), "--label", "topik"], space, code=2)),
        ]
    return found


def user_space(package: Path, cache: Path) -> dict[str, str]:
    """Return the environment of a user whose Python keeps byte code, with a cache of machine code of its own."""
    space = os.environ | {"PYTHONPATH": str(package), "NUMBA_CACHE_DIR": str(cache)}
    return {name: value for name, value in space.items() if name != "PYTHONDONTWRITEBYTECODE"}


def fit_of_cora(folder: Path) -> dict[str, float]:
    """Fit Cora as a user's own files, without options; nothing is compiled yet."""
    cora = hiergcn.load_dataset("cora")
    replace(cora.graph, split=cora.split).to_csv(folder / "edges.csv", folder / "nodes.csv")
    fit = ["-m", "hiergcn", "fit", str(folder / "edges.csv"), str(folder / "nodes.csv"), "--out", str(folder / "run")]
    return measured(fit, user_space(Path(hiergcn.__file__).parents[1], folder / "numba"))


def write_graph(folder: Path) -> None:
    """Write a graph whose neighbours are mostly of one class, and features that say a little about it."""
    rng = np.random.default_rng(0)
    classes = rng.integers(0, CLASSES, NODES)
    pairs = {tuple(sorted(pair)) for pair in rng.integers(0, NODES, (8 * NODES, 2)).tolist()}
    kept = [(a, b) for a, b in sorted(pairs) if a != b and (classes[a] == classes[b] or rng.random() < 0.15)]
    (folder / "edges.csv").write_text("source,target\n" + "".join(f"n{a},n{b}\n" for a, b in kept))
    features = rng.normal(size=(NODES, FEATURES)) + 0.7 * np.eye(CLASSES, FEATURES)[classes]
    lines = [
        f"n{k},{'abc'[classes[k]] if rng.random() < LABELLED else ''},{','.join(f'{x:.4f}' for x in features[k])}\n"
        for k in range(NODES)
    ]
    header = f"id,label,{','.join(f'x{k}' for k in range(FEATURES))}\n"
    (folder / "nodes.csv").write_text(header + "".join(lines))


def measured(command: list[str], space: dict[str, str], code: int = 0) -> dict[str, float]:
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run([sys.executable, *command], env=space, check=False, capture_output=True)
    seconds, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.returncode == code, done.stderr.decode()
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"seconds": round(seconds, 3), "cpu_seconds": round(cpu, 3)}


def table(result: dict[str, Any]) -> list[str]:
    """Return the table: a row per case, with the CPU time as a multiple of that of `import torch`."""
    floor = result["cases"]["import torch"]["cpu_seconds"]
    rows = [
        f"| {case} | {one['seconds']:.2f} | {one['cpu_seconds']:.2f} | {one['cpu_seconds'] / floor:.1f} |"
        for case, one in result["cases"].items()
    ]
    heads = "| run | seconds | CPU seconds | times `import torch` |"
    return [provenance(result["environment"]), "", heads, "|---|---:|---:|---:|", *rows]


if __name__ == "__main__":
    main()
