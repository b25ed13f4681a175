"""Draw ``reliability.png``, the picture of README and start page: ``python docs/draw_reliability.py``."""

from pathlib import Path

import matplotlib.pyplot as plt
from draw_concepts import save

import caltest as ct
from caltest.plots import reliability_diagram

models = ct.datasets.load_digits_predictions()
figure, axes = plt.subplots(1, 3, figsize=(10, 4.6), layout="constrained")
for ax, (name, (predictions, labels)) in zip(axes, models.items(), strict=True):
    result = ct.calibration_test(predictions, labels, rng=1)
    reliability_diagram(predictions, labels, rng=1, ax=ax)
    ax.set_title(f"{name}: p-value {result.pvalue:.2g}", pad=14)
save(figure, Path(__file__).with_name("reliability.png"), dpi=100)
