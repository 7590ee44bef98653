"""Temperature and calibration error, against scipy and examples worked by hand."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from hiergcn.evaluate import calibration
from hiergcn.evaluate.calibration import Temperature, describe_calibration, fit_temperature, reliability


def drawn(m: int = 4000, factor: float = 1.0, classes: int = 4, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Labels drawn from softmax(z), and the probabilities that `factor` times as large logits claim."""
    rng = np.random.default_rng(seed)
    z = rng.normal(0.0, 1.5, (m, classes))
    z[np.arange(m), rng.integers(classes, size=m)] += np.log(classes)  # with many classes too, one stands out
    truth = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    labels = (rng.random((m, 1)) > truth.cumsum(axis=1)).sum(axis=1)
    claimed = np.exp(factor * z) / np.exp(factor * z).sum(axis=1, keepdims=True)
    return claimed.astype(np.float32), labels


@pytest.mark.parametrize("factor", [3.0, 0.4])
def test_over_and_under_confidence_are_mended_on_other_nodes(factor: float) -> None:
    temperature = fit_temperature(*drawn(factor=factor))
    assert temperature.value == pytest.approx(factor, rel=0.1)
    assert temperature.note is None
    probabilities, labels = drawn(factor=factor, seed=1)
    before, after = (
        reliability(probabilities, labels).error,
        reliability(temperature.scale(probabilities), labels).error,
    )
    assert before > 0.15
    assert after < 0.03


def test_temperature_minimises_the_penalised_loss_like_scipy() -> None:
    probabilities, labels = drawn(m=60, factor=4.0, seed=3)
    target = np.eye(4)[labels] + calibration.PRIOR / 60 * probabilities

    def loss(T: float) -> float:
        return -float((target * np.log(Temperature(T).scale(probabilities))).sum())

    found = minimize_scalar(loss, bounds=(0.1, 10), method="bounded").x
    assert found > 1.2
    steps = np.abs(np.log(calibration.CANDIDATES / found))
    assert fit_temperature(probabilities, labels).value == calibration.CANDIDATES[steps.argmin()]


def test_calibrated_probabilities_stay_as_they_are() -> None:
    fitted = [fit_temperature(*drawn(m=300, seed=seed)) for seed in range(40)]
    unchanged = [one for one in fitted if one.value == 1]
    assert len(unchanged) >= 36  # chance exceeds two standard errors in 1 of 20
    assert all(one.note is not None and "by more than chance" in one.note for one in unchanged)
    assert all(one.value == pytest.approx(1, abs=0.2) for one in fitted)


def test_many_classes_do_not_flatten_the_probabilities() -> None:
    """241 nodes, 150 classes: confidence was far too low, and must not fall further."""
    probabilities, labels = drawn(m=2241, factor=0.5, classes=150)
    temperature = fit_temperature(probabilities[:241], labels[:241])
    assert 0.4 < temperature.value < 0.75
    others, truth = probabilities[241:], labels[241:]
    assert reliability(temperature.scale(others), truth).error < reliability(others, truth).error / 2


def test_20_nodes_move_the_confidence_little() -> None:
    """The prior of 50 nodes outweighs them: calibrated probabilities stay almost calibrated, whatever is drawn."""
    others, truth = drawn(seed=99)
    before = reliability(others, truth).error
    fitted = [fit_temperature(*drawn(m=20, seed=seed)) for seed in range(60)]
    worse = [reliability(one.scale(others), truth).error - before for one in fitted]
    assert max(worse) < 0.08
    assert np.mean(worse) < 0.005
    strongly = [fit_temperature(*drawn(m=20, factor=6.0, seed=seed)).value for seed in range(60)]
    assert np.mean(np.array(strongly) > 1.2) > 0.3  # 20 nodes can show that a network is far too sure


def test_scaling_keeps_the_predicted_class_and_sums_to_one() -> None:
    probabilities, _ = drawn(m=200, factor=3.0)
    for T in (0.2, 5.0):
        scaled = Temperature(T).scale(probabilities)
        np.testing.assert_allclose(scaled.sum(axis=1), 1.0)
        assert (scaled.argmax(axis=1) == probabilities.argmax(axis=1)).all()
    np.testing.assert_allclose(Temperature().scale(probabilities), probabilities, rtol=1e-5)


def test_too_few_nodes_or_one_class_leave_it_at_1() -> None:
    few = fit_temperature(*drawn(m=19, factor=5.0))
    assert (few.value, few.note) == (1.0, "19 validation nodes are too few")
    probabilities, labels = drawn(m=50)
    one = fit_temperature(probabilities, np.zeros_like(labels))
    assert (one.value, one.note) == (1.0, "all validation nodes are of one class")
    np.testing.assert_array_equal(one.scale(probabilities), probabilities)


def test_calibration_error_by_hand() -> None:
    """Two bins: three nodes at 0.9, two right, |0.9 - 2/3|; one at 0.6, wrong, 0.6."""
    probabilities = np.array([[0.9, 0.1], [0.9, 0.1], [0.9, 0.1], [0.4, 0.6]])
    curve = reliability(probabilities, np.array([0, 0, 1, 0]))
    assert curve.nodes.tolist() == [1, 3]
    np.testing.assert_allclose(curve.confidence, [0.6, 0.9])
    np.testing.assert_allclose(curve.accuracy, [0.0, 2 / 3])
    assert curve.error == pytest.approx((0.6 + 3 * (0.9 - 2 / 3)) / 4)


@pytest.mark.parametrize(
    ("temperature", "before", "after", "text"),
    [
        (0.5, 0.229, 0.045, "temperature 0.50, fitted on validation nodes; the {} falls from 22.9 % to 4.5 %."),
        (0.9, 0.01, 0.02, "fitted on validation nodes; the {} rises from 1.0 % to 2.0 %, so it did not help there."),
        (1.1, 0.0301, 0.0302, "the {} stays at 3.0 %."),
        (1, 0.1, 0.1, "Confidence is not calibrated, because 12 validation nodes are too few; the {} is 10.0 %."),
    ],
)
def test_one_sentence_tells_what_calibration_did(temperature: float, before: float, after: float, text: str) -> None:
    figures = {"temperature": temperature, "ece_before": before, "ece_after": after, "on": "test"}
    described = describe_calibration(figures | {"note": "12 validation nodes are too few"})
    assert described.endswith(text.format("expected calibration error (ECE) on test nodes"))
