"""Settings of all public classes that are no numbers, no texts or no kernels: errors of ours say what was wanted."""

import inspect

import numpy as np
import pytest
from public import CLASSES, PUBLIC

import caltest as ct
from caltest import generators, recalibration

KERNEL = ct.ProductKernel(ct.ExponentialKernel(ct.TotalVariation(), 0.5), ct.DeltaKernel())
TARGETS = ct.GaussianKernel(bandwidth=1.0)
ODD = [None, 0, -1, float("nan"), float("inf"), "x", "", b"1", b"", [], (), {}, [1], ["a"], [None], [b"1"], 1j]
ODD += [np.array([]), np.array(1.0), np.array("a"), np.zeros((0, 3)), [[1, 2], [3]], np.array([1, 2], "M8[D]")]
ODD += [range(3), object(), ct.SKCE, ct.SKCE(KERNEL), TARGETS, KERNEL, ct.Normal([0.0], 1.0), set(), len]

GOOD = {
    "kernel": KERNEL,
    "estimator": ct.SKCE(KERNEL),
    "null": ct.nulls.ConditionalMonteCarlo(9),
    "predictions": ct.Bernoulli([0.1, 0.2]),
    "probabilities": [[0.2, 0.8], [0.3, 0.7]],
    "test_predictions": [0.1, 0.2],
    "test_targets": [0, 1],
    "ucme": ct.UCME(KERNEL, [0.1, 0.2], [0, 1]),
    "groups": [0, 0, 1, 1],
    "clusters": [0, 0, 1, 1],
    "weights": [0.5, 0.5],
    "members": [[1.0, 2.0]],
    "components": [ct.Normal([0.0], 1.0), ct.Normal([1.0], 1.0)],
    "levels": [0.1, 0.5],
    "values": [[0.0, 1.0]],
    "metric": ct.TotalVariation(),
    "target_kernel": TARGETS,
    "prediction_kernel": KERNEL.prediction_kernel,
    "weighted": [(1.0, TARGETS)],
    "terms": (KERNEL,),
    "edges": [0.0, 0.5, 1.0],
    "matrix": np.eye(2),
    "block_size": 2,
    "calibrator": recalibration.Platt(),
    "test": ct.AsymptoticBlockSKCETest(KERNEL, 2),
}
ARRAYS = {"mean", "rate", "a", "b", "shape", "df", "location", "log_mean", "log_scale", "size", "probability"}
MADE_BY_OTHERS = {"BestFit", "GPMap", "Residuals", "FittedErrorFunction", "RecalibrationReport", "RecalibrationRow"}


def settings(thing):
    """Arguments that can be taken out one by one."""
    return {
        name: parameter.default
        for name, parameter in inspect.signature(thing).parameters.items()
        if parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
    }


def constructors():
    for name, thing in CLASSES.items():
        is_checked = "__post_init__" in dir(thing) or "__init__" in vars(thing)
        can_be_made = not inspect.isabstract(thing) and not issubclass(thing, Exception)
        if is_checked and can_be_made and name not in MADE_BY_OTHERS:
            yield name, thing


CONSTRUCTORS = dict(constructors())


@pytest.mark.filterwarnings("ignore::caltest.kernels.base.KernelWarning")
@pytest.mark.parametrize("thing", CONSTRUCTORS.values(), ids=CONSTRUCTORS)
def test_odd_settings_are_taken_or_refused_in_words(thing):
    needed = {}
    for name, default in settings(thing).items():
        if default is inspect.Parameter.empty:
            needed[name] = [1.0] if name in ARRAYS else GOOD.get(name, 1.0)
    for name in settings(thing):
        for odd in ODD:
            try:
                thing(**needed | {name: odd})
            except (TypeError, ValueError) as error:
                text = str(error)
                assert "got" in text, f"{name}={odd!r}: {text}"
                assert any(word in text for word in ("wanted", "use ", "need", ";", "which")), text


WRONG = {
    "edges": (lambda: ct.binning.EdgeBinning(float("nan")), "edges: got nan"),
    "factors": (lambda: ct.estimators.MaxSKCE(KERNEL, 0), "factors: got 0, wanted positive numbers"),
    "weighted": (lambda: ct.kernels.SumKernel(1), "weighted: got 1, wanted pairs"),
    "pairs": (lambda: ct.kernels.SumKernel([1.0]), "weighted: got 1.0 among the terms, wanted pairs"),
    "name": (lambda: generators.class_model([1]), r"name: got \[1\], wanted one of M1"),
    "inverse is infinite": (
        lambda: ct.risk.DirichletErrorFunction(5e-324),
        "bandwidth: got 4.94066e-324, wanted a positive number, from 1e-300 to 1e\\+300",
    ),
    "bytes": (lambda: ct.GaussianKernel(bandwidth=b"1"), "bandwidth: got b'1', wanted a positive number"),
    "strength": (lambda: generators.LabelNoise(b"1"), "strength: got b'1', wanted a finite number"),
    "margin": (lambda: ct.ToleranceTest(b"1", KERNEL), "margin: got b'1', wanted a positive number"),
    "choice": (lambda: ct.estimators.ECCE(statistic=np.array([])), 'wanted "MAD" or "R"'),
    "test": (lambda: ct.named_tests.CalibrationTestAccumulator(1), "test: got 1, wanted a test"),
    "terms": (lambda: ct.kernels.SumOfProducts(1), "terms: got 1, wanted a sequence of product kernels"),
    "penalty": (lambda: recalibration.MatrixScaling(off_diagonal=b"1"), "got b'1', wanted a number of at least 0"),
}


@pytest.mark.parametrize(("make", "message"), WRONG.values(), ids=WRONG)
def test_messages(make, message):
    with pytest.raises((TypeError, ValueError), match=message):
        make()


@pytest.mark.parametrize("number", [2, 2.0, np.float32(2), np.int64(2), np.array(2.0)])
def test_numbers_of_all_kinds(number):
    assert ct.GaussianKernel(bandwidth=number).width == 2.0


@pytest.mark.parametrize(
    "kind", [ct.ECE, ct.SKCE, ct.MonteCarloTest, ct.HosmerLemeshowTest, ct.PairedSKCETest, ct.SequentialCalibrationTest]
)
@pytest.mark.parametrize("made", [list, np.array, ct.Bernoulli])
def test_data_in_place_of_settings(kind, made):
    with pytest.raises(TypeError, match=rf"{kind.__name__}\(\.\.\.\)\(predictions, targets\)"):
        kind(made([0.2, 0.7]), [0, 1])


P, Y = np.random.default_rng(1).dirichlet(np.ones(3), 24), np.arange(24) % 3
DATA = {
    "predictions": P[:, 1],
    "targets": Y % 2,
    "models": {"a": P[:, 1]},
    "features": {"x": P[:, 1]},
    "groups": Y,
    "clusters": Y,
    "generator": generators.Resampled(P, generators.Tempering(-0.5)),
    "generators": [generators.Resampled(P)],
    "tests": {"a": GOOD["test"]},
    "name": "M1",
    "n": 24,
    "method": recalibration.Platt(),
    "calibrators": [recalibration.Platt(), recalibration.BetaCalibration()],
    "thresholds": [0.5],
    "draws": P,
    "truths": P[:, 0],
}
OF_THREE_CLASSES = {"compare_classes", "plots.classwise_reliability", "plots.simplex_map", "predictions.top_m"}
OF_NUMBERS = {"plots.residual_spread": ct.Normal(P[:, 1], 1.0)}
OF_NUMBERS |= {f"fields.weather.{name}": P for name in ("crps_decomposition", "exceedances", "rank_histogram")}
MAY_BE_LEFT_OUT = {"max_bins", "m", "thin", ("estimators.TCal", "n_bins"), ("fields.weather.rank_histogram", "horizon")}
LEAST = {
    **dict.fromkeys(("block_size", "average_run_length", "n_folds", "n_classes", "n_groups"), 2),
    **dict.fromkeys([(f"fields.{one}_calibration", "n_bins") for one in "ad"], 2),
    **dict.fromkeys([(one, "n_bins") for one in ("find_slices", "plots.pit_histogram")], 2),
    ("recalibration.Multicalibration", "n_bins"): 2,
    ("nulls.PearsonNull", "n_resamples"): 2,
    **dict.fromkeys([(f"plots.{one}", "n_resamples") for one in ("murphy_diagram", "windows", "residual_spread")], 19),
    **dict.fromkeys([(f"fields.clinical.{one}", "n_resamples") for one in ("decision_curve", "validate")], 19),
    ("sample_size", "n_simulations"): 20,
    ("sample_size", "n_max"): 8,
    **dict.fromkeys(("part", "max_steps"), 0),
}
"""The least whole numbers that settings take, where it is not 1."""
MOST = {
    **dict.fromkeys(("block_size", "min_size", "n_min", "n_max"), None),
    ("predictions.top_m", "m"): 2,
    "max_depth": 2,
    "max_degree": 4,
    ("recalibration.Multicalibration", "n_bins"): 1000,
    ("recalibration.Multicalibration", "n_folds"): 100,
    ("risk.variational_error", "n_folds"): 24,
    **dict.fromkeys(("n_folds", "max_steps"), 10_000),
}
"""The largest, where it is not ten millions."""


def whole_numbers():
    for name, thing in PUBLIC.items():
        is_made = inspect.isfunction(thing) or thing in CONSTRUCTORS.values()
        is_made &= not name.startswith("results.") and name not in ("plots.recalibration_report", "plots.risk_curves")
        for one, default in settings(thing).items() if is_made else ():
            if type(default) is int or {one, (name, one)} & MAY_BE_LEFT_OUT:
                yield name, one


@pytest.mark.parametrize(("name", "setting"), whole_numbers())
def test_ranges_of_whole_numbers(name, setting):
    given = GOOD | DATA
    if name in OF_THREE_CLASSES:
        given |= {"predictions": P, "targets": Y}
    elif name in OF_NUMBERS:
        given |= {"predictions": OF_NUMBERS[name], "targets": P[:, 0]}
    defaults = settings(PUBLIC[name]).items()
    needed = {one: given.get(one, 1.0) for one, default in defaults if default is inspect.Parameter.empty}
    least, most = (ends.get((name, setting), ends.get(setting, usual)) for ends, usual in ((LEAST, 1), (MOST, 10**7)))
    with pytest.raises(ValueError, match=f"{setting}: got {least - 1}, wanted a whole number of at least {least}$"):
        PUBLIC[name](**needed | {setting: least - 1})
    if most is not None:
        with pytest.raises(ValueError, match=f"{setting}: got {most + 1}, wanted at most {most}$"):
            PUBLIC[name](**needed | {setting: most + 1})


NUMBERS = ct.Normal(P[:, 1], 1.0), P[:, 0]
BINARY = P[:, 1], Y % 2
SAME_WORDS = {
    "pit_values": (lambda: ct.pit_values(*NUMBERS, rng="x"), "rng"),
    "coverage_curve": (lambda: ct.plots.coverage_curve(*NUMBERS, rng="x"), "rng"),
    "score_decomposition": (lambda: ct.score_decomposition(*BINARY, rng="x"), "rng"),
    "confidence_errors": (lambda: ct.confidence_errors(P, Y, rng="x"), "rng"),
    "variational_error": (lambda: ct.risk.variational_error(*BINARY, rng="x"), "rng"),
    "sample": (lambda: NUMBERS[0].sample("x"), "rng"),
    "compare_models": (lambda: ct.compare_models({"a": P}, Y, progress="x"), "progress"),
    "compare_classes": (lambda: ct.compare_classes(P, Y, progress="x"), "progress"),
    "sequential": (lambda: ct.SequentialCalibrationTest()(ct.Bernoulli(P[:, 1]), Y % 2, classes="x"), "classes"),
    "members": (lambda: ct.fields.weather.rank_histogram(P, None), "targets"),
}
WANTED = {
    "rng": "rng: got 'x', wanted None, a non-negative integer, a SeedSequence or a numpy Generator",
    "progress": "progress: got 'x', wanted True or False",
    "classes": "classes: got 'x', wanted a list of 2 names in the order of the columns",
    "targets": "targets: got None, wanted an array or a table of numbers",
}


@pytest.mark.parametrize(("call", "argument"), SAME_WORDS.values(), ids=SAME_WORDS)
def test_the_same_mistake_has_the_same_words(call, argument):
    """Whether what is wrong is needed for these data or not."""
    with pytest.raises(ValueError, match=f"^{WANTED[argument]}$"):
        call()


def test_errors_show_a_line_of_what_they_got():
    """Such as data where a kernel is wanted: not all of the numbers."""
    with pytest.raises(TypeError, match=r"^kernel: got array\(\[ 0, 1, .* \.\.\., wanted a ProductKernel") as raised:
        ct.estimators.ClusterSKCE(np.arange(900), KERNEL)
    assert len(str(raised.value)) < 400
    assert "\n" not in str(raised.value)
