"""Export of a run to ONNX: its networks after propagation in one file, and their inputs in another.

The file gives what `hiergcn predict` gives. It runs without torch and hiergcn: `examples/onnx_runtime.py` needs numpy
and onnxruntime alone.

The operations of a network are recorded while it predicts once. Weights become part of the file. So does the graph
(adjacency, groupings). What follows from the features without any weight, such as propagated features, is an input: the
file begins where propagation ends, if the network propagates first. `torch.onnx.export` would put all of that into the
file, cannot record compiled kernels, and needs a further package (onnxscript).
"""

from collections.abc import Callable
from functools import partial, reduce
from hashlib import sha256
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from hiergcn.errors import InputError, MissingPackageError
from hiergcn.files import written_whole
from hiergcn.graph import Graph
from hiergcn.model.method import Features, activated
from hiergcn.model.ops.sparse import SparseMatrix
from hiergcn.run.predict import Model, in_order, training_graph
from hiergcn.run.run import Run
from hiergcn.workers.machine import plain_torch

OPSET = 18
FLOOR = 1e-8  # of a probability, as in calibration
LARGEST = 2**28  # entries of a dense input


class Exported(NamedTuple):
    """The files of an export."""

    model: Path
    inputs: Path
    shapes: dict[str, tuple[int, ...]]
    """The inputs of the network, by name."""
    any_nodes: bool
    """Whether the network takes any number of nodes; else the graph of the run is part of the file."""
    output: str


@plain_torch()
def export_onnx(run: Run, graph: Graph, path: Path) -> Exported:
    """Write the networks of a run to `path`, and their inputs, ids and class names to an .npz beside it."""
    try:
        import onnx
    except ImportError:
        raise MissingPackageError(
            "The export needs onnx, which is not installed; run pip install onnx onnxruntime."
        ) from None

    inputs = path.with_suffix(".npz")
    for file in (path, inputs):
        if file.exists():
            raise InputError(f"{file} exists already; name another file or move that one away.")
    model = run.model
    if not any(member.uses_features for member in model.members):
        names = ", ".join(dict.fromkeys(member.settings.method for member in model.members))
        raise InputError(f"{run.path} answers with labels alone ({names}): there is no network to export.")
    ordered, _ = in_order(model.encoded(training_graph(run, graph)))
    recorder, output = _Recorder(), model.target.output_name
    made = recorder.model(_answer(recorder, model, ordered), output, model.target.n_outputs)
    about = {"ids": ordered.ids.astype(str), "class_names": np.array(model.target.names, dtype=str)}
    with written_whole(path) as part:
        onnx.save(made, str(part))
    with written_whole(inputs) as part, part.open("wb") as stream:
        np.savez_compressed(stream, **about, **recorder.inputs)  # type: ignore[arg-type]
    shapes = {name: array.shape for name, array in recorder.inputs.items()}
    return Exported(path, inputs, shapes, recorder.any_nodes, output)


def largest_difference(exported: Exported, run: Run) -> float | None:
    """Return the largest difference between the file and the run's own outputs; None without onnxruntime."""
    try:
        import onnxruntime
    except ImportError:
        return None
    with np.load(exported.inputs, allow_pickle=False) as saved:
        inputs = {name: saved[name] for name in exported.shapes}
        ids = saved["ids"]
    session = onnxruntime.InferenceSession(str(exported.model), providers=["CPUExecutionProvider"])
    (outputs,) = session.run(None, inputs)
    row_of = {name: row for row, name in enumerate(run.table["id"].astype(str))}
    return float(np.abs(outputs - run.probabilities[[row_of[name] for name in ids]]).max())


def _answer(recorder: "_Recorder", model: Model, graph: Graph) -> str:
    """Add the weighted mean of all members, as `Model.each_method` computes it."""
    add, methods = recorder.add, list[str]()
    networks = zip(model.members, model.each_on(graph, "cpu"), strict=True)
    for _, alike in groupby(networks, key=lambda pair: pair[0].settings):
        weight, parts = 0.0, list[str]()
        for member, (network, features) in alike:
            weight += member.share
            if not member.uses_features:  # labels alone: without weights, so their outputs are an input
                with torch.no_grad():
                    labels = activated(network(features)).numpy()
                recorder.any_nodes = False
                output = recorder.input(model.target.restored(labels), "labels")
            elif model.target.scale is None:
                output = add("Softmax", recorder.record(network, features), axis=-1)
            else:
                scaled = add("Mul", recorder.record(network, features), model.target.scale.std)
                output = add("Add", scaled, model.target.scale.mean)
            shares: Any = model.shares(member, graph)  # one per node in cross-validation, else one number
            if (shares == shares[0]).all():
                shares = shares[0, 0]
            else:
                recorder.any_nodes = False
            parts.append(add("Mul", output, shares))
        mean = add("Div", reduce(partial(add, "Add"), parts), weight)
        if member.temperature != 1:  # of probabilities alone
            mean = add("Softmax", add("Div", add("Log", add("Max", mean, FLOOR)), member.temperature), axis=-1)
        methods.append(add("Mul", mean, weight))
    return reduce(partial(add, "Add"), methods)


class _Recorder(TorchDispatchMode):
    """An ONNX graph, to which networks are added: each operation that depends on weights."""

    def __init__(self) -> None:
        from onnx import helper

        super().__init__()  # type: ignore[no-untyped-call]
        self._helper = helper
        self.nodes: list[Any] = []
        self.constants: dict[str, NDArray[Any]] = {}
        self.inputs: dict[str, NDArray[Any]] = {}
        self.any_nodes = True  # whether the number of nodes is left open
        self._names: dict[str, str] = {}  # by content: what several networks share is kept once
        self._weights: set[int] = set()  # tensors by their identity
        self._data: set[int] = set()  # that follow from the features
        self._live: dict[int, str] = {}  # that follow from weights: their names in the graph
        self._alive: list[Any] = []  # so that an identity is never given twice

    def add(self, kind: str, *inputs: Any, **attributes: Any) -> str:
        """Add an operation on names, tensors, arrays and numbers, and return the name of its result."""
        name = f"v{len(self.nodes)}"
        self.nodes.append(self._helper.make_node(kind, [self.name(value) for value in inputs], [name], **attributes))
        return name

    def name(self, value: Any) -> str:
        """Return the name of a value: of a result, an input, a weight or a constant."""
        if isinstance(value, str):
            return value
        if id(value) in self._live:
            return self._live[id(value)]
        if isinstance(value, Tensor):
            if id(value) in self._data:
                return self.input(value.numpy())
            self.any_nodes &= id(value) in self._weights or value.dim() == 0
            value = value.detach().numpy()
        array = np.asarray(np.float32(value) if isinstance(value, int | float) else value)
        return self.input(array.astype(np.float32 if array.dtype.kind == "f" else np.int64), "c", self.constants)

    def input(self, value: Any, name: str = "features", among: dict[str, NDArray[Any]] | None = None) -> str:
        """Return the name of an input, or constant, with this value, which is kept once for all networks."""
        among = self.inputs if among is None else among
        array = np.asarray(value, dtype=np.float32) if among is self.inputs else value
        key = f"{name} {array.dtype} {array.shape} {sha256(array.tobytes()).hexdigest()}"
        if key not in self._names:
            earlier = sum(other.startswith(name) for other in among)
            self._names[key] = name if earlier == 0 else f"{name}{earlier + 1}"
            among[self._names[key]] = np.ascontiguousarray(array)
        return self._names[key]

    def model(self, output: str, name: str, width: int) -> Any:
        """Return the finished model; `output`, (n, width), is called `name`."""
        from onnx import TensorProto, checker, numpy_helper

        self.nodes.append(self._helper.make_node("Identity", [output], [name]))
        n = "nodes" if self.any_nodes else len(next(iter(self.inputs.values())))
        shapes = {given: [n, *array.shape[1:]] for given, array in self.inputs.items()} | {name: [n, width]}
        *inputs, result = (self._helper.make_tensor_value_info(of, TensorProto.FLOAT, shapes[of]) for of in shapes)
        constants = [numpy_helper.from_array(array, of) for of, array in self.constants.items()]
        graph = self._helper.make_graph(self.nodes, "hiergcn", inputs, [result], constants)
        opsets = [self._helper.make_opsetid("", OPSET)]
        model = self._helper.make_model(graph, opset_imports=opsets, producer_name="hiergcn", ir_version=9)
        checker.check_model(model)
        return model

    def record(self, model: nn.Module, features: Features) -> str:
        """Add a network to the graph and return the name of its logits."""
        norms = (buffer for name, buffer in model.named_buffers() if "norm" in name)
        self._weights = {id(weight) for weight in (*model.parameters(), *norms)}
        graphs = (getattr(part, "graph", None) for part in model.modules())
        kept = (getattr(graph, "smoothed", None) for graph in graphs)  # propagated features of H-GCN+ and GRAND
        roots = [features.values if isinstance(features, SparseMatrix) else features]
        roots += [smoothed for smoothed in kept if smoothed is not None]
        self._data |= {id(root) for root in roots}
        self._alive += [model, *roots]
        with torch.no_grad(), _Kernels(self.sparse_product), self:
            logits = model(features)
        if id(logits) not in self._live:
            raise InputError("The network has no weights, so there is nothing to export.")
        return self._live[id(logits)]

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Add the operation if a weight is involved; else note whether its result follows from the features."""
        out, kwargs = func(*args, **(kwargs or {})), kwargs or {}
        given, results = (
            [leaf for leaf in tree_leaves(tree) if isinstance(leaf, Tensor)] for tree in ((args, kwargs), out)
        )
        self._alive += [*given, *results]
        if any(id(tensor) in self._live or id(tensor) in self._weights for tensor in given):
            name = func.__name__.partition(".")[0]
            operation = OPERATIONS.get(name) or OPERATIONS.get(name.removesuffix("_"))
            if operation is None:
                raise InputError(f"The network cannot be exported: ONNX export does not know its operation {name}.")
            names = operation(self, *args, **kwargs)
            self._live |= zip(map(id, results), names if isinstance(names, list) else [names], strict=False)
        elif any(id(tensor) in self._data for tensor in given):
            self._data |= {id(tensor) for tensor in results}
        return out

    def sparse_product(self, matrix: SparseMatrix, dense: Tensor) -> Tensor:
        """Return the product of a sparse matrix, (n, m), and a dense one; with weights, add it."""
        out, values, column = matrix.product(dense), matrix.values, matrix.pattern.column
        self._alive += [out, values, dense]
        n, row = matrix.shape[0], matrix.pattern.rows().numpy()
        if id(dense) not in self._live and id(dense) not in self._weights:
            self._data |= {id(out)} if {id(dense), id(values)} & self._data else set()
        elif id(values) in self._data:  # sparse features
            if n * len(dense) > LARGEST:
                raise InputError(
                    f"The features would be a dense table of {4e-9 * n * len(dense):.0f} GB, too large to export."
                )
            table = np.zeros((n, len(dense)), np.float32)
            table[row, column.numpy()] = values.numpy()
            self._live[id(out)] = self.add("MatMul", self.input(table), dense)
        else:
            self.any_nodes = False
            terms = self.add("Mul", self.add("Gather", dense, column.numpy(), axis=0), values.numpy()[:, None])
            zeros = self.add("Expand", 0.0, np.array([n, dense.shape[1]]))
            self._live[id(out)] = self.add("ScatterND", zeros, row[:, None], terms, reduction="add")
        return out


class _Kernels(TorchFunctionMode):
    """Gives the recorder the products of sparse matrices, which compiled kernels compute."""

    def __init__(self, record: Callable[[SparseMatrix, Tensor], Tensor]) -> None:
        super().__init__()
        self.record = record

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return self.record(*args) if func is SparseMatrix.product else func(*args, **(kwargs or {}))


def _two(kind: str) -> Callable[..., str]:
    def add(to: _Recorder, left: Any, right: Any, *, alpha: float = 1.0) -> str:
        return to.add(kind, left, right if alpha == 1 else to.add("Mul", right, alpha))

    return add


def _reduced(kind: str) -> Callable[..., str]:
    def add(to: _Recorder, tensor: Tensor, dims: Any = None, keepdim: bool = False, **_: Any) -> str:
        axes = range(tensor.dim()) if dims is None else [dims] if isinstance(dims, int) else dims
        return to.add(kind, tensor, np.array(axes), keepdims=int(keepdim))

    return add


def _reshaped(to: _Recorder, tensor: Tensor, shape: Any, *_: Any) -> str:
    """Leading sizes that stay are copied, so that the number of nodes may change."""
    sizes = list(torch.empty(tensor.shape, device="meta").reshape(list(shape)).shape)
    same = 0
    while same < min(len(sizes), tensor.dim()) and sizes[same] == tensor.shape[same]:
        same += 1
    return to.add("Reshape", tensor, np.array([0] * same + sizes[same:]))


def _split(to: _Recorder, tensor: Tensor, sizes: list[int], dim: int = 0) -> list[str]:
    ends = np.cumsum(sizes)
    spans = zip(ends - np.array(sizes), ends, strict=True)
    return [to.add("Slice", tensor, *(np.array([value]) for value in (*span, dim))) for span in spans]


OPERATIONS: dict[str, Callable[..., Any]] = {
    **{name: lambda to, tensor, *_, **__: to.name(tensor) for name in ("detach", "alias", "clone", "_to_copy")},
    **{name: _two(kind) for name, kind in (("add", "Add"), ("sub", "Sub"), ("mul", "Mul"), ("div", "Div"))},
    **dict.fromkeys(("view", "reshape", "_unsafe_view"), _reshaped),
    "relu": lambda to, tensor: to.add("Relu", tensor),
    "log": lambda to, tensor: to.add("Log", tensor),
    "clamp_min": lambda to, tensor, least: to.add("Max", tensor, least),
    "mm": _two("MatMul"),
    "addmm": lambda to, onto, left, right: to.add("Add", onto, to.add("MatMul", left, right)),
    "t": lambda to, tensor: to.add("Transpose", tensor, perm=[1, 0]),
    "sum": _reduced("ReduceSum"),
    "mean": _reduced("ReduceMean"),
    "logsumexp": _reduced("ReduceLogSumExp"),
    "logaddexp": lambda to, *both: to.add("ReduceLogSumExp", OPERATIONS["stack"](to, both), np.array([0]), keepdims=0),
    "_softmax": lambda to, tensor, dim, *_: to.add("Softmax", tensor, axis=dim),
    "_log_softmax": lambda to, tensor, dim, *_: to.add("LogSoftmax", tensor, axis=dim),
    "unsqueeze": lambda to, tensor, dim: to.add("Unsqueeze", tensor, np.array([dim])),
    "squeeze": lambda to, tensor, dim: to.add("Squeeze", tensor, np.atleast_1d(dim)),
    "cat": lambda to, parts, dim=0: to.add("Concat", *parts, axis=dim),
    "stack": lambda to, parts, dim=0: to.add(
        "Concat", *(to.add("Unsqueeze", part, np.array([dim])) for part in parts), axis=dim
    ),
    "index_select": lambda to, tensor, dim, index: to.add("Gather", tensor, index, axis=dim),
    "split_with_sizes": _split,
    **dict.fromkeys(
        ("native_batch_norm", "_native_batch_norm_legit_no_training"),
        lambda to, *args: to.add("BatchNormalization", *args[:5], epsilon=args[-1]),
    ),
}
"""How each operation of torch is written in ONNX."""
