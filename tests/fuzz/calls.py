"""Every public call: made from the signatures of public names, so that new names come with no line of their own."""

import inspect
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from functools import partial

import numpy as np
from hypothesis import strategies as st
from public import PUBLIC, classes_of

import caltest as ct
from caltest import generators, recalibration
from caltest.kernels import Metric, PredictionKernel, TargetKernel
from caltest.predictions import Predictions

from .data import POSITIVE

RESULTS = {
    *(thing for name, thing in PUBLIC.items() if name.startswith("results.") and inspect.isclass(thing)),
    ct.estimators.TextbookTail,
    ct.nulls.Outcome,
    ct.predictions.Sample,
    ct.risk.FittedErrorFunction,
    recalibration.BestFit,
    recalibration.MulticalibrationReport,
    recalibration.SliceRepair,
    recalibration.GPMap,
    recalibration.RecalibrationReport,
    recalibration.RecalibrationRow,
}
"""What calls return: checked where it is returned."""

OTHERS = {*("results.bibtex", "datasets.load_digits_predictions", "generators.class_model", "bridges.predictions_of")}
"""Names without data: called by tests of their own."""


class Drawn:
    """Choices of hypothesis."""

    def __init__(self, draw):
        self.draw = draw

    def one_of(self, *values):
        return self.draw(st.sampled_from(values))

    def below(self, n):
        return self.draw(st.integers(0, n - 1))


class Random:
    """Choices of a generator."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def one_of(self, *values):
        return values[self.rng.integers(len(values))]

    def below(self, n):
        return int(self.rng.integers(n))


@dataclass
class Case:
    """Predictions and targets of one call, and a source of choices."""

    choices: object
    predictions: object
    targets: object

    @property
    def n(self):
        try:
            return len(self.targets)
        except TypeError:
            return 6

    def one_of(self, *values):
        return self.choices.one_of(*values)

    def seed(self):
        return self.choices.below(2**32)

    def groups(self):
        size = self.one_of(1, 2, 3, 100)
        numbers = np.arange(self.n) // size
        return self.one_of(numbers, numbers.tolist(), [f"g{i}" for i in numbers], numbers[:-1], np.zeros(self.n))

    def features(self):
        x = np.arange(self.n) % 7 * 1.5
        some = (
            np.where(x > 8.0, np.nan, x),
            x.astype(int),
            [f"<{i % 3}>" for i in range(self.n)],
            np.zeros(self.n),
            x[:-1],
        )
        return self.one_of(None, {"x": self.one_of(*some)}, {"a": x, 2: some[2]}, {})

    def time(self):
        steps = np.arange(self.n)
        return self.one_of(None, steps, steps[::-1].tolist(), np.where(steps == 1, np.nan, 1.0), steps[1:])

    def bandwidth(self):
        return self.one_of("median", "median", 1.0, 0.1, 1.0, *POSITIVE)

    def metric(self):
        kinds = [kind for kind in public(Metric) if kind not in (ct.kernels.MMD, ct.kernels.MixtureWasserstein)]
        kind = self.one_of(*kinds, ct.kernels.MMD)
        return ct.kernels.MMD(self.target_kernel()) if kind is ct.kernels.MMD else kind()

    def radial(self, metric):
        bandwidth = self.bandwidth()
        kinds = [
            lambda: ct.ExponentialKernel(metric, bandwidth),
            lambda: ct.GaussianKernel(metric, bandwidth),
            lambda: ct.MaternKernel(metric, bandwidth, self.one_of(0.5, 1.5, 2.5)),
            lambda: ct.kernels.RationalQuadraticKernel(metric, bandwidth, self.one_of(1.0, 0.01, 1e3)),
        ]
        return self.one_of(*kinds)()

    def target_kernel(self):
        kinds = [
            ct.DeltaKernel,
            lambda: ct.LaplacianKernel(self.bandwidth()),
            lambda: ct.GaussianKernel(bandwidth=self.bandwidth()),
            lambda: self.radial(ct.Euclidean()),
            lambda: ct.kernels.MatrixKernel(np.eye(self.one_of(2, 3, 5))),
            lambda: ct.DeltaKernel() + 0.5 * ct.GaussianKernel(bandwidth=1.0),
        ]
        return self.one_of(*kinds)()

    def prediction_kernel(self):
        return self.radial(self.metric()) if self.choices.below(5) else ct.kernels.OverlapKernel()

    def kernel(self):
        if isinstance(self.predictions, Predictions) and self.choices.below(2):
            return self.predictions.default_kernel()
        if not isinstance(self.predictions, Predictions) and self.choices.below(2):
            return ct.ProductKernel(ct.ExponentialKernel(ct.TotalVariation()), ct.DeltaKernel())
        return ct.ProductKernel(self.prediction_kernel(), self.target_kernel())

    def ucme(self):
        rows = slice(0, self.one_of(1, 2, 3))
        return ct.UCME(self.kernel(), taken(self.predictions, rows), taken(self.targets, rows))

    def binning(self):
        kinds = [ct.binning.UniformBinning, ct.binning.QuantileBinning, ct.binning.MedianVarianceBinning]
        return self.one_of(*kinds)(self.one_of(1, 2, 3, 100))

    def estimator(self):
        return made(
            self.one_of(*(kind for kind in public(ct.estimators.Estimator) if not inspect.isabstract(kind))), self
        )

    def null(self):
        return made(self.one_of(*(kind for kind in public(ct.nulls.Null) if not inspect.isabstract(kind))), self)

    def test(self):
        test = self.one_of(
            lambda: ct.OmnibusTest(n_resamples=9),
            lambda: ct.MonteCarloTest(self.estimator(), n_resamples=9),
            lambda: ct.AsymptoticBlockSKCETest(self.kernel()),
            lambda: ct.MonteCarloTest(ct.LowRankSKCE(self.kernel(), 3), 9),
        )
        return test()

    def generator(self):
        generator = self.one_of(
            lambda: ct.generators.Resampled(self.predictions),
            lambda: ct.generators.Resampled(self.predictions, self.distortion()),
            lambda: ct.generators.DirichletModel(3),
            lambda: ct.generators.GaussianModel(2),
        )
        return generator()

    def distortion(self):
        kinds = generators.Bias, generators.LabelNoise, generators.Scaling, generators.Tempering, generators.Wave
        return self.one_of(*kinds)(self.one_of(0.0, 0.1, 0.5, 1.0))

    def calibrator(self):
        return self.one_of(
            recalibration.TemperatureScaling(),
            recalibration.Isotonic(),
            recalibration.Platt(),
            recalibration.Identity(),
        )

    def of_labels(self):
        """Probabilities of labels, whose sums mean nothing."""
        rng = np.random.default_rng(self.seed())
        some = rng.random((self.n, 3)), np.zeros((self.n, 2)), np.full((self.n, 1), 0.3), rng.random((self.n, 3)) ** 40
        return self.one_of(*some, rng.normal(size=(self.n, 3)), rng.random(self.n))

    def models(self):
        return {"a": self.predictions, "b": self.predictions}


def taken(values, rows):
    """Some rows, of what has rows."""
    try:
        return values.take(rows) if isinstance(values, Predictions) else values[rows]
    except (TypeError, KeyError, IndexError):
        return values


def choice(*values):
    return lambda case: case.one_of(*values)


ARGUMENTS = {
    "aggregate": choice("mean", "sum"),
    "alpha": choice(0.05, 0.5, [0.01, 0.05]),
    "binning": Case.binning,
    "block_size": choice(2, 3, 5, 100, 1),
    "calibrated": choice(True, False),
    "calibrator": Case.calibrator,
    "calibrators": lambda case: [case.calibrator(), case.calibrator()],
    "classes": choice(None, ["a", "b", "c"], [0, 1]),
    "clip": choice(1e-12, 1e-300, 0.0),
    "clusters": Case.groups,
    "concentration": choice(1.0, 0.1, 1e-3, 1e3, (1.0, 2.0, 3.0)),
    "confidence_level": choice(0.95, 0.5, 0.999999, 1e-6),
    "curve": choice("splines", "loess"),
    "data": choice(None),
    "dimension": choice(1, 2, 10),
    "distortion": Case.distortion,
    "distribution": choice("F", "chi2"),
    "n_groups": choice(2, 4),
    "field": choice(None, "clinical", "weather", "bayesian"),
    "dry": choice(None, 0.5, 0.0),
    "draws": lambda case: case.one_of(1.0, 1e300) * np.sin(np.arange(8.0 * case.n)).reshape(case.n, 4, 2),
    "edges": choice([0.0, 0.5, 1.0], [0.0, 1.0], [-1.0, 2.0], [0.0, 1e-300, 1.0]),
    "estimator": Case.estimator,
    "error": choice("bias", "confidence", "both"),
    "error_functions": choice(None, [ct.risk.BinnedErrorFunction(3)], [ct.risk.DirichletErrorFunction([0.1, 1.0])]),
    "exact_variance": choice(True, False),
    "exponent": choice(1.0, 2.0, 0.5, 1e-3),
    "factors": choice((1.0,), (0.25, 4.0), (1e-10, 1e10)),
    "features": Case.features,
    "fixed": choice(None, (0.2, 0.3, 0.5)),
    "gamma": choice(1.0, 1e-3, 1e3),
    "generator": Case.generator,
    "generators": Case.generator,
    "groups": Case.groups,
    "held_out": choice(0.2, 0.5),
    "horizon": choice(None, 1, 2),
    "include_diagonal": choice(True, False),
    "independent": choice(True, False),
    "input": choice("probabilities", "logits"),
    "intercept": choice(0.0, 100.0, 1e-3),
    "interpolate": choice(True, False),
    "keep_class": choice(True, False),
    "kernel": Case.kernel,
    "known_variance": choice(True, False),
    "levels": choice(None, [0.5], [0.1, 0.5, 0.9], [1e-9, 1 - 1e-9]),
    "m": choice(1, 2, 5),
    "margin": choice(0.01, 0.3, 1e-9, 0.999, 2.0),
    "matrix": choice(np.eye(3), np.ones((3, 3)), np.eye(2), np.diag([1e-300, 1.0, 1e300])),
    "max_bins": choice(None, 1, 5),
    "max_degree": choice(1, 2, 4),
    "max_depth": choice(1, 2),
    "max_iterations": choice(1, 20),
    "max_rank": choice(1, 5, 300),
    "max_steps": choice(0, 3, 100),
    "method": Case.calibrator,
    "metric": Case.metric,
    "min_size": choice(1, 2, 10),
    "min_variance": choice(5.0, 1e-9, 1e9),
    "missing": choice("refuse", "drop"),
    "models": Case.models,
    "multiplier": choice("rademacher", "gaussian"),
    "n": choice(1, 5, 12),
    "n_bins": choice(1, 2, 10, 1000),
    "n_classes": choice(2, 3, 10),
    "n_eigenvalues": choice(None, 1, 5),
    "n_folds": choice(2, 5),
    "n_inducing": choice(1, 4),
    "n_max": choice(20, 40),
    "n_min": choice(2, 8),
    "n_resamples": choice(1, 9, 19),
    "n_simulations": choice(1, 3),
    "names": choice(None, ["a", "b", "c"], [1, 1, 2]),
    "noise": choice(1.0, 1e-8, 1e8),
    "notion": choice("canonical", "top_label", "classwise"),
    "null": Case.null,
    "of_components": Case.metric,
    "off_diagonal": choice(0.0, 100.0, 1e-3),
    "on": choice("log-odds", "scores"),
    "order": choice(1.0, 2.0, 1.5, 10.0),
    "temperature": choice(0.01, 1.0, 1e-5, 1e5),
    "over_classes": choice("sum", "max", "mean"),
    "part": choice(0, 1, 10**6),
    "population_variance": choice(True, False),
    "power": choice(0.8, 0.1),
    "prerank": choice(None, "average", "band depth", "variogram", lambda pool: pool.sum(axis=1)),
    "prediction_kernel": Case.prediction_kernel,
    "problem": choice(generators.HeteroscedasticSine(), generators.Friedman1()),
    "progress": choice(False),
    "quantities": choice(None, {"sum": lambda x: x.mean(axis=1)}),
    "rank": choice(1, 3, 64),
    "regularisation": choice(None, 1e-8, [1e-3, 1.0]),
    "resume": choice(None),
    "rng": Case.seed,
    "scale": choice(1.0, 1e-8),
    "score": choice("brier", "log"),
    "selection": choice(0.95, 0.5, 0.01),
    "shape": choice(1.0, 0.01, 1e3),
    "side": choice("two-sided", "upper", "lower"),
    "sizes": choice(6, [5, 9]),
    "slope": choice(1.0, 0.0),
    "source": choice(generators.DirichletModel(3), generators.GaussianModel(1)),
    "spread": choice(10.0, 1.0, 1e3),
    "statistic": choice("KS", "CvM", "AD", "POT", "PITOS"),
    "stop_after": choice(None, 1, 5),
    "strategy": choice("both", "likelihood", "kernel"),
    "strength": choice(0.0, 0.1, 0.5, 1.0, 1e-12),
    "target_kernel": Case.target_kernel,
    "terms": lambda case: (ct.ProductKernel(case.prediction_kernel(), case.target_kernel()),) * 2,
    "test": Case.test,
    "tests": Case.test,
    "test_predictions": lambda case: taken(case.predictions, slice(0, 2)),
    "test_targets": lambda case: taken(case.targets, slice(0, 2)),
    "oe_width": choice(0.2, 1e-9, 1e9),
    "slope_width": choice(0.3, 1e-9, 1e9),
    "c_width": choice(0.1, 1e-9, 1e9),
    "truths": lambda case: case.one_of(1.0, 1e300, 0.0) * np.cos(np.arange(2.0 * case.n)).reshape(case.n, 2),
    "ucme": Case.ucme,
    "unbiased": choice(True, False),
    "weighted": lambda case: ((1.0, case.target_kernel()), (case.one_of(0.5, 1e-300, 1e300), case.target_kernel())),
    "thresholds": choice(0.5, [0.0, 1.0], [1e300], [0.1, 0.2]),
    "ties": choice("random", "shared"),
    "time": Case.time,
    "thin": choice("auto", 1, 2, 9),
    "title": choice("Audit", "<script>", ""),
    "intervals": lambda case: np.stack(
        [np.zeros(case.n), case.one_of(np.ones(case.n), np.arange(case.n) - 1.0)], axis=1
    ),
    "isotonic": choice("thresholds", "distributions"),
    "lag": choice(1, 2, 5),
    "limits": lambda case: case.one_of(None, np.arange(1.0, case.n + 1.0), np.full(case.n, 1e300), np.zeros(case.n)),
    "sets": lambda case: np.arange(2 * case.n).reshape(case.n, 2) % case.one_of(2, 3) == 0,
    "values": lambda case: case.one_of(np.linspace(0.0, 1.0, case.n), np.full(case.n, 0.5), np.full(case.n, 1e300)),
    "weights": lambda case: case.one_of(np.ones(case.n), np.arange(case.n), np.full(case.n, 1e-300), np.zeros(case.n)),
}
"""Values of arguments by their names; what every new name of an argument has to be added to."""

SPECIAL = {
    (ct.ECCETest, "statistic"): choice("MAD", "R"),
    (ct.CalibrationMonitor, "average_run_length"): choice(2, 100, 10**9),
    (ct.estimators.ECCE, "statistic"): choice("MAD", "R"),
    (ct.MMCE, "kernel"): Case.prediction_kernel,
    (ct.kernels.MMD, "kernel"): Case.target_kernel,
    (ct.binning.UniformBinning, "n_bins"): choice(1, 2, 15, 10**6),
    (ct.predictions.class_groups, "groups"): choice([0, 1], ["a", "b", "a"], range(4), [0, 1, 1, 0, 2]),
    (generators.Contamination, "fixed"): choice((0.2, 0.3, 0.5), (1.0, 0.0, 0.0)),
    (generators.Outliers, "fixed"): lambda case: ct.Normal([0.0], 5.0),
    (ct.Censored, "time"): lambda case: case.one_of(np.arange(1.0, case.n + 1.0), np.full(case.n, 1e300), case.targets),
    (ct.Censored, "event"): lambda case: case.one_of(np.arange(case.n) % 2 == 0, np.ones(case.n), case.targets),
    (recalibration.HistogramBinning, "bins"): choice("quantile", "uniform"),
    (recalibration.multicalibration_report, "method"): choice(None, recalibration.Multicalibration(max_steps=2)),
}

BANDWIDTHS = {"bandwidth": Case.bandwidth}
DATA = {"predictions", "targets", "probabilities"}
WRONG = [None, -1, 0, np.nan, np.inf, "x", 2.5, [], 10**30, True, object(), ct.DeltaKernel]


def values_of(callable_, name):
    """How to choose an argument of a call, or None."""
    return SPECIAL.get((callable_, name)) or ARGUMENTS.get(name) or BANDWIDTHS.get(name)


def arguments(callable_):
    return inspect.signature(callable_).parameters.values()


def settings(callable_, case, wrong=False):
    """Arguments but for the data: those that are needed, and some of the others; one of them perhaps wrong."""
    chosen = {}
    for one in arguments(callable_):
        if one.name in DATA:
            continue
        short = one.name in ("n_resamples", "n_simulations", "n_max", "rng", "max_iterations")
        if one.default is inspect.Parameter.empty or short or case.choices.below(4) == 0:
            chosen[one.name] = values_of(callable_, one.name)(case)
    if wrong and chosen:
        chosen[case.one_of(*chosen)] = case.one_of(*WRONG)
    return chosen


def made(kind, case, wrong=False):
    """An object of a public class."""
    if kind is ct.estimators.TCal or (kind is ct.estimators.QuantileCalibration and not wrong):
        return kind() if case.choices.below(2) else kind(**settings(kind, case, wrong))
    if kind is ct.MultiLabel:
        return kind(case.of_labels(), **settings(kind, case, wrong))
    return kind(**settings(kind, case, wrong))


def of_estimator(one, case):
    return one(case.predictions, case.targets)


def of_test(one, case):
    return one(case.predictions, case.targets, rng=case.seed())


def of_pair(one, case):
    return one(case.predictions, case.predictions, case.targets)


def of_null(one, case):
    return ct.CalibrationTest(case.estimator(), one)(case.predictions, case.targets, rng=case.seed())


def of_group_test(one, case):
    return one(case.predictions, case.targets, case.groups(), rng=case.seed())


def of_target_kernel(one, case):
    kernel = ct.ProductKernel(case.prediction_kernel(), one)
    return ct.SKCE(kernel)(case.predictions, case.targets)


def of_prediction_kernel(one, case):
    return ct.SKCE(ct.ProductKernel(one, case.target_kernel()))(case.predictions, case.targets)


def of_pair_kernel(one, case):
    return ct.calibration_test(case.predictions, case.targets, kernel=one, n_resamples=9, rng=case.seed())


def of_metric(one, case):
    return ct.median_bandwidth(case.predictions, one)


def of_binning(one, case):
    return ct.ECE(one)(case.predictions, case.targets)


def of_error_function(one, case):
    fitted = one.fit(case.predictions, case.targets)
    return fitted.values(case.predictions)


def of_calibrator(one, case):
    return one.fit(case.predictions, case.targets)(case.predictions)


def of_generator(one, case):
    predictions, targets = one.sample(case.one_of(1, 2, 9), rng=case.seed())
    predictions.check_targets(targets)
    return targets


def of_distortion(one, case):
    return of_generator(generators.Resampled(case.predictions, one), case)


def of_problem(one, case):
    model = generators.LeastSquares(0.0, 1.0, 0.3, one)
    return of_generator(model, case)


def of_multi_label(one, case):
    n, k = one.probabilities.shape
    names = one.names or range(k)
    indicators = np.arange(n * k).reshape(n, k) % 2
    some = indicators, indicators.tolist(), [{names[i % k]} for i in range(n)], np.where(indicators, 1.0, np.nan)
    targets = case.one_of(*some, case.targets)
    missing = case.one_of("refuse", "drop")
    return ct.calibration_test(one, targets, missing=missing, n_resamples=9, rng=case.seed())


def of_censored(one, case):
    return ct.calibration_test(case.predictions, one, n_resamples=9, rng=case.seed())


def of_accumulator(one, case):
    return one.update(case.predictions, case.targets).result()


def of_stream(one, case):
    return one.update(case.predictions, case.targets).update(case.predictions, case.targets).result()


KINDS = {
    ct.estimators.Estimator: of_estimator,
    ct.GroupCalibrationTest: of_group_test,
    ct.PairedSKCETest: of_pair,
    ct.CalibrationTest: of_test,
    ct.nulls.Null: of_null,
    TargetKernel: of_target_kernel,
    PredictionKernel: of_prediction_kernel,
    ct.ProductKernel: of_pair_kernel,
    ct.kernels.SumOfProducts: of_pair_kernel,
    ct.estimators.FamilyKernel: of_pair_kernel,
    Metric: of_metric,
    ct.binning.Binning: of_binning,
    ct.risk.ErrorFunction: of_error_function,
    recalibration.Calibrator: of_calibrator,
    generators.Generator: of_generator,
    generators.Distortion: of_distortion,
    generators.RegressionProblem: of_problem,
    ct.named_tests.CalibrationTestAccumulator: of_accumulator,
    ct.CalibrationMonitor: of_stream,
    ct.SequentialCalibrationTest: of_stream,
    ct.MultiLabel: of_multi_label,
    ct.Censored: of_censored,
}
"""What is done with an object of a public class; the first that fits."""


def public(base):
    """Public classes of a kind that can be made, in the order of their names."""
    return sorted(classes_of(base), key=lambda one: one.__name__)


def names():
    """Public names and what they are."""
    yield from sorted((name, thing) for name, thing in PUBLIC.items() if not name.startswith("plots."))


def use_of(kind):
    return next((use for base, use in KINDS.items() if issubclass(kind, base)), None)


def call_of_class(kind, case, wrong):
    return use_of(kind)(made(kind, case, wrong), case)


def call_of_function(function, case, wrong):
    given = {one.name for one in arguments(function)}
    data = {"predictions": case.predictions, "targets": case.targets}
    with suppress(AssertionError) if function is ct.assert_calibrated else nullcontext():
        return function(**{name: data[name] for name in data if name in given}, **settings(function, case, wrong))


def calls():
    """Names of calls, each a function of a case and of whether a setting may be wrong."""
    found = {}
    for name, one in names():
        if name in OTHERS or one in RESULTS:
            continue
        if inspect.isfunction(one):
            found[name] = partial(call_of_function, one)
        elif inspect.isclass(one) and not inspect.isabstract(one) and use_of(one):
            found[name] = partial(call_of_class, one)
    return found


CALLS = calls()


def uncovered():
    """Public names that are neither called, nor families, results or bases; and arguments without values."""
    for name, one in names():
        if name in CALLS:
            callable_ = one
            for argument in arguments(callable_):
                if argument.name not in DATA and values_of(callable_, argument.name) is None:
                    yield f"{name}({argument.name}=...)"
        elif inspect.isclass(one):
            is_base = inspect.isabstract(one) or getattr(one, "_is_protocol", False)
            known = one in RESULTS or is_base or issubclass(one, (Predictions, Warning, Exception))
            if not known and not issubclass(one, recalibration.CalibrationMap):
                yield name
        elif name not in OTHERS:
            yield name
