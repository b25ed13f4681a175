"""The named tests of a margin."""

from caltest.binning import UniformBinning
from caltest.calibration_test import CalibrationTest
from caltest.estimators import ECE, SKCE
from caltest.kernels import PairKernel
from caltest.nulls import BinnedEquivalenceBound, EquivalenceNull, ToleranceNull


class ToleranceTest(CalibrationTest):
    """Is the kernel calibration error larger than what is tolerated? See ``ToleranceNull``.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["naive Bayes"]
    >>> ct.ToleranceTest(p.default_kernel(), margin=0.05)(p, y).verdict()
    'the calibration error is above the margin, at the 5 % level'
    """

    def __init__(self, kernel: PairKernel, margin: float) -> None:
        super().__init__(SKCE(kernel), ToleranceNull(margin))


class EquivalenceTest(CalibrationTest):
    """Are the predictions shown to be calibrated, up to a kernel calibration error? See ``EquivalenceNull``.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["neural network"]
    >>> ct.EquivalenceTest(p.default_kernel(), margin=0.05)(p, y).verdict()
    'the calibration error is below the margin, at the 5 % level'
    """

    def __init__(self, kernel: PairKernel, margin: float) -> None:
        super().__init__(SKCE(kernel), EquivalenceNull(margin))


class BinnedEquivalenceTest(CalibrationTest):
    """Is the binned error shown to be below a margin, for every n? See ``BinnedEquivalenceBound``.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["neural network"]
    >>> ct.named_tests.BinnedEquivalenceTest(margin=0.15)(*ct.top_label(p, y)).pvalue < 0.01
    True
    """

    def __init__(self, margin: float, n_bins: int = 10) -> None:
        super().__init__(ECE(UniformBinning(n_bins)), BinnedEquivalenceBound(margin))
