"""Every public call with odd data and settings: a valid result or an error that helps, and data that stay as they are.

A few examples of each call by default; ``python -m pytest tests/fuzz -n 0 --hypothesis-profile=long`` tries 1000.
"""

import numpy as np
import pytest
from hypothesis import given, note, settings, strategies as st

import caltest as ct
from caltest.predictions import Predictions

from .calls import CALLS, Case, Drawn, Random, public, uncovered
from .data import CONTAINERS, FAMILIES, NOTHING, parameters
from .judge import judged

CLASS_DATA = st.sampled_from([ct.Categorical, ct.Bernoulli])


def test_every_public_name_is_covered():
    assert not list(uncovered())
    assert set(FAMILIES) == set(public(Predictions)) - {Predictions}


def check_answer(predictions, targets):
    judged(lambda p, y: ct.calibration_test(p, y, n_resamples=9, rng=1), predictions, targets)


@pytest.mark.every(7)
@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
@given(data=st.data())
def test_families(family, data):
    """Predictions are made, or refused; then they can be drawn from, tested, reduced and widened."""
    make, arguments, targets = data.draw(parameters(family))
    note(repr((arguments, targets)))
    predictions = judged(make, *arguments)
    if predictions is None:
        return
    judged(repr, predictions)
    drawn = judged(lambda p: p.sample(rng=1), predictions)
    if drawn is not None:
        assert judged(predictions.check_targets, drawn) is not None, "draws are no possible targets"
        check_answer(predictions, drawn)
    check_answer(predictions, targets)
    members = judged(lambda p: p.to_ensemble(3, rng=1), predictions)
    if members is not None:
        check_answer(members, targets)
    judged(lambda p: p.at_temperature(data.draw(st.sampled_from([1.0, 0.5, 2.0, 1e-5, 1e5, 0.0]))), predictions)
    judged(lambda p: p.take(slice(0, 1)), predictions)


@pytest.mark.every(8)
@pytest.mark.parametrize("name", CALLS)
@given(data=st.data())
def test_calls(name, data):
    """With the predictions of any family, or probabilities in any container."""
    if data.draw(st.booleans()):
        make, arguments, targets = data.draw(parameters())
        predictions = judged(make, *arguments)
        if predictions is None:
            return
    else:
        _, (predictions,), targets = data.draw(parameters(data.draw(CLASS_DATA)))
        with np.errstate(all="ignore"):
            predictions = data.draw(st.sampled_from(list(CONTAINERS.values())))(predictions)
            targets = data.draw(st.sampled_from(list(CONTAINERS.values())))(targets)
    wrong = data.draw(st.integers(0, 3)) == 0
    note(f"{name}, {predictions!r}, {getattr(predictions, '__dict__', '')}, {targets!r}")
    judged(lambda p, y: CALLS[name](Case(Drawn(data.draw), p, y), wrong), predictions, targets)


P = np.random.default_rng(1).dirichlet(np.ones(3), 6)
Y = np.array([0, 1, 2, 0, 1, 2])


@pytest.mark.every(8)
@pytest.mark.parametrize("name", CALLS)
def test_things_passed_by_mistake(name, request):
    """In place of the predictions, of the outcomes and of both; all of them in the long run, else some."""
    everything = settings.default.max_examples > 100
    some = list(NOTHING.items())
    for number, (what, thing) in enumerate(some):
        if not everything and (number + len(name) + sum(map(ord, name))) % 8:
            continue
        for p, y in ((thing, None), (None, thing), (thing, thing)):
            case = Case(Random(number), P if p is None else p(), Y if y is None else y())
            try:
                judged(lambda c: CALLS[name](c, False), case)
            except AssertionError as error:
                raise AssertionError(f"{name} of {what}: {error}") from error
