"""How often results ask about misread data, and about others: ``python -m tests.statistical.questions_asked``.

The table of ``docs/findings.md``, in a minute: 100 data sets each, of calibrated predictions that are misread, and of
wrong predictions that are read rightly, about which nothing should be asked.
"""

from collections import Counter

import numpy as np
from scipy import special

import caltest as ct
from caltest.predictions.inputs.convert import as_sample

from .settings import spawn

SETS, N = 100, 300
LEVELS = [0.05, 0.25, 0.5, 0.75, 0.95]


class Numbers:
    """Means around 15, standard deviations that differ, outcomes, members and quantiles; and around 0."""

    def __init__(self, rng, centre=15.0):
        z = rng.normal(size=(N, 12))
        self.mean, self.scale = centre + 3.0 * z[:, 0], np.exp(0.4 * z[:, 1])
        self.y = self.mean + self.scale * z[:, 2]
        self.members = self.mean[:, None] + self.scale[:, None] * z[:, 3:]
        self.rng = rng

    def families(self, mean=0.0, scale=1.0):
        """Numbers, quantiles and ensembles with means that are moved, and other spreads."""
        m, s = self.mean + mean * self.scale, self.scale * scale
        quantiles = m[:, None] + s[:, None] * special.ndtri(LEVELS)
        members = m[:, None] + (self.members - self.mean[:, None]) * scale
        return ct.Normal(m, s), ct.QuantileForecast(LEVELS, quantiles), ct.Ensemble(members)


def of_numbers(change):
    """The same outcomes for normal predictions, quantile forecasts and ensembles."""

    def pairs(rng):
        data = Numbers(rng)
        return [(p, change(data)) for p in data.families()]

    return pairs


def of_wrong(mean=0.0, scale=1.0, centre=0.0):
    def pairs(rng):
        data = Numbers(rng, centre)
        return [(p, data.y) for p in data.families(mean, scale)]

    return pairs


def of_scales(function):
    """Outcomes whose predicted standard deviations are between 1.2 and 10."""

    def pairs(rng):
        scale = 1.2 + rng.gamma(1.0, 1.0, N)
        mean = 3.0 * rng.normal(size=N)
        return [(ct.Normal(mean, function(scale)), mean + scale * rng.normal(size=N))]

    return pairs


def of_counts(function, dispersion=0.0):
    def pairs(rng):
        mean = 1.2 + np.exp(1.0 + 0.5 * rng.normal(size=N))
        rate = mean * rng.gamma(1.0 / dispersion, dispersion, N) if dispersion else mean
        return [(ct.Poisson(function(mean)), rng.poisson(rate))]

    return pairs


def of_gammas(function):
    """Outcomes of shape 3 and scales from 0.5 to 8 or so."""

    def pairs(rng):
        scale = 2.0 * np.exp(0.5 * rng.normal(size=N))
        return [(ct.Gamma(3.0, function(scale)), rng.gamma(3.0, scale))]

    return pairs


def of_dispersions(function):
    """Counts of 5 or so with dispersions from 0.1 to 0.9 or so."""

    def pairs(rng):
        mean, dispersion = 5.0 * np.exp(0.5 * rng.normal(size=N)), 0.3 * np.exp(0.5 * rng.normal(size=N))
        rate = mean * dispersion * rng.gamma(1.0 / dispersion)
        return [(ct.NegativeBinomial.from_mean(mean, function(dispersion)), rng.poisson(rate))]

    return pairs


def of_vectors(change, scale=1.0):
    def pairs(rng):
        mean = 15.0 + 2.0 * rng.normal(size=(N, 3))
        y, members = mean + rng.normal(size=(N, 3)), mean[:, None] + scale * rng.normal(size=(N, 15, 3))
        return [(ct.MvNormal(mean, np.full((N, 3), scale**2)), change(y)), (ct.Ensemble(members), change(y))]

    return pairs


def of_classes(change, power=1.0):
    def pairs(rng):
        p = rng.dirichlet(np.full(4, 0.5), N)
        y = (rng.random((N, 1)) > p.cumsum(axis=1)).sum(axis=1)
        q = np.maximum(p, 1e-12) ** power
        return [(q / q.sum(axis=1, keepdims=True), change(np.minimum(y, 3)))]

    return pairs


def of_claims(function, change=lambda y: y):
    def pairs(rng):
        p = rng.beta(0.8, 2.0, N)
        return [(function(p), change((rng.random(N) < p).astype(int)))]

    return pairs


def with_value(value, share):
    return lambda data: np.where(data.rng.random(N) < share, value, data.y)


def same(y):
    return y


MISREAD = {
    "outcomes 1 row below, numbers": of_numbers(lambda data: np.roll(data.y, 1)),
    "in reverse order, classes": of_classes(lambda y: y[::-1]),
    "in any order, numbers": of_numbers(lambda data: data.rng.permutation(data.y)),
    "Fahrenheit for Celsius": of_numbers(lambda data: 1.8 * data.y + 32.0),
    "a tenth in Fahrenheit, here and there": of_numbers(
        lambda data: np.where(data.rng.random(N) < 0.1, 1.8 * data.y + 32.0, data.y)
    ),
    "the other sign": of_numbers(lambda data: -data.y),
    "3 % are -999": of_numbers(with_value(-999.0, 0.03)),
    "variances for standard deviations": of_scales(np.square),
    "precisions": of_scales(lambda scale: scale**-2),
    "reciprocals of standard deviations": of_scales(np.reciprocal),
    "rates of gamma laws for scales": of_gammas(np.reciprocal),
    "sizes for dispersions": of_dispersions(np.reciprocal),
    "logarithms of standard deviations": of_scales(np.log),
    "logarithms of rates": of_counts(np.log),
    "logarithms of rates, dispersion 0.5": of_counts(np.log, 0.5),
    "columns of vectors exchanged": of_vectors(lambda y: y[:, [1, 0, 2]]),
    "a coordinate in another unit": of_vectors(lambda y: y * [1.0, 10.0, 1.0]),
    "two of four classes exchanged": of_classes(lambda y: np.array([1, 0, 2, 3])[y]),
    "probabilities of the other class": of_claims(lambda p: 1.0 - p),
}
WRONG = {
    "calibrated numbers": of_wrong(),
    "errors twice as large": of_wrong(scale=0.5),
    "errors 5 times as large": of_wrong(scale=0.2),
    "errors half as large": of_wrong(scale=2.0),
    "1 standard deviation too low": of_wrong(mean=1.0),
    "3 standard deviations too low": of_wrong(mean=3.0, centre=15.0),
    "a tenth of the errors 20 times as large": of_numbers(
        lambda data: np.where(data.rng.random(N) < 0.1, 20.0 * data.y - 19.0 * data.mean, data.y)
    ),
    "a tenth of the outcomes those of others": of_numbers(
        lambda data: np.where(data.rng.random(N) < 0.1, data.rng.permutation(data.y), data.y)
    ),
    "rounded to whole numbers of about a standard deviation": lambda rng: [
        (p, np.round(y / 0.7) * 0.7) for p, y in of_wrong()(rng)
    ],
    "calibrated counts": of_counts(same),
    "counts half as large": of_counts(lambda mean: 2.0 * mean),
    "counts of dispersion 0.5": of_counts(same, 0.5),
    "gamma laws, scales half as large": of_gammas(lambda scale: 0.5 * scale),
    "dispersions 3 times as large": of_dispersions(lambda dispersion: 3.0 * dispersion),
    "vectors, errors 3 times as large": of_vectors(same, 1.0 / 3.0),
    "classes, temperature 3": of_classes(same, 3.0),
    "claims, odds of 4 times": of_claims(lambda p: 4.0 * p / (1.0 + 3.0 * p)),
}


def asked(make):
    """Shares of the data sets of each family with a question, and the question that is asked most often."""
    found, total, words = Counter(), Counter(), Counter()
    for rng in map(spawn, range(SETS)):
        for predictions, y in make(rng):
            sample = as_sample(predictions, y)
            total[sample.predictions.law.family] += 1
            found[sample.predictions.law.family] += bool(sample.questions)
            words.update(sample.questions[:1])
    return {family: found[family] / count for family, count in total.items()}, words


def main():
    for title, kinds in (("misread", MISREAD), ("read rightly", WRONG)):
        print(f"\n| {title} | asked, in % of {SETS} sets | most often |\n|---|---|---|")
        for name, make in kinds.items():
            shares, words = asked(make)
            values = " ".join(f"{100.0 * share:.0f}" for share in shares.values())
            print(f"| {name} | {values} | {words.most_common(1)[0][0] if words else ''} |", flush=True)


if __name__ == "__main__":
    main()
