"""A library leaves its user's process as it found it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = '''
import gc, json, multiprocessing, os, pathlib, pickle, random, signal, sys, threading, warnings
import numba, numpy as np, pandas, scipy.sparse.csgraph, sklearn.linear_model, sklearn.cluster, torch._dynamo
try:
    import torch_geometric.nn  # what other libraries change when they are imported is theirs
except ImportError:
    pass

def command_of(pid):
    return pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()

def state():
    """Return what a fit could change, by name."""
    main = sys.modules["__main__"]
    children = pathlib.Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    return {
        "threads of torch": (torch.get_num_threads(), torch.get_num_interop_threads()),
        "threads of numba": numba.get_num_threads(),
        "grad mode": (torch.is_grad_enabled(), torch.is_inference_mode_enabled()),
        "defaults of torch": (torch.get_default_dtype(), torch.get_default_device()),
        "deterministic": (torch.are_deterministic_algorithms_enabled(), torch.get_float32_matmul_precision()),
        "denormals": float(torch.tensor(1e-39) * 1.0) != 0,
        "random state of torch": torch.get_rng_state().numpy().tobytes(),
        "random state of numpy": pickle.dumps(np.random.get_state()),
        "random state of Python": random.getstate(),
        "numpy's errors": (np.geterr(), np.get_printoptions()),
        "environment": dict(os.environ),
        "signals": {number: signal.getsignal(number) for number in signal.valid_signals()},
        "signal mask": signal.pthread_sigmask(signal.SIG_BLOCK, set()),
        "warnings": list(warnings.filters),
        "garbage collector": (gc.isenabled(), gc.get_threshold(), gc.get_freeze_count(), gc.get_debug()),
        "start method": multiprocessing.get_start_method(allow_none=True),
        "__main__": {name: value for name, value in vars(main).items() if name.startswith("__")},
        "path": list(sys.path),
        "folder": os.getcwd(),
        "hooks": (sys.excepthook, sys.displayhook, threading.excepthook, sys.gettrace(), sys.getrecursionlimit()),
        "streams": (sys.stdout, sys.stderr),
        "children": [pid for pid in children if b"resource_tracker" not in command_of(pid)],
        "threads": [thread.name for thread in threading.enumerate()],
    }

def replaced(before):
    """Return modules that have been replaced or deleted; those of Triton's launchers are its own."""
    ours = (name for name in before if not name.startswith("__triton"))
    return [name for name in ours if sys.modules.get(name) is not before[name]]

numba.get_num_threads()  # numba's OpenMP layer, where there is one, sets the threads of all when it starts
torch.set_num_threads(2)
torch.manual_seed(5), np.random.seed(5), random.seed(5)
import hiergcn
from hiergcn.train import trainer

trainer._WORTH_PROCESSES = 0.0  # so that seeds go to other processes
graph = hiergcn.planted_graph(200, classes=3, depth=1, homophily=0.9, noise=1.0, seed=0)
few = graph.with_labels(np.where(np.arange(200) % 5 == 0, graph.labels, -1), graph.class_names)
folder = pathlib.Path(sys.argv[1])
steps = {
    "coarsen": lambda: hiergcn.coarsen(graph, 2),
    "fit": lambda: hiergcn.fit(graph, "hgcn", seeds=3, workers=2, epochs=3).save(folder / "named"),
    "fit of PyG's method": lambda: "torch_geometric" in sys.modules and hiergcn.fit(graph, "gat", seeds=1, epochs=2),
    "automatic choice": lambda: hiergcn.fit(few, seeds=1, workers=2, time_limit=22, advise=True).save(folder / "auto"),
    "predict": lambda: hiergcn.load(folder / "named").predict_proba(graph),
    "explain": lambda: hiergcn.explain(folder / "named", node="3"),
    "suggest": lambda: hiergcn.suggest(few, 3),
    "report": lambda: hiergcn.report(folder / "auto"),
    "estimator": lambda: hiergcn.NodeClassifier("gcn", epochs=3).fit(graph).predict(graph),
}
found, before, modules = {}, state(), dict(sys.modules)
for name, step in steps.items():
    step()
    gc.collect()
    after = state()
    changed = [part for part in before if before[part] != after[part]]
    changed += [f"module {module}" for module in replaced(modules)]
    found[name] = {part: f"{before.get(part)!s:.300} -> {after.get(part)!s:.300}" for part in changed}
    before, modules = after, dict(sys.modules)
print(json.dumps(found))
'''


@pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")
def test_nothing_of_the_users_process_is_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Even of a script without a main guard, which is not run again by worker processes."""
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    script = tmp_path / "script.py"
    script.write_text(SCRIPT, encoding="utf-8")
    ran = subprocess.run([sys.executable, str(script), str(tmp_path)], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    changed = json.loads(ran.stdout.splitlines()[-1])
    assert len(changed) > 5
    assert not {step: what for step, what in changed.items() if what}
