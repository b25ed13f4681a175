"""Laws are noted to be rough just below the sizes that notes and docstrings name."""

import numpy as np
import pytest
from samples import TV

import caltest as ct

Y = np.arange(300) % 2
HALF, RARE = (ct.Bernoulli(np.full(300, p)) for p in (0.5, 0.1))
NORMAL = ct.Normal(np.zeros(300), 1.0)
LAWS = {
    # Sums of p (1 - p) of 10 and 50, five events in a group or an interval, ten observations.
    "Cox": (ct.CoxTest(), HALF, 40),
    "ECCE": (ct.ECCETest(), HALF, 200),
    "Hosmer and Lemeshow": (ct.HosmerLemeshowTest(1), HALF, 10),
    "quantiles": (ct.QuantileCalibrationTest([0.5]), NORMAL, 10),
    "Anderson and Darling": (ct.PITTest("AD"), NORMAL, 10),
    # An excess kurtosis of the sum of scores of (1 - 6 p q) / (n p q) = 0.5.
    "Spiegelhalter": (ct.SpiegelhalterTest(), RARE, 11),
    # Half the sum of 1 - sum_k p_k**2 of 10, 30 blocks, 10 clusters.
    "Pearson": (ct.PearsonSKCETest(TV), HALF, 40),
    "blocks": (ct.AsymptoticBlockSKCETest(TV, 2), HALF, 60),
    "clusters": (lambda p, y: ct.ClusterSKCETest(np.arange(len(y)) // 2, TV, 9)(p, y, rng=1), HALF, 19),
}


@pytest.mark.parametrize("name", LAWS)
def test_cautions_begin_below_a_size(name):
    test, predictions, enough = LAWS[name]
    few, many = (test(predictions.take(np.arange(n)), Y[:n]).notes for n in (enough - 1, enough))
    assert any("only" in note for note in few)
    assert not any("only" in note for note in many)
