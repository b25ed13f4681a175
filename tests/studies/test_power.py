"""Rates, intervals, levels, notes and errors of simulated powers."""

import json
from functools import partial
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from printed import unfolded
from scipy import stats

import caltest as ct
from caltest.generators import DirichletModel
from caltest.studies.power import _unreachable_levels

MODEL = DirichletModel(3, 1.0, 0.3)
LOW = np.linspace(0.1, 0.4, 30)


def uniform(predictions, targets, rng):
    return SimpleNamespace(pvalue=rng.random())


def mean_test(predictions, targets, rng):
    """One-sided test of the number of events."""
    p = predictions.probabilities[:, 1]
    return SimpleNamespace(pvalue=float(stats.norm.sf((targets - p).sum() / np.sqrt((p * (1 - p)).sum()))))


def constant(value):
    return lambda predictions, targets, rng: SimpleNamespace(pvalue=value)


class Interrupting:
    """Uniform p-values, and Ctrl-C in the middle of a call."""

    def __init__(self, at):
        self.left = at

    def __call__(self, predictions, targets, rng):
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt
        return uniform(predictions, targets, rng)


class TestRates:
    RESULT = ct.power(uniform, MODEL, 5, n_simulations=400, alpha=[0.05, 0.5], confidence_level=0.9, rng=1)

    def test_shares_of_pvalues(self):
        for alpha, rate in zip((0.05, 0.5), self.RESULT.rates, strict=True):
            assert rate == np.mean(self.RESULT.pvalues <= alpha) == self.RESULT.rate_at(alpha)
        assert self.RESULT.rate == self.RESULT.rates[0]
        assert self.RESULT.rate_at(0.3) == np.mean(self.RESULT.pvalues <= 0.3)

    def test_rejects_pvalues_equal_to_the_level(self):
        assert ct.power(constant(0.05), MODEL, 5, n_simulations=3).rate == 1.0
        assert ct.power(constant(np.nextafter(0.05, 1)), MODEL, 5, n_simulations=3).rate == 0.0

    def test_exact_intervals(self):
        for alpha, interval in zip((0.05, 0.5), self.RESULT.intervals, strict=True):
            count = int(np.sum(self.RESULT.pvalues <= alpha))
            expected = stats.binomtest(count, 400).proportion_ci(0.9, method="exact")
            assert tuple(interval) == pytest.approx((expected.low, expected.high), rel=1e-9)
        assert tuple(self.RESULT.interval) == tuple(self.RESULT.intervals[0])

    @pytest.mark.parametrize(("value", "expected"), [(0.0, (0.6915, 1.0)), (1.0, (0.0, 0.3085))])
    def test_intervals_of_all_and_none(self, value, expected):
        interval = ct.power(constant(value), MODEL, 5, n_simulations=10).interval
        assert tuple(interval) == pytest.approx(expected, abs=1e-4)

    def test_pvalues_are_kept(self):
        assert self.RESULT.pvalues.shape == (400,)
        with pytest.raises(ValueError, match="read-only"):
            self.RESULT.pvalues[0] = 0.0

    def test_the_same_seed_gives_the_same(self):
        again = ct.power(uniform, MODEL, 5, n_simulations=400, rng=self.RESULT.seed)
        assert np.array_equal(again.pvalues, self.RESULT.pvalues)
        assert not np.array_equal(ct.power(uniform, MODEL, 5, n_simulations=400, rng=2).pvalues, again.pvalues)

    def test_fewer_simulations_are_the_first_ones(self):
        few = ct.power(uniform, MODEL, 5, n_simulations=30, rng=1)
        assert np.array_equal(few.pvalues, self.RESULT.pvalues[:30])


class TestReports:
    def test_power(self):
        test = partial(ct.calibration_test, n_resamples=19)
        result = ct.power(test, MODEL, 30, n_simulations=20, alpha=[0.1, 0.05], rng=4)
        lines = str(result).splitlines()
        assert lines[:5] == [
            "Power by simulation",
            "-------------------",
            "Test           calibration_test(n_resamples=19)",
            "Data           Dir(1), 3 classes, 30 % of the labels uniform, n = 30",
            "Simulations    20",
        ]
        assert lines[6].startswith(f"Power, 10 %    {result.rate:.3f} [")
        assert lines[-1] == "Reproduce      rng=4"
        assert repr(result) == f"<power {result.rate:.3g}, n = 30, 20 simulations>"

    def test_size(self):
        calibrated = DirichletModel.m1(3)
        fine = ct.power(uniform, calibrated, 5, n_simulations=200, rng=1)
        assert "Size, 5 %" in unfolded(fine)
        assert fine.verdict() == "no evidence that the size exceeds 5 %"
        wrong = ct.power(constant(0.01), calibrated, 5, n_simulations=200, rng=1)
        assert wrong.verdict() == "the test rejects calibrated data too often for the 5 % level"
        assert wrong.quantity == "size"
        assert ct.power(constant(0.01), MODEL, 5, n_simulations=2).verdict() == ""

    def test_dictionaries_are_plain(self):
        result = ct.power(uniform, MODEL, 5, n_simulations=3, alpha=(0.05, 0.01), rng=1)
        entries = json.loads(json.dumps(result.to_dict()))
        assert entries["rates"] == list(result.rates)
        assert entries["pvalues"] == result.pvalues.tolist()
        assert entries["quantity"] == "power"
        assert len(entries["intervals"]) == 2

    def test_levels_that_redraws_cannot_reach(self):
        test = partial(ct.calibration_test, n_resamples=19)
        result = ct.power(test, DirichletModel.m3(3), 60, n_simulations=20, alpha=[0.05, 0.01], rng=1)
        assert result.rates == (1.0, 0.0)
        assert result.notes == (
            "no p-value is below 0.05, so nothing is rejected at the 1 % level; with B redraws p-values are at least "
            "1 / (B + 1)",
        )
        assert ct.power(uniform, MODEL, 5, n_simulations=5, alpha=1e-9).notes == ()

    def test_tests_in_words(self):
        test = ct.MonteCarloTest(ct.ECE(), n_resamples=19)
        words = ct.power(test, MODEL, 5, n_simulations=1).test
        assert words.startswith("MonteCarloTest(ECE(")
        assert words.endswith("ConditionalMonteCarlo(n_resamples=19, stop_after=None))")
        assert ct.power(Interrupting(0), MODEL, 5, n_simulations=1).test == "Interrupting"


class TestInterruptions:
    def test_what_is_finished_stays(self):
        whole = ct.power(uniform, MODEL, 5, n_simulations=20, rng=1)
        test = Interrupting(8)
        cut = ct.power(test, MODEL, 5, n_simulations=20, rng=1)
        assert np.array_equal(cut.pvalues, whole.pvalues[:7])
        assert (cut.n_simulations, cut.n_requested) == (7, 20)
        assert cut.notes == ("interrupted: 7 of 20 simulations are finished; resume=result continues them",)
        finished = ct.power(test, MODEL, 5, n_simulations=20, resume=cut)
        assert np.array_equal(finished.pvalues, whole.pvalues)
        assert finished.notes == ()
        assert test.left == -14  # The first data set is tested again.

    def test_nothing_finished_is_no_result(self):
        with pytest.raises(KeyboardInterrupt):
            ct.power(Interrupting(1), MODEL, 5, n_simulations=20)

    def test_an_earlier_result_is_not_lost(self):
        earlier = ct.power(Interrupting(0), MODEL, 5, n_simulations=3, rng=1)
        assert ct.power(Interrupting(1), MODEL, 5, n_simulations=9, resume=earlier).n_simulations == 3

    def test_more_simulations(self):
        few = ct.power(uniform, MODEL, 5, n_simulations=6, rng=1)
        many = ct.power(uniform, MODEL, 5, n_simulations=15, alpha=0.2, resume=few, rng=1)
        assert np.array_equal(many.pvalues, ct.power(uniform, MODEL, 5, n_simulations=15, rng=1).pvalues)
        assert many.alphas == (0.2,)


class TestBadInput:
    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({"n": 0}, "n: got 0, wanted a whole number of at least 1"),
            ({"n": 2.5}, "n: got 2.5"),
            ({"n_simulations": 0}, "n_simulations: got 0, wanted a whole number of at least 1"),
            ({"alpha": 0.0}, "alpha: got 0.0, wanted a number between 0 and 1"),
            ({"alpha": [0.05, 1.0]}, "alpha: got 1.0, wanted a number between 0 and 1"),
            ({"alpha": []}, "alpha: got none, wanted at least one number between 0 and 1"),
            ({"alpha": "5 %"}, "alpha: got '5 %', wanted a number between 0 and 1"),
            ({"confidence_level": 1.0}, "confidence_level: got 1.0"),
            ({"rng": -1}, "rng: got -1"),
            ({"progress": 1}, "progress: got 1, wanted True or False"),
        ],
    )
    def test_settings(self, settings, message):
        given = {"n": 5, "n_simulations": 2, **settings}
        with pytest.raises(ValueError, match=message):
            ct.power(uniform, MODEL, **given)

    @pytest.mark.parametrize("test", ["a test", None, ct.MonteCarloTest, 0.05])
    def test_no_test(self, test):
        with pytest.raises(TypeError, match=r"test: got .*, wanted a function test\(predictions, targets, rng=...\)"):
            ct.power(test, MODEL, 5)

    @pytest.mark.parametrize(
        "generator",
        [
            *("M1", None, DirichletModel, np.zeros(3), pd.DataFrame(np.full((5, 2), 0.5))),
            *(ct.Bernoulli([0.2, 0.7]), ct.generators.Tempering(-0.4)),
        ],
    )
    def test_no_generator(self, generator):
        with pytest.raises(TypeError, match=r"generator: got .*, wanted an object with a method sample\(n, rng\)"):
            ct.power(uniform, generator, 5)

    @pytest.mark.parametrize("result", [0.04, None, SimpleNamespace(pvalue="small"), SimpleNamespace(p=0.1)])
    def test_no_pvalue(self, result):
        with pytest.raises(TypeError, match=r"test: got .* from it, wanted a result with a number as its pvalue"):
            ct.power(lambda p, y, rng: result, MODEL, 5)

    @pytest.mark.parametrize("value", [float("nan"), -0.1, 1.5])
    def test_numbers_that_are_no_pvalues(self, value):
        with pytest.raises(ValueError, match=r"test: got the p-value .* from it, wanted a number from 0 to 1"):
            ct.power(constant(value), MODEL, 5)

    def test_errors_say_in_which_simulation(self):
        def failing(predictions, targets, rng):
            if targets[0] == 1:
                raise RuntimeError("no")
            return SimpleNamespace(pvalue=0.5)

        first = next(
            i
            for i in range(100)
            if MODEL.sample(5, np.random.default_rng(np.random.SeedSequence(3, spawn_key=(i, 0))))[1][0] == 1
        )
        with pytest.raises(RuntimeError) as caught:
            ct.power(failing, MODEL, 5, rng=3)
        assert caught.value.__notes__ == [f"in simulation {first} of n = 5 with seed 3"]

    def test_other_studies_cannot_be_continued(self):
        earlier = ct.power(uniform, MODEL, 5, n_simulations=3, rng=1)
        with pytest.raises(ValueError, match="resume: got a study with n = 5, wanted 6"):
            ct.power(uniform, MODEL, 6, resume=earlier)
        with pytest.raises(ValueError, match="resume: got a study with test = uniform, wanted <lambda>"):
            ct.power(constant(0.1), MODEL, 5, resume=earlier)
        with pytest.raises(ValueError, match="resume: got a study with generator"):
            ct.power(uniform, MODEL.with_strength(0.4), 5, resume=earlier)
        with pytest.raises(ValueError, match="rng: got 2 to continue a study with rng=1; leave it out"):
            ct.power(uniform, MODEL, 5, resume=earlier, rng=2)
        with pytest.raises(ValueError, match="n_simulations: got 2, wanted at least 3, which are finished already"):
            ct.power(uniform, MODEL, 5, n_simulations=2, resume=earlier)
        with pytest.raises(TypeError, match="resume: got 3, wanted the result of an earlier call"):
            ct.power(uniform, MODEL, 5, resume=3)

    @pytest.mark.parametrize(
        "study",
        [
            lambda data, **how: ct.power(mean_test, data, 20, rng=1, **how),
            lambda data, **how: ct.power_curve(mean_test, data, 20, rng=1, **how),
            lambda data, **how: ct.sample_size(mean_test, data, rng=1, n_max=500, **how),
        ],
        ids=["power", "power_curve", "sample_size"],
    )
    def test_studies_in_the_same_words_of_other_data_cannot_be_continued(self, study):
        """Two models of predictions of the same shape read alike."""
        first, other = (ct.generators.Resampled(ct.Bernoulli(p), ct.generators.Tempering(-0.6)) for p in (LOW, LOW / 2))
        assert first.description == other.description
        earlier = study(first, n_simulations=20)
        assert study(first, n_simulations=25, resume=earlier)
        with pytest.raises(ValueError, match=r"resume: got a study whose first simulation of n = \d+ has the p-value"):
            study(other, n_simulations=25, resume=earlier)


def test_generators_of_users():
    class Mine:
        def sample(self, n, rng):
            return np.full(n, 0.5), rng.integers(0, 2, n)

    result = ct.power(ct.MonteCarloTest(ct.ECE(), n_resamples=19), Mine(), 10, n_simulations=3)
    assert (result.generator, result.quantity) == ("Mine", "power")


def test_progress_is_shown_on_standard_error(capsys):
    ct.power(uniform, MODEL, 5, n_simulations=3, progress=True)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("pvalues", "noted"), [([0.05, 0.05, 0.3], True), ([0.05, 0.2, 0.3], False), ([1.0] * 3, False)]
)
def test_levels_below_a_smallest_pvalue_that_data_sets_share_are_noted(pvalues, noted):
    assert bool(_unreachable_levels(np.array(pvalues), (0.01,))) == noted


@pytest.mark.parametrize("generator", [ct.generators.GaussianModel(2), ct.generators.DirichletModel(3)], ids=str)
def test_no_array_is_as_long_as_that(generator):
    with pytest.raises(ValueError, match=r"n: got \d+, wanted at most"):
        ct.power(ct.OmnibusTest(n_resamples=9), generator, 2**60, n_simulations=1)
