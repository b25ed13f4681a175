"""Size of the default test of many classes with kernels in blocks, whose redraws depend on the rows."""

import pytest
from grids import thinned

import caltest as ct
from caltest.estimators.combined.sums import many_classes

from .settings import COARSE, FINE, band, calibrated, rejections, spawn

pytestmark = [pytest.mark.statistical, pytest.mark.usefixtures("without_findings")]


@pytest.mark.full
@pytest.mark.parametrize("concentration", thinned([0.05, 1.0], [0.05]))
def test_size_in_blocks(concentration, replications, monkeypatch):
    for name, value in (("WORTH", 0), ("ALL_PAIRS", 50), ("LARGEST_BLOCK", 30), ("SMALLEST_BLOCK", 20)):
        monkeypatch.setattr(many_classes, name, value)
    n_simulations, alphas = replications(15, 5000), replications(COARSE, FINE)
    test = ct.OmnibusTest(n_resamples=replications(19, 99))

    def make(rng):
        return calibrated(rng, 80, 40, concentration)

    rejected = rejections(test, make, spawn(77, int(100 * concentration)), n_simulations, alphas)
    for count, alpha in zip(rejected, alphas, strict=True):
        low, high = band(n_simulations, alpha, 0.999)
        assert low <= count <= high
