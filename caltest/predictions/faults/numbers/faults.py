"""Faults of predicted numbers, on the scale of their standard scores z: in place, spread and shape."""

from collections.abc import Sequence
from copy import copy
from functools import partial
from math import exp
from typing import Any

import numpy as np
import scipy

from caltest._basics.numerics import Array, FloatArray
from caltest.predictions.base import Predictions
from caltest.predictions.faults.fault import Fault, Faults, Products, Rows, cosines, varies
from caltest.predictions.faults.numbers import errors, shapes
from caltest.predictions.faults.numbers.members import MemberAmount, MemberFactor, MemberOutliers, faults_of_members
from caltest.predictions.faults.numbers.ranks import shapes_of_ranks, shifts_of_ranks
from caltest.predictions.faults.numbers.scores import ROUNDING, SCORES, SQUARES, Scores
from caltest.predictions.faults.numbers.ties import SharedValue, Total, pools_of, rows_of_value, shared_value
from caltest.predictions.faults.other_rows import OtherRows
from caltest.predictions.faults.patterns import Pattern, bends, ends, halves
from caltest.predictions.faults.values import CutOff, Others, SameValue
from caltest.predictions.faults.waves import FASTEST, SLOW, WEIGHT_OF_WAVES, waves
from caltest.predictions.faults.words import Fit

INSTEAD_OF_FACTOR = 8.0
"""By how much larger the likelihood of a shift of positive outcomes has to be, to be named in place of a factor."""

SPREADS_DIFFER = 2.0
"""Variance of the logarithms of variances of members, beside that of normal draws with equal ones, from which on these
are not alike."""

LEAST_POOL = 6
"""Members and outcome from which on places are looked for."""


class Factor(Fault[Scores]):
    """Positive outcomes that are all exp(t) times as large."""

    kind = "factor"
    # Other laws than that of the predictions have no density here.
    is_factor = of_targets = True
    range = (-12.0, 12.0)

    def log_ratio(self, seen: Scores, sibling: int, t: float) -> float:
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = seen.law.log_density(seen.targets[0] * exp(-t)) - t - seen.law.log_density(seen.targets[0])
        return seen.total_of_densities(logs)

    def words(self, seen: Scores, sibling: int, fit: Fit) -> str:
        return f"outcomes are {self.sized(seen, sibling, fit)} times as large as predicted"


class NumberFaults(Faults):
    """Those of continuous distributions, or with scores that are none of normal ones only shifts and scales.

    Features of the predictions are the mean (or the median where there is no mean) and the variance, by their ranks
    among all predictions, or among some of them.
    """

    def __init__(
        self, predictions: Predictions, weights: FloatArray | None = None, among: Predictions | None = None
    ) -> None:
        law = predictions.law
        mean, variance = errors.location_and_variance(predictions)
        super().__init__(len(law), weights)
        self._law, self._spread = law, variance > 0.0
        one = np.ones((1, len(law)))
        means, variances = (None, None) if among is None else errors.location_and_variance(among)
        by_mean, by_variance = cosines(mean, FASTEST, among=means), cosines(variance, FASTEST, among=variances)
        features = np.concatenate([one, by_mean[:SLOW], by_variance[:2]]) * self.weights
        fast = np.concatenate([by_mean[SLOW:], by_variance[2:]]) * self.weights
        self._named = [(mean, "predicted means"), (variance, "predicted variances")]
        everywhere = [Pattern(one[0])]
        scale = errors.Spread if getattr(law, "spread_keeps_mean", False) else errors.Scale
        kinds: list[Fault[Scores]] = [errors.Shift(everywhere), scale(everywhere)]
        compared: list[Rows[Scores]] = [
            Products("shift", features, SCORES, 2.0),
            Products("scale", features, SQUARES, 2.0),
            Products("waves of shifts", fast, SCORES, WEIGHT_OF_WAVES),
            Products("waves of scales", fast, SQUARES, WEIGHT_OF_WAVES),
        ]
        deviations = errors.deviations_of(law) if law.pool_size is None else None
        if law.pool_size is None:
            if places := [place for find in (halves, ends) for one in self._named for place in find(*one)]:
                kinds += [errors.Shift(places, "local shift"), errors.Scale(places, "local scale")]
            if bent := [*waves(mean, "predicted means", SLOW), *waves(variance, "predicted variances", 2)]:
                kinds += [errors.ShiftWave(bent, "wave of shifts"), errors.ScaleWave(bent, "wave of scales")]
            if deviations is not None and varies(deviations):
                kinds += [
                    errors.ShiftInUnits(everywhere, [deviations]),
                    errors.AddedNoise(deviations),
                    errors.SpreadPower(deviations),
                ]
                if places:
                    kinds.append(errors.ShiftInUnits(places, len(places) * [deviations], "local shift in units"))
            if varies(mean):
                kinds.append(errors.Slope(mean) if deviations is None else errors.SlopeInUnits([mean], [deviations]))
                if deviations is None:
                    kinds.append(errors.BentRanks(bends(mean, "predicted means")))
                else:
                    kinds.append(errors.BentSlope(bends(mean, "predicted means", mean), deviations))
        is_large = law.pool_size is not None and law.pool_size >= LEAST_POOL
        if is_large or (law.is_continuous and law.has_scale and len(law.shape) == 1):
            kinds += [SameValue(len(law)), CutOff(len(law))]
            if not is_large:
                kinds.append(OtherRows())
        if law.has_normal_scores:
            kinds += [
                shapes.Skew(),
                shapes.HeavyTails(),
                shapes.LightTails(in_units=deviations is not None),
                shapes.Outliers(float(self.weights.sum())),
            ]
            compared.append(Rows("skew", 4, partial(shapes.third_moments, features[:2])))
            compared.append(Rows("heavy tails", 4, partial(shapes.fourth_moments, features[:2])))
            if getattr(law, "starts_at_0", False):
                # In words that suit positive outcomes, where a shift of scores is nearly the same.
                kinds[0].n_choices = INSTEAD_OF_FACTOR
                kinds.insert(0, Factor())
        self._shared: float | None = None
        if law.pool_size is not None:
            pools = pools_of(law)
            self._shared = shared_value(pools if among is None else pools_of(among.law))
            if self._shared is not None:
                compared.append(rows_of_value(self._shared, features[:2]))
                kinds = [SharedValue(self._shared, pools), *([Total(pools)] if bool((pools >= 0.0).all()) else [])]
        # The outcome of two values is above their middle or below it, and no amount follows from that.
        self.kinds, self.compared = tuple(kinds) if law.has_spread else (), tuple(compared)

    def seen(self, targets: Array) -> Scores:
        return Scores(self._law, targets, self.weights, self._spread)

    def following(self, targets: Array) -> Sequence[Fault[Any]]:
        """Waves that the errors follow, and for ensembles shifts by the mean of the members."""
        size, seen = self._law.pool_size, self.seen(targets[None])
        if not self._law.has_spread:
            return ()
        if size is None:
            return errors.following_waves(seen, self._named, SLOW + 1)
        if self._shared is not None:
            return [*shifts_of_ranks(seen), *shapes_of_ranks(seen)]
        places = _places_of_pools(seen) if size >= LEAST_POOL else ()
        return [*places, *shapes_of_ranks(seen), *self._of_members(seen)]

    def _of_members(self, seen: Scores) -> Sequence[Fault[Any]]:
        """Of ensembles outliers, single members, and a factor of positive outcomes."""
        law: Any = self._law
        if not hasattr(law, "given"):  # Scenarios that are no pools.
            return ()
        kinds: list[Fault[Any]] = [*(() if law.given is None else faults_of_members(law.given))]
        variances = law.without(seen.targets[0]).members.var(axis=1)
        of_equal = float(scipy.special.polygamma(1, 0.5 * law.n_members - 1.0))
        # Two members say too little of their spread: no sum of differences in its units has an error that is known.
        if (
            law.n_members > 3
            and bool((variances > ROUNDING * law.members.var(axis=1)).all())
            and float(np.log(variances).var()) > SPREADS_DIFFER * of_equal
        ):
            kinds.append(MemberAmount(seen))
        if law.n_members >= LEAST_POOL:
            kinds.append(MemberOutliers(seen))
        if bool((law.members > 0.0).all()):
            kinds.append(MemberFactor(seen))
        return kinds

    def after(self, seen: Scores, correction: FloatArray | Scores | Others) -> tuple[Faults, Scores]:
        if isinstance(correction, Scores) and seen.pool_df is not None:
            faults = NumberFaults(correction.law, self.weights)
            return faults.to_name(correction.targets[0]), correction
        if isinstance(correction, Others):
            faults = NumberFaults(seen.law.take(correction.rows), self.weights[correction.rows])
            return faults, faults.seen(seen.targets[:1, correction.rows])
        faults = copy(self)
        if seen.pool_df is not None:
            # What is said of places is what errors add to what those of the members say.
            faults.kinds = tuple(
                one for one in self.kinds if getattr(one, "of_members", None) is None or isinstance(one, errors.Scale)
            )
        return faults, seen.after(correction)


def _places_of_pools(seen: Scores) -> list[errors.OfErrors]:
    """Shifts and scales of ensembles by the mean of the members, and scales by their variance."""
    residuals, ((mean, by_mean), (variance, by_variance)) = seen.in_pools()
    name, kinds = "predicted means", list[errors.OfErrors]()
    kinds += [errors.ShiftWave(bent, "wave of shifts")] if (bent := waves(mean, name, SLOW)) else []
    kinds += errors.following_waves(seen, [(mean, name)], SLOW + 1)[:1]
    kinds += [errors.Shift(places, "local shift")] if (places := halves(mean, name)) else []
    kinds += [errors.Slope(mean), errors.BentRanks(bends(mean, name))] if varies(mean) else []
    for fault in kinds:
        fault.beside(seen, residuals, len(fault.patterns) * [by_mean])
    # Members that are all equal do not say what the spread is.
    known = bool((variance > 0.0).all())
    if of_spreads := [*places, *(halves(variance, "predicted variances") if known else ())]:
        kinds.append(errors.Scale(of_spreads, "local scale"))
        by = len(places) * [by_mean] + (len(of_spreads) - len(places)) * [by_variance]
        kinds[-1].beside(seen, residuals, by)
    return kinds
