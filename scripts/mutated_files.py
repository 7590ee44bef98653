"""Sound files of every format, random damage to them, and what the commands make of it in a warm process."""

import io
import json
import os
import random
import re
import shutil
import signal
import sys
import tempfile
import traceback
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from hiergcn.datasets import planted_graph
from hiergcn.graph import Graph
from hiergcn.run.out_folder import MANIFEST, write_manifest
from hiergcn.workers.pool import Send, Work

NODES = 40
LABEL = ("--label", "topic")
FIT = ("--seeds", "1", "--workers", "1", "--no-baselines", "--no-advice", "--device", "cpu")
EPOCHS = ("--set", "epochs=2")
MODELS = tuple((*EPOCHS, "--model", name) for name in ("gcn", "mlp", "hgcn", "hgcn-plus", "graphsage")) + tuple(
    ("--model", name) for name in ("label-propagation", "harmonic")
)
TABLES = ("csv", "csv.gz", "parquet", "jsonl", "xlsx", "mtx")
FORMATS = (*TABLES, "npz", "graphml", "run folder")
RUN_COMMANDS = (("predict",), ("report",), ("suggest", "--budget", "3"), ("explain", "--node", "n 3"))

TOKENS = (
    *(b"", b"nan", b"NaN", b"inf", b"-inf", b"1e300", b"-1", b"0", b"1", b"1.0", b"007", b"9" * 400, b"1e-400", b"1_0"),
    *(b'"', b"'", b",", b";", b"\t", b"|", b"\n", b"\r", b"\r\n", b"\x00", b"\xff", b"\xfe\xff", b"\xef\xbb\xbf"),
    *(b"null", b"true", b"[]", b"{}", b"[1]", b'{"a": 1}', b"#", b"%", b"=1+1", b"<", b">", b"&", b"&x;", b"]]>"),
    *("ä".encode(), "ä".encode("latin-1"), b"unknown", b"train", b"test", b"id", b"topic", b"../x", b"1e5", b"12 kg"),
)


class Outcome(NamedTuple):
    """What a command gave."""

    words: tuple[str, ...]
    code: int | str | None
    out: str
    err: str


class Judgement(NamedTuple):
    """What a damaged file led to."""

    about: str
    accepted: bool
    problem: str | None


def write_sound_files(folder: Path) -> None:
    """Write one graph in every format, and a run folder of it."""
    graph = planted_graph(NODES, classes=2, depth=1, homophily=0.9, noise=1.0, seed=1)
    rows, columns = graph.adjacency.nonzero()
    once, ids = rows < columns, np.array([f"n {k}" for k in range(NODES)])
    edges = pd.DataFrame({"source": ids[rows[once]], "target": ids[columns[once]], "weight": 1.5})
    number = np.arange(NODES)
    nodes = pd.DataFrame(
        {
            "id": ids,
            "topic": pd.Series(np.array(["art", "law"], dtype=object)[graph.truth]).where(number % 4 != 0, None),
            "size": np.asarray(graph.features)[:, 0].round(3),
            "city": np.array(["Rome", "Oslo", "Łódź"], dtype=object)[number % 3],
            "open": number % 2 == 0,
            "day": pd.date_range("2024-01-01", periods=NODES).astype(str),
            "split": np.array(["train", "val", "test", "train"], dtype=object)[number % 4],
        }
    )
    nodes.loc[nodes["topic"].isna(), "split"] = None
    for name, table in {"edges": edges, "nodes": nodes}.items():
        table.to_csv(folder / f"{name}.csv", index=False)
        table.to_csv(folder / f"{name}.csv.gz", index=False)
        table.to_parquet(folder / f"{name}.parquet")
        table.to_json(folder / f"{name}.jsonl", orient="records", lines=True)
        table.to_excel(folder / f"{name}.xlsx", index=False)
    pairs = "".join(f"{max(i, j) + 1} {min(i, j) + 1}\n" for i, j in zip(rows[once], columns[once], strict=True))
    head = f"%%MatrixMarket matrix coordinate pattern symmetric\n{NODES} {NODES} {once.sum()}\n"
    (folder / "edges.mtx").write_text(head + pairs)
    nodes.assign(id=number + 1).to_csv(folder / "nodes.mtx", index=False)  # a CSV; ids are those of the matrix
    read = Graph.from_csv(folder / "edges.csv", folder / "nodes.csv", id="id", label="topic")
    read.to_npz(folder / "graph.npz")
    read.to_graphml(folder / "graph.graphml")
    files = (str(folder / "edges.csv"), str(folder / "nodes.csv"))
    fitted = call("fit", *files, *LABEL, *FIT, *EPOCHS, "--model", "hgcn-plus", "--out", str(folder / "run"))
    assert fitted.code == 0, fitted


def make_judge(seed: int, sound: Path, kept: Path) -> Work:
    """Return the work of a warm process: damage a file by the number of the case, and judge what comes of it."""

    def judge(_: Send, number: int) -> Judgement:
        rng = random.Random(f"{seed} {number}")
        folder = kept / f"case-{number}"
        folder.mkdir()
        about, commands, names = damaged_case(rng, FORMATS[number % len(FORMATS)], sound, folder)
        outcomes: list[Outcome] = []
        for words in commands:
            outcomes.append(call(*words))
            if outcomes[-1].code != 0:
                break
        problem = next(filter(None, (problem_of(one, names) for one in outcomes)), None)
        if problem is None and len(outcomes) == 2 and outcomes[1].code != 0:
            problem = "check said that a fit would work"
        if problem is None:
            shutil.rmtree(folder)
        else:
            last = outcomes[-1]
            problem = f"{problem}: hiergcn {' '.join(last.words)} -> {last.code}: {last.err.strip()[-400:]}"
        return Judgement(about, outcomes[-1].code == 0, problem)

    return judge


def damaged_case(
    rng: random.Random, form: str, sound: Path, folder: Path
) -> tuple[str, list[tuple[str, ...]], list[str]]:
    """Write a case into a folder. Return what was damaged, the commands to try, and words that an error may name."""
    out, model = str(folder / "out"), rng.choice(MODELS)
    if form == "run folder":
        run = folder / "run"
        shutil.copytree(sound / "run", run)
        broken = rng.choice(sorted(path for path in run.iterdir() if path.name != MANIFEST or rng.random() < 0.1))
        how = damage_file(rng, broken)
        manifest = rng.choice(("kept", "written again", "removed"))
        if manifest == "written again":
            write_manifest(run)
        elif manifest == "removed":
            (run / MANIFEST).unlink()
        name, *options = rng.choice(RUN_COMMANDS)
        return f"{form}, {broken.name}, {how}, manifest {manifest}", [(name, str(run), *options)], [str(run)]
    names = [f"{name}.{form}" for name in ("edges", "nodes")] if form in TABLES else [f"graph.{form}"]
    for name in names:
        shutil.copy(sound / name, folder / name)
    broken = folder / rng.choice(names)
    how = damage_file(rng, broken)
    files = tuple(str(folder / name) for name in names)
    if form != "graphml" and rng.random() < 0.15:  # to_graphml does not keep the names of features
        commands: list[tuple[str, ...]] = [("predict", str(sound / "run"), *files)]
    elif rng.random() < 0.15:
        commands = [("coarsen", files[0], "--out", out)]
    else:
        named = (*files, *(LABEL if form in TABLES else ()))
        commands = [("check", *named, "--no-estimate"), ("fit", *named, *FIT, *model, "--out", out)]
    return f"{form}, {broken.name}, {how}", commands, [*names, str(folder)]


def problem_of(outcome: Outcome, names: Sequence[str]) -> str | None:
    """Return what is wrong with the way a command ended; None if it succeeded or said in a sentence why not."""
    lines = outcome.err.strip().splitlines()
    if "Traceback" in outcome.err or outcome.code not in (0, 2):
        return "a bug"
    if outcome.code == 0:
        said = ("Note: ", "predictions", "nodes to label")
        return None if all(any(words in line for words in said) for line in lines) else "an odd line"
    if len(lines) != 1 or not lines[0].endswith((".", "?")) or not lines[0][0].isprintable():
        return "not a sentence"
    return None if any(name in lines[0] for name in names) else "no path"


def call(*words: str) -> Outcome:
    """Call a command as a shell would, in this process; everything that it prints is caught, by libraries too."""
    from hiergcn.cli import main

    arguments, sys.argv = sys.argv, ["hiergcn", *words]
    code: int | str | None = 0
    sys.stdout.flush()
    sys.stderr.flush()
    streams = (1, 2)
    before = [os.dup(number) for number in streams]
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        for number, file in zip(streams, (out, err), strict=True):
            os.dup2(file.fileno(), number)
        python = sys.stdout, sys.stderr  # which a caller may have replaced
        sys.stdout, sys.stderr = (open(number, "w", encoding="utf-8", closefd=False) for number in streams)  # noqa: SIM115
        try:
            main()
        except SystemExit as ending:
            code = ending.code
        except BaseException:
            code = "raised"
            traceback.print_exc()
        finally:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)  # which ends this process; `main` changes that
            sys.stdout.flush()
            sys.stderr.flush()
            sys.stdout, sys.stderr = python
            sys.argv = arguments
            for number, copy in zip(streams, before, strict=True):
                os.dup2(copy, number)
                os.close(copy)
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read().decode(errors="replace"))
    return Outcome(words, code, *texts)


def damage_file(rng: random.Random, path: Path) -> str:
    """Damage a file in one of several ways, and return which. The members of an archive are damaged, too."""
    content = path.read_bytes()
    ways: list[tuple[str, Callable[[], bytes]]] = [("bytes", lambda: damage(rng, content))]
    if zipfile.is_zipfile(path):
        ways += [("a member", lambda: _damaged_archive(rng, content))] * 3
    elif path.suffix == ".parquet":
        ways += [("cells", lambda: _damaged_parquet(rng, content))] * 2
    elif path.suffix in (".json", ".jsonl"):
        ways += [("values", lambda: _damaged_json(rng, content))]
    how, make = rng.choice(ways)
    path.write_bytes(make())
    return how


def damage(rng: random.Random, content: bytes) -> bytes:
    """Return the content with one to three random changes."""
    for _ in range(rng.choice((1, 1, 1, 2))):
        content = rng.choice((_token, _token, _token, _token, _line, _line, _bytes, _slice, _cut))(rng, content)
    return content


def _token(rng: random.Random, content: bytes) -> bytes:
    """Put an odd text in place of a word or a number, or between two."""
    found = list(re.finditer(rb"[\w.+-]+|[,;:{}\[\]\"<>]", content[:1_000_000]))
    if not found:
        return rng.choice(TOKENS)
    one = rng.choice(found)
    end = one.end() if rng.random() < 0.8 else one.start()
    return content[: one.start()] + rng.choice(TOKENS) + content[end:]


def _line(rng: random.Random, content: bytes) -> bytes:
    """Remove, repeat or exchange lines."""
    lines = content.splitlines(keepends=True)
    if len(lines) < 2:
        return content + content
    i, j = rng.sample(range(len(lines)), 2)
    match rng.randrange(3):
        case 0:
            del lines[i]
        case 1:
            lines.insert(i, lines[j])
        case _:
            lines[i], lines[j] = lines[j], lines[i]
    return b"".join(lines)


def _bytes(rng: random.Random, content: bytes) -> bytes:
    changed = bytearray(content or b"\x00")
    for _ in range(rng.choice((1, 2, 10))):
        changed[rng.randrange(len(changed))] = rng.randrange(256)
    return bytes(changed)


def _slice(rng: random.Random, content: bytes) -> bytes:
    """Remove, repeat, empty or exchange a part."""
    start = rng.randrange(len(content) + 1)
    part = content[start : start + rng.choice((1, 4, 50, 1000))]
    rest = content[start + len(part) :]
    return content[:start] + rng.choice((b"", part + part, bytes(len(part)), rest + part)) + (b"" if not part else rest)


def _cut(rng: random.Random, content: bytes) -> bytes:
    return content[: rng.randrange(len(content) + 1)]


def _damaged_archive(rng: random.Random, content: bytes) -> bytes:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    name = rng.choice(list(members))
    if rng.random() < 0.15:
        del members[name]
    elif members[name][:6] == b"\x93NUMPY" and rng.random() < 0.7:
        members[name] = _damaged_array(rng, members[name])
    else:
        members[name] = damage(rng, members[name])
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for one, data in members.items():
            archive.writestr(one, data)
    return target.getvalue()


def _damaged_array(rng: random.Random, content: bytes) -> bytes:
    """Return a sound npy file with other values, another shape or another type."""
    array = np.load(io.BytesIO(content), allow_pickle=False)
    match rng.randrange(5):
        case 0 if array.size and array.dtype.kind in "if":
            array = array.copy()
            array.flat[rng.randrange(array.size)] = rng.choice((-1, 0, 2**31 - 1, 10**9))
        case 1 if array.dtype.kind == "f" and array.size:
            array = array.copy()
            array.flat[rng.randrange(array.size)] = rng.choice((np.nan, np.inf, 1e300 if array.itemsize == 8 else 1e38))
        case 2 if array.ndim:
            array = array[: rng.randrange(len(array) + 1)]
        case 3:
            array = array[None]
        case _:
            array = array.astype(rng.choice(("S8", "c16", "f2", "?", "u1", "i8", "M8[s]")), casting="unsafe")
    target = io.BytesIO()
    np.save(target, array, allow_pickle=False)
    return target.getvalue()


def _damaged_parquet(rng: random.Random, content: bytes) -> bytes:
    """Return a sound table with a column of other values or types."""
    table = pd.read_parquet(io.BytesIO(content))
    name, n = rng.choice(list(table.columns)), len(table)
    columns: list[Any] = [
        [b"\xff\x00"] * n, [[1, 2]] * n, [{"a": 1}] * n, [None] * n, pd.date_range("2024", periods=n), [1e300] * n,
        [np.inf] * n, ["x" * 50_000] * n, [True] * n, pd.Categorical(["a"] * n), pd.to_timedelta(range(n), "s"),
        np.arange(n, dtype=np.uint64) + np.uint64(2**63), [f"{k} kg" for k in range(n)], range(n), [-1] * n,
    ]  # fmt: skip
    match rng.randrange(4):
        case 0:
            table = table.drop(columns=name)
        case 1:
            table = table.rename(columns={name: rng.choice(("", "id", "a\nb", "topic", "1"))})
        case 2:
            table = table.iloc[: rng.randrange(3)]
        case _:
            table[name] = rng.choice(columns)
    target = io.BytesIO()
    try:
        table.to_parquet(target)
    except ValueError:  # two columns of one name
        return content[: len(content) // 2]
    return target.getvalue()


def _damaged_json(rng: random.Random, content: bytes) -> bytes:
    """Return sound JSON with another value somewhere, or a key less."""
    lines = content.splitlines() if content.count(b"\n{") else [content]
    number = rng.randrange(len(lines))
    value = json.loads(lines[number])
    place = value
    while isinstance(place, dict | list) and place:
        key: Any = rng.choice(list(place) if isinstance(place, dict) else range(len(place)))
        inner = place[key]
        if isinstance(inner, dict | list) and inner and rng.random() < 0.7:
            place = inner
            continue
        if rng.random() < 0.3:
            del place[key]
        else:
            place[key] = rng.choice((None, "", "x", -1, 0, 2**70, 1e300, [], {}, [1, 2], {"a": 1}, True))
        break
    lines[number] = json.dumps(value).encode()
    return b"\n".join(lines) + b"\n"
