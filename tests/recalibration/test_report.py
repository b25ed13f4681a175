import dataclasses
import json

import numpy as np
import pytest
from printed import unfolded

import caltest as ct
from caltest.recalibration import FamilyTemperatureScaling, Platt, TemperatureScaling, report
from caltest.recalibration.shared.observed import Observed


def problem(n=200, k=3, seed=1):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(k), n)
    sharp = p**3.0 / (p**3.0).sum(axis=1, keepdims=True)
    return p, np.array([rng.choice(k, p=row) for row in sharp])


@pytest.mark.parametrize(("n", "share", "held"), [(4, 0.25, 3), (4, 0.99, 3), (20, 0.3, 6), (20, 0.999, 19)])
def test_data_are_split_at_random_into_all_parts(n, share, held):
    p, y = problem(n)
    rest, others = Observed.of(p, y, "probabilities").split(TemperatureScaling(), share, np.random.default_rng(1))
    assert (rest.size, others.size) == (held, n - held)
    assert sorted([*rest, *others]) == list(range(n))
    assert (np.diff(rest) > 0).all()
    assert held != 6 or rest.tolist() != list(range(held))
    with pytest.raises(ValueError, match="got 3"):
        Observed.of(p[:3], y[:3], "probabilities").split(TemperatureScaling(), share, np.random.default_rng(1))


def test_numbers_are_those_of_the_functions_they_come_from():
    p, y = problem()
    fitted = TemperatureScaling().fit(*problem(seed=2))
    found = report(p, y, fitted, n_resamples=49, rng=1)
    assert (found.n, found.n_fit) == (200, None)
    q = fitted(p)
    for row, matrix in ((found.before, p), (found.after, q)):
        assert row.score == pytest.approx(-np.log(matrix[np.arange(200), y]).mean())
        assert row.brier == pytest.approx(np.square(np.eye(3)[y] - matrix).sum(axis=1).mean())
        assert row.accuracy == pytest.approx(np.mean(matrix.argmax(axis=1) == y))
        assert row.ece == pytest.approx(ct.ECE()(*ct.top_label(matrix, y)))
        assert row.interval.low <= max(row.skce, 0.0) <= row.interval.high
        assert 0.0 < row.ece_noise < 0.2
    bandwidth = ct.median_bandwidth(np.concatenate([p, q]), ct.TotalVariation())
    kernel = ct.ProductKernel(ct.ExponentialKernel(ct.TotalVariation(), bandwidth), ct.DeltaKernel())
    assert found.before.skce == pytest.approx(ct.SKCE(kernel)(p, y))
    assert found.after.skce == pytest.approx(ct.SKCE(kernel)(q, y))
    interval = ct.skce_interval(q, y, kernel)
    assert (found.after.interval.low, found.after.interval.high) == pytest.approx((interval.low, interval.high))
    assert found.before.pvalue == 0.02
    assert found.after.pvalue > 0.02


def test_quantiles_of_distributions_have_no_report():
    y = np.random.default_rng(1).normal(size=100)
    with pytest.raises(
        TypeError, match=r"QuantileForecast of Normal predictions.*pass map\(predictions\) of others to"
    ):
        report(ct.Normal(np.zeros(100), 1.0), y, ct.recalibration.QuantileRecalibration(), n_resamples=9, rng=1)


def test_the_brier_score_of_an_event_is_that_of_the_default_test():
    p = np.random.default_rng(1).random(200)
    y = (np.random.default_rng(2).random(200) < p).astype(int)
    row = report(p[:100], y[:100], Platt().fit(p[100:], y[100:]), n_resamples=9, rng=1).before
    measures = {one.name: one.observed for one in ct.calibration_test(p[:100], y[:100], n_resamples=9, rng=1).measures}
    assert row.brier == pytest.approx(measures["Brier score"])


def test_a_method_is_judged_on_data_that_it_has_not_seen():
    p, y = problem()
    found = report(p, y, TemperatureScaling(), held_out=0.3, n_resamples=19, rng=3)
    assert (found.n, found.n_fit) == (60, 140)
    held_out = {tuple(row) for row in found.samples[0].predictions.probabilities}
    rest = np.array([tuple(row) not in held_out for row in p])
    assert rest.sum() == 140
    assert found.map.temperature == pytest.approx(TemperatureScaling().fit(p[rest], y[rest]).temperature)
    again = report(p, y, TemperatureScaling(), held_out=0.3, n_resamples=19, rng=3)
    assert again.to_dict() == found.to_dict()


def test_formats():
    p, y = problem()
    found = report(p, y, TemperatureScaling(), n_resamples=19, rng=3)
    assert json.loads(json.dumps(found.to_dict()))["before"]["name"] == "before"
    smallest = "p = 0.05 (the smallest possible with 19 redraws)"
    assert rf"\multicolumn{{9}}{{l}}{{{smallest}}} \\" in found.to_latex().splitlines()
    assert found.to_markdown().splitlines()[4:6] == ["", smallest]
    assert "fitted to 100 others" in unfolded(found)
    assert "Reproduce      rng=3" in unfolded(found)
    pandas = pytest.importorskip("pandas")
    table = found.to_pandas()
    assert isinstance(table, pandas.DataFrame)
    assert table.loc["after", "score"] == found.after.score


def test_binary_logits_named_classes_and_numbers():
    p, y = problem()
    binary = report(p[:, 0], y == 0, Platt(), n_resamples=19, rng=1)
    assert binary.before.ece == pytest.approx(ct.ECE()(binary.samples[0].predictions, binary.samples[0].targets))
    names = np.array(["a", "b", "c"])
    named = report(p, names[y], TemperatureScaling(), classes=["a", "b", "c"], n_resamples=19, rng=1)
    plain = report(p, y, TemperatureScaling(), n_resamples=19, rng=1)
    assert named.after.score == pytest.approx(plain.after.score)
    logits = report(np.log(p) - 3.0, y, TemperatureScaling(input="logits"), n_resamples=19, rng=1)
    assert logits.after.score == pytest.approx(plain.after.score)
    normal = ct.Normal(np.zeros(60), 1.0)
    numbers = report(normal, 3.0 * np.random.default_rng(1).normal(size=60), FamilyTemperatureScaling(), rng=1)
    assert numbers.before.ece is None
    assert numbers.after.score < numbers.before.score
    assert numbers.table()[0] == ["", "log loss", "SKCE", "95 % interval", "p"]
    assert "if calibrated" not in unfolded(numbers)


def test_bad_input():
    p, y = problem()
    with pytest.raises(TypeError, match="wanted a method"):
        report("temperature", p, y)
    with pytest.raises(ValueError, match="held_out"):
        report(p, y, TemperatureScaling(), held_out=1.0)
    with pytest.raises(ValueError, match="wanted at least 4"):
        report(p[:3], y[:3], TemperatureScaling())


def test_picture():
    pytest.importorskip("matplotlib")
    from matplotlib import pyplot as plt
    from matplotlib.figure import Figure

    from caltest.plots import recalibration_report

    p, y = problem()
    found = report(p, y, TemperatureScaling(), n_resamples=19, rng=3)
    left, right = recalibration_report(found, n_resamples=39, rng=1, axes=Figure().subplots(1, 2))
    assert left.get_title().startswith("before: log loss")
    assert right.get_title().startswith("after: log loss")
    assert len(left.collections) > 0
    made = recalibration_report(found, n_resamples=39, rng=1)
    assert len(made[0].figure.axes) >= 2
    plt.close(made[0].figure)
    with pytest.raises(TypeError, match="wanted what"):
        recalibration_report(p)
    with pytest.raises(ValueError, match="wanted 2"):
        recalibration_report(found, axes=Figure().subplots(1, 3))


def test_a_report_says_what_another_most_probable_class_costs():
    p, y = problem()
    fitted = ct.recalibration.VectorScaling().fit(p[:100], (y[:100] + 1) % 3)
    found = report(p[100:], y[100:], fitted, n_resamples=9, rng=1)
    before, after = p[100:].argmax(axis=1), fitted(p[100:]).argmax(axis=1)
    changed = before != after
    lost, won = np.sum(changed & (before == y[100:])), np.sum(changed & (after == y[100:]))
    assert lost > won
    assert f"in {changed.sum()} of 100 rows, of which {lost} were right before and {won} are right after" in unfolded(
        found
    )
    assert found.to_dict()["notes"] == list(found.notes)
    (note,) = report(p[100:], y[100:], TemperatureScaling().fit(p[:100], y[:100]), n_resamples=9, rng=1).notes
    assert note.startswith("the change of the log loss can be chance")


def test_findings_are_shown_up_to_the_level():
    p, y = problem()
    found = report(p, y, TemperatureScaling(), n_resamples=19, rng=3)
    row = dataclasses.replace(found.before, pvalue=0.05, finding="a class is too likely")
    equal = dataclasses.replace(found, before=row)
    assert "before: a class is too likely" in unfolded(equal)
    assert "a class is too likely" not in unfolded(equal.summary(0.0499))


def test_a_remark_says_that_an_interval_holds_what_a_p_value_rejects():
    found = report(*problem(), TemperatureScaling(), n_resamples=19, rng=3)
    interval = dataclasses.replace(found.before.interval, low=0.0)
    before, after = (dataclasses.replace(one, pvalue=0.5, interval=interval) for one in found.rows)
    rejected, said = dataclasses.replace(before, pvalue=0.01), "p-values and intervals come from different tests"
    assert said not in unfolded(dataclasses.replace(found, before=before, after=after))
    assert said in unfolded(dataclasses.replace(found, before=rejected, after=after))


def test_one_observation_is_left_to_fit_to():
    p, y = problem(n=20)
    assert report(p, y, TemperatureScaling(), held_out=0.999, n_resamples=9, rng=1).n_fit == 1


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        (np.inf, np.inf, "leaves the log loss infinite;"),
        (1.0, np.inf, "makes the log loss infinite: an outcome has probability 0;"),
        (np.inf, 1.0, "makes the log loss finite;"),
        (1.0, 1.0, "leaves the log loss as it is;"),
        (1.0, 0.75, "lowers the log loss by 0.25;"),
    ],
)
def test_verdicts_know_infinite_log_losses(before, after, words):
    p = np.linspace(0.1, 0.9, 20)
    found = report(p, np.arange(20) % 2, Platt(), n_resamples=9, rng=1)
    rows = {
        name: dataclasses.replace(getattr(found, name), score=loss)
        for name, loss in (("before", before), ("after", after))
    }
    clear, chance = (dataclasses.replace(found, **rows, can_be_chance=one).verdict() for one in (False, True))
    assert clear.startswith(f"recalibration {words}")
    assert chance.startswith(
        "recalibration lowers the log loss by 0.25, which can be chance;" if "0.25" in words else clear
    )


def test_changes_of_the_log_loss_that_can_be_chance_are_noted():
    rng = np.random.default_rng(6)
    p = rng.random(300)
    y = (rng.random(300) < p).astype(int)
    found = report(p, y, Platt(), n_resamples=9, rng=1)
    before, after = (-sample.predictions.log_density(sample.targets) for sample in found.samples)
    error = (before - after).std(ddof=1) / np.sqrt(found.n)
    assert abs((before - after).mean()) < 2.0 * error
    note = f"the change of the log loss can be chance: it is within 2 standard errors of 0, of {error:.2g} each"
    assert found.notes == (note,)
    assert report(p**3, y, Platt(), n_resamples=9, rng=1).notes == ()


def test_a_report_says_how_large_the_error_is_before_and_after():
    rng = np.random.default_rng(20)
    q = rng.dirichlet(np.full(4, 0.5), 1600)
    y = (q.cumsum(axis=1) < rng.random((1600, 1))).sum(axis=1)
    p = q**2.0 / np.square(q).sum(axis=1, keepdims=True)
    found = report(p, y, TemperatureScaling(), n_resamples=19, rng=1)
    before, after = (ct.calibration_test(*_held_out(found, i), n_resamples=19, rng=1) for i in (0, 1))
    for row, result in ((found.before, before), (found.after, after)):
        how_much = next(line for line in unfolded(result).splitlines() if line.startswith("How much"))
        assert f"  {row.name}: {how_much.removeprefix('How much').strip()}" in unfolded(found)
    assert found.before.matters is True
    assert found.after.gap.high < found.before.gap.low
    again = type(found).from_dict(found.to_dict())
    assert (again.after.gap, again.after.matters) == (found.after.gap, found.after.matters)


def _held_out(found, i):
    return found.samples[i].predictions, found.samples[i].targets


@pytest.mark.parametrize(("matters", "words"), [(True, "large enough"), (False, "too small"), (None, "is open")])
def test_verdicts_say_whether_an_error_that_remains_matters(matters, words):
    p = np.linspace(0.1, 0.9, 20)
    found = report(p, np.arange(20) % 2, Platt(), n_resamples=9, rng=1)
    rejected = dataclasses.replace(found.after, pvalue=0.01, matters=matters)
    assert words in dataclasses.replace(found, after=rejected).verdict()
    assert "remains" not in dataclasses.replace(found, after=dataclasses.replace(rejected, pvalue=0.5)).verdict()


def test_verdicts_say_that_a_change_can_be_chance():
    said = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        p = rng.uniform(0.05, 0.95, 200)
        found = report(p, rng.random(200) < p, TemperatureScaling(), n_resamples=9, rng=1)
        assert found.can_be_chance == any("can be chance" in note for note in found.notes)
        assert found.can_be_chance == (" by " in found.verdict() and ", which can be chance; " in found.verdict())
        said.append(found.can_be_chance)
    assert any(said)
