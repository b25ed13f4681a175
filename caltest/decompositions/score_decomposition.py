"""Proper scores as miscalibration - discrimination + uncertainty."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, get_args

import numpy as np

from caltest._basics.calls import own_errstate
from caltest._basics.numerics import ArrayLike, check_rng, seed_of
from caltest._results.report import with_interval
from caltest._results.values import ConfidenceInterval
from caltest._validation import fraction, one_of, whole_number
from caltest.binning import Binning, a_binning
from caltest.decompositions.parts import PARTS, Parts, WithIntervals, calibrated_means, intervals_of
from caltest.estimators.binned_errors.ece import binned_predictions
from caltest.predictions.classes.finite import Score
from caltest.predictions.inputs.convert import as_sample


@dataclass(frozen=True)
class ScoreDecomposition(WithIntervals):
    """``score = miscalibration - discrimination + uncertainty``.

    Attributes
    ----------
    name
        Of the score, and how predictions were recalibrated.
    score
        Mean score of the predictions; the smaller the better.
    miscalibration
        What recalibration would gain: with isotonic regression at least 0, and above 0 for calibrated predictions too.
    discrimination
        What recalibrated predictions gain over one prediction for all, the class frequencies.
    uncertainty
        Mean score of the class frequencies.
    intervals, calibrated
        If they were asked for: a confidence interval for each of the four numbers with expected outcomes in place of
        those observed, and its ``estimate``; and their means if the predictions are calibrated.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["naive Bayes"]
    >>> round(ct.score_decomposition(*ct.top_label(p, y)).miscalibration, 4)
    0.0438
    """

    name: str
    score: float
    miscalibration: float
    discrimination: float
    uncertainty: float
    intervals: Mapping[str, ConfidenceInterval] | None = field(default=None, hash=False)
    calibrated: Mapping[str, float] | None = field(default=None, hash=False)
    seed: int | None = None

    _names = PARTS

    @property
    def citations(self) -> tuple[str, ...]:  # type: ignore[override]
        """Sources, keys of ``caltest/_results/citations.bib``."""
        return ("dimitriadis2021",) if self.name.endswith("isotonic regression") else ("murphy1973",)

    @property
    def _words(self) -> tuple[str, str]:
        return self.name, self.name

    def sentence(self) -> str:
        score, how = self.name.split(", ", 1)
        lost = with_interval(self.miscalibration, (self.intervals or {}).get("miscalibration"))
        return (
            f"The {score} of {self.score:.3g} is the uncertainty {self.uncertainty:.3g} less the discrimination "
            f"{self.discrimination:.3g} plus the miscalibration {lost} ({how})."
        )


@own_errstate
def score_decomposition(
    predictions: ArrayLike,
    targets: ArrayLike,
    *,
    classes: Sequence[Any] | None = None,
    score: Score = "brier",
    binning: Binning | None = None,
    n_resamples: int = 999,
    confidence_level: float | None = None,
    rng: Any = None,
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
    targets, classes
        As in ``calibration_test``.
    score
        ``"brier"``: ``|e_y - p|**2``, which is ``(y - p)**2`` for binary predictions; ``"log"``: ``-log p_y``.
    binning
        Recalibrate by bins instead of isotonic regression.
    n_resamples, rng
        As in ``calibration_test``, for these: redraws at each of about 10 places on each of 5 lines, and up to 16 more
        where a class occurs fewer than 10 times.
    confidence_level
        Between 0 and 1, for an interval for each part, and its mean under calibration; None for neither.

    Returns
    -------
    ScoreDecomposition
        The ``score`` and its three parts, with ``intervals`` if there is a ``confidence_level``.

    Raises
    ------
    ValueError
        For another score, bad data or settings, or an outcome of predicted probability 0 if the score is the log loss.
    TypeError
        For predictions that are not of classes, and for more than two classes without a binning.

    Notes
    -----
    All three parts are at least 0 with isotonic regression. With bins discrimination is, and miscalibration can be
    below 0 where predictions vary within a bin. Time O(n log n), and O(n k B) for intervals: about a second for 1000
    binary predictions and B = 999.

    Intervals are for the parts of these predictions, with expected outcomes in place of those observed: the score is
    ``mean_i E S(p_i, Y_i)``, and recalibrated are the means of the true probabilities in bins, or their isotonic
    regression. Each interval has the values that Monte Carlo tests do not reject. They redraw outcomes from laws on
    lines along which the part grows, through smoothed recalibrated predictions r:

    - miscalibration: from the predictions to r and on to the labels for which r gains most; with bins r is not their
      frequencies but the predictions, moved as far as the mean of their bin is,
    - discrimination: the same from the class frequencies, and also through the predictions, and the interval spans
      both, as frequencies of few events and of bins of one observation say little,
    - score: from the labels of the smallest scores to r and on to those of the largest,
    - uncertainty: from one class to the class frequencies and on to equal probabilities.

    The bias of each part is thus taken into account: what was observed can lie outside of the interval. The estimate of
    an interval lies inside: of outcomes redrawn from the law there, the part is as often larger than observed as
    smaller. With isotonic regression the interval for the miscalibration has 0 in it if the exact Monte Carlo test of
    ``CORPMiscalibration(score)`` does not reject at ``(1 - confidence_level) / 2``. Assumes that outcomes are
    independent given the predictions, and with the log loss that those of predicted probability 0 are impossible.
    Asymptotic, as other laws have the same values.

    Coverage of 95 % intervals for binary predictions of Beta(0.5, 0.5) and Beta(0.1, 0.1), calibrated, with 10 % and
    with 50 % label noise, n = 60 and 250, isotonic regression, 199 redraws: for the Brier score 93.6 to 100 % (250 data
    sets each), for the log loss 91 to 100 % (100 each). For 3 and 10 classes of Dir(0.5, ..., 0.5), n = 250 and 4
    uniform bins of each class, the Brier score: 93 to 100 % (200 each). Of the miscalibration for uniform p, outcomes
    of probability p**1.4, n = 120 and 300, 5 quantile bins: 96 and 94 % (900 each). For rare ones see "Intervals where
    few events occur" in ``docs/validity.md``.

    Sources: Dimitriadis, Gneiting and Jordan 2021 for isotonic regression; Murphy 1973 for bins. The intervals are not
    from the literature.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["naive Bayes"]
    >>> parts = ct.score_decomposition(*ct.top_label(p, y), binning=ct.binning.QuantileBinning(15))
    >>> round(parts.miscalibration, 4), round(parts.discrimination, 4)
    (0.0392, 0.0201)
    >>> print(ct.score_decomposition(*ct.top_label(p, y), confidence_level=0.95, n_resamples=199, rng=1))
    Brier score, recalibrated by isotonic regression
    ------------------------------------------------
                      observed  estimate       95 % interval  if calibrated
      score             0.1611    0.1606    [0.1420, 0.1859]         0.0073
      miscalibration    0.0438    0.0419    [0.0316, 0.0560]         0.0013
      discrimination    0.0247    0.0228    [0.0147, 0.0330]         0.0040
      uncertainty       0.1420    0.1412    [0.1251, 0.1579]         0.0099
    """
    one_of("score", score, get_args(Score))
    level = None if confidence_level is None else fraction("confidence_level", confidence_level)
    number = whole_number("n_resamples", n_resamples, 1)
    sample = as_sample(predictions, targets, classes)
    law, labels = binned_predictions(sample.predictions), np.asarray(sample.targets)
    if score == "log" and sample.impossible.size:
        raise ValueError(
            f"targets: got an outcome with predicted probability 0 at row {sample.impossible[0]}, for which the log "
            'score is infinite; wanted score="brier", or probabilities above 0'
        )
    if binning is not None:
        a_binning("binning", binning)
    elif law.n_classes != 2:
        raise TypeError(
            f"predictions: got {law.n_classes} classes, wanted two for isotonic regression: use top_label, classwise "
            "or a binning"
        )
    how = "isotonic regression" if binning is None else binning.describe()
    parts = Parts.of(law, score, binning)
    own, miscalibration, discrimination, uncertainty = map(float, parts.of_labels(labels[None])[:, 0])
    name = f"{'Brier' if score == 'brier' else 'log'} score, recalibrated by {how}"
    found = ScoreDecomposition(name, own, miscalibration, discrimination, uncertainty)
    check_rng(rng)
    if level is None:
        return found
    seed = seed_of(rng)
    intervals = intervals_of(parts, labels, level, number, seed)
    return replace(found, intervals=intervals, calibrated=calibrated_means(parts, number, seed), seed=seed)
