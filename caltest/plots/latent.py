"""The latent function of a recalibration map."""

import numpy as np

from caltest._basics.numerics import FloatArray, own_errstate
from caltest.plots._axes import DARK, INSIDE, PALE, Axes, axes_of
from caltest.recalibration.gaussian_process.map import GPMap

POINTS = 400
BAND = 1.96
"""Standard deviations on either side: 95 % of a normal distribution."""


@own_errstate
def latent_function(map: GPMap, *, ax: "Axes | None" = None) -> "Axes":  # noqa: A002
    """Latent function of a Gaussian process calibrator with its uncertainty, over the mean of its prior.

    The line is the posterior mean, the band covers it with probability 0.95 at each input, and the dashed line is the
    prior mean, the map that changes nothing. Ticks mark the inducing inputs. Constants added to the function do not
    change the predictions, so both lines are shifted to have mean 0.

    Parameters
    ----------
    map
        What ``GPCalibrator().fit(predictions, targets)`` gives.
    ax
        Where to draw; default: a new figure.

    Notes
    -----
    Drawn on the range of the calibration data; probabilities below 1e-6 are left out. The axis of probabilities is
    logarithmic if the kernel sees ln p. Source: Wenger, Kjellstrom and Triebel 2020, figures 3 and 4.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["random forest"]
    >>> axes = ct.plots.latent_function(ct.recalibration.GPCalibrator().fit(p, y))
    >>> axes.get_ylabel()
    'latent function'
    """
    if not isinstance(map, GPMap):
        raise TypeError(f"map: got {type(map).__name__}, wanted what GPCalibrator().fit(predictions, targets) gives")
    axes = axes_of(ax, "latent_function", (5.0, 4.0))
    inputs = _inputs(map)
    prior, mean, deviation = map.latent_function(inputs)
    prior, mean = prior - prior.mean(), mean - mean.mean()
    low, high = mean - BAND * deviation, mean + BAND * deviation
    axes.fill_between(inputs, low, high, color=PALE, lw=0.0, label="95 % of the process")
    axes.plot(inputs, prior, color=DARK, ls="--", label="prior mean (no change)")
    axes.plot(inputs, mean, color=INSIDE, label="mean")
    inducing = np.exp(map.inducing) if map.scale == "log" else map.inducing
    shown = inducing[(inducing >= inputs[0]) & (inducing <= inputs[-1])]
    axes.plot(shown, np.zeros(shown.size), "|", color=DARK, ms=10, transform=axes.get_xaxis_transform(), clip_on=False)
    if map.scale == "log":
        axes.set_xscale("log")
    axes.set_xlabel("logit" if map.scale == "logit" else "predicted probability")
    axes.set_ylabel("latent function")
    axes.legend(frameon=False)
    return axes


SMALLEST = 1e-6


def _inputs(map: GPMap) -> FloatArray:  # noqa: A002
    """Evenly spaced on the axis, over the range of the calibration data, or a little around a single input."""
    lowest, highest = map.lowest, map.highest
    if map.scale == "log":
        lowest, highest = np.exp(lowest), np.exp(highest)
    if map.scale != "logit":
        lowest = max(lowest, SMALLEST)
        highest = min(max(highest, SMALLEST), 1.0)
    if highest <= lowest:
        lowest, highest = (lowest - 1.0, lowest + 1.0) if map.scale == "logit" else (SMALLEST, 1.0)
    inputs = np.geomspace(lowest, highest, POINTS) if map.scale == "log" else np.linspace(lowest, highest, POINTS)
    return np.clip(inputs, lowest, highest)
