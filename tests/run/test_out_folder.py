"""The folder for results: one process at a time, room before the work, another place if it fails."""

import os
import signal
import subprocess
import sys
from collections import namedtuple
from pathlib import Path

import pytest

from hiergcn.datasets import planted_graph
from hiergcn.errors import InputError, UnwritableError
from hiergcn.run.fit import fit
from hiergcn.run.out_folder import HeldError, check_room, held, held_free, run_size, write_or_rescue

HOLDER = """
import sys, time
from pathlib import Path
from hiergcn.run.out_folder import held
with held(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(600)
"""


def test_a_folder_is_held_until_the_process_ends_whatever_ends_it(tmp_path: Path) -> None:
    """Two runs with one --out once shared it, or the second went elsewhere without a word."""
    with subprocess.Popen([sys.executable, "-c", HOLDER, tmp_path / "new" / "run"], stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(HeldError, match=r"Another process is writing to .*run; wait until it ends"):
            held(tmp_path / "new" / "run").__enter__()
        with held(tmp_path / "new" / "other"), held_free(tmp_path / "new" / "run") as free:
            assert free == tmp_path / "new" / "run-2"
        os.kill(holder.pid, signal.SIGKILL)
    with held(tmp_path / "new" / "run") as mine:
        assert mine == tmp_path / "new" / "run"
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_process_left_is_removed(tmp_path: Path) -> None:
    draft, other = tmp_path / ".run.abcd_123", tmp_path / ".running.abcd1234"
    for folder in (draft, other, tmp_path / "run"):
        folder.mkdir()
    (draft / "config.json").write_text("{}")
    (tmp_path / "run" / ".trials.csv.xyz.part").write_text("half")
    (tmp_path / "run" / "trials.csv").write_text("whole")
    with held(tmp_path / "run"):
        assert sorted(path.name for path in tmp_path.iterdir()) == [".run.lock", ".running.abcd1234", "run"]
        assert [path.name for path in (tmp_path / "run").iterdir()] == ["trials.csv"]


def test_too_little_room_is_noticed_before_the_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr("shutil.disk_usage", lambda path: usage(10**9, 10**9 - 40_000, 40_000))
    with pytest.raises(InputError, match=r"has 40,000 bytes left, and the results need about 2\.0 MB; make room"):
        check_room(tmp_path / "not" / "there", 2_000_000)


@pytest.mark.parametrize(("nodes", "seeds"), [(100, 1), (3000, 3)])
def test_the_size_of_a_run_is_estimated(tmp_path: Path, nodes: int, seeds: int) -> None:
    graph = planted_graph(nodes, features=20, seed=0)
    result = fit(graph, seeds=range(seeds), model="hgcn", changes={"epochs": 3}, device="cpu")
    result.write(tmp_path / "run")
    result.at(tmp_path / "run").write_page()
    size = sum(path.stat().st_size for path in (tmp_path / "run").iterdir())
    assert 0.5 < run_size(graph, seeds) / size < 3


def test_results_go_where_there_is_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path / "full"))
    monkeypatch.setattr(Path, "home", lambda: tmp_path / "home")
    (tmp_path / "home" / "run-rescued").mkdir(parents=True)
    (tmp_path / "home" / "run-rescued" / "results").touch()

    def write(place: Path) -> None:
        if "home" not in place.parts:
            raise UnwritableError(f"{place} cannot be written (no room).")
        place.mkdir()

    assert write_or_rescue(lambda place: None, tmp_path / "run") == (tmp_path / "run", None)
    place, problem = write_or_rescue(write, tmp_path / "run")
    assert place == tmp_path / "home" / "run-rescued-2"
    assert problem == f"{tmp_path / 'run'} cannot be written (no room)."
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Path, "home", lambda: tmp_path / "full")
    with pytest.raises(UnwritableError, match="/run cannot be written"):
        write_or_rescue(write, tmp_path / "run")
