"""H-GCN against Section 3 of the paper, computed densely in numpy, and against PyG's layers."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from hiergcn.coarsening import CoarsenConfig, Hierarchy, coarsen
from hiergcn.errors import InputError
from hiergcn.graph.task import Task
from hiergcn.model.hgcn import HGCN, GraphConvolution, HGCNMethod
from hiergcn.model.levels import HierarchyTensors
from hiergcn.model.method import Labelled
from hiergcn.model.ops.sparse import SparseMatrix
from hiergcn.settings.methods import HGCNConfig
from hiergcn.settings.settings import settings_for

PAPER = HGCNConfig(levels=2, hidden=5, weight_embedding=3)
REFERENCE = replace(settings_for("hgcn", "reference").model, levels=2, hidden=5, weight_embedding=3)


@pytest.fixture
def adjacency() -> sp.csr_array:
    """Fourteen nodes, weighted, one isolated."""
    rng = np.random.default_rng(3)
    dense = np.triu(rng.random((14, 14)) < 0.25, 1) * rng.integers(1, 4, (14, 14))
    dense[:, 13] = 0
    return sp.csr_array((dense + dense.T).astype(np.float64))


@pytest.fixture
def features() -> np.ndarray:
    rng = np.random.default_rng(4)
    return (rng.random((14, 6)) * (rng.random((14, 6)) < 0.5)).astype(np.float32)


def network(hierarchy: Hierarchy, config: HGCNConfig, classes: int = 3) -> HGCN:
    levels = HierarchyTensors(hierarchy, config.levels, config.coarsening)
    model = HGCN(levels, 6, classes, config, torch.Generator().manual_seed(0))
    with torch.no_grad():  # channel weights that differ, so that mixing them up shows
        for name, parameter in model.named_parameters():
            if name.endswith(".w"):
                parameter.add_(torch.linspace(-0.3, 0.4, len(parameter)))
    return model.eval()


def layers_of(model: HGCN) -> list[GraphConvolution]:
    return [layer for layer in (*model.layers, model.output) if isinstance(layer, GraphConvolution)]


def convolve(A: np.ndarray, H: np.ndarray, layer: GraphConvolution) -> np.ndarray:
    """Eq. 1 for each channel, then Eq. 7; or, in the authors' code, Eq. 7 before the ReLU."""
    A_loops = A + np.eye(len(A))
    D = np.diag(A_loops.sum(axis=1) ** -0.5)
    theta = layer.theta.detach().numpy().astype(np.float64)
    w = np.ones(1) if layer.w is None else layer.w.detach().numpy()
    phi = np.zeros_like(theta) if layer.phi is None else layer.phi.detach().numpy().astype(np.float64)
    each = [(theta[:, j :: layer.channels], phi[:, j :: layer.channels]) for j in range(layer.channels)]
    Z = [D @ A_loops @ D @ H @ theta_j + H @ phi_j for theta_j, phi_j in each]
    if not layer.relu:
        return sum_of(w, Z)
    if layer.config.channel_mix == "before_relu":
        return sum_of(w, Z).clip(min=0)
    return sum_of(w, [Z_j.clip(min=0) for Z_j in Z])


def sum_of(w: np.ndarray, Z: list[np.ndarray]) -> np.ndarray:
    return np.asarray(sum(w_j * Z_j for w_j, Z_j in zip(w, Z, strict=True)))


def section_3(model: HGCN, hierarchy: Hierarchy, X: np.ndarray) -> np.ndarray:
    """Return the logits by the paper's equations, with its indices, in dense double precision."""
    config, L = model.config, model.hierarchy.depth
    l = 2 * L + 1  # noqa: E741  (the paper's letter)
    layer = dict(enumerate(layers_of(model), start=1))
    A = {i: hierarchy.levels[i - 1 if config.coarsening else 0].adjacency.toarray() for i in range(1, L + 2)}
    weight = {i: hierarchy.levels[i - 1 if config.coarsening else 0].node_weight for i in range(1, L + 2)}
    M = {i: hierarchy.grouping_matrix(i - 1).toarray() if config.coarsening else np.eye(14) for i in range(1, L + 1)}
    T = np.unique(np.concatenate([*weight.values()]))

    def with_embedding(H: np.ndarray, level: int) -> np.ndarray:  # [H ‖ S], S = V[node weight]
        if model.V is None:
            return H
        V = model.V.detach().numpy()
        return np.hstack([H, V[[list(T).index(w) for w in weight[level]]]])

    H, G = X.astype(np.float64), {}
    for i in range(1, L + 1):  # coarsening layers
        G[i] = convolve(A[i], with_embedding(H, i) if i > 1 or config.embed_input else H, layer[i])
        size = M[i].sum(axis=0)[:, None]
        H = M[i].T @ G[i] / {"sum": 1.0, "mean": size, "l2": np.sqrt(size)}[config.pooling]  # Eq. 4
    for i in range(L + 1, 2 * L + 1):  # refining layers
        G[i] = convolve(A[l - i + 1], with_embedding(H, l - i + 1), layer[i])
        H = M[l - i] @ G[i] + G[l - i]  # Eq. 6
    return convolve(A[1], H, layer[l])  # Eq. 8 without its softmax


@pytest.mark.parametrize(
    "config",
    [
        pytest.param(PAPER, id="paper"),
        pytest.param(REFERENCE, id="reference"),
        pytest.param(replace(PAPER, pooling="mean"), id="mean"),
        pytest.param(replace(PAPER, channels=1), id="one-channel"),
        pytest.param(replace(PAPER, weight_embedding=0), id="no-node-weights"),
        pytest.param(replace(PAPER, coarsening=False), id="no-coarsening"),
        pytest.param(replace(PAPER, output_relu=False, output_channels=2), id="output"),
        pytest.param(replace(PAPER, levels=0), id="no-levels"),
        pytest.param(replace(PAPER, own_weights=True), id="own-weights"),
        pytest.param(replace(REFERENCE, own_weights=True, channels=1), id="own-weights-one-channel"),
    ],
)
@pytest.mark.parametrize("sparse", [False, True])
def test_forward_is_the_papers_equations(
    adjacency: sp.csr_array, features: np.ndarray, config: HGCNConfig, sparse: bool
) -> None:
    hierarchy = coarsen(adjacency, config.levels, CoarsenConfig())
    model = network(hierarchy, config)
    X = SparseMatrix.from_scipy(sp.csr_array(features)) if sparse else torch.from_numpy(features)
    ours = model(X).detach().numpy()
    theirs = section_3(model, hierarchy, features)
    assert ours.shape == (14, 3)
    assert np.abs(theirs).max() > 1e-3  # not the trivial agreement of zeros
    np.testing.assert_allclose(ours, theirs, rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize(
    "config",
    [
        pytest.param(PAPER, id="paper"),
        pytest.param(replace(PAPER, pooling="mean", channels=1), id="one-channel"),
        pytest.param(replace(PAPER, weight_embedding=0), id="no-node-weights"),
        pytest.param(replace(PAPER, coarsening=False), id="no-coarsening"),
    ],
)
def test_the_receptive_field_suffices_for_the_loss(config: HGCNConfig) -> None:
    """The same draws, loss and gradients as with all rows."""
    ring = sp.csr_array(sp.coo_array((np.ones(300), (np.arange(300), np.roll(np.arange(300), 1))), shape=(300, 300)))
    hierarchy = coarsen(sp.csr_array(ring + ring.T), 3)
    nodes = torch.tensor([140, 7, 9])
    labelled = Labelled(nodes, torch.tensor([2, 0, 1]))
    X = torch.rand(300, 6, generator=torch.Generator().manual_seed(1))

    def result(few_rows: bool) -> list[torch.Tensor]:
        model = network(hierarchy, replace(config, levels=3, dropout=0.3, output_relu=False)).train()
        field = model.precompute(labelled)
        assert field is not None
        assert [level.inputs is not None for level in field] == [True] * 3 + [False]
        loss = model.objective(X, replace(labelled, cached=field if few_rows else None), 1)
        return [loss.detach(), *torch.autograd.grad(loss, list(model.parameters()))]

    for one, other in zip(result(True), result(False), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-6)
        assert one.abs().max() > 0


def test_features_of_another_shape_are_refused(adjacency: sp.csr_array) -> None:
    """Compiled operations would read beyond the end."""
    levels = HierarchyTensors(coarsen(adjacency, PAPER.levels), PAPER.levels)
    model = HGCN(levels, 6, 3, PAPER)
    for shape in ((14, 5), (14, 7), (13, 6), (15, 6)):
        with pytest.raises(InputError, match=rf"have the shape \({shape[0]}, {shape[1]}\); .* takes \(14, 6\)"):
            model(torch.zeros(shape))


def test_layers_are_twice_the_levels_and_one(adjacency: sp.csr_array) -> None:
    hierarchy = coarsen(adjacency, 2)
    model = network(hierarchy, PAPER)
    assert model.V is not None
    assert len(model.V) == len({int(w) for level in hierarchy.levels for w in level.node_weight})
    assert len(model.layers) + 1 == 2 * 2 + 1
    assert [layer.theta.shape[0] for layer in layers_of(model)] == [6 + 3, 5 + 3, 5 + 3, 5 + 3, 5]
    assert repr(model.layers[0]) == "GraphConvolution(9, 5, channels=4)"
    assert model.output.theta.shape == (5, 3)  # R^{d x |Y|}: no channels, no node weights


def test_rounded_weights_share_rows(adjacency: sp.csr_array) -> None:
    """Weights 1 to 14 in rows 1, 2, 4, 8 and 16; of two that are as near, the lower one."""
    none = np.empty(0, dtype=np.int64)
    hierarchy = coarsen(adjacency, 3)
    method = HGCNMethod(replace(PAPER, levels=3, round_weights=True))
    levels = method.prepare(
        Task(adjacency, np.ones((14, 2)), 3, none, none, none, none), hierarchy, torch.device("cpu")
    ).structure
    largest = int(hierarchy.levels[3].node_weight.max())
    assert largest > 2
    assert levels.weights.tolist() == [2**k for k in range(largest.bit_length() + 1)]
    for level, tensors in zip(hierarchy.levels, levels.levels, strict=True):
        rounded = levels.weights[tensors.weight_row.numpy()]
        nearest = np.abs(levels.weights[:, None] - level.node_weight).min(axis=0)
        np.testing.assert_array_equal(np.abs(rounded - level.node_weight), nearest)


OWN = replace(PAPER, own_weights=True)


@pytest.mark.parametrize("config", [PAPER, REFERENCE, OWN], ids=["paper", "reference", "own"])
@pytest.mark.parametrize("sparse", [False, True])
def test_gradients_agree_with_finite_differences(
    adjacency: sp.csr_array, features: np.ndarray, config: HGCNConfig, sparse: bool
) -> None:
    """The hand-written backward passes, in double precision, along random directions in each parameter."""
    model = network(coarsen(adjacency, 2), config).double()
    if sparse:
        single = SparseMatrix.from_scipy(sp.csr_array(features))
        X: SparseMatrix | torch.Tensor = replace(single, values=single.values.double())
    else:
        X = torch.from_numpy(features).double()
    labels = torch.arange(14) % 3

    def loss() -> torch.Tensor:
        return torch.nn.functional.cross_entropy(model(X), labels)

    loss().backward()
    draw = torch.Generator().manual_seed(1)
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        direction = torch.randn(parameter.shape, generator=draw, dtype=torch.float64)
        step = 1e-6
        with torch.no_grad():
            parameter.add_(direction, alpha=step)
            above = loss()
            parameter.sub_(direction, alpha=2 * step)
            below = loss()
            parameter.add_(direction, alpha=step)
        numeric = float(above - below) / (2 * step)
        assert float((parameter.grad * direction).sum()) == pytest.approx(numeric, rel=1e-4, abs=1e-8), name


def test_embedding_is_the_input_of_the_output_layer(adjacency: sp.csr_array, features: np.ndarray) -> None:
    model = network(coarsen(adjacency, 2), PAPER)
    H = model.embed(torch.from_numpy(features))
    assert H.shape == (14, 5)
    torch.testing.assert_close(model.output(model.hierarchy.levels[0], H), model(torch.from_numpy(features)))
