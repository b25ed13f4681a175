"""Distributions of scipy.stats and torch.distributions as predictions: the same law, or one clear error."""

import numpy as np
import pytest
from scipy import stats
from test_bad_input import pattern

import caltest as ct
from caltest.predictions.inputs.convert import as_predictions
from caltest.predictions.inputs.foreign import described_by_torch

N = 6
RNG = np.random.default_rng(1)
LOC, SCALE, SHAPE, OTHER = RNG.normal(size=N), *RNG.uniform(0.5, 3.0, (3, N))
P = RNG.uniform(0.1, 0.9, N)
POINTS = np.linspace(0.05, 0.95, 7)


def arguments(predictions):
    """All arrays that predictions show, by name."""
    kind = type(predictions)
    names = [name for name in dir(kind) if name[0] != "_" and isinstance(getattr(kind, name), property)]
    arrays = {name: value for name in names if isinstance(value := getattr(predictions, name, None), np.ndarray)}
    for a, component in enumerate(getattr(predictions, "components", ())):
        arrays |= {f"{a}.{name}": array for name, array in arguments(component).items()}
    return arrays


def assert_equal(converted, wanted, rel=1e-12):
    assert type(converted) is type(wanted)
    one, other = arguments(converted), arguments(wanted)
    assert one.keys() == other.keys()
    assert one
    for name, array in one.items():
        assert array.shape == other[name].shape
        assert array == pytest.approx(other[name], rel=rel)


# scipy.stats, frozen. The last entries are what the family is called with, and what its law is in other parameters.

FROZEN = {
    "norm": (lambda: stats.norm(LOC, SCALE), "Normal", (LOC, SCALE)),
    "norm, names": (lambda: stats.norm(scale=SCALE, loc=LOC), "Normal", (LOC, SCALE)),
    "norm, one scale": (lambda: stats.norm(LOC, 2.0), "Normal", (LOC, np.full(N, 2.0))),
    "norm, one loc": (lambda: stats.norm(1, SCALE), "Normal", (np.full(N, 1.0), SCALE)),
    "norm, defaults": (lambda: stats.norm(LOC), "Normal", (LOC, np.ones(N))),
    "norm, numbers": (lambda: stats.norm(0.5, 2), "Normal", ([0.5], [2.0])),
    "norm, lists": (lambda: stats.norm([0, 1], [1, 2]), "Normal", ([0.0, 1.0], [1.0, 2.0])),
    "laplace": (lambda: stats.laplace(LOC, SCALE), "Laplace", (LOC, SCALE)),
    "t": (lambda: stats.t(SHAPE, LOC, SCALE), "StudentT", (SHAPE, LOC, SCALE)),
    "t, defaults": (lambda: stats.t(SHAPE), "StudentT", (SHAPE, np.zeros(N), np.ones(N))),
    "gamma": (lambda: stats.gamma(SHAPE, scale=SCALE), "Gamma", (SHAPE, SCALE)),
    "gamma, name": (lambda: stats.gamma(a=SHAPE), "Gamma", (SHAPE, np.ones(N))),
    "expon": (lambda: stats.expon(scale=SCALE), "Gamma", (np.ones(N), SCALE)),
    "lognorm": (lambda: stats.lognorm(s=SHAPE, scale=SCALE), "LogNormal", (np.log(SCALE), SHAPE)),
    "beta": (lambda: stats.beta(SHAPE, OTHER), "Beta", (SHAPE, OTHER)),
    "poisson": (lambda: stats.poisson(SHAPE), "Poisson", (SHAPE,)),
    "poisson, name": (lambda: stats.poisson(mu=SHAPE), "Poisson", (SHAPE,)),
    "nbinom": (lambda: stats.nbinom(SHAPE, P), "NegativeBinomial", (SHAPE, P)),
    "nbinom, names": (lambda: stats.nbinom(p=P, n=3), "NegativeBinomial", (np.full(N, 3.0), P)),
    "bernoulli": (lambda: stats.bernoulli(P), "Bernoulli", (P,)),
}
frozen = pytest.mark.parametrize(("make", "family", "parameters"), FROZEN.values(), ids=FROZEN)


@frozen
def test_frozen_distributions(make, family, parameters):
    assert_equal(as_predictions(make()), getattr(ct, family)(*parameters))


@frozen
def test_frozen_distributions_have_the_same_distribution_function(make, family, parameters):
    distribution = make()
    predictions = as_predictions(distribution)
    if isinstance(predictions, ct.Bernoulli):
        assert predictions.probability == pytest.approx(distribution.pmf(1))
        return
    for level in POINTS:
        y = np.atleast_1d(distribution.ppf(level))
        assert predictions.cdf(y) == pytest.approx(np.atleast_1d(distribution.cdf(y)), rel=1e-10)


def test_multivariate_normal():
    root = RNG.normal(size=(3, 2, 2))
    mean, covariance = RNG.normal(size=(3, 2)), root @ root.swapaxes(-1, -2)
    one = stats.multivariate_normal(mean[0], covariance[0])
    assert_equal(as_predictions(one), ct.MvNormal(mean[:1], covariance[:1]))
    several = [stats.multivariate_normal(m, c) for m, c in zip(mean, covariance, strict=True)]
    assert_equal(as_predictions(several), ct.MvNormal(mean, covariance))
    diagonal = stats.multivariate_normal(mean[0], stats.Covariance.from_diagonal([1.0, 2.0]))
    assert_equal(as_predictions(diagonal), ct.MvNormal(mean[:1], [[[1.0, 0.0], [0.0, 2.0]]]))


def test_lists():
    wanted = ct.Normal(LOC, SCALE)
    each = [stats.norm(m, s) for m, s in zip(LOC, SCALE, strict=True)]
    assert_equal(as_predictions(each), wanted)
    assert_equal(as_predictions(tuple(each)), wanted)
    assert_equal(as_predictions([stats.norm(LOC[:4], SCALE[:4]), stats.norm(LOC[4:], SCALE[4:])]), wanted)
    assert_equal(as_predictions([stats.norm(LOC[0], SCALE[0])]), wanted.take(slice(0, 1)))
    assert_equal(as_predictions([stats.bernoulli(p) for p in P]), ct.Bernoulli(P))


# The objects that came with scipy 1.15.

new = pytest.mark.skipif(not hasattr(stats, "Normal"), reason="this scipy has frozen distributions only")


@new
def test_lists_of_several_continuous_kinds():
    """All of which have a family of their own, or none."""
    laws = [stats.norm(1.0, 2.0), stats.laplace(0.0, 1.0), stats.gamma(3.0), stats.rv_histogram(([1, 2], [0, 1, 2]))()]
    for items in (laws[:2], laws[:3], laws):
        found = as_predictions(items)
        assert isinstance(found, ct.Continuous)
        np.testing.assert_allclose(found.cdf(np.full(len(items), 0.5)), [law.cdf(0.5) for law in items])
    assert isinstance(as_predictions(laws[:1]), ct.Normal)
    with pytest.raises(TypeError, match="wanted it frozen: pass histogram"):
        ct.Continuous([laws[0], laws[-1].dist])


def test_normal_objects():
    wanted = ct.Normal(LOC, SCALE)
    assert_equal(as_predictions(stats.Normal(mu=LOC, sigma=SCALE)), wanted)
    assert_equal(as_predictions([stats.Normal(mu=m, sigma=s) for m, s in zip(LOC, SCALE, strict=True)]), wanted)
    assert_equal(as_predictions(stats.Normal(mu=LOC, sigma=2.0)), ct.Normal(LOC, 2.0))
    assert_equal(as_predictions(stats.Normal(mu=LOC)), ct.Normal(LOC, 1.0))
    assert_equal(as_predictions(stats.Normal()), ct.Normal([0.0], [1.0]))


@new
def test_mixture_objects():
    def mixture(weight):
        components = [stats.Normal(mu=0.0, sigma=1.0), stats.Normal(mu=weight, sigma=2.0)]
        return stats.Mixture(components, weights=[weight, 1.0 - weight])

    wanted = ct.Mixture([ct.Normal([0.0, 0.0], 1.0), ct.Normal([0.3, 0.8], 2.0)], [[0.3, 0.7], [0.8, 0.2]])
    assert_equal(as_predictions([mixture(0.3), mixture(0.8)]), wanted)
    assert_equal(as_predictions(mixture(0.3)), wanted.take(slice(0, 1)))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (stats.logistic(1e20, 1.0), r"logistic\(1e\+20, 1\) at row 1, all of which is 1e\+20 to rounding"),
        (stats.gamma(-1.0), r"gamma\(-1, 0, 1\) at row 1, which scipy.stats has no quantiles of"),
    ],
)
def test_the_first_distribution_without_quantiles_or_spread_is_named(wrong, message):
    with pytest.raises(ValueError, match=f"distributions: got {message}"):
        as_predictions([stats.logistic(0.0, 1.0), wrong, wrong])


# torch.distributions.


def torch_case(name):
    """A distribution of torch, the predictions it should be, and their law in scipy."""
    torch = pytest.importorskip("torch")
    d, t = torch.distributions, torch.tensor
    logits = RNG.normal(size=(N, 3))
    softmax = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    cases = {
        "Normal": (d.Normal(t(LOC), t(SCALE)), "Normal", (LOC, SCALE), stats.norm(LOC, SCALE)),
        "Normal, one scale": (d.Normal(t(LOC), 2.0), "Normal", (LOC, np.full(N, 2.0)), stats.norm(LOC, 2.0)),
        "Normal, expanded": (
            d.Normal(t(0.5).double(), 2.0).expand([N]),
            "Normal",
            ([0.5] * N, 2.0),
            stats.norm(0.5, 2.0),
        ),
        "Laplace": (d.Laplace(t(LOC), t(SCALE)), "Laplace", (LOC, SCALE), stats.laplace(LOC, SCALE)),
        "StudentT": (
            d.StudentT(t(SHAPE), t(LOC), t(SCALE)),
            "StudentT",
            (SHAPE, LOC, SCALE),
            stats.t(SHAPE, LOC, SCALE),
        ),
        "Gamma": (d.Gamma(t(SHAPE), t(SCALE)), "Gamma", (SHAPE, 1 / SCALE), stats.gamma(SHAPE, scale=1 / SCALE)),
        "Exponential": (d.Exponential(t(SCALE)), "Gamma", (np.ones(N), 1 / SCALE), stats.expon(scale=1 / SCALE)),
        "LogNormal": (
            d.LogNormal(t(LOC), t(SCALE)),
            "LogNormal",
            (LOC, SCALE),
            stats.lognorm(SCALE, scale=np.exp(LOC)),
        ),
        "Beta": (d.Beta(t(SHAPE), t(OTHER)), "Beta", (SHAPE, OTHER), stats.beta(SHAPE, OTHER)),
        "Poisson": (d.Poisson(t(SHAPE)), "Poisson", (SHAPE,), stats.poisson(SHAPE)),
        "NegativeBinomial": (
            d.NegativeBinomial(t(SHAPE), t(P)),
            "NegativeBinomial",
            (SHAPE, 1 - P),
            stats.nbinom(SHAPE, 1 - P),
        ),
        "NegativeBinomial, logits": (
            d.NegativeBinomial(t(SHAPE), logits=t(LOC)),
            "NegativeBinomial",
            (SHAPE, 1 / (1 + np.exp(LOC))),
            stats.nbinom(SHAPE, 1 / (1 + np.exp(LOC))),
        ),
        "Bernoulli": (d.Bernoulli(t(P)), "Bernoulli", (P,), stats.bernoulli(P)),
        "Bernoulli, logits": (
            d.Bernoulli(logits=t(LOC)),
            "Bernoulli",
            (1 / (1 + np.exp(-LOC)),),
            stats.bernoulli(1 / (1 + np.exp(-LOC))),
        ),
        "Categorical": (d.Categorical(t(softmax)), "Categorical", (softmax,), None),
        "Categorical, logits": (d.Categorical(logits=t(logits)), "Categorical", (softmax,), None),
    }
    return torch, *cases[name]


TORCH = [
    *("Normal", "Normal, one scale", "Normal, expanded", "Laplace", "StudentT", "Gamma", "Exponential", "LogNormal"),
    *("Beta", "Poisson", "NegativeBinomial", "NegativeBinomial, logits", "Bernoulli", "Bernoulli, logits"),
    *("Categorical", "Categorical, logits"),
]


@pytest.mark.parametrize("name", TORCH)
def test_torch_distributions(name):
    _, distribution, family, parameters, _ = torch_case(name)
    assert_equal(as_predictions(distribution), getattr(ct, family)(*parameters))


@pytest.mark.parametrize("name", TORCH)
def test_parameters_of_torch_mean_the_same_law(name):
    """The law in scipy's parameters, which are those of the predictions, has the densities that torch computes."""
    torch, distribution, family, _, law = torch_case(name)
    if law is None:
        densities = np.stack([distribution.log_prob(torch.tensor(c)).numpy() for c in range(3)], axis=1)
        assert as_predictions(distribution).probabilities == pytest.approx(np.exp(densities), rel=1e-12)
        return
    is_discrete = family in ("Poisson", "NegativeBinomial", "Bernoulli")
    for y in [0.0, 1.0] if is_discrete else POINTS:
        mine = law.logpmf(y) if is_discrete else law.logpdf(y)
        theirs = distribution.log_prob(torch.tensor(y, dtype=torch.float64)).numpy()
        assert np.broadcast_to(mine, N) == pytest.approx(theirs, rel=1e-10)


def test_torch_negative_binomial_whose_probability_rounds_to_1():
    """Logits of 18 are a probability of 1 in single precision, and 1.5e-8 to stop."""
    torch = pytest.importorskip("torch")
    distribution = torch.distributions.NegativeBinomial(torch.tensor([2.0]), logits=torch.tensor([18.0]))
    size, probability = described_by_torch(distribution).arguments
    assert size == [2.0]
    assert probability == pytest.approx(1 / (1 + np.exp(18.0)), rel=1e-12)


def stand_in(name, **attributes):
    """What is read of a distribution of torch, where that is not installed."""
    return type(name, (), {"__module__": "torch.distributions", "batch_shape": (N,), **attributes})()


STAND_INS = {
    "Gamma": ({"concentration": SHAPE, "rate": OTHER}, (SHAPE, 1.0 / OTHER)),
    "Exponential": ({"rate": OTHER}, (np.ones(N), 1.0 / OTHER)),
    "NegativeBinomial": ({"total_count": SHAPE, "logits": LOC}, (SHAPE, 1.0 / (1.0 + np.exp(LOC)))),
    "Beta": ({"concentration0": OTHER, "concentration1": SHAPE}, (SHAPE, OTHER)),
    "StudentT": ({"df": SHAPE, "loc": LOC, "scale": SCALE}, (SHAPE, LOC, SCALE)),
}


@pytest.mark.parametrize("name", STAND_INS)
def test_parameters_of_torch(name):
    attributes, wanted = STAND_INS[name]
    np.testing.assert_allclose(described_by_torch(stand_in(name, **attributes)).arguments, wanted, rtol=1e-12)


def test_torch_counts_until_failures():
    """An instance has what it was given in its own dictionary, and the other by a property of the class."""
    given = stand_in("NegativeBinomial", total_count=SHAPE, logits=None)
    given.probs = P
    np.testing.assert_allclose(described_by_torch(given).arguments, (SHAPE, 1.0 - P), rtol=1e-12)


def test_covariances_of_torch():
    mean, scale, root = RNG.normal(size=(N, 3)), RNG.uniform(0.5, 2.0, (N, 3)), np.tril(RNG.normal(size=(N, 3, 3)))
    full = described_by_torch(stand_in("MultivariateNormal", loc=mean, scale_tril=root))
    assert full.family == "MvNormal"
    np.testing.assert_allclose(full.arguments[1], np.einsum("nij,nkj->nik", root, root), rtol=1e-12)
    base = stand_in("Normal", loc=mean, scale=scale)
    diagonal = described_by_torch(stand_in("Independent", base_dist=base, reinterpreted_batch_ndims=1))
    assert diagonal.family == "MvNormal"
    np.testing.assert_allclose(diagonal.arguments[1], scale * scale, rtol=1e-12)


def test_mixtures_without_torch():
    weights, (mean, scale) = np.full((N, 3), 1 / 3), np.random.default_rng(1).random((2, N, 3))
    parts = stand_in("Normal", loc=mean, scale=scale, batch_shape=(N, 3))

    def of(components):
        shares = stand_in("Categorical", probs=weights)
        return stand_in("MixtureSameFamily", mixture_distribution=shares, component_distribution=components)

    found = described_by_torch(of(parts)).as_rows().predictions()
    wanted = ct.Mixture([ct.Normal(mean[:, a], scale[:, a]) for a in range(3)], weights)
    np.testing.assert_allclose(found.moments(), wanted.moments(), rtol=1e-14)
    with pytest.raises(TypeError, match="of MixtureSameFamily of Normal, wanted a single mixture"):
        described_by_torch(of(of(parts))).predictions()


def test_torch_vectors():
    torch = pytest.importorskip("torch")
    d, t = torch.distributions, torch.tensor
    mean, scale, root = RNG.normal(size=(N, 3)), RNG.uniform(0.5, 2.0, (N, 3)), RNG.normal(size=(N, 3, 3))
    covariance = root @ root.swapaxes(-1, -2)
    independent = as_predictions(d.Independent(d.Normal(t(mean), t(scale)), 1))
    assert_equal(independent, ct.MvNormal(mean, scale**2))
    full = as_predictions(d.MultivariateNormal(t(mean), t(covariance)))
    assert_equal(full, ct.MvNormal(mean, covariance), rel=1e-8)
    for predictions, distribution in (
        (independent, d.Independent(d.Normal(t(mean), t(scale)), 1)),
        (full, d.MultivariateNormal(t(mean), t(covariance))),
    ):
        y = RNG.normal(size=(N, 3))
        full_covariance = predictions.covariance
        if full_covariance.ndim == 2:
            full_covariance = np.stack([np.diag(row) for row in full_covariance])
        mine = [stats.multivariate_normal(*law).logpdf(z) for z, *law in zip(y, mean, full_covariance, strict=True)]
        assert mine == pytest.approx(distribution.log_prob(t(y)).tolist(), rel=1e-8)
    assert_equal(as_predictions(d.Independent(d.Normal(t(LOC), t(SCALE)), 0)), ct.Normal(LOC, SCALE))
    single = as_predictions(d.MultivariateNormal(t(mean[0]), scale_tril=t(np.tril(root[0]) + 5 * np.eye(3))))
    assert len(single) == 1
    low = as_predictions(d.MultivariateNormal(t(mean).float(), t(covariance).float()))
    assert low.covariance == pytest.approx(covariance, rel=1e-4, abs=1e-4)


def test_torch_mixtures():
    torch = pytest.importorskip("torch")
    d, t = torch.distributions, torch.tensor
    weights, mean, scale = RNG.dirichlet(np.ones(4), N), RNG.normal(size=(N, 4)), RNG.uniform(0.5, 2.0, (N, 4))
    mixture = d.MixtureSameFamily(d.Categorical(t(weights)), d.Normal(t(mean), t(scale)))
    wanted = ct.Mixture([ct.Normal(mean[:, a], scale[:, a]) for a in range(4)], weights)
    assert_equal(as_predictions(mixture), wanted)
    y = RNG.normal(size=N)
    assert as_predictions(mixture).cdf(y) == pytest.approx(mixture.cdf(t(y)).numpy(), rel=1e-10)
    one = d.MixtureSameFamily(d.Categorical(t(weights[0])), d.Normal(t(mean[0]), t(scale[0])))
    assert_equal(as_predictions(one), wanted.take(slice(0, 1)))
    means, scales = RNG.normal(size=(N, 4, 2)), RNG.uniform(0.5, 2.0, (N, 4, 2))
    vectors = d.MixtureSameFamily(d.Categorical(t(weights)), d.Independent(d.Normal(t(means), t(scales)), 1))
    wanted = ct.Mixture([ct.MvNormal(means[:, a], scales[:, a] ** 2) for a in range(4)], weights)
    assert_equal(as_predictions(vectors), wanted)
    batches = [
        d.MixtureSameFamily(
            d.Categorical(t(weights[part])), d.Independent(d.Normal(t(means[part]), t(scales[part])), 1)
        )
        for part in (slice(0, 4), slice(4, N))
    ]
    assert_equal(as_predictions(batches), wanted)


def test_torch_batches_and_gradients():
    torch = pytest.importorskip("torch")
    mean = torch.tensor(LOC, requires_grad=True)
    batches = [torch.distributions.Normal(mean[part], torch.tensor(SCALE[part])) for part in (slice(0, 4), slice(4, N))]
    assert_equal(as_predictions(batches), ct.Normal(LOC, SCALE))
    assert mean.requires_grad
    single = torch.distributions.Normal(torch.tensor(LOC).float(), 1.0)
    assert as_predictions(single).mean == pytest.approx(LOC.astype(np.float32), rel=1e-15)


# Everywhere that predictions go.


@pytest.mark.parametrize("package", ["scipy", "torch"])
def test_every_entrance_takes_them(package):
    if package == "torch":
        torch = pytest.importorskip("torch")
        normal = torch.distributions.Normal(torch.tensor(LOC), torch.tensor(SCALE))
        classes = torch.distributions.Categorical(torch.tensor(np.stack([P, 1 - P], axis=1)))
    else:
        normal, classes = stats.norm(LOC, SCALE), None
    y, wanted = RNG.normal(size=N), ct.Normal(LOC, SCALE)
    kernel = ct.ProductKernel(ct.ExponentialKernel(ct.Wasserstein(), 1.0), ct.GaussianKernel(bandwidth=1.0))
    one, other = (ct.calibration_test(p, y, n_resamples=9, rng=1) for p in (normal, wanted))
    assert one.to_dict() == other.to_dict()
    assert ct.SKCE(kernel)(normal, y) == ct.SKCE(kernel)(wanted, y)
    assert ct.UCME(kernel, normal, y)(normal, y) == ct.UCME(kernel, wanted, y)(wanted, y)
    assert ct.AsymptoticBlockSKCETest(kernel)(normal, y).pvalue == ct.AsymptoticBlockSKCETest(kernel)(wanted, y).pvalue
    accumulator = ct.AsymptoticBlockSKCETest(kernel).accumulator().update(normal, y)
    assert accumulator.result().estimate == ct.BlockSKCE(kernel)(wanted, y)
    assert ct.median_bandwidth(normal, ct.Wasserstein()) == ct.median_bandwidth(wanted, ct.Wasserstein())
    if classes is not None:
        labels = np.array([0, 1, 1, 0, 0, 1])
        assert ct.ECE()(classes, labels) == ct.ECE()(np.stack([P, 1 - P], axis=1), labels)
        confidences, _ = ct.top_label(classes, labels)
        assert confidences.probability == pytest.approx(np.maximum(P, 1 - P))
        named = ct.calibration_test(classes, np.array(["a", "b"])[labels], classes=["a", "b"], n_resamples=9, rng=1)
        assert named.pvalue == ct.calibration_test(classes, labels, n_resamples=9, rng=1).pvalue


def test_predictions_keep_their_values():
    loc = LOC.copy()
    predictions = as_predictions(stats.norm(loc, SCALE))
    loc[:] = 0.0
    assert np.array_equal(predictions.mean, LOC)


# Errors.

Y = np.zeros(N)
KNOWN = "wanted one of frozen norm, laplace, t, gamma, expon, lognorm, beta, poisson, nbinom, bernoulli, other frozen"
BAD = {
    "unknown": (lambda: stats.hypergeom(20, 7, LOC), TypeError, f"got hypergeom of scipy.stats, {KNOWN} ... Ensemble("),
    "unknown, multivariate": (
        lambda: stats.multivariate_t([0, 1]),
        TypeError,
        f"got multivariate_t_frozen ... {KNOWN}",
    ),
    "not frozen": (lambda: stats.norm, TypeError, "got norm without parameters, wanted norm(...) with arrays of them"),
    "density estimate": (lambda: stats.gaussian_kde(LOC), TypeError, f"got gaussian_kde of scipy.stats, {KNOWN}"),
    "2-D": (
        lambda: stats.norm(np.zeros((N, 2)), 1.0),
        ValueError,
        "got norm with parameters of shape (6, 2), wanted one dimension, one distribution for each target; for targets "
        "that are vectors pass multivariate distributions, or MvNormal(mean, variances)",
    ),
    "column": (lambda: stats.norm(LOC[:, None]), ValueError, "shape (6, 1), wanted one ... remove the last dimension"),
    "outer": (lambda: stats.norm(LOC[:, None], SCALE), ValueError, "got norm with parameters of shape (6, 6)"),
    "empty": (lambda: stats.norm([], []), ValueError, "loc: got no values (shape (0,)), wanted at least one"),
    "nan": (lambda: stats.norm([0.0, np.nan]), ValueError, "loc: got nan at row 1"),
    "negative scale": (lambda: stats.norm(LOC, -SCALE), ValueError, "scale: got -"),
    "gamma elsewhere": (lambda: stats.gamma(SHAPE, [0, 0, 1, 0, 0, 0]), ValueError, "loc: got 1 at row 2, wanted 0"),
    "expon elsewhere": (lambda: stats.expon(2.0), ValueError, "loc: got 2 at row 0, wanted 0: the family has a fixed"),
    "beta, wider": (lambda: stats.beta(SHAPE, OTHER, scale=2), ValueError, "scale: got 2 at row 0, wanted 1: the"),
    "poisson elsewhere": (lambda: stats.poisson(SHAPE, 1), ValueError, "loc: got 1 at row 0, wanted 0"),
    "lognorm, scale 0": (lambda: stats.lognorm(SHAPE, scale=0.0), ValueError, "scale: got 0 at row 0, wanted positive"),
    "two families": (
        lambda: [stats.norm(0, 1), stats.norm(1, 1), stats.poisson(1)],
        TypeError,
        "got norm at position 0 and poisson at position 2, wanted distributions of one family",
    ),
    "an array": (lambda: np.array([stats.norm(0, 1), stats.t(3)]), ValueError, "pass distributions as a list: list("),
    "a histogram": (lambda: [stats.rv_histogram(([1, 2], [0, 1, 2]))], TypeError, "wanted it frozen: pass histogram"),
    "nan in a list": (lambda: [stats.norm(0, 1), stats.norm(0, np.nan)], ValueError, "scale: got nan at row 1, wanted"),
    "nan among others": (lambda: [stats.norm(0, 1), stats.logistic(np.nan)], ValueError, "loc: got nan at row 1, w"),
    "and a number": (lambda: [stats.norm(0, 1), 0.5], TypeError, "got a float at position 1, wanted distributions"),
    "two dimensions": (
        lambda: [stats.multivariate_normal([0, 1]), stats.multivariate_normal([0, 1, 2])],
        ValueError,
        "got multivariate_normal of different dimensions at position 0 and 1, wanted the same",
    ),
}


@pytest.mark.usefixtures("without_findings")
def test_lists_can_begin_with_a_family_of_the_package():
    some = [stats.norm(0, 1), stats.logistic(0, 1), stats.norm(1, 2)]
    turned = [some[1], some[0], some[2]]
    found, others = (ct.calibration_test(one, [0.3, 0.1, 2.0], n_resamples=19, rng=1) for one in (some, turned))
    assert found.predictions.startswith("Continuous")
    assert found.n == others.n == 3


@pytest.mark.parametrize(("make", "error", "message"), BAD.values(), ids=BAD)
def test_errors(make, error, message):
    with pytest.raises(error, match=pattern(message)):
        ct.calibration_test(make(), Y)


@new
def test_errors_of_new_objects():
    for data, message in (
        (2.0 * stats.Normal() + 1.0, "got 2.0*StandardNormal() + 1.0 of scipy.stats, wanted one of ... and Normal"),
        (stats.make_distribution(stats.gamma)(a=SHAPE), "got Gamma(a="),
        (stats.Uniform(a=0.0, b=1.0), "got Uniform(a=0.0, b=1.0) of scipy.stats"),
        (stats.Mixture([stats.Normal(), stats.Uniform(a=0.0, b=1.0)]), "got Uniform(a=0.0, b=1.0) of scipy.stats"),
    ):
        with pytest.raises(TypeError, match=pattern(message)):
            ct.calibration_test(data, Y)


def test_errors_of_torch():
    torch = pytest.importorskip("torch")
    d, zeros = torch.distributions, torch.zeros

    class Truncated(d.Normal):
        """A user's own distribution."""

    for data, message in (
        (d.Cauchy(zeros(N), 1.0), "got Cauchy of torch.distributions, wanted one of Independent(Normal, 1), Mixture"),
        (d.Independent(d.Laplace(zeros(N, 2), 1.0), 1), "got Independent(Laplace, 1) of torch.distributions"),
        (d.Independent(d.Normal(zeros(N, 2, 2), 1.0), 2), "got Independent(Normal, 2) of torch.distributions"),
        (Truncated(zeros(N), 1.0), "Truncated'> of torch.distributions"),
        ([d.Normal(zeros(N), 1.0), stats.norm(0, 1)], "got Normal at position 0 and norm at position 1"),
    ):
        with pytest.raises(TypeError, match=pattern(message)):
            ct.calibration_test(data, Y)
    with pytest.raises(ValueError, match=pattern("got Normal with parameters of shape (6, 1) ... remove the last")):
        ct.calibration_test(d.Normal(zeros(N, 1), 1.0), Y)
    with pytest.raises(ValueError, match=pattern("got Categorical with parameters of shape (2, 3), wanted one")):
        ct.calibration_test(d.Categorical(logits=zeros(2, 3, 4)), Y)


def test_other_errors():
    with pytest.raises(TypeError, match="targets: got predictions; the arguments are swapped"):
        ct.calibration_test(Y, stats.norm(LOC, SCALE))
    with pytest.raises(TypeError, match=r"classes: got .* for Normal predictions, which are not of classes"):
        ct.calibration_test(stats.norm(LOC, SCALE), Y, classes=["a", "b"])
    with pytest.raises(
        ValueError, match="wanted 1, one per prediction; a prediction that is the same for all rows has to be repeated"
    ):
        ct.calibration_test(stats.norm(0, 1), Y)
    bernoulli = ct.calibration_test(stats.bernoulli(P), ["b"] * N, classes=["a", "b"], n_resamples=9, rng=1)
    assert bernoulli.n == N
