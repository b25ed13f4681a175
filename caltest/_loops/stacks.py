"""Stacks of tiles as loops take them: one leading dimension, contiguous."""

import numpy as np

from caltest._types import FloatArray


def stack(values: FloatArray, batch: tuple[int, ...], ndim: int) -> FloatArray:
    """Contiguous (m, ...) of arrays whose dimensions before the last ``ndim`` broadcast to ``batch``."""
    rest = values.shape[-ndim:]
    return np.ascontiguousarray(np.broadcast_to(values, (*batch, *rest))).reshape(-1, *rest)
