from types import SimpleNamespace

import numpy as np
import pytest

import caltest as ct
from caltest.predictions.faults.classes.claims import BinaryView, Window, claim_in_words


@pytest.mark.parametrize(
    ("claim", "words"),
    [
        (0.0, "0.00"),
        (1.0, "1.00"),
        (0.005, "0.01"),
        (0.995, "0.99"),
        (0.00123, "0.0012"),
        (0.996, "0.996"),
        (0.99987, "0.99987"),
        (0.5, "0.50"),
    ],
)
def test_claims_have_two_digits_or_those_that_tell_them_from_0_and_1(claim, words):
    assert claim_in_words(claim) == words


def test_windows_are_compared_by_squared_standardised_sums_of_errors():
    rng = np.random.default_rng(1)
    claims, weights = rng.beta(0.5, 3.0, 300), rng.uniform(0.5, 2.0, 300)
    first = (rng.random(300) < claims).astype(float)
    view = BinaryView(ct.Bernoulli(claims), weights, None)
    found = Window(view, len(view.windows)).promising(SimpleNamespace(first=first))
    for value, inside in zip(found, view.inside, strict=True):
        error = (view.weights * (first - claims))[inside].sum()
        variance = (view.weights**2 * claims * (1.0 - claims))[inside].sum()
        assert value == (pytest.approx(error**2 / variance) if inside.any() else -np.inf)
