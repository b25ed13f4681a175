"""
Parts of the score
==================

Miscalibration and discrimination of three models, with lines of equal Brier score: up and to the left is better.
"""

import caltest as ct

models = ct.datasets.load_digits_predictions()
parts = {
    name: ct.score_decomposition(*ct.classwise(predictions, labels)[8], confidence_level=0.95, n_resamples=199, rng=1)
    for name, (predictions, labels) in models.items()
}
ct.plots.score_plane(parts)
