"""`torch_geometric.data.Data` objects. torch is imported only when a graph is converted to one."""

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hiergcn.errors import InputError, MissingPackageError
from hiergcn.graph.graph import Features, Graph
from hiergcn.graph.split import PARTS, Split
from hiergcn.graph.tables.label_columns import split_from_parts

MASKS = ("train_mask", "val_mask", "test_mask")


def graph_from_pyg(data: Any, name: str | None) -> Graph:
    """Implement `Graph.from_pyg`."""
    if not hasattr(data, "edge_index") or hasattr(data, "node_types"):
        raise InputError(f"A {type(data).__name__} is not a graph with one type of nodes; give PyG's Data.")
    if data.edge_index is None:
        raise InputError("The Data object has no edge_index; give two rows of node numbers.")
    ends = _numpy(data.edge_index)
    if ends.ndim != 2 or ends.shape[0] != 2:
        raise InputError(f"The edge_index has shape {ends.shape}; give two rows, the sources and the targets.")
    weight, attribute = getattr(data, "edge_weight", None), data.edge_attr
    if weight is None and attribute is not None and attribute.numel() == ends.shape[1]:
        weight = attribute
    weights = None if weight is None else _numpy(weight).reshape(-1)
    features = None if data.x is None else _features(data.x)
    n = int(data.num_nodes) if features is None else int(features.shape[0])
    labels, targets = (None, None) if data.y is None else _labels_or_targets(_numpy(data.y), n)
    ids = getattr(data, "ids", None)
    if ids is not None:
        ids = np.asarray(ids, dtype=None if hasattr(ids, "numpy") else object)
    names = tuple(getattr(data, "class_names", None) or ())
    name = name or str(getattr(data, "name", None) or "graph")
    graph = Graph.from_edges(
        ends[0], ends[1], weights, n, features=features, labels=labels, ids=ids, class_names=names, name=name
    )
    if targets is not None:
        graph = graph.with_targets(targets, str(getattr(data, "target_name", None) or "y"))
    split, notes = _split(data, graph)
    if attribute is not None and weight is None:
        notes = [
            *notes,
            f"edge_attr of shape {tuple(attribute.shape)} was not used; an edge has one weight, edge_weight",
        ]
    return replace(graph, split=split, notes=(*graph.notes, *notes))


def pyg_of(graph: Graph, sparse_features: bool, exact: bool) -> Any:
    """Implement `Graph.to_pyg`."""
    try:
        import torch
        from torch_geometric.data import Data
    except ImportError as error:
        raise MissingPackageError("Graph.to_pyg needs PyTorch Geometric; run pip install torch_geometric.") from error

    def tensor(values: NDArray[Any]) -> Any:
        found = torch.from_numpy(values.copy())
        return found if exact else found.to(torch.get_default_dtype())

    entries = graph.adjacency.tocoo()
    data = Data(
        edge_index=torch.from_numpy(np.stack(entries.coords).astype(np.int64)),
        num_nodes=graph.n_nodes,
        class_names=list(graph.class_names),
        name=graph.name,
        ids=torch.from_numpy(graph.ids.astype(np.int64)) if graph.ids.dtype.kind in "iu" else graph.ids.tolist(),
    )
    if (entries.data != 1).any():
        data.edge_weight = tensor(entries.data)
    if graph.labels is not None:
        data.y = torch.from_numpy(graph.labels.copy())
    if graph.targets is not None:
        data.y, data.target_name = tensor(graph.targets), graph.target_name
    for part, mask in zip(PARTS, MASKS, strict=True):
        if graph.split is not None:
            data[mask] = torch.from_numpy(np.isin(np.arange(graph.n_nodes), getattr(graph.split, part)))
    if isinstance(graph.features, np.ndarray):
        data.x = tensor(graph.features)
    elif graph.features is not None and not sparse_features:
        data.x = tensor(graph.features.toarray())
    elif graph.features is not None:
        matrix = graph.features
        rows, columns = (torch.from_numpy(part.astype(np.int64)) for part in (matrix.indptr, matrix.indices))
        values = tensor(matrix.data)
        data.x = torch.sparse_csr_tensor(rows, columns, values, size=matrix.shape, check_invariants=True)
    return data


def _numpy(tensor: Any) -> NDArray[Any]:
    array: NDArray[Any] = tensor.detach().cpu().numpy()
    return array


def _features(x: Any) -> Features:
    if str(x.layout) == "torch.strided":
        return _numpy(x if x.dim() > 1 else x.unsqueeze(1))
    rows = x.to_sparse_csr()
    parts = tuple(_numpy(part) for part in (rows.values(), rows.col_indices(), rows.crow_indices()))
    return sp.csr_array(parts, shape=tuple(rows.shape))


def _split(data: Any, graph: Graph) -> tuple[Split | None, list[str]]:
    """Return the split of the masks, if there are some of one split."""
    masks = [getattr(data, name, None) for name in MASKS]
    if graph.target.values is None or all(mask is None for mask in masks):
        return None, []
    part = np.full(graph.n_nodes, -1)
    for number, mask in enumerate(masks):
        if mask is None:
            continue
        chosen = _numpy(mask)
        if chosen.ndim == 2 and chosen.shape[1] > 1:
            several = f"the masks of {chosen.shape[1]} splits were not used"
            return None, [f"{several}; give one of them, Split.from_masks(..), to fit"]
        chosen = chosen.reshape(-1).astype(bool)
        if chosen.size != graph.n_nodes:
            raise InputError(
                f"The {MASKS[number]} has {chosen.size:,} entries for {graph.n_nodes:,} nodes; give one each."
            )
        twice = np.flatnonzero(chosen & (part >= 0))
        if twice.size:
            raise InputError(f"Node {twice[0]} is in two masks; take it out of one of them.")
        part[chosen] = number
    if masks[0] is None:  # then what is not kept for something else trains
        part[(graph.strata >= 0) & (part < 0)] = 0
    return split_from_parts(part, graph.strata, graph.ids, "its masks")


def _labels_or_targets(y: NDArray[Any], n: int) -> tuple[NDArray[Any] | None, NDArray[np.float64] | None]:
    """Return numbers, NaN if unknown, if y has fractions; else classes, -1 if unknown."""
    values = y[:, 0] if y.shape == (n, 1) else y
    if values.ndim == 2:
        raise InputError(f"The y has {values.shape[1]} columns; give one class per node, -1 if it is unknown.")
    if values.dtype.kind != "f":
        return values, None
    missing = np.isnan(values)
    if values.ndim == 1 and (values[~missing] != np.floor(values[~missing])).any():
        return None, values.astype(np.float64)
    return np.where(missing, -1, values).astype(np.int64), None
