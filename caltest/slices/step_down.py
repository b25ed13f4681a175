"""P-values of many statistics from the same redraws, each alone and adjusted for all, without keeping the redraws."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from caltest._basics.numerics import FloatArray, ranges
from caltest._basics.threads import threaded

AT_ONCE = 64
"""Redraws whose sums are taken together."""

ROUNDING = 1e-9
"""Statistics that differ by less are equal."""


class StepDown(NamedTuple):
    """P-values (S,) of statistics as if there were no others, those adjusted for all, and maxima (B,) of redraws."""

    alone: FloatArray
    adjusted: FloatArray
    maxima: FloatArray


def adjusted_by_redraws(
    observed: FloatArray,
    redrawn: Callable[[np.random.Generator, int], FloatArray],
    n_resamples: int,
    seed: int,
    what: str,
    work: float,
    at_once: int = AT_ONCE,
) -> StepDown:
    """Compare statistics (S,) with redraws of them, (S, size) of each call, by the step-down maximum.

    From the largest observed statistic down, each is compared with the largest redrawn one of itself and those after
    it; adjusted p-values never fall (Westfall and Young 1993). Redraws depend on how many are made ``at_once``.
    """
    order = np.argsort(observed, kind="stable")
    least = (observed[order] - ROUNDING)[:, None]
    parts = list(ranges(n_resamples, at_once))
    streams = np.random.default_rng(seed).spawn(len(parts))

    def compared(i: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        values = redrawn(streams[i], parts[i].stop - parts[i].start)[order]
        own = np.count_nonzero(values >= least, axis=1)
        # In each redraw the largest of all that are not larger in the data, from the smallest up.
        largest = np.maximum.accumulate(values, axis=0)
        return own, np.count_nonzero(largest >= least, axis=1), largest[-1]

    counts, maxima = np.zeros((2, observed.size)), []
    for own, joint, most in threaded(compared, range(len(parts)), len(parts), what, work=work):
        counts += own, joint
        maxima.append(most)
    in_order = (1.0 + counts) / (1.0 + n_resamples)
    pvalues = np.empty_like(counts)
    # From the largest statistic down, adjusted p-values never fall.
    pvalues[:, order] = in_order[0], np.maximum.accumulate(in_order[1, ::-1])[::-1]
    return StepDown(pvalues[0], pvalues[1], np.concatenate(maxima))
