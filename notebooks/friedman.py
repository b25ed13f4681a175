"""Ten small neural networks for the Friedman 1 problem (Widmann et al. 2021, appendix A.3), trained at once with NumPy."""

from itertools import pairwise

import numpy as np
from threadpoolctl import threadpool_limits

WIDTHS = (10, 200, 50, 1)


def glorot(n_models, rng):
    """Weights (n_models, inputs, outputs) of each layer, uniform as in Glorot and Bengio 2010, and offsets of 0."""
    parameters = []
    for inputs, outputs in pairwise(WIDTHS):
        end = np.sqrt(6.0 / (inputs + outputs))
        parameters += [rng.uniform(-end, end, (n_models, inputs, outputs)), np.zeros((n_models, 1, outputs))]
    return parameters


def layers(parameters, x):
    """Outputs of each layer, (n_models, n, width): ReLU but for the last one."""
    outputs = [np.broadcast_to(x, (len(parameters[0]), *x.shape))]
    for weights, offsets in zip(parameters[::2], parameters[1::2], strict=True):
        outputs.append(outputs[-1] @ weights + offsets)
        if len(outputs) < len(WIDTHS):
            np.maximum(outputs[-1], 0.0, out=outputs[-1])
    return outputs


def means(parameters, x):
    """Predicted means (n_models, n)."""
    return layers(parameters, x)[-1][..., 0]


def gradients(parameters, x, y):
    """Gradients of the mean squared error of each model."""
    *hidden, output = layers(parameters, x)
    slope = 2.0 / len(y) * (output - y[:, None])
    found = []
    for i in reversed(range(len(hidden))):
        found = [hidden[i].swapaxes(1, 2) @ slope, slope.sum(axis=1, keepdims=True), *found]
        if i:
            slope = slope @ parameters[2 * i].swapaxes(1, 2)
            slope *= hidden[i] > 0.0
    return found


def train(x, y, iterations, n_models=10, rng=None, rate=1e-3, decay=(0.9, 0.999), epsilon=1e-8):
    """Parameters of all models at the given iterations: full-batch Adam (Kingma and Ba 2015) with its usual settings."""
    parameters = glorot(n_models, np.random.default_rng(rng))
    first, second = ([np.zeros_like(p) for p in parameters] for _ in range(2))
    saved = {}
    # The matrices are too small for a product to gain from several threads.
    with threadpool_limits(1, user_api="blas"):
        for t in range(max(iterations) + 1):
            if t in iterations:
                saved[t] = [p.copy() for p in parameters]
            size = rate * np.sqrt(1.0 - decay[1] ** (t + 1)) / (1.0 - decay[0] ** (t + 1))
            for p, g, m, v in zip(parameters, gradients(parameters, x, y), first, second, strict=True):
                m += (1.0 - decay[0]) * (g - m)
                v += (1.0 - decay[1]) * (g * g - v)
                p -= size * m / (np.sqrt(v) + epsilon)
    return saved
