"""
Calibration of a clinical model
===============================

Frequency of the event as a smooth function of the predicted risk. The curves of 95 % of calibrated models with these
risks are in the band everywhere.
"""

import numpy as np

from caltest.fields import clinical

rng = np.random.default_rng(1)
risk = rng.beta(1, 6, 800)
event = rng.random(800) < 1.6 * risk / (1 + 0.6 * risk)
clinical.validate(risk, event, rng=1).plot()
