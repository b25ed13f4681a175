"""Numbers and counts whose predictions are partly those of other rows."""

import numpy as np
import pytest
from scipy import stats

import caltest as ct
from caltest.estimators.combined.findings import findings_of
from caltest.predictions.faults.other_rows import OtherRows
from caltest.predictions.inputs.convert import as_sample


def normal(rng, n):
    return ct.Normal(2.0 * rng.normal(size=n), np.exp(0.4 * rng.normal(size=n)))


def gamma(rng, n):
    return ct.Gamma(np.full(n, 3.0), np.exp(rng.normal(size=n)))


def poisson(rng, n):
    return ct.Poisson(np.exp(0.7 * rng.normal(size=n) + 1.0))


def scipys(rng, n):
    return ct.Continuous(stats.gumbel_r(3.0 * rng.normal(size=n), np.exp(0.4 * rng.normal(size=n))))


def first(predictions, outcomes):
    return findings_of(as_sample(predictions, outcomes))[0]


@pytest.mark.every(2)
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("make", [normal, gamma, poisson, scipys])
def test_predictions_of_other_rows_are_no_outliers(make, seed):
    rng = np.random.default_rng(seed)
    law = make(rng, 2000)
    y, rows = law.sample(rng), np.arange(2000)
    some = rng.random(2000) < 0.15
    rows[some] = rng.permutation(rows[some])
    found = first(law.take(rows), y)
    assert (found.kind, found.second) == ("other rows", None)
    assert found.estimate == pytest.approx(0.15, abs=0.07)
    assert found.words.endswith("of the outcomes do not follow their predictions, as if these were those of other rows")


@pytest.mark.parametrize("make", [normal, gamma, poisson])
def test_calibrated_outcomes_are_those_of_their_rows(make, replications):
    gains = []
    for seed in range(replications(10, 100)):
        rng = np.random.default_rng(seed)
        law = make(rng, 300)
        found = findings_of(as_sample(law, law.sample(rng)))
        gains += [one.gain for one in found if one.kind == "other rows"]
    assert np.mean(np.array(gains) > 0.0) < 0.03 if gains else True


def test_the_law_of_any_row_has_probability_one():
    law, w = ct.Poisson(np.array([1.0, 4.0, 2.0])), np.array([0.0, 1.0, 0.0])
    for u in range(30):
        p = stats.poisson.pmf(u, law.mean)
        found = OtherRows().log_ratio(law.faults(w).seen(np.array([[2, u, 1]])), 0, 0.3)
        assert np.exp(found) == pytest.approx(0.7 + 0.3 * p.mean() / p[1], rel=1e-9)
    numbers, w = ct.Normal(np.linspace(-3.0, 3.0, 400), 1.0), np.eye(400)[7]
    grid, ratios = np.linspace(-9.0, 9.0, 4001), []
    for y in grid:
        seen = numbers.faults(w).seen(np.full((1, 400), y))
        ratios.append(np.exp(OtherRows().log_ratio(seen, 0, 0.3)))
    assert np.trapezoid(ratios * stats.norm.pdf(grid, numbers.mean[7]), grid) == pytest.approx(1.0, abs=1e-3)


def test_equal_predictions_are_those_of_any_row():
    rng = np.random.default_rng(3)
    for law in (ct.Normal(np.zeros(500), 1.0), ct.Poisson(np.full(500, 2.0))):
        assert first(law, law.sample(rng)).kind != "other rows"
    assert np.isfinite(first(ct.Normal([0.0, 0.0], 1e-300), np.zeros(2)).gain)
