"""Small data for pictures, axes to draw into, and the line of a model."""

import numpy as np

import caltest as ct

RNG = np.random.default_rng(1)
P = np.round(RNG.random(80), 2)
Y = (RNG.random(80) < P).astype(int)
MEAN, SCALE = RNG.normal(size=120), RNG.uniform(0.3, 2.0, 120)
NORMAL = ct.Normal(MEAN, SCALE)
Z = NORMAL.sample(2)


def axes():
    from matplotlib.figure import Figure

    return Figure(figsize=(4.0, 4.0), layout="constrained").add_subplot()


def model(ax):
    return next(line for line in ax.lines if line.get_gid() == "caltest-model")
