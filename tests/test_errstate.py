"""What users call computes alike whatever they told ``numpy.seterr``."""

import inspect

import numpy as np
import pytest
from contracts import FAMILIES
from interruption import broken_at
from public import PUBLIC

import caltest as ct
from caltest._basics.calls import OwnErrstate

ONLY_DATA = {"bibtex", "load_digits_predictions", "class_model"}
"""Functions that compute nothing."""

SAMPLES = {family.__name__: make for family, make in FAMILIES.items()}


@pytest.mark.every(5)
@pytest.mark.parametrize("make", SAMPLES.values(), ids=SAMPLES)
def test_default_test_of_a_caller_who_lets_numpy_raise(make):
    sample = make()
    wanted = ct.calibration_test(sample.predictions, sample.targets, n_resamples=49, rng=1)
    with np.errstate(all="raise"):
        found = ct.calibration_test(sample.predictions, sample.targets, n_resamples=49, rng=1)
    assert (found.pvalue, found.statistic, found.estimate) == (wanted.pvalue, wanted.statistic, wanted.estimate)


def test_extreme_families_of_a_caller_who_lets_numpy_raise():
    with np.errstate(all="raise"):
        assert ct.LogNormal(0.0, 400.0).sample(rng=1).shape == (1,)
        assert ct.Normal([0.0], [1e-300]).cdf(np.array([1e300])) == 1.0
        assert ct.Gamma(1e-5, 1e-300).at_temperature(1e-5).scale[0] < 1e-304


def test_threads_of_a_caller_who_lets_numpy_raise(monkeypatch):
    """Threads begin with the settings of numpy; a kernel that underflows is none of an error there either."""
    monkeypatch.setattr("caltest._basics.threads.n_threads", lambda: 2)
    predictions = ct.Normal(np.arange(1200.0), 1e-3)
    kernel = ct.ProductKernel(ct.GaussianKernel(ct.Wasserstein(), 0.01), ct.GaussianKernel(bandwidth=0.01))
    with np.errstate(all="raise"):
        assert ct.SKCE(kernel)(predictions, np.arange(1200.0)) == 0.0


def test_all_public_functions_and_classes_that_compute_do_so():
    for name, thing in PUBLIC.items():
        if inspect.isfunction(thing) and thing.__name__ not in ONLY_DATA:
            assert hasattr(thing, "__wrapped__"), name
        if inspect.isclass(thing) and "__call__" in vars(thing):
            assert issubclass(thing, OwnErrstate), name


def test_calls_after_an_interrupted_one_compute_alike():
    """Wherever it is broken off."""
    predictions, targets = ct.Normal(np.arange(40.0), 1e-3), np.arange(40.0)
    kernel = ct.ProductKernel(ct.GaussianKernel(ct.Wasserstein(), 0.01), ct.GaussianKernel(bandwidth=0.01))
    test = ct.MonteCarloTest(ct.SKCE(kernel), n_resamples=3)
    line = 1
    while broken_at(lambda: test(predictions, targets, rng=1), line, KeyboardInterrupt):
        with np.errstate(all="raise"):
            assert ct.Normal([0.0], [1e-300]).cdf(np.array([1e300])) == 1.0
        line += 1 if line < 40 else 17
    assert line > 40
