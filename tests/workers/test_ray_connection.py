"""A cluster of `ray start --head`, with a token: every way to name it, and the sentence of every way to miss it."""

import math
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from hiergcn.datasets import planted_graph
from hiergcn.errors import InputError
from hiergcn.graph.formats.npz_graph import write_npz
from hiergcn.workers.ray_cluster import connect

ray = pytest.importorskip("ray", reason="Ray is not installed: pip install 'hiergcn[ray]'.")

SIZES = ["--seeds", "2", "--set", "epochs=4", "--set", "hidden=8"]
FIT = ["fit", "graph.npz", "--model", "hgcn", *SIZES, "--device", "cpu", "--out"]
FILES = ("probabilities.npy", "history.csv", "model.safetensors")
IMPATIENT = {
    "RAY_NUM_REDIS_GET_RETRIES": "2",
    "RAY_CLIENT_INITIAL_CONNECTION_TIMEOUT_S": "1",
    "RAY_CLIENT_MAX_CONNECTION_TIMEOUT_S": "1",
}

CONNECT = """
import sys
from hiergcn.errors import InputError
from hiergcn.workers.ray_cluster import connect, import_ray

ray = import_ray()
try:
    connect(ray, sys.argv[1] or None, 2, print)
except InputError as error:
    print(error, file=sys.stderr)
    sys.exit(2)
cpus = int(ray.cluster_resources()["CPU"])
print(cpus, "CPU at" if cpus == 1 else "CPUs at", ray.get_runtime_context().gcs_address)
ray.shutdown()
"""


class Head(NamedTuple):
    """A head node: its addresses, and the variables that a node and a command need."""

    gcs: str
    client: str
    token: dict[str, str]
    folder: dict[str, str]


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("", 0))
        port: int = one.getsockname()[1]
        return port


def environment(home: Path, **more: str) -> dict[str, str]:
    """Return variables without any of Ray's, and a home that has no token."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    return kept | {"HOME": str(home), "OMP_NUM_THREADS": "1"} | more


def processes_of(folder: str) -> list[int]:
    """Return the processes that name a folder in their command line."""
    found = []
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            if folder.encode() in place.read_bytes():
                found.append(int(place.parent.name))
    return found


def wait_for(address: str, process: "subprocess.Popen[bytes]") -> None:
    host, port = address.split(":")
    until = time.monotonic() + 60
    while True:
        with suppress(OSError):
            socket.create_connection((host, int(port)), 1).close()
            return
        assert process.poll() is None, "`ray start` ended."
        assert time.monotonic() < until, f"Nothing listens at {address} after 60 s."
        time.sleep(0.2)


@pytest.fixture(scope="module")
def head(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Head]:
    """A head node with one CPU, so with one worker per command. It stops with the tests, and leaves no process."""
    home = tmp_path_factory.mktemp("home")
    folder = tempfile.mkdtemp(prefix="hg", dir="/tmp")  # short, because names of sockets are
    token = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
    ports = {"port": free_port(), "ray-client-server-port": free_port(), "min-worker-port": 0, "max-worker-port": 0}
    sizes = {"num-cpus": 1, "object-store-memory": 80 * 2**20, "include-dashboard": "false"}
    words = [f"--{name}={value}" for name, value in (ports | sizes).items()]
    process = subprocess.Popen(
        [Path(sys.executable).with_name("ray"), "start", "--head", "--block", "--disable-usage-stats", *words],
        env=environment(home, RAY_TMPDIR=folder, **token),
        cwd=home,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    with ExitStack() as after:
        after.callback(shutil.rmtree, folder, ignore_errors=True)
        after.callback(_stop, process, folder)
        written = Path(folder, "ray", "ray_current_cluster")
        until = time.monotonic() + 60
        while not written.exists() or not written.read_text():
            assert process.poll() is None, "`ray start` ended."
            assert time.monotonic() < until, "`ray start` has not ended after 60 s."
            time.sleep(0.2)
        gcs = written.read_text().strip()
        client = f"{gcs.rpartition(':')[0]}:{ports['ray-client-server-port']}"
        wait_for(client, process)
        yield Head(gcs, f"ray://{client}", token, {"RAY_TMPDIR": folder})


def _stop(process: "subprocess.Popen[bytes]", folder: str) -> None:
    process.terminate()
    with suppress(subprocess.TimeoutExpired):
        process.wait(30)
    until = time.monotonic() + 10
    while (left := processes_of(folder)) and time.monotonic() < until:
        time.sleep(0.2)
    for number in left:
        with suppress(OSError):
            os.kill(number, signal.SIGKILL)
    process.wait()
    assert not left, "Processes of Ray were left."


class Commands:
    """Python processes that run at the same time, each with variables of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.running: dict[str, subprocess.Popen[str]] = {}

    def start(self, name: str, *words: str, **variables: str) -> None:
        self.running[name] = subprocess.Popen(
            [sys.executable, *words],
            env=environment(self.folder, **variables),
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def connect(self, name: str, address: str = "", **variables: str) -> None:
        """Only connect, and print the notes, the cluster's size and its address."""
        self.start(name, "-c", CONNECT, address, **variables)

    def fit(self, name: str, *words: str, **variables: str) -> None:
        self.start(name, "-m", "hiergcn", *FIT, name, *words, **variables)

    def wait(self, name: str) -> tuple[int, str, str]:
        process = self.running[name]
        out, err = process.communicate(timeout=120)
        return process.returncode, out, err

    def files(self, name: str) -> list[bytes]:
        """Return the files of a fit, after it has ended."""
        code, out, err = self.wait(name)
        assert code == 0, out + err
        return [(self.folder / name / file).read_bytes() for file in FILES]


@pytest.fixture
def commands(tmp_path: Path) -> Iterator[Commands]:
    made = Commands(tmp_path)
    yield made
    for process in made.running.values():
        process.kill()


def test_every_way_to_name_a_cluster_gives_the_results_of_this_machine(head: Head, commands: Commands) -> None:
    graph = planted_graph(200, classes=3, depth=1, homophily=0.9, noise=1.0, seed=0)
    write_npz(graph, commands.folder / "graph.npz")
    commands.fit("here", "--engine", "local")
    commands.fit("client", "--engine", head.client, RAY_ADDRESS="127.0.0.1:1", **head.token)
    here = commands.files("here")
    assert commands.files("client") == here  # alone by now: on a busy machine, Ray Client's own processes start late
    commands.fit("variable", RAY_ADDRESS=head.gcs, **head.token)
    token = head.token["RAY_AUTH_TOKEN"]  # for a cluster of the same machine, Ray chooses the mode
    commands.connect("found", RAY_AUTH_TOKEN=token, **head.folder)
    assert commands.files("variable") == here
    assert commands.wait("found")[1].splitlines() == [f"1 CPU at {head.gcs}"]


def test_a_cluster_that_asks_for_its_token_is_not_replaced_by_another(head: Head, commands: Commands) -> None:
    wrong = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "0" * 64}
    commands.connect("none", RAY_ADDRESS=head.gcs, **IMPATIENT)
    commands.connect("wrong", **wrong, **head.folder, **IMPATIENT)
    commands.connect("client", head.client, **wrong, **IMPATIENT)
    commands.connect("port", RAY_ADDRESS=head.client[6:], **head.token, **IMPATIENT)
    said = {}
    for name in commands.running:
        code, out, said[name] = commands.wait(name)
        assert (code, out) == (2, "")
    for name in ("none", "wrong"):  # after what Ray itself writes
        assert f"No connection to the Ray cluster at {head.gcs}. It asks for its token. Set RAY_" in said[name]
    assert "but not as Ray Client, or it asks for its token. See that the port" in said["client"]
    assert f"at {head.client[6:]}. Another service listens there. The port is that of" in said["port"]


def test_a_cluster_that_is_started_is_told_and_ends(commands: Commands) -> None:
    with tempfile.TemporaryDirectory(prefix="hg", dir="/tmp") as folder:
        commands.connect("own", RAY_TMPDIR=folder)
        first, second = commands.wait("own")[1].splitlines()
        assert first == "No Ray cluster found; started one on this machine, 2 CPUs."
        assert second.startswith("2 CPUs at ")
        assert not processes_of(folder)


class FakeRay:
    """A Ray that connects, or does not: the first `times` times."""

    exceptions = ray.exceptions

    def __init__(self, error: Exception | None = None, times: float = math.inf) -> None:
        self.error, self.times = error, times
        self.addresses: list[Any] = []

    def is_initialized(self) -> bool:
        return False

    def init(self, address: str | None, **_: Any) -> None:
        self.addresses.append(address)
        if self.error and len(self.addresses) <= self.times:
            raise self.error

    def cluster_resources(self) -> dict[str, float]:
        return {"CPU": 1.0}


@pytest.fixture
def listening() -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"127.0.0.1:{server.getsockname()[1]}"


def test_an_address_where_nothing_answers_is_an_error_at_once() -> None:
    fake = FakeRay()
    for address in (f"127.0.0.1:{free_port()}", f"ray://127.0.0.1:{free_port()}"):
        with pytest.raises(InputError, match=rf"^Nothing answers at {address} \(Connection refused\)\. See that"):
            connect(fake, address, None, pytest.fail)
    for address in ("http://127.0.0.1:8265", "ray://host", "host", "host:port"):
        with pytest.raises(InputError, match=f"^{address} is not the address of a Ray cluster; give HOST:PORT or"):
            connect(fake, address, None, pytest.fail)
    assert not fake.addresses


def test_the_address_is_that_of_the_environment_or_of_this_machine(
    listening: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A cluster of this machine that has died is replaced with a note."""
    fake, notes, dead = FakeRay(), list[str](), f"127.0.0.1:{free_port()}"
    monkeypatch.setenv("RAY_ADDRESS", listening)
    assert connect(fake, None, None, pytest.fail)
    assert connect(fake, f"ray://{listening}", None, pytest.fail)
    monkeypatch.setenv("RAY_ADDRESS", "auto")  # as if it were not set
    monkeypatch.setenv("RAY_TMPDIR", str(tmp_path))
    (tmp_path / "ray").mkdir()
    for found in (dead, listening, ""):
        (tmp_path / "ray" / "ray_current_cluster").write_text(found)
        connect(fake, None, None, notes.append)
    assert fake.addresses == [listening, f"ray://{listening}", "local", None, "local"]
    assert notes == [
        f"Nothing answers at {dead}, the last Ray cluster of this machine; started one on this machine, 1 CPU.",
        "No Ray cluster found; started one on this machine, 1 CPU.",
    ]


def test_why_there_is_no_connection_is_told(listening: str) -> None:
    """A server of Ray Client that does not start is tried again before."""
    failed = ConnectionAbortedError("RuntimeError: Starting Ray client server failed. See its log.")
    fake = FakeRay(failed, times=2)
    assert connect(fake, f"ray://{listening}", None, pytest.fail)
    assert len(fake.addresses) == 3
    there = "The cluster was started with:\n    Ray: 2.50.0\n    Python: 3.12.1\n"
    for error, reason in {
        failed: "Ray says: RuntimeError: Starting Ray client server failed. See its log.",
        ConnectionError("anything\nelse"): "Ray says: anything else",
        ray.exceptions.AuthenticationError("no authentication token was found"): "It asks for its token. Set RAY_AUTH",
        RuntimeError(f"Version mismatch: {there}"): "It has other versions than this machine: The cluster was started "
        "with: Ray: 2.50.0 Python: 3.12.1. Install the same versions of Ray and Python.",
    }.items():
        with pytest.raises(InputError) as raised:
            connect(FakeRay(error), listening, None, pytest.fail)
        assert str(raised.value).startswith(f"No connection to the Ray cluster at {listening}. {reason}")
