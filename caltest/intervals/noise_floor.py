"""What an estimator gives if the predictions are calibrated."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from caltest._basics.arrays import order_of
from caltest._basics.calls import own_errstate
from caltest._basics.numerics import ArrayLike, FloatArray, check_finite, seed_of
from caltest._basics.threads import progress_bars
from caltest._results.report import counted
from caltest._results.tables import Table
from caltest._results.values import Stored
from caltest._validation import switch
from caltest.estimators import Estimator
from caltest.nulls import ConditionalMonteCarlo
from caltest.predictions.inputs.convert import as_predictions


@dataclass(frozen=True, eq=False)
class NoiseFloor(Stored):
    """The distribution of an estimate if the predictions are calibrated.

    Attributes
    ----------
    mean, standard_deviation
        Of the estimate; the standard deviation of a single redraw is 0.
    quantile
        Its 95 % quantile: calibrated predictions give more in one of 20 data sets.
    draws
        The redrawn estimates (n_resamples,), read-only.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["neural network"]
    >>> floor = ct.noise_floor(ct.top_label(p, y)[0], ct.ECE(), n_resamples=199, rng=1)
    >>> print(floor)
    mean 0.012, standard deviation 0.00283, 95 % quantile 0.0171
    """

    picture = "null_histogram"

    estimator: str
    mean: float
    standard_deviation: float
    quantile: float
    n: int
    n_resamples: int
    seed: int
    draws: FloatArray = field(repr=False)
    citations: tuple[str, ...] = ()

    def table(self) -> Table:
        numbers = [f"{one:.3g}" for one in (self.mean, self.standard_deviation, self.quantile)]
        header = ["estimator", "n", "mean", "standard deviation", "95 % quantile"]
        return [header, [self.estimator, str(self.n), *numbers]]

    def row_entries(self) -> list[dict[str, Any]]:
        names = "n", "mean", "standard_deviation", "quantile"
        return [{"name": self.estimator} | {name: getattr(self, name) for name in names}]

    def sentence(self) -> str:
        made = counted(self.n_resamples, "redraw")
        return (
            f"Calibrated predictions like these {self.n} have estimates of {self.mean:.3g} on average and of "
            f"{self.quantile:.3g} or less in 95 % of the data sets ({self.estimator}; {made})."
        )

    def summary(self) -> str:
        return (
            f"mean {self.mean:.3g}, standard deviation {self.standard_deviation:.3g}, 95 % quantile {self.quantile:.3g}"
        )


@own_errstate
def noise_floor(
    predictions: ArrayLike, estimator: Estimator, *, n_resamples: int = 999, rng: Any = None, progress: bool = False
) -> NoiseFloor:
    """What an estimator gives for outcomes drawn from the predictions themselves.

    Estimated errors of calibrated predictions are not 0 in finite samples, and binned ones are above 0 on average. So
    an estimate says something only beside these: mean, standard deviation and 95 % quantile over redraws of the
    outcomes.

    Parameters
    ----------
    predictions
        ``Predictions`` or what becomes some; outcomes do not matter.
    estimator
        Any estimator, e.g. ``ECE()`` or ``SKCE(kernel)``. Of statistics of several numbers (``MaxSKCE``, ``Omnibus``)
        the first number, the SKCE with their kernel.
    n_resamples, rng, progress
        As in ``calibration_test``.

    Returns
    -------
    NoiseFloor
        Its ``draws`` are those that ``MonteCarloTest(estimator)`` compares the estimate with, for the same seed.

    Raises
    ------
    TypeError
        For anything other than an estimator, or predictions of a family that it does not know.
    ValueError
        For bad predictions or too few.

    Notes
    -----
    Assumes that the outcomes are independent given the predictions. Exact but for the number of redraws: the standard
    error of the mean is ``standard_deviation / sqrt(n_resamples)``. Cost: that of ``MonteCarloTest(estimator)``.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["random forest"]
    >>> confidence, correct = ct.top_label(p, y)
    >>> floor = ct.noise_floor(confidence, ct.ECE(), rng=1)
    >>> ct.ECE()(confidence, correct) > floor.quantile
    True
    """
    if not isinstance(estimator, Estimator):
        raise TypeError(f"estimator: got {type(estimator).__name__}, wanted an estimator such as ECE() or SKCE(kernel)")
    null, shown = ConditionalMonteCarlo(n_resamples), switch("progress", progress)
    checked = as_predictions(predictions).redrawable
    estimator = estimator.in_order_of(order_of(None, predictions))
    estimator.check(checked)
    with progress_bars(shown):
        seed = seed_of(rng)
        resolved = estimator.resolve(checked, seed)
        draws = null.redraws(resolved, checked, np.random.default_rng(seed))
    check_finite(*draws)
    draws.flags.writeable = False
    return NoiseFloor(
        estimator=resolved.describe(checked),
        mean=float(draws.mean()),
        standard_deviation=float(draws.std(ddof=1)) if draws.size > 1 else 0.0,
        quantile=float(np.quantile(draws, 0.95)),
        n=len(checked),
        n_resamples=draws.size,
        seed=seed,
        draws=draws,
        citations=resolved.citations,
    )
