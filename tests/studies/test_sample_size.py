"""Sample sizes against those with a closed form."""

import json
from math import ceil
from types import SimpleNamespace

import numpy as np
import pytest
from printed import unfolded
from scipy import stats
from scipy.special import ndtr, ndtri

import caltest as ct
from caltest.generators import Bias, DirichletModel, Distorted, GaussianModel, Resampled
from caltest.studies.sample_size import Crossing, Search, fitted_size

PREDICTIONS = ct.Normal([0.0], 1.0)


def mean_test(predictions, targets, rng):
    """One-sided test of the mean of standard normal targets."""
    return SimpleNamespace(pvalue=float(ndtr(-np.sqrt(len(targets)) * targets.mean())))


def two_sided(predictions, targets, rng):
    """The same for both sides."""
    return SimpleNamespace(pvalue=2.0 * float(ndtr(-np.sqrt(len(targets)) * abs(targets.mean()))))


def needed(bias, power=0.8, alpha=0.05):
    """The n with ``Phi(sqrt(n) bias - z_(1 - alpha)) = power``."""
    return ((ndtri(power) + ndtri(1 - alpha)) / bias) ** 2


class Interrupting:
    def __init__(self, at):
        self.left, self.calls = at, 0

    def __call__(self, predictions, targets, rng):
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt
        self.calls += 1
        return mean_test(predictions, targets, rng)


def model(bias):
    return Resampled(PREDICTIONS, Bias(bias))


class TestFit:
    @pytest.mark.parametrize("power", [0.5, 0.8, 0.95])
    def test_exact_powers_give_the_exact_size(self, power):
        m, expected = 10**9, needed(0.1, power)
        sizes = [round(expected * factor) for factor in (0.7, 0.9, 1.2, 1.5)]
        points = [(n, round(m * float(ndtr(0.1 * np.sqrt(n) - ndtri(0.95)))), m) for n in sizes]
        crossing = fitted_size(points, power, expected, 0.95)
        assert crossing.n == pytest.approx(expected, rel=1e-4)
        assert crossing.low < expected < crossing.high
        assert crossing.high - crossing.low < 0.001 * expected

    def test_interval_holds_where_the_line_is_not_significantly_off(self):
        """A search over n, with the covariance of another implementation of probit regression by Newton steps."""
        points = [(50, 110, 200), (70, 140, 200), (100, 180, 200)]
        crossing = fitted_size(points, 0.8, 70, 0.9)
        n, counts, totals = np.array(points, dtype=float).T
        x = np.stack([np.ones(3), np.sqrt(n)], axis=1)
        y, m = counts + 0.1, totals + 0.2
        b = np.zeros(2)
        for _ in range(50):
            mu, density = ndtr(x @ b), stats.norm.pdf(x @ b)
            information = (x.T * (m * density**2 / (mu * (1 - mu)))) @ x
            b = b + np.linalg.solve(information, x.T @ ((y - m * mu) * density / (mu * (1 - mu))))
        covariance = np.linalg.inv(information)
        grid = np.linspace(20, 200, 200_001)
        design = np.stack([np.ones_like(grid), np.sqrt(grid)])
        z = (b @ design - ndtri(0.8)) / np.sqrt(np.einsum("in,ij,jn->n", design, covariance, design))
        inside = grid[np.abs(z) <= ndtri(0.95)]
        assert crossing.n == pytest.approx(((ndtri(0.8) - b[0]) / b[1]) ** 2, rel=1e-6)
        assert (crossing.low, crossing.high) == pytest.approx((inside[0], inside[-1]), abs=0.002)

    def test_far_points_are_left_out_where_near_ones_suffice(self):
        near = [(80, 150, 200), (100, 160, 200), (125, 170, 200)]
        assert fitted_size([*near, (10, 199, 200)], 0.8, 100, 0.95) == fitted_size(near, 0.8, 100, 0.95)

    def test_powers_that_fall_have_no_crossing(self):
        assert fitted_size([(80, 170, 200), (100, 160, 200), (125, 150, 200)], 0.8, 100, 0.95) is None
        assert fitted_size([(80, 170, 200)], 0.8, 100, 0.95) is None

    def test_flat_powers_have_no_end(self):
        crossing = fitted_size([(80, 100, 200), (100, 101, 200), (125, 103, 200)], 0.8, 100, 0.95)
        assert crossing.high == np.inf

    @pytest.mark.parametrize(("power", "n"), [(0.3, 1.9175), (0.05, 0.0)])
    def test_sizes_below_nothing_are_nothing(self, power, n):
        """Where the line has the wanted probit only left of sqrt(n) = 0, or cannot be told from it there."""
        crossing = fitted_size([(4, 10, 20), (9, 15, 20), (12, 18, 20)], power, 6, 0.95)
        assert crossing[:2] == (pytest.approx(n, rel=0.001), 0.0)
        assert 0.0 < crossing.high < np.inf


class TestSearch:
    @pytest.mark.every(3)
    @pytest.mark.parametrize(("bias", "power", "alpha"), [(0.5, 0.8, 0.05), (0.1, 0.9, 0.05), (0.3, 0.6, 0.01)])
    def test_finds_the_size_of_the_closed_form(self, bias, power, alpha):
        result = ct.sample_size(mean_test, model(bias), power=power, alpha=alpha, n_simulations=400, rng=1)
        expected = needed(bias, power, alpha)
        assert result.interval.low <= expected <= result.interval.high + 1
        assert result.n == pytest.approx(expected, rel=0.06, abs=1)
        assert result.achieved.n == result.n
        assert result.achieved.n_simulations == 400
        low, high = result.achieved.interval
        assert low <= power <= high
        assert result.notes == ()

    @pytest.mark.every(3)
    @pytest.mark.parametrize(("power", "m"), [(0.9, 20), (0.99, 300), (0.998, 1000)])
    def test_high_powers_take_enough_simulations(self, power, m):
        """With a tenth of these, powers of 1 are all that is seen, and answers are up to a hundred times too large.

        Intervals for 0.9 and 20 simulations had no end in a third of the searches, and sizes for 0.99 were 18 % too
        large, with intervals that held in 73 % of 60 searches.
        """
        found = [ct.sample_size(mean_test, model(0.3), power=power, n_simulations=m, rng=seed) for seed in range(9)]
        assert np.median([one.n for one in found]) == pytest.approx(needed(0.3, power), rel=0.13)
        assert sum(one.interval.high == np.inf for one in found) <= 1

    def test_small_answers(self):
        result = ct.sample_size(mean_test, model(1.5), n_min=1, n_simulations=500, rng=1)
        assert result.n == ceil(needed(1.5)) == 3

    def test_the_smallest_size_may_do(self):
        result = ct.sample_size(mean_test, model(3.0), n_simulations=100, rng=1)
        assert result.n == 8
        assert "the power is at least 0.8 at the smallest n of the search" in result.notes[0]
        assert result.interval is None

    def test_the_largest_size_may_not_do(self):
        with pytest.raises(ValueError, match=r"n_max: got 100, where the simulated power is 0\.\d+ and not 0.8;"):
            ct.sample_size(mean_test, model(0.1), n_max=100, n_simulations=100, rng=1)

    @pytest.mark.parametrize(("low", "end"), [(0.0, 1.0), (0.7, 1.0), (2.7, 2.0)])
    def test_ends_are_whole_numbers_from_one_on(self, low, end):
        search = Search(mean_test, model(0.3), 0.8, 0.05, 0.9, 100, 1, 100, 1)
        interval = search._result(5, Crossing(5.0, low, 7.2), None).interval
        assert (*interval.ends, interval.confidence_level) == (end, 8.0, 0.9)

    def test_stays_below_the_largest_size(self):
        expected = needed(0.3)
        result = ct.sample_size(mean_test, model(0.3), n_max=ceil(1.02 * expected), n_simulations=1000, rng=1)
        assert max(one.n for one in result.tried) <= ceil(1.02 * expected)
        assert result.n == pytest.approx(expected, rel=0.06)

    def test_is_reproducible(self):
        first, again = (ct.sample_size(mean_test, model(0.3), n_simulations=40, rng=7) for _ in range(2))
        assert (first.n, tuple(first.interval), str(first)) == (again.n, tuple(again.interval), str(again))
        assert ct.sample_size(mean_test, model(0.3), n_simulations=40, rng=8).to_dict() != first.to_dict()

    def test_tests_of_this_package(self):
        test = ct.MonteCarloTest(ct.SKCE(ct.Normal([0.0], 1.0).default_kernel()), n_resamples=19)
        result = ct.sample_size(test, Distorted(GaussianModel(), Bias(1.0)), n_simulations=20, rng=1)
        assert 8 <= result.n <= 60

    def test_report(self):
        result = ct.sample_size(mean_test, model(0.5), n_simulations=100, rng=1)
        text = unfolded(result)
        assert (
            f"n              {result.n} [{result.interval.low:.0f}, {result.interval.high:.0f}] (95 %, probit" in text
        )
        assert "Wanted         power 0.8 at the 5 % level" in text
        assert text.endswith("Reproduce      rng=1")
        assert json.loads(json.dumps(result.to_dict()))["n"] == result.n
        assert repr(result) == f"<SampleSize n = {result.n} for power 0.8>"


class TestContinuing:
    @pytest.fixture(scope="class")
    def whole(self):
        return ct.sample_size(Interrupting(0), model(0.3), n_simulations=100, rng=3)

    @pytest.mark.every(4)
    @pytest.mark.parametrize("at", [2, 60, 200, 300, 420])
    def test_interrupted_searches_end_where_others_do(self, at, whole):
        test = Interrupting(at)
        cut = ct.sample_size(test, model(0.3), n_simulations=100, rng=3)
        assert cut.notes == ("interrupted: the search is not finished; resume=result continues it",)
        assert sum(one.n_simulations for one in cut.tried) == at - 1
        assert cut.n is None or at >= 200
        assert "not found" in unfolded(cut) or cut.n is not None
        finished = ct.sample_size(test, model(0.3), n_simulations=100, resume=cut)
        assert (finished.n, tuple(finished.interval)) == (whole.n, tuple(whole.interval))
        cells = sum(one.n_simulations for one in whole.tried)
        assert test.calls - cells in (0, 1)  # The first data set of a size that was cut short is tested again.

    def test_an_interrupted_search_answers_by_its_fit(self):
        cut = ct.sample_size(Interrupting(420), model(0.3), n_simulations=100, rng=3)
        points = [(one.n, round(one.rate * one.n_simulations), one.n_simulations) for one in cut.tried]
        first = min(n for n, rejections, number in points if rejections >= 0.8 * number)
        assert cut.n == ceil(fitted_size(points, 0.8, first / np.sqrt(2.0), 0.95).n)

    def test_more_simulations(self):
        few = ct.sample_size(mean_test, model(0.3), n_simulations=40, rng=3)
        test = Interrupting(0)
        test.__class__.__name__ = "mean_test"
        many = ct.sample_size(test, model(0.3), n_simulations=120, resume=few)
        fresh = ct.sample_size(mean_test, model(0.3), n_simulations=120, rng=3)
        assert (many.n, tuple(many.interval)) == (fresh.n, tuple(fresh.interval))
        assert test.calls < sum(one.n_simulations for one in fresh.tried)
        test.__class__.__name__ = "Interrupting"

    def test_steps_see_no_more_simulations_than_they_ask_for(self):
        """Those that an earlier search has made at the same n are kept for later steps."""
        stored = ct.power(mean_test, model(0.3), 40, n_simulations=200, rng=1)
        search = Search(mean_test, model(0.3), 0.8, 0.05, 0.95, 200, 8, 100, 1, {40: stored})
        assert search.rate(40, 20) == np.mean(stored.pvalues[:20] <= 0.05) != stored.rate
        assert search.rate(40, 200) == stored.rate

    def test_finished_searches_are_not_repeated(self):
        whole = ct.sample_size(mean_test, model(0.3), n_simulations=100, rng=3)
        test = Interrupting(1)
        test.__class__.__name__ = "mean_test"
        assert ct.sample_size(test, model(0.3), n_simulations=100, resume=whole).to_dict() == whole.to_dict()
        test.__class__.__name__ = "Interrupting"

    def test_nothing_finished_is_no_result(self):
        with pytest.raises(KeyboardInterrupt):
            ct.sample_size(Interrupting(1), model(0.3))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"power": 1.0}, "power: got 1.0, wanted a number between 0 and 1"),
        ({"power": 0.04}, "power: got 0.04, wanted more than alpha = 0.05"),
        ({"alpha": 0}, "alpha: got 0, wanted a number between 0 and 1"),
        ({"n_min": 0}, "n_min: got 0, wanted a whole number of at least 1"),
        ({"n_max": 7}, "n_max: got 7, wanted a whole number of at least 8"),
        ({"n_simulations": 5}, "n_simulations: got 5, wanted a whole number of at least 20"),
        ({"power": 0.999}, "n_simulations: got 1000, wanted at least 2000 to tell a power of 0.999 from 1"),
        ({"generator": DirichletModel.m1()}, "generator: got a calibrated one .*, wanted one with a deviation to find"),
    ],
)
def test_bad_settings(settings, message):
    with pytest.raises(ValueError, match=message):
        ct.sample_size(**{"test": mean_test, "generator": model(0.3), **settings})


def test_bad_arguments():
    with pytest.raises(TypeError, match="test: got 3"):
        ct.sample_size(3, model(0.3))
    with pytest.raises(TypeError, match="generator: got 3"):
        ct.sample_size(mean_test, 3)
    with pytest.raises(TypeError, match="resume: got 3"):
        ct.sample_size(mean_test, model(0.3), resume=3)
    earlier = ct.sample_size(mean_test, model(3.0), n_simulations=20, rng=1)
    with pytest.raises(ValueError, match="resume: got a study with test = mean_test, wanted two_sided"):
        ct.sample_size(two_sided, model(3.0), resume=earlier)
    with pytest.raises(ValueError, match="resume: got a study with generator"):
        ct.sample_size(mean_test, model(2.0), resume=earlier)


def test_doubling_ends_at_the_first_size_that_has_the_power(monkeypatch):
    monkeypatch.setattr(Search, "rate", lambda self, n, m: {8: 0.2, 16: 0.8, 32: 0.9}[n])
    monkeypatch.setattr(Search, "_crossing", lambda *_: None)

    def doubled(power, n_max):
        return Search(None, None, power, 0.05, 0.95, 100, 8, n_max, 1)._doubled()

    assert doubled(0.2, 1000) is None
    assert doubled(0.8, 1000) == pytest.approx(16.0 / 2.0**0.5)
    assert doubled(0.8, 16) == pytest.approx(16.0 / 2.0**0.5)
    assert doubled(0.81, 32) == pytest.approx(32.0 / 2.0**0.5)
