"""Size given features, in the settings of ``given_features``."""

import pytest
from grids import thinned

from .given_features import CALIBRATED, calibrated, pvalues
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
