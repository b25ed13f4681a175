"""The tests of the command line by name."""

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import caltest as ct
from caltest.estimators import Estimator
from caltest.estimators.kernel_errors.kernel_estimator import default_kernel
from caltest.predictions import Sample
from caltest.predictions.reductions.classes import reduce_to_binary

TestMaker = Callable[..., ct.CalibrationTest]
"""Of a kernel and, unless it is the usual one, ``n_resamples``."""

WEIGHTED: dict[str, TestMaker] = {
    "omnibus": ct.OmnibusTest,
    "skce": lambda kernel, weights, **how: ct.MonteCarloTest(ct.estimators.WeightedSKCE(kernel, weights), **how),
}
"""Tests of observations with ``weights=``."""


class NamedTest(NamedTuple):
    """A test, what it does in one line, whether it is of the top label of several classes, and if it redraws."""

    text: str
    of: TestMaker
    top_label: bool = False
    redraws: bool = True


def _exact(estimator: Estimator) -> TestMaker:
    return lambda _, **how: ct.MonteCarloTest(estimator, **how)


TESTS = {
    "omnibus": NamedTest("kernel errors, scores, likelihood ratios, exact (default)", ct.OmnibusTest),
    "likelihood-ratio": NamedTest(
        "likelihood ratio of common errors, exact; for tiny p-values", lambda _, **how: ct.LikelihoodRatioTest(**how)
    ),
    "skce": NamedTest(
        "kernel error, exact Monte Carlo", lambda kernel, **how: ct.MonteCarloTest(ct.SKCE(kernel), **how)
    ),
    "skce-bootstrap": NamedTest("kernel error, bootstrap", ct.AsymptoticSKCETest),
    "skce-blocks": NamedTest(
        "kernel error of pairs, normal limit; for millions of rows", ct.AsymptoticBlockSKCETest, redraws=False
    ),
    "skce-bound": NamedTest(
        "kernel error, distribution-free bound",
        lambda kernel: ct.DistributionFreeSKCETest(ct.SKCE(kernel)),
        redraws=False,
    ),
    "mmce": NamedTest("kernel error of the top label, exact Monte Carlo", _exact(ct.MMCE())),
    "ece": NamedTest(
        "ECE of all classes, 10 bins a class, exact Monte Carlo", _exact(ct.ECE(ct.binning.UniformBinning(10)))
    ),
    "ece-top-label": NamedTest("ECE of the top label, 15 bins, exact Monte Carlo", _exact(ct.ECE()), True),
    "ece-consistency": NamedTest(
        "as ece, by consistency resampling; to reproduce papers",
        lambda _, **how: ct.ConsistencyTest(ct.ECE(ct.binning.UniformBinning(10)), **how),
    ),
    "hosmer-lemeshow": NamedTest(
        "Hosmer-Lemeshow of the top label, exact Monte Carlo", _exact(ct.estimators.HosmerLemeshow()), True
    ),
    "spiegelhalter": NamedTest(
        "Brier score of the top label, exact Monte Carlo", _exact(ct.estimators.ExcessBrierScore()), True
    ),
    "cox": NamedTest("log-odds of the top label, exact Monte Carlo", _exact(ct.estimators.CoxCalibration()), True),
    "ecce": NamedTest("cumulative differences of the top label, exact Monte Carlo", _exact(ct.estimators.ECCE()), True),
    "pit": NamedTest("F(y) of numbers (--normal), Kolmogorov-Smirnov, exact", lambda _: ct.PITTest(), redraws=False),
}


def names_help() -> str:
    """The tests, a line for each."""
    return "\n".join(f"  {name:<16} {test.text}" for name, test in TESTS.items())


def prepared(name: str, sample: Sample) -> Sample:
    """The sample that a test takes: reduced to the top label for tests of it, unless it is binary."""
    if not TESTS[name].top_label or sample.predictions.finite is None:
        return sample
    confidence, top = reduce_to_binary(sample.predictions)
    return replace(sample, predictions=confidence, targets=(top == sample.targets).astype(int))


def kernel_of(name: str, bandwidth: float | None, sample: Sample) -> tuple[ct.ProductKernel, tuple[str, ...]]:
    """The kernel of the family, with the bandwidth that was asked for or its default, and notes."""
    kernel = sample.predictions.default_kernel()
    if not name.startswith(("skce", "omnibus")):
        if bandwidth is not None:
            raise ValueError(f"--bandwidth: got {bandwidth:g} for the test {name}, which takes none")
        return kernel, ()
    if bandwidth is None:
        return default_kernel(sample.predictions)
    metric_kernel = kernel.prediction_kernel.with_bandwidth(bandwidth)
    return ct.ProductKernel(metric_kernel, kernel.target_kernel), ()
