"""Sums of h for redrawn labels in each of the ways, against estimates for each redraw."""

import numpy as np
import pytest

import caltest as ct
from caltest.hstatistics.redraws import of_labels
from caltest.hstatistics.redraws.of_all_families import redrawn_means

ROOT = np.random.default_rng(7).normal(size=(4, 4))
TARGETS = {
    "delta": ct.DeltaKernel(),
    "equal": ct.kernels.MatrixKernel(0.3 + 1.7 * np.eye(4)),
    "matrix": ct.kernels.MatrixKernel(ROOT @ ROOT.T),
}
SHARPNESS = {"some are likely": 1.0, "all are likely": 0.02, "none is likely": 50.0}


@pytest.mark.parametrize("are_faster", [True, False])
@pytest.mark.parametrize("unbiased", [True, False])
@pytest.mark.parametrize("sharpness", SHARPNESS.values(), ids=SHARPNESS)
@pytest.mark.parametrize("target_kernel", TARGETS.values(), ids=TARGETS)
def test_estimates_of_redraws_are_those_of_each(target_kernel, sharpness, unbiased, are_faster, monkeypatch):
    monkeypatch.setattr(of_labels, "features_are_faster", lambda *_: are_faster)
    rng = np.random.default_rng(8)
    p = rng.dirichlet(np.full(4, sharpness), 40)
    law, kernel = ct.Categorical(p), ct.ProductKernel(ct.ExponentialKernel(ct.TotalVariation(), 0.4), target_kernel)
    labels = np.concatenate([law.sample(1, size=3), rng.integers(0, 4, (2, 40))])
    estimator = ct.SKCE(kernel, unbiased=unbiased)
    expected = [estimator(law, one) for one in labels]
    assert estimator.estimates(law, labels) == pytest.approx(expected, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("sharpness", SHARPNESS.values(), ids=SHARPNESS)
def test_sums_of_several_kernels_are_those_of_each_in_both_ways(sharpness, monkeypatch):
    """Of 400 rows, which are more than a tile."""
    rng = np.random.default_rng(8)
    law = ct.Categorical(rng.dirichlet(np.full(4, sharpness), 400))
    labels = law.sample(1, size=7)
    kernels = [
        ct.ProductKernel(ct.ExponentialKernel(ct.TotalVariation(), b), ct.DeltaKernel()) for b in (0.2, 0.5, 1.0)
    ]
    expected = np.array([ct.SKCE(one).estimates(law, labels) for one in kernels])
    for compared in (-1.0, 2.0):
        monkeypatch.setattr(of_labels, "COMPARED", compared)
        assert redrawn_means(kernels, law, labels) == pytest.approx(expected, rel=1e-10, abs=1e-14)
