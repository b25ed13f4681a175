import numpy as np
import pytest
import scipy.stats as stats

import caltest as ct
from caltest.predictions.reductions.residuals import StandardUniform

N = 40
RNG = np.random.default_rng(5)
X, S, A = RNG.normal(size=N), RNG.gamma(4.0, 0.5, N), RNG.gamma(4.0, 0.5, N)
WEIGHTS = RNG.dirichlet(np.ones(2), N)

KNOWN = {
    "normal": (ct.Normal(X, S), stats.norm(X, S).logpdf),
    "laplace": (ct.Laplace(X, S), stats.laplace(X, S).logpdf),
    "student": (ct.StudentT(3.0 * A, X, S), stats.t(3.0 * A, X, S).logpdf),
    "gamma": (ct.Gamma(A, S), stats.gamma(A, scale=S).logpdf),
    "log-normal": (ct.LogNormal(X, S), stats.lognorm(S, scale=np.exp(X)).logpdf),
    "beta": (ct.Beta(A, S), stats.beta(A, S).logpdf),
    "Poisson": (ct.Poisson(5.0 * A), stats.poisson(5.0 * A).logpmf),
    "negative binomial": (ct.NegativeBinomial.from_mean(5.0 * A, S), stats.nbinom(1 / S, 1 / (1 + 5 * A * S)).logpmf),
    "uniform": (StandardUniform((N,)), stats.uniform().logpdf),
    "mixture": (
        ct.Mixture([ct.Normal(X, S), ct.Normal(2.0 - X, 0.5)], WEIGHTS),
        lambda y: np.log(WEIGHTS[:, 0] * stats.norm(X, S).pdf(y) + WEIGHTS[:, 1] * stats.norm(2.0 - X, 0.5).pdf(y)),
    ),
}


@pytest.mark.parametrize("name", KNOWN)
def test_densities_are_those_of_scipy(name):
    predictions, wanted = KNOWN[name]
    y = predictions.sample(1)
    np.testing.assert_allclose(predictions.log_density(y), wanted(y), rtol=1e-11, atol=1e-12)


COVARIANCE = [np.cov(RNG.normal(size=(3, 9))) for _ in range(N)]


@pytest.mark.parametrize(
    ("covariance", "matrices"),
    [
        (S, [v * np.eye(3) for v in S]),
        (np.outer(S, [1.0, 2.0, 0.5]), [v * np.diag([1.0, 2.0, 0.5]) for v in S]),
        (COVARIANCE, COVARIANCE),
    ],
    ids=["isotropic", "diagonal", "full"],
)
def test_densities_of_vectors_are_those_of_scipy(covariance, matrices):
    means = RNG.normal(size=(N, 3))
    vectors = ct.MvNormal(means, covariance)
    y = vectors.sample(2)
    wanted = [stats.multivariate_normal(mean, one).logpdf(at) for mean, one, at in zip(means, matrices, y, strict=True)]
    np.testing.assert_allclose(vectors.log_density(y), wanted, rtol=1e-10)


def test_probabilities_of_classes():
    p = ct.Categorical([[0.25, 0.75], [1.0, 0.0]])
    np.testing.assert_array_equal(p.log_density(np.array([1, 1])), [np.log(0.75), -np.inf])
    np.testing.assert_array_equal(ct.Bernoulli([0.25, 1.0]).log_density(np.array([0, 1])), [np.log(0.75), 0.0])


def test_residuals_have_the_density_of_their_law():
    residuals, z = ct.standardised_residuals(ct.Normal(X, S), X + 2.0 * S)
    np.testing.assert_allclose(residuals.log_density(z), stats.norm.logpdf(np.full(N, 2.0)), rtol=1e-12)


def test_predictions_without_a_density_say_so():
    with pytest.raises(TypeError, match="got Ensemble predictions, which have no density"):
        ct.Ensemble(RNG.normal(size=(3, 4))).log_density(np.zeros(3))
    with pytest.raises(ValueError, match="positive scales"):
        ct.Normal([0.0, 1.0], [1.0, 0.0]).log_density(np.zeros(2))
    with pytest.raises(ValueError, match="singular"):
        ct.MvNormal([[0.0, 1.0]], [[1.0, 0.0]]).log_density(np.zeros((1, 2)))
