"""Intervals for the SKCE that hold for every sample size and every distribution."""

from collections.abc import Sequence
from math import log, sqrt
from typing import Any

from caltest._basics.numerics import ArrayLike, own_errstate
from caltest._results.values import ConfidenceInterval, Side, checked_side, within
from caltest._validation import fraction
from caltest.estimators import SKCE, BlockSKCE
from caltest.hstatistics.bound import h_bound
from caltest.predictions.convert import as_sample


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
      ``|root - KCE|``, and no side of it is better known than the other: every side has the radius r of a, on the scale
      of KCE. D changes by at most ``2 sqrt(B) / n`` with one observation, so ``P(D >= E D + e)`` is at most
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
    B is the smallest one known (``caltest.hstatistics.bound``). Cost: that of the estimate.

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
