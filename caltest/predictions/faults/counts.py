"""Faults of predicted counts."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import exp, frexp, inf, sqrt
from typing import Any

import numpy as np

from caltest._basics.numerics import Array, BoolArray, FloatArray, IntArray, ranges
from caltest._loops.statistics.moments import chebyshev_moments
from caltest.predictions.counts.law import PART, CountPredictions
from caltest.predictions.faults.fault import Fault, Faults, OfPatterns, Pattern, Rows, cosines, halves, varies
from caltest.predictions.faults.heaped import Heaped
from caltest.predictions.faults.scores import CLIPPED
from caltest.predictions.faults.values import CutOff, Others, SameValue, SeesValues
from caltest.predictions.faults.waves import FASTEST, SLOW, WEIGHT_OF_WAVES, Wave, choices, following
from caltest.predictions.faults.words import Fit, about, instead, percent, sized_shift
from caltest.predictions.standard_scores import in_units

REACH, LARGEST_PART = 10.0, 0.999
"""Standard errors around a mean difference in which one is looked for, and the share of a mean that it may take."""

NEVER = 1e-40
"""Probabilities that no sum over counts notices, tilted or not."""

LEAST_ZERO = 1e-6
"""Predicted probabilities of 0 below which zeros have no row."""


WIDE = 5.0
"""Standard deviation beyond which many counts have about the same squared residual, whose polynomials, to all digits,
take less time."""

END, DEGREES = 0.25, 24
"""Of the first panel of squared residuals, and of polynomials in it, a multiple of 4."""

_ANGLES = np.pi * (np.arange(DEGREES) + 0.5) / DEGREES
NODES = np.cos(_ANGLES)
TO_COEFFICIENTS = np.cos(_ANGLES[:, None] * np.arange(DEGREES)) * np.where(np.arange(DEGREES), 2.0, 1.0) / DEGREES
"""Chebyshev nodes, and what makes coefficients from values there."""


class CountView:
    """Means, standard deviations and probabilities of 0 of n predictions, and weights."""

    def __init__(
        self, law: CountPredictions, weights: FloatArray | None, among: CountPredictions | None = None
    ) -> None:
        self.law, self.weights = law, np.ones(len(law)) if weights is None else weights
        self.mean, self.deviation = law.mean, np.sqrt(law.variance)
        with np.errstate(under="ignore"):
            self.zero = np.exp(law.log_probabilities(np.zeros(1))[..., 0])
        means, w = (self.mean, self.weights * self.mean) if among is None else (among.mean, among.mean)
        waves = cosines(self.mean, FASTEST, among=means) * self.weights
        self.features, self.fast = np.concatenate([self.weights[None], waves[:SLOW]]), waves[SLOW:]
        middle = (w @ _log(means)) / max(float(w.sum()), 1e-300)
        self.log_mean = np.where(self.mean > 0.0, _log(self.mean) - middle, 0.0)

    def squares(self, counts: Array) -> FloatArray:
        """Squared residuals of counts (n, 1) or (1, U)."""
        return in_units(np.square(counts - self.mean[:, None]), np.square(self.deviation)[:, None])

    @cached_property
    def _is_wide(self) -> BoolArray:
        return self.deviation > WIDE

    @cached_property
    def _table(self) -> tuple[FloatArray, FloatArray, IntArray]:
        """Probabilities (m,) of the counts that narrow laws may have, their squared residuals, and starts (n,)."""
        law, deviation = self.law.take(~self._is_wide), self.deviation[~self._is_wide]
        p = law.probability_vectors()
        rows, counts = np.nonzero(p > NEVER)
        squares = np.square(counts + law.window[0] - law.mean[rows])
        return p[rows, counts], in_units(squares, np.square(deviation)[rows]), np.searchsorted(rows, range(len(p)))

    @cached_property
    def _moments(self) -> FloatArray:
        """Chebyshev moments (n, panels, K) of the squared residuals of wide laws."""
        law = self.law.take(self._is_wide)
        first, stop = law.window
        precisions = 1.0 / law.variance
        largest = float((np.maximum(stop - law.mean, law.mean - first) ** 2 * precisions).max())
        moments = np.zeros((len(law), max(frexp(largest / END)[1], 0) + 1, DEGREES))
        ends = _ends(moments)
        for part in ranges(len(law), PART // (stop - first)):
            some = law.take(part)
            p = some.probability_vectors()
            chebyshev_moments(p, some.mean, precisions[part], some.window[0], NEVER, ends, moments[part])
        used = np.flatnonzero(moments[:, :, 0].any(axis=0))
        return np.ascontiguousarray(moments[:, : used[-1] + 1])

    def tilted(self, t: float) -> tuple[FloatArray, FloatArray]:
        """Sums of the probabilities times exp(-t r) of squared residuals r, and of these times r, (n,).

        Of wide laws from polynomials that are as good as exp(-t r) to rounding.
        """
        norms, sums = np.empty((2, len(self.mean)))
        if not self._is_wide.all():
            p, squares, starts = self._table
            tilted = p * np.exp(-t * squares)
            narrow = ~self._is_wide
            norms[narrow], sums[narrow] = (np.add.reduceat(one, starts) for one in (tilted, tilted * squares))
        if self._is_wide.any():
            moments = self._moments
            ends = _ends(moments)
            starts = np.where(ends > END, ends / 2.0, 0.0)
            r = (starts + ends)[:, None] / 2.0 + (ends - starts)[:, None] / 2.0 * NODES
            functions = np.exp(-t * r) * np.stack([np.ones(r.shape), r])
            both = moments.reshape(len(moments), -1) @ (functions @ TO_COEFFICIENTS).reshape(2, -1).T
            norms[self._is_wide], sums[self._is_wide] = both.T
        return np.maximum(norms, 1e-300), sums


def _ends(moments: FloatArray) -> FloatArray:
    """Of the panels of squared residuals."""
    return np.asarray(END * 2.0 ** np.arange(moments.shape[1]))


def _log(means: FloatArray) -> FloatArray:
    return np.asarray(np.log(np.where(means > 0.0, means, 1.0)))


@dataclass
class Counts(SeesValues):
    """Counts (B, n)."""

    view: CountView
    targets: Array

    def __post_init__(self) -> None:
        self.law, self.weights = self.view.law, self.view.weights

    @cached_property
    def differences(self) -> FloatArray:
        """``y - m``, (B, n)."""
        return np.asarray(self.targets - self.view.mean)

    @cached_property
    def residuals(self) -> FloatArray:
        """In predicted standard deviations, for the rows."""
        return np.clip(in_units(self.differences, self.view.deviation), -CLIPPED, CLIPPED)

    @cached_property
    def squares(self) -> FloatArray:
        """Their squares."""
        return np.square(self.residuals)

    @cached_property
    def is_zero(self) -> FloatArray:
        """1 where the count is 0."""
        return np.asarray(self.targets == 0, dtype=np.float64)

    @property
    def zeros_in_words(self) -> str:
        """How many of the first targets are 0, and how many should be."""
        weights = self.view.weights
        return instead(float(self.is_zero[0] @ weights), float(self.view.zero @ weights), weights)

    @cached_property
    def first(self) -> Array:
        """Counts (n,) of the first targets."""
        return np.asarray(self.targets[0].astype(np.int64))

    @cached_property
    def log_probabilities(self) -> FloatArray:
        """Those of the first targets."""
        return self.view.law.log_density(self.first)

    def log_ratio(self, law: CountPredictions | None) -> FloatArray:
        """``log Q(y) / P(y)`` of the first targets, (n,)."""
        assert law is not None
        return law.log_density(self.first) - self.log_probabilities


class CountFaults(Faults):
    """Means, dispersion and zeros."""

    def __init__(
        self,
        law: CountPredictions,
        weights: FloatArray | None = None,
        among: CountPredictions | None = None,
        named: FloatArray | None = None,
    ) -> None:
        """Places of corrected predictions are named by the means (n,) of those that users have."""
        self.view = view = CountView(law, weights, among)
        super().__init__(len(law), view.weights)
        self._named = view.mean if named is None else named
        self.compared = (
            Rows("means", 6, means, 2.0),
            Rows("spreads", 5, spreads, 2.0),
            Rows("zeros", 5, zeros),
            Rows("skewness", 1, cubes),
            Rows("waves of means", FASTEST - SLOW, waves_of_means, WEIGHT_OF_WAVES),
            Rows("waves of spreads", FASTEST - SLOW, waves_of_spreads, WEIGHT_OF_WAVES),
        )
        values: tuple[Fault[Any], ...] = (SameValue(len(law)), CutOff(len(law)), Heaped())
        if law.with_mean(view.mean) is None:
            # Other members of the family are not known.
            self.kinds = (Narrow(), Zeros(), FewZeros(), *values)
            return
        kinds: list[Fault[Counts]] = [Factor([Pattern(np.ones(len(law)))]), Spread(view), Narrow()]
        kinds += [Zeros(), MeanKept(), FewZeros(), *values]
        if places := halves(self._named, "predicted means"):
            kinds.append(Factor(places, "local factor"))
        if varies(view.log_mean):
            kinds += [Elasticity([Pattern(view.log_mean)]), Added()]
        self.kinds = tuple(kinds)

    def seen(self, targets: Array) -> Counts:
        return Counts(self.view, targets)

    def following(self, targets: Array) -> Sequence[Fault[Any]]:
        """Waves of the means that the counts, and their squared residuals, follow."""
        view, seen = self.view, self.seen(targets[None])
        if view.law.with_mean(view.mean) is None:
            return ()
        errors = np.concatenate([view.deviation * seen.residuals, seen.squares - 1.0])
        found = following(view.weights * errors, self._named, "predicted means", 2)
        kinds = zip((FactorWave, SpreadWave), found, strict=False)
        return [kind([wave], choices([wave], view.weights)) for kind, wave in kinds]

    def after(self, seen: Counts, correction: CountPredictions | Others) -> tuple[Faults, Counts]:
        if isinstance(correction, Others):
            law, rows = self.view.law, correction.rows
            faults = CountFaults(law.take(rows), self.weights[rows], named=self._named[rows])
            return faults, faults.seen(seen.targets[:1, rows])
        faults = CountFaults(correction, self.weights, named=self._named)
        return faults, faults.seen(seen.targets[:1])


def means(seen: Counts) -> FloatArray:
    """Residuals times features, and differences times the logarithms of the means."""
    view, w = seen.view, seen.view.weights
    rows = [view.features @ seen.residuals.T, (seen.differences @ w)[None]]
    return np.concatenate([*rows, (seen.differences @ (w * view.log_mean))[None]])


def waves_of_means(seen: Counts) -> FloatArray:
    """Residuals times fast waves of the means."""
    return np.asarray(seen.view.fast @ seen.residuals.T)


def waves_of_spreads(seen: Counts) -> FloatArray:
    """Squared residuals times fast waves of the means."""
    return np.asarray(seen.view.fast @ seen.squares.T)


def spreads(seen: Counts) -> FloatArray:
    """Squared residuals times features, and squared differences."""
    squares = np.square(seen.differences) - seen.targets
    return np.concatenate([seen.view.features @ seen.squares.T, (squares @ seen.view.weights)[None]])


def zeros(seen: Counts) -> FloatArray:
    """Zeros that are not too rare, in units of their standard deviation times features, and their number."""
    view = seen.view
    scale = np.sqrt(view.zero * (1.0 - view.zero))
    per_scale = np.divide(1.0, scale, out=np.zeros_like(scale), where=(view.zero > LEAST_ZERO) & (scale > 0.0))
    rows = (view.features * per_scale) @ (seen.is_zero - view.zero).T
    return np.concatenate([rows, (seen.is_zero @ view.weights)[None]])


def cubes(seen: Counts) -> FloatArray:
    """Cubes of the residuals."""
    # Two products take much less time than a power.
    return np.asarray(((np.square(seen.residuals) * seen.residuals) @ seen.view.weights)[None])


class OfLaw(Fault[Counts]):
    """Counts of another law of the family, or of one with the same means."""

    def log_ratio(self, seen: Counts, sibling: int, t: float) -> float:
        return float(seen.view.weights @ seen.log_ratio(self.corrected(seen, sibling, t)))


class Factor(OfLaw, OfPatterns[Counts]):
    """Means that are exp(t s) times as large, with the signs s of a pattern."""

    kind = "factor"
    is_factor = True
    range = (-8.0, 8.0)

    def corrected(self, seen: Counts, sibling: int, t: float) -> CountPredictions | None:
        return seen.view.law.with_mean(seen.view.mean * np.exp(t * self.patterns[sibling].signs))

    def words(self, seen: Counts, sibling: int, fit: Fit) -> str:
        one = self.patterns[sibling]
        rest = one.opposite(f"{about(1.0 / self.size(seen, sibling, fit.t))} times elsewhere")
        much = self.sized(seen, sibling, fit)
        return f"counts are {much} times as large as predicted on average{one.where}{rest}"


class OfWaves(OfPatterns[Counts]):
    """A fault of one sign for some predictions and of the other one for others, by turns."""

    patterns: Sequence[Wave]

    def __init__(self, patterns: Sequence[Wave], n_choices: float) -> None:
        super().__init__(patterns)
        self.n_choices = n_choices

    @abstractmethod
    def sums(self, seen: Counts) -> tuple[FloatArray, FloatArray, FloatArray]:
        """For each prediction (n,) what is expected, how much more there is, and the standard deviation of this."""

    def in_places(self, seen: Counts, sibling: int, text: Callable[[float], str], unit: str) -> str:
        """Words of how many times as large as expected sums are in the places of a wave."""
        expected, excess, deviation = (seen.view.weights * one for one in self.sums(seen))

        def size(some: BoolArray) -> tuple[float, str]:
            more, error = float(excess[some].sum()), float(np.linalg.norm(deviation[some]))
            return abs(more) / max(error, 1e-300), text(1.0 + more / max(float(expected[some].sum()), 1e-300))

        return self.patterns[sibling].in_places(size, "", unit)


class FactorWave(OfWaves, Factor):
    """Means that are too small for some predictions and too large for others, with a wave of the predictions."""

    kind = "wave of factors"
    range = (-2.0, 2.0)

    def sums(self, seen: Counts) -> tuple[FloatArray, FloatArray, FloatArray]:
        return seen.view.mean, seen.differences[0], seen.view.deviation

    def words(self, seen: Counts, sibling: int, fit: Fit) -> str:
        return f"counts are off in places{self.in_places(seen, sibling, about, 'times as large as predicted')}"


class SpreadWave(OfWaves):
    """Variances that are about 1 + 2 |t| times as large where a wave has the sign of t, and so much smaller elsewhere.

    There counts are of the law of the family with another dispersion, here of ``P exp(-|t| (y - m)**2 / v)``.
    """

    kind = "wave of spreads"
    range = (-2.0, 2.0)

    def log_ratio(self, seen: Counts, sibling: int, t: float) -> float:
        view, first = seen.view, seen.first
        more = (self.patterns[sibling].signs * t > 0.0) & (view.mean > 0.0)
        if t == 0.0:
            return 0.0
        law, m, v = view.law.take(more), view.mean[more], np.square(view.deviation[more])
        wider = law.with_dispersion(((1.0 + 2.0 * abs(t)) * v - m) / np.square(m))
        assert wider is not None
        ratios = -abs(t) * view.squares(first[:, None])[:, 0] - np.log(view.tilted(abs(t))[0])
        ratios[more] = wider.log_density(first[more]) - seen.log_probabilities[more]
        return float(view.weights @ ratios)

    def sums(self, seen: Counts) -> tuple[FloatArray, FloatArray, FloatArray]:
        excess, dispersion = seen.squares[0] - 1.0, seen.view.law.dispersion
        kurtosis = 1.0 / np.maximum(np.square(seen.view.deviation), 1e-300)
        return np.ones_like(excess), excess, np.sqrt(2.0 + kurtosis + (0.0 if dispersion is None else 6.0 * dispersion))

    def words(self, seen: Counts, sibling: int, fit: Fit) -> str:
        places = self.in_places(seen, sibling, lambda ratio: about(sqrt(max(ratio, 0.0))), "times as much as predicted")
        return f"counts vary too much and too little in places{places}"


class Elasticity(Factor):
    """Means ``m (m / mean)**t``: the signs are logarithms of ``m / mean``."""

    kind = "elasticity"
    range = (-2.0, 4.0)

    def size(self, seen: Counts, sibling: int, t: float) -> float:
        return 1.0 + t

    def words(self, seen: Counts, sibling: int, fit: Fit) -> str:
        more = "more" if fit.t > 0.0 else "less"
        return f"counts rise {more} than predicted: as the power {self.sized(seen, sibling, fit)} of predicted means"


class Added(OfLaw):
    """Means that are larger by t."""

    kind = "added"
    range = (-inf, inf)

    def bounds(self, seen: Counts, sibling: int) -> tuple[float, float]:
        """Ten standard errors around the mean difference, with positive means."""
        view, w = seen.view, seen.view.weights
        most, reach = float(w @ seen.differences[0]), REACH * sqrt(float(w @ np.square(view.deviation)))
        low, high = ((end(most, 0.0) + side * reach) / w.sum() for end, side in ((min, -1.0), (max, 1.0)))
        return max(low, -LARGEST_PART * float(view.mean.min())), high

    def corrected(self, seen: Counts, sibling: int, t: float) -> CountPredictions | None:
        return seen.view.law.with_mean(seen.view.mean + t)

    def words(self, seen: Counts, sibling: int, fit: Fit) -> str:
        side = "higher" if fit.t > 0.0 else "lower"
        return f"counts are {side} than predicted, by {sized_shift(fit)} on average whatever is predicted"


class Spread(OfLaw):
    """Larger or smaller dispersion: negative binomial counts of another size."""

    kind = "dispersion"
    is_factor = True

    def __init__(self, view: CountView) -> None:
        # Of Poisson counts the dispersion can only be larger: its logarithm is t.
        self._dispersion = view.law.dispersion
        self.range = (-12.0, 6.0) if self._dispersion is None else (-5.0, 5.0)

    def _dispersions(self, seen: Counts, t: float) -> FloatArray:
        own = self._dispersion
        return np.full(len(seen.view.mean), exp(t)) if own is None else own * exp(t)

    def corrected(self, seen: Counts, sibling: int, t: float) -> CountPredictions | None:
        return seen.view.law.with_dispersion(self._dispersions(seen, t))

    def words(self, seen: Counts, sibling: int, fit: Fit) -> str:
        view, w = seen.view, seen.view.weights
        variance = view.mean + self._dispersions(seen, fit.t) * np.square(view.mean)
        times = about(float(w @ variance / (w @ np.square(view.deviation))))
        much = self.sized(seen, sibling, fit)
        if self._dispersion is None:
            return (
                f"predictions are too narrow: variance = mean + {much} mean^2, {times} times that predicted on average"
            )
        wrong = "narrow" if fit.t > 0.0 else "wide"
        return (
            f"predictions are too {wrong}: the dispersion is {much} times that predicted, and variances are {times} "
            "times those predicted on average"
        )


class Narrow(Fault[Counts]):
    """``Q ~ P exp(-t (y - m)**2 / v)``: counts that vary less than predicted."""

    kind = "too wide"
    range = (0.0, 20.0)

    def promising(self, seen: Counts) -> FloatArray:
        """How much smaller the squares are: the likelihood is concave, with its maximum at 0 where they are larger."""
        view = seen.view
        smaller = float(view.weights @ ((view.deviation > 0.0) - view.squares(seen.first[:, None])[:, 0]))
        return np.array([smaller if smaller > 0.0 else -np.inf])

    def log_ratio(self, seen: Counts, sibling: int, t: float) -> float:
        view = seen.view
        squares = view.squares(seen.first[:, None])[:, 0]
        return float(view.weights @ (-t * squares - np.log(view.tilted(t)[0])))

    def size(self, seen: Counts, sibling: int, t: float) -> float:
        norms, squares = seen.view.tilted(t)
        return float(np.average(squares / norms, weights=seen.view.weights))

    def words(self, seen: Counts, sibling: int, fit: Fit) -> str:
        return f"predictions are too wide: variances are {self.sized(seen, sibling, fit)} times those predicted"


class Zeros(Fault[Counts]):
    """``Q = (1 - t) P + t 1{0}``: zeros that come from elsewhere."""

    kind = "zeros"
    range = (0.0, 1.0)

    def log_ratio(self, seen: Counts, sibling: int, t: float) -> float:
        logs = np.log1p(-t) + self._others(seen, t)
        zero = seen.is_zero[0] > 0.0
        logs[zero] = np.logaddexp(logs[zero], np.log(t) - seen.log_probabilities[zero])
        return float(seen.view.weights @ logs)

    def _others(self, seen: Counts, t: float) -> FloatArray:
        """Log likelihood ratios of the law of the counts that are not 0 for this reason."""
        return np.zeros(len(seen.first))

    def words(self, seen: Counts, sibling: int, fit: Fit) -> str:
        much = f"about {self.sized(seen, sibling, fit, percent)} of the counts are 0 whatever is predicted"
        return f"there are too many zeros: {seen.zeros_in_words}; {much}"


class MeanKept(Zeros):
    """The same with a mean m / (1 - t) of the others, so that the mean is as predicted."""

    kind = "zeros, mean kept"
    range = (0.0, 0.99)

    def promising(self, seen: Counts) -> FloatArray:
        """How many more zeros there are: where these are not too many, only the other counts are larger."""
        more = float(seen.view.weights @ (seen.is_zero[0] - seen.view.zero))
        return np.array([more if more > 0.0 else -np.inf])

    def _others(self, seen: Counts, t: float) -> FloatArray:
        return seen.log_ratio(seen.view.law.with_mean(seen.view.mean / (1.0 - t)))

    def words(self, seen: Counts, sibling: int, fit: Fit) -> str:
        larger = about(1.0 / (1.0 - fit.t))
        return f"{super().words(seen, sibling, fit)}, and the others {larger} times as large"


class FewZeros(Zeros):
    """A share t of the zeros does not occur, and other counts do in their place, in proportion to what is predicted."""

    kind = "few zeros"

    def log_ratio(self, seen: Counts, sibling: int, t: float) -> float:
        view, zero = seen.view, seen.is_zero[0] > 0.0
        p = np.minimum(view.zero, 1.0 - 1e-12)
        logs = np.where(zero, np.log(max(1.0 - t, 1e-300)), np.log1p(t * p / (1.0 - p)))
        return float(view.weights @ logs)

    def words(self, seen: Counts, sibling: int, fit: Fit) -> str:
        much = f"about {self.sized(seen, sibling, fit, percent)} of those predicted do not occur"
        return f"there are too few zeros: {seen.zeros_in_words}; {much}"
