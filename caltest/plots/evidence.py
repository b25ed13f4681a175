"""Evidence over time."""

import numpy as np

from caltest._basics.numerics import own_errstate
from caltest._validation import fraction
from caltest.plots._axes import DARK, INSIDE, OUTSIDE, Axes, axes_of
from caltest.sequential.sequential_result import SequentialTestResult
from caltest.sequential.sequential_test import SequentialCalibrationTest


@own_errstate
def evidence(
    test: SequentialCalibrationTest | SequentialTestResult, *, alpha: float = 0.05, ax: "Axes | None" = None
) -> "Axes":
    """Evidence of a sequential test over time, ``log10 E_t``, with the line ``1 / alpha``.

    The test rejects where the curve first touches the line, which a calibrated model's does with probability at most
    alpha, however long it runs. From an outcome of predicted probability 0 on E is infinite: the curve ends there, at
    a vermillion line.

    Parameters
    ----------
    test
        A ``SequentialCalibrationTest`` that has seen observations, or its result.
    alpha
        The level.
    ax
        Where to draw; default: a new figure.

    Examples
    --------
    >>> import caltest as ct
    >>> from matplotlib.figure import Figure
    >>> p, y = ct.datasets.load_digits_predictions()["random forest"]
    >>> ax = ct.plots.evidence(ct.SequentialCalibrationTest().update(p, y), ax=Figure().add_subplot())
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('observations', 'log10 E')
    """
    if not isinstance(test, (SequentialCalibrationTest, SequentialTestResult)):
        raise TypeError(f"test: got {test!r}, wanted a SequentialCalibrationTest or its result")
    level = fraction("alpha", alpha)
    result = test.result() if isinstance(test, SequentialCalibrationTest) else test
    finite = np.isfinite(result.history)
    seen = np.arange(1, result.n + 1)
    ax = axes_of(ax, "evidence", (6.0, 4.0))
    ax.plot(seen[finite], result.history[finite] / np.log(10.0), color=INSIDE)
    label = f"reject at the {100 * level:g} % level"
    ax.axhline(-np.log10(level), color=DARK, linewidth=0.8, linestyle=":", label=label)
    if not finite.all():
        ax.axvline(seen[~finite][0], color=OUTSIDE, label="an outcome that was excluded")
    ax.set(xlabel="observations", ylabel="log10 E")
    ax.legend(fontsize="small", frameon=False)
    return ax
