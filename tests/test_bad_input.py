"""Every bad input gives one error that says what was got and how to mend it; every degenerate one has its outcome."""

import inspect
import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
import xarray as xr
from printed import unfolded

import caltest as ct

N, K = 40, 3
RNG = np.random.default_rng(0)
P = RNG.dirichlet(np.ones(K), N)
Y = np.arange(N) % K
P1, Y1 = P[:, 1], (Y == 1).astype(int)
NORMAL, TARGETS = ct.Normal(np.linspace(-2.0, 2.0, N), 1.0), RNG.normal(size=N)
EYE = np.eye(K)
LOGITS = RNG.normal(0.0, 3.0, (N, K))
NAMES = np.array(["cat", "dog", "eel"])

DELTA = ct.DeltaKernel()
TV = ct.ExponentialKernel(ct.TotalVariation(), bandwidth=0.5)
W2 = ct.ExponentialKernel(ct.Wasserstein(), bandwidth=1.0)
KERNEL = ct.ProductKernel(TV, DELTA)
NORMAL_KERNEL = ct.ProductKernel(W2, ct.GaussianKernel(bandwidth=1.0))
MEDIAN_KERNEL = ct.ProductKernel(ct.ExponentialKernel(ct.TotalVariation()), DELTA)
NARROW_KERNEL = ct.ProductKernel(ct.GaussianKernel(bandwidth=1e-3), DELTA)
SKCE = ct.SKCE(KERNEL)
UCME = ct.UCME(KERNEL, P[:2], Y[:2])

ENTRIES = {
    "calibration_test": lambda p, y: ct.calibration_test(p, y, n_resamples=9),
    "SKCE": SKCE,
    "ECE": ct.ECE(),
    "MonteCarloTest": ct.MonteCarloTest(SKCE, n_resamples=9),
    "skce_interval": lambda p, y: ct.skce_interval(p, y, KERNEL),
    "distribution_free_interval": lambda p, y: ct.distribution_free_interval(p, y, SKCE),
    "PairedSKCETest": lambda p, y: ct.PairedSKCETest(KERNEL)(p, p, y),
    "ece_interval": lambda p, y: ct.ece_interval(p, y, ct.ClasswiseECE(), n_resamples=9),
    "ClasswiseECE": ct.ClasswiseECE(),
    "score_decomposition": lambda p, y: ct.score_decomposition(
        p, y, binning=ct.binning.UniformBinning(), confidence_level=0.9, n_resamples=9
    ),
    "confidence_errors": lambda p, y: ct.confidence_errors(p, y, confidence_level=0.9, n_resamples=9),
    "compare_models": lambda p, y: ct.compare_models({"a": p}, y, kernel=KERNEL, n_resamples=9),
}


def entries(test):
    """The test for every way in, one after the other; an error names the way."""

    def for_all(**values):
        for name, entry in ENTRIES.items():
            try:
                test(entry=entry, **values)
            except (Exception, pytest.fail.Exception) as error:
                error.add_note(f"by way of {name}")
                raise

    signature = inspect.signature(test)
    for_all.__name__, for_all.__doc__ = test.__name__, test.__doc__
    for_all.__signature__ = signature.replace(
        parameters=[p for p in signature.parameters.values() if p.name != "entry"]
    )
    return for_all


def table(names, cases):
    return pytest.mark.parametrize(names, cases.values(), ids=cases)


def pattern(message):
    """A regular expression of the message, in which " ... " stands for anything."""
    return "(?s)" + ".*".join(re.escape(part) for part in message.split(" ... "))


def put(array, value, position=4):
    changed = np.array(array, dtype=object if value is None else float)
    changed.flat[position] = value
    return changed


def run(p=P, y=Y, **options):
    return ct.calibration_test(p, y, n_resamples=9, rng=0, **options)


BAD_MATRICES = {
    "nan": (put(P, np.nan), "got nan at row 1, column 1 ... wanted finite numbers"),
    "inf": (put(P, np.inf), "got inf at row 1, column 1 ... wanted finite numbers"),
    "None": (put(P, None), "got a missing value at row 1, column 1 ... drop those rows"),
    "negative": (put(P, -0.1), "got -0.1 at row 1, column 1, wanted probabilities of at least 0"),
    "rounding error": (np.array([[0.5, 0.5, -1e-17]] * N), "got -1e-17 at row 0 ... clip it at 0"),
    "negative, sum 1": (np.array([[1.1, -0.1, 0.0]] * N), "got -0.1 at row 0, column 1 ... at least 0"),
    "above 1": (put(P, 1.3), "got row 1 that sums to ... wanted rows that sum to 1"),
    "sums of 1.011": (P * 1.011, "sums to 1.011, wanted rows that sum to 1 (within 0.01); check that every class"),
    "sums of 0.989": (P * 0.989, "sums to 0.989, wanted rows that sum to 1 (within 0.01); check that every class"),
    "numbers of rows": (
        np.column_stack([np.arange(N), P]),
        "got column 0 with numbers from 0 to 39, beside others that sum to 1 in each row ... leave this column out",
    ),
    "labels beside": (np.column_stack([P, Y]), "got column 3 with numbers from 0 to 2, beside others that sum to 1"),
    "all 0.5": (np.full((N, K), 0.5), "got row 0 that sums to 1.5, wanted rows that sum to 1"),
    "a class left out": (P[:, :2], "wanted rows that sum to 1 (within 0.01); check that every class has its column"),
    "percentages": (100 * P, "got rows that sum to 100 ... divide the percentages by 100"),
    "rounded percentages": (np.round(100 * P), "got rows that sum to 100 ... divide the percentages by 100"),
    "logits": (LOGITS, "look like logits, wanted probabilities; apply scipy.special.softmax(logits, axis=1)"),
    "log-probabilities": (np.log(P), "got log-probabilities ... pass np.exp of them"),
    "log of 0": (np.where(EYE[Y] > 0, 0.0, -np.inf), "got log-probabilities such as -inf ... pass np.exp of them"),
    "counts": (np.round(9 * P) + 1, "wanted rows that sum to 1"),
    "one column": (P1[:, None], "got label 2 at row 2, wanted labels 0..1"),
    "no column": (np.empty((N, 0)), "got no values (shape (40, 0)), wanted at least one observation"),
    "transposed": (P.T, "got shape (3, 40) with columns that sum to 1 ... pass the transpose"),
    "3-D": (P[None], "got shape (1, 40, 3), wanted (n, k) probabilities of k classes"),
    "a number": (0.5, "got shape (), wanted (n, k) probabilities of k classes or (n,) probabilities of class 1"),
    "empty": (P[:0], "got no values (shape (0, 3)), wanted at least one observation"),
    "ragged": ([[0.5, 0.5], [1.0]], "got rows of different lengths, wanted a rectangular array"),
    "masked": (np.ma.masked_less(P, 0.1), "got a masked array with masked values ... drop those rows"),
    "complex": (P + 0j, "got values of type complex128, wanted real numbers"),
    "complex objects": ((P + 0j).astype(object), "got values of type complex, wanted numbers"),
    "text": (P.astype(str), "wanted real numbers"),
    "one text": (
        np.where(np.arange(3 * N).reshape(N, 3) == 7, "x", P.astype(str)),
        "got 'x' at row 2, column 1, wanted",
    ),
    "labels": (NAMES[Y], "not text such as 'cat'; if it is predicted labels, pass predict_proba(X), not predict(X)"),
    "numbers as text": (P.round(3).astype(str), "not text such as '0. ... make numbers of it: numpy.asarray("),
    "decimal commas": (np.full((N, 3), "0,25"), "such as '0,25'; make numbers of it, with points for its"),
    "text among numbers": (np.array([["0.5", 0.5, 0.0]] * N, dtype=object), "got values of type ... wanted numbers"),
    "dictionary": ({"a": P}, "got a dict, wanted an array or a table of numbers; pass pandas.DataFrame(predictions)"),
    "column of rows": (pd.Series(list(P)), "got values of type ndarray, ... pass numpy.stack(list(predictions))"),
    "generator": ((row for row in P), "got a generator, wanted an array ... pass list(predictions)"),
    "frame with names": (pd.DataFrame(P).assign(y=NAMES[Y]), "str, wanted numbers ... is at row 0, column 3"),
    "frame, missing value": (pd.DataFrame(P).mask(P < 0.1), "got nan at row ... wanted finite numbers"),
    "nullable frame, missing value": (pd.DataFrame(P).astype("Float64").mask(P < 0.1), "got a missing value ... drop"),
}


class Model:
    """Predicts probabilities."""

    def predict(self, X):
        return X.argmax(axis=1)

    def predict_proba(self, X):
        return X


class Margins:
    """A classifier of scikit-learn's kind without probabilities."""

    classes_ = NAMES

    def get_params(self):
        return {}

    def predict(self, X):
        return X


class Regressor:
    """Predicts means, and standard deviations if asked."""

    def get_params(self):
        return {}

    def predict(self, X, return_std=False):
        return (X, X) if return_std else X


class Means(Regressor):
    """Predicts nothing but means."""

    def predict(self, X):
        return X


class Forecast:
    """An object of a library that has a bridge: numpy takes it apart, and it has every attribute."""

    __module__ = "ngboost.distns.normal"

    def __len__(self):
        return N

    def __getitem__(self, row):
        return self

    def __getattr__(self, name):
        if name[0] == "_":
            raise AttributeError(name)


NOT_READ = {
    "nothing": (None, "got None, wanted an array or a table of numbers"),
    "a file": ("p.csv", "got 'p.csv', wanted an array or a table of numbers; read the file first"),
    "a lazy frame": (pl.LazyFrame({"a": [0.5]}), "got a LazyFrame, wanted an array ... ; pass predictions.collect()"),
    "a data set": (xr.Dataset({"p": ("x", [0.5])}), "got a Dataset, wanted an array ... such as predictions['p']"),
    "a model": (Model(), "got a Model, wanted an array ... ; pass predictions.predict_proba(X)"),
    "a model of margins": (Margins(), "got a Margins, wanted an array ... ; it predicts no probabilities: fit "),
    "a regression": (Regressor(), "pass ct.Normal(*predictions.predict(X, return_std=True)), of rows that it was not"),
    "a regression of means": (Means(), "got a Means, wanted an array ... ; its predict(X) has no uncertainty to test"),
    "a forecast": (Forecast(), "got a Forecast, wanted an array ... ; pass ct.bridges.predictions_of(predictions)"),
    "quantiles": (np.sort(LOGITS, axis=1), "wrap them in ct.Ensemble(members), or quantiles in ct.QuantileForecast"),
    "several outputs": (
        [np.column_stack([1.0 - one, one]) for one in P.T],
        "got 3 arrays (40, 2), as predict_proba of several outputs gives ... ct.MultiLabel(numpy.stack([q[:, 1] for q",
    ),
    "an object": (object(), "got a object, wanted an array or a table of numbers"),
}


@pytest.mark.filterwarnings("error")
@table(("p", "message"), NOT_READ)
def test_what_is_no_array_of_numbers(p, message):
    with pytest.raises(ValueError, match=pattern(message)):
        ct.calibration_test(p, TARGETS)


@pytest.mark.parametrize("call", [ct.calibration_test, ct.OmnibusTest(), ct.audit])
def test_a_model_its_data_and_outcomes_are_too_many(call):
    with pytest.raises(TypeError, match=r"what the model predicts, such as model.predict_proba\(X\), in place of it"):
        call(Model(), P, TARGETS, None, None)


def test_tables_are_no_survival_curves():
    for table_of_curves in (P, pd.DataFrame(P)):
        with pytest.raises(ValueError, match="wrap survival probabilities in ct"):
            ct.calibration_test(table_of_curves, ct.Censored(np.arange(1.0, N + 1), Y1))


@table(("p", "message"), BAD_MATRICES)
@entries
def test_bad_probabilities_of_classes(entry, p, message):
    with pytest.raises(ValueError, match=pattern(message)):
        entry(p, Y)


BAD_VECTORS = {
    "nan": (put(P1, np.nan), "got nan at row 4 (1 in all), wanted finite numbers"),
    "inf": (put(P1, -np.inf), "got -inf at row 4 (1 in all), wanted finite numbers"),
    "None": (put(P1, None), "got a missing value at position 4 ... drop those rows"),
    "rounding error": (put(P1, -1e-17), "got -1e-17 at row 4 ... pass numpy.clip(p, 0, 1)"),
    "negative": (put(P1, -0.1), "got -0.1 at row 4, wanted probabilities between 0 and 1"),
    "above 1": (put(P1, 1.1), "got 1.1 at row 4, wanted probabilities between 0 and 1"),
    "just above 1": (put(P1, 1.0 + 2e-6), "got 1.000002 ... wanted probabilities between 0 and 1"),
    "percentages": (100 * P1, "divide ... by 100"),
    "logits": (np.log(P1 / (1 - P1)), "look like logits: apply scipy.special.expit"),
    "empty": (P1[:0], "got no values (shape (0,)), wanted at least one observation"),
    "empty list": ([], "got no values (shape (0,)), wanted at least one observation"),
    "empty objects": (np.array([], dtype=object), "got no values (shape (0,)), wanted at least one observation"),
    "ragged": ([0.5, [0.5, 0.5]], "got rows of different lengths, wanted a rectangular array"),
    "masked": (np.ma.masked_less(P1, 0.1), "got a masked array with masked values ... drop those rows"),
    "complex": (P1 + 0j, "got values of type complex128, wanted real numbers"),
    "logarithms": (np.log(P1), "pass np.exp of them if these are log-probabilities"),
    "text": (P1.astype(str), "wanted real numbers"),
    "percentages in text": (
        np.array([f"{one:.1f}%" for one in 100 * P1]),
        "real numbers; take the % off ... and divide by 100",
    ),
    "basis points": (
        1e4 * P1,
        "wanted probabilities between 0 and 1; if these are basis points, divide them by 10 000",
    ),
    "objects": (np.array(["a", *P1[1:]], dtype=object), "str, wanted numbers"),
}


@table(("p", "message"), BAD_VECTORS)
@entries
def test_bad_probabilities_of_class_1(entry, p, message):
    with pytest.raises(ValueError, match=pattern(message)):
        entry(p, Y1)


@pytest.mark.parametrize("p", [np.linspace(0.5, 1.5, N), 100 * P1], ids=["up to 1.5", "up to 100"])
def test_numbers_above_0_are_not_called_logits(p):
    with pytest.raises(ValueError, match="wanted probabilities between 0 and 1") as error:
        run(p, Y1)
    assert "logits" not in str(error.value)


BAD_LABELS = {
    "too large": (put(Y, 99), "got label 99 at row 4, wanted labels 0..2; if it is a code for missing ones, pass nan"),
    "a code": (put(put(Y, -999), -999, 6), "row 4, wanted labels 0..2; if 2 are a code for missing ones, pass nan"),
    "much too large": (put(Y, 1e30), "got label 1e+30 at row 4, wanted labels 0..2"),
    "-1": (put(Y, -1), "got label -1 at row 4, wanted labels 0..2"),
    "1-based": (Y + 1, "got labels 1..3, wanted labels 0..2; these look 1-based, subtract 1"),
    "fractional": (put(Y, 1.5), "got 1.5 at row 4, wanted whole-number labels 0..2"),
    "nan": (put(Y, np.nan), "got nan at row 4 (1 in all), wanted finite numbers"),
    "None": (put(Y, None), "got a missing value at position 4 ... drop those rows"),
    "nullable": (pd.Series(Y).astype("Int64").where(Y > 0), "got ... row 0 ... wanted"),
    "one-hot": (EYE[Y], "got one-hot rows of shape (40, 3) ... pass targets.argmax(axis=1)"),
    "one-hot integers": (EYE[Y].astype(int).tolist(), "got one-hot rows ... pass targets.argmax(axis=1)"),
    "row": (Y[None], "got shape (1, 40), wanted one label per observation, 1-D; pass numpy.ravel(targets)"),
    "a number": (1, "got shape (), wanted one label per observation, 1-D"),
    "probabilities again": (P, "got shape (40, 3), wanted one label per observation, 1-D"),
    "soft labels": (P, "if the numbers are soft labels or votes, give each annotator's label a row"),
    "votes": (2 * EYE[Y].astype(int) + 1, "pass the numbers of the items as clusters= of ct.calibration_test"),
    "booleans": (Y == 1, "got booleans for 3 classes, wanted labels 0..2; ... pass predictions.max(axis=1)"),
    "names": (NAMES[Y], "got text such as 'cat', wanted labels 0..2; pass classes=[...]"),
    "list of names": (NAMES[Y].tolist(), "got text such as 'cat', wanted labels 0..2; pass classes=[...]"),
    "names and numbers": (np.array(["cat", *Y[1:]], dtype=object), "str, wanted numbers ... 'cat' is at position 0"),
    "text among numbers": (np.array(["0", *Y[1:]], dtype=object), "str, wanted numbers ... '0' is at position 0"),
    "numbers as text": ([f"{one}.0" for one in Y], "these are numbers as text, pass [int(float(label)) for label in"),
    "empty": ([], "got no values (shape (0,)), wanted at least one observation"),
    "too few": (Y[:-5], "got 35 values, wanted 40, one per prediction"),
    "too many": (np.r_[Y, 0], "got 41 values, wanted 40, one per prediction"),
    "ragged": ([[0], [1, 2]], "got rows of different lengths, wanted a rectangular array"),
    "masked": (np.ma.masked_equal(Y, 0), "got a masked array with masked values ... drop those rows"),
    "complex": (Y + 0j, "got values of type complex128, wanted real numbers"),
    "dates": (np.full(N, "2020-01-01", dtype="M8[D]"), "got values of type datetime64[D], wanted real numbers"),
}


@table(("y", "message"), BAD_LABELS)
@entries
def test_bad_labels(entry, y, message):
    with pytest.raises(ValueError, match=pattern(message)):
        entry(P, y)


BAD_OUTCOMES = {
    "of more classes": (Y, "got label 2 at row 2, wanted labels 0..1"),
    "-1": (put(Y1, -1), "got label -1 at row 4, wanted labels 0..1"),
    "-1 and 1": (2 * Y1 - 1, "got labels -1 and 1 ... pass (targets + 1) // 2"),
    "1-based": (Y1 + 1, "got labels 1..2, wanted labels 0..1; these look 1-based, subtract 1"),
    "fractional": (put(Y1, 0.5), "got 0.5 at row 4, wanted whole-number labels 0..1"),
    "probabilities again": (P1, "wanted whole-number labels 0..1"),
    "soft labels": (P1, "ct.Normal or ct.Ensemble; if they are soft labels ... give each annotator's label a row"),
    "nan": (put(Y1, np.nan), "got nan at row 4 (1 in all), wanted finite numbers"),
    "None": (put(Y1, None), "got a missing value at position 4 ... drop those rows"),
    "one-hot": (np.eye(2)[Y1], "got one-hot rows of shape (40, 2) ... pass targets.argmax(axis=1)"),
    "names": (np.array(["paid", "late"])[Y1], "wanted labels 0..1; pass ... == 'paid' if predictions"),
    "too few": (Y1[:-5], "got 35 values, wanted 40, one per prediction"),
}


@table(("y", "message"), BAD_OUTCOMES)
@entries
def test_bad_outcomes_of_binary_predictions(entry, y, message):
    with pytest.raises(ValueError, match=pattern(message)):
        entry(P1, y)


@pytest.mark.parametrize("y", [P, 1, EYE[Y] + 0.5], ids=["(n, k)", "()", "(n, k) scores"])
def test_no_advice_to_ravel_what_does_not_become_one_label_per_observation(y):
    with pytest.raises(ValueError, match="wanted one label per observation") as error:
        run(y=y)
    assert "ravel" not in str(error.value)


SWAPPED = {
    "matrix": (Y, P),
    "matrix, lists": (Y.tolist(), P.tolist()),
    "matrix, float labels": (Y.astype(float), P),
    "matrix, names": (NAMES[Y], P),
    "matrix of certain predictions": (Y, EYE[Y]),
    "vector": (Y1, P1),
    "vector, booleans": (Y1 == 1, P1),
}


@table(("p", "y"), SWAPPED)
@entries
def test_labels_first(entry, p, y):
    with pytest.raises(ValueError, match="the arguments are swapped, pass the predictions first"):
        entry(p, y)


@pytest.mark.parametrize("predictions", [ct.Categorical(P), ct.Bernoulli(P1), NORMAL], ids=repr)
@entries
def test_predictions_as_targets(entry, predictions):
    with pytest.raises(TypeError, match="targets: got predictions; the arguments are swapped"):
        entry(Y, predictions)


BAD_CLASSES = {
    "unknown name": (["cat", "dog", "fox"], "got 'eel' at row 2, which is not one of classes=['cat', 'dog', 'fox']"),
    "too few": (["cat", "dog"], "classes: got 2 names, wanted 3, one per class in the order of the columns"),
    "too many": ([*NAMES, "fox"], "classes: got 4 names, wanted 3, one per class in the order of the columns"),
    "duplicate": (["cat", "dog", "cat"], "classes: got ['cat', 'dog', 'cat'], wanted names that are all different"),
    "missing": (["cat", "dog", None], "classes: got a missing value"),
    "their number": (3, "classes: got"),
    "one string": ("cat", "classes: got"),
    "2-D": ([["cat"], ["dog"], ["eel"]], "classes: got"),
    "a set": ({"cat", "dog", "eel"}, "classes: got"),
}


@table(("classes", "message"), BAD_CLASSES)
def test_bad_classes(classes, message):
    with pytest.raises(ValueError, match=pattern(message)):
        run(y=NAMES[Y], classes=classes)


def test_labels_are_looked_up_among_classes_only():
    message = pattern("got 0 at row 0, which is not one of ... if targets number the columns")
    for names in (["10", "20", "30"], ["class 2", "class 0", "class 1"], [10, 20, 30]):
        with pytest.raises(ValueError, match=message):
            run(classes=names)
    with pytest.raises(ValueError, match="got nan at row 4"):
        run(y=put(Y, np.nan), classes=[0, 1, 2])


def test_classes_of_ready_predictions():
    with pytest.raises(ValueError, match=pattern("classes: got classes ('eel', ... wanted ('cat', ")):
        run(ct.Categorical(P, classes=NAMES), NAMES[Y], classes=NAMES[::-1])
    with pytest.raises(TypeError, match=pattern("classes: got ... for Normal predictions, which are not of classes")):
        run(NORMAL, TARGETS, classes=NAMES)
    with pytest.raises(TypeError, match=pattern("classes: got 2.5 for Normal predictions, which are not of classes")):
        run(NORMAL, TARGETS, classes=2.5)


CONSTRUCTORS = {
    "Ensemble of transposed members": (
        lambda: ct.Ensemble(np.zeros((5, 40))).check_targets(np.zeros(40)),
        "targets: got shape (40,), wanted (5,), ... pass numpy.moveaxis(members, 0, 1) if the first",
    ),
    "Categorical of a vector": (lambda: ct.Categorical(P1), "got shape (40,), wanted 2 dimensions"),
    "Categorical 3-D": (lambda: ct.Categorical(P[None]), "got shape (1, 40, 3), wanted 2 dimensions"),
    "Categorical of Categorical": (lambda: ct.Categorical(ct.Categorical(P)), "got values of type Categorical"),
    "Bernoulli of a matrix": (lambda: ct.Bernoulli(P), "got shape (40, 3), wanted 1 dimension"),
    "Bernoulli with 3 names": (lambda: ct.Bernoulli(P1, classes=NAMES), "classes: got 3 names, wanted 2"),
    "Normal, negative scale": (lambda: ct.Normal([0, 1], [1, -1]), "scale: got -1 at row 1 ... of at least 0"),
    "Normal, one negative scale": (lambda: ct.Normal([0, 1], -1.0), "scale: got -1 ... of at least 0"),
    "Normal, nan scale": (lambda: ct.Normal([0, 1], [1, np.nan]), "scale: got nan at row 1 ... wanted finite numbers"),
    "Normal, one nan scale": (lambda: ct.Normal([0, 1], np.nan), "scale: got nan ... wanted finite numbers"),
    "Normal, no scale": (lambda: ct.Normal([0, 1], None), "scale: got None, wanted an array"),
    "Normal, too many scales": (lambda: ct.Normal([0, 1], [1, 1, 1]), "scale: got 3 values, wanted 2"),
    "Normal, too few scales": (lambda: ct.Normal([0, 1], [1]), "scale: got 1 values, wanted 2"),
    "Normal, 2-D scale": (lambda: ct.Normal([0, 1], [[1, 1]]), "scale: got shape (1, 2), wanted 1 dimension"),
    "Normal, inf mean": (lambda: ct.Normal([0, np.inf], 1), "mean: got inf at row 1 ... wanted finite numbers"),
    "Normal, a number as mean": (lambda: ct.Normal(0, 1), "mean: got shape (), wanted 1 dimension"),
    "Normal, empty": (lambda: ct.Normal([], []), "mean: got no values (shape (0,)), wanted at least one observation"),
    "Normal, text": (lambda: ct.Normal(["a"], 1), "mean: got values of type ... wanted real numbers"),
}


@table(("call", "message"), CONSTRUCTORS)
def test_bad_arguments_of_predictions(call, message):
    with pytest.raises(ValueError, match=pattern(message)):
        call()


BAD_REAL_TARGETS = {
    "nan": (put(TARGETS, np.nan), "targets: got nan at row 4 ... wanted finite numbers"),
    "None": (put(TARGETS, None), "targets: got a missing value at position 4"),
    "row": (TARGETS[None], "targets: got shape (1, 40), wanted 1 dimension"),
    "too few": (TARGETS[:-1], "targets: got 39 values, wanted 40, one per prediction"),
    "text": (["a"] * N, "targets: got values of type ... wanted real numbers"),
    "complex": (TARGETS + 0j, "targets: got values of type complex128, wanted real numbers"),
    "empty": ([], "targets: got no values (shape (0,)), wanted at least one observation"),
}


@pytest.mark.parametrize("entry", [ENTRIES["calibration_test"], ct.SKCE(NORMAL_KERNEL)], ids=["test", "SKCE"])
@table(("y", "message"), BAD_REAL_TARGETS)
def test_bad_real_targets(entry, y, message):
    with pytest.raises(ValueError, match=pattern(message)):
        entry(NORMAL, y)


TOO_FEW = {
    "SKCE": (SKCE, 1, "got 1 observation, wanted at least 2 for SKCE (unbiased"),
    "MMCE": (ct.MMCE(), 1, "got 1 observation, wanted at least 2 for MMCE"),
    "calibration_test": (ct.calibration_test, 1, "got 1 observation, wanted at least 2 for the unbiased SKCE"),
    "bootstrap": (ct.AsymptoticSKCETest(KERNEL), 1, "got 1 observation, wanted at least 2"),
    "one block": (ct.BlockSKCE(KERNEL, 50), N, "got 40 observations, wanted at least 50 for one block of size 50"),
    "one block, bound": (ct.DistributionFreeSKCETest(ct.BlockSKCE(KERNEL, 50)), N, "wanted at least 50 for one block"),
    "two blocks": (ct.AsymptoticBlockSKCETest(KERNEL, 21), N, "make 1 of the ... blocks ... take a smaller block_size"),
    "test locations": (ct.AsymptoticCMETest(UCME), 2, "got 2 observations, wanted at least 3 for 2 test locations"),
    "bins": (ct.ECE(ct.binning.MedianVarianceBinning(41)), N, "got 40 observations, wanted at least min_size = 41"),
    "bins, test": (ct.MonteCarloTest(ct.ECE(ct.binning.MedianVarianceBinning(41))), N, "wanted at least min_size = 41"),
}


@table(("call", "n", "message"), TOO_FEW)
def test_too_few_observations(call, n, message):
    with pytest.raises(ValueError, match=pattern(message)):
        call(P[:n], Y[:n])


BAD_BANDWIDTHS = [0, -1.0, np.nan, np.inf, "mean", "0.5", True, np.True_, None, 1j, pd.NA]
BAD_BANDWIDTHS += [[], [0.5, 0.0], np.array([0.5, -0.6]), np.array([[0.5]])]


@pytest.mark.parametrize("kernel", [ct.ExponentialKernel, ct.GaussianKernel])
@pytest.mark.parametrize("bandwidth", BAD_BANDWIDTHS, ids=repr)
def test_bad_bandwidth(kernel, bandwidth):
    with pytest.raises(ValueError, match=r"^bandwidth: got .* wanted a positive number"):
        kernel(ct.Euclidean(), bandwidth)


MOSTLY_EQUAL = P[[0] * 30 + list(range(10))]
MEDIAN_OF_SKCE = ct.SKCE(MEDIAN_KERNEL, unbiased=False)
NO_MEDIAN = {
    "one prediction": (lambda: MEDIAN_OF_SKCE(P[:1], Y[:1]), 'got "median" with 1 prediction ... as a number'),
    "median_bandwidth": (lambda: ct.median_bandwidth(P[:1], ct.TotalVariation()), 'got "median" with 1 prediction'),
    "equal, estimator": (lambda: MEDIAN_OF_SKCE(P[[0] * N], Y), 'got "median" but ... give the bandwidth as a number'),
    "mostly equal": (lambda: MEDIAN_OF_SKCE(MOSTLY_EQUAL, Y), "most of them are identical; give the bandwidth"),
    "certain targets": (
        lambda: ct.SKCE(NORMAL.default_kernel())(ct.Normal(TARGETS, 0.0), TARGETS),
        "predicted with certainty ... as a number",
    ),
}


@table(("call", "message"), NO_MEDIAN)
def test_median_bandwidth_that_does_not_exist(call, message):
    with pytest.raises(ValueError, match=pattern(message)) as error:
        call()
    assert error.value.__context__ is None or error.value.__suppress_context__


def test_default_bandwidth_of_mostly_equal_predictions():
    result = run(MOSTLY_EQUAL)
    assert result.notes[0].startswith("more than half of the pairs of predictions are identical; the bandwidth is")
    assert f"Note: {result.notes[0]}" in unfolded(result)


@pytest.mark.parametrize("metric", ["TV", None, ct.TotalVariation, TV], ids=["text", "None", "class", "kernel"])
def test_median_bandwidth_of_no_metric(metric):
    with pytest.raises(TypeError, match="metric: got"):
        ct.median_bandwidth(P, metric)


LOCATIONS = {
    "duplicates": (lambda: ct.UCME(KERNEL, P[[0, 0]], Y[[0, 0]]), "singular: some locations are duplicates"),
    "binary": (lambda: ct.UCME(KERNEL, P1[:2], Y1[:2]), "test_predictions: got Bernoulli ... wanted Categorical"),
    "normal": (lambda: ct.UCME(KERNEL, ct.Normal([0], 1), [0]), "test_predictions: got Normal ... wanted Categorical"),
    "fewer classes": (lambda: ct.UCME(KERNEL, [[0.5, 0.5]], [0]), "got 2 classes, wanted 3 as in the predictions"),
    "empty": (lambda: ct.UCME(KERNEL, P[:0], Y[:0]), "got no values (shape (0, 3)), wanted at least one observation"),
    "without a target": (lambda: ct.UCME(KERNEL, P[:2], Y[:1]), "test_targets: got 1 values, wanted 2"),
    "bad target": (lambda: ct.UCME(KERNEL, P[:2], [1, 3]), "got labels 1..3, wanted labels 0..2"),
    "far away": (lambda: ct.UCME(NARROW_KERNEL, EYE[:1], [0]), "location 0 do not vary (no prediction is close to it"),
}


@table(("make", "message"), LOCATIONS)
def test_bad_test_locations(make, message):
    with pytest.raises((TypeError, ValueError), match=pattern(message)):
        ct.AsymptoticCMETest(make())(P, Y)


def test_test_locations_for_normal_predictions():
    with pytest.raises(TypeError, match="test_predictions: got Categorical predictions, wanted Normal"):
        UCME(NORMAL, TARGETS)


def test_test_locations_with_classes_in_another_order():
    ucme = ct.UCME(KERNEL, ct.Categorical(P[:2], classes=NAMES[::-1]), NAMES[:2])
    with pytest.raises(ValueError, match="test_predictions: got classes"):
        ucme(ct.Categorical(P, classes=NAMES), NAMES[Y])


@pytest.mark.parametrize("j", [2, 5, 20])
@pytest.mark.parametrize("seed", range(10))
def test_duplicate_locations_are_found_whatever_the_rounding(j, seed):
    rng = np.random.default_rng((j, seed))
    p, y = rng.dirichlet(np.ones(K), j), rng.integers(K, size=j)
    p[0], y[0] = p[-1], y[-1]
    with pytest.raises(ValueError, match="singular"):
        ct.AsymptoticCMETest(ct.UCME(KERNEL, p, y))(P, Y)


NUMBERS = {
    "n_resamples": lambda v: ct.calibration_test(P, Y, n_resamples=v),
    "n_resamples of ConditionalMonteCarlo": ct.nulls.ConditionalMonteCarlo,
    "n_resamples of ConsistencyResampling": ct.nulls.ConsistencyResampling,
    "n_resamples of ArconesGineBootstrap": ct.nulls.ArconesGineBootstrap,
    "n_resamples of KnownCovarianceMonteCarlo": ct.nulls.KnownCovarianceMonteCarlo,
    "n_resamples of MonteCarloTest": lambda v: ct.MonteCarloTest(SKCE, v),
    "n_resamples of ConsistencyTest": lambda v: ct.ConsistencyTest(SKCE, v),
    "n_resamples of AsymptoticSKCETest": lambda v: ct.AsymptoticSKCETest(KERNEL, v),
    "n_bins of UniformBinning": ct.binning.UniformBinning,
    "n_bins of QuantileBinning": ct.binning.QuantileBinning,
    "min_size": ct.binning.MedianVarianceBinning,
    "max_bins": lambda v: ct.binning.MedianVarianceBinning(max_bins=v),
    "block_size": lambda v: ct.BlockSKCE(KERNEL, v),
}


@pytest.mark.every(4)
@pytest.mark.parametrize("value", [0, -1, 1.5, 2.0, True, "9", np.nan], ids=repr)
@pytest.mark.parametrize("name", NUMBERS)
def test_bad_whole_numbers(name, value):
    with pytest.raises(
        ValueError, match=pattern(f"{name.split()[0]}: got {value!r}, wanted a whole number of at least")
    ):
        NUMBERS[name](value)


def test_blocks_of_one():
    with pytest.raises(ValueError, match="block_size: got 1, wanted a whole number of at least 2"):
        ct.BlockSKCE(KERNEL, 1)


SWITCHES = {
    "SKCE": (lambda v: ct.SKCE(KERNEL, v), "unbiased"),
    "BlockSKCE": (lambda v: ct.BlockSKCE(KERNEL, 2, v), "unbiased"),
    "MMCE": (lambda v: ct.MMCE(unbiased=v), "unbiased"),
    "NormalNull": (ct.nulls.NormalNull, "population_variance"),
    "NormalNull, known": (lambda v: ct.nulls.NormalNull(known_variance=v), "known_variance"),
    "ArconesGineBootstrap": (lambda v: ct.nulls.ArconesGineBootstrap(known_variance=v), "known_variance"),
}


@pytest.mark.parametrize("value", ["no", 2, None], ids=repr)
@table(("make", "name"), SWITCHES)
def test_switches_that_are_neither_on_nor_off(make, name, value):
    with pytest.raises(ValueError, match=pattern(f"{name}: got {value!r}, wanted True or False")):
        make(value)


BIASED_BLOCKS = ct.BlockSKCE(KERNEL, unbiased=False)
ILLEGAL_PAIRS = {
    "NormalNull, ECE": (ct.ECE(), ct.nulls.NormalNull(), "got ECE for NormalNull ... BlockSKCE(kernel, block_size)"),
    "NormalNull, SKCE": (SKCE, ct.nulls.NormalNull(), "got SKCE for NormalNull ... BlockSKCE(kernel, block_size)"),
    "NormalNull, MMCE": (ct.MMCE(), ct.nulls.NormalNull(), "got MMCE for NormalNull ... BlockSKCE(kernel, block_size)"),
    "NormalNull, UCME": (UCME, ct.nulls.NormalNull(), "got UCME for NormalNull ... BlockSKCE(kernel, block_size)"),
    "NormalNull, biased blocks": (BIASED_BLOCKS, ct.nulls.NormalNull(), "got BlockSKCE for NormalNull ... unbiased"),
    "bootstrap, biased": (
        ct.SKCE(KERNEL, unbiased=False),
        ct.nulls.ArconesGineBootstrap(),
        "wanted the unbiased estimator",
    ),
    "bootstrap, blocks": (
        ct.BlockSKCE(KERNEL),
        ct.nulls.ArconesGineBootstrap(),
        "got BlockSKCE ... wanted the unbiased",
    ),
    "bootstrap, ECE": (
        ct.ECE(),
        ct.nulls.ArconesGineBootstrap(),
        "got ECE ... wanted the unbiased estimator SKCE(kernel)",
    ),
    "bootstrap, UCME": (
        UCME,
        ct.nulls.ArconesGineBootstrap(),
        "got UCME ... wanted the unbiased estimator SKCE(kernel)",
    ),
    "Chernoff, SKCE": (
        SKCE,
        ct.nulls.CrossChernoffBound(),
        "got SKCE for CrossChernoffBound, wanted CrossSKCE(kernel)",
    ),
    "Chernoff, UCME": (UCME, ct.nulls.CrossChernoffBound(), "got UCME for CrossChernoffBound, wanted CrossSKCE("),
    "normal limit, cross": (
        ct.estimators.CrossSKCE(KERNEL),
        ct.nulls.NormalNull(),
        "got CrossSKCE for NormalNull ... BlockSKCE",
    ),
    "covariance, SKCE": (
        SKCE,
        ct.nulls.KnownCovarianceMonteCarlo(),
        "got SKCE for KnownCovarianceMonteCarlo, wanted UCME(",
    ),
    "exact covariance, ECE": (
        ct.ECE(),
        ct.nulls.KnownCovarianceMonteCarlo(),
        "got ECE ... wanted UCME(kernel, test_pre",
    ),
    "Hotelling, SKCE": (SKCE, ct.nulls.HotellingNull(), "got SKCE for HotellingNull ... UCME(kernel, test_predictions"),
    "Hotelling, ECE": (
        ct.ECE(),
        ct.nulls.HotellingNull(),
        "got ECE for HotellingNull ... UCME(kernel, test_predictions",
    ),
    "bound, ECE": (
        ct.ECE(),
        ct.nulls.DistributionFreeBound(),
        "got ECE ... wanted an estimator with a bound: SKCE(kernel)",
    ),
    "bound, MMCE": (
        ct.MMCE(),
        ct.nulls.DistributionFreeBound(),
        "got MMCE ... wanted an estimator with a bound: SKCE(",
    ),
    "bound, UCME": (
        UCME,
        ct.nulls.DistributionFreeBound(),
        "got UCME ... wanted an estimator with a bound: SKCE(kernel)",
    ),
    "bound, biased blocks": (BIASED_BLOCKS, ct.nulls.DistributionFreeBound(), "got BlockSKCE ... unbiased"),
    "a class of estimators": (
        ct.ECE,
        ct.nulls.ConditionalMonteCarlo(),
        "estimator: got <class ... such as SKCE(kernel)",
    ),
    "a class of nulls": (ct.ECE(), ct.nulls.ConditionalMonteCarlo, "got <class ... such as ct.nulls.Conditional"),
    "null first": (ct.nulls.ConditionalMonteCarlo(), ct.ECE(), "got ConditionalMonteCarlo ... such as SKCE(kernel)"),
    "a kernel": (KERNEL, ct.nulls.ConditionalMonteCarlo(), "estimator: got ProductKernel ... such as SKCE(kernel)"),
    "a name": (ct.ECE(), "exact", "null: got 'exact', wanted a null such as ct.nulls.Conditional"),
}


@table(("estimator", "null", "message"), ILLEGAL_PAIRS)
def test_illegal_pairs(estimator, null, message):
    with pytest.raises(TypeError, match=pattern(message)):
        ct.CalibrationTest(estimator, null)


ILLEGAL_PARTS = {
    "swapped kernels": (lambda: ct.ProductKernel(DELTA, TV), "got DeltaKernel() ... the prediction kernel comes first"),
    "class of kernels": (lambda: ct.ProductKernel(ct.ExponentialKernel, DELTA), "wanted a kernel of predictions"),
    "class of target kernels": (lambda: ct.ProductKernel(TV, ct.DeltaKernel), "wanted a kernel of targets"),
    "metric as kernel": (lambda: ct.ProductKernel(ct.TotalVariation(), DELTA), "wanted a kernel of predictions"),
    "TV kernel of targets": (lambda: ct.ProductKernel(TV, TV), "target_kernel: got a kernel of the total variation"),
    "W2 kernel of targets": (lambda: ct.ProductKernel(W2, W2), "which compares predicted distributions; leave out the"),
    "a class as metric": (lambda: ct.ExponentialKernel(ct.TotalVariation), "metric: got <class ... TotalVariation()"),
    "bandwidth as metric": (lambda: ct.GaussianKernel(0.5), "metric: got 0.5 ... given by name: bandwidth=0.5"),
    "half a kernel": (lambda: ct.SKCE(TV), "kernel: got ExponentialKernel ... wanted a ProductKernel("),
    "an estimator as kernel": (lambda: ct.AsymptoticSKCETest(SKCE), "kernel: got SKCE ... wanted a ProductKernel("),
    "no kernel": (lambda: ct.BlockSKCE(None), "kernel: got None, wanted a ProductKernel("),
    "kernel of the test": (lambda: run(kernel="rbf"), "kernel: got 'rbf', wanted a ProductKernel("),
    "MMCE bandwidth": (lambda: ct.MMCE(0.2), "kernel: got 0.2, wanted a kernel of predictions"),
    "MMCE product": (lambda: ct.MMCE(KERNEL), "kernel: got ProductKernel ... wanted a kernel of predictions"),
    "UCME without kernel": (lambda: ct.UCME(P, P, Y), "kernel: got ... wanted a ProductKernel("),
    "number of bins": (lambda: ct.ECE(10), "binning: got 10, wanted a binning such as ct.binning.UniformBinning(10)"),
    "class of bins": (lambda: ct.ECE(ct.binning.UniformBinning), "binning: got <class ... such as ct.binning.Uniform"),
    "class of distances": (lambda: ct.ECE(metric=ct.TotalVariation), "metric: got <class ... TotalVariation()"),
    "kernel for an estimator": (lambda: ct.MonteCarloTest(KERNEL), "wanted an estimator such as SKCE(kernel)"),
    "class for an estimator": (lambda: ct.MonteCarloTest(ct.ECE), "wanted an estimator such as SKCE(kernel)"),
    "kernel for locations": (lambda: ct.AsymptoticCMETest(KERNEL), "estimator: got ProductKernel"),
}


@table(("call", "message"), ILLEGAL_PARTS)
def test_parts_that_do_not_fit(call, message):
    with pytest.raises(TypeError, match=pattern(message)):
        call()


OF_TV = ct.ProductKernel(TV, ct.GaussianKernel(bandwidth=1.0))
OF_W2 = ct.ProductKernel(W2, DELTA)
WRONG_FAMILY = {
    "Wasserstein, classes": (lambda: run(kernel=OF_W2), "got Wasserstein() for Categorical ... TotalVariation()"),
    "Wasserstein, binary": (lambda: run(P1, Y1, kernel=OF_W2), "got Wasserstein() for Bernoulli ... TotalVariation()"),
    "Wasserstein, ECE": (lambda: ct.ECE(metric=ct.Wasserstein())(P, Y), "got Wasserstein() for Categorical"),
    "TotalVariation, normal": (lambda: run(NORMAL, TARGETS, kernel=OF_TV), "got TotalVariation() ... Wasserstein()"),
    "ECE, normal": (lambda: ct.ECE()(NORMAL, TARGETS), "got Normal predictions, wanted Categorical or Bernoulli"),
    "ECE test, normal": (lambda: ct.MonteCarloTest(ct.ECE())(NORMAL, TARGETS), "wanted Categorical or Bernoulli"),
    "MMCE, normal": (lambda: ct.MMCE()(NORMAL, TARGETS), "got Normal predictions, wanted Categorical or Bernoulli"),
    "MMCE test, normal": (lambda: ct.MonteCarloTest(ct.MMCE())(NORMAL, TARGETS), "wanted Categorical or Bernoulli"),
    "top_label, binary": (lambda: ct.top_label(P1, Y1), "got Bernoulli predictions ... need no reduction"),
    "top_m, binary": (lambda: ct.predictions.top_m(P1, Y1, 1), "got Bernoulli predictions ... need no reduction"),
    "class_groups, normal": (lambda: ct.predictions.class_groups(NORMAL, TARGETS, [0, 1]), "got Normal predictions"),
    "classwise, normal": (lambda: ct.classwise(NORMAL, TARGETS), "got Normal predictions, wanted Categorical"),
}


@table(("call", "message"), WRONG_FAMILY)
def test_families_without_what_is_asked(call, message):
    with pytest.raises(TypeError, match=pattern(message)):
        call()


def test_target_kernels_without_formula():
    with pytest.raises(
        ct.predictions.ClosedFormMissing, match=pattern("got DeltaKernel() for Normal predictions ... to_ensemble(")
    ):
        run(NORMAL, TARGETS, kernel=ct.ProductKernel(W2, DELTA))


INCOMPARABLE = {
    "classes": (ct.Categorical(P), ct.Categorical(np.full((2, 4), 0.25)), ct.TotalVariation()),
    "fewer classes": (ct.Categorical(P), ct.Categorical(np.full((2, 2), 0.5)), ct.TotalVariation()),
    "binary": (ct.Categorical(P), ct.Bernoulli(P1), ct.Euclidean()),
    "normal": (ct.Categorical(P), NORMAL, ct.Euclidean()),
    "normal first": (NORMAL, ct.Bernoulli(P1), ct.Euclidean()),
}


@table(("left", "right", "metric"), INCOMPARABLE)
def test_predictions_that_cannot_be_compared(left, right, metric):
    with pytest.raises((TypeError, ValueError), match=pattern("got ... wanted")):
        left.distance(metric, right)
    with pytest.raises((TypeError, ValueError), match=pattern("got ... wanted")):
        ct.ExponentialKernel(metric, 1.0).tile(left, right)


@pytest.mark.parametrize(
    "metric", [ct.TotalVariation(), ct.kernels.Cityblock(), ct.Euclidean(), ct.kernels.SquaredEuclidean()], ids=repr
)
def test_vectors_of_different_lengths(metric):
    with pytest.raises(ValueError, match=pattern("got ... wanted")):
        metric.tile(P, np.full((2, 4), 0.25))


@pytest.mark.parametrize(
    "metric", [ct.TotalVariation(), ct.kernels.Cityblock(), ct.kernels.SquaredEuclidean()], ids=repr
)
def test_kernels_that_are_not_positive_definite_warn_once(metric):
    with pytest.warns(
        ct.kernels.KernelWarning, match=r"not positive definite in general.*Use ExponentialKernel"
    ) as caught:
        kernel = ct.ProductKernel(ct.GaussianKernel(metric), DELTA)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert 0.0 < run(kernel=kernel).pvalue <= 1.0


BAD_RNG = [-1, 1.5, "a", True, [1, 2], np.random.RandomState(0), np.random.PCG64(0), np.random]


@pytest.mark.parametrize("rng", BAD_RNG, ids=lambda rng: repr(rng).split(" at ")[0].split("(")[0])
@pytest.mark.parametrize("call", [ct.calibration_test, ct.AsymptoticBlockSKCETest(KERNEL)], ids=["drawn", "not drawn"])
def test_bad_rng(call, rng):
    with pytest.raises(ValueError, match=pattern("rng: got ... wanted None, a non-negative integer, ... Generator")):
        call(P, Y, rng=rng)


def test_no_confidence_interval_without_standard_error():
    with pytest.raises(ValueError, match="OmnibusTest has no standard error; use skce_interval"):
        run().confidence_interval()


@pytest.mark.parametrize("level", [0, 1, -0.1, 95, np.nan, np.inf, "95 %", True, None], ids=repr)
def test_bad_levels(level):
    result = ct.AsymptoticBlockSKCETest(KERNEL)(P, Y)
    with pytest.raises(ValueError, match=pattern(f"confidence_level: got {level!r} ... between 0 and 1")):
        result.confidence_interval(level)
    with pytest.raises(ValueError, match=pattern(f"alpha: got {level!r} ... between 0 and 1")):
        result.verdict(level)


def test_bad_law_of_hotelling():
    with pytest.raises(ValueError, match=pattern('distribution: got \'t\', wanted "F" or "chi2"')):
        ct.AsymptoticCMETest(UCME, "t")


def test_no_variance():
    with pytest.raises(ValueError, match=pattern("all 20 terms of the estimate equal 0, so ... use MonteCarloTest")):
        ct.AsymptoticBlockSKCETest(KERNEL)(EYE[Y], Y)
    with pytest.raises(ValueError, match=pattern("all 20 terms of the estimate equal ... use MonteCarloTest")):
        ct.AsymptoticBlockSKCETest(KERNEL, known_variance=False)(np.full(N, 0.3), np.arange(N) % 2)
    with pytest.raises(ValueError, match=pattern("do not vary ... use MonteCarloTest")):
        ct.AsymptoticCMETest(UCME)(EYE[Y], Y)


# Degenerate input with an outcome other than an error.

EXACT = {
    "SKCE": SKCE,
    "biased SKCE": ct.SKCE(KERNEL, unbiased=False),
    "blocks": ct.BlockSKCE(KERNEL),
    "ECE": ct.ECE(),
    "MMCE": ct.MMCE(),
    "UCME": UCME,
}
exact = pytest.mark.parametrize("estimator", EXACT.values(), ids=EXACT)
PVALUES = np.arange(1, 21) / 20


@exact
@pytest.mark.parametrize("label", range(K))
def test_one_class_only(estimator, label):
    result = ct.MonteCarloTest(estimator, n_resamples=19)(P, np.full(N, label), rng=0)
    assert np.isfinite(result.estimate)
    assert result.pvalue in PVALUES


@exact
def test_two_observations(estimator):
    result = ct.MonteCarloTest(estimator, n_resamples=19)(P[:2], Y[:2], rng=0)
    assert result.n == 2
    assert np.isfinite(result.estimate)
    assert result.pvalue in PVALUES


def test_identical_predictions_do_not_need_a_bandwidth():
    tests = [
        run(P[[0] * N], kernel=ct.ProductKernel(ct.ExponentialKernel(m, b), DELTA))
        for m in (ct.TotalVariation(), ct.Euclidean())
        for b in (0.01, 1.0, 100.0)
    ]
    assert len({(test.estimate, test.pvalue) for test in tests}) == 1


@exact
def test_certain_and_right(estimator):
    result = ct.MonteCarloTest(estimator, n_resamples=19)(EYE[Y], Y, rng=0)
    assert (result.estimate, result.pvalue) == (0.0, 1.0)


def test_certain_and_right_with_other_nulls():
    assert ct.AsymptoticSKCETest(KERNEL, n_resamples=19)(EYE[Y], Y, rng=0).pvalue == 1.0
    assert ct.ConsistencyTest(ct.ECE(), n_resamples=19)(EYE[Y], Y, rng=0).pvalue == 1.0
    assert ct.DistributionFreeSKCETest(SKCE)(EYE[Y], Y).pvalue == 1.0


def test_certain_normal_predictions():
    kernel = ct.ProductKernel(W2, ct.GaussianKernel(bandwidth=1.0))
    predictions = ct.Normal(TARGETS, 0.0)
    assert run(predictions, TARGETS, kernel=kernel).pvalue == 1.0
    assert run(predictions, TARGETS + 1.0, kernel=kernel).pvalue == 0.1


DRAWN = ct.Categorical(P).sample(1)
IMPOSSIBLE = {
    "all labels": (EYE[Y], (Y + 1) % K),
    "one, others certain": (EYE[Y], np.r_[1, Y[1:]]),
    "one, others uncertain": (np.r_[[[0.0, 0.5, 0.5]], P[1:]], np.r_[0, DRAWN[1:]]),
}


@exact
@table(("p", "y"), IMPOSSIBLE)
def test_label_that_got_probability_0(estimator, p, y):
    """The p-value is the rank of the estimate; the note says what no calibrated prediction allows."""
    result = ct.MonteCarloTest(estimator, n_resamples=19)(p, y, rng=0)
    assert result.pvalue == (1 + np.sum(result.null_distribution >= result.estimate - 1e-12)) / 20
    assert "outcomes had predicted probability 0 (row " in result.notes[0]


EXTREME = {
    "targets": (1.0, 1.0, 1e200),
    "narrow kernel": (1.0, 1e-200, 1.0),
    "narrow kernel, certain predictions": (0.0, 1e-200, 1.0),
    "wide kernel": (1.0, 1e200, 1.0),
}


@table(("scale", "bandwidth", "factor"), EXTREME)
def test_extreme_units(scale, bandwidth, factor):
    kernel = ct.ProductKernel(W2, ct.GaussianKernel(bandwidth=bandwidth))
    result = run(ct.Normal(NORMAL.mean, scale), factor * TARGETS, kernel=kernel)
    assert np.isfinite(result.estimate)


TOO_MANY = 10**9


@pytest.mark.parametrize(
    "call",
    [
        lambda: ct.calibration_test([0.2, 0.4], [0, 1], n_resamples=TOO_MANY),
        lambda: ct.AsymptoticSKCETest(ct.ProductKernel(ct.GaussianKernel(), ct.DeltaKernel()), TOO_MANY),
        lambda: ct.LikelihoodRatioTest(TOO_MANY),
        lambda: ct.noise_floor([0.2, 0.4], ct.ECE(), n_resamples=TOO_MANY),
        lambda: ct.ece_interval([0.2, 0.4], [0, 1], ct.ECE(), n_resamples=TOO_MANY),
        lambda: ct.score_decomposition([0.2, 0.4], [0, 1], confidence_level=0.9, n_resamples=TOO_MANY),
        lambda: ct.power(ct.calibration_test, ct.generators.class_model("M1"), n=9, n_simulations=TOO_MANY),
        lambda: ct.sample_size(ct.calibration_test, ct.generators.class_model("W2"), n_simulations=TOO_MANY),
        lambda: ct.binning.UniformBinning(TOO_MANY),
        lambda: ct.estimators.HosmerLemeshow(TOO_MANY),
        lambda: ct.estimators.TCal(TOO_MANY),
        lambda: ct.recalibration.HistogramBinning(TOO_MANY),
        lambda: ct.Normal([0.0, 1.0], 1.0).to_ensemble(TOO_MANY),
    ],
)
def test_numbers_that_would_never_end_are_refused(call):
    with pytest.raises(ValueError, match=r"got 1000000000, wanted at most 10000000"):
        call()


def test_members_that_memory_cannot_hold_are_refused():
    with pytest.raises(MemoryError, match=r"members would take .* GB of .* of the 10,000,000 members would fit"):
        ct.Normal(np.zeros(10**6), 1.0).to_ensemble(10**7)


BAD_SETTINGS = {
    "terms": (lambda: ct.kernels.SumOfProducts(None), "terms: got None, wanted a sequence of product kernels"),
    "intercept": (lambda: ct.generators.LeastSquares(None, 1.0, 1.0), "intercept: got None, wanted a finite number"),
    "slope": (lambda: ct.generators.LeastSquares(0.0, np.inf, 1.0), "slope: got inf, wanted a finite number"),
    "problem": (lambda: ct.generators.LeastSquares(0.0, 1.0, 1.0, 2), "problem: got 2, wanted a RegressionProblem"),
    "fixed": (
        lambda: ct.generators.Resampled(P, ct.generators.Outliers(0.1, ct.MvNormal([[0.0, 0.0]], 1.0))).sample(3),
        "fixed: got ... wanted",
    ),
    "calibrators": (lambda: ct.recalibration.fit_best(P, Y, None), "calibrators: got None, wanted a list"),
    "test": (lambda: ct.named_tests.CalibrationTestAccumulator(None), "test: got None, wanted a test such as"),
}


@table(("make", "message"), BAD_SETTINGS)
def test_bad_settings_of_things_that_are_made(make, message):
    with pytest.raises((ValueError, TypeError), match=pattern(message)):
        make()


@pytest.mark.parametrize("place", [0, 1])
def test_structured_arrays_are_refused(place):
    data = [[0.2, 0.4, 0.6, 0.8], [0, 1, 0, 1]]
    data[place] = np.zeros(4, dtype=[("a", float), ("b", int)])
    with pytest.raises(ValueError, match=r": got values of type \[\('a', '<f8'\), .* wanted real numbers"):
        ct.calibration_test(*data)


def test_batches_of_unequal_rows_are_refused():
    with pytest.raises(ValueError, match="targets: got rows of different lengths, wanted a rectangular array"):
        ct.SequentialCalibrationTest().update([0.1, 0.2], [[1], [1, 2]])
