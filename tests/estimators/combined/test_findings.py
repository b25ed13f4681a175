import numpy as np
import pytest

import caltest as ct
from caltest._results.values import Finding
from caltest.estimators.combined.findings import _beside, findings_of
from caltest.predictions.inputs.convert import as_sample


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("in coordinate 1 errors are skewed: 5 % above", "in coordinate 1: 5 % above"),
        ("in coordinate 1 errors are heavy: 5 % above", "in coordinate 1 errors are heavy: 5 % above"),
        ("in coordinate 1 errors are 2 times as large", "in coordinate 1 errors are 2 times as large"),
        ("errors of coordinate 1 are skewed: 5 % above", "errors of coordinate 1 are skewed: 5 % above"),
    ],
)
def test_what_holds_in_another_place_is_not_said_again(words, said):
    first = Finding("in coordinate 0 errors are skewed: 9 % above", place="coordinate 0")
    assert _beside(Finding(words, place="coordinate 1"), first) == said


def test_coordinates_with_the_same_fault_are_named_with_their_numbers():
    rng = np.random.default_rng(1)
    members = rng.normal(size=(1000, 20, 2))
    first = findings_of(as_sample(ct.Ensemble(members), rng.exponential(size=(1000, 2)) - 1.0))[0]
    assert first.words.count("are skewed beside those of members") == 1
    assert "; and in coordinate 0: " in first.words or "; and in coordinate 1: " in first.words
