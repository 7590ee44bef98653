"""A network's prediction as an ONNX graph: its operations are recorded while it runs once.

Three kinds of values meet in a network. Weights become part of the file. So does the graph (adjacency, groupings). What
follows from the features without any weight, such as propagated features, is an input. So the file begins where
propagation ends, if the network propagates first.
"""

from collections.abc import Callable
from hashlib import sha256
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from hiergcn.errors import InputError
from hiergcn.model.method import Features
from hiergcn.model.ops import cpu
from hiergcn.model.ops.sparse_features import SparseFeatures

OPSET = 18
LARGEST = 2**28  # entries of a dense input


class Builder:
    """The nodes, constants and inputs of an ONNX graph."""

    def __init__(self) -> None:
        from onnx import helper, numpy_helper

        self._helper, self._numpy = helper, numpy_helper
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.inputs: dict[str, NDArray[Any]] = {}
        self.any_nodes = True  # whether the number of nodes is left open
        self._names: dict[str, str] = {}  # by content: what several networks share is kept once
        self._count = 0

    def add(self, kind: str, *inputs: str, **attributes: Any) -> str:
        """Add an operation and return the name of its result."""
        self._count += 1
        name = f"v{self._count}"
        self.nodes.append(self._helper.make_node(kind, list(inputs), [name], **attributes))
        return name

    def constant(self, value: Any) -> str:
        """Return the name of a constant."""
        array = np.ascontiguousarray(value)
        array = array.astype(np.float32) if array.dtype.kind == "f" else array.astype(np.int64)

        def keep(name: str) -> None:
            self.constants.append(self._numpy.from_array(array, name))

        return self._once("c", array, keep)

    def input(self, value: NDArray[Any], name: str = "features") -> str:
        """Return the name of an input that has this value for the graph of the run."""
        array = np.ascontiguousarray(value, dtype=np.float32)
        return self._once(name, array, lambda own: self.inputs.__setitem__(own, array), readable=True)

    def _once(self, start: str, array: NDArray[Any], keep: Callable[[str], None], readable: bool = False) -> str:
        key = f"{start}{array.dtype}{array.shape}{sha256(array.tobytes()).hexdigest()}"
        if key not in self._names:
            number = sum(name.startswith(start) for name in self._names.values()) + 1
            self._names[key] = start if readable and number == 1 else f"{start}{number}"
            keep(self._names[key])
        return self._names[key]

    def model(self, output: str, name: str, width: int) -> Any:
        """Return the finished model; `output`, (n, width), is called `name`."""
        from onnx import TensorProto, checker

        self.nodes.append(self._helper.make_node("Identity", [output], [name]))
        n = "nodes" if self.any_nodes else len(next(iter(self.inputs.values())))
        described = [
            self._helper.make_tensor_value_info(own, TensorProto.FLOAT, [n, *array.shape[1:]])
            for own, array in self.inputs.items()
        ]
        result = [self._helper.make_tensor_value_info(name, TensorProto.FLOAT, [n, width])]
        graph = self._helper.make_graph(self.nodes, "hiergcn", described, result, self.constants)
        opsets = [self._helper.make_opsetid("", OPSET)]
        model = self._helper.make_model(graph, opset_imports=opsets, producer_name="hiergcn", ir_version=9)
        checker.check_model(model)
        return model


class _Kernels(TorchFunctionMode):
    """Shows the tracer what numba computes as operations of torch."""

    def __init__(self, tracer: "_Tracer") -> None:
        super().__init__()
        self.tracer = tracer

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is cpu.csr_product:
            return self.tracer.sparse_product(*args)
        if func is cpu.mix_channels:
            Z, w = args
            return (Z.unflatten(-1, (-1, w.shape[1])).relu() * w[:, None, None]).sum(-1)
        return func(*args, **(kwargs or {}))


class _Tracer(TorchDispatchMode):
    """Adds each operation that depends on weights to an ONNX graph."""

    def __init__(self, build: Builder, weights: set[int], features: list[Tensor]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.build, self.weights = build, weights
        self.live: dict[int, str] = {}  # by the tensor's identity: its name in the graph
        self.data: set[int] = {id(one) for one in features}
        self.alive: list[Any] = list(features)  # so that an identity is never given twice

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        self._record(out, func.__name__.partition(".")[0], args, kwargs)
        return out

    def _record(self, out: Any, name: str, args: Any, kwargs: Any) -> None:
        """Add the operation if a weight is involved; else remember whether its result follows from the features."""
        given = [one for one in tree_leaves((args, kwargs)) if isinstance(one, Tensor)]
        results = [one for one in tree_leaves(out) if isinstance(one, Tensor)]
        self.alive += [*given, *results]
        if any(id(one) in self.live or id(one) in self.weights for one in given):
            emit = getattr(_Operations, name.rstrip("_") if name.endswith("_") else name, None)
            emit = emit or getattr(_Operations, f"o{name}", None)
            if emit is None:
                raise InputError(f"The network cannot be exported: ONNX export does not know its operation {name}.")
            named = emit(self, *args, **(kwargs or {}))
            for one, own in zip(results, named if isinstance(named, list) else [named], strict=False):
                self.live[id(one)] = own
        elif any(id(one) in self.data for one in given):
            self.data |= {id(one) for one in results}

    def sparse_product(self, row_start: Tensor, column: Tensor, values: Tensor, dense: Tensor) -> Tensor:
        """Return the product of a sparse matrix, (n, m), and a dense one; with weights, by operations that ONNX has."""
        self.alive += [values, dense]
        n, width = row_start.numel() - 1, dense.shape[1]
        if id(dense) not in self.live and id(dense) not in self.weights:
            out = cpu.csr_product(row_start, column, values, dense)
            self.alive.append(out)
            self.data |= {id(out)} if {id(dense), id(values)} & self.data else set()
            return out
        row = torch.arange(n).repeat_interleave(row_start.diff())
        if id(values) not in self.data:
            return torch.zeros(n, width).index_add(0, row, dense.index_select(0, column.long()) * values[:, None])
        if n * len(dense) > LARGEST:
            raise InputError(
                f"The features would be a dense table of {4e-9 * n * len(dense):.0f} GB, too large to export."
            )
        table = torch.zeros(n, len(dense)).index_put((row, column.long()), values)  # sparse features
        return table @ dense

    def name(self, one: Any) -> str:
        """Return the name of a value: of a result, an input, a weight or a constant."""
        if not isinstance(one, Tensor):
            return self.build.constant(np.float32(one))
        if id(one) in self.live:
            return self.live[id(one)]
        if id(one) in self.data:
            return self.build.input(one.numpy())
        self.build.any_nodes &= id(one) in self.weights or one.dim() == 0
        return self.build.constant(one.detach().numpy())


def _same(kind: str) -> Callable[..., str]:
    return lambda tracer, one, *_, **__: tracer.build.add(kind, tracer.name(one))


def _two(kind: str) -> Callable[..., str]:
    def emit(tracer: _Tracer, left: Any, right: Any, *, alpha: float = 1.0) -> str:
        other = tracer.name(right)
        other = other if alpha == 1 else tracer.build.add("Mul", other, tracer.name(alpha))
        return tracer.build.add(kind, tracer.name(left), other)

    return emit


def _reduced(kind: str) -> Callable[..., str]:
    def emit(tracer: _Tracer, one: Tensor, dims: Any = None, keepdim: bool = False, **_: Any) -> str:
        axes = list(range(one.dim())) if dims is None else [dims] if isinstance(dims, int) else list(dims)
        return tracer.build.add(kind, tracer.name(one), tracer.build.constant(np.array(axes)), keepdims=int(keepdim))

    return emit


def _reshaped(tracer: _Tracer, one: Tensor, shape: Any, *_: Any) -> str:
    """Leading sizes that stay are copied, so that the number of nodes may change."""
    sizes = list(torch.empty(one.shape, device="meta").reshape(list(shape)).shape)
    same = 0
    while same < min(len(sizes), one.dim()) and sizes[same] == one.shape[same]:
        same += 1
    return tracer.build.add(
        "Reshape", tracer.name(one), tracer.build.constant(np.array([0] * same + [int(size) for size in sizes[same:]]))
    )


class _Operations:
    """How each operation of torch is written in ONNX; `_softmax` and the like are called `o_softmax`."""

    relu, log = map(_same, ("Relu", "Log"))
    detach = alias = clone = lift_fresh = o_to_copy = staticmethod(lambda tracer, one, *_, **__: tracer.name(one))
    add, sub, mul, div, mm = map(_two, ("Add", "Sub", "Mul", "Div", "MatMul"))
    sum, mean, logsumexp = map(_reduced, ("ReduceSum", "ReduceMean", "ReduceLogSumExp"))
    view = reshape = o_unsafe_view = staticmethod(_reshaped)

    @staticmethod
    def addmm(tracer: _Tracer, onto: Tensor, left: Tensor, right: Tensor, *, beta: float = 1, alpha: float = 1) -> str:
        assert beta == alpha == 1
        return tracer.build.add("Add", tracer.name(onto), _Operations.mm(tracer, left, right))

    @staticmethod
    def clamp_min(tracer: _Tracer, one: Tensor, least: float) -> str:
        return tracer.build.add("Max", tracer.name(one), tracer.name(least))

    @staticmethod
    def o_softmax(tracer: _Tracer, one: Tensor, dim: int, *_: Any) -> str:
        return tracer.build.add("Softmax", tracer.name(one), axis=dim)

    @staticmethod
    def o_log_softmax(tracer: _Tracer, one: Tensor, dim: int, *_: Any) -> str:
        return tracer.build.add("LogSoftmax", tracer.name(one), axis=dim)

    @staticmethod
    def unsqueeze(tracer: _Tracer, one: Tensor, dim: int) -> str:
        return tracer.build.add("Unsqueeze", tracer.name(one), tracer.build.constant(np.array([dim])))

    @staticmethod
    def squeeze(tracer: _Tracer, one: Tensor, dim: Any) -> str:
        axes = [dim] if isinstance(dim, int) else list(dim)
        return tracer.build.add("Squeeze", tracer.name(one), tracer.build.constant(np.array(axes)))

    @staticmethod
    def t(tracer: _Tracer, one: Tensor) -> str:
        return tracer.build.add("Transpose", tracer.name(one), perm=[1, 0])

    @staticmethod
    def cat(tracer: _Tracer, parts: list[Tensor], dim: int = 0) -> str:
        return tracer.build.add("Concat", *(tracer.name(one) for one in parts), axis=dim)

    @staticmethod
    def stack(tracer: _Tracer, parts: list[Tensor], dim: int = 0) -> str:
        return tracer.build.add("Concat", *(_Operations.unsqueeze(tracer, one, dim) for one in parts), axis=dim)

    @staticmethod
    def logaddexp(tracer: _Tracer, *both: Tensor) -> str:
        axis = tracer.build.constant(np.array([0]))
        return tracer.build.add("ReduceLogSumExp", _Operations.stack(tracer, list(both)), axis, keepdims=0)

    @staticmethod
    def index_select(tracer: _Tracer, one: Tensor, dim: int, index: Tensor) -> str:
        tracer.build.any_nodes = False
        return tracer.build.add("Gather", tracer.name(one), tracer.build.constant(index.numpy()), axis=dim)

    @staticmethod
    def slice(tracer: _Tracer, one: Tensor, dim: int = 0, start: int | None = None, end: Any = None) -> str:
        ends = [np.array([value]) for value in (start or 0, min(end or one.shape[dim], one.shape[dim]), dim)]
        return tracer.build.add("Slice", tracer.name(one), *map(tracer.build.constant, ends))

    @staticmethod
    def split_with_sizes(tracer: _Tracer, one: Tensor, sizes: list[int], dim: int = 0) -> list[str]:
        ends = np.cumsum(sizes)
        starts = ends - np.array(sizes)
        pairs = zip(starts.tolist(), ends.tolist(), strict=True)
        return [_Operations.slice(tracer, one, dim, start, end) for start, end in pairs]

    @staticmethod
    def o_native_batch_norm_legit_no_training(
        tracer: _Tracer, one: Tensor, scale: Tensor, shift: Tensor, mean: Tensor, variance: Tensor, _: float, eps: float
    ) -> str:
        parts = (tracer.name(part) for part in (one, scale, shift, mean, variance))
        return tracer.build.add("BatchNormalization", *parts, epsilon=eps)

    @staticmethod
    def native_batch_norm(tracer: _Tracer, *args: Any) -> str:
        return _Operations.o_native_batch_norm_legit_no_training(tracer, *args[:5], *args[6:8])

    @staticmethod
    def index_add(tracer: _Tracer, zeros: Tensor, _: int, index: Tensor, source: Tensor) -> str:
        tracer.build.any_nodes = False
        shape, rows = (tracer.build.constant(np.array(one)) for one in (zeros.shape, index.numpy()[:, None]))
        start = tracer.build.add("Expand", tracer.build.constant(np.float32(0.0)), shape)
        return tracer.build.add("ScatterND", start, rows, tracer.name(source), reduction="add")


def trace(build: Builder, model: nn.Module, features: Features) -> str:
    """Add a network to the graph and return the name of its logits."""
    weights = {id(one) for one in model.parameters()} | {
        id(one) for name, one in model.named_buffers() if "norm" in name
    }
    roots = [features.values if isinstance(features, SparseFeatures) else features]
    for part in model.modules():  # H-GCN+ and GRAND keep their propagated features with the graph
        smoothed = getattr(getattr(part, "graph", None), "smoothed", None)
        roots += [] if smoothed is None else [smoothed]
    tracer = _Tracer(build, weights, roots)
    with torch.no_grad(), _Kernels(tracer), tracer:
        logits = model(features)
    if id(logits) not in tracer.live:
        raise InputError("The network has no weights, so there is nothing to export.")
    return tracer.live[id(logits)]
