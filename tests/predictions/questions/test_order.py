"""Outcomes that belong to other rows are asked about, in every family, and those that are wrong otherwise are not."""

import numpy as np
import pytest
from placed_rows import FAMILIES, data
from printed import unfolded

import caltest as ct
from caltest.cli.test import table
from caltest.predictions.inputs.convert import as_sample
from caltest.predictions.questions.order import Rows, _slope

BELOW, ABOVE = "outcomes 1 row below would fit", "outcomes 7 rows above would fit"
REVERSED, ANY = "outcomes in reverse order would fit", "outcomes fit the predictions of other rows as well as their own"


def questions(predictions, y):
    return [one for one in as_sample(predictions, y).remarks if one.endswith(("order?", "scale?", "unit?"))]


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("n", [300, 1500])
def test_outcomes_of_other_rows(family, n):
    predictions, y = data(family, n)
    shuffled = np.random.default_rng(3).permutation(n)
    assert questions(predictions, y) == []
    moved = {BELOW: np.roll(y, 1, 0), ABOVE: np.roll(y, -7, 0), REVERSED: y[::-1], ANY: y[shuffled]}
    for words, other in moved.items():
        (asked,) = questions(predictions, other)
        assert asked.startswith(words)
        assert asked.endswith(": are both in the same order?")


@pytest.mark.parametrize("family", FAMILIES)
def test_calibrated_data_are_not_asked_about(family, replications):
    for seed in range(replications(5, 100)):
        assert not as_sample(*data(family, 50 + 7 * seed % 100, seed)).questions


@pytest.mark.parametrize("n", [49, 50])
def test_order_is_asked_about_from_fifty_rows_on(n):
    predictions = ct.Normal(10.0 * np.random.default_rng(1).permutation(n), 1.0)
    assert len(questions(predictions, predictions.sample(1)[::-1])) == (n == 50)


def test_outcomes_of_other_rows_for_laws_of_infinite_variance():
    rng = np.random.default_rng(1)
    predictions = ct.StudentT(np.full(300, 2.0), rng.normal(0.0, 30.0, 300), np.ones(300))
    y = predictions.sample(rng)
    assert questions(predictions, y) == []
    assert questions(predictions, y[::-1])[0].endswith(": are both in the same order?")


def test_other_errors_are_not_asked_about():
    rng = np.random.default_rng(2)
    m = rng.normal(size=400)
    sharp = ct.Normal(m, np.full(400, 0.3))
    assert questions(sharp, m + 0.6 * rng.normal(size=400)) == []
    assert questions(sharp, 2.0 + rng.normal(size=400)) == []  # Unrelated, but higher too.
    assert questions(sharp, 3.0 * rng.normal(size=400)) == []
    noise = ct.Normal(np.zeros(400), np.full(400, 0.3))
    assert questions(noise, 0.6 * rng.normal(size=400)) == []  # Nothing says in which order they are.
    p = rng.dirichlet(np.full(4, 0.3), 400)
    y = ct.Categorical(p).sample(rng)
    assert not any("order?" in one for one in questions(ct.Categorical(p[:, ::-1].copy()), y) if "columns" not in one)
    assert questions(ct.Categorical(0.1 * p + 0.9 * p.mean(axis=0)), y) == []
    assert questions(sharp.take(slice(40)), np.roll(m[:40], 1)) == []


CLAIMS, EVENTS = data("claims", 300)
LAWS, OUTCOMES = data("classes", 300)
MEMBERS, VALUES = data("ensembles", 300)
WRONG = np.roll(EVENTS, 1)


@pytest.mark.parametrize(
    "call",
    [
        lambda: ct.calibration_by_group(CLAIMS, WRONG, np.arange(300) % 3, n_resamples=19, rng=1),
        lambda: ct.find_slices(CLAIMS, WRONG, {"x": np.arange(300) % 5}, n_resamples=19, rng=1),
        lambda: ct.SequentialCalibrationTest()(CLAIMS, WRONG),
        lambda: ct.CalibrationMonitor().update(CLAIMS, WRONG).result(),
        lambda: ct.compare_models({"a": CLAIMS, "b": CLAIMS}, WRONG, n_resamples=19, rng=1),
        lambda: ct.compare_classes(LAWS, np.roll(OUTCOMES, 1), n_resamples=19, rng=1),
        lambda: ct.MonteCarloTest(ct.ECE(), 19)(CLAIMS, WRONG, rng=1),
        lambda: ct.fields.clinical.validate(CLAIMS, WRONG, n_resamples=19, rng=1),
        lambda: ct.fields.clinical.decision_curve(CLAIMS, WRONG, n_resamples=19, rng=1),
        lambda: ct.fields.weather.rank_histogram(MEMBERS, np.roll(VALUES, 1), n_resamples=19, rng=1),
        lambda: ct.fields.bayesian.simulation_based_calibration(MEMBERS.members, np.roll(VALUES, 1), thin=1, rng=1),
    ],
)
def test_all_results_ask(call):
    lines = [line for line in unfolded(call()).splitlines() if "1 row below would fit the predictions" in line]
    assert len(lines) == 1
    assert lines[0].startswith("First check")


def test_questions_come_after_the_verdict():
    predictions, y = data("normal", 300)
    result = ct.calibration_test(predictions, np.roll(y, 1), n_resamples=39, rng=1)
    lines = unfolded(result).splitlines()
    verdict = next(i for i, line in enumerate(lines) if line.startswith("Verdict"))
    assert lines[verdict + 1].startswith(f"First check    {BELOW}")
    assert "Note: outcomes" not in unfolded(result)
    html = result._repr_html_()
    assert html.index(BELOW) < html.index("<details>")
    assert any(one.startswith(BELOW) for one in result.notes)
    with pytest.raises(AssertionError) as error:
        ct.assert_calibrated(predictions, np.roll(y, 1), n_resamples=39, rng=1)
    assert str(error.value).splitlines()[1].startswith(f"first check: {BELOW}")
    assert ["first check", result.notes[0]] in table(result, 0.05)


def test_few_rows_that_other_rows_fit_by_chance(replications):
    """Outcomes that no model knows beforehand, and sharp probabilities that say something."""
    asked = np.zeros(2)
    n_sets = replications(60, 400)
    for seed in range(n_sets):
        rng = np.random.default_rng(seed)
        rain = np.where(rng.random((60, 21)) < 0.4, rng.gamma(0.8, 5.0, (60, 21)), 0.0)
        p = rng.dirichlet(np.ones(5), 60)
        told = 0.7 * p + 0.3 * rng.permuted(p, axis=1)
        labels = ct.Categorical(told).sample(rng)
        sharp = ct.Categorical(p**5 / (p**5).sum(axis=1, keepdims=True))
        asked += [bool(questions(ct.Ensemble(rain[:, 1:]), rain[:, 0])), bool(questions(sharp, labels))]
    assert (asked <= 0.1 * n_sets).all()
    assert asked[0] <= 0.01 * n_sets


def test_fits_of_classes_are_slopes_and_of_numbers_mean_squares():
    """Slopes are those of least squares through all classes, with the error that independent outcomes give them."""
    rng = np.random.default_rng(5)
    p, v, part = rng.dirichlet(np.ones(3), 40), rng.uniform(0.1, 0.5, 40), slice(5, None)
    y = np.eye(3)[rng.integers(0, 3, 40)]
    of_classes, of_numbers = Rows(p, v, y, True), Rows(p, v, y, False)
    moved = p[part] - p[part].mean(axis=0)
    assert of_classes.fit(part, y[part]) == pytest.approx(np.polyfit(moved.ravel(), y[part].ravel(), 1)[0])
    assert _slope(np.full((9, 2), 0.5), y[:9, :2]) == 0.0
    slopes = [_slope(p, y[rng.permutation(40)]) for _ in range(2000)]
    assert of_classes.slope_error == pytest.approx(np.std(slopes), rel=0.05)  # 3 standard errors
    squares = [min(sum((a - b) ** 2) / c, 16.0) for a, b, c in zip(y[part], p[part], v[part], strict=True)]
    assert of_numbers.fit(part, y[part]) == pytest.approx(np.mean(squares))
    assert 16.0 in squares
