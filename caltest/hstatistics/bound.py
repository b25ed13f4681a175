"""The largest value that h can take, which the distribution-free bounds of p-values need."""

from caltest.kernels import PairKernel, SumKernel
from caltest.predictions import Predictions


def h_bound(kernel: PairKernel, predictions: Predictions) -> float:
    """``sup |h|`` over all predictions of a family and all targets, for a kernel ``sum_i k_i l_i``.

    With features phi_i of the target kernels, ``l_i(y, y') = phi_i(y) . phi_i(y')``, the deviations
    ``d_i = phi_i(y) - E phi_i(Z)``, and ``|k_i| <= Phi_i``, the inequality of Cauchy and Schwarz gives::

        |h| = |sum_i k_i(p, p') d_i . d_i'| <= sum_i Phi_i |d_i| |d_i'| <= sup sum_i Phi_i |d_i|**2

    which is at most the squared diameter of the features of the single kernel ``sum_i Phi_i l_i``, because ``E phi(Z)``
    lies in their convex hull. It is the supremum where all ``k_i(p, p) = Phi_i``: y and p concentrated on two targets
    at that distance attain it.

    For classes and matrices A_i it is ``max_ab (e_a - e_b)' A (e_a - e_b)`` with ``A = sum_i Phi_i A_i``. This is at
    most every ``B_{p;q} = 2**(1 + 1/p - 1/q) K_{p;q}`` of Lemma H.1 of Widmann et al. 2019, where the inequality of
    Hoelder bounds the same bilinear form of the same differences, and for ``k_P I`` it is the smallest of them,
    2 sup k_P (Example H.1). It can be smaller than each B_{p;q}, and than the sum of the bounds of the products.
    """
    if kernel.single is not None:
        one = kernel.single
        return one.prediction_kernel.bound * predictions.law.squared_diameter(one.target_kernel)
    target_kernels = (one.prediction_kernel.bound * one.target_kernel for one in kernel.products)
    return predictions.law.squared_diameter(SumKernel.of(*target_kernels))
