"""The size of an error in units that do not grow with the number of observations."""

from dataclasses import dataclass


@dataclass(frozen=True)
class EffectSize:
    """How large an error is, beside the p-value that says how surprising it is.

    Attributes
    ----------
    value
        The number; about 0 for calibrated predictions.
    unit
        What it is.

    Notes
    -----
    Kernel errors: the estimated KCE, the root of the SKCE, divided by the largest value that it can have with the
    kernel, a number between 0 and 1; 0 for negative estimates. Test locations: the root of the mean square of the
    witness function. Binned errors: the estimate minus its mean if the predictions are calibrated, which is positive;
    known from tests that redraw; others give the estimate, noise included. Scores: the excess over what the predictions
    expect, per observation. Log likelihood ratios: per observation.

    Statistics that grow with n are brought back to what they measure: those of Hosmer and Lemeshow, Anderson and
    Darling and of quantiles to root mean squares of standardised differences, likelihood ratios of logistic
    recalibration to nats per observation, cumulative differences to shares of the observations, T-Cal to the error of
    its cells; what calibrated predictions have on average is subtracted before. What is estimated from n observations
    still has noise in it: ``noise_floor`` says how much.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["naive Bayes"]
    >>> print(ct.calibration_test(p, y, rng=1).effect_size)
    0.068 (KCE as a share of its largest value)
    """

    value: float
    unit: str

    def __str__(self) -> str:
        return f"{self.value:.3g} ({self.unit})"
