"""Outcomes in another unit and codes of missing values are asked about, and nothing else is."""

import numpy as np
import pytest
from printed import unfolded
from scipy import special, stats

import caltest as ct
from caltest.predictions.convert import as_sample
from caltest.predictions.questions.classes import _following
from caltest.predictions.questions.units import OF_NUMBERS

N, LEVELS = 200, [0.1, 0.25, 0.5, 0.9]


def flows(seed=1):
    rng = np.random.default_rng(seed)
    centre = np.exp(1.5 + 0.8 * rng.normal(size=N))
    members = centre[:, None] * np.exp(0.3 * rng.normal(size=(N, 9)))
    return {
        "Normal": ct.Normal(centre, 0.3 * centre),
        "LogNormal": ct.LogNormal(np.log(centre), np.full(N, 0.3)),
        "Gamma": ct.Gamma(np.full(N, 11.0), centre / 11.0),
        "StudentT": ct.StudentT(np.full(N, 3.0), centre, 0.1 * centre),
        "Ensemble": ct.Ensemble(members),
        "MvNormal": ct.MvNormal(np.stack([centre, 2.0 * centre], axis=1), (0.3 * centre) ** 2),
        "QuantileForecast": ct.QuantileForecast(LEVELS, centre[:, None] * np.exp(0.3 * special.ndtri(LEVELS))),
    }, centre * np.exp(0.3 * rng.normal(size=N))


def remarks(predictions, y):
    return as_sample(predictions, np.stack([y, 2.0 * y], axis=1) if predictions.family == "MvNormal" else y).remarks


@pytest.mark.parametrize("family", flows()[0])
def test_units(family):
    predictions, y = flows()[0][family], flows()[1]
    assert remarks(predictions, y) == ()
    assert remarks(predictions, y / 1000.0) == (
        "outcomes multiplied by 1000 or so would fit the predictions: are both in the same unit?",
    )
    if family != "MvNormal":
        assert "outcomes divided by 60 or so would fit" in remarks(predictions, 60.0 * y)[0]


def test_conversions_come_back():
    for words, (factor, added) in OF_NUMBERS.items():
        if words.startswith("converted"):
            continue
        first, rest = words.split(" ", 1)
        inverse = {"plus": "minus", "minus": "plus", "multiplied": "divided", "divided": "multiplied"}[first]
        other_factor, other_added = OF_NUMBERS[f"{inverse} {rest}"]
        assert other_factor * (factor * 5.0 + added) + other_added == pytest.approx(5.0)


def test_temperatures():
    rng = np.random.default_rng(2)
    celsius = rng.normal(10.0, 8.0, N)
    kelvin = ct.Normal(celsius + 273.15, np.ones(N))
    assert "outcomes plus 273.15 or so would fit" in remarks(kelvin, celsius + rng.normal(size=N))[0]
    observed = celsius + 273.15 + rng.normal(size=N)
    assert "outcomes minus 273.15 or so would fit" in remarks(ct.Normal(celsius, np.ones(N)), observed)[0]
    fahrenheit = 1.8 * (observed - 273.15) + 32.0
    (words,) = remarks(ct.Normal(celsius, np.ones(N)), fahrenheit)
    assert words.startswith("outcomes converted from Fahrenheit to Celsius or so would fit")
    (words,) = remarks(ct.Normal(1.8 * celsius + 32.0, 1.8 * np.ones(N)), observed - 273.15)
    assert words.startswith("outcomes converted from Celsius to Fahrenheit or so would fit")


def test_rounded_outcomes():
    rng = np.random.default_rng(3)
    mean = rng.normal(10.0, 3.0, N)
    counts = ct.Poisson(np.exp(0.4 * rng.normal(size=N) + 2.5)).sample(rng)
    for sd, asked in ((0.4, True), (3.0, False)):
        y = np.round(mean + sd * rng.normal(size=N))
        assert [words.startswith("outcomes are in steps of 1, and") for words in remarks(ct.Normal(mean, sd), y)] == (
            [True] if asked else []
        )
    assert remarks(ct.Normal(mean, 0.4), mean + 0.4 * rng.normal(size=N)) == ()
    assert remarks(ct.Poisson(np.full(N, 12.0)), counts) == ()
    (words,) = remarks(ct.Poisson(np.full(N, 12.0)), counts // 5 * 5)
    assert words == "all counts are multiples of 5, which the predictions are not about: are they rounded?"
    assert remarks(ct.Poisson(np.full(N, 0.01)), np.arange(N) % 100 // 99 * 2) == ()


@pytest.mark.parametrize(("shift", "scale"), [(0.0, 1.0), (0.0, 12.0), (5.0, 1.0), (-20.0, 0.1)])
def test_other_errors_are_no_matter_of_units(shift, scale):
    """Around 0, where a factor changes the spread alone, and far from it, where none fits."""
    rng = np.random.default_rng(3)
    predictions = ct.Normal(rng.normal(size=N), np.ones(N))
    assert remarks(predictions, shift + scale * rng.normal(size=N)) == ()
    far = ct.Normal(np.full(N, 10.0), np.ones(N))
    assert remarks(far, 1e4 + 5e3 * rng.normal(size=N)) == ()


@pytest.mark.parametrize("seed", range(10))
def test_large_errors_around_0_are_no_matter_of_units(seed):
    """They have any sign, wherever predictions are; those in another unit have that of the predictions."""
    rng = np.random.default_rng(seed)
    mean, scale = 3.0 * rng.normal(size=N), np.exp(0.5 * rng.normal(size=N))
    sharp = ct.Normal(mean, 0.2 * scale)
    assert not any("unit" in words for words in remarks(sharp, mean + scale * rng.normal(size=N)))
    assert "divided by 10 or so" in remarks(sharp, 10.0 * (mean + 0.2 * scale * rng.normal(size=N)))[0]


def test_transforms_have_no_unit():
    low = special.ndtri(np.random.default_rng(5).random(N) / 1000.0)
    assert as_sample(*ct.pit_values(ct.Normal(np.zeros(N), np.ones(N)), low)).remarks == ()


@pytest.mark.parametrize("centre", [0.01, 0.5])
def test_probabilities_of_the_other_class(centre):
    rng = np.random.default_rng(6)
    p = rng.beta(2.0 * centre, 2.0 * (1.0 - centre), 2000)
    y = (rng.random(2000) < p).astype(int)
    words = "1 - p would fit the outcomes: are these the probabilities of the other class?"
    assert as_sample(p, y).remarks == ()
    assert as_sample(1.0 - p, y).remarks == (words,)
    assert as_sample(np.column_stack([p, 1.0 - p]), y).remarks == (words,)
    worse = "1 - p would fit the outcomes better: are these the probabilities of the other class?"
    assert as_sample(0.6 - 0.5 * p, y).remarks == (worse,)
    overconfident = special.expit(3.0 * special.logit(p))
    assert as_sample(overconfident, y).remarks == ()
    assert as_sample(1.0 - overconfident, y).remarks == (worse,)
    assert as_sample((overconfident < 0.5).astype(float), y).remarks == (worse,)


@pytest.mark.parametrize("order", [(1, 0, 2, 3), (1, 2, 0, 3)])
def test_columns_in_another_order(order):
    rng = np.random.default_rng(9)
    p = rng.dirichlet([0.5] * 4, 600)
    y = ct.Categorical(p).sample(rng)
    assert as_sample(p, y).remarks == ()
    places = ", ".join(f"class {c}: column {order.index(c)}" for c in range(4) if order.index(c) != c)
    words = f"columns in another order would fit the outcomes ({places}): is theirs that of the classes?"
    assert as_sample(p[:, list(order)], y).remarks == (words,)
    for others in (0.5 * p + 0.125, special.softmax(3.0 * np.log(p), axis=1), np.round(p)):
        rows = others / others.sum(axis=1, keepdims=True) if others.min() > 0.0 else np.eye(4)[p.argmax(axis=1)]
        assert as_sample(rows, y).remarks == ()
        assert as_sample(rows[:, list(order)], y).remarks == (words.replace("outcomes (", "outcomes better ("),)


@pytest.mark.parametrize("spread", [0.0, 0.4])
def test_means_in_the_place_of_standard_deviations(spread):
    rng = np.random.default_rng(12)
    scale, mean = 2.0 * np.exp(spread * rng.normal(size=2 * N)), 8.0 + rng.random(2 * N)
    words = "means and standard deviations in each other's place would fit the outcomes: are the two exchanged?"
    for factor in (1.0, 1.2):
        y = mean + factor * scale * rng.normal(size=2 * N)
        assert remarks(ct.Normal(mean, scale), y) == ()
        assert remarks(ct.Normal(scale, mean), y) == (words,)
    assert words not in remarks(ct.Normal(mean, scale), 0.6 * y)
    with pytest.raises(ValueError, match="wanted scales of at least 0; means come first, then scales"):
        ct.Normal(scale, mean - 8.5)


def test_percentages_divided_twice():
    rng = np.random.default_rng(1)
    p = rng.beta(1.0, 2.0, N)
    y = (rng.random(N) < p).astype(int)
    assert as_sample(p, y).remarks == ()
    assert as_sample(p / 100.0, y).remarks == ("100 p would fit the outcomes: were percentages divided by 100 twice?",)


def test_ranks_against_scipy():
    """Of what occurred, in columns with ties: the statistic of Mann and Whitney in its standard deviations."""
    rng = np.random.default_rng(10)
    p, occurred = rng.integers(0, 9, (50, 3)) / 8.0, rng.random((50, 2)) < 0.4
    p[:, 2] = 0.5
    found = _following(p, occurred)
    for c in range(2):
        for j in range(2):
            chosen = occurred[:, c]
            pvalue = stats.mannwhitneyu(p[chosen, j], p[~chosen, j], method="asymptotic", use_continuity=False).pvalue
            assert stats.norm.sf(abs(found[c, j])) * 2.0 == pytest.approx(pvalue)
        assert found[c, 2] == 0.0
    assert _following(p[:, 0], occurred[:, 0]) == pytest.approx(found[0, 0])


def test_models_that_know_nothing_are_not_asked_about_their_columns():
    rng = np.random.default_rng(11)
    for k in (2, 3, 30):
        p, y = rng.dirichlet([0.5] * k, 1000), rng.integers(0, k, 1000)
        assert not [one for one in as_sample(p, y).remarks if "column" in one or "1 - p" in one]


def test_percentages_below_one():
    rng = np.random.default_rng(7)
    rates = rng.uniform(0.0005, 0.009, 3000)
    y = (rng.random(3000) < rates).astype(int)
    words = "p / 100 would fit the outcomes: are these percentages?"
    assert words in ct.calibration_test(100.0 * rates, y, n_resamples=19, rng=1).notes
    (other,) = as_sample(100.0 * rates[:500], np.zeros(500, dtype=int)).remarks
    assert other == "all outcomes are class 0: were they read from the right column?"
    assert as_sample(30.0 * rates, y).remarks == ()


def test_quantiles_have_no_other_class():
    rng = np.random.default_rng(8)
    assert (
        as_sample(ct.QuantileForecast([0.9], np.zeros((300, 1))), np.where(rng.random(300) < 0.1, -1.0, 1.0)).remarks
        == ()
    )


def test_codes_that_can_be_values():
    rng = np.random.default_rng(4)
    debts = ct.Normal(np.full(N, -8000.0), np.full(N, 50.0))
    assert remarks(debts, np.append(-9999.0, -8000.0 + 50.0 * rng.normal(size=N - 1))) == ()
    heavy = ct.Normal(np.zeros(N), np.full(N, 900.0))
    assert remarks(heavy, np.append(-999.0, rng.normal(size=N - 1))) == ()


@pytest.mark.parametrize("k", [2, 3])
def test_predictions_that_are_made_from_outcomes(k):
    labels = np.random.default_rng(1).integers(0, k, 60)
    rows = np.full((k, k), 0.1 / (k - 1)) + (0.9 - 0.1 / (k - 1)) * np.eye(k)
    asked = "are the predictions made from the outcomes?"
    assert [one for one in as_sample(rows[labels], labels).notes if asked in one]
    others = np.where(np.arange(60) == 7, (labels + 1) % k, labels)
    for predictions, targets in ((rows[others], labels), (rows[labels[:10]], labels[:10]), (rows[0 * labels], labels)):
        assert not [one for one in as_sample(predictions, targets).notes if asked in one]


def test_an_audit_asks_before_it_says_that_such_predictions_can_be_used():
    outcomes = np.random.default_rng(2).integers(0, 2, 300)
    model = ct.audit(outcomes.astype(float), outcomes, n_resamples=19, rng=1).models[0]
    assert model.decision == "not enough data to tell"
    assert "look at the data first: all rows of an outcome have the same prediction" in model.reason


@pytest.mark.parametrize("k", [2, 3])
def test_outcomes_of_one_class(k):
    p = np.random.default_rng(1).dirichlet(np.ones(k), 50)
    found = ct.calibration_test(p, np.ones(50, dtype=int), n_resamples=99, rng=1)
    assert found.notes == ("all outcomes are class 1: were they read from the right column?",)
    assert as_sample(p[:8], np.ones(8, dtype=int)).remarks == ()
    rare = np.repeat([[0.001, 0.999]], 50, axis=0) if k == 2 else np.repeat([[0.001, 0.998, 0.001]], 50, axis=0)
    assert as_sample(rare, np.ones(50, dtype=int)).remarks == ()
    audit = ct.audit(p, np.ones(50, dtype=int), n_resamples=99, rng=1)
    assert audit.models[0].decision == "do not use as it is"
    assert "look at how the data were read: all outcomes are class 1" in unfolded(str(audit))


def test_one_class_is_no_reason_to_recalibrate():
    audit = ct.audit(np.full(50, 0.9), np.ones(50, dtype=int), n_resamples=99, rng=1)
    assert audit.models[0].decision == "not enough data to tell"
    answer = audit.models[0].sections["recalibration"].answer
    assert answer == "Not computed: all outcomes are class 1, which every map would make certain; wait for others."


@pytest.mark.parametrize("n", [1, 2, 3, 4, 7, 10])
def test_few_outcomes_that_are_far_off_are_no_matter_of_units(n, replications):
    """Any two numbers are a step apart, and of a few errors all can be on one side."""
    asked = n_sets = 0
    for seed in range(replications(40, 400)):
        rng = np.random.default_rng(seed)
        m, p = rng.normal(size=(n, 2)), rng.random(n)
        far, rates = m + rng.normal(size=(n, 2)), np.exp(3.0 * p)
        pairs = [
            (ct.Normal(m[:, 0], np.full(n, 0.1)), far[:, 0]),
            (ct.MvNormal(m, np.full(n, 0.01)), far),
            (ct.Poisson(rates), rng.poisson(10.0, n)),
            (ct.Bernoulli(p), rng.integers(0, 2, n)),
        ]
        asked += sum(as_sample(*pair).questions != () for pair in pairs)
        n_sets += len(pairs)
    assert asked <= 0.02 * n_sets


def test_few_outcomes_in_another_unit():
    celsius = np.array([12.0, 14.0, 9.0, 11.0, 15.0])
    (words,) = remarks(ct.Normal(celsius + 273.15, np.ones(5)), celsius + np.array([1.0, -0.5, 0.0, 0.4, -1.2]))
    assert words.startswith("outcomes plus 273.15 or so would fit")


def test_roots_of_matrices_are_made_once(monkeypatch):
    """For many coordinates they take most of the time."""
    rng, calls = np.random.default_rng(1), []
    predictions = ct.MvNormal(np.zeros((60, 3)), np.broadcast_to(np.eye(3) + 0.1, (60, 3, 3)))
    inv = np.linalg.inv
    monkeypatch.setattr(np.linalg, "inv", lambda one: calls.append(one.shape) or inv(one))
    assert as_sample(predictions, 3.0 * rng.normal(size=(60, 3))).questions == ()
    assert calls == [(60, 3, 3)]
