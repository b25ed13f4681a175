"""Predictions and targets at the ends of what is allowed, and beyond; in containers of all kinds."""

import inspect
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
from contracts import newcomers
from hypothesis import strategies as st
from scipy import stats

import caltest as ct

SIZES = [1, 2, 3, 7, 8, 12, 12, 12, 30]
TINY = 5e-324
NUMBERS = [0.0, -0.0, 1.0, -1.0, 0.5, 0.3, 2.0, 7.0, 1e-16, 1e-300, TINY, 1e5, 1e10, 1e150, 1e300, -1e300, -40.0]
POSITIVE = [1.0, 1.0, 0.5, 2.0, 0.1, 10.0, 100.0, 1e3, 1e-3, 1e-8, 1e-16, 1e-100, 1e-300, TINY, 1e10, 1e100, 1e300]
PROBABILITIES = [0.0, 1.0, 0.5, 0.1, 0.3, 0.9, 0.99, 1e-5, 1e-16, 1.0 - 2.0**-53, 1e-300, TINY, 0.5 + 1e-16, 0.004]
ODD = [np.nan, np.inf, -np.inf, -1e-17, 1e308, -1.0, 1.5]
CASES = ["usual", "usual", "ends", "ends", "alike", "odd"]


def seeds():
    return st.integers(0, 2**32 - 1)


class Values:
    """Numbers of a data set: of a usual range, from a list of ends, all alike, or with one that is not allowed."""

    def __init__(self, draw):
        self.draw = draw
        self.n = draw(st.sampled_from(SIZES))
        self.case = draw(st.sampled_from(CASES))
        self.rng = np.random.default_rng(draw(seeds()))

    def pick(self, usual, ends, shape=()):
        """An array (n, *shape)."""
        size = (self.n, *shape)
        if self.case == "alike":
            return np.full(size, self.draw(st.sampled_from(ends)))
        values = np.array(usual(size), dtype=np.float64)
        if self.case != "usual":
            some = self.rng.random(size) < self.draw(st.sampled_from([0.1, 0.5, 1.0]))
            values[some] = self.rng.choice(ends, size)[some]
        if self.case == "odd" and self.draw(st.booleans()):
            values.flat[self.rng.integers(values.size)] = self.draw(st.sampled_from(ODD))
        return values

    def numbers(self, shape=()):
        return self.pick(self.rng.standard_normal, NUMBERS, shape)

    def positive(self, shape=()):
        return self.pick(self.rng.standard_exponential, POSITIVE, shape)

    def chances(self):
        return self.pick(self.rng.random, PROBABILITIES)

    def rows(self, k):
        """Probability vectors (n, k): Dirichlet, certain, uniform, nearly certain, rounded."""
        concentration = self.draw(st.sampled_from([1.0, 0.1, 0.01]))
        rows = self.rng.gamma(concentration, size=(self.n, k)) + 1e-290
        rows /= rows.sum(axis=1, keepdims=True)
        if self.case == "alike":
            return np.tile(rows[:1], (self.n, 1))
        if self.case != "usual":
            special = [np.eye(k)[0], np.full(k, 1.0 / k), np.roll(np.eye(k)[0], 1)]
            special += [np.where(np.arange(k) == 0, 1.0 - (k - 1) * tiny, tiny) for tiny in (1e-16, 1e-300)]
            for i in np.flatnonzero(self.rng.random(self.n) < 0.5):
                rows[i] = special[self.rng.integers(len(special))]
        if self.case == "odd":
            how = self.draw(st.sampled_from(["rounded", "sum", "value"]))
            if how == "rounded":
                rows = np.round(rows, 3)
            elif how == "sum":
                rows *= self.draw(st.sampled_from([1.0 + 1e-7, 1.001, 0.98, 1.5]))
            else:
                rows.flat[0] = self.draw(st.sampled_from(ODD))
        return rows

    def labels(self, k):
        return self.rng.integers(0, k, self.n)

    def counts(self):
        return self.pick(lambda size: self.rng.poisson(3.0, size), [0.0, 1.0, 10.0, 1e3, 1e6, 1e12])


def categorical(v):
    k = v.draw(st.sampled_from([2, 3, 3, 5]))
    return ct.Categorical, (v.rows(k),), v.labels(k)


def ordinal(v):
    return ct.Ordinal, (v.rows(4),), v.labels(4)


def survival_curve(v):
    curves = np.cumsum(v.rows(4)[:, ::-1], axis=1)[:, 2::-1]
    return ct.predictions.SurvivalCurve, ([1.0, 2.0, 4.0], curves), v.positive()


def bernoulli(v):
    return ct.Bernoulli, (v.chances(),), v.labels(2)


def of_numbers(family, *makers, targets="numbers"):
    def made(v):
        return family, tuple(getattr(v, maker)() for maker in makers), getattr(v, targets)()

    return made


def mvnormal(v):
    d = v.draw(st.sampled_from([1, 2, 3]))
    how = v.draw(st.sampled_from(["scale", "scales", "full", "singular"]))
    if how == "scale":
        return ct.MvNormal, (v.numbers((d,)), v.positive()), v.numbers((d,))
    if how == "scales":
        return ct.MvNormal, (v.numbers((d,)), v.positive((d,))), v.numbers((d,))
    factors = v.rng.normal(size=(v.n, d, d)) * v.rng.choice([1.0, 1e-3, 1e5], (v.n, d, 1))
    if how == "singular":
        factors[..., 0] = 0.0
    return ct.MvNormal, (v.numbers((d,)), factors @ factors.swapaxes(1, 2)), v.numbers((d,))


def of_members(family):
    def made(v):
        shape = v.draw(st.sampled_from([(1,), (2,), (5,), (40,), (4, 2)]))
        return family, (v.numbers(shape),), v.numbers(shape[1:])

    return made


def mixture(v):
    weights = v.draw(st.sampled_from([None, [0.3, 0.7], [0.0, 1.0], [1e-300, 1.0]]))
    numbers = v.numbers(), v.positive(), v.numbers(), v.positive()
    return lambda a, b, c, d: ct.Mixture([ct.Normal(a, b), ct.Normal(c, d)], weights), numbers, v.numbers()


def quantile_forecast(v):
    return ct.QuantileForecast, ([0.1, 0.5, 0.9], np.sort(v.numbers((3,)), axis=1)), v.numbers()


def residuals(v):
    return (
        lambda mean, scale: ct.standardised_residuals(ct.Normal(mean, scale), mean)[0],
        (v.numbers(), v.positive()),
        v.numbers(),
    )


def unnormalised(v):
    return (
        lambda centres: ct.Unnormalised(lambda centre, y: centre - y, centres, points=np.linspace(-3.0, 3.0, 7)),
        (v.numbers(),),
        v.numbers(),
    )


def weibull(shape, scale):
    return ct.Continuous(stats.weibull_min(shape, scale=scale))


FAMILIES = {
    ct.Categorical: categorical,
    ct.Bernoulli: bernoulli,
    ct.Ordinal: ordinal,
    ct.predictions.SurvivalCurve: survival_curve,
    ct.Normal: of_numbers(ct.Normal, "numbers", "positive"),
    ct.Laplace: of_numbers(ct.Laplace, "numbers", "positive"),
    ct.StudentT: of_numbers(ct.StudentT, "positive", "numbers", "positive"),
    ct.Gamma: of_numbers(ct.Gamma, "positive", "positive", targets="positive"),
    ct.LogNormal: of_numbers(ct.LogNormal, "numbers", "positive", targets="positive"),
    ct.Beta: of_numbers(ct.Beta, "positive", "positive", targets="chances"),
    ct.Continuous: of_numbers(weibull, "positive", "positive", targets="positive"),
    ct.Poisson: of_numbers(ct.Poisson, "positive", targets="counts"),
    ct.NegativeBinomial: of_numbers(ct.NegativeBinomial, "positive", "chances", targets="counts"),
    ct.MvNormal: mvnormal,
    ct.Ensemble: of_members(ct.Ensemble),
    ct.Scenarios: of_members(ct.Scenarios),
    ct.Mixture: mixture,
    ct.QuantileForecast: quantile_forecast,
    ct.predictions.Residuals: residuals,
    ct.Unnormalised: unnormalised,
}
"""How families are made, of what, and targets; a new family without a line here of positive numbers."""
for family in newcomers(ct.predictions.Predictions, FAMILIES):
    positive = ["positive"] * len(inspect.signature(family).parameters)
    FAMILIES[family] = of_numbers(family, *positive, targets="positive")


@st.composite
def parameters(draw, family=None):
    """How to make predictions, of what, and targets; seldom as many as there are predictions and one more."""
    with np.errstate(all="ignore"):
        make, arguments, targets = FAMILIES[family or draw(st.sampled_from(list(FAMILIES)))](Values(draw))
    if draw(st.integers(0, 19)) == 0:
        targets = np.concatenate([targets, targets[:1]])
    return make, arguments, targets


CLASSES = (ct.Categorical, ct.Bernoulli)


def masked(array):
    return np.ma.masked_array(array, np.zeros(array.shape, dtype=bool))


def read_only(array):
    array = array.copy()
    array.flags.writeable = False
    return array


CONTAINERS = {
    "array": lambda a: a,
    "list": lambda a: a.tolist(),
    "float32": lambda a: a.astype(np.float32),
    "float16": lambda a: a.astype(np.float16),
    "long double": lambda a: a.astype(np.longdouble),
    "objects": lambda a: a.astype(object),
    "big-endian": lambda a: a.astype(a.dtype.newbyteorder(">")),
    "Fortran order": np.asfortranarray,
    "every other": lambda a: np.repeat(a, 2, axis=0)[::2],
    "read-only": read_only,
    "masked": masked,
    "pandas": lambda a: pd.DataFrame(a) if a.ndim == 2 else pd.Series(a),
    "pandas nullable": lambda a: (pd.DataFrame(a) if a.ndim == 2 else pd.Series(a)).convert_dtypes(),
    "polars": lambda a: pl.DataFrame(a) if a.ndim == 2 else pl.Series(a),
    "column": lambda a: a[:, None] if a.ndim == 1 else a,
    "strings": lambda a: a.astype(str),
}

NOTHING = {
    "None": lambda: None,
    "object": object,
    "empty list": list,
    "empty array": lambda: np.empty((0, 3)),
    "no columns": lambda: np.empty((6, 0)),
    "a number": lambda: 0.5,
    "0-d": lambda: np.array(0.5),
    "3-d": lambda: np.full((6, 2, 2), 0.5),
    "a word": lambda: "abc",
    "bytes": lambda: b"abc",
    "words": lambda: ["a", "b", "c", "a", "b", "c"],
    "ragged": lambda: [[0.5, 0.5], [1.0], [0.2, 0.8], [0.1, 0.9], [1.0], [0.0, 1.0]],
    "complex": lambda: np.full(6, 0.5 + 0.5j),
    "dates": lambda: np.arange("2024-01-01", "2024-01-07", dtype="datetime64[D]"),
    "durations": lambda: np.arange(6).astype("timedelta64[s]"),
    "records": lambda: np.zeros(6, dtype=[("a", float), ("b", int)]),
    "set": lambda: {0.1, 0.2, 0.3, 0.4, 0.5, 0.6},
    "dict": lambda: {"a": 1, "b": 2},
    "dict of columns": lambda: {"a": [0.5] * 6, "b": [0.5] * 6},
    "generator": lambda: (0.5 for _ in range(6)),
    "range": lambda: range(6),
    "fractions": lambda: [Fraction(1, 2)] * 6,
    "huge integers": lambda: [10**400] * 6,
    "nested too deep": lambda: [[[[0.5]]]] * 6,
    "missing": lambda: [0.5, None, 0.5, 0.5, 0.5, 0.5],
    "pandas missing": lambda: pd.Series([0.5, None, 0.5, 0.5, 0.5, 0.5], dtype="Float64"),
    "masked value": lambda: np.ma.masked_array(np.full(6, 0.5), [True] + [False] * 5),
    "categories": lambda: pd.Categorical(["a", "b", "a", "b", "a", "b"]),
    "frame of words": lambda: pd.DataFrame({"a": ["x"] * 6, "b": ["y"] * 6}),
    "frame without rows": lambda: pd.DataFrame({"a": [], "b": []}),
    "lazy polars": lambda: pl.DataFrame({"a": [0.5] * 6}).lazy(),
    "a class": lambda: dict,
    "a function": lambda: len,
    "a family": lambda: ct.Normal,
    "a kernel": lambda: ct.DeltaKernel(),
    "other predictions": lambda: ct.Normal(np.zeros(6), 1.0),
    "mixed": lambda: [0.5, "a", None, 1, True, 2.5],
    "booleans": lambda: np.array([True, False] * 3),
    "NaN": lambda: np.full(6, np.nan),
    "infinite": lambda: np.full(6, np.inf),
}
"""Things that are passed by mistake, made anew for each call."""
