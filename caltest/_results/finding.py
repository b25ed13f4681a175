"""What a test says is wrong with the predictions."""

from dataclasses import dataclass

from caltest._results.confidence_interval import ConfidenceInterval


@dataclass(frozen=True)
class Finding:
    """The fault that explains the outcomes best, or a runner-up. Printing it gives the words.

    It depends on predictions and outcomes only, not on redraws, and is no part of the p-value.

    Attributes
    ----------
    words
        What is wrong and where, with the size and its interval.
    kind
        ``"temperature"``, ``"shift"``, ``"scale"``, ...: the kinds of each family are in the documentation of findings.
    place
        The class, coordinate or part of the predictions that is meant; empty if all are.
    estimate
        The size of largest likelihood: a factor, a share, a number of standard deviations.
    interval
        Its 95 % interval by the likelihood.
    gain
        Logarithm of the likelihood ratio to calibration, less a penalty for the choice; above 0 if the fault is clear.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["random forest"]
    >>> finding = ct.calibration_test(p, y, rng=1).finding
    >>> finding.kind, round(finding.estimate, 2)
    ('temperature', 0.24)
    """

    words: str
    kind: str = ""
    place: str = ""
    estimate: float | None = None
    interval: ConfidenceInterval | None = None
    gain: float | None = None

    def __str__(self) -> str:
        return self.words


def impossible(words: str) -> Finding:
    """That outcomes occurred which their predictions exclude."""
    return Finding(words, "impossible outcome")
