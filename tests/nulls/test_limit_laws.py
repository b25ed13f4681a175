"""Pearson type III p-values with the moments given the predictions."""

import numpy as np
import pytest
from grids import thinned
from scipy import special, stats

import caltest as ct
from caltest._laws import pearson3_exponents, pearson3_tail
from caltest.hstatistics.tiles import h_tile
from caltest.kernels import ProductKernel
from caltest.nulls.limit_laws import Moments, probability_of
from caltest.predictions import Sample

TV = ct.ExponentialKernel(ct.TotalVariation(), 0.5)


@pytest.mark.parametrize("skewness", [-1.5, -0.3, 0.0, 0.01, 0.5, 2.0, 4.0])
def test_tails_against_scipy(skewness):
    for z in (-1.0, 0.0, 0.7, 3.0, 12.0):
        expected = stats.pearson3(skewness).sf(z)
        assert pearson3_tail(z, skewness) == pytest.approx(expected, rel=1e-7, abs=1e-300)


def exponent(z, skewness):
    """``-log Q(a, x)``, a continued fraction: ``x**a exp(-x) / Gamma(a) / (x + 1 - a - 1 (1 - a) / (x + 3 - ...))``."""
    a = 4.0 / skewness**2
    x, fraction = a + z * np.sqrt(a), 0.0
    for j in range(4000, 0, -1):
        fraction = j * (j - a) / (x + 2 * j + 1 - a - fraction)
    return x + special.gammaln(a) - a * np.log(x) + np.log(x + 1.0 - a - fraction)


@pytest.mark.parametrize("skewness", [0.05, 0.3, 1.0, 2.0, 5.0])
def test_exponents_far_out(skewness):
    """On both sides of the place where tails are too small for numbers."""
    z = np.array([2.0, 10.0, 60.0, 300.0, 1e3, 1e5, 1e8])
    expected = [exponent(one, skewness) for one in z]
    assert expected[0] == pytest.approx(-np.log(stats.pearson3(skewness).sf(2.0)), rel=1e-9)
    assert max(expected) > 600.0
    assert pearson3_exponents(z, np.full(7, skewness)) == pytest.approx(expected, rel=1e-5)


def test_tails_for_almost_no_skewness_are_continuous():
    assert pearson3_tail(5.0, 0.9e-6) == pytest.approx(pearson3_tail(5.0, 1.1e-6), rel=3e-5)


@pytest.mark.parametrize("k", thinned([10, 100], [10]))
def test_pvalues_are_close_to_the_tail_probabilities(k, replications):
    """Within a factor from 0.5 to 1.1 down to 1e-4, for 100 predictions of 10 classes or more."""
    rng = np.random.default_rng(k)
    p = ct.Categorical(rng.dirichlet(np.full(k, 0.1), 100))
    kernel = p.default_kernel().resolve(p)
    draws = np.concatenate([ct.SKCE(kernel).estimates(p, p.sample(rng, 25_000)) for _ in range(replications(1, 12))])
    test = ct.PearsonSKCETest(kernel)
    deviation = test(p, p.sample(rng), rng=1)
    scale = deviation.estimate / deviation.statistic
    from caltest.hstatistics.variances.moments import third_moment

    skewness = third_moment(kernel, p, np.random.default_rng(1)) / scale**3
    for tail in (0.05, 0.01, 1e-3, 1e-4):
        z = np.quantile(draws, 1.0 - tail) / scale
        error = 4.5 / np.sqrt(draws.size * tail)
        assert 0.5 * (1 - error) <= pearson3_tail(z, skewness) / tail <= 1.1 * (1 + error), tail


def test_statistic_is_the_estimate_in_units_of_its_deviation():
    p = ct.Categorical(np.random.default_rng(1).dirichlet(np.ones(3), 60))
    y = p.sample(2)
    kernel = ProductKernel(TV, ct.DeltaKernel())
    result = ct.PearsonSKCETest(kernel)(p, y)
    draws = ct.SKCE(kernel).estimates(p, p.sample(3, 20_000))
    assert result.statistic == pytest.approx(result.estimate / draws.std(), rel=0.03)
    assert result.pvalue == pytest.approx(np.mean(draws >= result.estimate), abs=0.03)
    assert result.pvalue_kind == "asymptotic"


@pytest.mark.parametrize(
    ("predictions", "kernel"),
    [
        (ct.Laplace(np.linspace(0, 1, 40), 0.3), ct.LaplacianKernel(0.5)),
        (ct.Normal(np.linspace(0, 1, 40), 0.3), ct.GaussianKernel(bandwidth=0.5)),
    ],
    ids=["moments by redraws", "skewness by redraws"],
)
def test_moments_by_redraws(predictions, kernel):
    product = ProductKernel(ct.ExponentialKernel(ct.Wasserstein(), 0.5), kernel)
    y = predictions.sample(4)
    result = ct.PearsonSKCETest(product)(predictions, y, rng=1)
    exact = ct.MonteCarloTest(ct.SKCE(product), 1999)(predictions, y, rng=2)
    assert result.pvalue == pytest.approx(exact.pvalue, abs=0.05)
    assert ct.PearsonSKCETest(product)(predictions, y, rng=result.seed).pvalue == result.pvalue


def test_skewness_by_redraws_is_that_of_the_redraws():
    """Also where the deviation is known and they have another one."""
    normal = ct.Normal(np.linspace(0, 1, 40), 0.3)
    estimator = ct.SKCE(ProductKernel(ct.ExponentialKernel(ct.Wasserstein(), 0.5), ct.GaussianKernel(bandwidth=0.5)))
    sample, null = Sample(normal, normal.sample(4) + 0.1), ct.nulls.PearsonNull()
    found, rng = null.outcome(estimator, sample, np.random.default_rng(1)), np.random.default_rng(1)
    rng.spawn(1)
    draws = ct.nulls.ConditionalMonteCarlo(null.n_resamples).resample(estimator, sample, rng)[2]
    skewness = np.mean(draws**3) / np.mean(draws**2) ** 1.5
    assert 0.001 < found.pvalue < 0.9
    assert found.pvalue == pytest.approx(pearson3_tail(found.statistic, skewness), rel=1e-12)


def test_no_pvalue_is_below_the_probability_of_the_labels():
    p = ct.Categorical([[0.9, 0.1], [0.8, 0.2], [0.7, 0.3]])
    y = np.array([1, 1, 1])
    assert probability_of(Sample(p, y)) == pytest.approx(0.1 * 0.2 * 0.3)
    kernel = ProductKernel(TV, ct.DeltaKernel())
    assert ct.PearsonSKCETest(kernel)(p, y).pvalue >= 0.006 * (1 - 1e-12)
    assert probability_of(Sample(ct.Normal([0.0], 1.0), np.zeros(1))) == 0.0
    assert probability_of(Sample(ct.Categorical([[1.0, 0.0]]), np.array([1]))) == 0.0


def test_note_where_few_outcomes_are_uncertain():
    rng, kernel = np.random.default_rng(1), ProductKernel(TV, ct.DeltaKernel())
    for p, few in ((np.full(41, 0.5), False), (np.full(39, 0.5), True), (np.full((20, 10), 0.1), True)):
        y = (ct.Bernoulli(p) if p.ndim == 1 else ct.Categorical(p)).sample(rng)
        notes = ct.PearsonSKCETest(kernel)(p, y, rng=1).notes
        assert any("the Pearson type III law is rough" in note for note in notes) == few
    normal = ct.Normal(rng.normal(size=9), 1.0)
    assert not ct.PearsonSKCETest(normal.default_kernel())(normal, normal.sample(rng), rng=1).notes


def test_bad_estimators_and_certain_predictions():
    with pytest.raises(TypeError, match="got ECE for PearsonNull, wanted the unbiased SKCE of a ProductKernel"):
        ct.CalibrationTest(ct.ECE(), ct.nulls.PearsonNull())
    with pytest.raises(ValueError, match="leave nothing to chance, so that"):
        ct.PearsonSKCETest(ProductKernel(TV, ct.DeltaKernel()))([[1.0, 0.0], [0.0, 1.0]], [0, 1])
    kernel = ProductKernel(ct.ExponentialKernel(ct.Wasserstein(), 1.0), ct.LaplacianKernel(0.5))
    with pytest.raises(ValueError, match="leave nothing to chance, so that"):
        ct.PearsonSKCETest(kernel)(ct.Normal([0.0, 1.0, 2.0], 0.0), [0.0, 1.0, 2.0])


@pytest.mark.every(3)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_approximations_of_one_limit_law_agree(seed):
    """The bootstrap, the spectrum of the Gram matrix, and a Pearson curve, which is a Gamma law with an offset."""
    rng = np.random.default_rng(seed)
    p = ct.Categorical(rng.dirichlet(np.ones(3), 300))
    kernel = ProductKernel(TV, ct.DeltaKernel())
    y = p.sample(rng)
    sample = Sample(p, y)
    eigenvalues = np.linalg.eigvalsh(h_tile(kernel, sample, sample)) / 300
    draws = (rng.chisquare(1, (10_000, 300)) - 1.0) @ eigenvalues
    spectrum = np.mean(draws >= 300 * ct.SKCE(kernel)(p, y))
    bootstrap = ct.AsymptoticSKCETest(kernel, n_resamples=9999, known_variance=False)(p, y, rng=rng).pvalue
    pearson = ct.PearsonSKCETest(kernel)(p, y, rng=rng).pvalue
    assert (spectrum, bootstrap, pearson) == pytest.approx((pearson,) * 3, abs=0.04)


def test_moments_of_both_sets_of_terms_are_those_of_all():
    rng = np.random.default_rng(6)
    few, many = rng.normal(3.0, 1.0, 7), rng.normal(-8.0, 2.0, 40)
    for one, other in ((few, many), (many, few)):
        both, terms = Moments.of(one, 2.0) + Moments.of(other, 3.0), np.concatenate([one, other])
        assert (both.n, both.largest, both.variances) == (47, np.abs(terms).max(), 5.0)
        assert both.mean == pytest.approx(terms.mean(), rel=1e-12)
        assert both.squares == pytest.approx(46.0 * terms.var(ddof=1), rel=1e-12)


@pytest.mark.parametrize(("block_size", "pairs"), [(2, "30 of 1,770"), (7, "168 of 1,540")])
def test_blocks_that_find_nothing_say_how_many_pairs_they_look_at(block_size, pairs):
    p = ct.Categorical(np.random.default_rng(1).dirichlet(np.ones(3), 60))
    result = ct.AsymptoticBlockSKCETest(block_size=block_size)(p, p.sample(3))
    assert result.pvalue > 0.05
    assert any(note.startswith(f"blocks of {block_size} look at {pairs} pairs of rows") for note in result.notes)
    wrong = ct.AsymptoticBlockSKCETest(block_size=block_size)(p, p.probabilities.argmin(axis=1))
    assert wrong.pvalue <= 0.05
    assert not any("pairs of rows" in note for note in wrong.notes)
