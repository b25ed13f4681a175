"""Memory that a thread uses again and again: the system takes as long to provide new memory as the numbers in it."""

from math import prod
from threading import local
from typing import Any

import numpy as np

from caltest._basics.numerics import Array

LARGEST = 2**23
"""Bytes that are kept under a name."""

_kept = local()


def scratch(name: str, shape: tuple[int, ...], dtype: Any = np.float64) -> Array:
    """An array of any numbers, which is that of the last call of this thread with the name if it is large enough."""
    size = prod(shape) * np.dtype(dtype).itemsize
    if size > LARGEST:
        return np.empty(shape, dtype=dtype)
    memory = vars(_kept).get(name)
    if memory is None or memory.size < size:
        memory = vars(_kept)[name] = np.empty(size, dtype=np.uint8)
    return np.asarray(memory[:size].view(dtype).reshape(shape))
