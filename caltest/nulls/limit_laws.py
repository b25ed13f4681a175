"""Laws of statistics for many observations."""

from dataclasses import dataclass
from math import sqrt
from typing import Any, Literal

import numpy as np
import scipy

from caltest._basics.numerics import FloatArray, IntArray
from caltest._laws import pearson3_tail
from caltest._results.calibration_test_result import PValueKind
from caltest._validation import at_least, choice, switch, whole
from caltest.estimators import SKCE, UCME, BlockSKCE, Estimator, HasTextbookLaw
from caltest.estimators.base import TextbookTail
from caltest.estimators.combined.findings import LEVEL
from caltest.hstatistics.variances.moments import standard_deviations, third_moment
from caltest.hstatistics.variances.null_variance import has_formula, variance_of_blocks
from caltest.nulls.base import Null, Outcome, SummableNull
from caltest.nulls.monte_carlo import ConditionalMonteCarlo
from caltest.predictions import Predictions, Sample

FEW_TERMS = 30
"""Below this many terms the tails of a studentised mean are visibly heavier than normal ones."""


@dataclass(frozen=True)
class Moments:
    """Number of terms, their mean, the sum of their squared deviations from it, and the largest absolute value.

    Beside these the sum of their variances given the predictions, 0 where it is not asked for or known.
    """

    n: int
    mean: float
    squares: float
    largest: float
    variances: float = 0.0

    @classmethod
    def of(cls, terms: FloatArray, variances: float) -> "Moments":
        """Moments of some terms."""
        mean = float(terms.mean())
        return cls(terms.size, mean, float(np.sum((terms - mean) ** 2)), float(np.abs(terms).max()), variances)

    def __add__(self, other: "Moments") -> "Moments":
        """Moments of both sets of terms (Chan, Golub and LeVeque 1983)."""
        n = self.n + other.n
        difference = other.mean - self.mean
        mean = self.mean + difference * other.n / n
        squares = self.squares + other.squares + difference**2 * self.n * other.n / n
        return Moments(n, mean, squares, max(self.largest, other.largest), self.variances + other.variances)


@dataclass(frozen=True)
class NormalNull(SummableNull[BlockSKCE]):
    """``z = mean / sqrt(S / N)`` of N independent terms, with p-value ``Phi(-z)``.

    S is the variance of the terms: estimated, or that given the predictions if they are calibrated
    (``caltest.hstatistics.variances.null_variance``), if that is larger.

    Parameters
    ----------
    population_variance
        Divide by N in the sample variance S, as the software of the 2019 paper did, instead of N - 1.
    known_variance
        Whether S is at least the known one, which there is not for ``Unnormalised`` predictions without a sampler. With
        an estimated one alone, as published, the test rejects up to 92 % of calibrated predictions of rare events at
        the 5 % level.

    Raises
    ------
    ValueError
        In a test of fewer than 2 terms, or of terms that are all equal, so that the normal limit has no scale.

    Notes
    -----
    Asymptotic in N: with blocks of 2, 3 and 10 it rejects up to 4 % of calibrated predictions at the 5 % level in
    simulations with rare events, ties and few uncertain rows (1000 data sets each). Small p-values are too small for
    few terms; the result says so below 30. Cost: a few times that of the terms.

    Sources: Widmann et al. 2019, Lemma 3 and Corollary G.1; Widmann et al. 2021, Remark B.1.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["random forest"]
    >>> test = ct.CalibrationTest(ct.BlockSKCE(p.default_kernel(), block_size=20), ct.nulls.NormalNull())
    >>> round(test(p, y).statistic, 3)
    2.231
    """

    citations = ("widmann2019", "widmann2021")

    population_variance: bool = False
    known_variance: bool = True
    _checks = {"population_variance": switch, "known_variance": switch}

    pvalue_kind = "asymptotic"
    statistic_name = "z"

    def draws_for(self, estimator: BlockSKCE, predictions: Predictions) -> bool:
        return self.known_variance and not has_formula(estimator.kernel, predictions)

    def check_estimator(self, estimator: Estimator) -> None:
        if not isinstance(estimator, BlockSKCE) or not estimator.unbiased:
            raise self._illegal(estimator, "a mean of independent unbiased terms: BlockSKCE(kernel, block_size)")

    def check_size(self, estimator: BlockSKCE, n: int) -> None:
        if estimator.n_terms(n) < 2:
            raise ValueError(
                f"predictions: got {n} observations, which make {estimator.n_terms(n)} of the "
                "independent blocks the estimate averages, wanted at least 2; take a smaller block_size"
            )

    def outcome(self, estimator: BlockSKCE, sample: Sample, rng: np.random.Generator) -> Outcome:
        return self.outcome_of(estimator, self.sums(estimator, sample, rng, (0, np.arange(len(sample)))))

    def sums(
        self, estimator: BlockSKCE, sample: Sample, rng: np.random.Generator, place: tuple[int, IntArray]
    ) -> Moments:
        terms, known = estimator.terms(sample), None
        if self.known_variance:
            known = variance_of_blocks(estimator.kernel, sample.predictions, estimator.block_size, rng)
        return Moments.of(terms, known or 0.0)

    def check_summable(self, estimator: BlockSKCE) -> None:
        estimator.kernel.check_resolved()

    def outcome_of(self, estimator: BlockSKCE, sums: Moments) -> Outcome:
        terms, divisor = sums, sums.n if self.population_variance else sums.n - 1
        variance = max(terms.squares / divisor, terms.variances / terms.n)
        # Equal terms leave a variance of the size of their rounding errors.
        if variance <= (1e-14 * terms.largest) ** 2:
            raise ValueError(
                f"predictions: all {terms.n} terms of the estimate equal {terms.mean:.6g}, so the normal "
                "approximation has no scale; use MonteCarloTest"
            )
        standard_error = sqrt(variance / terms.n)
        z = terms.mean / standard_error
        pvalue = float(scipy.special.ndtr(-z))
        notes = () if pvalue <= LEVEL else (_note_on_pairs(terms.n, estimator.block_size),)
        return Outcome(terms.mean, z, pvalue, standard_error=standard_error, notes=notes)

    def notes(self, estimator: BlockSKCE, n: int) -> tuple[str, ...]:
        terms = estimator.n_terms(n)
        rare = "with an estimated variance alone up to 92 % of calibrated predictions of rare events are rejected"
        notes = () if self.known_variance else (rare,)
        if terms >= FEW_TERMS:
            return notes
        return (*notes, f"only {terms} independent blocks: the normal limit is rough, small p-values are too small")

    def describe(self) -> str:
        variance = " (population variance)" if self.population_variance else ""
        known = ", at least the variance given the predictions" if self.known_variance else ""
        return f"normal limit of a mean of independent terms{variance}{known}"


def _note_on_pairs(n_blocks: int, block_size: int) -> str:
    """How little of the data blocks look at, where they find nothing."""
    n = n_blocks * block_size
    inside, pairs = n * (block_size - 1) // 2, n * (n - 1) // 2
    return (
        f"blocks of {block_size} look at {inside:,} of {pairs:,} pairs of rows; calibration_test and "
        "AsymptoticSKCETest look at more of them and find smaller errors"
    )


@dataclass(frozen=True)
class HotellingNull(Null[UCME]):
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
    Asymptotic: it can reject nearly all calibrated predictions of rare events (95 % at the 5 % level for n = 250, in
    ``docs/error-rates.md``), as deviations are far from normal at test locations that few predictions are close to.
    ``KnownCovarianceMonteCarlo`` is exact. Time O(n J k + n J**2), memory O(n J).

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
    _checks = {"distribution": choice(("F", "chi2"))}

    pvalue_kind = "asymptotic"
    statistic_name = "Hotelling T^2"
    requires = UCME
    wanted = "a mean of vectors: UCME(kernel, test_predictions, test_targets)"

    def check_size(self, estimator: UCME, n: int) -> None:
        count = len(estimator.locations)
        at_least(n, count + 1, f"{count} test locations (one more than there are)")

    def outcome(self, estimator: UCME, sample: Sample, rng: np.random.Generator) -> Outcome:
        deviations = estimator.deviations(sample)
        n, j = deviations.shape
        t_squared = _t_squared(deviations)
        estimate = float(np.mean(deviations.mean(axis=0) ** 2))
        if self.distribution == "chi2":
            return Outcome(estimate, t_squared, float(scipy.special.chdtrc(j, t_squared)), df=(float(j),))
        pvalue = float(scipy.special.fdtrc(j, n - j, (n - j) / (j * (n - 1)) * t_squared))
        return Outcome(estimate, t_squared, pvalue, df=(float(j), float(n - j)))

    def notes(self, estimator: UCME, n: int) -> tuple[str, ...]:
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


UNCERTAIN = 10.0
"""Half the sum of ``1 - sum_k p_k**2``, for two classes the sum of p (1 - p), from which on results have no caution."""


@dataclass(frozen=True)
class PearsonNull(Null[SKCE]):
    """Unbiased SKCE in units of its standard deviation given the predictions, with a Pearson type III distribution.

    If the predictions are calibrated, the SKCE has mean 0 given them, and a variance and a skewness g that are known
    without sampling (``caltest.hstatistics.variances.moments``). The statistic ``z = SKCE / sd`` is compared with the
    shifted Gamma distribution of mean 0, variance 1 and skewness g: with ``a = 4 / g**2`` the p-value is ``Q(a, a + z
    sqrt(a))``, where Q is the regularised upper incomplete gamma function, and never below the probability of the
    observed labels. It needs no redraws and so has no smallest value.

    Parameters
    ----------
    n_resamples
        Redraws that estimate the skewness where it has no closed form: other kernels of targets than Delta, other
        families than classes; and the variance where that has none.

    Notes
    -----
    An approximation: the ratio of p-value to tail probability is between 0.5 and 1.1 for p-values of at least 1e-4, 100
    predictions and 10 classes, and can be far smaller for two classes and few predictions. At the 5 % level it rejects
    up to 10 % of calibrated predictions in simulations with rare events, ties and few uncertain rows, where results
    have a note. Assumes that the targets are independent given the predictions. For classes and the Delta kernel time
    O(n**2 k), memory O(n**2).

    Source: the moment formulas are derived in ``caltest.hstatistics.variances.moments``; fits of this type go back to
    Kazi-Aoual et al. 1995 for permutation tests.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["random forest"]
    >>> result = ct.PearsonSKCETest(p.default_kernel())(p, y)
    >>> round(result.statistic, 1), result.pvalue < 1e-10
    (16.6, True)
    """

    citations = ("kaziaoual1995",)

    n_resamples: int = 999
    _checks = {"n_resamples": whole(2)}

    pvalue_kind = "asymptotic"
    statistic_name = "estimate / standard deviation if calibrated"
    uses_random_numbers = True

    def check_estimator(self, estimator: Estimator) -> None:
        if not (isinstance(estimator, SKCE) and estimator.unbiased and estimator.kernel.is_product):
            raise self._illegal(estimator, "the unbiased SKCE of a ProductKernel")

    def outcome(self, estimator: SKCE, sample: Sample, rng: np.random.Generator) -> Outcome:
        kernel, auxiliary = estimator.kernel.single, rng.spawn(1)[0]
        assert kernel is not None
        deviations = standard_deviations([kernel], sample.predictions)
        deviation = None if deviations is None else float(deviations[0])
        cube = None if deviation is None else third_moment(kernel, sample.predictions, auxiliary)
        estimate = estimator.estimate(sample)
        if deviation is None or cube is None:
            _, _, draws = ConditionalMonteCarlo(self.n_resamples).resample(estimator, sample, rng)
            square = float(np.mean(np.square(draws)))
            deviation = sqrt(square) if deviation is None else deviation
            cube = float(np.mean(draws**3)) * (deviation**2 / square) ** 1.5 if square > 0.0 else 0.0
        if deviation == 0.0:
            raise ValueError(
                "predictions: got predictions that leave nothing to chance, so that the SKCE has variance 0 if they "
                "are calibrated; MonteCarloTest has a p-value for them"
            )
        z = estimate / deviation
        pvalue = max(pearson3_tail(z, cube / deviation**3), probability_of(sample))
        return Outcome(estimate, z, pvalue, notes=_notes(sample))

    def describe(self) -> str:
        return "Pearson type III with the variance and the skewness given the predictions"


def _notes(sample: Sample) -> tuple[str, ...]:
    """A caution where few outcomes of classes are uncertain."""
    law = sample.predictions.law.finite
    if law is None:
        return ()
    uncertain = float((1.0 - np.square(law.probabilities).sum(axis=-1)).sum()) / 2.0
    if uncertain >= UNCERTAIN:
        return ()
    return (
        f"half the sum of 1 - sum_k p_k**2 is only {uncertain:.2g}, for which the Pearson type III law is rough: in "
        "simulations it rejected up to 10 % of calibrated predictions at the 5 % level; MonteCarloTest is exact",
    )


def probability_of(sample: Sample) -> float:
    """Predicted probability of all outcomes together, 0 for continuous ones: no p-value of a statistic is smaller."""
    law = sample.predictions.law.finite
    if law is None:
        return 0.0
    with np.errstate(under="ignore"):
        return float(np.exp(law.log_density(sample.targets).sum()))


@dataclass(frozen=True)
class TextbookNull(SummableNull[Any]):
    """The statistic against the law that textbooks give for it: chi-squared, normal, that of a Brownian motion.

    For the classical estimators, which know their law and in which cases it is not reliable; results then have a note
    that says how often calibrated predictions were rejected in simulations. ``ConditionalMonteCarlo`` is exact for the
    same estimators.

    Notes
    -----
    Asymptotic, but for the laws of probability integral transforms that hold for every n. The p-value is 0 if an
    outcome occurred that its prediction excludes. Time: that of the estimate, no random numbers.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["random forest"]
    >>> result = ct.CalibrationTest(ct.estimators.ExcessBrierScore(), ct.nulls.TextbookNull())(*ct.top_label(p, y))
    >>> result.pvalue < 1e-20
    True
    """

    pvalue_kind = "asymptotic"
    statistic_name = "the estimate"
    requires = HasTextbookLaw
    wanted = (
        "an estimator with textbook_statistic, textbook_kind and textbook_tail, such as "
        "ct.estimators.HosmerLemeshow(), or ct.nulls.ConditionalMonteCarlo() as the null"
    )

    def outcome(self, estimator: Any, sample: Sample, rng: np.random.Generator) -> Outcome:
        estimate = estimator.estimate(sample)
        return _in_textbooks(estimate, estimator.textbook_tail(estimate, sample)).excluding(sample.exclusion)

    def sums(self, estimator: Any, sample: Sample, rng: np.random.Generator, place: tuple[int, IntArray]) -> Any:
        return estimator.sums(sample.predictions, np.asarray(sample.targets)[None])

    def outcome_of(self, estimator: Any, sums: Any) -> Outcome:
        return _in_textbooks(float(estimator.of_sums(sums)[0]), estimator.tail_of_sums(sums))

    def excludes(self, estimator: Any) -> bool:
        return True

    def check_summable(self, estimator: Any) -> None:
        if not hasattr(estimator, "tail_of_sums"):
            raise self._illegal(estimator, "ExcessLogScore() or ExcessBrierScore(), for data that come in chunks")

    def statistic_name_of(self, estimator: HasTextbookLaw) -> str:
        return estimator.textbook_statistic

    def pvalue_kind_of(self, estimator: HasTextbookLaw) -> PValueKind:
        return estimator.textbook_kind

    def describe(self) -> str:
        return "law of the statistic in textbooks"


def _in_textbooks(estimate: float, tail: TextbookTail) -> Outcome:
    return Outcome(estimate, tail.statistic, tail.pvalue, df=tail.df, notes=tail.notes)
