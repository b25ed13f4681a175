"""Maxima of likelihoods of one size, beside those whose place is known."""

from math import inf, log

import pytest

from caltest.predictions.faults.maxima import DROP, asked_once, best_between, best_of_grid, end_of_interval

LIKELIHOODS = {
    "parabola": (lambda t: -8.0 * (t - 0.2) ** 2, (-1.0, 1.0), 0.2),
    "narrow": (lambda t: -5e5 * (t - 0.0213) ** 2, (-1.0, 1.0), 0.0213),
    "at no fault": (lambda t: -50.0 * abs(t) ** 1.5, (-1.0, 1.0), 0.0),
    "a share": (lambda t: 8.0 * log(t) + 992.0 * log1(t) if t > 0.0 else -inf, (0.0, 0.5), 0.008),
    "a share of nearly all": (lambda t: 992.0 * log(t) + 8.0 * log1(t) if t > 0.0 else -inf, (0.0, 1.0), 0.992),
    "flat at first": (lambda t: max(0.0, t - 1e-5) * 135.0 - 4500.0 * t * t, (0.0, 0.49), 0.015),
    "lower end": (lambda t: -t, (0.0, 2.0), 0.0),
    "upper end": (lambda t: 3.0 * t, (-2.0, 2.0), 2.0),
    "without 0": (lambda t: -((log(t) - 1.0) ** 2), (1.0, 4.0), 2.718281828),
    "a kink": (lambda t: -900.0 * abs(t - 0.3), (-1.0, 1.0), 0.3),
    "steep below": (lambda t: -inf if t < -0.1 else -((t + 0.2) ** 2), (-1.0, 1.0), -0.1),
}


def log1(t):
    return log(1.0 - t) if t < 1.0 else -inf


@pytest.mark.parametrize("name", LIKELIHOODS)
def test_the_best_size_is_found(name):
    function, (low, high), best = LIKELIHOODS[name]
    asked = []
    log_ratio = asked_once(lambda t: asked.append(t) or function(t))
    t, neighbours = best_of_grid(log_ratio, low, high)
    assert neighbours[0] <= t <= neighbours[1]
    t = best_between(log_ratio, t, neighbours)
    assert t == pytest.approx(best, abs=1.01e-4 * (neighbours[1] - neighbours[0]))
    assert len(asked) == len(set(asked)) <= 40


@pytest.mark.parametrize(("slope", "end"), [(1.0, 1.0), (-1.0, -0.5)])
def test_the_best_size_can_be_an_end(slope, end):
    t, neighbours = best_of_grid(lambda t: slope * t, -0.5, 1.0)
    assert t == end
    assert neighbours[0] < neighbours[1]
    assert end in neighbours


def test_few_sizes_are_enough_for_a_parabola():
    asked = []
    log_ratio = asked_once(lambda t: asked.append(t) or -300.0 * (t - 0.05) ** 2)
    t, neighbours = best_of_grid(log_ratio, -1.0, 1.0)
    t = best_between(log_ratio, t, neighbours)
    ends = [end_of_interval(log_ratio, t, end) for end in (-1.0, 1.0)]
    assert ends == [(pytest.approx(0.05 + sign * (DROP / 300.0) ** 0.5, abs=1e-6), False) for sign in (-1.0, 1.0)]
    assert len(asked) <= 24


def test_an_interval_ends_where_sizes_do():
    log_ratio = asked_once(lambda t: -0.5 * t * t)
    assert end_of_interval(log_ratio, 0.0, 1.9) == (1.9, True)
    assert end_of_interval(log_ratio, 0.0, -2.0) == (pytest.approx(-1.96, abs=1e-4), False)


def test_an_interval_ends_before_what_cannot_be():
    log_ratio = asked_once(lambda t: -inf if t > 0.3 else -t)
    assert end_of_interval(log_ratio, 0.0, 1.0) == (pytest.approx(0.3, abs=1e-5), False)
