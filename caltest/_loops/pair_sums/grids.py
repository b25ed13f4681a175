"""Features of observations, added up at the nodes of a grid around their places."""

import numpy as np

from caltest._basics.jit import jit
from caltest._basics.numerics import FloatArray


@jit
def add_to_grid(places: FloatArray, features: FloatArray, out: FloatArray) -> None:
    """Add features (n, s) to the nodes around places (B, n), with the weights of a cubic polynomial through four nodes.

    Places are in steps of the grid from its first node; those outside of its second and its last but one count as
    these. For any function f on the nodes ``sum_g f(g) out[b, g]``, of the sums (B, G, s), is
    ``sum_i f(places[b, i]) features[i]`` with f interpolated.
    """
    last = out.shape[1] - 2.0
    for b in range(places.shape[0]):
        for i in range(places.shape[1]):
            x = min(max(places[b, i], 1.0), last)
            node = min(np.int64(x), out.shape[1] - 3)
            u = x - node
            v, w, x = u + 1.0, u - 1.0, u - 2.0
            one, two, three, four = -u * w * x / 6.0, v * w * x / 2.0, -u * v * x / 2.0, u * v * w / 6.0
            for t in range(features.shape[1]):
                value = features[i, t]
                out[b, node - 1, t] += one * value
                out[b, node, t] += two * value
                out[b, node + 1, t] += three * value
                out[b, node + 2, t] += four * value
