"""Size given features, in the settings of ``given_features``."""

import numpy as np
import pytest
from grids import thinned

from .given_features import CALIBRATED, calibrated, names, pvalues
from .settings import COARSE, FINE, band

pytestmark = [pytest.mark.statistical, pytest.mark.usefixtures("without_findings")]


@pytest.mark.parametrize(("kind", "n"), thinned(CALIBRATED, [("rare", 16)]))
@pytest.mark.parametrize("kernel", [False, True])
def test_size_given_features(kind, n, kernel, replications):
    sets = replications(15, 2000)
    found = pvalues(lambda seed: calibrated(kind, n, seed), sets, replications(19, 99), kernel=kernel)
    for alpha in replications(COARSE, FINE):
        low, high = band(sets, alpha, 0.999)
        # One number of few rare events has ties, which count as larger.
        assert (0 if kernel else low) <= (found <= alpha).sum() <= high


@pytest.mark.parametrize("size", [0.0, 0.8])
def test_right_features_are_named_seldom(size, replications):
    """Those of which predictions are right given all of them, and what is found without the wrong one."""
    sets = replications(10, 500)
    found = np.array([names("ties", 50, 7, size, seed) for seed in range(sets)])
    assert (found[:, [0, 2, 4]].sum(axis=0) <= band(sets, 0.05, 0.999)[1]).all()
    assert size == 0.0 or found[:, 3].mean() > 0.1
