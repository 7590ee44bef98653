"""The fault campaign: commands that are killed, run out of disk or memory, or get damaged files.

    python scripts/faults.py --kills 50 --stops 20 --disks 20 --memory 10 --files 500

No fault may cause a traceback, a hang, or a process that outlives its parent, nor lose what a command said was done.
Every error must be one sentence. What went wrong is printed and the exit code is 1. Needs Linux; full disks are small
tmpfs file systems, which root can mount, else limits on the size of files.
"""

import argparse
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import IO

import pandas as pd

import hiergcn
from hiergcn.errors import InputError
from hiergcn.run.run import Run
from hiergcn.workers.machine import environment
from hiergcn.workers.pool import Pool
from hiergcn_experiments.store import Store
from mutated_files import NODES, make_judge, write_sound_files

HANG = 60.0
"""Seconds that a command may take beyond an undisturbed one."""
MARK = "HIERGCN_FAULT"
SOURCE = str(Path(hiergcn.__file__).parents[1])
"""The package that the commands run, whatever folder they run in."""
DATA = ("edges.csv", "nodes.csv", "--label", "topic")
QUICK = ("--set", "epochs=30", "--device", "cpu")
FIT = ("fit", *DATA, "--device", "cpu", "--model", "gcn", "--out", "out")
COMMANDS = {
    "fit": (*FIT, "--seeds", "4", "--set", "epochs=30"),
    "fit with workers": (*FIT, "--seeds", "30", "--workers", "2", "--set", "epochs=1000", "--no-advice"),
    "tune": ("tune", *DATA, *QUICK, "--model", "gcn", "--trials", "8", "--out", "out"),
    "compare": ("compare", *DATA, *QUICK, "--models", "gcn,mlp", "--seeds", "2", "--out", "out"),
    "reproduce": (
        *("reproduce", "table2", "--quick", "--datasets", "cora", "--models", "gcn,mlp"),
        *("--device", "cpu", "--workers", "2", "--store", "out"),
    ),
    "suggest": ("suggest", *DATA, "--budget", "5", "--out", "out"),
}
OUTPUT = 20_000
"""Bytes that a command prints at most; a limit on the size of files concerns what it prints, too."""
MEMORY = (1.2, 4.0)
"""Gigabytes of address space: from too little for the libraries to more than the fit of a wide network needs."""
WIDE = ("--model", "hgcn", "--set", "hidden=1500", "--set", "epochs=2", "--no-baselines", "--no-advice")


OUTCOMES = {0: "done", 2: "refused in a sentence", 130: "stopped", -signal.SIGKILL: "killed"}
OUTCOMES |= {-number: "stopped" for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)}
"""Exit codes that are no problem: negative ones of signals that came before the command began to work."""


@dataclass
class Part:
    """The figures of one part of the campaign."""

    title: str
    cases: int = 0
    outcomes: dict[str, int] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    def add(self, about: str, outcome: str, problem: str | None) -> None:
        self.cases += 1
        self.outcomes[outcome] = self.outcomes.get(outcome, 0) + 1
        if problem is not None:
            self.problems.append(f"{about}: {problem}")
            print(f"  {self.title}, {about}: {problem}", flush=True)

    @property
    def row(self) -> str:
        counts = ", ".join(f"{count} {outcome}" for outcome, count in sorted(self.outcomes.items()))
        return f"| {self.title} | {self.cases} | {counts} | {len(self.problems)} |"


@dataclass
class Ended:
    """A command that has ended, or was ended."""

    code: int
    out: str
    err: str
    seconds: float
    orphan: bool
    hung: bool = False

    @property
    def outcome(self) -> str:
        return OUTCOMES.get(self.code, f"code {self.code}")

    def problem(self, *paths: Path | str) -> str | None:
        """Return what no fault may cause; an error must name one of the paths, if there are any."""
        lines = self.err.strip().splitlines()
        if self.hung:
            return f"hung, and was ended after {self.seconds:.0f} s"
        if self.orphan:
            return "a process outlived its parent"
        if "Traceback" in self.err or self.code not in OUTCOMES:
            return f"exit code {self.code}: {self.err.strip()[-500:]}"
        if self.code != 2:
            return None
        errors = [line for line in lines if not line.startswith("Note: ")]
        if len(errors) != 1 or not errors[0].endswith("."):
            return f"not a sentence: {self.err.strip()[-500:]}"
        return None if not paths or any(str(path) in errors[0] for path in paths) else f"no path: {errors[0]}"


def run_command(
    name: str,
    folder: Path,
    *more: str,
    limit: float,
    kill_after: float | str | None = None,
    number: signal.Signals = signal.SIGKILL,
    before: Callable[[], None] | None = None,
    meanwhile: Callable[[str], None] | None = None,
    environ: dict[str, str] | None = None,
) -> Ended:
    """Run a command in a folder, and send it a signal after some seconds, or after it has printed some words.

    `before` runs in the new process, `meanwhile` gets what it printed, repeatedly.
    """
    mark = f"{os.getpid()}-{time.monotonic_ns()}"
    environ = {**os.environ, "OMP_NUM_THREADS": "1", MARK: mark, "PYTHONPATH": SOURCE, **(environ or {})}
    began = time.monotonic()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        words = [sys.executable, "-m", "hiergcn", *COMMANDS[name], *more]
        process = subprocess.Popen(
            words, cwd=folder, env=environ, stdout=out, stderr=err, preexec_fn=partial(_begin, before)
        )
        hung = sent = False
        while process.poll() is None:
            passed = time.monotonic() - began
            due = kill_after in _text(out) if isinstance(kill_after, str) else passed >= (kill_after or limit)
            if kill_after is not None and due and not sent:
                process.send_signal(number)
                sent = True
            elif passed > limit:
                hung = True
                process.kill()
            elif meanwhile is not None:
                meanwhile(_text(out))
            time.sleep(0.02)
        seconds = time.monotonic() - began
        return Ended(process.returncode, _text(out), _text(err), seconds, _has_orphan(mark), hung)


def _begin(before: Callable[[], None] | None) -> None:
    """Heed signals that this process may ignore, as one in the background does, and run `before`."""
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    if before is not None:
        before()


def _text(file: IO[bytes]) -> str:
    return os.pread(file.fileno(), 10_000_000, 0).decode(errors="replace")


def _has_orphan(mark: str, patience: float = 15.0) -> bool:
    """Return whether a process of the marked command is still there after a while; it is ended then."""
    end, marked = time.monotonic() + patience, f"{MARK}={mark}".encode()
    while True:
        found = []
        for entry in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):  # it ended meanwhile
                if marked in (entry / "environ").read_bytes().split(b"\0"):
                    found.append(int(entry.name))
        if not found:
            return False
        if time.monotonic() > end:
            for process in found:
                os.kill(process, signal.SIGKILL)
            return True
        time.sleep(0.1)


class Campaign:
    """Runs the parts. Everything is below one folder."""

    def __init__(self, place: Path, seed: int) -> None:
        self.place, self.seed, self.rng = place, seed, random.Random(seed)
        self.sound = place / "sound"
        self.sound.mkdir()
        write_sound_files(self.sound)
        self.usual: dict[str, float] = {}
        self.answers: dict[str, str] = {}

    def folder(self, name: str) -> Path:
        """Return a new folder with the files of the graph."""
        folder = Path(tempfile.mkdtemp(prefix=f"{name}-", dir=self.place))
        for file in ("edges.csv", "nodes.csv"):
            shutil.copy(self.sound / file, folder)
        return folder

    def duration(self, name: str) -> float:
        """Return the seconds of the command if nothing disturbs it."""
        if name not in self.usual:
            folder = self.folder(name)
            ended = run_command(name, folder, limit=600)
            assert ended.code == 0, ended
            self.usual[name], self.answers[name] = ended.seconds, answer(name, folder)
        return self.usual[name]

    def kills(self, number: int) -> Part:
        """Kill commands by a signal that they cannot heed."""
        return self.ends(Part("kill -9"), number, [signal.SIGKILL])

    def stops(self, number: int) -> Part:
        """Ask commands to stop, as schedulers, closed terminals and Ctrl-C do."""
        return self.ends(Part("stop"), number, [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])

    def ends(self, part: Part, number: int, signals: list[signal.Signals]) -> Part:
        """End each command at random moments in one folder, and let it end by itself at last."""
        names = list(COMMANDS)
        for name, count in ((name, len(range(k, number, len(names)))) for k, name in enumerate(names)):
            usual = self.duration(name) if count else 0.0
            folder, limit = self.folder(name), 4 * usual + HANG
            for case in range(count):
                moment, before = self.rng.uniform(0 if part.title == "kill -9" else 1, usual), kept(name, folder)
                how = signals[case % len(signals)]
                ended = run_command(name, folder, *resumed(folder), limit=limit, kill_after=moment, number=how)
                problem = ended.problem() or lost(name, folder, ended, before)
                part.add(f"{name}, {how.name} after {moment:.2f} s", ended.outcome, problem)
                out = folder / "out"
                if name == "suggest":  # a command would refuse to write over it, and a user takes it away
                    out.unlink(missing_ok=True)
                elif ended.code == 0 or (name not in ("tune", "reproduce") and out.exists()):
                    shutil.rmtree(out)
            if count:
                last = run_command(name, folder, *resumed(folder), limit=limit)
                left = [path.name for path in folder.iterdir() if path.name.startswith(".")]
                problem = last.problem() or lost(name, folder, last)
                if problem is None and (last.code != 0 or left):
                    problem = f"exit code {last.code} at last, {left} left behind: {last.err}"
                if problem is None and answer(name, folder) != self.answers[name]:
                    problem = "the answer is not that of an undisturbed command"
                part.add(f"{name} at last", "done at last", problem)
        return part

    def disks(self, number: int) -> Part:
        """Fill the disk at the start or during the work, with a random number of bytes left."""
        part, names = Part("disk full"), ("fit", "compare", "fit", "tune", "fit", "suggest", "reproduce")
        for case in range(number):
            name = names[case % len(names)]
            limit, left = 4 * self.duration(name) + HANG, int(10 ** self.rng.uniform(2, 5.5))
            elsewhere, later = self.rng.random() < 0.5, self.rng.random() < 0.7
            folder = self.folder(name)
            with full_disk(folder, left, later) as (inside, meanwhile, before):
                rescue = str(self.folder("elsewhere") if elsewhere else inside)
                environ = {"TMPDIR": rescue, "HOME": rescue, "HIERGCN_COMMIT": "unknown"}  # git would write, too
                ended = run_command(name, inside, limit=limit, meanwhile=meanwhile, before=before, environ=environ)
                where = "elsewhere too" if not elsewhere else "here alone"
                about = f"{name}, {left:,} bytes left {'during the work' if later else 'at the start'}, {where}"
                part.add(about, ended.outcome, ended.problem("out", rescue, inside) or lost(name, inside, ended))
        return part

    def memory(self, number: int) -> Part:
        """Limit the address space of a fit."""
        part, limit = Part("memory limit"), 3 * HANG
        for case in range(number):
            low, high = MEMORY
            size = int((low + (high - low) * case / max(number - 1, 1)) * 1e9)
            folder = self.folder("memory")
            before = partial(resource.setrlimit, resource.RLIMIT_AS, (size, size))
            ended = run_command("fit", folder, *WIDE, limit=limit, before=before)
            part.add(f"{size / 1e9:.1f} GB", ended.outcome, ended.problem() or lost("fit", folder, ended))
            shutil.rmtree(folder)  # the network of a run is large
        return part

    def files(self, number: int) -> Part:
        """Give damaged files to commands in a warm process."""
        part, kept = Part("damaged file"), self.place / "cases"
        kept.mkdir()
        worker = None
        for case in range(number):
            patience = HANG if worker else 4 * HANG  # it imports first
            worker = worker or Pool(make_judge, self.seed, self.sound, kept)
            worker.start(case, case)
            found = next((reply for _, reply in worker.wait(patience)), None)
            if found is None or found.kind != "result":
                part.add(f"case {case}", "no answer", "hung" if found is None else found.content)
                worker.__exit__()
                worker = None
                continue
            outcome = "accepted" if found.content.accepted else "refused in a sentence"
            part.add(f"case {case}, {found.content.about}", outcome, found.content.problem)
        if worker is not None:
            worker.__exit__()
        return part


def resumed(folder: Path) -> tuple[str, ...]:
    """Return the option by which a fit that was killed goes on."""
    return ("--resume",) if (folder / "out.checkpoint").exists() else ()


def answer(name: str, folder: Path) -> str:
    """Return the predictions of a fit, or the suggested nodes; nothing of commands whose results have times in them."""
    files = {"fit": "out/predictions.csv", "fit with workers": "out/predictions.csv", "suggest": "out"}
    return (folder / files[name]).read_text(encoding="utf-8") if name in files else ""


def kept(name: str, folder: Path, out: str = "out") -> int:
    """Return how many seeds, trials, methods, runs or suggestions are kept in a folder."""
    place = folder / out
    match name:
        case "fit" | "fit with workers":
            return len(list(folder.glob("out.checkpoint/*-finished.safetensors")))
        case "tune":
            return len(pd.read_csv(place / "trials.csv")) if (place / "trials.csv").exists() else 0
        case "compare":
            found = place / "comparison.json"
            return len(json.loads(found.read_text(encoding="utf-8"))["models"]) if found.exists() else 0
        case "reproduce":
            return len(Store(place).records()) if place.exists() else 0
    return len(pd.read_csv(place)) if place.exists() else 0


def said(name: str, out: str) -> int:
    """Return how many of these a command has reported as done."""
    lines = {"fit": r"^seed \d+: validation", "tune": r"^trial \d+:", "compare": r"^\w+: test "}
    if name == "reproduce":
        before, done = (
            re.search(words, out, re.MULTILINE) for words in (r"^(\d+) of \d+ runs are", r"^(\d+) runs done")
        )
        return sum(int(found[1]) for found in (before, done) if found)
    return len(re.findall(lines.get(name.partition(" ")[0], "^$(?!)"), out, re.MULTILINE))


def lost(name: str, folder: Path, ended: Ended, before: int = 0) -> str | None:
    """Return what the command said was done and is not there, or what is there and not whole.

    `before` is how much was kept when the command began.
    """
    elsewhere = re.findall(r"(?:run|comparison|predictions) (?:is|are) in (\S+?)\.(?:\s|$)", ended.err)
    try:
        if name in ("fit", "fit with workers"):
            runs = [
                place for place in (folder / one for one in ("out", *elsewhere)) if (place / "config.json").exists()
            ]
            for place in runs:
                Run.load(place)
            if runs:
                return None
            if "predictions, test" in ended.out:  # they are in a place that it names, or printed
                tables = [folder / one / "predictions.csv" for one in elsewhere]
                rows = [len(pd.read_csv(table)) for table in tables if table.exists()]
                printed = not elsewhere and len(re.findall(r"^n \d+,", ended.out, re.MULTILINE)) == NODES
                return None if rows == [NODES] or printed else f"the predictions are lost: {ended.err}"
        found = max(kept(name, folder, one) for one in ("out", *elsewhere))
        if name == "suggest":
            return None if found in (0, 5) else "the suggestions are not whole"
        if name == "compare" and "Test accuracy on" in ended.out:  # all there is, if there is room nowhere
            return None
        expected = max(before, said(name, ended.out))
        return f"{expected} were said to be done, and {found} are kept" if found < expected else None
    except (InputError, ValueError, KeyError, OSError) as error:
        return f"{type(error).__name__}: {error}"


@contextmanager
def full_disk(
    folder: Path, left: int, later: bool
) -> Iterator[tuple[Path, Callable[[str], None] | None, Callable[[], None] | None]]:
    """Give a folder on a disk with so many bytes left, from the start or from the moment the work begins.

    It is a small file system if we may mount one; else the size of files is limited, which a process sees likewise.
    """
    inside = folder / "disk"
    inside.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", str(inside)]
    mounted = shutil.which("mount") and subprocess.run(mount, check=False, capture_output=True).returncode == 0
    for file in ("edges.csv", "nodes.csv"):
        shutil.copy(folder / file, inside)
    if not mounted:
        size = max(left, OUTPUT)
        yield inside, None, partial(resource.setrlimit, resource.RLIMIT_FSIZE, (size, size))
        return

    def fill(printed: str = "") -> None:
        if (inside / "filler").exists() or (later and not re.search(r"Labelled|Search in|seeds 0|to do", printed)):
            return
        with suppress(OSError), (inside / "filler").open("wb") as filler:  # the command may have filled it meanwhile
            filler.write(bytes(max(shutil.disk_usage(inside).free - left, 0)))

    try:
        if not later:
            fill()
        yield inside, fill if later else None, None
    finally:
        subprocess.run(["umount", "--lazy", str(inside)], check=False)


def main() -> int:
    parser = argparse.ArgumentParser(description="Faults of every kind against the commands of hiergcn.")
    for name, usual in (("kills", 50), ("stops", 20), ("disks", 20), ("memory", 10), ("files", 500), ("seed", 0)):
        parser.add_argument(f"--{name}", type=int, default=usual)
    given = parser.parse_args()
    machine, began, parts = environment(), time.monotonic(), []
    with tempfile.TemporaryDirectory(prefix="faults-", ignore_cleanup_errors=True) as place:
        campaign = Campaign(Path(place), given.seed)
        for part in ("files", "kills", "stops", "disks", "memory"):
            if getattr(given, part):
                parts.append(getattr(campaign, part)(getattr(given, part)))
                print(parts[-1].row, flush=True)
    print("\n| fault | cases | outcome | problems |\n|---|---|---|---|")
    print(*(part.row for part in parts), sep="\n")
    print(
        f"\n{(time.monotonic() - began) / 60:.0f} minutes on {machine['processor']}, {machine['cores']} cores, ", end=""
    )
    print(f"Python {machine['python']}, commit {machine['commit']}, seed {given.seed}.")
    return int(any(part.problems for part in parts))


if __name__ == "__main__":
    sys.exit(main())
