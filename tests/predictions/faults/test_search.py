"""Siblings of a fault that are named beside it."""

import numpy as np
from scipy import special

import caltest as ct


def test_each_class_turns_out_as_one_other():
    """What is predicted as the last class turns out as the last but one, whatever else would explain a part of that."""
    rng = np.random.default_rng(7)
    cumulative = special.expit(np.array([-1.5, -0.5, 0.5, 1.5]) - 1.2 * rng.normal(size=(2000, 1)))
    p = np.diff(cumulative, axis=1, prepend=0.0, append=1.0)
    labels = (rng.random((2000, 1)) > cumulative).sum(axis=1)
    why = ct.calibration_test(ct.Ordinal(p), np.clip(labels, 1, 3), n_resamples=99, rng=1).why()
    assert "predicted as class 0 turns out as class 1" in why
    assert "predicted as class 4 turns out as class 3" in why
    assert why.count("predicted as class") == 2
