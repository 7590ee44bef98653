"""Weights of models in a mean: worked examples of both rules, and which rule applies."""

import numpy as np
import pytest

from hiergcn.evaluate.calibration import ENOUGH, combination_weights, greedy_weights, plausible_weights


def model(labels: np.ndarray, given: np.ndarray | float, n_classes: int = 2) -> np.ndarray:
    """Probabilities that give each label this probability and share the rest among the other classes."""
    given = np.broadcast_to(given, labels.shape)
    each = np.repeat((1 - given)[:, None] / (n_classes - 1), n_classes, axis=1)
    each[np.arange(len(labels)), labels] = given
    return each


def drawn(count: int, seed: int, models: int = 5, n_classes: int = 3) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    labels = rng.integers(n_classes, size=count)
    return rng.dirichlet(np.ones(n_classes), size=(models, count)), labels


@pytest.mark.parametrize("count", [1, 7, ENOUGH - 1, ENOUGH, 400])
@pytest.mark.parametrize("models", [1, 2, 6])
def test_weights_sum_to_1_and_are_not_negative(count: int, models: int) -> None:
    each, labels = drawn(count, seed=count, models=models)
    weights = combination_weights(list(each), labels)
    assert weights.shape == (models,)
    assert weights.sum() == pytest.approx(1.0)
    assert (weights >= 0).all()


@pytest.mark.parametrize("count", [20, ENOUGH])
@pytest.mark.parametrize("perfect", [1.0, 0.99])
def test_a_useless_model_is_left_out(count: int, perfect: float) -> None:
    """Also if the difference is the same at every node, so that it has no standard error."""
    labels = np.arange(count) % 2
    weights = combination_weights([model(labels, 1 - perfect), model(labels, perfect), model(labels, 0.5)], labels)
    assert weights.tolist() == [0.0, 1.0, 0.0]


@pytest.mark.parametrize("count", [20, ENOUGH])
def test_the_order_of_the_models_does_not_matter(count: int) -> None:
    each, labels = drawn(count, seed=3)
    order = np.array([3, 0, 4, 1, 2])
    np.testing.assert_allclose(
        combination_weights(list(each[order]), labels), combination_weights(list(each), labels)[order]
    )


def test_greedy_by_hand() -> None:
    """Two models, each sure of one half of the nodes and undecided on the other, are best in equal parts.

    The first is picked for being first, the second lowers the loss; no later mean is better than 1 to 1.
    """
    labels = np.zeros(4, dtype=np.int64)
    left, right = model(labels, np.array([0.9, 0.9, 0.5, 0.5])), model(labels, np.array([0.5, 0.5, 0.9, 0.9]))
    poor = model(labels, 0.1)
    assert greedy_weights(np.stack([left, right, poor]), labels).tolist() == [0.5, 0.5, 0.0]


def test_greedy_takes_a_model_more_than_once() -> None:
    """The loss of w a + (1 - w) b, 8 (0.5 - 0.3 w)² + (0.1 + 0.85 w)², is least if 1.4425 w = 1.115."""
    labels = np.zeros(9, dtype=np.int64)
    a, b = (model(labels, np.repeat(given, [8, 1])) for given in ([0.8, 0.05], [0.5, 0.9]))
    found = greedy_weights(np.stack([a, b]), labels)
    np.testing.assert_allclose(found, [1.115 / 1.4425, 0.3275 / 1.4425], atol=0.03)  # of at most 20 steps


@pytest.mark.parametrize("seed", range(10))
def test_greedy_is_never_worse_than_the_best_model(seed: int) -> None:
    each, labels = drawn(200, seed)

    def loss(weights: np.ndarray) -> float:
        wrong = np.tensordot(weights, each, 1) - np.eye(each.shape[2])[labels]
        return float((wrong**2).sum(axis=1).mean())

    assert loss(greedy_weights(each, labels)) <= min(loss(one) for one in np.eye(5)) + 1e-12


def test_plausible_by_hand() -> None:
    """Model b is as good as a at three nodes and wrong at the fourth.

    Right with 0.8 scores 1 - (0.04 + 0.04) / 2, wrong -(0.64 + 0.64) / 2: there it is 0.96 + 0.64 = 1.6 behind. With
    two nodes more, 1 behind and 1 ahead: mean 1.6 / 6, mean square 4.56 / 6, z² = 6 * 1.6² / (6 * 4.56 - 1.6²).
    """
    labels = np.zeros(4, dtype=np.int64)
    each = np.stack([model(labels, 0.8), model(labels, np.array([0.8, 0.8, 0.8, 0.2]))])
    b = np.exp(-3 * 2.56 / (6 * 4.56 - 2.56))
    np.testing.assert_allclose(plausible_weights(each, labels), [1 / (1 + b), b / (1 + b)])


def test_the_number_of_nodes_selects_the_rule() -> None:
    """The two rules disagree about equal models: greedy selection takes the first, the other rule both."""
    for count, expected in ((ENOUGH - 1, [0.5, 0.5]), (ENOUGH, [1.0, 0.0])):
        labels = np.arange(count) % 2
        assert combination_weights([model(labels, 0.7)] * 2, labels).tolist() == expected


@pytest.mark.parametrize("v", [60, ENOUGH + 50])
def test_weights_prefer_what_predicts_the_numbers(v: int) -> None:
    rng = np.random.default_rng(v)
    truth = rng.standard_normal(v)
    good = [truth + 0.3 * rng.standard_normal(v) for _ in range(2)]
    weights = combination_weights([one[:, None] for one in (*good, np.zeros(v))], truth)
    assert weights[2] <= 0.1  # a little of the mean shrinks the noise
    assert weights.sum() == pytest.approx(1.0)
    mean = weights[:2] @ np.stack(good)
    assert ((mean - truth) ** 2).mean() <= min(((one - truth) ** 2).mean() for one in good) + 1e-12
