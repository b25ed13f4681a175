"""Hotelling's T-squared for estimates that are functions of a mean vector."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from caltest._basics.numerics import FloatArray
from caltest._validation import at_least, one_of
from caltest.estimators import UCME, Estimator
from caltest.nulls.base import Null, Outcome
from caltest.predictions import Sample


@dataclass(frozen=True)
class HotellingNull(Null):
    """``T**2 = n m' S**-1 m`` of the mean m and the covariance S of n deviations in J dimensions.

    Parameters
    ----------
    distribution
        ``"F"``: ``(n - J) / (J (n - 1)) T**2`` is compared with F(J, n - J), exact for normal deviations.
        ``"chi2"``: T**2 is compared with chi-squared with J degrees of freedom, as in the 2021 paper.

    Raises
    ------
    ValueError
        For another distribution; in a test, for n <= J and for a singular covariance.

    Notes
    -----
    Asymptotic, and far too liberal for small n, with both: deviations are far from normal at test locations that
    few predictions are close to. Time O(n J k + n J**2), memory O(n J).

    Source: Widmann et al. 2021, appendix C.3, who use the chi-squared limit.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["random forest"]
    >>> ucme = ct.UCME(p.default_kernel(), test_predictions=p.take(slice(0, 2)), test_targets=[6, 3])
    >>> ct.CalibrationTest(ucme, ct.nulls.HotellingNull("chi2"))(p, y).df
    (2.0,)
    """

    citations = ("widmann2021",)

    distribution: Literal["F", "chi2"] = "F"

    pvalue_kind = "asymptotic"
    statistic_name = "Hotelling T^2"
    requires = UCME
    wanted = "a mean of vectors: UCME(kernel, test_predictions, test_targets)"

    def __post_init__(self) -> None:
        one_of("distribution", self.distribution, ("F", "chi2"))

    def check_size(self, estimator: Estimator, n: int) -> None:
        assert isinstance(estimator, UCME)
        count = len(estimator.locations)
        at_least(n, count + 1, f"{count} test locations (one more than there are)")

    def outcome(self, estimator: Estimator, sample: Sample, rng: np.random.Generator) -> Outcome:
        from scipy.special import chdtrc, fdtrc

        assert isinstance(estimator, UCME)
        deviations = estimator.deviations(sample)
        n, j = deviations.shape
        t_squared = _t_squared(deviations)
        estimate = float(np.mean(deviations.mean(axis=0) ** 2))
        if self.distribution == "chi2":
            return Outcome(estimate, t_squared, float(chdtrc(j, t_squared)), df=(float(j),))
        pvalue = float(fdtrc(j, n - j, (n - j) / (j * (n - 1)) * t_squared))
        return Outcome(estimate, t_squared, pvalue, df=(float(j), float(n - j)))

    def notes(self, estimator: Estimator, n: int) -> tuple[str, ...]:
        rates = "88 % and 17 %" if self.distribution == "chi2" else "23 % and 14 %"
        return (
            "the limit law of this test is reached slowly: at the 5 % level, with 10 random locations and normal "
            f"predictions, it rejects {rates} of calibrated models at n = 16 and 256, and up to 95 % of rare "
            "events; confirm with MonteCarloTest",
        )

    def describe(self) -> str:
        law = "F(J, n - J)" if self.distribution == "F" else "chi-squared(J)"
        return f"Hotelling's T^2 of the mean deviation, {law} law"


def _t_squared(deviations: FloatArray) -> float:
    """``n m' S**-1 m`` from the singular values of the centred deviations, scaled to variance 1.

    The covariance itself is not formed: its condition number is the square of that of the deviations, which is
    large for smooth kernels.
    """
    n, j = deviations.shape
    mean = deviations.mean(axis=0)
    scale = deviations.std(axis=0, ddof=1)
    constant = scale <= 1e-14 * np.abs(deviations).max(axis=0)
    if constant.any():
        raise ValueError(
            f"test_predictions: the deviations at location {int(np.argmax(constant))} do not vary (no prediction is "
            "close to it, or all predictions are certain), so their covariance is singular; move it or use "
            "MonteCarloTest"
        )
    _, singular, axes = np.linalg.svd((deviations - mean) / scale, full_matrices=False)
    if singular[-1] <= n * np.finfo(float).eps * singular[0]:
        raise ValueError(
            f"test_predictions: the covariance of the deviations at the {j} locations is singular: some locations "
            "are duplicates, or all predictions look alike from them; take fewer or other locations, or MonteCarloTest"
        )
    return float(n * (n - 1) * np.sum((axes @ (mean / scale) / singular) ** 2))
