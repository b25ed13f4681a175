"""Size given features, in the settings of ``given_features``."""

import pytest
from grids import thinned

from .given_features import CALIBRATED, calibrated, pvalues
from .settings import band

pytestmark = [pytest.mark.statistical, pytest.mark.usefixtures("without_findings")]


@pytest.mark.parametrize(("kind", "n"), thinned(CALIBRATED, [("rare", 16)]))
def test_size_given_features(kind, n, replications):
    sets = replications(100, 2000)
    found = pvalues(lambda seed: calibrated(kind, n, seed), sets, 99)
    for alpha in (0.05, 0.01):
        low, high = band(sets, alpha, 0.999)
        assert low <= (found <= alpha).sum() <= high
