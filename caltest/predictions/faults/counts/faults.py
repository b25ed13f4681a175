"""Faults of predicted counts, and the rows of numbers that tests compare."""

from collections.abc import Sequence
from operator import attrgetter
from typing import Any

import numpy as np

from caltest._basics.numerics import Array, FloatArray
from caltest.predictions.counts.law import CountPredictions
from caltest.predictions.faults.counts.heaped import Heaped
from caltest.predictions.faults.counts.means import Added, BentElasticity, Elasticity, Factor, FactorWave, Step
from caltest.predictions.faults.counts.outliers import Outliers
from caltest.predictions.faults.counts.seen import Counts, CountView
from caltest.predictions.faults.counts.spreads import Narrow, Spread, SpreadWave
from caltest.predictions.faults.counts.zeros import FewZeros, MeanKept, Zeros
from caltest.predictions.faults.fault import Fault, Faults, Products, Rows, varies
from caltest.predictions.faults.other_rows import OtherRows
from caltest.predictions.faults.patterns import Pattern, bends, ends, halves
from caltest.predictions.faults.values import CutOff, Others, SameValue
from caltest.predictions.faults.waves import WEIGHT_OF_WAVES, choices, following

LEAST_ZERO = 1e-6
"""Predicted probabilities of 0 below which zeros have no row."""


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
            Products("skewness", view.weights[None], cubes),
            Products("waves of means", view.fast, attrgetter("residuals"), WEIGHT_OF_WAVES),
            Products("waves of spreads", view.fast, attrgetter("squares"), WEIGHT_OF_WAVES),
        )
        everywhere = [Pattern(np.ones(len(law)))]
        values: tuple[Fault[Any], ...] = (SameValue(len(law)), CutOff(len(law)), Heaped(), OtherRows())
        if law.with_mean(view.mean) is None:
            # Other members of the family are not known.
            self.kinds = (Narrow(), Zeros(everywhere), FewZeros(), *values)
            return
        kinds: list[Fault[Counts]] = [Factor(everywhere), Spread(view, everywhere), Narrow(), Zeros(everywhere)]
        kinds += [MeanKept(everywhere), FewZeros(), Outliers(float(self.weights.sum())), Step(), *values]
        name = "predicted means"
        if places := halves(self._named, name):
            one_half = [Pattern(np.abs(one.signs), one.where.strip()) for one in places[1:]]
            kinds += [Factor([*places, *ends(self._named, name)], "local factor"), Zeros(one_half, "local zeros")]
            kinds.append(Spread(view, one_half, "local dispersion"))
        if varies(view.log_mean):
            kinds += [Elasticity([Pattern(view.log_mean)]), Added()]
            if bent := bends(self._named, name, view.log_mean):
                kinds.append(BentElasticity(bent, "local elasticity"))
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
        kinds = [kind([wave]) for kind, wave in zip((FactorWave, SpreadWave), found, strict=False)]
        for one, wave in zip(kinds, found, strict=True):
            one.n_choices = choices([wave], view.weights)
        return kinds

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
    """Those of the residuals, as two products, which take much less time than a power."""
    return np.asarray(seen.squares * seen.residuals)
