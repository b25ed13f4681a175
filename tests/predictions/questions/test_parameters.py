"""Variances, precisions and logarithms in the place of parameters are asked about, and wrong parameters are not."""

import numpy as np
import pytest
from scipy.stats import expon

import caltest as ct
from caltest.predictions.inputs.convert import as_sample

N = 200


def remarks(predictions, y):
    return as_sample(predictions, y).remarks


@pytest.mark.parametrize("level", [0.05, 30.0])
@pytest.mark.parametrize("spread", [0.0, 0.4])
def test_variances_in_the_place_of_standard_deviations(level, spread):
    rng = np.random.default_rng(12)
    scale = level * np.exp(spread * rng.normal(size=2 * N))
    mean, errors = 3.0 * level * rng.normal(size=2 * N), scale * rng.normal(size=2 * N)
    words = "the square roots of predicted standard deviations would fit the outcomes: are these variances?"
    for factor in (1.0, 1.3):
        assert remarks(ct.Normal(mean, scale), mean + factor * errors) == ()
        assert remarks(ct.Normal(mean, scale**2), mean + factor * errors) == (words,)
    assert remarks(ct.Normal(mean, 2.0 * scale), mean + errors) == ()


@pytest.mark.parametrize(
    ("law", "noise"),
    [
        (ct.Laplace, lambda rng: rng.laplace(size=N)),
        (lambda middle, scale: ct.StudentT(3.0, middle, scale), lambda rng: rng.standard_t(3.0, N)),
    ],
    ids=["Laplace", "StudentT"],
)
def test_functions_of_scales_of_other_laws(law, noise):
    """Of ten data sets each, and of right and simply wrong scales none."""
    asked = {"square roots": 0, "inverse square roots": 0, "reciprocals": 0}
    for seed in range(10):
        rng = np.random.default_rng(seed)
        middle, scale = 3.0 * rng.normal(size=N), 1.2 + rng.gamma(1.0, 1.0, N)
        y = middle + scale * noise(rng)
        for words, given in zip(asked, (scale**2, scale**-2, 1.0 / scale), strict=True):
            found = remarks(law(middle, given), y)
            asked[words] += any(one.startswith(f"the {words} of predicted scales would fit") for one in found)
        assert remarks(law(middle, scale), y) == remarks(law(middle, scale / 5.0), y) == ()
    assert min(asked.values()) >= 7


def test_few_other_wrong_spreads_are_asked_about():
    """Wrong by a random factor, with heavier tails: square roots of spreads that hardly vary fit some of these."""
    rng = np.random.default_rng(13)
    asked = 0
    for _ in range(100):
        scale = 30.0 * np.exp(0.2 * rng.normal(size=N))
        y = np.exp(0.5 * rng.normal()) * scale * rng.standard_t(5, N)
        asked += any("variances" in words for words in remarks(ct.Normal(np.zeros(N), scale), y))
    assert asked <= 5


@pytest.mark.parametrize("seed", range(5))
def test_noise_that_is_not_predicted_is_no_variance(seed):
    """As of the latent function of a Gaussian process: square roots of its spreads are near those of the outcomes."""
    rng = np.random.default_rng(seed)
    scale = 0.063 * np.exp(0.3 * np.abs(rng.normal(size=500)))
    mean = 2.0 * rng.normal(size=500)
    y = mean + scale * rng.normal(size=500) + 0.3 * rng.normal(size=500)
    assert remarks(ct.Normal(mean, scale), y) == ()


def test_other_functions_of_standard_deviations():
    rng = np.random.default_rng(14)
    scale = 1.2 + rng.gamma(1.0, 1.0, 1000)
    mean = 3.0 * rng.normal(size=scale.size)
    y = mean + scale * rng.normal(size=scale.size)
    for given, words in (
        (
            scale**-2,
            "the inverse square roots of predicted standard deviations would fit the outcomes: are these preci",
        ),
        (
            1.0 / scale,
            "the reciprocals of predicted standard deviations would fit the outcomes: are these inverse scal",
        ),
        (
            np.log(scale),
            "the exponentials of predicted standard deviations would fit the outcomes: are these logarithms",
        ),
        (2.0 * np.log(scale), "the exponentials of half the predicted standard deviations would fit the outcomes: are"),
    ):
        (asked,) = remarks(ct.Normal(mean, given), y)
        assert asked.startswith(words)
    for factor in (0.2, 0.5, 1.0, 2.0, 5.0):
        assert remarks(ct.Normal(mean, factor * scale), y) == ()
    assert remarks(ct.Normal(mean, np.where(mean > 0.0, scale, 0.0)), y) == ()


def of_inverses(spread, seed):
    """Laws with a parameter that may be given as its reciprocal, what that is called, and their outcomes."""
    rng = np.random.default_rng(seed)
    z, mean = rng.normal(size=300), np.exp(1.5 + 0.5 * rng.normal(size=300))
    scale, dispersion = 2.5 * np.exp(spread * z), 0.2 * np.exp(spread * z)
    centre, rates = 3.0 * rng.normal(size=300), mean * rng.gamma(1.0 / dispersion, dispersion)
    return {
        "rates": [
            (lambda one: ct.Gamma(np.full(300, 3.0), one), scale, rng.gamma(3.0, scale)),
            (lambda one: expon(scale=one), scale, rng.exponential(scale)),
        ],
        "sizes": [(lambda one: ct.NegativeBinomial.from_mean(mean, one), dispersion, rng.poisson(rates))],
        "inverse scales": [(lambda one: ct.Normal(centre, one), scale, centre + scale * rng.normal(size=300))],
    }


@pytest.mark.parametrize("spread", [0.0, 0.5])
def test_reciprocals_in_the_place_of_parameters(spread, replications):
    """They are asked about nearly always, right parameters never, and hardly ever those that are wrong by a factor."""
    sets, asked, of_wrong = replications(4, 200), dict.fromkeys(of_inverses(0.0, 0), 0), 0
    for seed in range(sets):
        for words, cases in of_inverses(spread, seed).items():
            for law, parameter, y in cases:
                assert remarks(law(parameter), y) == ()
                asked[words] += any(
                    "reciprocals of predicted" in one and f"are these {words}?" in one
                    for one in remarks(law(1.0 / parameter), y)
                )
                of_wrong += any(
                    "reciprocals" in one
                    for factor in (0.4, 0.6, 1.6, 2.4)
                    for one in remarks(law(factor * parameter), y)
                )
    assert asked["rates"] >= 0.85 * 2 * sets
    assert asked["sizes"] >= 0.6 * sets
    assert asked["inverse scales"] >= 0.9 * sets
    assert of_wrong <= 0.01 * 16 * sets


def test_precisions_that_do_not_vary():
    rng = np.random.default_rng(17)
    y = 0.2 * rng.normal(size=400)
    asked = "the inverse square roots of predicted standard deviations would fit the outcomes: are these precisions?"
    assert remarks(ct.Normal(np.zeros(400), 25.0), y) == (asked,)


@pytest.mark.parametrize("dispersion", [0.0, 0.5])
def test_functions_of_means_of_counts(dispersion):
    rng = np.random.default_rng(15)
    mean = 1.2 + np.exp(1.0 + 0.5 * rng.normal(size=500))
    y = rng.poisson(mean * (rng.gamma(1.0 / dispersion, dispersion, mean.size) if dispersion else 1.0))
    for family in (ct.Poisson, lambda rate: ct.NegativeBinomial.from_mean(rate, 0.5)):
        assert remarks(family(np.log(mean)), y) == (
            "the exponentials of predicted means would fit the outcomes: are these logarithms?",
        )
        assert remarks(family(np.sqrt(mean)), y) == (
            "the squares of predicted means would fit the outcomes: are these square roots?",
        )
        for wrong in (0.3 * mean, mean, 2.0 * mean, mean**0.8, np.full(mean.size, 1.0)):
            assert remarks(family(wrong), y) == ()


def test_probabilities_of_the_other_event():
    rng = np.random.default_rng(16)
    mean, size = np.exp(1.0 + 0.5 * rng.normal(size=500)), 2.0
    y = rng.poisson(mean * rng.gamma(size, 1.0 / size, mean.size))
    words = "1 - probability would fit the outcomes: is it that of the other event, as torch has it?"
    assert remarks(ct.NegativeBinomial(size, mean / (size + mean)), y) == (words,)
    for factor in (0.3, 1.0, 3.0):
        for power in (0.7, 1.0):
            assert remarks(ct.NegativeBinomial.from_mean(factor * mean**power, 1.0 / size), y) == ()
    assert remarks(ct.NegativeBinomial(0.8, 0.8 / (0.8 + mean)), y) == ()
    nearly_poisson = ct.NegativeBinomial(1e9, 1e9 / (1e9 + mean))  # The other event has no mean that is a number.
    assert remarks(nearly_poisson, rng.poisson(mean)) == ()


@pytest.mark.parametrize(
    ("make", "advice"),
    [
        (lambda: ct.Poisson([1.0, -0.3]), "rate: got -0.3 at row 1, wanted expected counts from 0 to 2"),
        (lambda: ct.NegativeBinomial.from_mean([1.0, -0.3], 0.5), "mean: got -0.3 at row 1, wanted expected counts"),
        (lambda: ct.Normal([0.0, 1.0], [1.0, -0.3]), "scale: got -0.3 at row 1, wanted scales of at least 0"),
    ],
)
def test_negative_ones_are_refused_with_what_they_may_be(make, advice):
    with pytest.raises(ValueError, match=r"; if these are logarithms, pass numpy\.exp of them") as error:
        make()
    assert str(error.value).startswith(advice)


@pytest.mark.parametrize(("spread", "unit"), [(0.0, 1.0), (0.4, 1.0), (0.4, 0.01)])
def test_means_in_the_place_of_standard_deviations(spread, unit):
    rng = np.random.default_rng(12)
    scale, mean = 2.0 * unit * np.exp(spread * rng.normal(size=2 * N)), unit * (8.0 + rng.random(2 * N))
    words = "means and standard deviations in each other's place would fit the outcomes: are the two exchanged?"
    for factor in (1.0, 1.2):
        y = mean + factor * scale * rng.normal(size=2 * N)
        assert remarks(ct.Normal(mean, scale), y) == ()
        assert remarks(ct.Normal(scale, mean), y) == (words,)
    assert words not in remarks(ct.Normal(mean, scale), 0.6 * y)
    with pytest.raises(ValueError, match="wanted scales of at least 0; means come first, then scales"):
        ct.Normal(scale, mean - 8.5 * unit)


def test_means_of_twenty_counts_can_be_asked_about():
    rate = np.exp(np.linspace(1.0, 5.0, 20))
    counts = ct.Poisson(rate).sample(1)
    asked = [remarks(ct.Poisson(np.log(rate[:n])), counts[:n]) for n in (19, 20)]
    assert asked == [(), ("the exponentials of predicted means would fit the outcomes: are these logarithms?",)]


@pytest.mark.parametrize("seed", range(3))
def test_parameters_that_a_factor_corrects_are_no_functions_of_others(seed):
    """Squares of means around 3 are about three times these, and roots of spreads around 1/9 also."""
    z, rng = np.random.default_rng(seed).normal(size=60), np.random.default_rng([1, seed])
    factors = np.exp(0.2 * z)
    for family in (ct.Poisson, lambda rate: ct.NegativeBinomial.from_mean(rate, 0.1)):
        assert remarks(family(3.0 * factors), rng.poisson(9.0 * factors)) == ()
    assert remarks(ct.Normal(np.zeros(60), factors / 9.0), factors / 3.0 * rng.normal(size=60)) == ()
