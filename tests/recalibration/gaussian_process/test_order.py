"""GPcalib keeps the most probable class."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import softmax

from caltest.recalibration import GPCalibrator, GPMap, TemperatureScaling
from caltest.recalibration.gaussian_process.fit import SCALES, first_process
from caltest.recalibration.gaussian_process.objective import OnScale, inputs_of
from caltest.recalibration.gaussian_process.order import PENALTY, SLOPE, Order


def dipping(n=800, k=5, seed=0):
    """Logits and labels with probabilities from a function of them that falls in places."""
    rng = np.random.default_rng(seed)
    z = 2.0 * rng.normal(size=(n, k))
    chances = softmax(z - 3.0 * np.exp(-2.0 * (z - 1.0) ** 2), axis=1)
    return z, np.array([rng.choice(k, p=row) for row in chances])


def process_on(scale, scores, seed):
    rng = np.random.default_rng(seed)
    process = first_process(inputs_of(scores, scale), 5, SCALES[scale].lengthscale / 10.0 ** (scale != "probability"))
    return replace(process, mean=5.0 * rng.normal(size=5), variance=3.0)


def loss(probabilities, labels):
    return -np.log(probabilities[np.arange(labels.size), labels]).mean()


@pytest.mark.parametrize("scale", ["probability", "log", "logit"])
def test_shortfalls_are_those_of_all_pairs(scale):
    z, labels = dipping(50)
    scores = z if scale == "logit" else softmax(z, axis=1)
    order = Order.of(OnScale.of(scores, labels, scale), 40)
    deviation = np.random.default_rng(1).normal(size=order.nodes.size)
    left = (1.0 - SLOPE) * order.prior + deviation
    p = order.nodes if scale == "probability" else np.exp(order.nodes)
    if scale == "logit":
        assert order.nodes[[0, -1]] == pytest.approx(np.array([1.5, -0.5]) * z.min() + np.array([-0.5, 1.5]) * z.max())
    else:
        assert (p[-1], np.diff(p).max() < 1.01 / 40) == (pytest.approx(1.0), True)
    for i, found in enumerate(order.shortfalls(deviation)[0]):
        beside = order.nodes < order.nodes[i]
        if scale != "logit":
            beside &= (p <= 1.0 - p[i] + 1e-9) & (p[i] >= 0.2 - 1e-9)
        assert found == pytest.approx(max([0.0, *(left[beside] - left[i])]))


@pytest.mark.parametrize("scale", ["probability", "log", "logit"])
def test_the_gradient_is_that_of_the_penalty(scale):
    z, labels = dipping(50)
    scores = z if scale == "logit" else softmax(z, axis=1)
    order = Order.of(OnScale.of(scores, labels, scale), 40)
    vector = process_on(scale, scores, 2).to_vector()
    value, gradient = order.penalty(vector)
    assert value > PENALTY / 100.0
    steps = 1e-6 * np.eye(vector.size)
    slopes = [(order.penalty(vector + step)[0] - order.penalty(vector - step)[0]) / 2e-6 for step in steps]
    np.testing.assert_allclose(gradient, slopes, rtol=1e-4, atol=1e-5 * np.abs(gradient).max())


@pytest.mark.parametrize("scale", ["probability", "log", "logit"])
def test_the_share_that_keeps_the_class_is_the_largest(scale):
    z, labels = dipping(50)
    scores = z if scale == "logit" else softmax(z, axis=1)
    order, process = Order.of(OnScale.of(scores, labels, scale), 2000), process_on(scale, scores, 2)
    share = order.share(process)
    assert 0.0 < share < 1.0
    assert order.share(replace(process, mean=share * process.mean)) > 1.0 - 1e-9
    assert order.share(replace(process, mean=1.01 * share * process.mean)) < 1.0


@pytest.mark.parametrize(("scale", "n"), [("probabilities", 400), ("logits", 300)])
def test_the_most_probable_class_stays(scale, n):
    z, y = dipping()
    others = 2.5 * np.random.default_rng(1).normal(size=(4000, 5))
    if scale == "probabilities":
        z, others = softmax(z, axis=1), softmax(others, axis=1)
    settings = {"input": scale, "n_inducing": 8, "max_iterations": 60}
    kept, free = (GPCalibrator(keep_class=keep, **settings).fit(z[:n], y[:n]) for keep in (True, False))
    assert (free(others).argmax(axis=1) != others.argmax(axis=1)).any()
    np.testing.assert_array_equal(kept(others).argmax(axis=1), others.argmax(axis=1))
    temperature = TemperatureScaling(input=scale).fit(z[:n], y[:n])
    losses = [loss(fitted(z[400:]), y[400:]) for fitted in (kept, free, temperature)]
    assert losses[0] < losses[1] + 0.06
    assert losses[0] < losses[2] - 0.01


def test_ties_stay_ties():
    for seed in range(10):
        rng = np.random.default_rng(seed)
        p, inducing = rng.multinomial(5, np.ones(3) / 3.0, 37 + seed) / 5.0, np.linspace(0.0, 1.0, 10)
        settings = 0.3, 1.0, 0.01, 0.0, True, 0.0, 1.0
        mean = 20.0 * rng.normal(size=10)
        fitted = GPMap("probabilities", 3, "probability", inducing, mean, np.ones(10), *settings)
        answer, equal = fitted(p), p[:, :-1] == p[:, 1:]
        np.testing.assert_array_equal(answer[:, :-1][equal], answer[:, 1:][equal])


def test_where_the_class_stays_the_map_is_about_as_good_as_temperature_scaling():
    """Probabilities that differ by a few percent between classes, of a model that is right 9 times in 10."""
    rng = np.random.default_rng(7)
    logits = 0.02 * rng.standard_normal((600, 5)) + 0.05 * (np.arange(5) == rng.integers(5, size=600)[:, None])
    logits[:, 4] -= 13.0
    p = softmax(logits, axis=1)
    y = (softmax(100.0 * logits, axis=1).cumsum(axis=1) < rng.random(600)[:, None]).sum(axis=1)
    methods = GPCalibrator(n_inducing=4, max_iterations=60), TemperatureScaling()
    fitted, tempered = (method.fit(p[:300], y[:300]) for method in methods)
    score, temperature, none = (loss(q, y[300:]) for q in (fitted(p[300:]), tempered(p[300:]), p[300:]))
    assert none > temperature + 0.5
    assert score < temperature + 0.05
    np.testing.assert_array_equal(fitted(p).argmax(axis=1), p.argmax(axis=1))
    again = type(fitted).from_dict(fitted.to_dict())
    assert again.slope == fitted.slope > 5.0
    np.testing.assert_allclose(again(p), fitted(p), rtol=1e-12)
    assert np.abs(fitted.marginal(p, n_draws=2000, rng=1) - fitted(p)).max() < 0.1
