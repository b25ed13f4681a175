"""Results of tests: frozen, complete, computed once."""

from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any, Literal

from caltest._basics.numerics import FloatArray
from caltest._results.measures import Detectable, Measure, practical, table_of
from caltest._results.report import (
    ASSUMPTIONS,
    QUESTIONS,
    at_level,
    format_pvalue,
    pvalue_phrase,
    report_of,
    sentence_of,
    undecided,
)
from caltest._results.tables import NUMBER, STANDS_OUT, Bar, Table, entries_of
from caltest._results.values import JACKKNIFE, ConfidenceInterval, EffectSize, Entry, Finding, Stored, normal_interval
from caltest._validation import fraction

PValueKind = Literal["exact", "bound", "asymptotic", "resampling"]


@dataclass(frozen=True)
class ComponentResult(Entry):
    """What one component of an omnibus test found.

    Attributes
    ----------
    statistic
        In units of the standard deviation of its redrawn values.
    pvalue
        As if it were the only statistic; that of the test accounts for the choice.
    adjusted
        Of components given features, adjusted for all of these by the step-down maximum, and not smaller than the
        p-value of the test of the same rows; else None.
    words
        Where outcomes differ from what is claimed, if the adjusted p-value is at most 0.05 and they clearly differ more
        there than elsewhere.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["random forest"]
    >>> [component.name for component in ct.calibration_test(p, y, rng=1).components[:3]]
    ['likelihood ratio', 'swap', 'hits']
    """

    name: str
    statistic: float
    pvalue: float
    adjusted: float | None = None
    words: str = ""


@dataclass(frozen=True)
class FeatureResult(Entry):
    """How much of what a test given features found is due to one of them.

    Attributes
    ----------
    pvalue
        Of errors that depend on the feature alone or with the prediction, adjusted for all features by the step-down
        maximum. If predictions are right given some of the features together, the probability that any of these has a
        p-value of at most alpha is at most alpha, whatever the others are.
    without
        Of the same test with this column left out, all components else as they are, adjusted in the same way: large if
        the evidence needs the feature. If predictions are right given all features but one, the probability that that
        of this one is at most alpha is at most alpha.

    Examples
    --------
    >>> import caltest as ct
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> x, p = rng.normal(size=(2, 500)), rng.uniform(0.2, 0.8, 500)
    >>> y = rng.random(500) < p + 0.15 * np.sign(x[0])
    >>> result = ct.calibration_test(p, y, features={"age": x[0], "dose": x[1]}, n_resamples=199, rng=1)
    >>> [(one.name, one.pvalue <= 0.05, one.without <= 0.05) for one in result.features]
    [('age', True, False), ('dose', False, True)]
    """

    name: str
    pvalue: float
    without: float


@dataclass(frozen=True, eq=False, repr=False)
class CalibrationTestResult(Stored):
    """What a calibration test found. Printing it gives a report; ``to_dict()`` is ready for JSON.

    Attributes
    ----------
    question
        What is tested: ``"calibration"``, ``"tolerance"`` (an error of at most a margin), ``"equivalence"`` (an error
        of at least a margin) or ``"difference"`` (two models with the same error).
    hypothesis, predictions, estimator, null
        The null hypothesis, what was tested, what was estimated, and how the p-value was obtained, in words.
    test
        Name of the test.
    n, n_used
        Number of observations, and how many of them enter the estimate.
    estimate, effect_size
        Of the error that ``estimator`` names, a squared one for kernels; and in units that say how large that is.
    statistic, statistic_name
        What the p-value belongs to, and what that is; large values speak against calibration.
    pvalue
        Probability, or a bound of it, of a statistic at least as large if the predictions are calibrated. In the
        default test and those of textbooks 0 if an outcome occurred to which probability 0 was given.
    pvalue_kind
        ``"exact"``, ``"bound"``, ``"asymptotic"`` or ``"resampling"``.
    standard_error, df
        Of the estimate and of the limit distribution, if the null has them.
    null_distribution, n_resamples
        Resampled values of the statistic and their number, if there are some.
    seed
        Integer that reproduces the result as ``rng=seed``, or None if no random numbers were used.
    notes
        What the reader should know: renormalised rows, known weaknesses of the method.
    citations
        Keys of the sources, as in ``bibtex()``.
    components
        What each component of an omnibus test found, the one that speaks most against calibration first.
    features
        P-values of each feature, of ``calibration_test(features=)`` without a kernel: the smallest first.
    findings
        What is wrong with the predictions, the fault that explains the outcomes best first; empty where nothing is
        found. ``finding`` is the first, or None, and ``why(alpha)`` its words if the test rejects.
    measures
        What the predictions claim beside what happened: accuracy, coverage, scores; and whether the difference matters.
        Given by the default test.
    detectable
        What the default test would find of predictions that are slightly wrong, where it found little.
    assumes
        What no test can check.
    pvalue_otherwise
        Where the p-value is 0 because an outcome occurred to which probability 0 was given, that of the same test of
        the other rows; else None. Probabilities that were rounded to 0 are a common cause.
    smallest, has_few_rows
        The smallest p-value that is possible, but for 0, where that is not ``1 / (n_resamples + 1)``, and whether rows
        are too few for smaller ones, not redraws.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["random forest"]
    >>> result = ct.calibration_test(p, y, rng=1)
    >>> result
    <OmnibusTest: p = 0.001 (exact), n = 899>
    >>> result.verdict(0.01)
    'reject calibration at the 1 % level: the error is large enough to matter'
    >>> entries = result.to_dict()
    >>> entries["result"], entries["schema"], entries["caltest"] == ct.__version__
    ('CalibrationTestResult', 1, True)
    >>> str(ct.results.CalibrationTestResult.from_dict(entries)) == str(result)
    True
    """

    test: str
    hypothesis: str
    predictions: str
    estimator: str
    null: str
    n: int
    n_used: int
    estimate: float
    statistic: float
    statistic_name: str
    pvalue: float
    pvalue_kind: PValueKind
    standard_error: float | None = None
    df: tuple[float, ...] | None = None
    null_distribution: FloatArray | None = None
    n_resamples: int | None = None
    seed: int | None = None
    notes: tuple[str, ...] = ()
    components: tuple[ComponentResult, ...] = ()
    features: tuple[FeatureResult, ...] = ()
    findings: tuple[Finding, ...] = ()
    measures: tuple[Measure, ...] = ()
    detectable: Detectable | None = None
    question: str = "calibration"
    effect_size: EffectSize | None = None
    citations: tuple[str, ...] = ()

    derived = ("finding",)

    assumes: str = ASSUMPTIONS
    pvalue_otherwise: float | None = None
    smallest: float | None = None
    has_few_rows: bool = False

    no_picture = (
        "its p-value is that of a formula; draw the data, as plots.reliability_diagram(p, y, result=result) does"
    )

    def confidence_interval(self, confidence_level: float = 0.95) -> ConfidenceInterval:
        """Interval for the squared calibration error, or for the difference of two, from the standard error.

        It is the set of errors that the test would not reject: ``[max(0, estimate - z se), inf)`` for one-sided
        tests with the normal limit, on both sides for a difference. It needs a standard error: ``skce_interval`` is
        for results without one, and for upper bounds.

        Raises
        ------
        ValueError
            If the test has no standard error, or the level is not between 0 and 1.

        Examples
        --------
        >>> import caltest as ct
        >>> p, y = ct.datasets.load_digits_predictions()["naive Bayes"]
        >>> result = ct.AsymptoticBlockSKCETest(p.default_kernel())(p, y)
        >>> print(result.confidence_interval(0.9))
        [0.003683, inf] (90 %, normal limit of the block means)
        """
        level = fraction("confidence_level", confidence_level)
        if self.standard_error is None:
            raise ValueError(
                f"confidence_interval: {self.test} has no standard error; use skce_interval(predictions, targets, "
                "kernel) or AsymptoticBlockSKCETest"
            )
        from scipy.special import ndtri

        if self.question == "difference":
            return normal_interval(self.estimate, self.standard_error, level, JACKKNIFE)
        low = max(0.0, self.estimate - float(ndtri(level)) * self.standard_error)
        method = "normal limit of the block means" if self.question == "calibration" else JACKKNIFE
        return ConfidenceInterval(low, float("inf"), level, method, max(0.0, self.estimate))

    def verdict(self, alpha: float = 0.05) -> str:
        """What the p-value says at a level, in words."""
        level, question = at_level(alpha), QUESTIONS[self.question]
        answer = question.rejected if self.pvalue <= alpha else question.kept
        words = {"level": level, "practical": self._meaning(alpha), "better": "A" if self.estimate < 0.0 else "B"}
        few = undecided(self.pvalue, self.n_resamples, alpha, self.smallest, self.has_few_rows)
        return few or answer.format(**words)

    def _meaning(self, alpha: float) -> str:
        """What the decision at a level means in practice, in words that follow it; empty if that is not known."""
        # Where the default test does not know its power, errors can be missed.
        unknown = 0.0 if self.components else None
        power = unknown if self.detectable is None else self.detectable.power(alpha)
        # A row that was said to be impossible matters however small the error is on average.
        return practical(self.pvalue <= alpha, () if self.pvalue_otherwise is not None else self.measures, power)

    def why(self, alpha: float = 0.05) -> str | None:
        """The words of the finding if the test rejects at a level, else None."""
        if self.pvalue > fraction("alpha", alpha):
            return None
        given = [f"{one.name}: {one.words}" for one in self.given(alpha) if one.words]
        if given and (self.finding is None or self.finding.is_doubtful):
            return given[0]
        return None if self.finding is None else self.finding.words

    def given(self, alpha: float = 0.05) -> tuple[ComponentResult, ...]:
        """Components given features whose adjusted p-value is at most alpha, the smallest first.

        If predictions are right given some of the features together, the probability that any component of these is
        among them is at most alpha, whatever the others are.
        """
        level = fraction("alpha", alpha)
        some = [(one.adjusted, one) for one in self.components if one.adjusted is not None and one.adjusted <= level]
        return tuple(one for _, one in sorted(some, key=lambda pair: pair[0]))

    @property
    def finding(self) -> Finding | None:
        """The fault that explains the outcomes best, or None."""
        return self.findings[0] if self.findings else None

    def sentence(self, alpha: float = 0.05) -> str:
        """One sentence for a paper: hypothesis, decision at a level, n, p-value, test and numbers in brackets, finding.

        For the default test it says last whether the error is large enough to matter, or could have been missed.
        P-values have three digits; bounds are ``p <= 0.042``.

        Examples
        --------
        >>> import caltest as ct
        >>> p, y = ct.datasets.load_digits_predictions()["random forest"]
        >>> print(ct.MonteCarloTest(ct.estimators.ExcessLogScore(), n_resamples=199)(p, y, rng=1).sentence())
        The hypothesis that the predictions are calibrated (P(Y | P_X) = P_X) was rejected at the 5 % level for n = 899
        observations, p = 0.005 (the smallest possible with 199 redraws; exact Monte Carlo p-value; MonteCarloTest: mean
        log loss minus the mean entropy; estimate = -0.573, statistic = 0.573, absolute value of the estimate).
        """
        level = fraction("alpha", alpha)
        return sentence_of(self, level, self._meaning(level) if self.components else "")

    def summary(self, alpha: float = 0.05) -> str:
        return report_of(self, fraction("alpha", alpha))

    def bars(self) -> list[Bar]:
        if self.question == "difference" and self.standard_error is not None:
            one, unit = self.confidence_interval(), "difference of squared errors"
            return [Bar(self.test, self.estimate, one, 0.0, "no difference", unit, self.pvalue <= STANDS_OUT)]
        units = {True: NUMBER, False: "frequency"}
        return [
            Bar(one.name, one.observed, own, one.claimed, "claimed", units[one.is_number], own.excludes(one.claimed))
            for one in (*self.measures, *(tenth for measure in self.measures for tenth in measure.tenths))
            if (own := one.interval) is not None and one.observed is not None
        ]

    def plot(self, **settings: Any) -> Any:
        """Frequencies beside claims, or the statistic among its redrawn values; see ``plots.forest``.

        Of classes also those of tenths of similar claims, whose intervals hold together. Returns the axes.
        Pictures of the data take it as their ``result=``: ``plots.reliability_diagram(p, y, result=result)``.
        """
        if not self.bars() and self.null_distribution is None:
            raise TypeError(f"plot: there is no picture of {self.test}: {self.no_picture}")
        plots: Any = import_module("caltest.plots")
        return (plots.forest if self.bars() else plots.null_histogram)(self, **settings)

    def table(self) -> Table:
        if self.measures:
            return table_of(self.measures)
        p = format_pvalue(self.pvalue, self.pvalue_otherwise)
        numbers = [str(self.n), f"{self.estimate:.3g}", f"{self.statistic:.3g}", p]
        return [["test", "n", "estimate", "statistic", "p-value"], [self.test, *numbers]]

    def remarks(self) -> list[str]:
        return [repr(self)[1:-1]]

    def row_entries(self) -> list[dict[str, Any]]:
        if self.measures:
            return [entries_of(one) for one in self.measures]
        names = "n", "estimate", "statistic", "pvalue", "pvalue_kind"
        return [{"name": self.test} | {name: getattr(self, name) for name in names}]

    def __repr__(self) -> str:
        p = pvalue_phrase(self.pvalue, otherwise=self.pvalue_otherwise)
        return f"<{self.test}: {p} ({self.pvalue_kind}), n = {self.n}>"


def with_other_rows(
    result: CalibrationTestResult, n: int, other: CalibrationTestResult | None
) -> CalibrationTestResult:
    """With the p-value of the n rows whose outcomes no prediction excludes, and what was found in them.

    That of all rows is 0 whatever these say; other is None if they are too few for the test.
    """
    if other is None:
        note = f"other rows: {n}, too few for the test, so that their p-value is 1"
        return replace(result, pvalue_otherwise=1.0, notes=(*result.notes, note))
    excluded, found = result.findings[0], other.why()
    if found is not None:
        excluded = replace(excluded, words=f"{excluded.words}; the other rows: {found}")
    return replace(result, pvalue_otherwise=other.pvalue, findings=(excluded, *other.findings))
