import numpy as np
import pytest

import caltest as ct


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
