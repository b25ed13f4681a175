"""What names of columns say of them, and which are refused for what they are taken for."""

import numpy as np
import pandas as pd
import pytest

import caltest as ct
from caltest._validation.column_names import levels_named, refuse_quantiles, require_mean_and_deviation


@pytest.mark.parametrize(
    ("names", "levels"),
    [
        (["0.1", ".5", "0.9"], [0.1, 0.5, 0.9]),
        (["q10", "Q_50", "quantile 90"], [0.1, 0.5, 0.9]),
        (["q0.1", "50 %", "97.5%"], [0.1, 0.5, 0.975]),
        (["q1", "q2", "q3"], None),
        (["1", "2"], None),
        (["a", "0.5"], None),
        (["100 %", "0.5"], None),
        ([], None),
    ],
)
def test_levels(names, levels):
    assert levels_named(names) == (None if levels is None else pytest.approx(levels))


@pytest.mark.parametrize("names", [["q10", "q50", "q90"], ["0.1", "0.5", "0.9"], ["lower", "upper"]])
def test_quantiles_are_no_members(names):
    frame = pd.DataFrame(np.sort(np.random.default_rng(1).normal(size=(20, len(names))), axis=1), columns=names)
    with pytest.raises(ValueError, match=rf"members: got the columns {', '.join(names)}, wanted members; quantiles"):
        ct.Ensemble(frame)
    ct.Ensemble(frame.set_axis([f"m{j}" for j in range(len(names))], axis=1))


def test_names_of_few_columns_are_shown():
    refuse_quantiles([], "x", "members")
    refuse_quantiles(["mean", "sd"], "x", "members")
    with pytest.raises(ValueError, match=r"x: got the columns q10, q20, q30, q40, q50, \.\.\., wanted members"):
        refuse_quantiles([f"q{level}" for level in range(10, 100, 10)], "x", "members")


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["sd", "mean"], "wanted mean and then standard deviation: --columns mean,sd"),
        (["pred_mean", "pred_var"], "take the square roots of variances"),
        (["mu", "sigma^2"], "take the square roots of variances"),
        (["mean", "sd"], None),
        (["loc", "scale"], None),
        (["a", "b"], None),
    ],
)
def test_mean_and_deviation(names, message):
    if message is None:
        require_mean_and_deviation(names, "x")
    else:
        with pytest.raises(ValueError, match=message.replace("^", r"\^")):
            require_mean_and_deviation(names, "x")
