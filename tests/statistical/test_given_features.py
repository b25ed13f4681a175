"""Size given features, in the settings of ``given_features``."""

import pytest
from grids import thinned

from .given_features import CALIBRATED, calibrated, pvalues
from .settings import COARSE, FINE, band

pytestmark = [pytest.mark.statistical, pytest.mark.usefixtures("without_findings")]


@pytest.mark.parametrize(("kind", "n"), thinned(CALIBRATED, [("rare", 16)]))
def test_size_given_features(kind, n, replications):
    sets = replications(15, 2000)
    found = pvalues(lambda seed: calibrated(kind, n, seed), sets, replications(19, 99))
    for alpha in replications(COARSE, FINE):
        low, high = band(sets, alpha, 0.999)
        assert low <= (found <= alpha).sum() <= high
