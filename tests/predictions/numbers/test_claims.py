import numpy as np
import pytest
from scipy import stats

import caltest as ct


def test_outcomes_that_are_slightly_too_high_are_so_in_predicted_standard_deviations():
    """Not in those of normal scores, of which a law with two humps makes another number."""
    law = ct.Mixture([ct.Normal(np.full(50, -3.0), 0.5), ct.Normal(np.full(50, 3.0), 0.5)], [0.5, 0.5])
    words, targets, _ = law.slightly_wrong(1, 2000)
    assert words == "outcomes 0.1 predicted standard deviations too high"
    assert targets.mean() == pytest.approx(0.1 * np.sqrt(9.25), abs=4.0 * np.sqrt(9.25 / targets.size))


def test_what_laws_of_numbers_claim_is_what_they_give_outcomes():
    """Of a law with jumps the probabilities are sums over its values; outcomes of all values say how often."""
    counts, normal = ct.Poisson(np.array([0.3, 2.0, 9.0])), ct.Normal(np.zeros(3), np.array([1.0, 2.0, 3.0]))
    y, values = np.array([1, 2, 30]), np.arange(100)[:, None]
    for law in (counts, normal):
        found, scores = law.claims(y)
        if law is counts:
            total = found.pop()
            assert (total.name, total.probability.tolist(), total.occurred.tolist()) == (
                "total count",
                counts.mean.tolist(),
                y.tolist(),
            )
        assert [one.name for one in found] == [
            *("inside the 50 % interval", "inside the 80 % interval", "inside the 95 % interval", "above the median")
        ]
        for one, level in zip(found, (0.5, 0.8, 0.95), strict=False):
            low, high = law.quantile((1.0 - level) / 2.0), law.quantile((1.0 + level) / 2.0)
            inside = (stats.poisson.pmf(values, counts.mean) * ((low <= values) & (values <= high))).sum(axis=0)
            assert one.probability == pytest.approx(inside if law is counts else np.full(3, level))
            assert one.occurred.tolist() == ((low <= y) & (y <= high)).tolist()
            assert (one.order == law.quantile(0.75) - law.quantile(0.25)).all()
        median = law.quantile(0.5)
        assert found[-1].probability == pytest.approx(1.0 - law.cdf(median))
        assert found[-1].occurred.tolist() == (y > median).tolist()
        assert (found[-1].margin, found[0].margin) == (0.04, 0.02)
        own = {one.name: one for one in scores}
        mean, variance = law.moments()
        error = own["root mean squared error"]
        assert error.claimed == pytest.approx(np.sqrt(variance.mean()))
        assert error.observed == pytest.approx(np.sqrt(np.square(y - mean).mean()))
        spread = own["predicted standard deviation"]
        assert (spread.claimed, spread.observed) == (pytest.approx(np.sqrt(variance).mean()), None)
