"""
Loss at all thresholds
======================

What decisions by the predictions lose at each threshold of the probability, for three models. The band is where the
curve of each would be if it were calibrated; a model with the lower curve everywhere is better for every loss.
"""

import caltest as ct

models = ct.datasets.load_digits_predictions()
ax = None
for name, (predictions, labels) in models.items():
    ax = ct.plots.murphy_diagram(predictions, labels, rng=1, label=name, ax=ax)
