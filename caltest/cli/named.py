"""The tests of the command line by name."""

from collections.abc import Callable

import caltest as ct
from caltest.default_test import default_kernel
from caltest.kernels import RadialKernel
from caltest.predictions import Sample, reduce_to_top_label

TestMaker = Callable[[ct.ProductKernel], ct.CalibrationTest]

TESTS: dict[str, tuple[str, TestMaker]] = {
    "omnibus": ("kernel errors, scores and likelihood ratios together, exact (default)", ct.OmnibusTest),
    "likelihood-ratio": (
        "likelihood ratio of common errors, importance sampling; for tiny p-values",
        lambda _: ct.LikelihoodRatioTest(),
    ),
    "skce": ("kernel error, exact Monte Carlo", lambda kernel: ct.MonteCarloTest(ct.SKCE(kernel))),
    "skce-bootstrap": ("kernel error, bootstrap", ct.AsymptoticSKCETest),
    "skce-blocks": ("kernel error of pairs, normal limit; for millions of rows", ct.AsymptoticBlockSKCETest),
    "skce-bound": (
        "kernel error, distribution-free bound",
        lambda kernel: ct.DistributionFreeSKCETest(ct.SKCE(kernel)),
    ),
    "mmce": ("kernel error of the top label, exact Monte Carlo", lambda _: ct.MonteCarloTest(ct.MMCE())),
    "ece": (
        "binned error of the whole simplex, 10 bins a class, exact Monte Carlo",
        lambda _: ct.MonteCarloTest(ct.ECE(ct.UniformBinning(10))),
    ),
    "ece-top-label": (
        "binned error of the top label, 15 bins, exact Monte Carlo",
        lambda _: ct.MonteCarloTest(ct.ECE()),
    ),
    "ece-consistency": (
        "binned error of the whole simplex, consistency resampling (to reproduce papers)",
        lambda _: ct.ConsistencyTest(ct.ECE(ct.UniformBinning(10))),
    ),
}


def names_help() -> str:
    """The tests, a line for each."""
    return "\n".join(f"  {name:<16} {text}" for name, (text, _) in TESTS.items())


def prepared(name: str, sample: Sample) -> Sample:
    """The sample that a test takes: reduced to the top label for the test that is for it."""
    if name != "ece-top-label" or not isinstance(sample.predictions, ct.Categorical):
        return sample
    confidence, top = reduce_to_top_label(sample.predictions)
    return Sample(confidence, (top == sample.targets).astype(int))


def kernel_of(name: str, bandwidth: float | None, sample: Sample) -> tuple[ct.ProductKernel, tuple[str, ...]]:
    """The kernel of the family, with the bandwidth that was asked for or its default, and notes."""
    kernel = sample.predictions.default_kernel()
    if not name.startswith(("skce", "omnibus")):
        if bandwidth is not None:
            raise ValueError(f"--bandwidth: got {bandwidth:g} for the test {name}, which takes none")
        return kernel, ()
    if bandwidth is None:
        return default_kernel(sample.predictions)
    assert isinstance(kernel.prediction_kernel, RadialKernel)
    metric_kernel = kernel.prediction_kernel.with_bandwidth(bandwidth)
    return ct.ProductKernel(metric_kernel, kernel.target_kernel), ()
