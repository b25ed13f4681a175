"""Predictions of a wide residual network: a quarter of its confidences on CIFAR-10 are exactly 1."""

import numpy as np
import pytest

import caltest as ct


def predictions(folder, n):
    file = folder / "wideresnet-16-4.npz"
    if not file.is_file():
        pytest.skip(f"no predictions: {file} does not exist")
    arrays = np.load(file)
    return arrays["predictions"][:n].astype(float), arrays["ground_truth"][:n]


def test_top_label_on_cifar10(cifar10):
    """Densities keep the rows with confidence 1, so all functions agree."""
    p, y = predictions(cifar10, 5000)
    assert np.mean(p.max(axis=1) == 1.0) > 0.2
    result = ct.estimate_calibration_error(p, y, "top_label", rng=1)
    best = result.selections[0].best
    assert len(best) == 7
    assert all(one.risk < 1.03 * result.selected.risk for one in best)
    smooth = [one.squared_error for one in best if one.estimator != "binning"]
    assert max(smooth) < 1.25 * min(smooth)
    assert result.selections[0].zero.excess > 2 * result.selections[0].zero.excess_error
    confidence, correct = ct.top_label(p, y)
    plug_in = ct.risk.DebiasedBinnedErrorFunction(15).plug_in(confidence, correct)
    assert result.squared_error == pytest.approx(plug_in, abs=3 * result.standard_error)
    # By Jensen's inequality the squared error is at least the square of the mean deviation.
    assert result.squared_error > np.mean(confidence.probability - correct) ** 2


def test_all_classes_of_cifar100(cifar10, replications):
    """A thousand observations are too few to estimate the error of a hundred classes: the result has to say so."""
    p, y = predictions(cifar10.parent / "cifar100", 1000)
    functions = replications([ct.risk.KroneckerRidgeErrorFunction()], None)
    result = ct.estimate_calibration_error(p, y, error_functions=functions, rng=1)
    selection = result.selections[0]
    assert any("landmarks stand for the kernel" in note for note in result.notes)
    assert "does not show that the estimate is better than 0" in result.notes[0]
    assert np.isfinite([(one.risk, one.standard_error, one.excess_error) for one in selection.candidates]).all()
