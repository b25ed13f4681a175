"""Samples of every family with kernels it knows. Of a new family the example of its docstring makes one."""

import functools

import numpy as np
from examples import example, pair_of_example, sample_of_example
from public import classes_of
from scipy import stats

import caltest as ct
from caltest._basics.calls import pvalues_only
from caltest.predictions import Sample
from caltest.predictions.classes.finite import FinitePredictions
from caltest.predictions.inputs.convert import as_sample

N = 23


def metric_kernel(metric, bandwidth=0.4):
    return ct.ExponentialKernel(metric, bandwidth=bandwidth)


def categorical():
    rng = np.random.default_rng(1)
    predictions = ct.Categorical(rng.dirichlet(np.full(4, 0.5), N))
    return Sample(predictions, rng.integers(0, 4, N))


def bernoulli():
    rng = np.random.default_rng(2)
    return Sample(ct.Bernoulli(rng.random(N)), rng.integers(0, 2, N))


def normal():
    rng = np.random.default_rng(3)
    scale = rng.uniform(0.0, 1.5, N)
    scale[3] = 0.0
    return Sample(ct.Normal(rng.normal(size=N), scale), rng.normal(size=N))


def scenarios():
    rng = np.random.default_rng(4)
    return Sample(ct.Scenarios(rng.normal(size=(N, 1)) + rng.normal(size=(N, 7))), rng.normal(size=N))


def ensemble():
    """With the outcomes, as tests take it."""
    return as_sample(ct.Ensemble(scenarios().predictions.members), scenarios().targets)


FAMILIES = {ct.Categorical: categorical, ct.Bernoulli: bernoulli, ct.Normal: normal, ct.Scenarios: scenarios}
FAMILIES[ct.Ensemble] = ensemble

SIMILAR = np.array([[1.0, 0.5, 0.2, 0.0], [0.5, 2.0, 0.3, 0.1], [0.2, 0.3, 1.0, 0.6], [0.0, 0.1, 0.6, 1.5]])
RANK_1 = np.outer([1.0, 2.0, 0.0, 0.5], [1.0, 2.0, 0.0, 0.5])

KERNELS = {
    ct.Categorical: [
        ct.ProductKernel(metric_kernel(ct.TotalVariation()), ct.DeltaKernel()),
        ct.ProductKernel(metric_kernel(ct.kernels.Cityblock()), ct.GaussianKernel(bandwidth=1.5)),
        ct.ProductKernel(ct.GaussianKernel(bandwidth=0.3), ct.ExponentialKernel(ct.Euclidean(), bandwidth=2.0)),
        ct.ProductKernel(metric_kernel(ct.TotalVariation()), ct.kernels.MatrixKernel(SIMILAR)),
        ct.ProductKernel(ct.MaternKernel(bandwidth=0.5), ct.DeltaKernel() + 0.5 * ct.LaplacianKernel(bandwidth=1.5)),
        ct.ProductKernel(metric_kernel(ct.TotalVariation()), 2.0 * ct.DeltaKernel())
        + ct.ProductKernel(ct.GaussianKernel(bandwidth=0.3), ct.kernels.MatrixKernel(RANK_1)),
    ],
    ct.Bernoulli: [
        ct.ProductKernel(metric_kernel(ct.TotalVariation()), ct.DeltaKernel()),
        ct.ProductKernel(ct.GaussianKernel(bandwidth=0.3), ct.GaussianKernel(bandwidth=1.0)),
        ct.ProductKernel(metric_kernel(ct.Euclidean()), ct.kernels.MatrixKernel(SIMILAR[:2, :2])),
        ct.ProductKernel(metric_kernel(ct.TotalVariation()), ct.DeltaKernel() + ct.GaussianKernel(bandwidth=1.0)),
        ct.ProductKernel(metric_kernel(ct.TotalVariation()), ct.DeltaKernel())
        + ct.ProductKernel(ct.kernels.RationalQuadraticKernel(bandwidth=0.3), ct.kernels.MatrixKernel(SIMILAR[2:, 2:])),
    ],
    ct.Normal: [
        ct.ProductKernel(metric_kernel(ct.Wasserstein(), 1.0), ct.GaussianKernel(bandwidth=0.7)),
        ct.ProductKernel(metric_kernel(ct.kernels.Cityblock(), 1.0), ct.GaussianKernel(bandwidth=2.0)),
        ct.ProductKernel(ct.GaussianKernel(bandwidth=1.0), ct.GaussianKernel(bandwidth=1.0)),
    ],
}

KERNELS[ct.Scenarios] = [
    ct.ProductKernel(metric_kernel(ct.Wasserstein(), 1.0), ct.GaussianKernel(bandwidth=0.7)),
    ct.ProductKernel(metric_kernel(ct.kernels.EnergyDistance(), 1.0), ct.MaternKernel(bandwidth=0.7)),
    ct.ProductKernel(
        metric_kernel(ct.kernels.MMD(ct.GaussianKernel(bandwidth=0.5)), 1.0),
        ct.kernels.RationalQuadraticKernel(bandwidth=0.7),
    ),
]


KERNELS[ct.Ensemble] = KERNELS[ct.Scenarios][:1]


def spread_matrices(seed, d=3):
    rng = np.random.default_rng(seed)
    factors = rng.normal(size=(N, d, d)) * 0.5
    return rng, factors @ factors.swapaxes(1, 2)


def mvnormal():
    rng, covariance = spread_matrices(5)
    return Sample(ct.MvNormal(rng.normal(size=(N, 3)), covariance), rng.normal(size=(N, 3)))


FAMILIES[ct.MvNormal] = mvnormal
KERNELS[ct.MvNormal] = [
    ct.ProductKernel(metric_kernel(ct.Euclidean(), 1.0), ct.GaussianKernel(bandwidth=2.0)),
    ct.ProductKernel(metric_kernel(ct.kernels.Cityblock(), 3.0), ct.GaussianKernel(bandwidth=(1.0, 2.0, 0.5))),
    ct.ProductKernel(
        metric_kernel(ct.kernels.MMD(ct.GaussianKernel(bandwidth=1.0)), 1.0),
        ct.GaussianKernel(bandwidth=1.0) + 0.5 * ct.GaussianKernel(bandwidth=3.0),
    ),
]


def laplace():
    rng = np.random.default_rng(6)
    scale = rng.choice([0.0, 0.3, 0.7, 0.7 + 1e-9, 1.5], N)
    return Sample(ct.Laplace(rng.normal(size=N), scale), rng.normal(size=N))


FAMILIES[ct.Laplace] = laplace
KERNELS[ct.Laplace] = [
    ct.ProductKernel(metric_kernel(ct.Wasserstein(), 1.0), ct.LaplacianKernel(0.7)),
    ct.ProductKernel(metric_kernel(ct.kernels.MMD(ct.LaplacianKernel(0.5)), 1.0), 2.0 * ct.LaplacianKernel(2.0)),
]


def mixture():
    rng = np.random.default_rng(7)
    components = [ct.Normal(rng.normal(size=N), rng.uniform(0.2, 1.5, N)) for _ in range(3)]
    return Sample(ct.Mixture(components, rng.dirichlet(np.ones(3), N)), rng.normal(size=N))


FAMILIES[ct.Mixture] = mixture
KERNELS[ct.Mixture] = [
    ct.ProductKernel(
        metric_kernel(ct.kernels.MMD(ct.GaussianKernel(bandwidth=1.0)), 0.5), ct.GaussianKernel(bandwidth=0.7)
    ),
    ct.ProductKernel(
        ct.GaussianKernel(ct.kernels.MMD(ct.GaussianKernel(bandwidth=0.3)), 0.5),
        ct.GaussianKernel(bandwidth=0.5) + ct.GaussianKernel(bandwidth=2.0),
    ),
]


def residuals():
    rng = np.random.default_rng(8)
    predictions = ct.Normal(rng.normal(size=N), rng.uniform(0.2, 1.5, N))
    return Sample(*ct.standardised_residuals(predictions, rng.normal(size=N)))


FAMILIES[ct.predictions.Residuals] = residuals
KERNELS[ct.predictions.Residuals] = [
    ct.ProductKernel(metric_kernel(ct.Wasserstein(), 1.0), ct.GaussianKernel(bandwidth=0.7)),
    ct.ProductKernel(
        metric_kernel(ct.kernels.MMD(ct.GaussianKernel(bandwidth=0.5)), 0.5),
        ct.GaussianKernel(bandwidth=0.5) + 2.0 * ct.GaussianKernel(bandwidth=2.0),
    ),
]


def vector_scenarios():
    rng = np.random.default_rng(20)
    members = rng.normal(size=(N, 1, 2)) + rng.normal(size=(N, 6, 2))
    return Sample(ct.Scenarios(members), rng.normal(size=(N, 2)))


def vector_ensemble():
    sample = vector_scenarios()
    return as_sample(ct.Ensemble(sample.predictions.members), sample.targets)


def large_scenarios():
    """So many members that the Gaussian kernel is summed by waves."""
    rng = np.random.default_rng(21)
    return Sample(ct.Scenarios(rng.normal(size=(N, 1)) + rng.normal(size=(N, 60))), rng.normal(size=N))


def drawn_ensemble():
    return Sample(normal().predictions.to_ensemble(5, rng=1), normal().targets)


def quantile_forecast():
    """Forecasts for which the number of an interval lies in that interval, so that outcomes can be given twice."""
    rng = np.random.default_rng(22)
    values = np.arange(4) + rng.uniform(0.05, 0.95, (N, 4))
    predictions = ct.QuantileForecast([0.1, 0.3, 0.8, 0.9], values)
    return Sample(predictions, rng.integers(0, 5, N))


def one_quantile():
    rng = np.random.default_rng(23)
    return Sample(ct.QuantileForecast([0.7], rng.uniform(0.05, 0.95, (N, 1))), rng.integers(0, 2, N))


FAMILIES[ct.QuantileForecast] = quantile_forecast
KERNELS[ct.Scenarios] += [
    ct.ProductKernel(metric_kernel(ct.Wasserstein(), 1.0), ct.LaplacianKernel(0.5)),
    ct.ProductKernel(
        metric_kernel(ct.kernels.MMD(ct.LaplacianKernel(0.5)), 1.0), ct.MaternKernel(bandwidth=0.7, order=2.5)
    ),
    ct.ProductKernel(
        ct.GaussianKernel(ct.kernels.EnergyDistance(), 1.0),
        0.5 * ct.GaussianKernel(bandwidth=0.3) + ct.ExponentialKernel(bandwidth=1.0, exponent=1.5),
    ),
]
KERNELS[ct.QuantileForecast] = [
    ct.ProductKernel(metric_kernel(ct.Wasserstein(), 1.0), ct.DeltaKernel()),
    ct.ProductKernel(ct.GaussianKernel(ct.Wasserstein(), 0.5), ct.LaplacianKernel(0.3)),
    ct.ProductKernel(
        ct.MaternKernel(ct.Wasserstein(), 0.5),
        ct.kernels.MatrixKernel(np.eye(5) + 0.5) + ct.GaussianKernel(bandwidth=0.2),
    ),
]


def estimators(sample, kernel):
    """One of every estimator that the family knows."""
    made = known_estimators(sample, kernel)
    for kind in new_estimators():
        one = made_or_fault(kind.__name__, functools.partial(example, kind))
        if one is not None and takes(one, sample):
            made.append(one.resolve(sample.predictions))
    return made


def takes(estimator, sample):
    """Whether an estimator is for predictions of that kind."""
    try:
        estimator.check(sample.predictions)
    except TypeError:
        return False
    return True


def known_estimators(sample, kernel):
    made = [
        ct.SKCE(kernel),
        ct.SKCE(kernel, unbiased=False),
        ct.BlockSKCE(kernel, block_size=3),
        ct.BlockSKCE(kernel, block_size=3, unbiased=False),
        ct.UCME(kernel, sample.predictions.take(slice(0, 3)), sample.targets[:3]),
        ct.estimators.CrossSKCE(kernel),
        ct.estimators.WeightedSKCE(kernel, np.arange(N) % 3),
        ct.estimators.GroupSKCE(kernel, np.arange(N) // 5),
        ct.estimators.FeatureSKCE(kernel, np.arange(N) % 7),
        ct.estimators.GroupMaximum(ct.SKCE(kernel), np.arange(N) // 5),
        ct.estimators.ClusterSKCE(kernel, np.arange(N) // 3),
    ]
    if isinstance(kernel, ct.ProductKernel):
        made.append(ct.LowRankSKCE(kernel, rank=5).resolve(sample.predictions, 1))
        made += [
            ct.estimators.MaxSKCE(kernel).resolve(sample.predictions),
            ct.estimators.Omnibus(kernel).resolve(sample.predictions),
        ]
    if sample.predictions.law.finite is None:
        made += [ct.estimators.ResidualMean(), ct.estimators.ResidualSpread()]
    else:
        made += [ct.estimators.ExcessLogScore(), ct.estimators.ExcessBrierScore()]
    if sample.predictions.law.alternatives() is not None:
        made += [ct.estimators.LogLikelihoodRatio(), ct.estimators.ClusterLikelihoodRatio(np.arange(N) // 3)]
    if isinstance(sample.predictions, FinitePredictions) and not isinstance(sample.predictions, ct.QuantileForecast):
        made += [
            ct.ECE(ct.binning.UniformBinning(4)),
            ct.ECE(ct.binning.MedianVarianceBinning(3), ct.kernels.SquaredEuclidean()),
            ct.ECE(ct.binning.QuantileBinning(3), ct.kernels.Cityblock()),
            ct.ECE(ct.binning.QuantileBinning(3), order=2),
            ct.MCE(ct.binning.UniformBinning(3)),
            ct.ClasswiseECE(ct.binning.UniformBinning(3)),
            ct.estimators.DebiasedSquaredECE(ct.binning.QuantileBinning(2)),
            ct.MMCE(),
            ct.MMCE(unbiased=False),
        ]
    if sample.predictions.law.is_continuous:
        made += [
            ct.estimators.PIT("KS"),
            ct.estimators.PIT("CvM"),
            ct.estimators.PIT("AD"),
            ct.estimators.QuantileCalibration(),
        ]
    if isinstance(sample.predictions, ct.QuantileForecast):
        made += [ct.estimators.QuantileCalibration()]
    if isinstance(sample.predictions, (ct.Bernoulli, ct.Categorical)):
        made += [ct.estimators.TCal(), ct.estimators.TCal(3)]
    if isinstance(sample.predictions, ct.Bernoulli):
        made += [
            ct.estimators.CalibrationBelt(),
            ct.estimators.CORPMiscalibration(),
            ct.estimators.CORPMiscalibration("log"),
            ct.estimators.CoxCalibration(),
            ct.estimators.ECCE(),
            ct.estimators.ECCE("R"),
            ct.estimators.HosmerLemeshow(4),
            ct.estimators.SmoothECE(),
        ]
    return made


def counts(predictions):
    """Outcomes of which two are far out."""
    targets = predictions.sample(6)
    targets[4], targets[11] = 0, 300
    return Sample(predictions, predictions.check_targets(targets))


def poisson():
    rate = np.random.default_rng(5).gamma(1.0, 8.0, N)
    rate[[2, 9]] = 0.0, 1e-3
    return counts(ct.Poisson(rate))


def negative_binomial():
    rng = np.random.default_rng(6)
    mean = rng.gamma(1.0, 3.0, N)
    mean[7] = 0.0
    return counts(ct.NegativeBinomial.from_mean(mean, rng.uniform(0.01, 0.5, N)))


FAMILIES[ct.Poisson] = poisson
FAMILIES[ct.NegativeBinomial] = negative_binomial

KERNELS[ct.Poisson] = [
    ct.ProductKernel(metric_kernel(ct.Euclidean(), 1.0), ct.GaussianKernel(bandwidth=3.0)),
    ct.ProductKernel(metric_kernel(ct.TotalVariation()), ct.DeltaKernel()),
    ct.ProductKernel(
        metric_kernel(ct.kernels.EnergyDistance(), 1.0), ct.LaplacianKernel(2.0) + 0.5 * ct.MaternKernel(bandwidth=9.0)
    ),
]
KERNELS[ct.NegativeBinomial] = [
    ct.ProductKernel(metric_kernel(ct.kernels.Cityblock(), 1.0), ct.kernels.RationalQuadraticKernel(bandwidth=2.0)),
    ct.ProductKernel(metric_kernel(ct.kernels.Wasserstein1(), 4.0), ct.MaternKernel(bandwidth=3.0, order=2.5)),
    ct.ProductKernel(ct.GaussianKernel(bandwidth=0.5), ct.GaussianKernel(bandwidth=0.6)),
]


def ordinal():
    rng = np.random.default_rng(7)
    p = rng.dirichlet(np.full(5, 0.5), N)
    p[6], p[13] = [0.0, 0.0, 1.0, 0.0, 0.0], [0.5, 0.0, 0.0, 0.5, 0.0]
    return Sample(ct.Ordinal(p, positions=[-1.0, 0.0, 0.5, 2.0, 10.0]), rng.integers(0, 5, N))


FAMILIES[ct.Ordinal] = ordinal

KERNELS[ct.Ordinal] = [
    ct.ProductKernel(metric_kernel(ct.kernels.Wasserstein1(), 2.0), ct.LaplacianKernel(1.5)),
    ct.ProductKernel(
        metric_kernel(ct.kernels.EnergyDistance(), 1.0), ct.GaussianKernel(bandwidth=2.0) + ct.DeltaKernel()
    ),
    ct.ProductKernel(
        ct.GaussianKernel(bandwidth=0.3), ct.kernels.MatrixKernel(np.eye(5) + 0.5) + ct.MaternKernel(bandwidth=3.0)
    ),
    ct.ProductKernel(metric_kernel(ct.TotalVariation()), ct.DeltaKernel()),
]


def survival_curve():
    """Curves for which the number of an interval is a time in it, but for the first, in which nothing happens."""
    rng = np.random.default_rng(24)
    curves = np.cumprod(rng.uniform(0.3, 1.0, (N, 4)), axis=1)
    curves[:, 0] = 1.0
    return Sample(ct.predictions.SurvivalCurve([0.5, 1.5, 2.5, 3.5], curves), rng.integers(1, 5, N))


FAMILIES[ct.predictions.SurvivalCurve] = survival_curve
KERNELS[ct.predictions.SurvivalCurve] = KERNELS[ct.Ordinal]


def student_t():
    rng = np.random.default_rng(8)
    df = rng.choice([2.5, 4.0, 30.0], N)
    return Sample(ct.StudentT(df, rng.normal(size=N), rng.uniform(0.2, 1.5, N)), rng.normal(size=N))


FAMILIES[ct.StudentT] = student_t
KERNELS[ct.StudentT] = [
    ct.ProductKernel(metric_kernel(ct.Wasserstein(), 1.0), ct.GaussianKernel(bandwidth=0.7)),
    ct.ProductKernel(
        metric_kernel(ct.kernels.Cityblock(), 1.0), 0.5 * ct.LaplacianKernel(0.3) + ct.MaternKernel(bandwidth=2.0)
    ),
    ct.ProductKernel(
        ct.GaussianKernel(ct.kernels.MMD(ct.GaussianKernel(bandwidth=1.0)), 0.5),
        ct.kernels.RationalQuadraticKernel(bandwidth=0.7),
    ),
]


def gamma():
    rng = np.random.default_rng(9)
    predictions = ct.Gamma(rng.choice([0.4, 1.0, 3.5, 60.0], N), rng.uniform(0.2, 2.0, N))
    return Sample(predictions, rng.exponential(size=N))


FAMILIES[ct.Gamma] = gamma
KERNELS[ct.Gamma] = [
    ct.ProductKernel(metric_kernel(ct.Wasserstein(), 1.0), ct.GaussianKernel(bandwidth=1.0)),
    ct.ProductKernel(metric_kernel(ct.Euclidean(), 1.0), ct.LaplacianKernel(0.5)),
    ct.ProductKernel(ct.GaussianKernel(bandwidth=2.0), ct.MaternKernel(bandwidth=3.0, order=2.5)),
]


def log_normal():
    rng = np.random.default_rng(10)
    predictions = ct.LogNormal(rng.normal(size=N), rng.choice([0.05, 0.7, 1.5], N))
    return Sample(predictions, np.exp(rng.normal(size=N)))


FAMILIES[ct.LogNormal] = log_normal
KERNELS[ct.LogNormal] = [
    ct.ProductKernel(metric_kernel(ct.Wasserstein(), 1.0), ct.GaussianKernel(bandwidth=1.0)),
    ct.ProductKernel(metric_kernel(ct.kernels.Cityblock(), 1.0), ct.ExponentialKernel(bandwidth=0.5, exponent=1.5)),
]


def beta():
    rng = np.random.default_rng(11)
    predictions = ct.Beta(rng.choice([0.4, 1.0, 3.5, 60.0], N), rng.choice([0.5, 1.0, 4.0, 25.0], N))
    return Sample(predictions, rng.random(N))


FAMILIES[ct.Beta] = beta
KERNELS[ct.Beta] = [
    ct.ProductKernel(metric_kernel(ct.Wasserstein(), 0.3), ct.GaussianKernel(bandwidth=0.1)),
    ct.ProductKernel(metric_kernel(ct.Euclidean(), 0.3), ct.LaplacianKernel(0.5)),
    ct.ProductKernel(ct.GaussianKernel(bandwidth=0.3), ct.kernels.RationalQuadraticKernel(bandwidth=0.3, shape=2.0)),
]


def continuous():
    rng = np.random.default_rng(12)
    weibull = stats.weibull_min(rng.choice([0.7, 1.5, 4.0], N - 8), scale=rng.uniform(0.5, 2.0, N - 8))
    return Sample(ct.Continuous([weibull, stats.invgauss(rng.uniform(0.3, 1.0, 8))]), rng.exponential(size=N))


FAMILIES[ct.Continuous] = continuous
KERNELS[ct.Continuous] = [
    ct.ProductKernel(metric_kernel(ct.Wasserstein(), 1.0), ct.GaussianKernel(bandwidth=0.5)),
    ct.ProductKernel(metric_kernel(ct.Euclidean(), 1.0), ct.LaplacianKernel(0.5)),
]

KERNELS[ct.Normal] += [
    ct.ProductKernel(metric_kernel(ct.Wasserstein(), 1.0), ct.LaplacianKernel(0.7) + ct.MaternKernel(bandwidth=2.0)),
    ct.ProductKernel(metric_kernel(ct.Wasserstein(), 1.0), ct.ExponentialKernel(bandwidth=1.0, exponent=0.5)),
]
KERNELS[ct.Laplace] += [ct.ProductKernel(metric_kernel(ct.Wasserstein(), 1.0), ct.GaussianKernel(bandwidth=0.7))]


def diagonal():
    rng = np.random.default_rng(24)
    return Sample(ct.MvNormal(rng.normal(size=(N, 3)), rng.uniform(0.1, 2.0, (N, 3))), rng.normal(size=(N, 3)))


def isotropic():
    rng = np.random.default_rng(25)
    return Sample(ct.MvNormal(rng.normal(size=(N, 2)), rng.uniform(0.0, 2.0, N)), rng.normal(size=(N, 2)))


def mixture_of_vectors():
    rng = np.random.default_rng(26)
    components = [ct.MvNormal(rng.normal(size=(N, 2)), rng.uniform(0.1, 2.0, (N, 2))) for _ in range(2)]
    return Sample(ct.Mixture(components, rng.dirichlet(np.ones(2), N)), rng.normal(size=(N, 2)))


def mixture_of_gammas():
    rng = np.random.default_rng(27)
    components = [ct.Gamma(rng.uniform(1.0, 9.0, N), rng.uniform(0.2, 1.0, N)) for _ in range(2)]
    return Sample(ct.Mixture(components), rng.exponential(size=N))


def residuals_of_vectors():
    sample = mvnormal()
    return Sample(*ct.standardised_residuals(sample.predictions, sample.targets))


def integral_transforms():
    rng = np.random.default_rng(28)
    predictions = ct.Normal(rng.normal(size=N), rng.uniform(0.2, 1.5, N))
    return Sample(*ct.pit_values(predictions, rng.normal(size=N)))


VECTORS = ct.GaussianKernel(bandwidth=(0.7, 2.0)) + 0.5 * ct.GaussianKernel(bandwidth=3.0)
MMD_KERNEL = ct.ProductKernel(metric_kernel(ct.kernels.MMD(ct.GaussianKernel(bandwidth=1.0)), 0.5), VECTORS)

FAULTS = {}
"""Why classes could not be made of their examples, by their names."""


def newcomers(base, known):
    """Public classes that derive from a base and are not among those that have lines here."""
    return sorted(classes_of(base) - set(known), key=lambda kind: kind.__name__)


def new_estimators():
    """Those that ``known_estimators`` does not name."""
    known = known_estimators.__code__.co_names
    return [kind for kind in newcomers(ct.estimators.Estimator, []) if kind.__name__ not in known]


def made_or_fault(name, make):
    """What a function makes for a class; what its error says is for the test of all classes to tell."""
    try:
        return make()
    except Exception as error:
        FAULTS[name] = f"{name}: {type(error).__name__}: {error}"
        return None


CASES = [(FAMILIES[family], kernel) for family, kernels in KERNELS.items() for kernel in kernels]
CASES += [
    (
        vector_ensemble,
        ct.ProductKernel(metric_kernel(ct.kernels.EnergyDistance(), 1.0), ct.GaussianKernel(bandwidth=(0.7, 2.0))),
    ),
    (
        vector_scenarios,
        ct.ProductKernel(metric_kernel(ct.kernels.MMD(ct.GaussianKernel(bandwidth=1.0)), 0.5), ct.LaplacianKernel(2.0)),
    ),
    (large_scenarios, KERNELS[ct.Scenarios][0]),
    (drawn_ensemble, KERNELS[ct.Scenarios][0]),
    (one_quantile, KERNELS[ct.QuantileForecast][0]),
    (diagonal, KERNELS[ct.MvNormal][1]),
    (isotropic, ct.ProductKernel(metric_kernel(ct.Wasserstein(), 1.0), VECTORS)),
    (mixture_of_vectors, MMD_KERNEL),
    (
        mixture_of_gammas,
        ct.ProductKernel(
            metric_kernel(ct.kernels.MMD(ct.GaussianKernel(bandwidth=1.0)), 0.5), ct.MaternKernel(bandwidth=1.0)
        ),
    ),
    (residuals_of_vectors, KERNELS[ct.MvNormal][0]),
    (
        integral_transforms,
        ct.ProductKernel(
            metric_kernel(ct.Wasserstein(), 1.0), ct.GaussianKernel(bandwidth=0.2) + 0.5 * ct.LaplacianKernel(0.3)
        ),
    ),
]

# Last, so that stored cases keep their numbers. Unnormalised predictions have no expectations of kernels.
for family in newcomers(ct.predictions.Predictions, [*FAMILIES, ct.Unnormalised]):
    sample = made_or_fault(family.__name__, functools.partial(sample_of_example, family, N))
    if sample is not None:
        maker = FAMILIES[family] = functools.partial(sample_of_example, family, N)
        maker.__name__ = family.__name__
        KERNELS[family] = [sample.predictions.default_kernel().resolve(sample.predictions)]
        CASES.append((maker, KERNELS[family][0]))

NOT_CENTRED = {drawn_ensemble}
CENTRED = [case for case in CASES if case[0] not in NOT_CENTRED]


def first_of_each(cases):
    """The first case of every maker of samples."""
    return list({maker: (maker, kernel) for maker, kernel in reversed(cases)}.values())


"""Targets are redrawn from other distributions than those over which expectations are taken."""


def made_tests():
    """For every named test, by its name: how to make it, and the family of a sample that it takes."""
    tv = ct.ProductKernel(metric_kernel(ct.TotalVariation()), ct.DeltaKernel())
    w2 = KERNELS[ct.Normal][0]
    clusters = (np.arange(N) // 3).tolist()
    locations = categorical().take(slice(0, 3))
    ucme = ct.UCME(tv, locations.predictions, locations.targets)
    classes = {
        "AsymptoticBlockSKCETest": lambda: ct.AsymptoticBlockSKCETest(tv, block_size=3),
        "AsymptoticCMETest": lambda: ct.AsymptoticCMETest(ucme),
        "AsymptoticSKCETest": lambda: ct.AsymptoticSKCETest(tv, 49),
        "BinnedEquivalenceTest": lambda: ct.named_tests.BinnedEquivalenceTest(0.1),
        "CertifiedCrossSKCETest": lambda: ct.named_tests.CertifiedCrossSKCETest(tv),
        "ClusterLikelihoodRatioTest": lambda: ct.named_tests.ClusterLikelihoodRatioTest(clusters),
        "ClusterSKCETest": lambda: ct.ClusterSKCETest(clusters, tv, n_resamples=49),
        "ConsistencyTest": lambda: ct.ConsistencyTest(ct.SKCE(tv), n_resamples=49),
        "DistributionFreeSKCETest": lambda: ct.DistributionFreeSKCETest(ct.SKCE(tv)),
        "EquivalenceTest": lambda: ct.EquivalenceTest(0.1, tv),
        "LikelihoodRatioTest": lambda: ct.LikelihoodRatioTest(49),
        "LogScoreTest": lambda: ct.LogScoreTest(),
        "MonteCarloTest": lambda: ct.MonteCarloTest(ct.estimators.ExcessLogScore(), n_resamples=49),
        "OmnibusTest": lambda: ct.OmnibusTest(n_resamples=49),
        "PearsonSKCETest": lambda: ct.PearsonSKCETest(tv),
        "ScoreCMETest": lambda: ct.ScoreCMETest(ucme, 49),
        "SpiegelhalterTest": lambda: ct.SpiegelhalterTest(),
        "ToleranceTest": lambda: ct.ToleranceTest(0.1, tv),
    }
    binary = {
        "CoxTest": lambda: ct.CoxTest(),
        "ECCETest": lambda: ct.ECCETest("R"),
        "HosmerLemeshowTest": lambda: ct.HosmerLemeshowTest(n_bins=4),
    }
    numbers = {"QuantileCalibrationTest": lambda: ct.QuantileCalibrationTest([0.25, 0.75])}
    several = {
        "PITTest of numbers": (lambda: ct.PITTest("AD"), normal_with_spread),
        "PITTest of counts": (lambda: ct.PITTest("AD"), poisson),
        "PIT of counts, redrawn": (lambda: ct.MonteCarloTest(ct.estimators.PIT(), 49), negative_binomial),
        "PIT of groups": (
            lambda: ct.MonteCarloTest(ct.estimators.GroupMaximum(ct.estimators.PIT(), np.arange(N) % 2), 49),
            poisson,
        ),
        "LowRankSKCE": (lambda: ct.MonteCarloTest(ct.LowRankSKCE(tv, 5), 49), categorical),
        "LowRankSKCE of numbers": (lambda: ct.MonteCarloTest(ct.LowRankSKCE(w2, 5), 49), normal),
        "consistency": (lambda: ct.ConsistencyTest(ct.LowRankSKCE(w2, 5), 49), normal),
        "Pearson without moments": (lambda: ct.PearsonSKCETest(KERNELS[ct.Laplace][0]), laplace),
        "Pearson of many": (lambda: ct.PearsonSKCETest(tv), many_classes),
        "many numbers": (lambda: ct.OmnibusTest(n_resamples=49), many_numbers),
        "known covariance": (lambda: ct.ScoreCMETest(ct.UCME(w2, normal().predictions, normal().targets), 49), normal),
        "drawn covariance": (lambda: ct.ScoreCMETest(laplace_ucme(), 49), laplace),
        "stopped": (
            lambda: ct.CalibrationTest(ct.ECE(), ct.nulls.ConditionalMonteCarlo(49, stop_after=3)),
            categorical,
        ),
        "ensemble": (lambda: ct.OmnibusTest(n_resamples=49), ensemble),
    }
    made = {name: (make, categorical) for name, make in classes.items()}
    made |= {name: (make, bernoulli) for name, make in binary.items()}
    made |= {name: (make, normal_with_spread) for name, make in numbers.items()}
    made |= several
    known = [make() for make, _ in made.values()]
    kinds = newcomers(ct.CalibrationTest, {ct.CalibrationTest, *(type(test) for test in known)})
    new = {kind.__name__: functools.partial(example, kind) for kind in kinds}
    new = {name: make for name, make in new.items() if made_or_fault(name, make) is not None}
    known += [make() for make in new.values()]
    kinds = newcomers(ct.nulls.Null, {type(test.null) for test in known} | KNOWN_NULLS)
    new |= {kind.__name__: functools.partial(pair_of_example, kind) for kind in kinds}
    for name, make in new.items():
        made[name] = make, functools.partial(first_sample, make)
    return made


KNOWN_NULLS = {ct.nulls.HotellingNull}
"""In tests of their own only."""


def first_sample(make):
    """The first sample that a test is for."""
    samples = (maker() for maker in (categorical, bernoulli, normal_with_spread, poisson))
    return next(one for one in samples if takes(make().estimator, one))


def normal_with_spread():
    rng = np.random.default_rng(30)
    return Sample(ct.Normal(rng.normal(size=N), rng.uniform(0.2, 1.5, N)), rng.normal(size=N))


def many_numbers():
    """So many that kernels of redraws have a low rank."""
    rng = np.random.default_rng(31)
    return Sample(ct.Normal(rng.normal(size=500), rng.uniform(0.2, 1.5, 500)), rng.normal(size=500))


def many_classes():
    """So many that third moments are traces estimated by probes."""
    rng = np.random.default_rng(32)
    return Sample(ct.Categorical(rng.dirichlet(np.ones(3), 210)), rng.integers(0, 3, 210))


def laplace_ucme():
    sample = laplace().take(slice(0, 3))
    return ct.UCME(KERNELS[ct.Laplace][0], sample.predictions, sample.targets)


def pvalues(rng):
    """Numbers of all tests, in fresh objects."""
    found = {}
    for name, (make, sample) in made_tests().items():
        data = sample()
        with pvalues_only():
            result = make()(data.predictions, data.targets, rng=rng)
        found[name] = (result.estimate, result.statistic, result.pvalue)
    return found
