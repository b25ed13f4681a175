"""The law of the SKCE given the predictions, with normal vectors in place of residuals."""

from dataclasses import dataclass

import numpy as np

from caltest._laws.tails import TAILS, Tail, tail_probability
from caltest._validation import one_of, whole_number
from caltest.estimators import Estimator, LowRankSKCE, UStatistic
from caltest.hstatistics.spectrum import conditional_spectrum, spectrum
from caltest.nulls.base import Null, Outcome, require_finite
from caltest.predictions import Sample


@dataclass(frozen=True)
class ConditionalSpectralNull(Null):
    """Law of ``n U`` given the predictions, with normal residuals of the known covariances in place of the true ones.

    Given the predictions, residuals e_Y - p are independent with mean 0 and covariance ``diag(p) - p p'``. With normal
    vectors in their place ``n U`` is a sum of chi-squared variables whose weights follow from the predictions alone
    (``caltest.hstatistics.spectrum.conditional_spectrum``). It has the variance of n U given the predictions, exactly,
    and all of its third moment but the part of single pairs.

    Parameters
    ----------
    n_eigenvalues
        How many of the largest are computed. Default: all if the matrix has at most 1500 rows, 100 beyond.
    tail
        How the tail of the law is computed: ``"exact"`` by numerical inversion to ten digits, ``"saddlepoint"`` within
        8 % down to 1e-5 and 17 % at any size, or ``"pearson3"`` from three moments, good for p-values above a percent.

    Raises
    ------
    TypeError
        In a test of predictions with infinitely many outcomes.
    ValueError
        For another tail or number of eigenvalues.

    Notes
    -----
    Asymptotic: at the 5 % level it rejects 2 to 8 % of calibrated predictions in simulations with rare events, ties and
    few uncertain rows, as ``PearsonNull`` does at a fraction of the cost; its smaller p-values are closer, and it takes
    sums of kernels and ``LowRankSKCE``. It uses no random numbers and gives small p-values. Assumes that the targets
    are independent given the predictions. The matrix has n (k - 1) rows; its eigenvalues take time O(n**3 k**3), or
    O(n**2 k) for each of the largest. Memory 24 n**2 bytes, and 24 n**2 k**2 for all eigenvalues. With ``LowRankSKCE``
    of rank r the matrix has r k rows, for any n: time O(n r**2 k**2), memory O(r**2 k**2); the variance is then a
    little too large, by what the pairs of an observation and itself add, so that p-values for fewer than some hundred
    observations are too large.

    Sources: Widmann et al. 2019, Theorem G.2, for the limit; Chen and Lumley 2019 for the remainder of a spectrum. The
    covariances are those of the hypothesis itself; compare le Cessie and van Houwelingen 1991 for a smoothed test of
    logistic regression with its exact mean and variance.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.load_digits_predictions()["naive Bayes"]
    >>> test = ct.CalibrationTest(ct.SKCE(p.default_kernel()), ct.ConditionalSpectralNull())
    >>> test(p.take(slice(0, 100)), y[:100]).pvalue < 1e-9
    True
    """

    citations = ("chen2019", "widmann2019")

    n_eigenvalues: int | None = None
    tail: Tail = "exact"

    pvalue_kind = "asymptotic"
    statistic_name = "n SKCE"

    def __post_init__(self) -> None:
        if self.n_eigenvalues is not None:
            object.__setattr__(self, "n_eigenvalues", whole_number("n_eigenvalues", self.n_eigenvalues, 1))
        one_of("tail", self.tail, TAILS)

    def check_estimator(self, estimator: Estimator) -> None:
        """Raise unless the estimator is the unbiased SKCE, of low rank or not."""
        if not isinstance(estimator, LowRankSKCE) or not estimator.unbiased:
            self._check_unbiased(estimator)

    def outcome(self, estimator: Estimator, sample: Sample, rng: np.random.Generator) -> Outcome:
        """Estimate, n times the estimate, and its tail probability."""
        require_finite(sample, f"MonteCarloTest({type(estimator).__name__}(kernel))")
        n, estimate = len(sample), estimator.estimate(sample)
        if isinstance(estimator, LowRankSKCE):
            law = spectrum(estimator.covariance(sample.predictions), self.n_eigenvalues)
        else:
            assert isinstance(estimator, UStatistic)
            law = conditional_spectrum(estimator.kernel, sample.predictions, self.n_eigenvalues)
        law = law.times(1.0 / (n - 1))
        return Outcome(estimate, n * estimate, tail_probability(law, n * estimate, self.tail))

    def describe(self) -> str:
        """The null in one line."""
        number = "" if self.n_eigenvalues is None else f"the {self.n_eigenvalues} largest "
        return f"normal residuals of the covariances given the predictions, {number}eigenvalues, {self.tail} tail"
