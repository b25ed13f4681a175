"""A test that the binned calibration error is below a margin, valid for every n."""

from dataclasses import dataclass
from math import exp

import numpy as np

from caltest._validation import fraction
from caltest.binning import UniformBinning
from caltest.estimators import ECE, Estimator
from caltest.kernels import TotalVariation
from caltest.nulls.base import Null, Outcome
from caltest.predictions import Predictions, Sample


@dataclass(frozen=True)
class BinnedEquivalenceBound(Null):
    """``binned ECE >= margin``: a bound of the p-value, for bins that do not depend on data.

    ``p = exp(-n (margin - ECE)**2 / 2)`` where the estimate is below the margin, else 1. The estimate is the sum over
    bins of the norms of means of ``(e_Y - P) [P in the bin]``. Its expectation is at least the sum of the norms of
    their expectations, the binned error of the population (Jensen's inequality), and exchanging one observation
    changes it by at most 2 / n in total variation, so that McDiarmid's inequality bounds how far it falls below its
    expectation.

    Parameters
    ----------
    margin
        Of the error in total variation, between 0 and 1.

    Raises
    ------
    ValueError
        For another margin.
    TypeError
        For other estimators than ``ECE`` with ``UniformBinning`` and ``TotalVariation``.

    Notes
    -----
    Assumes independent observations, nothing else. The binned error is at most the calibration error itself, which no
    test can bound from above without assumptions on how it varies within bins: what is shown is that the errors
    *averaged over the bins* are below the margin. It takes at least ``6 / (margin - ECE)**2`` observations for p below
    0.05. Cost: that of the estimate.

    Source: McDiarmid 1989 for the inequality.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["neural network"]
    >>> test = ct.CalibrationTest(ct.ECE(), ct.nulls.BinnedEquivalenceBound(margin=0.15))
    >>> result = test(*ct.top_label(p, y))
    >>> result.pvalue < 0.01, result.pvalue_kind, result.hypothesis
    (True, 'bound', 'binned ECE >= 0.15')
    """

    citations = ("mcdiarmid1989",)

    margin: float

    pvalue_kind = "bound"
    question = "equivalence"
    statistic_name = "margin - estimate"

    def __post_init__(self) -> None:
        object.__setattr__(self, "margin", fraction("margin", self.margin))

    def check_estimator(self, estimator: Estimator) -> None:
        """Raise unless bins are fixed and distances bounded."""
        if not (
            isinstance(estimator, ECE)
            and isinstance(estimator.binning, UniformBinning)
            and estimator.metric == TotalVariation()
        ):
            raise self._illegal(estimator, "ECE(UniformBinning(n_bins)), whose bins do not depend on data")

    def outcome(self, estimator: Estimator, sample: Sample, rng: np.random.Generator) -> Outcome:
        """Estimate, its distance from the margin, and the bound."""
        estimate = estimator.estimate(sample)
        below = self.margin - estimate
        return Outcome(estimate, below, exp(-len(sample) * max(0.0, below) ** 2 / 2.0))

    def hypothesis(self, estimator: Estimator, predictions: Predictions) -> str:
        return f"binned ECE >= {self.margin:g}"

    def describe(self) -> str:
        return f"distribution-free bound, margin {self.margin:g} of the binned error"
