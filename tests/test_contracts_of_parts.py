"""What holds for every kernel, metric, null, named test, binning, recalibration map, generator and command.

Each public class of a kind is found by itself; a table says how one is made, and what it is by definition or how often
it rejects. Kernels of a distance, metrics, estimators, tests, nulls and recalibration maps without a line come from the
examples of their docstrings. Families, and estimators with kernels of all families, are in ``test_contracts.py``.
"""

import pickle
import re
from functools import partial

import numpy as np
import pytest
from contracts import made_or_fault, new_estimators, newcomers, takes
from examples import example, pair_of_example
from printed import unfolded
from public import CLASSES as PUBLIC_CLASSES, OWN, classes_of
from scipy import stats

import caltest as ct
from caltest import generators, recalibration
from caltest._results.citations import all_entries
from caltest.cli.main import _parser, main
from caltest.kernels import Metric, PairKernel, PredictionKernel, RadialKernel, TargetKernel
from caltest.predictions import Sample
from caltest.predictions.inputs.convert import as_predictions

N = 24
RNG = np.random.default_rng(1)
P = RNG.dirichlet(np.ones(3), N)
Y = np.arange(N) % 3
CLASSES = ct.Categorical(P)
NORMAL = ct.Normal(RNG.normal(size=N), RNG.uniform(0.5, 1.5, N))
TARGETS = RNG.normal(size=N)
BINARY = ct.Bernoulli(P[:, 1]), (Y == 1).astype(int)
TV = ct.ProductKernel(ct.ExponentialKernel(ct.TotalVariation(), 0.4), ct.DeltaKernel())


def public(base):
    """Names of public classes that can be made."""
    return {one.__name__ for one in classes_of(base)}


def each(table):
    return pytest.mark.parametrize("name", table)


def answer_or_words(call):
    """What a call returns, and what its error says."""
    try:
        return call(), ""
    except ValueError as error:
        return None, str(error)


def again(thing):
    return pickle.loads(pickle.dumps(thing))


# --- kernels ---------------------------------------------------------------------------------------------------------

NUMBERS = np.array([-1.0, 0.0, 0.3, 2.0, 2.0])
LABELS = np.array([0, 1, 2, 2, 1])
MATRIX = np.array([[1.0, 0.5, 0.0], [0.5, 2.0, 0.3], [0.0, 0.3, 1.0]])

TARGET_KERNELS = {
    "DeltaKernel": (ct.DeltaKernel, LABELS, lambda a, b: float(a == b)),
    "MatrixKernel": (lambda: ct.kernels.MatrixKernel(MATRIX), LABELS, lambda a, b: MATRIX[a, b]),
    "LaplacianKernel": (lambda: ct.LaplacianKernel(0.7), NUMBERS, lambda a, b: np.exp(-abs(a - b) / 0.7)),
    "GaussianKernel": (
        lambda: ct.GaussianKernel(bandwidth=0.7),
        NUMBERS,
        lambda a, b: np.exp(-((a - b) ** 2) / (2 * 0.49)),
    ),
    "ExponentialKernel": (
        lambda: ct.ExponentialKernel(bandwidth=0.7, exponent=1.5),
        NUMBERS,
        lambda a, b: np.exp(-((abs(a - b) / 0.7) ** 1.5)),
    ),
    "MaternKernel": (
        lambda: ct.MaternKernel(bandwidth=0.7, order=1.5),
        NUMBERS,
        lambda a, b: (1 + np.sqrt(3) * abs(a - b) / 0.7) * np.exp(-np.sqrt(3) * abs(a - b) / 0.7),
    ),
    "RationalQuadraticKernel": (
        lambda: ct.kernels.RationalQuadraticKernel(bandwidth=0.7, shape=2.0),
        NUMBERS,
        lambda a, b: (1 + (a - b) ** 2 / (2 * 2.0 * 0.49)) ** -2.0,
    ),
    "SumKernel": (
        lambda: ct.DeltaKernel() + 0.5 * ct.GaussianKernel(bandwidth=1.0),
        LABELS,
        lambda a, b: float(a == b) + 0.5 * np.exp(-((a - b) ** 2) / 2),
    ),
}
PAIR_KERNELS = {
    "FamilyKernel": (ct.estimators.FamilyKernel, lambda tv: np.exp(-tv / np.median(tv[np.triu_indices(N, 1)]))),
    "ProductKernel": (lambda: TV, lambda tv: np.exp(-tv / 0.4)),
    "SumOfProducts": (
        lambda: TV + ct.ProductKernel(ct.ExponentialKernel(ct.TotalVariation(), 1.0), 2.0 * ct.DeltaKernel()),
        lambda tv: np.exp(-tv / 0.4) + 2.0 * np.exp(-tv),
    ),
}


def printed_formula(kernel):
    """What reports say that a kernel of numbers is, as a function of two of them."""
    formula = kernel.describe_for_targets().replace("|y - y'|", "d").replace("^", "**")
    names = {"exp": np.exp, "log": np.log, "sqrt": np.sqrt, "pi": np.pi}

    def of(a, b):
        try:
            return eval(formula, names | {"d": abs(a - b)})
        except (SyntaxError, NameError, TypeError) as error:
            wanted = "wanted a formula of d, exp, log and sqrt, or a line in TARGET_KERNELS of this file"
            raise AssertionError(f"{type(kernel).__name__}.formula: got {formula!r} ({error}), {wanted}") from None

    return of


for one in classes_of(RadialKernel):
    if one.__name__ not in TARGET_KERNELS:
        kernel = one(bandwidth=0.7)
        TARGET_KERNELS[one.__name__] = (lambda one=one: one(bandwidth=0.7)), NUMBERS, printed_formula(kernel)


def test_every_kernel_has_its_definition():
    missing = public(TargetKernel) - set(TARGET_KERNELS) - set(OWN)
    assert not missing, f"{missing}: wanted a line in TARGET_KERNELS: how it is made, of which targets, and its formula"
    assert set(PAIR_KERNELS) == public(PairKernel) - set(OWN)


@each(sorted(public(TargetKernel)))
def test_kernels_of_targets_are_kernels(name):
    """Symmetric, positive semi-definite, bounded, one number for each row and column, also of stacks."""
    kernel = TARGET_KERNELS[name][0]() if name in TARGET_KERNELS else example(PUBLIC_CLASSES[name])
    points = LABELS if kernel.of_classes or kernel.is_identity else NUMBERS
    tile = kernel.target_tile(points, points)
    assert tile.shape == (5, 5), f"{name}.target_tile: got the shape {tile.shape} for 5 rows and 5 columns"
    stack = kernel.target_tile(points[None, :2], points[None])
    assert stack.shape == (1, 2, 5), f"{name}.target_tile: got the shape {stack.shape} for (1, 2) rows, (1, 5) columns"
    assert stack[0] == pytest.approx(tile[:2])
    check_kernel(name, tile, kernel.bound)


@each(sorted(public(PredictionKernel)))
@pytest.mark.filterwarnings("ignore::caltest.kernels.KernelWarning")
def test_kernels_of_predictions_are_kernels(name):
    """The same, of the first predictions that it knows; written into an array it is the same."""
    kind = PUBLIC_CLASSES[name]
    kernel = kind(bandwidth=0.7) if issubclass(kind, RadialKernel) else example(kind)
    predictions = known(lambda one: kernel.resolve(one).tile(one, one), name)[0].take(slice(0, 5))
    tile, out = kernel.resolve(predictions).tile(predictions, predictions), np.full((5, 5), np.nan)
    assert tile.shape == (5, 5), f"{name}.tile: got the shape {tile.shape} for 5 rows and 5 columns"
    kernel.resolve(predictions).fill(out, predictions, predictions, {})
    assert out == pytest.approx(tile), f"{name}.fill: differs from tile"
    check_kernel(name, tile, kernel.bound)
    assert kernel.bound == pytest.approx(tile.max()), f"{name}.bound: got {kernel.bound}, more than all values"


def check_kernel(name, tile, bound):
    assert tile == pytest.approx(tile.T), f"{name}: not symmetric"
    assert np.linalg.eigvalsh(tile).min() > -1e-12, f"{name}: not positive semi-definite"
    assert np.abs(tile).max() <= bound * (1.0 + 1e-12), f"{name}.bound: got {bound}, less than a value of the kernel"


def known(call, name):
    """The predictions, of some families, that something can be called with."""
    words, found = [], []
    for predictions in (NORMAL, CLASSES, ct.Poisson(NORMAL.scale * 9.0), BINARY[0]):
        try:
            call(predictions.take(slice(0, 5)))
            found.append(predictions)
        except (TypeError, AttributeError) as error:
            words.append(f"{predictions.family}: {error}")
    assert found, f"{name}: for none of some predictions\n" + "\n".join(words)
    return found


@each(TARGET_KERNELS)
def test_kernels_of_targets(name):
    make, points, formula = TARGET_KERNELS[name]
    kernel = make()
    expected = [[formula(a, b) for b in points] for a in points]
    for one in (kernel, again(kernel), eval(repr(kernel).replace("array", "np.array"), PUBLIC_CLASSES | {"np": np})):
        assert one == kernel
        found = one.target_tile(points, points)
        assert found == pytest.approx(np.array(expected), rel=1e-13), f"{name}: its values are not those of its formula"
    assert kernel.bound == pytest.approx(np.max(expected), rel=1e-12)
    assert kernel.target_tile(points[:0], points).shape == (0, 5)


@each(sorted(one.__name__ for one in classes_of(RadialKernel)))
@pytest.mark.filterwarnings("ignore::caltest.kernels.KernelWarning")
def test_kernels_of_predictions_are_functions_of_a_distance(name):
    make, _, formula = TARGET_KERNELS[name]
    if name == "LaplacianKernel":
        return
    settings = make()
    kernel = type(settings)(ct.TotalVariation(), *(getattr(settings, f) for f in list(vars(settings))[1:]))
    distances = np.abs(P[:, None] - P).sum(axis=2) / 2
    assert again(kernel).tile(CLASSES, CLASSES) == pytest.approx(formula(distances, 0.0), rel=1e-12)
    assert np.diag(kernel.tile(CLASSES, CLASSES)) == pytest.approx(np.full(N, kernel.bound), rel=1e-12)
    residuals = np.eye(3)[Y] - P
    h = formula(distances, 0.0) * (residuals @ residuals.T)
    summed = ct.SKCE(ct.ProductKernel(kernel, ct.DeltaKernel()))(P, Y)
    assert summed == pytest.approx(h[np.triu_indices(N, 1)].mean(), rel=1e-11), (
        f"{name}: in compiled loops it is another"
    )


@each(sorted(one.__name__ for one in classes_of(RadialKernel)))
def test_expectations_over_members_are_means(name):
    make, _, formula = TARGET_KERNELS[name]
    means = [[np.mean([formula(z, y) for z in row]) for y in NUMBERS] for row in MEMBERS]
    found = ct.Scenarios(MEMBERS).expected_kernel(make(), NUMBERS)
    assert found == pytest.approx(np.array(means), rel=1e-9), f"{name}: in compiled loops it is another kernel"


@each(PAIR_KERNELS)
def test_kernels_of_pairs(name):
    make, formula = PAIR_KERNELS[name]
    kernel, residuals = make(), np.eye(3)[Y] - P
    h = formula(np.abs(P[:, None] - P).sum(axis=2) / 2) * (residuals @ residuals.T)
    for one in (kernel, again(kernel)):
        assert one == kernel
        assert ct.SKCE(one)(P, Y) == pytest.approx(h[np.triu_indices(N, 1)].mean(), rel=1e-11)
    assert ct.SKCE(kernel)(np.eye(3)[Y], Y) == 0.0


# --- metrics ---------------------------------------------------------------------------------------------------------


def wasserstein(one, other):
    """Of normal distributions (mean, scale), of order 2."""
    return np.hypot(one[0] - other[0], one[1] - other[1])


def squared_energy(one, other):
    """``2 E|Z - Z'| - E|Z - Z~| - E|Z' - Z'~|`` of finitely many values."""
    first, second = np.asarray(one), np.asarray(other)
    between, left, right = (
        np.abs(a[:, None] - b).mean() for a, b in ((first, second), (first, first), (second, second))
    )
    return 2.0 * between - left - right


def squared_mmd(one, other):
    def mean(a, b):
        variance = 1.0 + a[1] ** 2 + b[1] ** 2
        return np.exp(-((a[0] - b[0]) ** 2) / (2 * variance)) / np.sqrt(variance)

    return mean(one, one) + mean(other, other) - 2.0 * mean(one, other)


MEMBERS = RNG.normal(size=(4, 5))
ORDINAL = ct.Ordinal(P[:4], positions=[0.0, 1.0, 5.0])
PARAMETERS = list(zip(NORMAL.mean[:4], NORMAL.scale[:4], strict=True))
VECTORS = [P[i] for i in range(4)]
MIXTURE = ct.Mixture([ct.Normal(NORMAL.mean[:4], NORMAL.scale[:4])])
METRICS = {
    "TotalVariation": (ct.TotalVariation, ct.Categorical(P[:4]), VECTORS, lambda a, b: np.abs(a - b).sum() / 2),
    "Cityblock": (ct.kernels.Cityblock, ct.Categorical(P[:4]), VECTORS, lambda a, b: np.abs(a - b).sum()),
    "Euclidean": (ct.Euclidean, ct.Categorical(P[:4]), VECTORS, lambda a, b: np.sqrt(((a - b) ** 2).sum())),
    "SquaredEuclidean": (
        ct.kernels.SquaredEuclidean,
        ct.Categorical(P[:4]),
        VECTORS,
        lambda a, b: ((a - b) ** 2).sum(),
    ),
    "Wasserstein": (ct.Wasserstein, NORMAL.take(slice(0, 4)), PARAMETERS, wasserstein),
    "Wasserstein1": (
        ct.kernels.Wasserstein1,
        ORDINAL,
        VECTORS,
        lambda a, b: np.abs(np.cumsum(a - b)[:-1]) @ [1.0, 4.0],
    ),
    "EnergyDistance": (
        ct.kernels.EnergyDistance,
        ct.Ensemble(MEMBERS),
        MEMBERS,
        lambda a, b: np.sqrt(squared_energy(a, b)),
    ),
    "MMD": (
        lambda: ct.kernels.MMD(ct.GaussianKernel(bandwidth=1.0)),
        NORMAL.take(slice(0, 4)),
        PARAMETERS,
        lambda a, b: np.sqrt(max(0.0, squared_mmd(a, b))),
    ),
    "MixtureWasserstein": (ct.kernels.MixtureWasserstein, MIXTURE, PARAMETERS, wasserstein),
}


@each(sorted(public(Metric) - {"VectorMetric"}))
@pytest.mark.filterwarnings("ignore::caltest.kernels.KernelWarning")
def test_metrics_are_distances(name):
    """Of the first predictions that it knows: one number for each row and column, symmetric, 0 of equal ones."""
    metric = METRICS[name][0]() if name in METRICS else example(PUBLIC_CLASSES[name])
    table = [METRICS[name][1]] if name in METRICS else []
    for of in table or known(lambda one: one.distance(metric.resolve(one), one), name):
        resolved, n = metric.resolve(of), len(of)
        found = of.distance(resolved, of)
        words = f"{name} of {of.family} predictions"
        assert found.shape == (n, n), f"{words}: got the shape {found.shape} for {n} of them"
        assert np.all(found >= 0.0), f"{words}: a distance is negative"
        assert np.abs(np.diag(found)).max() <= metric.rounding(of), f"{words}: equal ones have a distance"
        assert found == pytest.approx(found.T, rel=1e-12), f"{words}: not symmetric"
        parts = of.take(slice(0, n // 2)).distance(resolved, of.take(slice(n // 2, n)))
        wanted = "wanted those of all; between vectors of probabilities of_outcomes = True"
        same = parts == pytest.approx(found[: n // 2, n // 2 :], abs=metric.rounding(of))
        assert same, f"{words}: got other distances for some of them, {wanted}"


@each(METRICS)
@pytest.mark.filterwarnings("ignore::caltest.kernels.KernelWarning")
def test_metrics(name):
    make, predictions, parts, formula = METRICS[name]
    metric = make()
    expected = np.array([[formula(a, b) for b in parts] for a in parts])
    for one in (metric, again(metric)):
        assert one == metric
        found = predictions.distance(one.resolve(predictions), predictions)
        assert found == pytest.approx(expected, rel=1e-6, abs=2e-8)
        assert np.all(np.diag(found) == 0.0)
        assert found == pytest.approx(found.T, rel=1e-12)


# --- binnings --------------------------------------------------------------------------------------------------------


def intervals(edges):
    return lambda x: np.searchsorted(edges[1:-1], x, side="left")


BINNINGS = {
    "UniformBinning": (lambda: ct.binning.UniformBinning(4), lambda x: intervals(np.arange(5) / 4)(x)),
    "QuantileBinning": (lambda: ct.binning.QuantileBinning(4), lambda x: intervals(np.sort(x)[[0, 5, 11, 17, 23]])(x)),
    "EdgeBinning": (
        lambda: ct.binning.EdgeBinning([0.0, 0.2, 0.5, 1.0]),
        lambda x: intervals(np.array([0, 0.2, 0.5, 1]))(x),
    ),
    "MedianVarianceBinning": (
        lambda: ct.binning.MedianVarianceBinning(2, max_bins=2),
        lambda x: (x >= np.sort(x)[12]).astype(int),
    ),
}


def test_every_binning_has_its_definition():
    assert set(BINNINGS) == public(ct.binning.Binning)


@each(BINNINGS)
def test_binnings(name):
    make, formula = BINNINGS[name]
    binning, points = make(), P[:, :1]

    def partition(numbers):
        return {frozenset(np.flatnonzero(numbers == j)) for j in np.unique(numbers)}

    for one in (binning, again(binning)):
        assert one == binning
        numbers = one.assign(points)
        assert partition(numbers) == partition(formula(points[:, 0]))
        assert set(numbers) == set(range(numbers.max() + 1))
    order = np.random.default_rng(2).permutation(N)
    assert partition(binning.assign(points[order])) == {
        frozenset(np.flatnonzero(np.isin(order, list(bin_)))) for bin_ in partition(binning.assign(points))
    }
    assert np.unique(binning.assign(np.full((8, 2), 0.5))).size == 1
    assert ct.ECE(binning)([0.5] * 8, [0, 1] * 4) == pytest.approx(0.0, abs=1e-15)


# --- estimators ------------------------------------------------------------------------------------------------------

NEW_ESTIMATORS = {kind.__name__: kind for kind in new_estimators()}


@each(NEW_ESTIMATORS)
def test_estimators(name):
    """Numbers for redraws, one by one and together, and an exact test."""
    estimator = example(NEW_ESTIMATORS[name])
    predictions, targets = CLASSES_OF[kind_of(estimator)]
    sample, redraws = Sample(predictions, targets), predictions.redraw(3, 4)
    assert again(estimator) == estimator, f"{name}: not equal to its copy, wanted a frozen dataclass"
    if isinstance(estimator, ct.estimators.BinaryStatistic):
        shape = np.shape(estimator.statistic_of(estimator.probabilities(predictions))(redraws))
        assert shape == (4,), (
            f"{name}.statistic_of: got shape {shape} for outcomes (4, {N}), wanted (4,), one of each row"
        )
    found = estimator(predictions, targets, rng=1)
    assert type(found) is float, f"{name}.estimate: got {found!r}, wanted a float"
    draws = estimator.uses_random_numbers(predictions)
    assert draws or estimator(predictions, targets) == found, f"{name}: draws, wanted uses_random_numbers to say so"
    resolved = estimator.resolve(predictions, 1)
    one_by_one = [resolved.estimate(Sample(predictions, y)) for y in redraws]
    together = resolved.estimates(predictions, redraws)
    assert together == pytest.approx(one_by_one, rel=1e-11, abs=1e-14), f"{name}.estimates: not those one by one"
    assert resolved.estimate(sample) == pytest.approx(found), f"{name}.estimate: another number than the call gives"
    result = ct.MonteCarloTest(estimator, B)(predictions, targets, rng=1)
    assert 0.0 < result.pvalue <= 1.0
    assert estimator.describe(predictions) in unfolded(result)


@each(NEW_ESTIMATORS)
def test_estimators_say_that_there_are_too_few_observations(name):
    estimator = example(NEW_ESTIMATORS[name])
    predictions, _ = CLASSES_OF[kind_of(estimator)]
    wanted = f"{name}.check: wanted the error of at_least(len(predictions), 1, {name!r})"
    _, words = answer_or_words(lambda: estimator.check(predictions.take(slice(0, 0))))
    assert "wanted at least" in words, f"{wanted}, got {words or 'none'} for no predictions"


# --- tests and nulls -------------------------------------------------------------------------------------------------

GROUPS = np.arange(N) // 3
UCME = ct.UCME(TV, P[:2], Y[:2])
B = 19
CLASSES_OF = {"classes": (CLASSES, Y), "binary": BINARY, "numbers": (NORMAL, TARGETS)}

# How the test is made, of which predictions, and the largest share of calibrated ones that it may reject at 10 %.
TESTS = {
    "AsymptoticBlockSKCETest": (lambda: ct.AsymptoticBlockSKCETest(TV), "classes", 0.16),
    "AsymptoticCMETest": (lambda: ct.AsymptoticCMETest(UCME), "classes", 0.25),
    "AsymptoticSKCETest": (lambda: ct.AsymptoticSKCETest(TV, B), "classes", 0.1),
    "BinnedEquivalenceTest": (lambda: ct.named_tests.BinnedEquivalenceTest(0.5, 3), "binary", 1.0),
    "CertifiedCrossSKCETest": (lambda: ct.named_tests.CertifiedCrossSKCETest(TV), "classes", 0.1),
    "ClusterLikelihoodRatioTest": (lambda: ct.named_tests.ClusterLikelihoodRatioTest(GROUPS), "classes", 0.1),
    "ClusterSKCETest": (lambda: ct.ClusterSKCETest(GROUPS, TV, B), "classes", 0.25),
    "ConsistencyTest": (lambda: ct.ConsistencyTest(ct.SKCE(TV), B), "classes", 0.16),
    "CoxTest": (ct.CoxTest, "binary", 0.2),
    "DistributionFreeSKCETest": (lambda: ct.DistributionFreeSKCETest(ct.SKCE(TV)), "classes", 0.1),
    "ECCETest": (ct.ECCETest, "binary", 0.1),
    "EquivalenceTest": (lambda: ct.EquivalenceTest(0.5, TV), "classes", 1.0),
    "HosmerLemeshowTest": (lambda: ct.HosmerLemeshowTest(3), "binary", 0.15),
    "LikelihoodRatioTest": (lambda: ct.LikelihoodRatioTest(B), "classes", 0.1),
    "LogScoreTest": (ct.LogScoreTest, "binary", 0.14),
    "MonteCarloTest": (lambda: ct.MonteCarloTest(ct.SKCE(TV), B), "classes", 0.1),
    "OmnibusTest": (lambda: ct.OmnibusTest(TV, B), "classes", 0.1),
    "PITTest": (ct.PITTest, "numbers", 0.1),
    "PearsonSKCETest": (lambda: ct.PearsonSKCETest(TV), "classes", 0.14),
    "QuantileCalibrationTest": (lambda: ct.QuantileCalibrationTest([0.5]), "numbers", 0.16),
    "ScoreCMETest": (lambda: ct.ScoreCMETest(UCME, B), "classes", 0.1),
    "SpiegelhalterTest": (ct.SpiegelhalterTest, "binary", 0.14),
    "ToleranceTest": (lambda: ct.ToleranceTest(0.1, TV), "classes", 0.1),
}
NULLS = {
    "ClusterBootstrap": (lambda: ct.nulls.ClusterBootstrap(B), ct.estimators.ClusterSKCE(TV, GROUPS)),
    "HotellingNull": (ct.nulls.HotellingNull, UCME),
    "NormalNull": (ct.nulls.NormalNull, ct.BlockSKCE(TV)),
}
"""Nulls that are in no named test of the table, or beside them; with an estimator."""


def kind_of(estimator):
    """The first of the data here that an estimator is for."""
    for kind, (predictions, _) in CLASSES_OF.items():
        if takes(estimator, Sample(as_predictions(predictions), None)):
            return kind
    raise AssertionError(f"{type(estimator).__name__}: for none of {list(CLASSES_OF)}")


KNOWN_NULLS = {type(make().null) for make, *_ in TESTS.values()} | {type(make()) for make, _ in NULLS.values()}
NEW_NULLS = {kind.__name__: kind for kind in newcomers(ct.nulls.Null, KNOWN_NULLS)}
NEW_TESTS = {kind.__name__: kind for kind in newcomers(ct.CalibrationTest, [ct.CalibrationTest])}
NEW_TESTS = {
    name: kind
    for name, kind in NEW_TESTS.items()
    if name not in TESTS and made_or_fault(name, partial(example, kind)) is not None
}


def line_of(name):
    """The line of a test in the table; without one that of the example of its docstring, or of that of a null."""
    if name in TESTS:
        return TESTS[name]
    make = partial(example, NEW_TESTS[name]) if name in NEW_TESTS else partial(pair_of_example, NEW_NULLS[name])
    test = make()
    return (
        make,
        kind_of(test.estimator),
        0.1 if test.null.pvalue_kind_of(test.estimator) in ("exact", "bound") else 0.16,
    )


def made(name):
    """A test of the table, or of a null."""
    if name in NULLS:
        null, estimator = NULLS[name]
        return ct.CalibrationTest(estimator, null()), CLASSES_OF["classes"]
    make, kind, _ = line_of(name)
    return make(), CLASSES_OF[kind]


def numbers_of(result):
    return {key: value for key, value in result.to_dict().items() if key != "version"}


@pytest.mark.every(4)
@each([*TESTS, *NULLS, *NEW_TESTS, *NEW_NULLS])
def test_the_same_seed_gives_the_same_numbers(name):
    test, sample = made(name)
    first = test(*sample, rng=3)
    for one in (test, again(test), made(name)[0]):
        other = one(*sample, rng=3)
        assert numbers_of(other) == numbers_of(first)
        assert first.null_distribution is None or np.array_equal(other.null_distribution, first.null_distribution)
    assert numbers_of(again(first)) == numbers_of(first)
    assert 0.0 <= first.pvalue <= 1.0
    assert set(first.citations) <= set(all_entries())
    assert set(test.citations) == set(first.citations)


@pytest.mark.every(9)
@pytest.mark.statistical
@pytest.mark.usefixtures("without_findings")
@each([*TESTS, *NEW_TESTS, *NEW_NULLS])
def test_sizes(name, replications):
    """At the 10 % level, at most the 99.9 % quantile of a binomial count, of the share that is in the table."""
    test, (predictions, _) = made(name)
    largest, m = line_of(name)[2], replications(120, 2000)
    if largest == 1.0:
        return
    draws = predictions.sample(np.random.default_rng(7), m)
    rejected = sum(test(predictions, y, rng=i).pvalue <= 0.1 for i, y in enumerate(draws))
    assert rejected <= stats.binom.ppf(0.999, m, largest), (
        f"{name} rejects {rejected} of {m} calibrated data sets of {N} rows at the 10 % level, wanted a share of at "
        f"most {largest:g}; if that is known and its results say so, give it a line with a larger one in TESTS"
    )


CERTAIN = {
    "classes": (np.eye(3)[Y], Y),
    "binary": (np.array([0.0, 1.0] * 12), np.array([0, 1] * 12)),
    "numbers": (ct.Normal(TARGETS, 0.0), TARGETS),
}
NOTHING_VARIES = r"vary|varies|certain|chance|variance|singular|positive|identical|no scale"


@each([*TESTS, *NULLS, *NEW_TESTS, *NEW_NULLS])
def test_certain_predictions_that_come_true(name):
    """Nothing speaks against calibration, or nothing can: p is large, or the error says that nothing varies."""
    test, _ = made(name)
    kind = "classes" if name in NULLS else line_of(name)[1]
    result, words = answer_or_words(lambda: test(*CERTAIN[kind], rng=1))
    if words:
        wanted = "wanted a p-value, or an error that says that nothing varies"
        assert re.search(NOTHING_VARIES, words), f"{name} of certain predictions: got {words!r}, {wanted}"
        return
    equivalence = name in ("EquivalenceTest", "BinnedEquivalenceTest")
    is_right = result.pvalue < 0.5 if equivalence and result.estimate == 0.0 else result.pvalue >= 0.05
    assert is_right, f"{name}: got the p-value {result.pvalue:.3g} for certain predictions that came true"
    assert result.estimate < 1e-12


# --- recalibration ---------------------------------------------------------------------------------------------------

MAPS = {
    "BBQ": (recalibration.BBQ, "binary"),
    "BetaCalibration": (recalibration.BetaCalibration, "binary"),
    "DirichletCalibration": (recalibration.DirichletCalibration, "classes"),
    "FamilyTemperatureScaling": (recalibration.FamilyTemperatureScaling, "numbers"),
    "GPCalibrator": (lambda: recalibration.GPCalibrator(max_iterations=30), "classes"),
    "HistogramBinning": (lambda: recalibration.HistogramBinning(3), "binary"),
    "Identity": (recalibration.Identity, "classes"),
    "Isotonic": (recalibration.Isotonic, "binary"),
    "MatrixScaling": (recalibration.MatrixScaling, "classes"),
    "Multicalibration": (recalibration.Multicalibration, "binary"),
    "OneVsRest": (lambda: recalibration.OneVsRest(recalibration.Platt()), "classes"),
    "Platt": (recalibration.Platt, "binary"),
    "QuantileRecalibration": (recalibration.QuantileRecalibration, "numbers"),
    "ShiftAndScale": (recalibration.ShiftAndScale, "numbers"),
    "TemperatureScaling": (recalibration.TemperatureScaling, "classes"),
    "VectorScaling": (recalibration.VectorScaling, "classes"),
}


for one in classes_of(recalibration.Calibrator):
    if one.__name__ not in MAPS:
        of_numbers = not issubclass(one, recalibration.ProbabilityCalibrator)
        MAPS[one.__name__] = partial(example, one), "numbers" if of_numbers else "binary" if one.binary else "classes"


def values_of(predictions):
    """All numbers of predictions; at least one for each observation."""
    parts = [predictions] if isinstance(predictions, np.ndarray) else predictions.law._parameters
    values = np.concatenate([np.ravel(part) for part in parts])
    assert values.size >= len(predictions)
    return values


@pytest.mark.every(3)
@each(MAPS)
def test_maps(name, tmp_path):
    make, kind = MAPS[name]
    predictions = CLASSES_OF[kind][0]
    # Outcomes that are as predicted, so that what is fitted is not at an end of its range.
    targets = predictions.sample(rng=2)
    fitted = make().fit(predictions, targets)
    answer = fitted(predictions)
    fitted.save(tmp_path / "map.npz")
    others = [make().fit(predictions, targets), again(make()).fit(predictions, targets), again(fitted)]
    others.append(recalibration.CalibrationMap.load(tmp_path / "map.npz"))
    for one in others:
        words = f"{name}: another map after it is fitted again, copied or saved; its fields are floats, arrays, maps"
        assert np.array_equal(values_of(one(predictions)), values_of(answer)), words
    if kind != "numbers":
        rows = answer.probability if kind == "binary" else answer.probabilities
        assert rows.min() >= 0.0, f"{name}: a probability is {rows.min():.3g}"
        assert rows.max() <= 1.0, f"{name}: a probability is {rows.max():.3g}"
        is_one = kind == "binary" or rows.sum(axis=1) == pytest.approx(np.ones(N), rel=1e-9)
        assert is_one, f"{name}: probabilities of the classes do not sum to 1"
    assert np.isfinite(values_of(answer)).all()


@pytest.mark.every(3)
@each(MAPS)
def test_maps_of_certain_predictions_and_of_one_outcome(name):
    make, kind = MAPS[name]
    data = [CERTAIN[kind]]
    if kind != "numbers":
        data.append((CLASSES_OF[kind][0], np.zeros(N, dtype=int)))
    if kind == "binary":
        data.append((np.full(N, 0.3), BINARY[1]))
    for predictions, targets in data:
        answer, words = answer_or_words(lambda p=predictions, y=targets: make().fit(p, y)(p))
        assert "got" in words if words else np.isfinite(values_of(answer)).all(), words


@pytest.mark.every(3)
@each([name for name, (_, kind) in MAPS.items() if kind != "numbers"])
def test_maps_do_not_make_the_data_they_are_fitted_to_less_likely(name):
    """Of overconfident predictions, in the Brier score; the identity leaves it as it is."""
    make, kind = MAPS[name]
    rng = np.random.default_rng(5)
    p = rng.dirichlet(np.ones(3 if kind == "classes" else 2), 300)
    y = ct.Categorical(p).sample(rng)
    sharp = p**2.5 / (p**2.5).sum(axis=1, keepdims=True)
    given = sharp if kind == "classes" else sharp[:, 1]
    answer = make().fit(given, y)(given)
    rows = answer if kind == "classes" else np.stack([1.0 - answer, answer], axis=1)
    before, after = (np.square(q - np.eye(p.shape[1])[y]).sum(axis=1).mean() for q in (sharp, rows))
    words = f"{name}: the Brier score of overconfident predictions was {before:.4g} and is {after:.4g}"
    assert after == before if name == "Identity" else after < before - 0.01, words


# --- generators ------------------------------------------------------------------------------------------------------

GENERATORS = {
    "DirichletModel": lambda: generators.DirichletModel(3, 1.0),
    "Distorted": lambda: generators.Distorted(generators.DirichletModel(3, 1.0), generators.LabelNoise(0.6)),
    "Friedman1": generators.Friedman1,
    "GaussianModel": lambda: generators.GaussianModel(1),
    "HeteroscedasticSine": generators.HeteroscedasticSine,
    "LeastSquares": lambda: generators.LeastSquares(0.0, 0.5, 1.5),
    "Resampled": lambda: generators.Resampled(P),
}
DISTORTIONS = {
    "Bias": (lambda s: generators.Bias(s), NORMAL),
    "Contamination": (lambda s: generators.Contamination(s, (1.0, 0.0, 0.0)), CLASSES),
    "LabelNoise": (generators.LabelNoise, CLASSES),
    "Outliers": (lambda s: generators.Outliers(s, ct.Normal([9.0], 1.0)), NORMAL),
    "Rotation": (generators.Rotation, CLASSES),
    "Scaling": (generators.Scaling, NORMAL),
    "Tempering": (generators.Tempering, CLASSES),
    "Wave": (generators.Wave, BINARY[0]),
}


def test_every_generator_is_covered():
    assert set(GENERATORS) == public(generators.Generator)
    assert set(DISTORTIONS) == public(generators.Distortion)


def rejected(generator, n, rng):
    """Whether a kernel error of n of its observations is found at the 5 % level."""
    predictions, targets = generator.sample(n, rng=rng)
    test = ct.MonteCarloTest(ct.SKCE(predictions.default_kernel()), 19)
    return test(predictions, targets, rng=rng).pvalue <= 0.05


@pytest.mark.every(3)
@each([*GENERATORS, *DISTORTIONS])
def test_generators_say_whether_they_are_calibrated(name, replications):
    """At 5 % at most the 99.9 % quantile of a binomial count is rejected if they are, most larger data sets if not."""
    if name in GENERATORS:
        models = [GENERATORS[name]()]
    else:
        make, predictions = DISTORTIONS[name]
        models = [
            generators.Resampled(predictions, make(strength)) for strength in (0.0, 0.49 if name == "Wave" else 0.9)
        ]
        assert [model.is_calibrated for model in models] == [True, False]
    m = replications(30, 500)
    for model in models:
        first, other = (one.sample(11, rng=4) for one in (model, again(model)))
        assert np.array_equal(first[1], other[1])
        assert len(first[0]) == len(first[1]) == 11
        assert len(model.sample(1, rng=1)[1]) == 1
        assert not np.array_equal(model.sample(11, rng=5)[1], first[1]) or first[1].dtype.kind == "i"
        if model.is_calibrated:
            assert sum(rejected(model, 20, i) for i in range(m)) <= stats.binom.ppf(0.999, m, 0.05)
        else:
            assert sum(rejected(model, 300, i) for i in range(5)) >= 4, model


# --- commands --------------------------------------------------------------------------------------------------------

COMMANDS = {
    "test": ["test", "P", "Y"],
    "compare": ["compare", "P", "Q", "Y", "--n-resamples", "9"],
    "power": ["power", "P", "--strength", "0.5", "--n", "12", "--n-simulations", "2", "--n-resamples", "9"],
    "audit": ["audit", "P", "Y", "--n-resamples", "9"],
    "recalibrate": ["recalibrate", "P", "Y", "--method", "temperature"],
    "demo": ["demo"],
}


def commands():
    """Names of the commands of the parser."""
    return next(action for action in _parser()._actions if action.choices and action.dest == "command").choices


def test_every_command_is_covered():
    assert set(COMMANDS) == set(commands())


@each(COMMANDS)
def test_commands(name, tmp_path, capsys):
    """The same seed gives the same text; certain predictions have an answer or one line of error; help is there."""
    tables = {"P": P, "Q": P[::-1], "certain": np.eye(3)[Y]}
    for table, values in tables.items():
        np.savetxt(tmp_path / table, values, delimiter=",")
    np.savetxt(tmp_path / "Y", Y, fmt="%d")

    def run(words):
        status = main([str(tmp_path / word) if word in (*tables, "Y") else word for word in words])
        return status, *capsys.readouterr()

    seeded = COMMANDS[name] + ([] if name == "demo" else ["--seed", "3"])
    first = run(seeded)
    assert first[0] == 0
    assert first[1]
    if name != "demo":
        assert run(seeded) == first
        status, out, err = run(["certain" if word == "P" else word for word in seeded])
        assert (status, err) == (0, "") or (status == 2 and out == "" and err.count("\n") == 1)
    with pytest.raises(SystemExit) as stop:
        main([name, "--help"])
    assert stop.value.code == 0
    assert "usage: caltest" in capsys.readouterr().out
