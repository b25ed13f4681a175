"""The omnibus statistic: combination, components, words, and sizes for every family."""

import numpy as np
import pytest
from contracts import FAMILIES, NOT_CENTRED, vector_ensemble
from printed import unfolded
from scipy import stats

import caltest as ct
from caltest._basics.calls import without_power
from caltest.estimators.combined import omnibus
from caltest.estimators.combined.findings import findings_of
from caltest.estimators.combined.joint import leave_one_out, standardised, tail_exponents
from caltest.predictions.inputs.convert import as_sample


def test_values_are_standardised_by_the_others():
    values = np.random.default_rng(1).gamma(2.0, size=(3, 12)) * np.array([[1.0], [1e-6], [1e6]])
    z, skewness = leave_one_out(values)
    for row in range(3):
        for b in range(12):
            others = np.delete(values[row], b)
            assert z[row, b] == pytest.approx((values[row, b] - others.mean()) / others.std(), rel=1e-9)
            assert skewness[row, b] == pytest.approx(stats.skew(others), rel=1e-6, abs=1e-9)


def test_values_that_do_not_vary():
    z, skewness = leave_one_out(np.array([[3.0, 3.0, 3.0], [1.0, 0.0, 0.0], [-1.0, 0.0, 0.0]]))
    assert z[0].tolist() == [0.0, 0.0, 0.0]
    assert z[1, 0] == 1e6
    assert z[2, 0] == -1e6
    assert np.isfinite(skewness).all()


def test_a_far_value_does_not_hide_itself():
    values = np.append(1e9, np.random.default_rng(2).normal(size=999))[None]
    assert standardised(values)[0, 0] == pytest.approx(1e9, rel=0.1)
    assert tail_exponents(values)[0].argmax() == 0


@pytest.mark.parametrize("shape", [0.5, 4.0, 400.0])
def test_tails_are_those_of_pearson_type_three(shape):
    draws = np.random.default_rng(3).gamma(shape, size=2000)
    exponents = tail_exponents(draws[None])[0]
    z, skewness = (values[0] for values in leave_one_out(draws[None]))
    some = np.argsort(draws)[[5, 300, 1000, 1700, 1990, 1999]]
    expected = -stats.pearson3(skewness[some]).logsf(z[some])
    assert exponents[some] == pytest.approx(expected, rel=1e-6, abs=1e-9)


def test_far_tails_are_finite_and_increase():
    draws = np.random.default_rng(4).gamma(1.0, size=500)
    far = [tail_exponents(np.append(x, draws)[None])[0, 0] for x in (10.0, 100.0, 700.0, 800.0, 1e4, 1e8)]
    assert np.isfinite(far).all()
    assert (np.diff(far) > 0).all()


@pytest.mark.parametrize("n_redraws", [19, 99, 999])
def test_one_far_value_counts_fully_and_several_by_their_share(n_redraws):
    draws = np.random.default_rng(5).normal(size=n_redraws)
    assert tail_exponents(np.append(30.0, draws)[None])[0, 0] > 100.0
    draws[: max(1, n_redraws // 50)] = 30.0
    share = (1 + max(1, n_redraws // 50)) / (n_redraws + 1)
    assert tail_exponents(np.append(30.0, draws)[None])[0, 0] <= np.log(2.0 / share) + 1e-9


def samples():
    return [pytest.param(maker, id=family.__name__) for family, maker in FAMILIES.items()] + [
        pytest.param(vector_ensemble, id="vectors")
    ]


@pytest.mark.every(4)
@pytest.mark.parametrize("maker", samples())
def test_the_combination_treats_all_columns_alike(maker):
    """The columns in another order have the same statistics in that order: this is what makes the test exact."""
    sample = maker()
    estimator = ct.estimators.Omnibus().resolve(sample.predictions)
    values = estimator.values(sample.predictions, sample.predictions.redraw(1, 30))
    order = np.random.default_rng(2).permutation(30)
    statistics = estimator.combined(values)
    assert estimator.combined(values[:, order]) == pytest.approx(statistics[order], rel=1e-9, abs=1e-9)
    assert np.isfinite(statistics).all()
    assert sum(column.weight for column in estimator.columns(values)) == pytest.approx(1.0)
    assert values.shape[0] == sum(component.n_values for component in estimator.components)


@pytest.mark.every(3)
@pytest.mark.parametrize("maker", samples())
def test_every_family_has_a_default_test(maker):
    sample = maker()
    if maker in NOT_CENTRED:
        return
    y = sample.predictions.redraw(3)
    result = ct.calibration_test(sample.predictions, y, n_resamples=19, rng=1)
    assert 0.05 <= result.pvalue <= 1.0
    assert result.test == "OmnibusTest"
    if sample.predictions.longest == np.inf:
        # The test of times of which not all is known is that of integral transforms.
        exact = ct.SKCE(sample.predictions.default_kernel())(sample.predictions, y)
        assert result.estimate == pytest.approx(exact, rel=1e-10)
    assert all(0.05 <= one.pvalue <= 1.0 for one in result.components)


def test_own_pvalues_of_the_components():
    rng = np.random.default_rng(5)
    p = ct.Categorical(rng.dirichlet(np.full(4, 0.3), 80))
    y = p.sample(rng)
    result = ct.OmnibusTest(n_resamples=99)(p, y, rng=7)
    alone = {
        "log loss": ct.estimators.ExcessLogScore(),
        "Brier score": ct.estimators.ExcessBrierScore(),
        "likelihood ratio": ct.estimators.LogLikelihoodRatio(),
    }
    for component in result.components:
        if component.name in alone:
            single = ct.MonteCarloTest(alone[component.name], 99)(p, y, rng=7)
            assert component.pvalue == pytest.approx(single.pvalue, abs=0.031), component.name


def distorted(kind, n, k=4):
    rng = np.random.default_rng([n, k])
    p = rng.dirichlet(np.full(k, 0.5), n)
    q = {"over": p**0.5, "under": p**2.0, "class": 0.7 * p + 0.3 * np.eye(k)[2], "noise": 0.7 * p + 0.3 / k}[kind]
    return ct.Categorical(p), ct.Categorical(q / q.sum(axis=1, keepdims=True)).sample(rng)


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("over", "overconfident"),
        ("under", "underconfident"),
        ("class", "of the outcomes are class 2 whatever is predicted"),
        ("noise", "of the labels were random"),
    ],
)
def test_words_for_classes(kind, words):
    result = ct.calibration_test(*distorted(kind, 600), n_resamples=199, rng=1)
    assert result.pvalue == 0.005
    assert words in result.finding.words
    assert f"Why            {result.finding}" in unfolded(result)


@pytest.mark.every(2)
@pytest.mark.parametrize(
    ("shift", "scale", "words"),
    [
        (0.0, 1.5, "predictions are too narrow"),
        (0.0, 0.6, "predictions are too wide"),
        (0.6, 1.0, "outcomes are above what was predicted"),
        (-0.6, 1.0, "outcomes are below what was predicted"),
    ],
)
@pytest.mark.parametrize("d", [1, 3])
def test_words_for_numbers_and_vectors(shift, scale, words, d):
    rng = np.random.default_rng(d)
    mean = rng.random((150, d))
    y = mean + 0.1 * scale * rng.normal(size=(150, d))
    y[:, 0] += 0.1 * shift
    predictions = ct.Normal(mean[:, 0], 0.1) if d == 1 else ct.MvNormal(mean, 0.01)
    result = ct.calibration_test(predictions, y[:, 0] if d == 1 else y, n_resamples=199, rng=1)
    assert result.pvalue == 0.005
    assert words in result.finding.words
    if shift and d > 1:
        assert "in coordinate 0" in result.finding.words


def test_outcomes_that_are_excluded_have_the_pvalue_zero():
    p = np.random.default_rng(7).dirichlet(np.ones(3), 30)
    p[4] = [0.0, 0.5, 0.5]
    y = ct.Categorical(p).sample(1)
    y[4] = 0
    result = ct.calibration_test(p, y, n_resamples=99, rng=1)
    assert result.pvalue == 0.0
    assert result.finding.words == "an outcome occurred to which probability 0 was given (row 4: class 0)"
    assert any("1 of 30 outcomes had predicted probability 0 (row 4)" in note for note in result.notes)
    assert "p-value        0 (an outcome occurred to which probability 0 was given)" in unfolded(result)
    points = ct.Normal([0.0, 1.0, 2.0], [1.0, 0.0, 1.0])
    assert ct.calibration_test(points, [0.1, 1.5, 2.2], n_resamples=99, rng=1).pvalue == 0.0


@pytest.mark.parametrize(("n", "k", "is_low"), [(1999, 3, False), (2000, 3, True), (2000, 32, True), (2000, 33, False)])
def test_from_how_many_rows_on_kernels_have_a_low_rank(n, k, is_low):
    p = ct.Categorical(np.random.default_rng(8).dirichlet(np.ones(k), n))
    some = ct.estimators.Omnibus(features=np.arange(n)).resolve(p)
    assert bool(some.resolved_notes()) == is_low


def test_many_predictions_have_kernels_of_low_rank(monkeypatch):
    rng = np.random.default_rng(8)
    p = ct.Categorical(rng.dirichlet(np.full(6, 0.5), 300))
    y = p.sample(rng)
    whole = ct.calibration_test(p, y, n_resamples=99, rng=1)
    monkeypatch.setattr("caltest.estimators.combined.components.MANY_CLASSES", 100)
    low = ct.calibration_test(p, y, n_resamples=99, rng=1)
    assert low.estimate == pytest.approx(whole.estimate, rel=1e-12)
    assert any("kernels have rank 64 and 128" in note for note in low.notes)
    assert not any("rank" in note for note in whole.notes)
    pvalues = [{one.name: one.pvalue for one in result.components}["kernel error"] for result in (low, whole)]
    assert pvalues[0] == pytest.approx(pvalues[1], abs=0.1)
    monkeypatch.setattr(omnibus, "ALL_PAIRS", 100)
    assert ct.calibration_test(p, y, n_resamples=99, rng=1).estimate == pytest.approx(whole.estimate, rel=0.2)


@pytest.mark.parametrize("family", ["mixture", "vectors", "numbers"])
def test_mixtures_and_members_of_vectors_have_kernels_of_low_rank_from_128_rows_on(family):
    """A pair of them takes many steps; members of numbers are summed in their order."""
    rng = np.random.default_rng(9)
    mean, centres = rng.normal(size=128), rng.normal(size=(128, 1, 2))
    p, y = {
        "mixture": (ct.Mixture([ct.Normal(mean - 1.0, 0.5), ct.Normal(mean + 1.0, 0.5)]), mean + 1.0),
        "vectors": (ct.Ensemble(centres + rng.normal(size=(128, 9, 2))), centres[:, 0] + rng.normal(size=(128, 2))),
        "numbers": (ct.Ensemble(mean[:, None] + rng.normal(size=(128, 9))), mean + rng.normal(size=128)),
    }[family]
    notes = [ct.calibration_test(p.take(slice(n)), y[:n], n_resamples=19, rng=1).notes for n in (127, 128)]
    words = "kernels have rank 64 in the test, because pairs of predictions take long"
    have_low_rank = [words in some for some in notes]
    assert have_low_rank == [False, family != "numbers"]


def test_same_result_for_any_number_of_workers():
    from joblib import parallel_config

    p, y = distorted("noise", 60)
    one = ct.calibration_test(p, y, n_resamples=99, rng=3)
    with parallel_config(backend="threading", n_jobs=3):
        other = ct.calibration_test(p, y, n_resamples=99, rng=3)
    assert (other.pvalue, other.components) == (one.pvalue, one.components)


def test_results_are_ready_for_json():
    import json

    entries = json.loads(json.dumps(ct.calibration_test(*distorted("noise", 60), n_resamples=19, rng=3).to_dict()))
    assert {"name", "statistic", "pvalue", "adjusted", "words"} == set(entries["components"][0])


@pytest.mark.every(4)
@pytest.mark.parametrize("maker", samples())
def test_values_do_not_depend_on_the_parts(maker, monkeypatch):
    sample = maker()
    estimator = ct.estimators.Omnibus().resolve(sample.predictions)
    targets = sample.predictions.redraw(1, 7)
    whole = estimator.values(sample.predictions, targets)
    monkeypatch.setattr(omnibus, "TARGETS", 2 * targets[0].size)
    assert estimator.values(sample.predictions, targets) == pytest.approx(whole, rel=1e-10, abs=1e-13)


@pytest.mark.parametrize("kernel", [ct.DeltaKernel(), "median", ct.ExponentialKernel(ct.TotalVariation(), 1.0)])
def test_kernels_of_another_kind_are_refused(kernel):
    with pytest.raises(TypeError, match="wanted a ProductKernel"):
        ct.OmnibusTest(kernel)


def test_words_have_the_names_of_classes():
    p = np.tile([0.2, 0.3, 0.5], (60, 1))
    y = np.repeat([0, 2], 30)
    named = as_sample(ct.Categorical(p, classes=["cat", "dog", "owl"]), np.array(["cat", "dog", "owl"])[y])
    (dog,) = [one for one in findings_of(named) if one.place == "class dog" and one.kind == "frequency"]
    assert dog.words.startswith("class dog occurs less often than predicted, 0 times instead of 18: its odds are ")
    top = as_sample(*ct.top_label(np.tile([0.9, 0.1], (60, 1)), y // 2))
    assert findings_of(top)[0].words.startswith(
        "the top label is right less often than predicted, 30 times instead of 54: claims are too high by 40 percentage"
    )
    one = as_sample(*ct.classwise(p, y)[0])
    assert one.predictions.occurrence(0) == "another class than 0 occurs"


def odd(kind):
    """Predictions and outcomes of numbers or vectors, more than 500, with something odd about them."""
    rng = np.random.default_rng(5)
    mean, scale = rng.normal(size=520), np.exp(0.3 * rng.normal(size=520))
    if kind == "constant":
        mean, scale = np.zeros(520), np.ones(520)
    if kind == "tied":
        mean, scale = np.round(mean), np.maximum(np.round(scale), 0.5)
    if kind == "scales":
        scale = scale * np.where(np.arange(520) % 2, 1e6, 1.0)
    p = ct.Normal(mean, scale)
    y = np.asarray(p.sample(rng))
    if kind == "outlier":
        y[3] = 1e200
    if kind == "d above n":
        p = ct.MvNormal(rng.normal(size=(12, 20)), 1.0)
        y = np.asarray(p.sample(rng))
    if kind == "vector outlier":
        p = ct.MvNormal(rng.normal(size=(520, 2)), 1.0)
        y = np.asarray(p.sample(rng))
        y[3, 1] = 1e200
    return p, y


@pytest.mark.every(2)
@pytest.mark.parametrize("kind", ["constant", "tied", "scales", "outlier", "d above n", "vector outlier"])
def test_odd_numbers_have_values_that_are_finite_and_do_not_depend_on_parts(kind, monkeypatch):
    p, y = odd(kind)
    estimator = ct.estimators.Omnibus().resolve(p, 1)
    targets = np.concatenate([y[None], p.sample(2, 19)])
    values = estimator.values(p, targets)
    assert np.isfinite(values).all()
    monkeypatch.setattr(omnibus, "TARGETS", 1)
    monkeypatch.setattr(omnibus, "LEAST", 3)
    scale = np.abs(values[:, 1:]).max(axis=1, keepdims=True)
    assert np.abs((estimator.values(p, targets) - values)[:, 1:] / np.where(scale > 0.0, scale, 1.0)).max() < 1e-6
    result = ct.calibration_test(p, y, n_resamples=19, rng=1)
    assert (result.pvalue <= 0.05) is ("outlier" in kind)


def test_what_is_reported_for_very_many_numbers_has_no_pairs_of_equal_ones(monkeypatch):
    p, y = odd("usual")
    monkeypatch.setattr(omnibus, "ALL_PAIRS", 100)
    result = ct.calibration_test(p, y, n_resamples=19, rng=1)
    assert result.estimate == pytest.approx(ct.SKCE(p.default_kernel())(p, y), abs=1e-4)


@pytest.mark.parametrize("n_resamples", [1, 2, 19])
def test_few_redraws_have_results_whose_power_is_that_of_their_pvalues(n_resamples):
    """One redraw leaves no other to compare with."""
    rng = np.random.default_rng(3)
    p = rng.random(50)
    result = ct.calibration_test(p, (rng.random(50) < p).astype(int), n_resamples=n_resamples, rng=1)
    assert round(result.pvalue * (n_resamples + 1), 9) in range(1, n_resamples + 2)
    assert (result.detectable is None) == (n_resamples == 1)


UNREAD = {
    "recalibration": lambda p, y: ct.recalibration.report(p, y, ct.recalibration.Platt(), n_resamples=19, rng=1),
    "lag": lambda p, y: ct.calibration_test(p, y, lag=2, n_resamples=19, rng=1),
    "groups in clusters": lambda p, y: ct.calibration_by_group(
        p, y, np.arange(40) % 2, clusters=np.arange(40) // 10, n_resamples=19, rng=1
    ),
    "other rows": lambda p, y: ct.calibration_test(np.r_[0.0, p], np.r_[1, y], n_resamples=19, rng=1),
}


@pytest.mark.parametrize("call", UNREAD.values(), ids=UNREAD)
def test_the_power_of_tests_is_not_simulated_where_nothing_of_it_is_reported(call, monkeypatch):
    rng = np.random.default_rng(3)
    p = rng.random(40)
    data = p, (rng.random(40) < p).astype(int)
    monkeypatch.setattr(ct.Bernoulli, "slightly_wrong", lambda *_: pytest.fail("the power is simulated"))
    assert call(*data).pvalue >= 0.0
    with pytest.raises(pytest.fail.Exception):
        ct.calibration_test(*data, n_resamples=19, rng=1)


def test_without_its_power_a_test_has_the_same_numbers():
    rng = np.random.default_rng(3)
    p = rng.random(50)
    data = p, (rng.random(50) < p).astype(int)
    whole = ct.calibration_test(*data, n_resamples=19, rng=1)
    with without_power():
        result = ct.calibration_test(*data, n_resamples=19, rng=1)
    assert (result.detectable, whole.detectable is None) == (None, False)
    assert result.to_dict() == whole.to_dict() | {"detectable": None}


@pytest.mark.parametrize(
    ("law", "n", "n_sets"),
    [(lambda mean, scale: ct.StudentT(5.0, mean, scale), 2999, 20), (ct.Laplace, 3999, 80), (ct.Laplace, 4000, 20)],
    ids=["StudentT", "Laplace", "many"],
)
def test_a_clear_power_of_laws_with_slow_quantiles_or_of_many_numbers_takes_few_data_sets(law, n, n_sets, monkeypatch):
    for name, value in {"FIRST": 20, "THEN": 60, "MANY": 4000}.items():
        monkeypatch.setattr(f"caltest.estimators.combined.detectable.{name}", value)
    rng = np.random.default_rng(5)
    p = law(*rng.uniform(1.0, 5.0, (2, n)))
    detectable = ct.calibration_test(p, p.sample(rng), n_resamples=99, rng=1).detectable
    assert detectable.power() > 0.95
    assert detectable.pvalues.size == n_sets


@pytest.mark.parametrize(("p", "n"), [(1e-4, 200), (1e-5, 1000), (1e-3, 20)])
def test_the_power_for_very_rare_events_is_no_more_than_their_probability(p, n):
    """Nearly all redraws have no event. Outcomes without one had a tail of their own: power 1 was stated."""
    result = ct.calibration_test(np.full(n, p), np.zeros(n, dtype=int), rng=1)
    assert result.detectable.power() < 0.05
    assert "could have been missed" in result.verdict()


def test_tails_among_others_are_those_of_one_of_them():
    draws = np.random.default_rng(1).poisson(0.03, 500).astype(float)
    for value in (0.0, 1.0):
        among = tail_exponents(np.append(value, draws)[None])[0, 0]
        assert tail_exponents(np.array([[value]]), draws[None])[0, 0] == pytest.approx(among, rel=1e-12)
