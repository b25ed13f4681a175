"""The classical tests: names for estimators with the laws of textbooks."""

from typing import Literal

from caltest.calibration_test import CalibrationTest
from caltest.estimators import ECCE, CoxCalibration, HosmerLemeshow, LogScoreZ, Spiegelhalter
from caltest.nulls import TextbookNull


class CoxTest(CalibrationTest):
    """Likelihood ratio test of the intercept and the slope of the log-odds. See ``CoxCalibration``.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.load_digits_predictions()["random forest"]
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
    >>> p, y = ct.load_digits_predictions()["random forest"]
    >>> ct.ECCETest("R")(*ct.top_label(p, y)).pvalue < 1e-9
    True
    """

    def __init__(self, kind: Literal["MAD", "R"] = "MAD") -> None:
        super().__init__(ECCE(kind), TextbookNull())


class HosmerLemeshowTest(CalibrationTest):
    """Chi-squared test of the events in groups of predictions. See ``HosmerLemeshow``.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.load_digits_predictions()["random forest"]
    >>> ct.HosmerLemeshowTest(n_bins=5)(*ct.top_label(p, y)).pvalue < 1e-9
    True
    """

    def __init__(self, n_bins: int = 10) -> None:
        super().__init__(HosmerLemeshow(n_bins), TextbookNull())


class LogScoreTest(CalibrationTest):
    """Two-sided normal test of the log score. See ``LogScoreZ``.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.load_digits_predictions()["random forest"]
    >>> ct.LogScoreTest()(p, y).pvalue < 1e-9
    True
    """

    def __init__(self) -> None:
        super().__init__(LogScoreZ(), TextbookNull())


class SpiegelhalterTest(CalibrationTest):
    """Two-sided normal test of the Brier score. See ``Spiegelhalter``.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.load_digits_predictions()["random forest"]
    >>> ct.SpiegelhalterTest()(*ct.top_label(p, y)).pvalue < 1e-9
    True
    """

    def __init__(self) -> None:
        super().__init__(Spiegelhalter(), TextbookNull())
