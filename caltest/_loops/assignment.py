"""Assignment of arrays to arrays of the same shape.

Slice assignment in compiled loops brings in all that its error message needs, strings included, which takes seconds to
compile.
"""

from caltest._jit import jit
from caltest._types import Array


@jit
def assign(values: Array, out: Array) -> None:
    """Write values (n,) to ``out``."""
    for i in range(values.shape[0]):
        out[i] = values[i]
