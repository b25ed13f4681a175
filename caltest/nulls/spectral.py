"""The limit law of the SKCE, with the eigenvalues of the matrix of h as weights."""

from dataclasses import dataclass

import numpy as np

from caltest._laws.tails import TAILS, Tail, tail_probability
from caltest._validation import one_of, whole_number
from caltest.estimators import Estimator, UStatistic
from caltest.hstatistics.spectrum import h_matrix, spectrum
from caltest.nulls.base import Null, Outcome
from caltest.predictions import Sample


@dataclass(frozen=True)
class LimitLaw(Null):
    """``n SKCE`` against the law of ``sum_r lambda_r (Z_r**2 - 1)``."""

    n_eigenvalues: int | None = None
    tail: Tail = "exact"

    pvalue_kind = "asymptotic"
    statistic_name = "n SKCE"

    def __post_init__(self) -> None:
        if self.n_eigenvalues is not None:
            object.__setattr__(self, "n_eigenvalues", whole_number("n_eigenvalues", self.n_eigenvalues, 1))
        one_of("tail", self.tail, self._tails())

    def _tails(self) -> tuple[Tail, ...]:
        return TAILS

    def check_estimator(self, estimator: Estimator) -> None:
        """Raise unless the estimator is the unbiased SKCE."""
        self._check_unbiased(estimator)

    def _law_name(self) -> str:
        number = "" if self.n_eigenvalues is None else f"the {self.n_eigenvalues} largest "
        return f"{number}eigenvalues, {self.tail} tail"


@dataclass(frozen=True)
class SpectralNull(LimitLaw):
    """Limit law of ``n U`` for the unbiased SKCE U, with the eigenvalues of H / n as weights.

    ``n U -> sum_r lambda_r (Z_r**2 - 1)``, where lambda are the eigenvalues of the operator h, estimated by those of
    the matrix of h, with its diagonal, over n. H is not centred: under the null hypothesis its rows have mean 0.

    Parameters
    ----------
    n_eigenvalues
        How many of the largest are computed, by Lanczos' method; the others are replaced by a multiple of one
        chi-squared variable with their sum and sum of squares. Default: all up to n = 1500, 100 beyond.
    tail
        How the tail of the law is computed: ``"exact"`` by numerical inversion to ten digits, ``"saddlepoint"`` within
        8 % down to 1e-5 and 17 % at any size, ``"pearson3"`` or ``"satterthwaite"`` from three or two moments, good for
        p-values above a percent.

    Raises
    ------
    ValueError
        For another tail or number of eigenvalues.

    Notes
    -----
    Asymptotic, and too conservative for many classes, like the bootstrap: of 400 calibrated models with 100 classes and
    n = 250 it rejects none. Small p-values need no draws. Time O(n**3) for all eigenvalues, O(n**2) for each of the
    largest; memory 16 n**2 bytes (``MemoryError`` if there is less).

    Sources: Gretton, Fukumizu, Harchaoui and Sriperumbudur 2009; Widmann et al. 2019, Theorem G.2, for the limit; Chen
    and Lumley 2019 for the remainder.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.load_digits_predictions()["random forest"]
    >>> test = ct.CalibrationTest(ct.SKCE(p.default_kernel()), ct.SpectralNull())
    >>> test(p, y).pvalue < 1e-9
    True
    """

    citations = ("chen2019", "gretton2009", "widmann2019")

    def outcome(self, estimator: Estimator, sample: Sample, rng: np.random.Generator) -> Outcome:
        """Estimate, n times the estimate, and its tail probability."""
        assert isinstance(estimator, UStatistic)
        matrix, n = h_matrix(estimator.kernel, sample), len(sample)
        estimate = float(matrix.sum() - np.trace(matrix)) / (n * (n - 1))
        matrix /= n
        law = spectrum(matrix, self.n_eigenvalues)
        return Outcome(estimate, n * estimate, tail_probability(law, n * estimate, self.tail))

    def notes(self, estimator: Estimator, n: int) -> tuple[str, ...]:
        """A caution for few observations."""
        if n >= 1000:
            return ()
        return (f"only {n} observations: with many classes the test is too conservative, it rejects too rarely",)

    def describe(self) -> str:
        """The null in one line."""
        return f"limit law with the spectrum of h, {self._law_name()}"
