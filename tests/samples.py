"""Data and kernels that several tests use."""

from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.special import expit, logit

import caltest as ct

TV = ct.ProductKernel(ct.ExponentialKernel(ct.TotalVariation(), 0.4), ct.DeltaKernel())
W2 = ct.ProductKernel(ct.ExponentialKernel(ct.Wasserstein(), 1.0), ct.GaussianKernel(bandwidth=0.7))


class Samples(NamedTuple):
    """The generator, probabilities of k classes with labels, and normal predictions with targets."""

    rng: np.random.Generator
    p: np.ndarray
    y: np.ndarray
    normal: ct.Normal
    targets: np.ndarray


def inference_data(arviz, **groups):
    """As versions of ArviZ before 1 make it, and those since."""
    return arviz.from_dict(**groups) if arviz.__version__ < "1" else arviz.from_dict(groups)


def samples(n, k):
    """Predictions and outcomes that have nothing to do with each other."""
    rng = np.random.default_rng(1)
    p, y = rng.dirichlet(np.ones(k), n), rng.integers(0, k, n)
    return Samples(rng, p, y, ct.Normal(rng.normal(size=n), rng.uniform(0.1, 1.0, n)), rng.normal(size=n))


def ensemble_and_outcomes(rng, n, m, d=1, spread=1.0):
    """Members and outcomes around the same centres, of standard deviations ``spread`` and 1."""
    centres = rng.normal(size=(n, 1, d))
    members, y = centres + spread * rng.normal(size=(n, m, d)), centres[:, 0] + rng.normal(size=(n, d))
    return (ct.Ensemble(members[..., 0]), y[:, 0]) if d == 1 else (ct.Ensemble(members), y)


def wrong_in_a_slice(n=3000, seed=1, shift=1.0):
    """Probabilities that are too low where site is b and age is high."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"age": rng.integers(18, 90, n), "site": rng.choice(["a", "b", "c"], n)})
    p = rng.uniform(0.1, 0.8, n)
    wrong = ((frame["site"] == "b") & (frame["age"] >= 60)).to_numpy()
    return p, (rng.random(n) < expit(logit(p) + shift * wrong)).astype(int), frame, wrong
