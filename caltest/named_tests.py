"""Names for further pairs of an estimator and a null."""

from caltest.calibration_test import CalibrationTest
from caltest.estimators import SKCE, UCME, CrossSKCE
from caltest.kernels import PairKernel
from caltest.nulls import (
    ConditionalSpectralNull,
    CrossChernoffBound,
    CrossNormalNull,
    CrossSaddlepointNull,
    GammaNull,
    KnownCovarianceMonteCarlo,
    MultiplierBootstrap,
    SpectralNull,
)
from caltest.nulls.multiplier import Multiplier


class MultiplierSKCETest(CalibrationTest):
    """Unbiased SKCE with the multiplier (wild) bootstrap. See ``MultiplierBootstrap``.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.load_digits_predictions()["naive Bayes"]
    >>> ct.MultiplierSKCETest(p.default_kernel(), n_resamples=99)(p, y, rng=1).pvalue
    0.01
    """

    def __init__(self, kernel: PairKernel, n_resamples: int = 1000, *, multiplier: Multiplier = "rademacher") -> None:
        super().__init__(SKCE(kernel), MultiplierBootstrap(n_resamples, multiplier))


class SpectralSKCETest(CalibrationTest):
    """Unbiased SKCE with the spectrum of h as the limit law. See ``SpectralNull``.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.load_digits_predictions()["naive Bayes"]
    >>> ct.SpectralSKCETest(p.default_kernel())(p, y).pvalue < 1e-9
    True
    """

    def __init__(self, kernel: PairKernel) -> None:
        super().__init__(SKCE(kernel), SpectralNull())


class ConditionalSpectralSKCETest(CalibrationTest):
    """Unbiased SKCE of classes with the covariances given the predictions. See ``ConditionalSpectralNull``.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.load_digits_predictions()["naive Bayes"]
    >>> ct.ConditionalSpectralSKCETest(p.default_kernel())(p.take(slice(0, 100)), y[:100]).pvalue < 1e-9
    True
    """

    def __init__(self, kernel: PairKernel) -> None:
        super().__init__(SKCE(kernel), ConditionalSpectralNull())


class GammaSKCETest(CalibrationTest):
    """Unbiased SKCE with a gamma law of two moments, as a quick look. See ``GammaNull``.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.load_digits_predictions()["naive Bayes"]
    >>> ct.GammaSKCETest(p.default_kernel())(p, y).pvalue < 1e-9
    True
    """

    def __init__(self, kernel: PairKernel) -> None:
        super().__init__(SKCE(kernel), GammaNull())


class CrossSKCETest(CalibrationTest):
    """SKCE between two halves with a nearly exact tail given the predictions. See ``CrossSaddlepointNull``.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.load_digits_predictions()["naive Bayes"]
    >>> ct.CrossSKCETest(p.default_kernel())(p, y).pvalue < 1e-100
    True
    """

    def __init__(self, kernel: PairKernel) -> None:
        super().__init__(CrossSKCE(kernel), CrossSaddlepointNull())


class CertifiedCrossSKCETest(CalibrationTest):
    """SKCE between two halves with a p-value that is valid for every n, however small. See ``CrossChernoffBound``.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.load_digits_predictions()["naive Bayes"]
    >>> result = ct.CertifiedCrossSKCETest(p.default_kernel())(p, y)
    >>> result.pvalue_kind, result.pvalue < 1e-100
    ('bound', True)
    """

    def __init__(self, kernel: PairKernel) -> None:
        super().__init__(CrossSKCE(kernel), CrossChernoffBound())


class StudentisedCrossSKCETest(CalibrationTest):
    """SKCE between two halves with its normal limit, for predictions of any family. See ``CrossNormalNull``.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.load_digits_predictions()["naive Bayes"]
    >>> ct.StudentisedCrossSKCETest(p.default_kernel())(p, y).pvalue < 1e-9
    True
    """

    def __init__(self, kernel: PairKernel) -> None:
        super().__init__(CrossSKCE(kernel), CrossNormalNull())


class ScoreCMETest(CalibrationTest):
    """Exact test of the mean embedding at test locations with its known covariance. See ``KnownCovarianceMonteCarlo``.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.load_digits_predictions()["naive Bayes"]
    >>> ucme = ct.UCME(p.default_kernel(), test_predictions=p.take(slice(0, 3)), test_targets=[0, 1, 2])
    >>> ct.ScoreCMETest(ucme, n_resamples=99)(p, y, rng=1).pvalue
    0.01
    """

    def __init__(self, ucme: UCME, n_resamples: int = 999) -> None:
        super().__init__(ucme, KnownCovarianceMonteCarlo(n_resamples))
