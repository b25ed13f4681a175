"""Maps recognise the rows of their fit."""

import numpy as np
import pytest
from printed import unfolded

import caltest as ct
from caltest.recalibration import FamilyTemperatureScaling, Isotonic, QuantileRecalibration, TemperatureScaling, report
from caltest.recalibration.shared.seen import digest, moment_rows


def problem(n, seed=1, k=3):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(k), n)
    return p, np.array([rng.choice(k, p=row) for row in p])


@pytest.mark.parametrize("n", [20, 5000])
def test_the_share_of_rows_is_found(n):
    p, y = problem(n)
    others = problem(n, seed=2)[0]
    fitted = TemperatureScaling().fit(p, y)
    assert fitted.fitted_rows.size == min(n, 1000)
    assert 0.0 <= fitted.fitted_rows[0] < fitted.fitted_rows[-1] < 1.0
    assert fitted.fitted_rows[-1] == pytest.approx(min(n, 1000) / n, rel=0.2)
    assert fitted.share_seen(p[::-1]) == 1.0
    assert fitted.share_seen(others) == fitted.share_seen(p[:1]) == 0.0
    mixed = np.concatenate([p, others[: n // 2]])
    assert fitted.share_seen(mixed) == pytest.approx(2.0 / 3.0, abs=0.05)


def test_rounded_rows_are_not_recognised():
    rng = np.random.default_rng(1)
    p = rng.random(1000).round(2)
    fitted = Isotonic().fit(p, rng.random(1000) < p)
    assert fitted.fitted_rows.size == 0
    assert fitted.share_seen(p) == 0.0


@pytest.mark.parametrize(("n_pairs", "n_kept"), [(0, 100), (2, 98), (3, 0)])
def test_up_to_five_percent_of_the_rows_may_repeat(n_pairs, n_kept):
    rows = np.arange(100.0)[:, None]
    rows[:n_pairs] = rows[50 : 50 + n_pairs]
    assert digest(rows).size == n_kept


@pytest.mark.usefixtures("without_findings")
def test_results_say_that_rows_were_used_in_the_fit():
    p, y = problem(100)
    fitted = TemperatureScaling().fit(p, y)
    test = ct.calibration_test(fitted(ct.Categorical(p)), y, n_resamples=19, rng=1)
    assert "Note: 100 % of the rows are among those that the recalibration map was fitted to" in unfolded(test)
    assert "100 % of the rows" in unfolded(report(p, y, fitted, n_resamples=9, rng=1))
    others = problem(100, seed=2)
    assert "rows are among" not in unfolded(report(*others, fitted, n_resamples=9, rng=1))
    assert "rows are among" not in unfolded(report(p, y, TemperatureScaling(), n_resamples=9, rng=1))
    assert "were they?" in unfolded(ct.calibration_test(*others, n_resamples=9, rng=1))


def test_maps_of_numbers_recognise_their_rows():
    rng = np.random.default_rng(1)
    mean, others = rng.normal(size=(2, 60))
    y = mean + 2.0 * rng.normal(size=60)
    for method in (FamilyTemperatureScaling(), QuantileRecalibration([0.1, 0.9])):
        fitted = method.fit(ct.Normal(mean, 1.0), y)
        assert fitted.share_seen(ct.Normal(mean, 1.0)) == 1.0
        assert fitted.share_seen(ct.Normal(others, 1.0)) == 0.0
        assert "100 % of the rows" in fitted(ct.Normal(mean, 1.0)).notes[-1]
        assert fitted(ct.Normal(others, 1.0)).notes == ()


def test_laws_without_moments_have_no_rows():
    assert moment_rows(ct.StudentT([1.5, 3.0], [0.0, 1.0], 1.0)).size == 0
    assert moment_rows(ct.StudentT([2.5, 3.0], [0.0, 1.0], 1.0)).shape == (2, 2)
