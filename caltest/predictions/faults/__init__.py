"""The ways in which predictions of each family can be wrong, with a size: for tests, and to say what is wrong.

A fault is a small class, a likelihood and words; rows are sums that tests compare with redraws. A family lists both in
one file here.
"""

from caltest.predictions.faults.fault import Fault, Faults
from caltest.predictions.faults.words import Fit

__all__ = ["Fault", "Faults", "Fit"]
