"""City-Networks: the streets of Paris, Shanghai, Los Angeles and London (Liang et al., 2025, arXiv 2503.09008).

The label of a node is the decile of its 16-hop eccentricity by street length. The features are those of the node and
the means of those of its edges, as the authors and PyG's `CityNetwork` use them by default.
"""

from pathlib import Path

import numpy as np

from hiergcn import Graph, InputError, Split

EDGES, FEATURES, LABELS = "edge_indices.pt", "node_features_augmented.pt", "10-chunk_16-hop_node_labels.pt"
MASKS = ("train_mask.pt", "valid_mask.pt", "test_mask.pt")
FILES = (EDGES, FEATURES, LABELS, *MASKS)
ADDRESS = "https://github.com/LeonResearch/City-Networks/raw/refs/heads/main/data"


def read_city_network(folder: Path, name: str, nodes: int) -> tuple[Graph, Split]:
    """Return the graph, made undirected, and the authors' split.

    Files of all cities have the same names and no known digest, so the number of nodes must be `nodes`.
    """
    from hiergcn.research import read_tensor  # imports torch

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
