"""Results on disk."""

import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from made_up import TINY, records_of

from hiergcn.errors import InputError
from hiergcn.paper.archive import read_records, write_archive
from hiergcn.paper.claims import STALE, Claims
from hiergcn.paper.experiments import experiments
from hiergcn.paper.store import Record, Store, made_here


@pytest.fixture
def store(tmp_path: Path) -> Store:
    found = Store(tmp_path / "store")
    found.make()
    return found


def test_what_is_written_is_read_and_not_written_again(store: Store) -> None:
    record = Record("ab" * 16, {"kind": "measurement"}, {"figure": 1.0}, made_here(2.5, "cpu"))
    assert not store.has(record.id)
    store.write(record)
    store.write(Record(record.id, record.key, {"figure": 2.0}, {}))
    assert store.has(record.id)
    assert store.done() == {record.id}
    assert list(store.records()) == [record]
    assert record.made["seconds"] == 2.5
    assert record.made["packages"]["torch"]


def test_a_damaged_file_is_named(store: Store) -> None:
    store.write(Record("ab" * 16, {}, {}, {}))
    store.path("ab" * 16).write_text("{", encoding="utf-8")
    with pytest.raises(InputError, match=r"abab\.json is damaged; delete it"):
        list(store.records())


def test_one_file_holds_all_and_gives_them_back(store: Store, tmp_path: Path) -> None:
    every = records_of([experiments(TINY)["table2"], experiments(TINY)["table3"]], lambda *_: 0.5)
    for record in every:
        store.write(record)
    write_archive(read_records(store.folder), tmp_path / "results.json")
    back = {record.id: record for record in read_records(tmp_path / "results.json")}
    assert back == {record.id: record for record in every}
    entries = json.loads((tmp_path / "results.json").read_text())["entries"]
    assert len(entries) < len(every)


def test_a_place_without_results_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="There are no results in"):
        read_records(tmp_path / "nowhere")
    (tmp_path / "file.json").write_text("[]", encoding="utf-8")
    with pytest.raises(InputError, match="no file of results"):
        read_records(tmp_path / "file.json")
    with pytest.raises(InputError, match="is no folder"):
        Store(tmp_path / "file.json").make()


class TestClaims:
    def test_a_job_is_claimed_once(self, store: Store) -> None:
        claims = Claims(store.folder)
        assert claims.take("job")
        assert not claims.take("job")
        claims.release("job")
        assert claims.take("job")

    def test_the_end_of_the_work_gives_claims_back(self, store: Store) -> None:
        claims = Claims(store.folder)
        assert claims.take("job")
        with pytest.raises(ZeroDivisionError), claims.kept(["job"]):
            raise ZeroDivisionError
        assert claims.take("job")

    def test_the_claim_of_a_dead_process_holds_no_more(self, store: Store) -> None:
        code = f"from hiergcn.paper.claims import *; Claims(Path({str(store.folder)!r})).take('job')"
        subprocess.run([sys.executable, "-c", code], check=True)
        claims = Claims(store.folder)
        claim = json.loads((store.folder / "claims" / "job.json").read_text())
        assert claim["pid"] != os.getpid()
        assert claims.take("job")

    def test_the_claim_of_another_host_holds_as_long_as_it_is_touched(self, store: Store) -> None:
        path = store.folder / "claims" / "job.json"
        path.write_text(json.dumps({"host": f"not-{socket.gethostname()}", "pid": 1}))
        claims = Claims(store.folder)
        assert not claims.take("job")
        claims.sweep()
        assert path.exists()
        old = time.time() - STALE - 5
        os.utime(path, (old, old))
        assert claims.take("job")

    def test_a_claim_that_was_never_written_is_swept_after_a_while(self, store: Store) -> None:
        path = store.folder / "claims" / "job.json"
        path.touch()
        claims = Claims(store.folder)
        assert not claims.take("job")
        old = time.time() - 60
        os.utime(path, (old, old))
        claims.sweep()
        assert not path.exists()
