"""Ways in which predictions can be wrong, as distributions of the targets that are known given the predictions.

Each family of alternatives is a finite list of distributions ``Q_k(y | P)`` with weights ``w_k``, chosen before any
target is seen. The ratio ``E = sum_k w_k prod_i Q_k(Y_i | P_i) / P_i(Y_i)`` has mean 1 given calibrated predictions,
whatever they are, so it is an e-value.
"""

from caltest.predictions.alternatives.base import Alternatives

__all__ = ["Alternatives"]
