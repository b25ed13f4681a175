import numpy as np
import pytest
from scipy import stats

import caltest as ct
from caltest.predictions.alternatives import SCALES, SHIFTS


def pool(m, d=(), n=40, scale=1.0, seed=1):
    rng = np.random.default_rng(seed)
    members, outcomes = rng.normal(size=(n, m, *d)), scale * rng.normal(size=(n, *d))
    members[0], outcomes[0] = 2.0, 2.0  # without spread
    members[1], outcomes[1] = 3.0, -1e150
    members[2, 0] = outcomes[2]  # ties
    law = ct.Ensemble(members).pooled(outcomes)
    return law, law.check_targets(outcomes)


@pytest.mark.parametrize("d", [(), (3,)])
@pytest.mark.parametrize("m", [2, 9])
def test_ratios_of_all_values_have_mean_one(m, d):
    law, _ = pool(m, d)
    odds = law.odds()
    ratios = np.exp([odds.log_ratio_terms(law.members[:, j]) for j in range(m + 1)])
    assert np.isfinite(ratios).all()
    assert ratios.mean(axis=0) == pytest.approx(np.ones(ratios.shape[1:]), rel=1e-9)
    assert odds.weights.sum() == pytest.approx(1.0)


def test_ratios_are_those_of_student_t_of_residuals():
    """By scipy, value by value: the residual by the others, under t shifted or scaled, as a share of all values."""
    rng = np.random.default_rng(2)
    members, outcomes = rng.normal(size=(5, 4)), rng.normal(size=5)
    found = ct.Ensemble(members).pooled(outcomes).odds().log_ratio_terms(outcomes)
    for i, values in enumerate(np.column_stack([outcomes, members])):
        others = [np.delete(values, j) for j in range(5)]
        r = np.array([(v - o.mean()) / (o.std(ddof=1) * np.sqrt(1.25)) for v, o in zip(values, others, strict=True)])
        laws = [stats.t(3, sign * shift) for shift in SHIFTS for sign in (1, -1)] + [stats.t(3, 0, c) for c in SCALES]
        ratios = [law.pdf(r) / stats.t(3).pdf(r) for law in laws]
        assert found[:, i] == pytest.approx(np.log([5.0 * one[0] / one.sum() for one in ratios]))


def test_pairs_have_no_scale():
    assert pool(1)[0].odds() is None


def test_narrow_ensembles_are_found_by_those_who_bet_on_scales():
    rng = np.random.default_rng(5)
    centre = rng.normal(size=200)
    members, outcomes = centre[:, None] + rng.normal(size=(200, 20)), centre + 2.0 * rng.normal(size=200)
    for strategy, least in (("likelihood", 1e6), ("both", 1e6)):
        test = ct.SequentialCalibrationTest(strategy).update(ct.Ensemble(members), outcomes)
        assert test.evalue > least
    assert ct.SequentialCalibrationTest("likelihood").update(ct.Ensemble(members[:, 1:]), members[:, 0]).evalue < 20.0
