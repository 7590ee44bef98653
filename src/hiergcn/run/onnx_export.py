"""Export of a run to ONNX: its networks after propagation in one file, and their inputs in another.

The file gives what `hiergcn predict` gives. It runs without torch and hiergcn: `examples/onnx_runtime.py` needs numpy
and onnxruntime alone.
"""

from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from hiergcn.errors import InputError, MissingPackageError
from hiergcn.files import written_whole
from hiergcn.graph import Graph
from hiergcn.graph.order import canonical_order
from hiergcn.model.method import activated
from hiergcn.run.folder import LoadedRun
from hiergcn.run.predict import Member, SavedModel, training_graph

if TYPE_CHECKING:
    from hiergcn.run.onnx_trace import Builder

FLOOR = 1e-8  # of a probability, as in calibration


class Exported(NamedTuple):
    """The files of an export."""

    model: Path
    inputs: Path
    shapes: dict[str, tuple[int, ...]]
    """The inputs of the network, by name."""
    any_nodes: bool
    """Whether the network takes any number of nodes; else the graph of the run is part of the file."""
    output: str


def export_onnx(run: LoadedRun, graph: Graph, path: Path) -> Exported:
    """Write the networks of a run to `path`, and their inputs, ids and class names to an .npz beside it."""
    try:
        import onnx
    except ImportError:
        raise MissingPackageError(
            "The export needs onnx, which is not installed; run pip install onnx onnxruntime."
        ) from None
    from hiergcn.run.onnx_trace import Builder

    inputs = path.with_suffix(".npz")
    for file in (path, inputs):
        if file.exists():
            raise InputError(f"{file} exists already; name another file or move that one away.")
    model = run.model
    if not any(one.uses_features for one in model.members):
        names = ", ".join(dict.fromkeys(one.settings.method for one in model.members))
        raise InputError(f"{run.path} answers with labels alone ({names}): there is no network to export.")
    ordered = model.encoded(training_graph(run, graph))
    order = canonical_order(ordered.ids)
    ordered = ordered if order is None else ordered.reordered(order)
    build = Builder()
    output = "probabilities" if model.scale is None else "numbers"
    made = build.model(_answer(build, model, ordered), output, model.n_outputs)
    with written_whole(path) as part:
        onnx.save(made, str(part))
    with written_whole(inputs) as part:
        about = {"ids": ordered.ids.astype(str), "class_names": np.array(model.class_names, dtype=str)}
        with part.open("wb") as stream:
            np.savez_compressed(stream, **about, **build.inputs)  # type: ignore[arg-type]
    shapes = {name: array.shape for name, array in build.inputs.items()}
    return Exported(path, inputs, shapes, build.any_nodes, output)


def _answer(build: "Builder", model: SavedModel, graph: Graph) -> str:
    """Add the weighted mean of all members, as `SavedModel.each_method` computes it."""
    total = None
    pairs = zip(model.members, _outputs(build, model, graph), strict=True)
    for _, alike in groupby(pairs, key=lambda pair: pair[0].settings):
        weight, mean = 0.0, None
        for member, output in alike:
            weight += member.share
            share = model.shares(member, graph)
            part = build.add("Mul", output, _shares(build, share))
            mean = part if mean is None else build.add("Add", mean, part)
        assert mean is not None
        mean = _calibrated(build, build.add("Div", mean, build.constant(np.float32(weight))), member, model)
        part = build.add("Mul", mean, build.constant(np.float32(weight)))
        total = part if total is None else build.add("Add", total, part)
    assert total is not None
    return total


def _shares(build: "Builder", shares: NDArray[np.float64]) -> str:
    """Return the weight of a member: one number, or one per node if labels took turns."""
    if (shares == shares[0]).all():
        return build.constant(np.float32(shares[0, 0]))
    build.any_nodes = False
    return build.constant(shares)


def _calibrated(build: "Builder", mean: str, member: Member, model: SavedModel) -> str:
    if model.scale is not None or member.temperature == 1:
        return mean
    logits = build.add("Log", build.add("Max", mean, build.constant(np.float32(FLOOR))))
    return build.add("Softmax", build.add("Div", logits, build.constant(np.float32(member.temperature))), axis=-1)


def _outputs(build: "Builder", model: SavedModel, graph: Graph) -> list[str]:
    """Add every member and return the names of its probabilities, or numbers."""
    from hiergcn.run.onnx_trace import trace

    found = []
    for member, (network, features) in zip(model.members, model.each_network(graph, "cpu"), strict=True):
        if not member.uses_features:  # labels alone: without weights, so their outputs are an input
            with torch.no_grad():
                outputs = activated(network(features)).numpy()
            build.any_nodes = False
            found.append(build.input(outputs if model.scale is None else model.scale.restored(outputs), "labels"))
            continue
        logits = trace(build, network, features)
        if model.scale is None:
            found.append(build.add("Softmax", logits, axis=-1))
        else:
            scaled = build.add("Mul", logits, build.constant(np.float32(model.scale.std)))
            found.append(build.add("Add", scaled, build.constant(np.float32(model.scale.mean))))
    return found


def largest_difference(exported: Exported, run: LoadedRun) -> float | None:
    """Return the largest difference between the file and the run's own outputs; None without onnxruntime."""
    try:
        import onnxruntime
    except ImportError:
        return None
    with np.load(exported.inputs, allow_pickle=False) as saved:
        given = {name: saved[name] for name in exported.shapes}
        ids = saved["ids"]
    session = onnxruntime.InferenceSession(str(exported.model), providers=["CPUExecutionProvider"])
    (found,) = session.run(None, given)
    place = {name: row for row, name in enumerate(run.predictions["id"].astype(str))}
    own = run.probabilities[[place[name] for name in ids]]
    return float(np.abs(found - own).max())
