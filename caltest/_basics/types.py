"""Names for the array types used in annotations."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.intp]
BoolArray: TypeAlias = NDArray[np.bool_]
Array: TypeAlias = NDArray[Any]
ArrayLike: TypeAlias = Any
"""Anything that becomes an array: lists, numpy, pandas, polars, torch."""
