"""What the expectations of a kernel of counts share."""

from dataclasses import dataclass
from typing import Any

from caltest._types import Array, FloatArray
from caltest.kernels import (
    TargetKernel,
)


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
