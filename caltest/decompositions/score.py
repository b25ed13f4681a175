"""Proper scores as miscalibration - discrimination + uncertainty, and what confidence misses."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

import numpy as np

from caltest._types import Array, ArrayLike, FloatArray
from caltest.binning import Binning
from caltest.estimators.classical.isotonic import IsotonicGroups
from caltest.estimators.ece import bins_of, checked_binning, finite_predictions
from caltest.predictions import Bernoulli, Categorical, FinitePredictions, as_sample, reduce_to_top_label

Score = Literal["brier", "log"]


@dataclass(frozen=True)
class ScoreDecomposition:
    """``score = miscalibration - discrimination + uncertainty``.

    Attributes
    ----------
    name
        Of the score, and how predictions were recalibrated.
    score
        Mean score of the predictions; the smaller the better.
    miscalibration
        What recalibration would gain; at least 0, and above 0 for calibrated predictions too.
    discrimination
        What recalibrated predictions gain over one prediction for all, the class frequencies.
    uncertainty
        Mean score of the class frequencies.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.load_digits_predictions()["naive Bayes"]
    >>> print(ct.score_decomposition(*ct.top_label(p, y)))
    Brier score 0.1611, recalibrated by isotonic regression
      miscalibration   0.0438
      discrimination   0.0247
      uncertainty      0.1420
    """

    name: str
    score: float
    miscalibration: float
    discrimination: float
    uncertainty: float

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and strings."""
        return asdict(self)

    def __str__(self) -> str:
        score, how = self.name.split(", ", 1)
        parts = ("miscalibration", "discrimination", "uncertainty")
        lines = [f"  {part:<14}{getattr(self, part):>9.4f}" for part in parts]
        return "\n".join([f"{score} {self.score:.4f}, {how}", *lines])


def score_decomposition(
    predictions: ArrayLike, targets: ArrayLike, *, score: Score = "brier", binning: Binning | None = None
) -> ScoreDecomposition:
    """Decompose the mean of a proper score into miscalibration, discrimination and uncertainty.

    With recalibrated predictions r_i and class frequencies f, and the mean scores S(p), S(r), S(f)::

        S(p) = (S(p) - S(r)) - (S(f) - S(r)) + S(f)

    Recalibration is isotonic regression of the outcomes on the predictions (CORP), for binary predictions, or the class
    frequencies within bins, for any number of classes.

    Parameters
    ----------
    predictions
        Probabilities of class 1, (n,) or ``Bernoulli``; of k classes, (n, k) or ``Categorical``, with a ``binning``.
    targets
        (n,) array-like of outcomes.
    score
        ``"brier"``: ``|e_y - p|**2``, which is ``(y - p)**2`` for binary predictions; ``"log"``: ``-log p_y``.
    binning
        Recalibrate by bins instead of isotonic regression.

    Returns
    -------
    ScoreDecomposition
        ``print`` it for a report.

    Raises
    ------
    ValueError
        For another score, bad data, or an outcome of predicted probability 0 if the score is the log score.
    TypeError
        For predictions that are not of classes, and for more than two classes without a binning.

    Notes
    -----
    All three parts are at least 0 with isotonic regression. With bins discrimination is, and miscalibration can be
    below 0 where predictions vary within a bin. Time O(n log n).

    Sources: Dimitriadis, Gneiting and Jordan 2021 for isotonic regression; Murphy 1973 for bins.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.load_digits_predictions()["naive Bayes"]
    >>> parts = ct.score_decomposition(*ct.top_label(p, y), binning=ct.QuantileBinning(15))
    >>> round(parts.miscalibration, 4), round(parts.discrimination, 4)
    (0.0392, 0.0201)
    """
    if score not in get_args(Score):
        raise ValueError(f'score: got {score!r}, wanted "brier" or "log"')
    sample = as_sample(predictions, targets)
    law, labels = finite_predictions(sample.predictions), sample.targets
    if score == "log" and sample.impossible.size:
        raise ValueError(
            f"targets: got an outcome with predicted probability 0 at row {sample.impossible[0]}, for which the log "
            'score is infinite; wanted score="brier", or probabilities above 0'
        )
    p = law.probabilities
    if binning is None:
        recalibrated, how = _isotonic(law, labels), "isotonic regression"
    else:
        checked_binning(binning)
        recalibrated, how = _by_bins(law, labels, binning), binning.describe()
    frequencies = np.broadcast_to(np.bincount(labels, minlength=p.shape[1]) / len(labels), p.shape)
    scores = SCORES[score]
    own, best, climate = (float(scores(q, labels).mean()) for q in (p, recalibrated, frequencies))
    if isinstance(law, Bernoulli) and score == "brier":
        own, best, climate = own / 2.0, best / 2.0, climate / 2.0
    name = f"{'Brier' if score == 'brier' else 'log'} score, recalibrated by {how}"
    return ScoreDecomposition(name, own, own - best, climate - best, climate)


def brier_scores(p: FloatArray, labels: Array) -> FloatArray:
    """``|e_y - p|**2``, (n,)."""
    return np.asarray(1.0 - 2.0 * p[np.arange(len(p)), labels] + np.square(p).sum(axis=1))


def log_scores(p: FloatArray, labels: Array) -> FloatArray:
    """``-log p_y``, (n,)."""
    return np.asarray(-np.log(p[np.arange(len(p)), labels]))


SCORES: dict[Score, Callable[[FloatArray, Array], FloatArray]] = {"brier": brier_scores, "log": log_scores}


def _isotonic(law: FinitePredictions, labels: Array) -> FloatArray:
    """Probabilities (n, 2) of isotonic regression; equal predictions share one."""
    if law.n_classes != 2:
        raise TypeError(
            f"predictions: got {law.n_classes} classes, wanted two for isotonic regression: use top_label, classwise "
            "or a binning"
        )
    groups = IsotonicGroups.of(law.probabilities[:, 1])
    fitted = groups.fitted(groups.events(labels))[groups.numbers]
    return np.stack([1.0 - fitted, fitted], axis=1)


def _by_bins(law: FinitePredictions, labels: Array, binning: Binning) -> FloatArray:
    """Class frequencies (n, k) of the bin of each prediction."""
    bins, k = bins_of(law, binning), law.n_classes
    counts = np.bincount(bins.numbers * k + labels, minlength=bins.sizes.size * k).reshape(-1, k)
    return np.asarray((counts / bins.sizes[:, None])[bins.numbers])


@dataclass(frozen=True)
class ConfidenceErrors:
    """How much confidence there is in wrong predictions, and how much is missing in right ones.

    Attributes
    ----------
    overconfidence
        Mean confidence ``max_k p_k`` where the most probable class is wrong; None if it never is.
    underconfidence
        Mean of one minus the confidence where it is right; None if it never is.
    accuracy
        Share of right predictions.

    Examples
    --------
    >>> import caltest as ct
    >>> ct.confidence_errors([[0.1, 0.9], [0.2, 0.8], [0.75, 0.25]], [1, 0, 0])
    ConfidenceErrors(overconfidence=0.8, underconfidence=0.175, accuracy=0.6666666666666666)
    """

    overconfidence: float | None
    underconfidence: float | None
    accuracy: float


def confidence_errors(predictions: ArrayLike, targets: ArrayLike) -> ConfidenceErrors:
    """Overconfidence ``E[c | wrong]`` and underconfidence ``E[1 - c | right]`` of the top label with confidence c.

    For the ``ECE`` of the top label of any order and binning::

        |overconfidence P(wrong) - underconfidence P(right)| = |mean confidence - accuracy| <= ECE

    Parameters
    ----------
    predictions
        (n, k) probabilities or ``Categorical``; binary predictions count as two classes.
    targets
        (n,) array-like of labels.

    Returns
    -------
    ConfidenceErrors
        The two errors and the accuracy.

    Raises
    ------
    ValueError
        For bad data.
    TypeError
        For predictions that are not of classes.

    Notes
    -----
    They describe a model and are no test: both are above 0 for calibrated predictions. Time O(n k).

    Source: Wenger, Kjellstrom and Triebel 2020, section 2 and Theorem 1.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.load_digits_predictions()["naive Bayes"]
    >>> errors = ct.confidence_errors(p, y)
    >>> round(errors.overconfidence, 3), round(errors.underconfidence, 3)
    (0.962, 0.004)
    """
    sample = as_sample(predictions, targets)
    law = finite_predictions(sample.predictions)
    confidence, top = reduce_to_top_label(Categorical(law.probabilities))
    c, right = confidence.probability, top == sample.targets
    over = None if right.all() else float(c[~right].mean())
    under = float((1.0 - c[right]).mean()) if right.any() else None
    return ConfidenceErrors(over, under, float(right.mean()))
