"""City-Networks: the streets of Paris, Shanghai, Los Angeles and London (Liang et al., 2025, arXiv 2503.09008).

The label of a node is the decile of its 16-hop eccentricity by street length. The features are those of the node and
the means of those of its edges, as the authors and PyG's `CityNetwork` use them by default.
"""

import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hiergcn import Graph, InputError, Split

EDGES, FEATURES, LABELS = "edge_indices.pt", "node_features_augmented.pt", "10-chunk_16-hop_node_labels.pt"
MASKS = ("train_mask.pt", "valid_mask.pt", "test_mask.pt")
FILES = (EDGES, FEATURES, LABELS, *MASKS)
ADDRESS = "https://github.com/LeonResearch/City-Networks/raw/refs/heads/main/data"


def read_city_network(folder: Path, name: str, nodes: int) -> tuple[Graph, Split]:
    """Return the graph, made undirected, and the authors' split.

    Files of all cities have the same names and no known digest, so the number of nodes must be `nodes`.
    """
    ends, features, labels = (read_tensor(folder / file) for file in (EDGES, FEATURES, LABELS))
    if features.ndim != 2 or len(features) != nodes:
        raise InputError(
            f"{folder / FEATURES} has shape {features.shape}, but {name} has {nodes:,} nodes; put the files of {name} "
            "into a folder of their own."
        )
    if ends.ndim != 2 or len(ends) != 2:
        raise InputError(f"{folder / EDGES} has shape {ends.shape}; put the original file with two rows there.")
    graph = Graph.from_edges(
        ends[0], ends[1], n=nodes, features=features, labels=labels.reshape(-1).astype(np.int64), name=name
    )
    return graph, Split.from_masks(*(read_tensor(folder / file) for file in MASKS))


def read_tensor(path: Path) -> NDArray[Any]:
    """Return the tensor in a file of `torch.save`. Anything else in it is refused, and no code in it runs."""
    import torch

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # on pickle protocols: the reason below says enough
            tensor = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # a damaged file can fail in any way
        reason = (str(error) or type(error).__name__).splitlines()[0]
        raise InputError(f"{path} cannot be read ({reason:.200}); put the original file there.") from error
    if not isinstance(tensor, torch.Tensor):
        raise InputError(f"{path} holds a {type(tensor).__name__}, not a tensor; put the original file there.")
    array: NDArray[Any] = tensor.detach().numpy()
    return array
