"""The classical tests: names for estimators with the laws of textbooks."""

from typing import Any, Literal

from caltest.calibration_test import CalibrationTest
from caltest.estimators import (
    ECCE,
    PIT,
    CoxCalibration,
    ExcessBrierScore,
    ExcessLogScore,
    HosmerLemeshow,
    QuantileCalibration,
)
from caltest.nulls import TextbookNull


class CoxTest(CalibrationTest):
    """Likelihood ratio test of the intercept and the slope of the log-odds. See ``CoxCalibration``.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["random forest"]
    >>> ct.CoxTest()(*ct.top_label(p, y)).df
    (2.0,)
    """

    def __init__(self) -> None:
        super().__init__(CoxCalibration(), TextbookNull())


class ECCETest(CalibrationTest):
    """Test of cumulative differences with the law of a Brownian motion. See ``ECCE``.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["random forest"]
    >>> ct.ECCETest("R")(*ct.top_label(p, y)).pvalue < 1e-9
    True
    """

    def __init__(self, statistic: Literal["MAD", "R"] = "MAD") -> None:
        super().__init__(ECCE(statistic), TextbookNull())


class HosmerLemeshowTest(CalibrationTest):
    """Chi-squared test of the events in groups of predictions. See ``HosmerLemeshow``.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["random forest"]
    >>> ct.HosmerLemeshowTest(n_bins=5)(*ct.top_label(p, y)).pvalue < 1e-9
    True
    """

    def __init__(self, n_bins: int = 10) -> None:
        super().__init__(HosmerLemeshow(n_bins), TextbookNull())


class LogScoreTest(CalibrationTest):
    """Two-sided normal test of the log score. See ``ExcessLogScore``.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["random forest"]
    >>> ct.LogScoreTest()(p, y).pvalue < 1e-9
    True
    """

    def __init__(self) -> None:
        super().__init__(ExcessLogScore(), TextbookNull())


class PITTest(CalibrationTest):
    """Test of the uniform law of probability integral transforms, without redraws. See ``PIT``.

    Examples
    --------
    >>> import caltest as ct
    >>> ct.PITTest("KS")(ct.Poisson([3.0, 1.0, 8.0]), [2, 0, 30], rng=1).pvalue_kind
    'exact'
    """

    def __init__(self, statistic: Literal["KS", "CvM", "AD"] = "KS") -> None:
        super().__init__(PIT(statistic), TextbookNull())


class QuantileCalibrationTest(CalibrationTest):
    """Chi-squared test of the outcomes between predicted quantiles. See ``QuantileCalibration``.

    Examples
    --------
    >>> import caltest as ct
    >>> forecast = ct.QuantileForecast([0.25, 0.75], [[0.0, 1.0], [2.0, 3.0], [1.0, 1.5], [0.5, 2.0]])
    >>> round(ct.QuantileCalibrationTest()(forecast, [-1.0, 2.5, 1.2, 3.0]).statistic, 12)
    0.0
    """

    def __init__(self, levels: Any = None) -> None:
        super().__init__(QuantileCalibration(levels), TextbookNull())


class SpiegelhalterTest(CalibrationTest):
    """Two-sided normal test of the Brier score. See ``ExcessBrierScore``.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["random forest"]
    >>> ct.SpiegelhalterTest()(*ct.top_label(p, y)).pvalue < 1e-9
    True
    """

    def __init__(self) -> None:
        super().__init__(ExcessBrierScore(), TextbookNull())
