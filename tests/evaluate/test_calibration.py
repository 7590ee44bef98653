"""Temperature and calibration error, against scipy and examples worked by hand."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from hiergcn.evaluate.calibration import Temperature, fit_temperature, reliability


def overconfident(m: int = 4000, factor: float = 3.0, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Labels drawn from softmax(z), and the probabilities that `factor` times as large logits claim."""
    rng = np.random.default_rng(seed)
    z = rng.normal(0.0, 1.5, (m, 4))
    truth = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    labels = (rng.random((m, 1)) > truth.cumsum(axis=1)).sum(axis=1)
    claimed = np.exp(factor * z) / np.exp(factor * z).sum(axis=1, keepdims=True)
    return claimed.astype(np.float32), labels


def test_a_planted_temperature_is_found() -> None:
    probabilities, labels = overconfident(factor=3.0)
    temperature = fit_temperature(probabilities, labels)
    assert temperature.value == pytest.approx(3.0, rel=0.05)
    before, after = reliability(probabilities, labels).error, reliability(temperature.of(probabilities), labels).error
    assert before > 0.15
    assert after < 0.03


def test_temperature_minimises_the_loss_like_scipy() -> None:
    probabilities, labels = overconfident(m=60, factor=0.7, seed=3)

    def loss(T: float) -> float:
        target = (60 * np.eye(4)[labels] + 1) / 64
        return -float((target * np.log(Temperature(T).of(probabilities))).sum(axis=1).mean())

    found = minimize_scalar(loss, bounds=(0.1, 10), method="bounded", options={"xatol": 1e-9}).x
    assert fit_temperature(probabilities, labels).value == pytest.approx(found, rel=1e-5)


def test_scaling_keeps_the_predicted_class_and_sums_to_one() -> None:
    probabilities, _ = overconfident(m=200)
    for T in (0.2, 5.0):
        scaled = Temperature(T).of(probabilities)
        np.testing.assert_allclose(scaled.sum(axis=1), 1.0)
        assert (scaled.argmax(axis=1) == probabilities.argmax(axis=1)).all()
    np.testing.assert_allclose(Temperature().of(probabilities), probabilities, rtol=1e-5)


def test_too_few_validation_nodes_leave_it_at_1() -> None:
    probabilities, labels = overconfident(m=19)
    few = fit_temperature(probabilities, labels)
    assert few.value == 1.0
    assert few.note is not None
    assert "19 validation nodes" in few.note
    probabilities, labels = overconfident(m=50)
    one = fit_temperature(probabilities, np.zeros_like(labels))
    assert one.value == 1.0
    assert one.note is not None
    assert "one class" in one.note


def test_perfect_validation_does_not_make_certain() -> None:
    """30 of 30 right is worth 31 of 32, the rule of succession, however sure the model was."""
    labels = np.arange(30) % 2
    for sure in (0.7, 1 - 1e-9):
        probabilities = np.where(np.eye(2)[labels] > 0, sure, 1 - sure)
        mended = fit_temperature(probabilities, labels).of(probabilities)
        np.testing.assert_allclose(mended.max(axis=1), 31 / 32, rtol=1e-6)


def test_probabilities_of_0() -> None:
    probabilities = np.tile(np.array([[1.0, 0.0]], dtype=np.float32), (40, 1))
    labels = np.arange(40) % 4 // 3  # a quarter is of the class that was held impossible
    temperature = fit_temperature(probabilities, labels)
    assert np.isfinite(temperature.value)
    assert np.isfinite(temperature.of(probabilities)).all()


def test_calibration_error_by_hand() -> None:
    """Two bins: three nodes at 0.9, two right, |0.9 - 2/3|; one at 0.6, wrong, 0.6."""
    probabilities = np.array([[0.9, 0.1], [0.9, 0.1], [0.9, 0.1], [0.4, 0.6]])
    curve = reliability(probabilities, np.array([0, 0, 1, 0]))
    assert curve.nodes.tolist() == [1, 3]
    np.testing.assert_allclose(curve.confidence, [0.6, 0.9])
    np.testing.assert_allclose(curve.accuracy, [0.0, 2 / 3])
    assert curve.error == pytest.approx((0.6 + 3 * (0.9 - 2 / 3)) / 4)


def test_full_confidence_is_in_the_last_bin() -> None:
    curve = reliability(np.array([[1.0, 0.0], [0.95, 0.05]]), np.array([0, 0]))
    assert curve.nodes.tolist() == [2]
