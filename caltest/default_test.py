"""The default test: one call from predictions and targets to a p-value and a finding."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from caltest._numerics import own_errstate
from caltest._progress import progress_bars
from caltest._types import ArrayLike
from caltest._validation import at_least, switch
from caltest.estimators import SKCE
from caltest.estimators.default_kernel import default_kernel
from caltest.kernels import PairKernel
from caltest.named_tests.kernels import MonteCarloTest, OmnibusTest
from caltest.predictions import as_sample
from caltest.results.result import CalibrationTestResult


@own_errstate
def calibration_test(
    predictions: ArrayLike,
    targets: ArrayLike,
    *,
    kernel: PairKernel | None = None,
    n_resamples: int = 999,
    classes: Sequence[Any] | None = None,
    rng: Any = None,
    progress: bool = False,
) -> CalibrationTestResult:
    """Test whether predictions are calibrated, with a p-value that is valid for every sample size.

    The test combines kernel errors of several bandwidths, scores and the likelihood ratio of common errors, each
    compared with its values for targets redrawn from the predictions (``OmnibusTest``). The result says which of them
    speaks most against calibration, and in which direction.

    Parameters
    ----------
    predictions
        ``Predictions``, or what becomes some: an array-like of (n, k) probabilities of k classes or (n,)
        probabilities of class 1, a distribution of scipy.stats or torch.distributions with parameters (n,), e.g.
        ``scipy.stats.norm(mean, scale)``, or a list of n of them.
    targets
        Outcomes: (n,) labels 0..k-1, 0/1 or booleans, counts or real numbers; (n, d) for predictions of vectors.
    kernel
        Test with the unbiased squared kernel calibration error of this kernel alone (``MonteCarloTest(SKCE(kernel))``).
        By default kernels are that of the family, with the median bandwidth, and others: ``exp(-TV / median)`` times
        ``[y = y']`` for classes, ``exp(-W2 / median)`` times a Gaussian kernel of the targets for normal distributions;
        ``default_kernel()`` of the predictions returns it. Where most predictions are identical the median of the
        positive distances is used, where all are any bandwidth, and the result says so.
    n_resamples
        Number of redraws; the smallest possible p-value is 1 / (n_resamples + 1), or 0 if an outcome occurred that its
        prediction excludes.
    classes
        Names of the classes in the order of the columns, if the targets are names.
    rng
        Seed or ``numpy.random.Generator``.
    progress
        Show a progress bar on standard error for what takes more than a second.

    Returns
    -------
    CalibrationTestResult
        ``print`` it for a report.

    Raises
    ------
    ValueError
        For bad data.
    TypeError
        For swapped arguments or an unsuitable kernel.

    Notes
    -----
    Assumes that the targets are independent given the predictions and were not used to fit the model. Time O(n**2) for
    up to 10 000 predictions of classes or 500 of real targets, O(n n_resamples) for more and for binary predictions;
    memory O(n n_resamples). See ``Omnibus`` and ``ConditionalMonteCarlo``.

    Examples
    --------
    >>> import caltest as ct
    >>> predictions, labels = ct.load_digits_predictions()["random forest"]
    >>> result = ct.calibration_test(predictions, labels, rng=1)
    >>> result.pvalue, result.finding
    (0.001, 'predictions are underconfident: outcomes follow them at temperature 0.33')
    """
    sample = as_sample(predictions, targets, classes)
    at_least(len(sample), 2, "the unbiased SKCE")
    if kernel is not None:
        return MonteCarloTest(SKCE(kernel), n_resamples).on(sample, rng=rng, progress=progress)
    with progress_bars(switch("progress", progress)):
        chosen, notes = default_kernel(sample.predictions)
    result = OmnibusTest(chosen, n_resamples).on(sample, rng=rng, progress=progress)
    return replace(result, notes=(*result.notes, *notes))
