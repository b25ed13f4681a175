"""Draws of class labels by inversion of the cumulative probabilities."""

from caltest._jit import jit
from caltest._types import Array, FloatArray


@jit
def classes_from_uniforms(cumulative: FloatArray, uniforms: FloatArray, out: Array) -> None:
    """``out[b, i]`` = the first class whose cumulative probability exceeds ``uniforms[b, i] * total``.

    A class of probability zero is never drawn: should rounding push the product up to the total, the
    last class of positive probability is taken.
    """
    n, k = cumulative.shape
    for b in range(uniforms.shape[0]):
        for i in range(n):
            line = cumulative[i]
            threshold = uniforms[b, i] * line[k - 1]
            label = 0
            while label < k - 1 and line[label] <= threshold and line[label] < line[k - 1]:
                label += 1
            out[b, i] = label
