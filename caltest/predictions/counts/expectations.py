"""Expectations of kernels of counts: sums over a window of counts."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from caltest._basics.numerics import Array, FloatArray, ranges
from caltest._loops.formulas.counts import TINY
from caltest.kernels import TargetKernel

VALUES = 2**20
"""Kernel values that are computed together."""

LONG = 2048
"""Windows beyond which functions of a difference are summed by fast Fourier transforms."""


def means_of_counts(kernel: TargetKernel, probabilities: FloatArray, first: int, counts: Array) -> FloatArray:
    """``sum_u p(u) k(u, y)`` for counts y (m,): (..., n, m)."""
    window = np.arange(first, first + probabilities.shape[-1])
    flat = probabilities.reshape(-1, window.size)
    means = np.empty((flat.shape[0], counts.size))
    for part in ranges(counts.size, VALUES // window.size):
        np.matmul(flat, without_tiny(kernel.target_tile(window, counts[part])), out=means[:, part])
    return without_tiny(means).reshape(*probabilities.shape[:-1], counts.size)


def means_of_range(kernel: TargetKernel, probabilities: FloatArray, first: int, start: int, stop: int) -> FloatArray:
    """``means_of_counts`` for the counts from start to stop - 1."""
    if kernel.is_identity and (first, probabilities.shape[-1]) == (start, stop - start):
        return probabilities
    terms = [term for _, term in kernel.weighted_terms]
    if max(probabilities.shape[-1], stop - start) < LONG or not all(term.of_difference for term in terms):
        return means_of_counts(kernel, probabilities, first, np.arange(start, stop))
    return _convolved(kernel, probabilities, first, start, stop)


def _convolved(kernel: TargetKernel, probabilities: FloatArray, first: int, start: int, stop: int) -> FloatArray:
    from scipy.fft import irfft, next_fast_len, rfft

    size = probabilities.shape[-1]
    differences = np.arange(start - first - size + 1, stop - first)
    length = next_fast_len(differences.size, real=True)
    values = rfft(kernel.target_tile(np.zeros(1), differences)[0], length)
    flat = probabilities.reshape(-1, size)
    means = np.empty((flat.shape[0], stop - start))
    for part in ranges(flat.shape[0], VALUES // length):
        means[part] = irfft(rfft(flat[part], length) * values, length)[:, size - 1 : differences.size]
    return without_tiny(means).reshape(*probabilities.shape[:-1], stop - start)


def without_tiny(values: FloatArray) -> FloatArray:
    """Numbers below 1e-150 replaced by 0, in place."""
    values[np.abs(values) < TINY] = 0.0
    return values


@dataclass(frozen=True, eq=False)
class CountTable:
    """What the expectations of a kernel share: probabilities of the counts of a window, and ``E k(Z, .)`` there."""

    kernel: TargetKernel
    first: int
    probabilities: FloatArray
    means: FloatArray
    gram: FloatArray | None
    """The kernel between counts of the window, or None if it is longer than there are predictions, or too long."""

    def take(self, index: Any) -> "CountTable":
        """The rows of some of the predictions."""
        return CountTable(self.kernel, self.first, self.probabilities[index], self.means[index], self.gram)

    def contains(self, counts: Array) -> bool:
        """Whether all counts are in the window."""
        return bool(self.first <= counts.min() <= counts.max() < self.stop)

    @property
    def stop(self) -> int:
        """The count behind the last one."""
        return self.first + int(self.probabilities.shape[-1])
