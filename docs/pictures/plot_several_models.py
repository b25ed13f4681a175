"""
Several models in one picture
=============================

Each model has a name, a colour and a kind of line, which differ in grey print too; they share one legend.
"""

import caltest as ct
from caltest.plots import reliability_curve

ax = None
for name, (predictions, labels) in ct.datasets.load_digits_predictions().items():
    ax = reliability_curve(predictions, labels, label=name, rng=1, ax=ax)
