import numpy as np
import pandas as pd
import pytest

import caltest as ct


def test_reductions():
    p = [[0.2, 0.8], [0.7, 0.3], [0.5, 0.5]]
    confidence, correct = ct.top_label(p, [1, 1, 0])
    assert confidence.probability.tolist() == [0.8, 0.7, 0.5]
    assert correct.tolist() == [1, 0, 1]
    assert "top label" in repr(confidence)
    named = ct.Categorical(p, classes=["cat", "dog"])
    pairs = ct.classwise(named, ["dog", "dog", "cat"])
    assert [pair[1].tolist() for pair in pairs] == [[0, 0, 1], [1, 1, 0]]
    assert "class dog against the rest" in repr(pairs[1][0])
    with pytest.raises(TypeError, match="binary predictions need no reduction"):
        ct.top_label([0.2, 0.8], [0, 1])
    with pytest.raises(TypeError, match=r"got Normal predictions, wanted Categorical ones or an \(n, k\) array$"):
        ct.top_label(ct.Normal([0.2, 0.8], 1.0), [0.0, 1.0])
    result = ct.MonteCarloTest(ct.ECE(), n_resamples=9)(*ct.top_label(p, [1, 1, 0]), rng=1)
    assert result.estimator == "ECE (top label), 15 uniform bins, total variation distance"


def test_the_top_label_is_the_first_among_equals():
    confidence, correct = ct.top_label([[0.25, 0.25, 0.25, 0.25], [0.1, 0.45, 0.0, 0.45]] * 4, [0, 0, 1, 1, 2, 2, 3, 3])
    assert confidence.probability.tolist() == [0.25, 0.45] * 4
    assert correct.tolist() == [1, 0, 0, 1, 0, 0, 0, 0]


@pytest.mark.parametrize("n", [1, 2, 300])
def test_reductions_do_not_read_the_array_later(n):
    """A column of a single row is contiguous, so nothing forces a copy of it."""
    rng = np.random.default_rng(1)
    p, y = rng.dirichlet(np.ones(4), n), rng.integers(0, 4, n)
    given, labels = p.copy(), y.copy()
    reduced = [ct.top_label(given, labels), *ct.classwise(given, labels)]
    given[:], labels[:] = given[:, ::-1].copy(), 3 - labels
    expected = [(p.max(axis=1), p.argmax(axis=1) == y), *((p[:, c], y == c) for c in range(4))]
    for (predictions, outcomes), (probability, occurred) in zip(reduced, expected, strict=True):
        assert np.array_equal(predictions.probability, probability)
        assert np.array_equal(outcomes, occurred)
        with pytest.raises(ValueError, match="read-only"):
            predictions.probability[0] = 0.0


@pytest.fixture(scope="module")
def sample():
    rng = np.random.default_rng(7)
    return rng.dirichlet(np.ones(6), 200), rng.integers(6, size=200)


@pytest.mark.parametrize("m", [1, 3, 5])
def test_the_m_most_probable_classes_row_by_row(sample, m):
    p, y = sample
    ranked, ranks = ct.predictions.top_m(p, y, m)
    for row, label, q, rank in zip(p, y, ranked.probabilities, ranks, strict=True):
        ordered = sorted(row, reverse=True)
        assert q == pytest.approx([*ordered[:m], sum(ordered[m:])], abs=1e-15)
        assert rank == min(ordered.index(row[label]), m)


def test_the_first_of_the_most_probable_is_the_top_label(sample):
    confidence, correct = ct.top_label(*sample)
    ranked, ranks = ct.predictions.top_m(*sample, 1)
    assert np.array_equal(ranked.probabilities[:, 0], confidence.probability)
    assert np.array_equal(ranks == 0, correct)
    even = ct.predictions.top_m([[0.25, 0.25, 0.25, 0.25]] * 4, [0, 1, 2, 3], 2)
    assert even[1].tolist() == [0, 1, 2, 2]


def test_groups_of_classes(sample):
    p, y = sample
    grouped, outcomes = ct.predictions.class_groups(p, y, ["b", "a", "b", "c", "a", "b"])
    expected = np.column_stack([p[:, [1, 4]].sum(axis=1), p[:, [0, 2, 5]].sum(axis=1), p[:, 3]])
    assert grouped.probabilities == pytest.approx(expected, abs=1e-15)
    assert np.array_equal(outcomes, np.array(["b", "a", "b", "c", "a", "b"])[y])
    assert grouped.classes == ("a", "b", "c")
    assert ct.calibration_test(grouped, outcomes, n_resamples=19, rng=1).n == len(y)
    alone = ct.predictions.class_groups(*sample, range(6))
    assert np.array_equal(alone[0].probabilities, p)
    assert np.array_equal(alone[1], y)


def test_lenses_of_calibrated_predictions_are_calibrated():
    """The mean of outcomes less probabilities, in standard errors, where predictions differ most from the mean."""
    rng = np.random.default_rng(3)
    p = rng.dirichlet(np.ones(6), 20_000)
    y = (p.cumsum(axis=1) < rng.random(len(p))[:, None]).sum(axis=1)
    for q, z in (ct.predictions.top_m(p, y, 2), ct.predictions.class_groups(p, y, [0, 0, 1, 1, 2, 2])):
        errors = (np.arange(3) == z[:, None]) - q.probabilities
        for weights in (np.ones(len(p)), q.probabilities[:, 0]):
            weighted = weights[:, None] * errors
            assert np.all(np.abs(weighted.mean(axis=0)) < 4.0 * weighted.std(axis=0) / np.sqrt(len(p)))


def test_wrong_lenses(sample):
    for m in (0, 6, 2.5):
        with pytest.raises(ValueError, match="m: got"):
            ct.predictions.top_m(*sample, m)
    with pytest.raises(ValueError, match="groups: got a missing value at position 2"):
        ct.predictions.class_groups(*sample, [0, 1, None, 1, 0, 1])
    with pytest.raises(ValueError, match="got values of type int, str, wanted numbers, or text for all of them"):
        ct.predictions.class_groups(*sample, [1, "1", 0, 1, 0, 1])
    for groups in ([0, 1], [0] * 6):
        with pytest.raises(ValueError, match="wanted one for each of 6 classes"):
            ct.predictions.class_groups(*sample, groups)


@pytest.mark.parametrize("labels", [[0, 1, 2, 0], ["cat", "dog", "car", "cat"]], ids=["places", "names"])
def test_groups_with_an_index_are_those_of_classes_by_name(labels):
    frame = pd.DataFrame(np.eye(4, 3) / 2.0 + 1.0 / 6.0, columns=["cat", "dog", "car"])
    frame.loc[3] = [0.2, 0.3, 0.5]
    kinds = pd.Series({"car": "vehicle", "dog": "animal", "cat": "animal"})
    grouped, outcomes = ct.predictions.class_groups(frame, labels, kinds)
    np.testing.assert_allclose(grouped.probabilities[:, 1], frame["car"])
    assert outcomes.tolist() == ["animal", "animal", "vehicle", "animal"]


def labelled(kind):
    """Predictions and outcomes with the same labels, those of the outcomes in another order, and that order."""
    rng = np.random.default_rng(4)
    p, means = rng.dirichlet(np.ones(3), 60), rng.normal(size=60)
    order = rng.permutation(60)
    predictions = pd.DataFrame(p) if kind == "classes" else ct.Normal(pd.Series(means), 1.0)
    targets = rng.integers(0, 3, 60) if kind == "classes" else means + rng.normal(size=60)
    return predictions, targets, pd.Series(targets).iloc[order], order


REDUCTIONS = {
    "top_label": ("classes", ct.top_label),
    "classwise": ("classes", lambda p, y: ct.classwise(p, y)[1]),
    "top_m": ("classes", lambda p, y: ct.predictions.top_m(p, y, 1)),
    "class_groups": ("classes", lambda p, y: ct.predictions.class_groups(p, y, [0, 1, 1])),
    "set_coverage": ("classes", lambda p, y: ct.predictions.set_coverage(p > 0.3, y, confidence_level=0.7)),
    "interval_coverage": (
        "numbers",
        lambda p, y: ct.predictions.interval_coverage(
            pd.DataFrame({"low": p.mean - 1.0, "high": p.mean + 1.0}), y, confidence_level=0.7
        ),
    ),
    "label": ("classes", lambda p, y: (ct.MultiLabel(p).label(1), (y == 1).astype(int))),
    "tempered": ("classes", lambda p, y: (ct.Categorical(p).at_temperature(2.0), y)),
    "recalibrated": ("classes", lambda p, y: (recalibrated(ct.Categorical(p)), y)),
    "taken": ("classes", lambda p, y: (ct.Categorical(p).take(np.arange(60)[::-1]), y)),
    "pit_values": ("numbers", ct.pit_values),
    "standardised_residuals": ("numbers", ct.standardised_residuals),
    "tempered numbers": ("numbers", lambda p, y: (p.at_temperature(2.0), y)),
    "taken numbers": ("numbers", lambda p, y: (p.take(np.arange(60)[::-1]), y)),
}


def recalibrated(p):
    return ct.recalibration.TemperatureScaling().fit(p, [0, 1, 2] * 20)(p)


@pytest.mark.filterwarnings("ignore:.*were matched by their index")
@pytest.mark.parametrize(("kind", "reduce"), REDUCTIONS.values(), ids=REDUCTIONS)
def test_rows_keep_their_labels(kind, reduce):
    predictions, targets, shuffled, order = labelled(kind)
    weights = np.linspace(0.1, 1.0, 60)
    p, y = reduce(predictions, pd.Series(targets))
    kernel = ct.SKCE().resolve(p).kernel
    wanted = ct.estimators.WeightedSKCE(kernel, pd.Series(weights))(p, y)
    assert wanted != pytest.approx(ct.estimators.WeightedSKCE(kernel, weights[order])(p, y), rel=1e-3)
    p, y = reduce(predictions, shuffled)
    for some in (pd.Series(weights), pd.Series(weights).iloc[order]):
        assert ct.estimators.WeightedSKCE(kernel, some)(p, y) == pytest.approx(wanted, rel=1e-9)
