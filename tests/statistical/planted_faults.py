"""Data with one known fault each, and what is found in them: ``python -m tests.statistical.planted_faults``.

The table that it prints is that of ``docs/findings.md``. With ``rates``, how often two faults are both named, and how
often one fault is said to be two, in 2 minutes.
"""

import sys
from collections.abc import Callable
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

import caltest as ct
from caltest.estimators.combined.findings import findings_of
from caltest.predictions.inputs.convert import as_sample

LEVELS = [0.05, 0.25, 0.5, 0.75, 0.95]


class Planted(NamedTuple):
    """Predictions and outcomes with a fault, the kind and the place that are right, and the size if it has one."""

    family: str
    fault: str
    make: Callable[[np.random.Generator, int], Any]
    kind: str
    place: str = ""
    size: float | None = None
    words: str = ""


def drawn(rng, p):
    return np.minimum((np.cumsum(p, axis=1) < rng.random((len(p), 1))).sum(axis=1), p.shape[1] - 1)


def of_classes(change, k=5, concentration=1.0):
    def make(rng, n):
        p = rng.dirichlet(np.full(k, concentration), n)
        return p, drawn(rng, change(p))

    return make


def tempered(p, temperature):
    q = p ** (1.0 / temperature)
    return q / q.sum(axis=1, keepdims=True)


def times_odds(p, c, factor):
    q = p.copy()
    q[:, c] *= factor
    return q / q.sum(axis=1, keepdims=True)


def other_shares(k, *odds):
    """Claims of models that learned from as many cases of each class, where these occur in proportion to the odds."""
    return of_classes(lambda p: p * odds / (p @ odds)[:, None], k)


def with_slope(p, c, factor):
    q = p.copy()
    x = np.log(p[:, c] / (1.0 - p[:, c]))
    v = p[:, c] * (1.0 - p[:, c])
    q[:, c] *= np.exp((factor - 1.0) * (x - v @ x / v.sum()))
    return q / q.sum(axis=1, keepdims=True)


def leaking(p, a, b, share):
    q = p.copy()
    q[:, a], q[:, b] = (1.0 - share) * p[:, a], p[:, b] + share * p[:, a]
    return q


def swapped(p, a, b, share):
    q = p.copy()
    q[:, a], q[:, b] = (1.0 - share) * p[:, a] + share * p[:, b], (1.0 - share) * p[:, b] + share * p[:, a]
    return q


def rounded(rng, y, step, share):
    return np.where(rng.random(y.size) < share, step * np.rint(y / step), y).astype(int)


def of_claims(change):
    def make(rng, n):
        p = rng.random(n)
        return p, (rng.random(n) < change(p)).astype(int)

    return make


def times_odds_of_top(p, factor):
    """With other odds of the most probable class of each prediction."""
    q, top = p.copy(), (np.arange(len(p)), p.argmax(axis=1))
    q[top] *= factor
    return q / q.sum(axis=1, keepdims=True)


def with_odds(p, t):
    return p * np.exp(t) / (1.0 - p + p * np.exp(t))


def stepped(rng, n):
    p = rng.dirichlet(np.ones(5), n)
    y = drawn(rng, p)
    return ct.Ordinal(p), np.where(rng.random(n) < 0.3, np.minimum(y + 1, 4), y)


def blurred(rng, n):
    p = rng.dirichlet(np.ones(5), n)
    step = rng.choice([-1, 0, 1], n, p=[0.2, 0.6, 0.2])
    return ct.Ordinal(p), np.clip(drawn(rng, p) + step, 0, 4)


def latent(shift=0.0, scale=1.0):
    """Five ordered classes that a normal variable falls into."""

    def make(rng, n):
        mean = rng.normal(size=n)
        cuts = np.array([-1.2, -0.4, 0.4, 1.2])
        p = np.diff(stats.norm.cdf(np.append(np.insert(cuts, 0, -np.inf), np.inf) - mean[:, None]), axis=1)
        return ct.Ordinal(p), np.searchsorted(cuts, mean + shift + scale * rng.normal(size=n))

    return make


def sloped(factor):
    """Rare events, of which the log odds should be so many times as far from their mean."""

    def make(rng, n):
        p = stats.logistic.cdf(1.2 * rng.normal(size=n) - 2.0)
        q = with_slope(np.stack([1.0 - p, p], axis=1), 1, factor)[:, 1]
        return ct.Bernoulli(p), (rng.random(n) < q).astype(int)

    return make


def of_quantiles(change):
    def make(rng, n):
        middle = rng.normal(size=n)
        return ct.QuantileForecast(LEVELS, middle[:, None] + stats.norm.ppf(LEVELS)), middle + change(rng, n)

    return make


def of_widths(rng, n):
    middle, s = rng.normal(size=n), np.exp(rng.normal(size=n))
    values = middle[:, None] + s[:, None] * stats.norm.ppf(LEVELS)
    return ct.QuantileForecast(LEVELS, values), middle + 0.3 + s * rng.normal(size=n)


def level_too_low(rng, n):
    """The quantile that is said to be that of 95 % is that of 88 %."""
    middle, scores = rng.normal(size=n), stats.norm.ppf([0.05, 0.25, 0.5, 0.75, 0.88])
    return ct.QuantileForecast(LEVELS, middle[:, None] + scores), middle + rng.normal(size=n)


def of_numbers(change):
    """``change(e, m, s, rng)`` of standard errors e, for predicted means m and standard deviations s."""

    def make(rng, n):
        m, s = rng.normal(size=n), np.exp(0.3 * rng.normal(size=n))
        return ct.Normal(m, s), m + s * change(rng.normal(size=n), m, s, rng)

    return make


def in_units(change):
    """The same in the units of the outcomes, among very different standard deviations."""

    def make(rng, n):
        m, s = rng.normal(size=n), np.exp(rng.normal(size=n))
        return ct.Normal(m, s), m + change(s * rng.normal(size=n), m, s, rng)

    return make


def of_positive_part(rng, n):
    """Uniform laws, and errors that are 0.7 times as large in their own units."""
    low = rng.normal(size=n)
    return ct.Continuous(stats.uniform(low, 1.0)), low + 0.5 + 0.7 * (rng.random(n) - 0.5)


def of_gamma_shapes(predicted, true):
    def make(rng, n):
        mean = rng.uniform(1.0, 5.0, n)
        return ct.Gamma(np.full(n, predicted), mean / predicted), rng.gamma(true, mean / true)

    return make


def of_beta_totals(predicted, true):
    def make(rng, n):
        m = rng.uniform(0.1, 0.9, n)
        return ct.Beta(predicted * m, predicted * (1.0 - m)), rng.beta(true * m, true * (1.0 - m))

    return make


def of_gamma(rng, n):
    p = ct.Gamma(np.full(n, 3.0), rng.uniform(1.0, 3.0, n))
    return p, 1.3 * p.sample(rng)


def of_vectors(change):
    def make(rng, n):
        m = rng.normal(size=(n, 3))
        return ct.MvNormal(m, np.ones((n, 3))), m + change(rng.normal(size=(n, 3)), m)

    return make


def beside_correlation(change, covariance):
    """Three coordinates with predicted correlations, and normal errors of another covariance that are changed."""

    def make(rng, n):
        m, predicted = rng.normal(size=(n, 3)), np.array([[1.0, 0.6, 0.0], [0.6, 1.0, 0.0], [0.0, 0.0, 1.0]])
        errors = rng.normal(size=(n, 3)) @ np.linalg.cholesky(predicted if covariance is None else covariance).T
        return ct.MvNormal(m, np.broadcast_to(predicted, (n, 3, 3))), m + change(errors, m)

    return make


def in_one_unit(rng, n):
    """Vectors of very different standard deviations, 0.5 too low in one coordinate."""
    m, s = rng.normal(size=(n, 3)), np.exp(rng.normal(size=(n, 3)))
    return ct.MvNormal(m, s**2), m + s * rng.normal(size=(n, 3)) + np.array([0.0, 0.0, 0.5])


def of_pairs(members, outcome):
    """Ensembles of vectors of two numbers, whose correlation is one number for the members, another for the outcome."""

    def make(rng, n):
        roots = [np.linalg.cholesky([[1.0, r], [r, 1.0]]) for r in (members, outcome)]
        centre = rng.normal(size=(n, 1, 2))
        return (
            ct.Ensemble(centre + rng.normal(size=(n, 20, 2)) @ roots[0].T),
            centre[:, 0] + rng.normal(size=(n, 2)) @ roots[1].T,
        )

    return make


def in_coordinate(t, function):
    def change(e, m):
        e = e.copy()
        e[:, t] = function(e[:, t])
        return e

    return change


def correlated(r):
    """Coordinate 2 has the correlation r, a number or a function of the means, with coordinate 0."""

    def change(e, m):
        rho = r(m) if callable(r) else r
        e = e.copy()
        e[:, 2] = rho * e[:, 0] + np.sqrt(1.0 - np.square(rho)) * e[:, 2]
        return e

    return change


def of_counts(draw):
    def make(rng, n):
        m = np.exp(0.7 * rng.normal(size=n) + 1.0)
        return ct.Poisson(m), draw(rng, m)

    return make


def of_ensembles(shift=0.0, spread=1.0):
    def make(rng, n):
        centre = rng.normal(size=n)
        return ct.Ensemble(centre[:, None] + spread * rng.normal(size=(n, 12))), centre + shift + rng.normal(size=n)

    return make


def scaled_in_places(place, inside, outside):
    """Ensembles whose errors are so many times as large as those of their members in the cases of a place, or not."""

    def make(rng, n):
        centre, spread = rng.normal(size=(n, 1)), np.exp(0.5 * rng.normal(size=(n, 1)))
        members = centre + spread * rng.normal(size=(n, 12))
        factor = np.where(place(centre, spread), inside, outside)
        return ct.Ensemble(members), (centre + factor * spread * rng.normal(size=(n, 1)))[:, 0]

    return make


def waving(m, periods):
    """A wave of the levels of standard normal numbers."""
    return np.sin(2.0 * np.pi * periods * stats.norm.cdf(m))


def spreading(rng, m):
    """Counts with larger variances than Poisson ones, and smaller ones, in waves."""
    fewest = np.ceil(2.0 * m)
    wide, narrow = rng.negative_binomial(m / 0.6, 1.0 / 1.6), rng.binomial(fewest.astype(int), m / fewest)
    return np.where(waving((np.log(m) - 1.0) / 0.7, 4) > 0.0, wide, narrow)


def ordered_wave(shift=0.0, scale=0.0):
    def make(rng, n):
        mean, cuts = rng.normal(size=n), np.array([-1.2, -0.4, 0.4, 1.2])
        p = np.diff(stats.norm.cdf(np.append(np.insert(cuts, 0, -np.inf), np.inf) - mean[:, None]), axis=1)
        errors = shift * waving(mean, 5) + np.exp(scale * waving(mean, 5)) * rng.normal(size=n)
        return ct.Ordinal(p), np.searchsorted(cuts, mean + errors)

    return make


def quantile_wave(rng, n):
    """Widths that are wrong by a wave of the widths themselves."""
    middle, size = rng.normal(size=(2, n))
    scale = np.exp(0.3 * size)
    values = middle[:, None] + scale[:, None] * stats.norm.ppf(LEVELS)
    return ct.QuantileForecast(LEVELS, values), middle + scale * np.exp(0.4 * waving(size, 5)) * rng.normal(size=n)


def sloping_quantiles(rng, n):
    middle = rng.normal(size=n)
    values = 1.4 * middle[:, None] + stats.norm.ppf(LEVELS)
    return ct.QuantileForecast(LEVELS, values), middle + rng.normal(size=n)


def sloping_ensembles(rng, n):
    centre = rng.normal(size=n)
    return ct.Ensemble(1.5 * centre[:, None] + rng.normal(size=(n, 12))), centre + rng.normal(size=n)


def of_rain(record=lambda y: y, **fault):
    """Ensembles of which more than half of the members are dry."""

    def make(rng, n):
        members, y = rain(rng, n, **fault)
        return ct.Ensemble(members), record(y)

    return make


def rain(rng, n, shift=0.0, scale=1.0):
    """20 members, and an outcome that is another one but for a shift and a scale before what is below 0 is dry."""
    errors = rng.normal(size=(n, 21))
    errors[:, 0] = shift + scale * errors[:, 0]
    values = np.maximum(rng.normal(size=(n, 1)) - 0.5 + errors, 0.0) ** 1.5
    return values[:, 1:], values[:, 0]


def of_other_rows(make, share):
    """Outcomes of predictions, a share of which is then exchanged among rows."""

    def mixed(rng, n):
        law, rows, some = make(rng, n), np.arange(n), rng.random(n) < share
        y, rows[some] = law.sample(rng), rng.permutation(rows[some])
        return law.take(rows), y

    return mixed


def rare_claims(rng, n):
    return ct.Bernoulli(stats.logistic.cdf(1.5 * rng.normal(size=n) - 4.0))


def unforeseen(rng, n):
    """Rare events, and others that nobody sees coming."""
    p = stats.logistic.cdf(1.5 * rng.normal(size=n) - 5.0)
    return ct.Bernoulli(p), (rng.random(n) < 0.98 * p + 0.02).astype(int)


def uneven_classes(rng, n):
    x = np.exp(1.5 * rng.normal(size=(n, 3)) + [2.0, 0.0, -1.0])
    return ct.Categorical(x / x.sum(axis=1, keepdims=True))


def exchanged(share):
    def make(rng, n):
        m = rng.normal(size=(n, 3))
        y, some = m + rng.normal(size=(n, 3)), rng.random(n) < share
        y[some] = y[some][:, [1, 0, 2]]
        return ct.MvNormal(m, np.ones((n, 3))), y

    return make


def with_far(e, m):
    return np.where((np.arange(len(e)) % 33 == 0)[:, None], 5.0, 1.0) * e


def with_code(e, m):
    e = e.copy()
    e[::10, 1] = 9.0 - m[::10, 1]
    return e


def cut_ensembles(rng, n):
    predictions, y = of_ensembles()(rng, n)
    return predictions, np.maximum(y, -1.0)


def of_times(power=1.0, rate=lambda x: 1.0, early=0.0, other=0.0, n_times=80):
    """Survival curves of Weibull times by a risk x, and times at another rate, or of other rows, some censored."""

    def make(rng, n):
        x, times, rows = rng.normal(size=n), np.linspace(40.0 / n_times, 40.0, n_times), np.arange(n)
        curves = ct.predictions.SurvivalCurve(times, np.exp(-np.exp(x)[:, None] * (times / 10.0) ** 1.5))
        some = rng.random(n) < other
        rows[some] = rng.permutation(rows[some])
        z = x[rows]
        time = 10.0 * (rng.exponential(size=n) / (rate(z) * np.exp(power * z))) ** (1.0 / 1.5)
        time = np.where(rng.random(n) < early, np.minimum(time, rng.uniform(0.0, 1.0, n)), time)
        return watched(curves, time, rng)

    return make


def of_long_times(power=1.0, factor=1.0):
    """The same of log-normal laws."""

    def make(rng, n):
        x = rng.normal(size=n)
        return watched(ct.LogNormal(x, 0.8), factor * np.exp(power * x + 0.8 * rng.normal(size=n)), rng)

    return make


def with_early_rate(rng, n):
    """Exponential times at three times the rate up to 1."""
    mean, hazards = 10.0 * np.exp(0.5 * rng.normal(size=n)), rng.exponential(size=n)
    time = np.where(hazards < 3.0 / mean, hazards / 3.0, hazards - 2.0 / mean) * mean
    return watched(ct.Gamma(np.ones(n), mean), time, rng)


def watched(predictions, time, rng):
    """Levels of times until which a row is watched at most."""
    end = rng.exponential(2.0 * np.median(time), time.size)
    return ct.fields.censored_pit_values(predictions, ct.Censored(np.minimum(time, end), time <= end), rng=1)


def of_means(shape, outcome=lambda m: m):
    """Predicted means and those of the outcomes as functions of a number, with standard deviations of 0.5."""

    def make(rng, n):
        m = rng.normal(size=n)
        return ct.Normal(shape(m), np.full(n, 0.5)), outcome(m) + 0.5 * rng.normal(size=n)

    return make


def rare_and_dispersed(rng, n):
    m = rng.uniform(0.1, 0.5, n)
    return ct.Poisson(m), rng.poisson(m * rng.gamma(0.5, 2.0, n))


def cut_means(rng, n):
    m = np.exp(0.7 * rng.normal(size=n) + 1.0)
    return ct.Poisson(np.minimum(m, 5.0)), rng.poisson(m)


def next_labels(rng, n):
    p = rng.dirichlet(np.full(5, 0.5), n)
    y = drawn(rng, p)
    return p, np.where(rng.random(n) < 0.2, (y + 1) % 5, y)


def cut_claims(rng, n):
    p = rng.beta(0.3, 0.3, n)
    return ct.Bernoulli(np.clip(p, 0.2, 0.8)), (rng.random(n) < p).astype(int)


def small_ensembles(rng, n):
    """Of nine members, with one outcome in 50 eight times as far away."""
    centre, errors = rng.normal(size=n), rng.normal(size=n)
    errors[::50] *= 8.0
    return ct.Ensemble(centre[:, None] + rng.normal(size=(n, 9))), centre + errors


def positive_ensembles(factor=1.0, amount=0.0):
    def make(rng, n):
        values = 1.0 * (amount > 0.0) + np.exp(0.5 * rng.normal(size=(n, 1))) * rng.gamma(4.0, 0.25, (n, 13))
        return ct.Ensemble(values[:, 1:]), factor * values[:, 0] + amount

    return make


def with_bad_member(change):
    def make(rng, n):
        centre = rng.normal(size=n)
        members = centre[:, None] + rng.normal(size=(n, 10))
        members[:, 3] = change(rng, members[:, 3])
        return ct.Ensemble(members), centre + rng.normal(size=n)

    return make


UP = "where predicted means are above"
PLANTED = [
    Planted(
        "classes", "temperature 2", of_classes(lambda p: tempered(p, 2.0)), "temperature", "", 2.0, "overconfident"
    ),
    Planted(
        "classes", "temperature 0.2", of_classes(lambda p: tempered(p, 0.2)), "temperature", "", 0.2, "underconfident"
    ),
    Planted(
        "classes", "temperature 8", of_classes(lambda p: tempered(p, 8.0)), "temperature", "", 8.0, "overconfident"
    ),
    Planted("classes", "20 % random labels", of_classes(lambda p: 0.8 * p + 0.04), "random labels", "", 0.2),
    Planted(
        "classes",
        "class 2 has odds 2.5",
        of_classes(lambda p: times_odds(p, 2, 2.5)),
        "frequency",
        "class 2",
        2.5,
        "more often",
    ),
    Planted(
        "classes",
        "class 2 has odds 0.4",
        of_classes(lambda p: times_odds(p, 2, 0.4)),
        "frequency",
        "class 2",
        0.4,
        "less often",
    ),
    Planted(
        "classes",
        "learned from as many of each of 3 classes",
        other_shares(3, 0.6, 0.3, 0.1),
        "frequencies",
        "",
        6.0,
        "odds of class 0 against 2",
    ),
    Planted(
        "classes",
        "learned from as many of each of 6 classes",
        other_shares(6, 0.5, 0.2, 0.12, 0.08, 0.06, 0.04),
        "frequencies",
        "",
        12.5,
        "odds of class 0 against 5",
    ),
    Planted(
        "classes", "15 % are class 4", of_classes(lambda p: 0.85 * p + 0.15 * np.eye(5)[4]), "share", "class 4", 0.15
    ),
    Planted(
        "classes",
        "log odds of class 1 times 0.4",
        of_classes(lambda p: with_slope(p, 1, 0.4)),
        "slope",
        "class 1",
        0.4,
        "too extreme",
    ),
    Planted(
        "classes",
        "35 % of class 1 turn out as class 3",
        of_classes(lambda p: leaking(p, 1, 3, 0.35)),
        "leak",
        "class 1, class 3",
        0.35,
    ),
    Planted(
        "classes",
        "35 % of classes 0 and 3 exchanged",
        of_classes(lambda p: swapped(p, 0, 3, 0.35)),
        "swap",
        "class 0, class 3",
        0.35,
    ),
    Planted(
        "classes",
        "temperature 2.5 where class 2 is most probable",
        of_classes(lambda p: np.where((p.argmax(axis=1) == 2)[:, None], tempered(p, 2.5), p)),
        "temperature of a class",
        "class 2",
        2.5,
        "overconfident",
    ),
    Planted(
        "classes",
        "class 2 too low from 0.2 to 0.5",
        of_classes(lambda p: np.where(((p[:, 2] > 0.2) & (p[:, 2] < 0.5))[:, None], times_odds(p, 2, 2.5), p)),
        "window",
        "claims of class 2 from 0.",
        None,
        "too low",
    ),
    Planted(
        "classes",
        "a wave in class 0",
        of_classes(lambda p: times_odds(p, 0, np.exp(0.8 * np.cos(5.0 * np.pi * (1.0 - p[:, 0]) ** 4)))),
        "wave",
        "class 0",
    ),
    Planted(
        "classes",
        "most probable class too high from 0.5 to 0.7",
        of_classes(lambda p: times_odds_of_top(p, np.where((p.max(axis=1) > 0.5) & (p.max(axis=1) < 0.7), 0.4, 1.0))),
        "window",
        "claims of the most probable class from 0.",
        None,
        "too high",
    ),
    Planted(
        "classes",
        "a wave in the most probable class",
        of_classes(lambda p: times_odds_of_top(p, np.exp(0.6 * np.cos(25.0 * p.max(axis=1))))),
        "wave",
        "the most probable class",
    ),
    Planted(
        "classes",
        "a wave of 9 periods in class 1",
        of_classes(lambda p: times_odds(p, 1, np.exp(1.2 * np.sin(18.0 * np.pi * (1.0 - (1.0 - p[:, 1]) ** 4)))), 5),
        "fast wave",
        "class 1",
        None,
        "off in places",
    ),
    Planted("claims", "odds 0.6", of_claims(lambda p: with_odds(p, np.log(0.6))), "frequency", "", 0.6, "too high"),
    Planted(
        "claims",
        "temperature 1.8",
        of_claims(lambda p: stats.logistic.cdf(stats.logistic.ppf(p) / 1.8)),
        "temperature",
        "",
        1.8,
        "overconfident",
    ),
    Planted(
        "claims",
        "too low from 0.4 to 0.6",
        of_claims(lambda p: np.where((p > 0.4) & (p < 0.6), with_odds(p, 1.0), p)),
        "window",
        "claims from 0.",
        None,
        "too low",
    ),
    Planted("claims", "rare, log odds half as far apart", sloped(0.5), "slope", "", 0.5, "too extreme"),
    Planted("claims", "rare, log odds the other way round", sloped(-1.0), "slope", "", -1.0, "the wrong way round"),
    Planted("claims", "a wave", of_claims(lambda p: with_odds(p, 0.8 * np.cos(4.0 * np.pi * p))), "wave"),
    Planted(
        "claims", "a wave of 8 periods", of_claims(lambda p: with_odds(p, 0.7 * np.sin(16.0 * np.pi * p))), "fast wave"
    ),
    Planted("claims", "25 % random", of_claims(lambda p: 0.75 * p + 0.125), "random labels", "", 0.25),
    Planted("ordered", "30 % one class up", stepped, "step", "higher", 0.3, "one class higher"),
    Planted("ordered", "0.3 sd too low", latent(shift=0.3), "shift", "", 0.3, "higher than predicted"),
    Planted("ordered", "too narrow by 1.4", latent(scale=1.4), "scale", "", 1.4, "too narrow"),
    Planted(
        "quantiles",
        "too narrow by 1.4",
        of_quantiles(lambda rng, n: 1.4 * rng.normal(size=n)),
        "scale",
        "",
        1.4,
        "too narrow",
    ),
    Planted(
        "quantiles",
        "0.25 sd too low",
        of_quantiles(lambda rng, n: 0.25 + rng.normal(size=n)),
        "shift",
        "",
        0.25,
        "higher",
    ),
    Planted(
        "quantiles",
        "too narrow above the median by 1.5",
        of_quantiles(lambda rng, n: (e := rng.normal(size=n)) * np.where(e > 0.0, 1.5, 1.0)),
        "scale of one side",
        "above",
        1.5,
        "too narrow above the median",
    ),
    Planted("quantiles", "the 95 % quantile is too low", level_too_low, "level", "the 95 % quantile", 0.88, "too low"),
    Planted("numbers", "0.2 sd too low", of_numbers(lambda e, m, s, rng: e + 0.2), "shift", "", 0.2, "above"),
    Planted("numbers", "too narrow by 5", of_numbers(lambda e, m, s, rng: 5.0 * e), "scale", "", 5.0, "too narrow"),
    Planted("numbers", "too wide by 0.8", of_numbers(lambda e, m, s, rng: 0.8 * e), "scale", "", 0.8, "too wide"),
    Planted(
        "numbers",
        "scale 1.3 above, 0.77 below the median mean",
        of_numbers(lambda e, m, s, rng: e * np.where(m > 0.0, 1.3, 1 / 1.3)),
        "local scale",
        UP,
        1.3,
        "too narrow",
    ),
    Planted(
        "numbers",
        "0.35 sd too low where the scale is large",
        of_numbers(lambda e, m, s, rng: e + 0.35 * np.sign(np.log(s))),
        "local shift",
        "where predicted variances are above",
        0.35,
        "above",
    ),
    Planted(
        "numbers",
        "rise too little with the mean",
        of_numbers(lambda e, m, s, rng: e + 0.3 * m),
        "slope",
        "",
        None,
        "rise more than predicted",
    ),
    Planted(
        "numbers",
        "too low for small and large means, 0.25 (m^2 - 1)",
        of_numbers(lambda e, m, s, rng: e + 0.25 * (m * m - 1.0)),
        "wave of shifts",
        "predicted means",
        None,
        "+",
    ),
    Planted(
        "numbers",
        "too narrow for small and large means, 0.6 + 0.5 abs(m)",
        of_numbers(lambda e, m, s, rng: e * (0.6 + 0.5 * np.abs(m))),
        "wave of scales",
        "predicted means",
        None,
        "too narrow or too wide",
    ),
    Planted(
        "numbers",
        "skew",
        of_numbers(lambda e, m, s, rng: (rng.gamma(4.0, size=m.size) - 4.0) / 2.0),
        "skew",
        "",
        None,
        "tail above",
    ),
    Planted(
        "numbers",
        "Student's t, 3 degrees",
        of_numbers(lambda e, m, s, rng: rng.standard_t(3.0, size=m.size) / np.sqrt(3.0)),
        "heavy tails",
        "",
        3.0,
    ),
    Planted(
        "numbers",
        "uniform errors",
        of_numbers(lambda e, m, s, rng: rng.uniform(-np.sqrt(3.0), np.sqrt(3.0), m.size)),
        "light tails",
    ),
    Planted(
        "numbers",
        "3 % outliers",
        of_numbers(lambda e, m, s, rng: np.where(rng.random(m.size) < 0.03, 5.0 * e, e)),
        "outliers",
        "",
        0.03,
    ),
    Planted("numbers", "gamma, 1.3 times as large", of_gamma, "factor", "", 1.3),
    Planted(
        "vectors",
        "coordinate 2 too low by 0.2 sd",
        of_vectors(in_coordinate(2, lambda e: e + 0.2)),
        "shift",
        "coordinate 2",
        0.2,
        "above",
    ),
    Planted(
        "vectors",
        "coordinate 1 too narrow by 1.3",
        of_vectors(in_coordinate(1, lambda e: 1.3 * e)),
        "scale",
        "coordinate 1",
        1.3,
        "too narrow",
    ),
    Planted("vectors", "too wide by 0.85", of_vectors(lambda e, m: 0.85 * e), "common scale", "", 0.85, "too wide"),
    Planted("vectors", "correlation 0.4", of_vectors(correlated(0.4)), "correlation", "coordinates 0 and 2", 0.4),
    Planted(
        "vectors",
        "correlation 0.4 or -0.4 by the mean of coordinate 1",
        of_vectors(correlated(lambda m: np.where(m[:, 1] > 0.0, 0.4, -0.4))),
        "local correlation",
        "coordinates 0 and 2 where predicted means of coordinate 1 are above",
        0.4,
    ),
    Planted("counts", "1.2 times as many", of_counts(lambda rng, m: rng.poisson(1.2 * m)), "factor", "", 1.2),
    Planted(
        "counts",
        "dispersion 0.3",
        of_counts(lambda rng, m: rng.poisson(m * rng.gamma(1 / 0.3, 0.3, m.size))),
        "dispersion",
        "",
        0.3,
        "too narrow",
    ),
    Planted(
        "counts",
        "binomial",
        of_counts(
            lambda rng, m: rng.binomial(
                np.maximum(1, np.round(2.0 * m)).astype(int), np.minimum(1.0, m / np.maximum(1, np.round(2.0 * m)))
            )
        ),
        "too wide",
        "",
        None,
        "too wide",
    ),
    Planted(
        "counts",
        "15 % zeros",
        of_counts(lambda rng, m: np.where(rng.random(m.size) < 0.15, 0, rng.poisson(m))),
        "zeros",
        "",
        0.15,
    ),
    Planted(
        "counts",
        "15 % zeros, mean as predicted",
        of_counts(lambda rng, m: np.where(rng.random(m.size) < 0.15, 0, rng.poisson(m / 0.85))),
        "zeros, mean kept",
        "",
        0.15,
    ),
    Planted(
        "counts",
        "70 % of the zeros are ones",
        of_counts(lambda rng, m: np.where((y := rng.poisson(m)) > 0, y, rng.random(m.size) < 0.7)),
        "few zeros",
        "",
        0.7,
        "too few zeros",
    ),
    Planted(
        "counts",
        "power 1.3 of the mean",
        of_counts(lambda rng, m: rng.poisson(m**1.3 * m.mean() / (m**1.3).mean())),
        "elasticity",
        "",
        1.3,
    ),
    Planted("ensembles", "0.3 sd too low", of_ensembles(shift=0.3), "shift", "", 0.3, "above"),
    Planted("ensembles", "too narrow by 0.7", of_ensembles(spread=0.7), "scale", "", 1 / 0.7, "too narrow"),
    Planted(
        "classes",
        "labels of five classes in a cycle",
        of_classes(lambda p: np.roll(p, 1, axis=1)),
        "order",
        "",
        None,
        "what is predicted as class 0 turns out as class 1",
    ),
    Planted("claims", "10 % of the events are not seen", of_claims(lambda p: 0.9 * p), "share", "class 0", 0.1),
    Planted(
        "ordered", "40 % one class up or down", blurred, "step", "higher or lower", 0.4, "one class higher or lower"
    ),
    Planted(
        "quantiles", "0.3 too low among very different widths", of_widths, "shift in units", "", 0.3, "in their units"
    ),
    Planted(
        "numbers",
        "0.3 too low among very different standard deviations",
        in_units(lambda e, m, s, rng: e + 0.3),
        "shift in units",
        "",
        0.3,
        "in their units",
    ),
    Planted(
        "numbers",
        "0.6 too low where means are large, among very different standard deviations",
        in_units(lambda e, m, s, rng: e + 0.6 * (m > 0.0)),
        "local shift in units",
        UP,
        0.6,
        "in their units",
    ),
    Planted(
        "numbers",
        "noise of 0.5 that is not predicted",
        in_units(lambda e, m, s, rng: e + 0.5 * rng.normal(size=m.size)),
        "added noise",
        "",
        0.5,
        "too narrow",
    ),
    Planted(
        "numbers",
        "errors as the root of predicted standard deviations",
        in_units(lambda e, m, s, rng: e / np.sqrt(s)),
        "power of spreads",
        "",
        0.5,
        "differ less than predicted",
    ),
    Planted(
        "numbers",
        "1 % outliers, 100 times as large",
        of_numbers(lambda e, m, s, rng: np.where(rng.random(m.size) < 0.01, 100.0 * e, e)),
        "outliers",
        "",
        0.01,
    ),
    Planted("numbers", "uniform, too wide", of_positive_part, "scale", "", None, "errors are 0.6"),
    Planted(
        "vectors",
        "correlation 0 instead of 0.6",
        beside_correlation(lambda e, m: e, np.eye(3)),
        "correlation",
        "coordinates 0 and 1",
        0.0,
        "instead of 0.6 as predicted",
    ),
    Planted(
        "vectors",
        "coordinate 1 too low by 0.3 sd beside a predicted correlation",
        beside_correlation(in_coordinate(1, lambda e: e + 0.3), None),
        "shift",
        "coordinate 1",
        0.3,
        "above",
    ),
    Planted(
        "vectors",
        "coordinate 1 too narrow by 1.3 beside a predicted correlation",
        beside_correlation(in_coordinate(1, lambda e: 1.3 * e), None),
        "scale",
        "coordinate 1",
        1.3,
        "too narrow",
    ),
    Planted(
        "vectors",
        "coordinate 2 too low by 0.5 among very different standard deviations",
        in_one_unit,
        "shift in units",
        "coordinate 2",
        0.5,
        "in their units",
    ),
    Planted(
        "vectors",
        "coordinate 0 too low or too high by the mean of coordinate 1",
        of_vectors(lambda e, m: e + 0.4 * np.outer(np.sign(m[:, 1]), [1.0, 0.0, 0.0])),
        "local shift",
        "coordinate 0 where predicted means of coordinate 1 are above",
        0.4,
        "above",
    ),
    Planted(
        "vectors",
        "Student's t, 4 degrees",
        of_vectors(lambda e, m: e / np.sqrt(np.random.default_rng(3).chisquare(4, (len(m), 1)) / 2.0)),
        "heavy tails of all",
        "",
        4.0,
    ),
    Planted(
        "vectors",
        "a common part of all coordinates",
        of_vectors(lambda e, m: np.sqrt(0.7) * e + np.sqrt(0.3) * np.random.default_rng(3).normal(size=(len(m), 1))),
        "correlation of all",
        "",
        0.3,
    ),
    Planted("counts", "1 more", of_counts(lambda rng, m: rng.poisson(m + 1.0)), "added", "", 1.0, "higher"),
    Planted(
        "ensembles", "correlation 0.5", of_pairs(0.0, 0.5), "correlation", "coordinates 0 and 1", None, "not predicted"
    ),
    Planted(
        "ensembles",
        "correlation 0 instead of 0.6",
        of_pairs(0.6, 0.0),
        "correlation",
        "coordinates 0 and 1",
        None,
        "as predicted",
    ),
    Planted(
        "counts",
        "30 % rounded to fives",
        of_counts(lambda rng, m: rounded(rng, rng.poisson(m), 5, 0.3)),
        "heaped",
        "multiples of 5",
        0.3,
    ),
    Planted(
        "classes",
        "40 % of classes 0 and 3, and of 1 and 2, exchanged",
        of_classes(lambda p: swapped(swapped(p, 0, 3, 0.4), 1, 2, 0.4)),
        "swap",
        "",
        None,
        "; and class ",
    ),
    Planted(
        "counts",
        "30 % zeros where means are small",
        of_counts(lambda rng, m: rng.poisson(m) * (rng.random(m.size) > np.where(m < np.e, 0.3, 0.0))),
        "local zeros",
        "where predicted means are at most",
        0.3,
        "too many zeros",
    ),
    Planted(
        "counts",
        "3 % outliers, 10 times as large",
        of_counts(lambda rng, m: rng.poisson(np.where(rng.random(m.size) < 0.03, 10.0, 1.0) * m)),
        "outliers",
        "",
        0.03,
        "times as large as predicted",
    ),
    Planted(
        "numbers",
        "0.5 sd too low where predicted standard deviations are small",
        of_numbers(lambda e, m, s, rng: e + 0.5 * (s < 1.0)),
        "local shift",
        "where predicted variances are at most",
        0.5,
        "above",
    ),
    Planted(
        "numbers",
        "a wave of 8 periods",
        of_numbers(lambda e, m, s, rng: e + 0.5 * waving(m, 8)),
        "fast wave of shifts",
        "predicted means",
        None,
        "and so on in",
    ),
    Planted(
        "numbers",
        "a wave of scales of 6 periods",
        of_numbers(lambda e, m, s, rng: e * np.exp(0.4 * waving(m, 6))),
        "fast wave of scales",
        "predicted means",
        None,
        "too narrow or too wide in places",
    ),
    Planted(
        "vectors",
        "coordinate 1 too low for small and large means, 0.3 (m^2 - 1)",
        of_vectors(lambda e, m: e + 0.3 * np.outer(np.square(m[:, 1]) - 1.0, [0.0, 1.0, 0.0])),
        "wave of shifts",
        "predicted means of coordinate 1",
        None,
        "in coordinate 1: +",
    ),
    Planted(
        "vectors",
        "all coordinates too narrow by 1.4 where the mean of coordinate 2 is small",
        of_vectors(lambda e, m: np.where(m[:, 2:] < 0.0, 1.4, 1.0) * e),
        "local common scale",
        "where predicted means of coordinate 2 are at most",
        1.4,
        "too narrow",
    ),
    Planted(
        "vectors",
        "coordinate 1 rises too much",
        of_vectors(lambda e, m: e - 0.25 * np.outer(m[:, 1], [0.0, 1.0, 0.0])),
        "slope",
        "coordinate 1",
        0.75,
        "rise less than predicted in coordinate 1",
    ),
    Planted(
        "counts",
        "a wave of 6 periods",
        of_counts(lambda rng, m: rng.poisson(m * (1.0 + 0.35 * waving((np.log(m) - 1.0) / 0.7, 6)))),
        "wave of factors",
        "predicted means",
        None,
        "times as large as predicted where",
    ),
    Planted(
        "counts",
        "4 periods of variances 1.6 and 0.5 times as large",
        of_counts(spreading),
        "wave of spreads",
        "predicted means",
        None,
        "times as much as predicted where",
    ),
    Planted(
        "numbers",
        "a wave of 5 periods of the predicted standard deviations",
        of_numbers(lambda e, m, s, rng: e + 0.5 * waving(np.log(s) / 0.3, 5)),
        "fast wave of shifts",
        "predicted variances",
        None,
        "off in places",
    ),
    Planted(
        "ordered",
        "a wave of 5 periods",
        ordered_wave(shift=0.6),
        "wave of shifts",
        "expected classes",
        None,
        "off in places",
    ),
    Planted(
        "ordered",
        "a wave of scales of 5 periods",
        ordered_wave(scale=0.5),
        "wave of scales",
        "expected classes",
        None,
        "too narrow or too wide in places",
    ),
    Planted(
        "quantiles",
        "a wave of scales of 5 periods of the widths",
        quantile_wave,
        "wave of scales",
        "predicted widths",
        None,
        "too narrow or too wide in places",
    ),
    Planted("quantiles", "rise too much with the middle", sloping_quantiles, "slope", "", None, "too low where"),
    Planted(
        "ensembles",
        "too narrow where means are large",
        scaled_in_places(lambda centre, spread: centre > 0.0, 1.8, 1.0),
        "local scale",
        "where predicted means are above",
        None,
        "too narrow",
    ),
    Planted(
        "ensembles",
        "too narrow where spreads are small, too wide where they are large",
        scaled_in_places(lambda centre, spread: spread < 1.0, 1.4, 0.7),
        "local scale",
        "where predicted variances are",
    ),
    Planted("ensembles", "rise too much with the mean", sloping_ensembles, "slope", "", None, "too low where"),
    Planted("ensembles", "rain, 0.5 sd drier", of_rain(shift=-0.5), "shift", "", -0.5, "below what was predicted"),
    Planted("ensembles", "rain, too narrow by 1.6", of_rain(scale=1.6), "scale", "", 1.6, "too narrow"),
    Planted("ensembles", "rain, 0.6 times as much", of_rain(lambda y: 0.6 * y), "factor", "", 0.6, "too small"),
    Planted(
        "ensembles",
        "rain that is 0 below 0.2",
        of_rain(lambda y: np.where(y < 0.2, 0.0, y)),
        "shared value",
        "",
        None,
        "0 more often than members",
    ),
    Planted("ensembles", "cut off at -1", cut_ensembles, "cut off", "", None, "cut off at -1"),
    Planted("vectors", "a third of coordinates 0 and 1 exchanged", exchanged(1 / 3), "exchanged", "coord", 1 / 3),
    Planted("vectors", "3 % outliers", of_vectors(with_far), "outliers of all", "", 0.03, "in all coordinates"),
    Planted("vectors", "10 % of coordinate 1 are 9", of_vectors(with_code), "same value", "coordinate 1", 0.1),
    Planted("classes", "30 % of other rows", of_other_rows(uneven_classes, 0.3), "other rows", "", 0.3),
    Planted("claims", "rare, 40 % of other rows", of_other_rows(rare_claims, 0.4), "other rows", "", 0.4),
    Planted("claims", "rare, 2 % that nobody sees coming", unforeseen, "share", "class 1", 0.02),
    Planted(
        "numbers",
        "15 % of other rows",
        of_other_rows(lambda r, n: ct.Normal(2.0 * r.normal(size=n), np.exp(0.4 * r.normal(size=n))), 0.15),
        "other rows",
        "",
        0.15,
    ),
    Planted(
        "counts",
        "20 % of other rows",
        of_other_rows(lambda r, n: ct.Poisson(np.exp(0.7 * r.normal(size=n) + 1.0)), 0.2),
        "other rows",
        "",
        0.2,
    ),
    Planted("counts", "rare, dispersion 2", rare_and_dispersed, "dispersion", "", 2.0, "too narrow"),
    Planted(
        "counts",
        "1 less, where they are not 0",
        of_counts(lambda rng, m: np.maximum(rng.poisson(m) - 1, 0)),
        "step",
        "lower",
        1.0,
        "1 lower",
    ),
    Planted(
        "counts",
        "dispersion 0.5 where means are large",
        of_counts(lambda rng, m: rng.poisson(m * np.where(m > np.e, rng.gamma(2.0, 0.5, m.size), 1.0))),
        "local dispersion",
        UP,
        0.5,
        "too narrow",
    ),
    Planted(
        "counts", "predicted means cut off at 5", cut_means, "local factor", "where predicted means are 5, the largest"
    ),
    Planted(
        "counts",
        "power 2 of means above 3",
        of_counts(lambda rng, m: rng.poisson(np.where(m > 3.0, m * m / 3.0, m))),
        "local elasticity",
        UP,
        None,
        "rise more",
    ),
    Planted(
        "numbers",
        "predicted means cut off at 0.5",
        of_means(lambda m: np.minimum(m, 0.5)),
        "local shift",
        "where predicted means are 0.5, the largest",
        None,
        "above",
    ),
    Planted(
        "numbers",
        "predicted means that level off above 0",
        of_means(lambda m: np.where(m > 0.0, np.tanh(m), m)),
        "local slope",
        UP,
        None,
        "rise more",
    ),
    Planted(
        "numbers",
        "outcomes that are level above 0.6",
        of_means(lambda m: m, lambda m: np.minimum(m, 0.6)),
        "local slope",
        UP,
    ),
    Planted(
        "claims",
        "cut off at 0.2 and 0.8",
        cut_claims,
        "clipped",
        "claims of 0.20 and of 0.80",
        None,
        "as if cut off there",
    ),
    Planted("classes", "20 % are the next class", next_labels, "order", "after", 0.2, "of the class after"),
    Planted("ensembles", "9 members, 2 % outliers", small_ensembles, "outliers", "", 0.02),
    Planted("ensembles", "positive, 1.4 times as large", positive_ensembles(1.4), "factor", "", 1.4),
    Planted(
        "ensembles",
        "0.4 too low among very different spreads",
        positive_ensembles(amount=0.4),
        "shift in units",
        "",
        0.4,
        "in their units",
    ),
    Planted(
        "ensembles",
        "member 3 is noise",
        with_bad_member(lambda rng, x: 3.0 * rng.normal(size=x.size)),
        "member",
        "member 3",
        None,
        "does not go with the others",
    ),
    Planted(
        "ensembles",
        "member 3 is 2 too high",
        with_bad_member(lambda rng, x: x + 2.0),
        "member",
        "member 3",
        2.0,
        "too high",
    ),
    Planted("times", "rates as the power 0.5 of those predicted", of_times(0.5), "slope", "", 0.5, "too extreme"),
    Planted("times", "predictions of other rows", of_times(other=1.0), "slope", "", 0.0, "do not follow"),
    Planted("times", "30 % of other rows", of_times(other=0.3), "other rows", "", 0.3),
    Planted(
        "times",
        "twice the rate where risks are high",
        of_times(rate=lambda x: np.where(x > 0.0, 2.0, 1.0)),
        "local hazard",
        "where predicted risks up to ",
        2.0,
        "times the predicted rate",
    ),
    Planted(
        "times", "8 % have the event up to 1", of_times(early=0.08), "early", "up to ", None, "whatever is predicted"
    ),
    Planted("times", "three times the rate up to 1", with_early_rate, "hazard in time", "up to "),
    Planted("times", "as the power 1.5 of those predicted", of_long_times(1.5), "slope", "", 1.5, "too even"),
    Planted("times", "1.4 times as long", of_long_times(factor=1.4), "factor", "", 1.4, "as long"),
    Planted("numbers", "shape 3 as exponential", of_gamma_shapes(1.0, 3.0), "scale", "", 3.0**-0.5, "as predicted"),
    Planted("numbers", "shape 2.5 as 4", of_gamma_shapes(4.0, 2.5), "scale", "", 1.6**0.5, "too narrow"),
    Planted("numbers", "shares with a + b = 9 as 4", of_beta_totals(4.0, 9.0), "scale", "", 0.5**0.5, "too wide"),
    Planted(
        "times", "1.3 times the rate, curves at 20 times", of_times(rate=lambda x: 1.3, n_times=20), "hazard", "", 1.3
    ),
    Planted(
        "times", "0.7 times the rate, curves at 8 times", of_times(rate=lambda x: 0.7, n_times=8), "hazard", "", 0.7
    ),
    Planted("times", "8 % up to 1, curves at 20 times", of_times(early=0.08, n_times=20), "early", "up to 2"),
]


def found(planted, n, seed):
    """The first finding in data with a fault, and whether its kind, its place and its direction are right."""
    predictions, targets = planted.make(np.random.default_rng([seed, n]), n)
    first = findings_of(as_sample(predictions, targets))[0]
    right = first.kind == planted.kind and first.place.startswith(planted.place) and planted.words in first.words
    return first, right and first.gain > 0.0


class Pair(NamedTuple):
    """Predictions and outcomes with two faults: kinds that may be named for each, and sizes in any order of the two."""

    family: str
    faults: str
    make: Callable[[np.random.Generator, int], Any]
    kinds: tuple[set[str], set[str]]
    sizes: dict[str, float]


PAIRS = [
    Pair(
        "classes",
        "class 2 has odds 4, and then temperature 2",
        of_classes(lambda p: tempered(times_odds(p, 2, 4.0), 2.0)),
        ({"temperature"}, {"frequency", "share"}),
        {"temperature": 2.0},
    ),
    Pair(
        "classes",
        "35 % of class 1 turn out as class 3, and then 15 % are class 4",
        of_classes(lambda p: 0.85 * leaking(p, 1, 3, 0.35) + 0.15 * np.eye(5)[4]),
        ({"share", "frequency"}, {"leak"}),
        {"share": 0.15},
    ),
    Pair(
        "claims",
        "temperature 2, and then odds times 0.6",
        of_claims(lambda p: with_odds(1.0 / (1.0 + ((1.0 - p) / p) ** 0.5), np.log(0.6))),
        # A share of unseen events beside a smaller temperature is nearly the same law.
        ({"temperature"}, {"frequency", "share"}),
        {"temperature": 2.0},
    ),
    Pair(
        "ordered",
        "0.5 higher, and 1.6 times as spread",
        latent(shift=0.5, scale=1.6),
        ({"scale"}, {"shift", "step"}),
        {"scale": 1.6},
    ),
    Pair(
        "quantiles",
        "0.5 higher, and 1.6 times as spread",
        of_quantiles(lambda rng, n: 0.5 + 1.6 * rng.normal(size=n)),
        ({"scale"}, {"shift"}),
        {"scale": 1.6},
    ),
    Pair(
        "numbers",
        "0.5 sd higher, and errors 1.5 times as large",
        of_numbers(lambda e, m, s, rng: 0.5 + 1.5 * e),
        ({"scale"}, {"shift"}),
        {"scale": 1.5},
    ),
    Pair(
        "numbers",
        "errors like Student's t of 4 degrees of freedom, 0.7 times as large",
        of_numbers(lambda e, m, s, rng: 0.7 * rng.standard_t(4, e.size) / np.sqrt(2.0)),
        ({"scale"}, {"heavy tails"}),
        {"scale": 0.7, "heavy tails": 4.0},
    ),
    Pair(
        "vectors",
        "coordinate 1 is 1.5 times as spread, and 0 and 2 have a correlation of 0.5",
        of_vectors(lambda e, m: in_coordinate(1, lambda one: 1.5 * one)(correlated(0.5)(e, m), m)),
        ({"scale"}, {"correlation"}),
        {"scale": 1.5, "correlation": 0.5},
    ),
    Pair(
        "counts",
        "1.4 times as many, and a dispersion of 0.5",
        of_counts(lambda rng, m: rng.negative_binomial(2.0, 2.0 / (2.0 + 1.4 * m))),
        ({"dispersion"}, {"factor"}),
        {"dispersion": 0.5, "factor": 1.4},
    ),
    Pair(
        "ensembles",
        "0.5 sd too low, too narrow by 0.6",
        of_ensembles(0.5, 0.6),
        ({"scale"}, {"shift"}),
        {"scale": 1.0 / 0.6},
    ),
]


def both_found(pair, n, seed):
    """What is found in data with two faults, whether both are named, and which sizes have intervals that cover them."""
    first = findings_of(as_sample(*pair.make(np.random.default_rng([seed, n]), n)))[0]
    found = {one.kind: one for one in (first, first.second) if one is not None}
    one, other = pair.kinds
    right = len(found) == 2 and bool(one & set(found)) and bool(other & set(found))
    covered = [
        found[kind].interval.low <= size <= found[kind].interval.high
        for kind, size in pair.sizes.items()
        if right and kind in found
    ]
    return first, right, covered


def main():
    """Print the table."""
    print("| family | fault | what is said of 2,000 observations |\n|---|---|---|")
    for planted in PLANTED:
        first, right = found(planted, 2000, 1)
        print(f"| {planted.family} | {planted.fault} | {first.words}{'' if right else ' (**wrong**)'} |")
    for pair in PAIRS:
        first, right, _ = both_found(pair, 2000, 1)
        print(f"| {pair.family} | {pair.faults} | {first.words}{'' if right else ' (**wrong**)'} |")


def rates():
    """Print them."""
    for n in (2000, 500):
        results = [both_found(pair, n, seed) for pair in PAIRS for seed in range(1, 21)]
        covered = [one for _, _, some in results for one in some]
        print(f"n = {n}: both named in {sum(right for _, right, _ in results)} of {len(results)}")
        print(f"  {sum(covered)} of {len(covered)} intervals hold their size")
    alone = [found(one, n, seed)[0] for one in PLANTED for n, seed in product((2000, 500), (1, 2, 3))]
    print(f"one fault: a second one named in {sum(one.second is not None for one in alone)} of {len(alone)}")


if __name__ == "__main__":
    rates() if sys.argv[1:] == ["rates"] else main()
