"""The calibration errors of all classes, each against the rest, as one number."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

import numpy as np

from caltest._basics.types import Array, FloatArray
from caltest._validation import at_least, one_of
from caltest.binning import Binning, UniformBinning
from caltest.estimators.base import RedrawnEstimator
from caltest.estimators.binned_errors.ece import ECE, binned_predictions
from caltest.predictions import Bernoulli, Predictions

Aggregate = Literal["mean", "sum"]


@dataclass(frozen=True)
class ClasswiseECE(RedrawnEstimator):
    """Mean or sum over the classes c of the ``ECE`` of the probabilities p_c against the indicators of class c.

    Parameters
    ----------
    binning
        Of the probabilities of each class by themselves.
    order
        Order q >= 1 of the mean over bins, as for ``ECE``.
    aggregate
        ``"mean"`` over the k classes or their ``"sum"``: both are called class-wise ECE in the literature.

    Raises
    ------
    ValueError
        For an order below 1, or another aggregate.
    TypeError
        For predictions that are not of classes, or settings of another kind.

    Notes
    -----
    ``[ECE()(*pair) for pair in classwise(p, y)]`` are the errors of the single classes. Time that of k estimates of
    ``ECE`` with two classes. ``ece_interval`` gives an interval, ``noise_floor`` the mean under calibration.

    Sources: Kull et al. 2019 for the mean; Gruber and Bach 2024 for the sum, of squares.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["naive Bayes"]
    >>> round(ct.ClasswiseECE()(p, y), 6), round(ct.ClasswiseECE(aggregate="sum")(p, y), 5)
    (0.03351, 0.3351)
    """

    citations = ("kull2019",)

    binning: Binning = field(default_factory=UniformBinning)
    order: float = 1.0
    aggregate: Aggregate = "mean"

    def __post_init__(self) -> None:
        object.__setattr__(self, "order", self._error.order)
        one_of("aggregate", self.aggregate, get_args(Aggregate))

    @property
    def _error(self) -> ECE:
        return ECE(self.binning, order=self.order)

    def check(self, predictions: Predictions) -> None:
        binned_predictions(predictions)
        at_least(len(predictions), 1, "ClasswiseECE")

    def estimates(self, predictions: Predictions, targets: Array) -> FloatArray:
        p = binned_predictions(predictions).probabilities
        return self.in_bins(p, targets, [self.binning] * p.shape[1])

    def in_bins(self, p: FloatArray, targets: Array, binnings: Sequence[Binning]) -> FloatArray:
        """Estimates (B,) of probabilities (n, k) for many targets (B, n), with a binning for each class."""
        errors = [
            ECE(binning, order=self.order).estimates(Bernoulli(p[:, c]), targets == c)
            for c, binning in enumerate(binnings)
        ]
        return np.asarray(np.mean(errors, axis=0) if self.aggregate == "mean" else np.sum(errors, axis=0))

    def describe(self, predictions: Predictions) -> str:
        of = "" if self.order == 1.0 else f" of order {self.order:g}"
        return f"class-wise ECE{of} ({self.aggregate} over classes), {self.binning.describe()}"
