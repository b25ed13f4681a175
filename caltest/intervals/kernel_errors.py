"""Intervals for the SKCE: from its normal limit with the jackknife variance, and for every sample size."""

from collections.abc import Sequence
from math import log, sqrt
from typing import Any

import numpy as np
import scipy

from caltest._basics.calls import own_errstate
from caltest._basics.numerics import ArrayLike, seed_of
from caltest._results.values import JACKKNIFE, ConfidenceInterval, Side, checked_side, within
from caltest._validation import fraction
from caltest.estimators import SKCE, BlockSKCE
from caltest.estimators.kernel_errors.kernel_estimator import FAMILY_KERNEL
from caltest.hstatistics.tiles import h_bound
from caltest.hstatistics.variances.jackknife import jackknife_of
from caltest.kernels import PairKernel
from caltest.kernels.product import a_pair_kernel
from caltest.predictions import Sample
from caltest.predictions.inputs.convert import as_sample


@own_errstate
def skce_interval(
    predictions: ArrayLike,
    targets: ArrayLike,
    kernel: PairKernel | None = None,
    *,
    classes: Sequence[Any] | None = None,
    confidence_level: float = 0.95,
    side: Side = "two-sided",
    rng: Any = None,
) -> ConfidenceInterval:
    """Confidence interval for the squared kernel calibration error.

    From ``U - z s`` to ``U + z s(u)`` with the unbiased estimator U of all pairs; cut at 0 and at the largest value B
    that the error can have. The standard error s is that of the jackknife, or the root of what its square is expected
    to be if the predictions are calibrated, if that is larger: estimates of the variance are too small as long as rare
    events have not occurred. For an error as large as the upper end u it is ``s(u) = max(s min(sqrt(u / U), 1.5),
    c u**0.75)`` with ``c = min(s / (U - s)**0.75, sqrt(2.5 sqrt(B) / n))``, whose second part is for an error that
    comes from rare surprises, none of which has been seen yet.

    Parameters
    ----------
    predictions, targets, classes
        As in ``calibration_test``; n >= 3.
    kernel
        Of predictions and targets; by default that of ``calibration_test``. Intervals for several models compare the
        same quantity only if the kernel is the same.
    confidence_level
        Between 0 and 1.
    side
        ``"two-sided"``, or ``"upper"`` for [0, u], which is what to report where a test does not reject calibration, or
        ``"lower"`` for [l, largest value].
    rng
        Seed or ``numpy.random.Generator``, of redraws of the targets for the expected square, where there is no formula
        for it: for families other than classes, counts, and normal predictions with a Gaussian kernel of targets.

    Returns
    -------
    ConfidenceInterval
        For the SKCE; its ``root()`` is that of the kernel calibration error itself. Its ``estimate`` is U, cut as the
        interval is.

    Raises
    ------
    ValueError
        For bad data, fewer than 3 observations, or no variation of h, neither observed nor expected (predictions
        that are certain and all right, say), which leaves no scale; ``distribution_free_interval`` is for those.

    Notes
    -----
    Assumes independent observations. Asymptotic. Shorter 95 % intervals, with the standard error of the jackknife and
    the first part of s(u) alone, cover 96.5 to 100 % on two sides, at least 95.7 % of upper and 96.2 % of lower bounds,
    in 20 000 simulations of each of 10 classes of Dir(0.1), n = 50 and 250, of the models M1, W2, OC, M2 and M3
    (``ct.generators.class_model``) and the kernel ``exp(-TV / nu) x [y = y']`` of fixed nu. Of 400
    data sets each of rare events (Beta(0.3, 12), n = 33; Beta(0.3, 60), n = 250; Beta(2, 98), n = 100), calibrated, 0.3
    to 5 times as frequent as predicted and more frequent by 0.02 and 0.1, these intervals cover 97.5 to 100 % on two
    sides, at least 95.7 % of upper and 98.5 % of lower bounds; with the jackknife alone 65 % of the lower bounds. Of
    two classes whose events are all more frequent than predicted only 90.1 % of 1000 upper bounds cover at n = 200:
    where ``EquivalenceTest`` rejects at its margin (``docs/error-rates.md``).

    The asymptotic variance 4 zeta_1 with an unbiased estimate of zeta_1 is too small near calibration, where U is
    degenerate; the jackknife variance includes the part of order 1/n**2. Time O(n**2 k), memory O(n k).

    Sources: Widmann et al. 2019, Theorem G.1, for the limit; Efron and Stein 1981 for the jackknife variance.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["random forest"]
    >>> print(ct.skce_interval(p, y))
    [0.001604, 0.002321] (95 %, jackknife, normal limit)
    """
    level, side = fraction("confidence_level", confidence_level), checked_side(side)
    sample = as_sample(predictions, targets, classes)
    kernel = a_pair_kernel("kernel", FAMILY_KERNEL if kernel is None else kernel)
    found = jackknife_interval(kernel.resolve(sample.predictions), sample, level, side, rng)
    if found is None:
        raise ValueError(
            "predictions: h does not vary over the observations, so the normal limit has no scale; use "
            "distribution_free_interval(predictions, targets, SKCE(kernel))"
        )
    return found


def jackknife_interval(
    kernel: PairKernel, sample: Sample, level: float, side: Side, rng: Any
) -> ConfidenceInterval | None:
    """The interval for a checked sample and a resolved kernel; None where h does not vary."""
    found = jackknife_of(kernel, sample, np.random.default_rng(seed_of(rng)))
    if found.standard_error == 0.0:
        return None
    z = float(scipy.special.ndtri((1.0 + level) / 2.0 if side == "two-sided" else level))
    # Upper bounds of levels below 1/2 would lie below the estimate, where the standard error does not grow.
    high = found.high(z) if z >= 0.0 else found.low(-z)
    bound = h_bound(kernel, sample.predictions)
    return within(side, found.low(z), high, bound, level, JACKKNIFE, found.estimate)


@own_errstate
def distribution_free_interval(
    predictions: ArrayLike,
    targets: ArrayLike,
    estimator: SKCE | BlockSKCE,
    *,
    classes: Sequence[Any] | None = None,
    confidence_level: float = 0.95,
    side: Side = "two-sided",
) -> ConfidenceInterval:
    """Confidence interval for the squared kernel calibration error that covers it for every n and distribution.

    With a = 1 - confidence_level, B = ``sup |h|`` and N independent pairs:

    - Unbiased estimators U, ``SKCE(kernel)`` with N = floor(n/2) and ``BlockSKCE(kernel, b)`` with N = floor(n/b)
      floor(b/2). Each of ``P(U - SKCE >= t)`` and ``P(U - SKCE <= -t)`` is at most ``exp(-N t**2 / (2 B**2))``, so the
      one-sided radius is ``B sqrt(2 log(1/a) / N)`` and the two-sided one has a/2 in place of a.
    - The biased estimator, ``SKCE(kernel, unbiased=False)``, whose root is the norm of a mean of independent vectors
      phi_i with ``|phi_i|**2 = h_ii <= B``. The distance D of that mean from its expectation is at least
      ``|root - KCE|``, whichever is larger, so that one-sided and two-sided intervals have the same radius r, on the
      scale of KCE. D changes by at most ``2 sqrt(B) / n`` with one observation, so ``P(D >= E D + e)`` is at most
      ``exp(-e**2 n / (2 B))`` by McDiarmid's inequality, and ``E D <= sqrt(E D**2) <= sqrt(B / n)``. Hence
      ``r = sqrt(B / n) (1 + sqrt(2 log(1/a)))``, and the ends are squared.

    Both are cut at 0 and at B, the largest value of the SKCE.

    Parameters
    ----------
    predictions, targets, classes
        As in ``calibration_test``.
    estimator
        One of the three above.
    confidence_level, side
        As in ``skce_interval``.

    Returns
    -------
    ConfidenceInterval
        For the SKCE; ``root()`` is that of the KCE.

    Raises
    ------
    ValueError
        For bad data, or too few for the estimator.

    Notes
    -----
    Assumes independent observations and a kernel that does not depend on the targets; a ``"median"`` bandwidth is taken
    as given. For small errors the biased estimator gives shorter upper bounds, of order 1/n instead of 1/sqrt(n).
    B is the smallest one known (``caltest.hstatistics.tiles``). Cost: that of the estimate.

    Sources: Widmann et al. 2019, Theorems H.1, H.3 and H.4. Theorem H.1 has 2 in place of 1 in r, because it bounds E D
    by symmetrisation instead of by the second moment; Theorem H.4 is that for b = 2.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["random forest"]
    >>> kernel = p.default_kernel()
    >>> print(ct.distribution_free_interval(p, y, ct.SKCE(kernel), side="upper"))
    [0, 0.233] (95 %, distribution-free bound)
    >>> print(ct.distribution_free_interval(p, y, ct.SKCE(kernel, unbiased=False), side="upper"))
    [0, 0.04334] (95 %, distribution-free bound)
    """
    level, side = fraction("confidence_level", confidence_level), checked_side(side)
    if not isinstance(estimator, (SKCE, BlockSKCE)) or (isinstance(estimator, BlockSKCE) and not estimator.unbiased):
        raise TypeError(
            f"estimator: got {estimator!r}, wanted SKCE(kernel), SKCE(kernel, unbiased=False) or unbiased "
            "BlockSKCE(kernel, block_size)"
        )
    sample = as_sample(predictions, targets, classes)
    estimator.check(sample.predictions)
    estimator = estimator.resolve(sample.predictions)
    estimate, bound, n = estimator.estimate(sample), h_bound(estimator.kernel, sample.predictions), len(sample)
    if estimator.unbiased:
        pairs = n // 2 if isinstance(estimator, SKCE) else estimator.n_terms(n) * (estimator.block_size // 2)
        alpha = (1.0 - level) / 2.0 if side == "two-sided" else 1.0 - level
        reach = bound * sqrt(2.0 * log(1.0 / alpha) / pairs)
        low, high = estimate - reach, estimate + reach
    else:
        root, reach = sqrt(max(0.0, estimate)), sqrt(bound / n) * (1.0 + sqrt(2.0 * log(1.0 / (1.0 - level))))
        low, high = max(0.0, root - reach) ** 2, (root + reach) ** 2
    return within(side, low, high, bound, level, "distribution-free bound", estimate)
