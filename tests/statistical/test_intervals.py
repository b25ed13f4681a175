"""Coverage of intervals for the SKCE, and sizes of tests of margins, at 10 classes and a kernel of fixed bandwidth."""

from math import sqrt

import numpy as np
import pytest
from grids import thinned

import caltest as ct
from caltest.decompositions.parts import Parts

from .ratio_intervals import DISPERSIONS, covered
from .settings import HARD, band, dirichlet, spawn

pytestmark = [pytest.mark.statistical, pytest.mark.usefixtures("without_findings")]

NU = ct.generators.DirichletModel.m1().mean_total_variation()
KERNEL = ct.ProductKernel(ct.ExponentialKernel(ct.TotalVariation(), NU), ct.DeltaKernel())
# Means of 20 000 unbiased estimates from 250 observations each.
TRUTH = {"M1": 0.0, "W2": 0.00359431, "OC": 0.000672705, "M2": 0.0894293, "M3": 0.0155902}
SETTINGS = [(name, n) for name in TRUTH for n in (50, 250)]
KEPT = [("M1", 50), ("W2", 250), ("OC", 50), ("M2", 50)]


@pytest.mark.every(3)
@pytest.mark.parametrize(("name", "n"), thinned(SETTINGS, KEPT))
def test_intervals_cover(name, n, replications):
    number, rng = replications(20, 10_000), spawn(60, n, list(TRUTH).index(name))
    model, covered = ct.generators.class_model(name), np.zeros(3)
    for _ in range(number):
        data = model.sample(n, rng)
        for i, side in enumerate(("two-sided", "upper", "lower")):
            low, high = ct.skce_interval(*data, KERNEL, side=side)
            covered[i] += low <= TRUTH[name] <= high
    assert covered.min() >= band(number, 0.94)[0]


@pytest.mark.every(3)
@pytest.mark.parametrize(("name", "n"), thinned([setting for setting in SETTINGS if setting[0] != "M1"], KEPT[1:]))
def test_tests_of_margins_have_their_size(name, n, replications):
    """The KCE is the margin."""
    number, rng = replications(20, 10_000), spawn(61, n, list(TRUTH).index(name))
    tests = [test(sqrt(TRUTH[name]), KERNEL) for test in (ct.ToleranceTest, ct.EquivalenceTest)]
    model, rejected = ct.generators.class_model(name), np.zeros(2)
    for _ in range(number):
        data = model.sample(n, rng)
        rejected += [test(*data).pvalue <= 0.05 for test in tests]
    assert rejected.max() <= band(number, 0.06)[1]


RARE = [name for name in HARD if not name.startswith(("Dir", "Normal", "Laplace"))]


@pytest.mark.every(2)
@pytest.mark.parametrize("setting", RARE)
def test_intervals_cover_calibrated_predictions_of_rare_events(setting, replications):
    number, rng, covered = replications(30, 2000), spawn(64, RARE.index(setting)), 0
    for _ in range(number):
        p = HARD[setting](rng)
        covered += ct.skce_interval(p, p.sample(rng), side="lower").low <= 0.0
    assert covered >= band(number, 0.95)[0]


def test_margins_are_not_shown_by_what_has_not_occurred(replications):
    """Three classes, sure predictions, of which a fifth of the outcomes are moved to the first class."""
    number, rng, rejected = replications(40, 3000), spawn(65), 0
    kernel = ct.ProductKernel(ct.ExponentialKernel(ct.TotalVariation(), 0.3), ct.DeltaKernel())
    for _ in range(number):
        p = dirichlet(rng, 60, 3, 0.1)
        y = np.where(rng.random(60) < 0.2, 0, p.sample(rng))
        rejected += ct.EquivalenceTest(sqrt(0.0114), kernel)(p, y).pvalue <= 0.05
    assert rejected <= band(number, 0.05)[1]


@pytest.mark.parametrize("n", thinned([120, 300], [120]))
def test_miscalibration_of_few_bins(n, replications):
    number, rng, covered, bins = replications(5, 900), spawn(66, n), 0, ct.binning.QuantileBinning(5)
    for _ in range(number):
        p = rng.random(n)
        q = p**1.4
        y = (rng.random(n) < q).astype(int)
        found = ct.score_decomposition(p, y, binning=bins, confidence_level=0.95, n_resamples=99, rng=rng)
        truth = Parts.of(ct.Bernoulli(p), "brier", bins).of_law(np.stack([1.0 - q, q], axis=1))[1]
        covered += found.intervals["miscalibration"].low <= truth <= found.intervals["miscalibration"].high
    assert covered >= band(number, 0.95)[0]


def test_truth_is_that_of_the_model(replications):
    """For M3 from the expected residuals ``1/k - p``, without labels."""
    p = ct.generators.class_model("M3").sample(3000, spawn(62))[0]
    residuals = 0.1 - p.probabilities
    kernel = KERNEL.prediction_kernel.tile(p, p)
    products = kernel * (residuals @ residuals.T)
    mean = (products.sum() - np.trace(products)) / (3000 * 2999)
    assert mean == pytest.approx(TRUTH["M3"], rel=0.1)


def test_discrimination_in_bins_of_one_observation(replications):
    """4**10 cells for 400 predictions of ten classes: frequencies say little, and the predictions are right."""
    n_simulations, binning, covered = replications(3, 1000), ct.binning.UniformBinning(4), 0
    for number in range(n_simulations):
        rng = np.random.default_rng([2031, number])
        p = rng.dirichlet(np.full(10, 0.5), 400)
        y = ct.Categorical(p).sample(rng)
        found = ct.score_decomposition(p, y, binning=binning, confidence_level=0.95, n_resamples=99, rng=number)
        cells = np.unique(binning.assign(p), return_inverse=True)[1]
        means = np.stack([np.bincount(cells, column) for column in p.T], axis=1) / np.bincount(cells)[:, None]
        truth = np.mean(np.square(means[cells]).sum(axis=1)) - np.square(p.mean(axis=0)).sum()
        covered += found.intervals["discrimination"].low <= truth <= found.intervals["discrimination"].high
    assert covered >= band(n_simulations, 0.93)[0]


@pytest.mark.every(2)
@pytest.mark.parametrize("dispersion", DISPERSIONS)
def test_totals_and_ratios_of_all_groups_are_in_their_intervals(dispersion, replications):
    """Also where groups of a few rows show little of how much their counts scatter."""
    number = replications(100, 1000)
    total, _, of_groups, gap, *_ = number * covered("counts of 2", dispersion, 500, 1.0, number)
    assert min(total, of_groups, gap) >= band(number, 0.945)[0]


@pytest.mark.every(2)
@pytest.mark.parametrize("n", [10, 20, 50])
@pytest.mark.parametrize("dispersion", DISPERSIONS)
def test_totals_of_few_counts_are_in_their_intervals(dispersion, n, replications):
    """However much they scatter, and for Poisson in intervals that are not much longer than those of Garwood."""
    number = replications(300, 1000)
    total, *_, own, plain = covered("counts of 10", dispersion, n, 1.0, number)
    assert number * total >= band(number, 0.945)[0]
    assert dispersion > 1.0 or own < 1.1 * plain


@pytest.mark.parametrize("n", thinned([500, 2000, 20_000], [500]))
def test_shares_and_ratios_of_rare_events_are_in_their_intervals(n, replications):
    number = replications(100, 1000)
    assert min(number * covered("events of 1 %", 1.0, n, 1.0, number)[:4]) >= band(number, 0.95)[0]
