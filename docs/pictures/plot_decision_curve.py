"""
Decision curve
==============

Net benefit of treating from a threshold of the predicted risk on, and what recalibration would add.
"""

import numpy as np

from caltest.fields import clinical

rng = np.random.default_rng(1)
risk = rng.beta(1, 6, 800)
event = rng.random(800) < 1.6 * risk / (1 + 0.6 * risk)
clinical.decision_curve(risk, event, np.arange(0.02, 0.4, 0.02), rng=1).plot()
