"""How often each of n observations occurs in resamples of them."""

from caltest._jit import jit
from caltest._types import Array, FloatArray


@jit
def add_counts(indices: Array, counts: FloatArray) -> None:
    """Add to ``counts[i, b]`` how often i occurs in row b of the indices (B, n)."""
    for b in range(indices.shape[0]):
        for index in indices[b]:
            counts[index, b] += 1.0
