"""The bounds of h in Widmann et al. 2019 by operator norms, which the bound that is used never exceeds."""

from math import inf

import numpy as np

SIGNS = 16
"""Matrices with more rows than this have too many vectors of signs to try all of them."""


def operator_bounds(matrix):
    """``B_{p;q} = 2**(1 + 1/p - 1/q) |A|_{p;q}`` by (p, q), with p and q among 1, 2 and infinity (Lemma H.1)."""
    return {(p, q): 2.0 ** (1.0 + 1.0 / p - 1.0 / q) * norm for (p, q), norm in operator_norms(matrix).items()}


def operator_norms(matrix):
    """``|A|_{p;q} = sup |A x|_q / |x|_p`` by (p, q), with p and q among 1, 2 and infinity.

    A norm is largest at a corner of a polytope. Those of the unit ball of the 1-norm are the unit vectors, those of
    the maximum norm the 2**k vectors of signs; what is left follows from ``|A|_{p;q} = |A'|_{q';p'}`` with dual
    exponents. Time O(k**3), and O(2**k k**2) for (inf, 1), (inf, 2) and (2, 1), which are left out for k > 16.
    """
    norms = {(1.0, q): float(np.linalg.norm(matrix, q, axis=0).max()) for q in (1, 2, inf)}
    norms |= {(p, inf): float(np.linalg.norm(matrix, dual, axis=1).max()) for p, dual in ((2.0, 2), (inf, 1))}
    norms[2.0, 2.0] = float(np.linalg.norm(matrix, 2))
    if matrix.shape[1] <= SIGNS:
        norms |= {(inf, q): _largest_at_signs(matrix, q) for q in (1.0, 2.0)}
        norms[2.0, 1.0] = _largest_at_signs(matrix.T, 2.0)
    return norms


def _largest_at_signs(matrix, q):
    """``max |A x|_q`` over the vectors x of signs; x and -x give the same, so that the first sign is plus."""
    k = matrix.shape[1]
    bits = np.arange(2 ** (k - 1))[:, None] >> np.arange(k) & 1
    return float(np.linalg.norm((1.0 - 2.0 * bits) @ matrix.T, q, axis=1).max())
