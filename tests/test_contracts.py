"""What holds for every family of predictions, every kernel and every estimator."""

import copy
import dataclasses
import functools
import inspect
import itertools
import os
import pickle
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from contracts import (
    CASES,
    CENTRED,
    FAMILIES,
    FAULTS,
    KERNELS,
    KNOWN_NULLS,
    N,
    categorical,
    estimators,
    first_of_each,
    made_or_fault,
    made_tests,
    many_classes,
    negative_binomial,
    normal,
    normal_with_spread,
    poisson,
    pvalues,
)
from grids import full
from public import CLASSES, FUNCTIONS, classes_of, not_set
from scipy.stats import kstest
from slow import mean_upper, pair_sums_one_by_one

import caltest as ct
from caltest._basics.numerics import upper_tiles
from caltest._basics.threads import n_threads
from caltest.hstatistics import pair_tiles as hplaces, tiles as htiles
from caltest.hstatistics.redraws import of_all_families as hredraws, of_labels as hlabels
from caltest.hstatistics.sums import pairs as hpairs
from caltest.hstatistics.tiles import h_bound
from caltest.kernels import Metric, PredictionKernel, TargetKernel
from caltest.predictions import Predictions, Sample
from caltest.predictions.numbers.univariate import Univariate
from caltest.recalibration import CalibrationMap, Calibrator


def name(case):
    return f"{case[0].__name__}-{case[1].describe()}"


@pytest.fixture(params=CASES, ids=name)
def case(request):
    maker, kernel = request.param
    return maker(), kernel


def has_law(maker):
    """Whether predictions have a distribution function, quantiles and a density."""
    law = maker().predictions.law
    try:
        return law.is_continuous and law.levels is None
    except Exception:  # of a method that is wrong, which the contracts say
        return True


def thinned(cases):
    """The first case of every maker of samples, and all with ``--full``."""
    kept = first_of_each(cases)
    return [case if case in kept else pytest.param(case, marks=full) for case in cases]


@pytest.fixture(params=CENTRED, ids=name)
def centred_case(request):
    maker, kernel = request.param
    return maker(), kernel


@pytest.fixture(params=thinned(CASES), ids=name)
def some_case(request):
    maker, kernel = request.param
    return maker(), kernel


@pytest.fixture(params=thinned(CENTRED), ids=name)
def some_centred_case(request):
    maker, kernel = request.param
    return maker(), kernel


LAWS = [maker for maker, _ in first_of_each(CENTRED) if has_law(maker)]
"""Makers of samples of continuous distributions of a number, by their parameters."""


def full_h(kernel, sample):
    return htiles.h_tile(kernel, sample, sample)


def with_other_bandwidth(kernel):
    return ct.ProductKernel(kernel.prediction_kernel.with_bandwidth(0.17), kernel.target_kernel)


def target_kernels(kernel):
    return [product.target_kernel for product in kernel.products]


TESTS = made_tests()
COVERED = Predictions, ct.estimators.Estimator, ct.CalibrationTest, ct.nulls.Null
EXTENDED = *COVERED, Metric, PredictionKernel, TargetKernel, Calibrator, CalibrationMap
"""Bases that contracts here hold for, and those with methods and attributes to write."""


def public(base):
    """Public classes that can be made and derive from one."""
    return classes_of(base) - {base}


@pytest.mark.parametrize("name", sorted(name for name, kind in CLASSES.items() if issubclass(kind, EXTENDED)))
def test_every_class_says_what_it_has_to_and_is_covered(name):
    """Tables here and in ``contracts.py`` have it, or the example of its docstring makes one; bases need neither."""
    kind = CLASSES[name]
    is_base = any(issubclass(other, kind) for other in set(CLASSES.values()) - {kind})
    if is_base and (inspect.isabstract(kind) or any(not_set(kind))):
        return
    missing = [*not_written(kind), *not_set(kind)]
    if not missing:
        is_covered = kind in covered() or not issubclass(kind, COVERED)
        missing = [FAULTS[name]] if name in FAULTS else []
    assert not missing, "\n".join(missing)
    assert is_covered, f"{name}: no sample of {N} rows that tests here use can be made of it, or is for it"


def not_written(kind):
    """Methods that are missing, and what each of them is, in words."""
    names = sorted(kind.__abstractmethods__) if inspect.isabstract(kind) else []
    if names:
        yield f"{kind.__name__}: methods are missing: {', '.join(names)}"
    for name in names:
        yield f"  {name}: {(inspect.getdoc(getattr(kind, name)) or '').splitlines()[0]}"


@functools.cache
def covered():
    """All families, estimators, named tests and nulls that contracts look at."""
    tests = [test for name, (make, _) in TESTS.items() if (test := made_or_fault(name, make)) is not None]
    found = {*FAMILIES, ct.Unnormalised, ct.CalibrationTest, *(type(one) for one in tests), *KNOWN_NULLS}
    found |= {type(one.null) for one in tests}
    return found | {type(one) for maker, kernel in first_of_each(CASES) for one in estimators(maker(), kernel)}


@pytest.mark.every(8)
def test_h_is_symmetric_and_positive_semi_definite(case):
    sample, kernel = case
    h = full_h(kernel, sample)
    assert h == pytest.approx(h.T, abs=1e-14)
    assert np.linalg.eigvalsh(h).min() > -1e-12
    for product in kernel.products:
        tile = product.prediction_kernel.tile(sample.predictions, sample.predictions)
        assert np.linalg.eigvalsh(tile).min() > -1e-12
        assert tile.max() <= product.prediction_kernel.bound * sample.predictions.weight**2


@pytest.mark.every(6)
def test_h_is_bounded(case):
    sample, kernel = case
    bound = h_bound(kernel, sample.predictions)
    assert np.abs(full_h(kernel, sample)).max() <= bound * (1 + 1e-12)
    assert bound <= 2 * kernel.bound


@pytest.mark.every(8)
def test_centred_kernel_is_made_of_its_four_terms(case):
    sample, kernel = case
    p, y = sample.predictions.law, sample.targets
    for target_kernel in target_kernels(kernel):
        four = Predictions.centred_kernel(p, target_kernel, y, p, y)
        assert p.centred_kernel(target_kernel, y, p, y) == pytest.approx(four, abs=1e-14)


LEVELS = np.array([0.001, 0.03, 0.2, 0.5, 0.77, 0.95, 0.9999])[:, None]


def parts_of_law(law, y):
    """Levels and densities at targets (m, n), each prediction with its own."""
    return law.cdf(y), np.exp(np.stack([law.log_density(one) for one in y]))


UNMOVED = "Categorical", "Bernoulli", "Ordinal", "SurvivalCurve", "Scenarios", "Residuals"
"""Families without a shift and a factor."""


@pytest.mark.parametrize("maker", FAMILIES.values(), ids=lambda maker: maker.__name__)
def test_families_are_moved_or_say_that_they_cannot_be(maker):
    sample = maker()
    law, name = sample.predictions.without(sample.targets), type(sample.predictions).__name__
    if name in UNMOVED:
        with pytest.raises(TypeError, match="no shift and factor are known here"):
            law.moved(0.3, 1.5)
        return
    same, wider = law.moved(0.0, 1.0), law.moved(0.3, 1.5)
    # Points have no density.
    rows = np.arange(len(law)) if law.levels is not None else np.flatnonzero(law.moments()[1] > 0.0)
    y = sample.targets if sample.values is None else sample.values
    losses = [one.take(rows).losses(y[rows]) for one in (law, same, wider)]
    assert losses[1] == pytest.approx(losses[0], rel=1e-6, abs=1e-6), f"{name}.moved(0, 1): another law"
    assert not np.isclose(losses[2], losses[0], rtol=1e-9, atol=1e-9).all(), f"{name}.moved(0.3, 1.5): the same law"


@pytest.mark.every(3)
@pytest.mark.parametrize("maker", LAWS, ids=lambda maker: maker.__name__)
def test_laws_of_numbers_agree_with_themselves(maker):
    """Quantiles invert the distribution function, whose slope is the density; draws and moments are theirs."""
    predictions = maker().predictions.law
    law = predictions.take(np.flatnonzero(predictions.moments()[1] > 0.0))
    name = type(law).__name__
    y = law.quantile(LEVELS)
    at, density = parts_of_law(law, y)
    assert at == pytest.approx(LEVELS * np.ones(len(law)), abs=1e-6), f"{name}.cdf: not the inverse of _quantile"
    assert law.survival(y) == pytest.approx(1.0 - at, abs=1e-9), f"{name}.survival: not 1 - cdf"
    step = 1e-4 * (law.quantile(0.75) - law.quantile(0.25))
    slope = (law.cdf(y[2:5] + step) - law.cdf(y[2:5] - step)) / (2.0 * step)
    words = f"{name}.log_density: got densities of {density[3, 0]:.4g}, wanted {slope[1, 0]:.4g}, the slope of cdf"
    assert density[2:5] == pytest.approx(slope, rel=1e-3), words
    t = np.linspace(-25.0, 25.0, 1501)[:, None]
    levels = 1.0 / (1.0 + np.exp(-t))
    weights = levels * (1.0 - levels) * (t[1] - t[0])
    q = law.quantile(levels)
    mean, variance = law.moments()
    found = (weights * q).sum(axis=0)
    spread = (weights * np.square(q - found)).sum(axis=0)
    words = f"{name}.moments: got the mean {mean[0]:.4g}, wanted {found[0]:.4g} as of its quantiles"
    assert mean == pytest.approx(found, abs=1e-2 * np.sqrt(spread).min()), words
    words = f"{name}.moments: got the variance {variance[0]:.4g}, wanted {spread[0]:.4g} as of its quantiles"
    assert variance[np.isfinite(variance)] == pytest.approx(spread[np.isfinite(variance)], rel=2e-2), words
    levels_of_draws = law.cdf(law.sample(1, 500)).ravel()
    assert kstest(levels_of_draws, "uniform").pvalue > 1e-6, f"{name}._draw: draws do not have the law of cdf"


@pytest.mark.parametrize("maker", LAWS, ids=lambda maker: maker.__name__)
def test_laws_of_numbers_have_probabilities_of_all_possible_targets(maker):
    """Far out too, where a formula can be one of another part of the line."""
    predictions = maker().predictions.law
    law = predictions.take(np.flatnonzero(predictions.moments()[1] > 0.0))
    name, (low, high) = type(law).__name__, getattr(law, "support", (-np.inf, np.inf))
    median, far = law.quantile(0.5), law.quantile(0.9) - law.quantile(0.1)
    y = np.clip(median + np.array([-50.0, -3.0, 0.0, 3.0, 50.0])[:, None] * far, low + 1e-12, high - 1e-12)
    at, density = parts_of_law(law, y)
    outside = (at < 0.0) | (at > 1.0) | np.isnan(at)
    assert not outside.any(), f"{name}.cdf: got {at[outside][0]:.4g}, wanted probabilities, also of targets far out"
    assert np.all(np.diff(at, axis=0) >= 0.0), f"{name}.cdf: decreases"
    assert not np.isnan(density).any(), f"{name}.log_density: got NaN, wanted -inf where there are no targets"


def drawn(predictions, rows, number, seed):
    """So many targets of each of some rows (rows, number, ...), by one call for all."""
    targets = predictions.take(np.repeat(rows, number)).redraw(seed)
    return targets.reshape(len(rows), number, *targets.shape[1:])


@pytest.mark.every(9)
def test_expected_kernels_against_monte_carlo(centred_case, replications):
    sample, kernel = centred_case
    p, y = sample.predictions.law, sample.targets
    draws = replications(10_000, 40_000)
    rows, columns = np.arange(0, N, 7), np.arange(1, N, 5)
    z, other = drawn(p, rows, draws, 11), drawn(p, columns, draws, 12)
    # Of events that happen to less than one in some thousand draws the draws may have none, and so no variance.
    for target_kernel, (a, i) in itertools.product(target_kernels(kernel), enumerate(rows)):
        rare = 10.0 * target_kernel.bound / draws
        # The rule for kernels with a cusp is off by up to 0.009; what that does to estimates is measured elsewhere.
        cusp = 0.01 if getattr(target_kernel, "exponent", 1.0) < 1.0 else 0.0
        expected, expected2 = p.expected_kernel(target_kernel, y), p.expected_kernel2(target_kernel, p)
        name = f"{type(p).__name__}: mean of {target_kernel.describe_for_targets()} over draws"
        for b, j in enumerate(columns):
            one = p.target_tile(target_kernel, z[a], y[j : j + 1])[:, 0]
            two = p.target_tile(target_kernel, z[a][:, None], other[b][:, None])[:, 0, 0]
            for values, formula in ((one, expected[i, j]), (two, expected2[i, j])):
                error = values.std() / np.sqrt(draws)
                words = f"{name}: got {values.mean():.4g} +- {error:.1g}, wanted {formula:.4g}, its expectation"
                assert abs(values.mean() - formula) <= 4.5 * error + rare + cusp, words


@pytest.mark.every(8)
def test_expectation_of_h_is_zero_given_one_side(centred_case, replications):
    """E h((p, Z), (p', y')) = 0 for Z ~ p: what makes all the tests work."""
    sample, kernel = centred_case
    number = replications(4000, 20_000)
    draws = drawn(sample.predictions, [0], number, 13)[0][:, None]
    one, other = sample.predictions.take(np.zeros((number, 1), dtype=int)), sample.take(np.full((number, 1), 5))
    h = htiles.h_tile(kernel, Sample(one, draws), other)
    assert abs(np.mean(h)) <= 4.5 * np.std(h) / np.sqrt(h.size) + 1e-12


@pytest.mark.every(8)
def test_sums_do_not_depend_on_the_tiles(case, replications, monkeypatch):
    sample, kernel = case
    h = full_h(kernel, sample)
    for tile in replications([3, N], [1, 3, 7, N, 512]):
        monkeypatch.setattr(hpairs, "ROWS", tile)
        monkeypatch.setattr(hpairs, "STRIP", tile)
        pairs, diagonal = hpairs.h_sums(kernel, sample)
        assert pairs == pytest.approx(np.triu(h, 1).sum(), rel=1e-12, abs=1e-13), tile
        assert diagonal == pytest.approx(np.trace(h), rel=1e-12), tile


@pytest.mark.every(8)
def test_sums_of_all_kinds_against_the_full_matrix(case, monkeypatch):
    sample, kernel = case
    h = full_h(kernel, sample)
    monkeypatch.setattr(hpairs, "ROWS", 5)
    monkeypatch.setattr(hpairs, "COLUMNS", 8)
    weights = np.random.default_rng(4).normal(size=(N, 5))
    assert hpairs.h_diagonal(kernel, sample) == pytest.approx(np.diag(h), abs=1e-14)
    forms, rows = hpairs.weighted_sums(kernel, sample, weights)
    # Thousands of waves come from each other: rounding grows along them.
    rounding = 1e-9 if by_rule(sample.predictions, kernel) else 1e-13
    assert rows == pytest.approx(h.sum(axis=1), abs=rounding)
    assert forms == pytest.approx(np.einsum("ib,ij,jb->b", weights, h, weights), rel=1e-11, abs=10.0 * rounding)


@pytest.mark.every(8)
def test_every_way_to_h_agrees_with_the_definition(case):
    sample, kernel = case
    h = full_h(kernel, sample)
    tiles = htiles.tiles_of(kernel, sample)
    for rows, columns in ((slice(0, 7), slice(0, 7)), (slice(3, 8), slice(9, N)), (slice(5, 6), slice(6, 9))):
        assert tiles.tile((rows, columns)) == pytest.approx(h[rows, columns], rel=1e-13, abs=1e-15)
    for rows, stop in ((slice(0, 7), 7), (slice(0, 5), N), (slice(4, 8), 9), (slice(22, 23), N)):
        pairs, diagonal = tiles.sums((rows, slice(rows.start, stop)))
        assert pairs == pytest.approx(np.triu(h[rows, rows.start : stop], 1).sum(), rel=1e-12, abs=1e-14)
        assert diagonal == pytest.approx(np.trace(h[rows, rows]), rel=1e-12)


@pytest.mark.every(8)
@pytest.mark.parametrize("tile", [8, 512])
def test_blocks_are_means_of_their_pairs(some_case, tile, monkeypatch):
    """With small tiles every block is summed by itself, with large ones blocks are stacked."""
    sample, kernel = some_case
    monkeypatch.setattr(hpairs, "STRIP", 3)
    monkeypatch.setattr(hpairs, "SMALL_BLOCK", tile // 8)
    h = full_h(kernel, sample)
    for block_size, unbiased in itertools.product([2, 5, N], [True, False]):
        means = hpairs.block_means(kernel, sample, block_size, unbiased)
        blocks = [h[start:, start:][:block_size, :block_size] for start in range(0, N - block_size + 1, block_size)]
        expected = [mean_upper(block) if unbiased else block.mean() for block in blocks]
        assert means == pytest.approx(np.array(expected), rel=1e-12, abs=1e-14), (block_size, unbiased)


@pytest.mark.every(8)
def test_deviations_against_pairs(case, replications):
    sample, kernel = case
    locations = sample.take(slice(4, 9))
    deviation = hpairs.deviations(kernel, sample, locations)
    for i in replications(range(0, N, 5), range(N)):
        for j in replications([i // 5], range(5)):
            one, place = sample.take(slice(i, i + 1)), locations.take(slice(j, j + 1))
            slow = 0.0
            for product in kernel.products:
                k_p = product.prediction_kernel.tile(one.predictions, place.predictions)
                k_y = one.predictions.law.target_tile(product.target_kernel, one.targets, place.targets)
                mean = one.predictions.law.expected_kernel(product.target_kernel, place.targets)
                slow += (k_p * (k_y - mean))[0, 0]
            assert deviation[i, j] == pytest.approx(slow, rel=1e-13, abs=1e-15)


@pytest.mark.every(6)
def test_stacks_equal_their_members(case):
    sample, kernel = case
    index = np.array([[0, 4, 9], [3, 3, 1]])
    stack = sample.take(index)
    h = full_h(kernel, sample)
    assert htiles.h_tile(kernel, stack, stack) == pytest.approx(h[index[:, :, None], index[:, None, :]], abs=1e-14)


@pytest.mark.every(8)
def test_redraws_equal_estimates_one_by_one(some_case, replications):
    sample, kernel = some_case
    redraws = sample.predictions.redraw(5, replications(2, 6))
    for estimator in estimators(sample, kernel):
        one_by_one = [estimator.estimate(Sample(sample.predictions, y)) for y in redraws]
        together = estimator.estimates(sample.predictions, redraws)
        assert together == pytest.approx(one_by_one, rel=1e-11, abs=1e-14), estimator


def by_rule(predictions, kernel):
    """Whether expectations come from the rule for continuous laws, not from formulas."""
    laws = [law for law in getattr(predictions, "components", [predictions]) if isinstance(law, Univariate)]
    terms = [term for product in kernel.products for _, term in product.target_kernel.weighted_terms]
    return any(law._closed_form(term) is None for law in laws for term in terms)


@pytest.mark.every(3)
def test_data_in_chunks_give_the_estimate_of_all(some_case):
    sample, kernel = some_case
    for estimator in estimators(sample, kernel):
        null = ct.nulls.NormalNull(known_variance=False)
        if isinstance(estimator, ct.LowRankSKCE):
            estimator, null = estimator.resolve(sample.predictions, 1), ct.nulls.ConditionalMonteCarlo(1)
        if isinstance(estimator, (ct.BlockSKCE, ct.LowRankSKCE)) and estimator.unbiased:
            accumulator = ct.CalibrationTest(estimator, null).accumulator()
            for part in (slice(0, 5), slice(5, 6), slice(6, N)):
                accumulator.update(sample.predictions.take(part), sample.targets[part])
            # The waves of the rule depend on all laws of a chunk; estimates differ by up to 3e-6.
            error = 1e-5 if by_rule(sample.predictions, kernel) else 1e-14
            found = accumulator.result().estimate
            assert found == pytest.approx(estimator.estimate(sample), rel=1e-11, abs=error), estimator


@pytest.mark.every(6)
def test_redraws_do_not_depend_on_the_tiles(some_case, monkeypatch):
    sample, kernel = some_case
    redraws = sample.predictions.redraw(5, 2)

    def values():
        makers = ct.SKCE(kernel), ct.SKCE(kernel, unbiased=False), ct.BlockSKCE(kernel, block_size=7)
        return np.concatenate([estimator.estimates(sample.predictions, redraws) for estimator in makers])

    whole = values()
    monkeypatch.setattr(hplaces, "TILE", 4)
    monkeypatch.setattr(hplaces, "NUMBERS_TILE", 5)
    assert values() == pytest.approx(whole, rel=1e-11, abs=1e-13)


@pytest.mark.every(8)
def test_fast_redraws_equal_those_of_families_without_a_faster_way(case, monkeypatch):
    sample, kernel = case
    redraws = sample.predictions.redraw(5, 3)
    tiles = list(upper_tiles(N, 8)[0])
    listed_or_not = (0.0, np.inf) if sample.predictions.law.finite is not None else ()
    for product in kernel.products:
        kernels = [product, with_other_bandwidth(product)]
        parts = [k.prediction_kernel for k in kernels], product.target_kernel
        slow = pair_sums_one_by_one(*parts, sample.predictions, redraws, tiles)
        for listed in (hlabels.LISTED, *listed_or_not):
            monkeypatch.setattr(hlabels, "LISTED", listed)
            fast = hredraws.pair_sums(*parts, sample.predictions, redraws, (tiles, len(tiles)))
            assert fast == pytest.approx(slow, rel=1e-11, abs=1e-13)
        alone = hredraws.pair_sums(parts[0][1:], parts[1], sample.predictions, redraws, (tiles, len(tiles)))
        assert alone == pytest.approx(slow[1:], rel=1e-11, abs=1e-13)


@pytest.mark.every(2)
def test_draws_do_not_depend_on_how_many_are_taken_at_once(some_case):
    sample, _ = some_case
    generator = np.random.default_rng(7)
    parts = np.concatenate([sample.predictions.redraw(generator, 3), sample.predictions.redraw(generator, 4)])
    family = type(sample.predictions).__name__
    at_once = sample.predictions.redraw(7, 7)
    assert np.array_equal(parts, at_once), f"{family}.sample: wanted the numbers of one redraw after those of another"


NAMED = {
    "binary": ct.Bernoulli([0.2, 0.9, 0.5], classes=["no", "yes"]),
    "numbers": ct.Categorical([[0.2, 0.3, 0.5]] * 5, classes=[10, 20, 30]),
    "ordered": ct.Ordinal([[0.2, 0.3, 0.5]] * 5, classes=["low", "mid", "high"]),
    "drawn": ct.Bernoulli([0.2, 0.9, 0.5], classes=["no", "yes"]).to_ensemble(4, rng=1),
    "mixture": ct.Mixture([ct.Ordinal([[0.2, 0.3, 0.5]] * 5, classes=["low", "mid", "high"])] * 2),
    "close quantiles": ct.QuantileForecast([0.2, 0.6], [[1.0, np.nextafter(1.0, 2.0)], [-1e308, 1e308], [5e-324, 1.0]]),
    "one quantile": ct.QuantileForecast([0.3], [[0.0], [-1e308], [7.0]]),
}


@pytest.mark.every(6)
@pytest.mark.parametrize(
    "predictions", [*(maker().predictions for maker in FAMILIES.values()), *NAMED.values()], ids=repr
)
def test_samples_are_valid_targets(predictions):
    """What is drawn can be tested, and is checked as what tests draw."""
    for size in (None, 50):
        drawn, redrawn = (method(3, size) for method in (predictions.sample, predictions.redraw))
        pairs = [(drawn, redrawn)] if size is None else zip(drawn, redrawn, strict=True)
        for targets, checked in pairs:
            assert np.array_equal(predictions.check_targets(targets), checked)


OF_ROWS = (
    ct.BlockSKCE,
    ct.estimators.CrossSKCE,
    ct.estimators.WeightedSKCE,
    ct.estimators.GroupSKCE,
    ct.estimators.FeatureSKCE,
    ct.estimators.ClusterSKCE,
    ct.estimators.ClusterLikelihoodRatio,
)


@pytest.mark.every(8)
def test_order_matters_to_what_belongs_to_rows_only(some_case):
    """Blocks, halves, and weights and groups that are given for the rows."""
    sample, kernel = some_case
    shuffled = sample.take(np.random.default_rng(6).permutation(N))
    for estimator in estimators(sample, kernel):
        same = estimator(shuffled.predictions, shuffled.targets)
        if isinstance(estimator, OF_ROWS):
            assert same != pytest.approx(estimator(sample.predictions, sample.targets), rel=1e-6)
        else:
            assert same == pytest.approx(estimator(sample.predictions, sample.targets), rel=1e-11, abs=1e-14)


PAIRS = (
    *(ct.SKCE, ct.LowRankSKCE, ct.MMCE, ct.estimators.DebiasedSquaredECE),
    *(ct.estimators.CrossSKCE, ct.estimators.MaxSKCE, ct.estimators.Omnibus),
)
"""Means over pairs of observations, unless they are biased."""


@pytest.mark.every(6)
@pytest.mark.parametrize(("maker", "kernel"), first_of_each(CASES), ids=lambda part: getattr(part, "__name__", ""))
def test_fewest_observations(maker, kernel):
    sample = maker()
    for estimator in estimators(sample, kernel):
        fewest = 2 if isinstance(estimator, PAIRS) and getattr(estimator, "unbiased", True) else 1
        fewest = getattr(estimator, "block_size", fewest)
        if not isinstance(estimator, (*OF_ROWS[2:], ct.estimators.GroupMaximum)):
            estimator.check(sample.predictions.take(slice(0, fewest)))
            with pytest.raises(ValueError, match=f"wanted at least {fewest} for"):
                estimator.check(sample.predictions.take(slice(0, fewest - 1)))


@pytest.mark.every(6)
def test_biased_estimate_is_the_unbiased_one_and_the_diagonal(case):
    sample, kernel = case
    unbiased, biased = (ct.SKCE(kernel, flag)(sample.predictions, sample.targets) for flag in (True, False))
    diagonal = hpairs.h_diagonal(kernel, sample).mean()
    assert biased == pytest.approx((N - 1) / N * unbiased + diagonal / N, rel=1e-12)
    assert biased >= 0


@pytest.mark.every(8)
def test_unbiased_estimates_have_mean_zero_for_calibrated_predictions(some_centred_case, replications):
    (sample, kernel), number = some_centred_case, replications(100, 400)
    for estimator in (ct.SKCE(kernel), ct.BlockSKCE(kernel), ct.estimators.CrossSKCE(kernel)):
        values = estimator.estimates(sample.predictions, sample.predictions.redraw(8, number))
        assert abs(values.mean()) <= 4.5 * values.std() / np.sqrt(number)


@pytest.mark.every(7)
def test_results_are_reproduced_by_their_seed(some_case):
    sample, kernel = some_case
    for make in (
        lambda: ct.MonteCarloTest(ct.SKCE(kernel), n_resamples=19),
        lambda: ct.ConsistencyTest(ct.SKCE(kernel), n_resamples=19),
        lambda: ct.AsymptoticSKCETest(kernel, n_resamples=19),
    ):
        first = make()(sample.predictions, sample.targets)
        again = make()(sample.predictions, sample.targets, rng=first.seed)
        assert first.to_dict() == again.to_dict()
        assert np.array_equal(first.null_distribution, again.null_distribution)
    from_generator = make()(sample.predictions, sample.targets, rng=np.random.default_rng(first.seed))
    assert from_generator.seed != first.seed


each_test = pytest.mark.parametrize("name", TESTS)


def run(name, **options):
    make, sample = TESTS[name]
    data = sample()
    return make()(data.predictions, data.targets, **options)


@pytest.mark.every(6)
@each_test
def test_the_rng_of_a_call_decides_every_number(name):
    """In fresh objects, and where the report says how to reproduce what was found without a seed."""
    result = run(name)
    line = re.search(r"^Reproduce +rng=(\d+)$", str(result), re.MULTILINE)
    again = run(name) if line is None else run(name, rng=int(line[1]))
    assert (line is None) == (result.seed is None)
    wanted = "wanted uses_random_numbers = True of a null that draws, and all its numbers from the rng of outcome"
    assert again.to_dict() == result.to_dict(), f"{name}: got other numbers for the same rng, {wanted}"


@pytest.mark.every(6)
@each_test
def test_data_drawn_with_the_seed_of_a_test_share_no_numbers_with_it(name):
    """Nulls take children of their generator only."""
    make, sample = TESTS[name]
    test, data, generator = make(), sample(), np.random.default_rng(1)
    estimator = test.estimator.resolve(data.predictions, 1)
    test.null.outcome(estimator, data, generator)
    words = f"{name}: its null draws from the rng of outcome, wanted numbers of its children, rng.spawn(1)[0]"
    assert generator.bit_generator.state == np.random.default_rng(1).bit_generator.state, words


def test_numbers_are_those_of_another_process_with_another_number_of_threads():
    code = "import contracts; print(contracts.pvalues(1))"
    environment = {**os.environ, "OMP_NUM_THREADS": "1" if n_threads() > 1 else "2"}
    printed = subprocess.run(
        [sys.executable, "-c", code], cwd=Path(__file__).parent, env=environment, capture_output=True, text=True
    )
    assert printed.returncode == 0, printed.stderr
    here, there = pvalues(1), eval(printed.stdout)
    assert here.keys() == there.keys()
    for name, values in here.items():
        assert values == pytest.approx(there[name], rel=1e-9, abs=1e-14), name


@pytest.mark.parametrize("family", [ct.Categorical, ct.Bernoulli, ct.Normal])
def test_estimates_follow_from_the_rng_of_the_call(family):
    sample, kernel = FAMILIES[family](), KERNELS[family][0]
    for estimator in estimators(sample, kernel):
        with_seed = [one(sample.predictions, sample.targets, rng=3) for one in (estimator, copy.deepcopy(estimator))]
        assert with_seed[0] == with_seed[1], estimator
        if not estimator.uses_random_numbers(sample.predictions):
            assert estimator(sample.predictions, sample.targets) == with_seed[0], estimator


def test_no_estimator_test_or_null_holds_a_seed():
    for base in (ct.estimators.Estimator, ct.nulls.Null, ct.CalibrationTest):
        for one in public(base):
            assert not {"rng", "seed", "random_state"} & set(inspect.signature(one).parameters), one


@pytest.mark.parametrize("maker", [poisson, negative_binomial, normal])
def test_the_estimate_of_a_test_is_that_of_its_seed(maker):
    sample = maker()
    kernel = KERNELS[type(sample.predictions)][0]
    some = [ct.LowRankSKCE(kernel, 4)] + [ct.estimators.PIT(which) for which in ("KS", "AD") if maker is not normal]
    for estimator in some:
        result = ct.MonteCarloTest(estimator, 9)(sample.predictions, sample.targets)
        same = pytest.approx(result.estimate, rel=1e-12)
        assert estimator(sample.predictions, sample.targets, rng=result.seed) == same
        # Draws without a seed can agree by chance.
        assert any(estimator(sample.predictions, sample.targets) != same for _ in range(30))
        floor = ct.noise_floor(sample.predictions, estimator, n_resamples=9, rng=result.seed)
        assert floor.draws == pytest.approx(result.null_distribution, rel=1e-12)


TWO = {"a": categorical().predictions, "b": ct.Categorical(np.roll(categorical().predictions.probabilities, 1, axis=1))}
P, Y = categorical().predictions, categorical().targets
RIGHT = ct.top_label(P, Y)
TEMPERED = ct.generators.Resampled(P, ct.generators.Tempering(-0.5))
QUICK = functools.partial(ct.calibration_test, n_resamples=19)


def without_redraws(predictions, targets, rng):
    return ct.LogScoreTest()(predictions, targets)


REPORTS = {
    "calibration_test": lambda rng: ct.calibration_test(P, Y, n_resamples=19, rng=rng),
    "with a kernel": lambda rng: ct.calibration_test(P, Y, kernel=P.default_kernel(), n_resamples=19, rng=rng),
    "groups": lambda rng: ct.calibration_by_group(P, Y, np.arange(N) % 2, n_resamples=19, rng=rng),
    "groups of ties": lambda rng: ct.GroupCalibrationTest(ct.estimators.PIT(), 19)(
        poisson().predictions, poisson().targets, np.arange(N) % 2, rng=rng
    ),
    "models": lambda rng: ct.compare_models(TWO, Y, n_resamples=19, rng=rng),
    "models, low rank": lambda rng: ct.compare_models(
        {"a": normal().predictions, "b": normal_with_spread().predictions},
        normal().targets,
        estimator=ct.LowRankSKCE(KERNELS[ct.Normal][0], 4),
        n_resamples=19,
        rng=rng,
    ),
    "classes": lambda rng: ct.compare_classes(P, Y, n_resamples=19, rng=rng),
    "power": lambda rng: ct.power(QUICK, TEMPERED, n=20, n_simulations=3, rng=rng),
    "power curve": lambda rng: ct.power_curve({"default": QUICK}, [TEMPERED], [10, 20], n_simulations=3, rng=rng),
    "sample size": lambda rng: ct.sample_size(without_redraws, TEMPERED, n_simulations=20, rng=rng),
    "squared error": lambda rng: ct.estimate_calibration_error(
        many_classes().predictions, many_classes().targets, rng=rng
    ),
    "recalibration": lambda rng: ct.recalibration.report(
        many_classes().predictions,
        many_classes().targets,
        ct.recalibration.TemperatureScaling(),
        n_resamples=19,
        rng=rng,
    ),
    "best map": lambda rng: ct.recalibration.fit_best(
        *RIGHT, [ct.recalibration.Platt(), ct.recalibration.BetaCalibration()], n_folds=2, rng=rng
    ),
    "scores": lambda rng: ct.score_decomposition(*RIGHT, confidence_level=0.9, n_resamples=49, rng=rng),
    "confidence": lambda rng: ct.confidence_errors(P, Y, confidence_level=0.9, n_resamples=49, rng=rng),
    "noise": lambda rng: ct.noise_floor(P, ct.ECE(), n_resamples=19, rng=rng),
}


@pytest.mark.every(7)
@pytest.mark.parametrize("name", REPORTS)
def test_every_report_is_reproduced_as_it_says(name):
    result = REPORTS[name](None)
    line = re.search(r"^Reproduce +rng=(\d+)$", str(result), re.MULTILINE)
    seed = result.seed if line is None else int(line[1])
    assert seed == result.seed
    again, other = REPORTS[name](seed), REPORTS[name](seed + 1)
    assert str(again) == str(result)
    assert other.seed == seed + 1


DATA = (ct.UCME, ct.estimators.GroupMaximum, ct.estimators.ClusterLikelihoodRatio)


@functools.cache
def plain():
    """Objects of all kinds that hold no data."""
    return (
        *(make() for name, (make, _) in TESTS.items() if not re.search("CME|covariance|Cluster|groups", name)),
        *(e for maker, kernel in CASES for e in estimators(maker(), kernel) if not isinstance(e, OF_ROWS[1:-1])),
        *(kernel for _, kernel in CASES),
        *(one for one in (make().null for make, _ in TESTS.values())),
        ct.GroupCalibrationTest(ct.SKCE(CASES[0][1]), 99),
        ct.PairedSKCETest(CASES[0][1]),
        ct.binning.UniformBinning(7),
        ct.binning.QuantileBinning(7),
        ct.binning.EdgeBinning([0.0, 0.2, 1.0]),
        ct.binning.MedianVarianceBinning(5, 3),
        ct.recalibration.OneVsRest(ct.recalibration.Platt()),
        ct.recalibration.GPCalibrator(n_inducing=5),
        ct.recalibration.TemperatureScaling(),
        ct.recalibration.HistogramBinning(5),
        ct.generators.class_model("M2"),
        ct.generators.Distorted(ct.generators.GaussianModel(3), ct.generators.Bias(0.1)),
        ct.generators.Friedman1(),
        ct.generators.LabelNoise(0.2),
    )


def test_objects_are_printed_as_they_are_made():
    """But for arguments that are data: test locations, weights, groups, clusters; and for infinity."""
    printed = 0
    for one in plain():
        if isinstance(one, DATA) or getattr(one, "_features", None) is not None or "order=inf" in repr(one):
            continue
        again = eval(repr(one), dict(CLASSES | FUNCTIONS))
        assert (type(again), again) == (type(one), one), one
        assert hash(again) == hash(one)
        printed += 1
    assert printed > 150


def test_dataclasses_can_be_changed():
    for one in plain():
        if getattr(one, "_features", None) is None and not isinstance(one, DATA):
            assert dataclasses.replace(one) == one, one


def test_a_named_test_with_another_null_is_the_pair_of_both():
    named = ct.MonteCarloTest(ct.ECE(), 99)
    pair = ct.CalibrationTest(ct.ECE(), ct.nulls.ConditionalMonteCarlo(99))
    assert named == pair
    assert hash(named) == hash(pair)
    changed = dataclasses.replace(named, null=ct.nulls.ConsistencyResampling(9))
    assert changed == ct.CalibrationTest(ct.ECE(), ct.nulls.ConsistencyResampling(9)) == ct.ConsistencyTest(ct.ECE(), 9)
    assert type(changed) is ct.CalibrationTest
    assert dataclasses.replace(named, estimator=ct.MCE()).estimator == ct.MCE()
    assert named != ct.MonteCarloTest(ct.ECE(), 98)
    copied = pickle.loads(pickle.dumps(named))
    assert (type(copied), copied, repr(copied)) == (ct.MonteCarloTest, named, repr(named))
    with pytest.raises(TypeError, match="got SKCE for NormalNull"):
        dataclasses.replace(ct.MonteCarloTest(ct.SKCE(CASES[0][1])), null=ct.nulls.NormalNull())
    with pytest.raises(dataclasses.FrozenInstanceError):
        named.null = pair.null
