"""Input that coarsening accepts and refuses."""

import numpy as np
import pytest
import scipy.sparse as sp
from coarsen_graphs import real_graph

from hiergcn.coarsening import CoarsenConfig, Level, coarsen
from hiergcn.errors import InputError
from hiergcn.graph import Graph


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("strategy", "hcgn"),
        ("strategy", 7),
        ("similarity", "weight"),
        ("isolated", "drop"),
        ("equivalence_limit", 0),
        ("equivalence_limit", 2.0),
        ("max_node_weight", -1),
        ("max_node_weight", True),
        ("loops_are_neighbours", 1),
        ("seed", -1),
        ("seed", None),
    ],
)
def test_config_names_the_wrong_field(field: str, value: object) -> None:
    with pytest.raises(InputError, match="grouping strategy 'hcgn'" if value == "hcgn" else field):
        CoarsenConfig(**{field: value})  # type: ignore[arg-type]


@pytest.mark.parametrize("levels", [-1, 1.5, True, "4"])
def test_levels_must_be_a_count(levels: object) -> None:
    with pytest.raises(InputError, match="levels must be"):
        coarsen(real_graph(5, 0.5, 0), levels)  # type: ignore[arg-type]


def test_bad_adjacency() -> None:
    with pytest.raises(InputError, match="sparse"):
        coarsen(np.eye(3), 1)
    with pytest.raises(InputError, match="symmetric"):
        coarsen(sp.csr_array([[0, 1], [2, 0]]), 1)


def test_any_sparse_matrix_will_do() -> None:
    expected = coarsen(real_graph(30, 0.2, 0), 2)
    for form in (sp.coo_array, sp.csc_matrix, sp.lil_array):
        assert repr(coarsen(form(real_graph(30, 0.2, 0)), 2)) == repr(expected)
    assert repr(coarsen(Graph(real_graph(30, 0.2, 0)), 2)) == repr(expected)


@pytest.mark.parametrize("n", [1, 5])
def test_a_graph_without_edges_cannot_be_coarsened(n: int) -> None:
    hierarchy = coarsen(sp.csr_array((n, n)), 3)
    assert hierarchy.depth == 0
    assert hierarchy.requested == 3
    assert coarsen(sp.csr_array((n, n)), 3, CoarsenConfig(isolated="merge")).depth == (1 if n > 1 else 0)


def test_on_level_sees_each_coarser_level() -> None:
    seen: list[tuple[int, int]] = []

    def on_level(index: int, level: Level) -> None:
        seen.append((index, level.n_nodes))

    hierarchy = coarsen(real_graph(50, 0.1, 0), 3, on_level=on_level)
    assert seen == list(enumerate(hierarchy.sizes().nodes))[1:]
