"""Errors for arguments that a call does not take say what it takes, and what takes them."""

import re

import numpy as np
import pytest

import caltest as ct
from caltest._basics.calls import own_errstate

P, Y = np.linspace(0.1, 0.9, 20), np.arange(20) % 2

CALLS = {
    "a function": (
        lambda: ct.calibration_test(P, Y, groups=Y),
        "calibration_test: got an argument 'groups', which belongs to ct.audit(), ct.calibration_by_group(); "
        "wanted predictions, targets, clusters, classes, missing, kernel",
    ),
    "a method of the result": (
        lambda: ct.calibration_test(P, Y, alpha=0.1),
        "calibration_test: got an argument 'alpha', which belongs to result.verdict(), ",
    ),
    "a name of another package": (lambda: ct.noise_floor(P, ct.ECE(), seed=1), "noise_floor: got an argument 'seed'; "),
    "bins of scikit-learn": (
        lambda: ct.ECE(n_bins=10),
        "ECE: got an argument 'n_bins', which is binning=ct.binning.UniformBinning(n_bins) or QuantileBinning(n_bins) ",
    ),
    "bins of a test": (
        lambda: ct.MonteCarloTest(ct.ECE(), n_bins=3),
        "MonteCarloTest: got an argument 'n_bins', which is ct.ECE(ct.binning.UniformBinning(n_bins)); wanted ",
    ),
    "a setting of what a test is made of": (
        lambda: ct.MonteCarloTest(ct.SKCE(), kernel=1),
        "MonteCarloTest: got an argument 'kernel', which belongs to SKCE(...), where it is made; wanted estimator, ",
    ),
    "data of an estimator": (
        lambda: ct.SKCE(features={"x": P}),
        "SKCE: got an argument 'features', which belongs to SKCE(...)(predictions, targets, features=...); wanted ",
    ),
    "a seed of a test": (
        lambda: ct.OmnibusTest(rng=1),
        "OmnibusTest: got an argument 'rng', which belongs to OmnibusTest(...)(predictions, targets, rng=...); wanted ",
    ),
    "a level of what comes of a test": (
        lambda: ct.OmnibusTest(alpha=0.1),
        "OmnibusTest: got an argument 'alpha', which belongs to result.verdict(), ",
    ),
    "a level of what comes of updates": (
        lambda: ct.SequentialCalibrationTest(alpha=0.1),
        "SequentialCalibrationTest: got an argument 'alpha', which belongs to result.curve(), result.first_",
    ),
    "no data under their names here": (
        lambda: ct.top_label(y_prob=P, y_true=Y),
        "top_label: got an argument 'y_prob'; wanted predictions, targets, classes",
    ),
    "a test that is called": (
        lambda: ct.MonteCarloTest(ct.ECE())(P, Y, seed=1),
        "MonteCarloTest: got an argument 'seed'; wanted predictions, targets, classes, features, rng, progress",
    ),
    "a setting of a test": (
        lambda: ct.MonteCarloTest(ct.ECE(), margin=1),
        "MonteCarloTest: got an argument 'margin', which belongs to ct.assert_calibrated(); wanted estimator, ",
    ),
    "a setting of the test in its call": (
        lambda: ct.MonteCarloTest(ct.ECE())(P, Y, n_resamples=9),
        "MonteCarloTest: got an argument 'n_resamples', which belongs to MonteCarloTest(...), where it is made",
    ),
    "names of classes in an update": (
        lambda: ct.SequentialCalibrationTest().update(P, Y, classes=["no", "yes"]),
        "update: got an argument 'classes', which belongs to SequentialCalibrationTest(...), where it is made; wanted ",
    ),
    "a setting of an estimator": (
        lambda: ct.ECE(bins=10),
        "ECE: got an argument 'bins'; wanted binning, metric, order",
    ),
    "what nearly all take": (
        lambda: ct.compare_pairs({"a": P}, Y, rng=1),
        "compare_pairs: got an argument 'rng'; wanted models, targets, ",
    ),
    "a parameter of a family": (lambda: ct.Normal(P, sd=1.0), "Normal: got an argument 'sd'; wanted mean, scale"),
    "a method": (
        lambda: ct.recalibration.TemperatureScaling().fit(P, Y, seed=1),
        "fit: got an argument 'seed'; wanted predictions, targets, classes",
    ),
    "no targets": (
        lambda: ct.calibration_test(P),
        "calibration_test: got no 'targets'; wanted predictions, targets, clusters, ",
    ),
    "three places": (
        lambda: ct.calibration_test("model", P, Y),
        "calibration_test: got 3 values, wanted predictions, targets, and by their names clusters, classes, missing",
    ),
    "a place too many": (lambda: ct.Ensemble(P, Y), "Ensemble: got 2 values, wanted members"),
    "a place too many in a call": (lambda: ct.ECE()(P, Y, Y, Y), "ECE: got 4 values, wanted predictions, targets"),
    "a place too many of what is made": (
        lambda: ct.MonteCarloTest(ct.ECE(), 99, 1),
        "MonteCarloTest: got 3 values, wanted estimator, n_resamples",
    ),
    "no setting": (
        lambda: ct.MonteCarloTest(n_resamples=99),
        "MonteCarloTest: got no 'estimator'; wanted estimator, n_resamples, as in ct.MonteCarloTest(ct.ECE()",
    ),
    "no scale": (
        lambda: ct.Normal(P),
        "Normal: got no 'scale'; wanted mean, scale, as in predicted = ct.Normal([0.0, 1.0, 3.0, 2.0], 0.5)",
    ),
    "half a kernel": (
        lambda: ct.ProductKernel(ct.GaussianKernel()),
        "ProductKernel: got no 'target_kernel'; wanted prediction_kernel, target_kernel",
    ),
    "no data": (
        lambda: ct.OmnibusTest()(P),
        "OmnibusTest: got no 'targets'; wanted predictions, targets, classes, features, rng, progress",
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_the_error_says_what_is_wanted(name):
    call, message = CALLS[name]
    with pytest.raises(TypeError, match=re.escape(message)):
        call()


def test_other_errors_of_type_are_as_they_are():
    @own_errstate
    def one(number, **more):
        return number + more["other"]

    with pytest.raises(TypeError, match="unsupported operand"):
        one(1, other="2")
