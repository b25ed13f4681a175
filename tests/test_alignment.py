"""Rows that pandas labels in another order, and frames of other libraries: the same numbers, an error or a warning."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import stats

import caltest as ct
from caltest._basics.calls import pvalues_only
from caltest.fields import d_calibration, weather
from caltest.fields._survival.bins import _limits

pa = pytest.importorskip("pyarrow", reason="pyarrow is missing")

RNG = np.random.default_rng(5)
N = 60
P = RNG.dirichlet(np.full(3, 0.5), N)
LABELS = np.array([RNG.choice(3, p=row) for row in P])
NAMES = np.array(["a", "b", "c"])[LABELS]
X = RNG.normal(size=N)
GROUPS = np.where(X > 0, "high", "low")
WEIGHTS = np.where(X > 0, 1.0, 2.0)
INDEX = pd.Index([f"r{i}" for i in range(N)])
SHUFFLED = RNG.permutation(N)
FRAME = pd.DataFrame(P, INDEX, ["a", "b", "c"])
FEATURES = pd.DataFrame({"x": X, "group": GROUPS}, INDEX)
TIMES = {"time": np.arange(N), "clusters": np.arange(N) // 2}
SETTINGS = {"n_resamples": 19, "rng": 1}


def series(data):
    """With the labels of the predictions, in another order."""
    return pd.Series(data, INDEX).iloc[SHUFFLED]


def statistic_of(p=P, y=LABELS, **data):
    with pvalues_only():
        return ct.calibration_test(p, y, **data, **SETTINGS).statistic


def groups(given, p=P, y=LABELS):
    return {one.name: one.estimate for one in ct.calibration_by_group(p, y, given, **SETTINGS).groups}


def slices(given, p=P, y=LABELS):
    return [repr(one) for one in ct.find_slices(p, y, given, **SETTINGS).rows]


def audited(p=P, y=LABELS, **data):
    return [one.answer for one in ct.audit(p, y, **data, **SETTINGS).models[0].sections.values()]


def clusters(given, p=P, y=LABELS):
    some = ct.estimators.one_per_cluster(p, y, given, rng=1)
    return ct.calibration_test(*some, **SETTINGS).statistic


@pytest.mark.parametrize("labels", [INDEX, pd.date_range("2020-01-01", periods=N), pd.Index(np.arange(N) + 7)])
def test_rows_that_one_of_both_lacks_are_counted(labels):
    y = pd.Series(NAMES, labels)[: N - 5]
    with pytest.raises(ValueError, match="got 60 and 55 rows, 55 of whose labels are in both, wanted the same rows"):
        ct.calibration_test(FRAME.set_axis(labels), y)
    xr = pytest.importorskip("xarray", reason="xarray is missing")
    members = xr.DataArray(RNG.normal(size=(N, 5)), {"time": labels}, ("time", "member"))
    with pytest.raises(ValueError, match="got 60 and 55 rows, 55 of whose labels"):
        ct.calibration_test(ct.Ensemble(members), members[5:, 0])


def test_rows_that_only_count_have_no_labels():
    with pytest.raises(ValueError, match=r"got 55 values, wanted 60, one per prediction$"):
        ct.calibration_test(FRAME.reset_index(drop=True), pd.Series(NAMES)[: N - 5])


@pytest.mark.every(5)
@pytest.mark.parametrize("y", [pd.Series(NAMES, INDEX), NAMES], ids=["index of both", "index of predictions"])
@pytest.mark.parametrize(
    ("found", "wanted"),
    [
        (lambda y: groups(series(GROUPS), FRAME, y), lambda: groups(GROUPS)),
        (lambda y: groups({"high": series(GROUPS == "high")}, FRAME, y), lambda: groups({"high": GROUPS == "high"})),
        (lambda y: slices(FEATURES.iloc[SHUFFLED], FRAME, y), lambda: slices(FEATURES)),
        (lambda y: slices({"x": series(X), "group": series(GROUPS)}, FRAME, y), lambda: slices(FEATURES)),
        (lambda y: statistic_of(FRAME, y, features=FEATURES.iloc[SHUFFLED]), lambda: statistic_of(features=FEATURES)),
        (lambda y: statistic_of(FRAME, y, features={"x": series(X)}), lambda: statistic_of(features={"x": X})),
        (lambda y: statistic_of(FRAME, y, weights=series(WEIGHTS)), lambda: statistic_of(weights=WEIGHTS)),
        (lambda y: clusters(series(np.arange(N) // 2), FRAME, y), lambda: clusters(np.arange(N) // 2)),
        (
            lambda y: audited(FRAME, y, **{name: series(one) for name, one in TIMES.items()}),
            lambda: audited(FRAME.reset_index(drop=True), NAMES, **TIMES),
        ),
    ],
    ids=[
        *("groups", "groups in a mapping", "slices", "slices in a mapping", "features", "features in a mapping"),
        *("weights", "clusters", "times and clusters of an audit"),
    ],
)
def test_what_belongs_to_rows_is_matched_by_their_index(found, wanted, y):
    assert found(y) == wanted()


@pytest.mark.every(2)
@pytest.mark.parametrize(
    ("p", "y"),
    [
        (FRAME, pd.Series(pd.Categorical(NAMES, categories=["c", "b", "a"]), INDEX)),
        (FRAME.astype("Float64"), pd.Series(NAMES, INDEX, dtype="string")),
        (FRAME.astype("double[pyarrow]"), pd.Series(NAMES, INDEX).astype("string[pyarrow]")),
        (P, pd.Series(LABELS, dtype="Int64")),
        (P, pd.Series(pd.Categorical(LABELS, categories=[2, 1, 0]))),
        (pl.DataFrame(P, schema=["a", "b", "c"]), pl.Series(NAMES, dtype=pl.Enum(["c", "b", "a"]))),
        (pl.DataFrame(P, schema=["a", "b", "c"]), pl.Series(NAMES, dtype=pl.Categorical)),
        (pa.table(dict(zip("abc", P.T, strict=True))), pa.array(NAMES)),
        (P, pa.chunked_array([LABELS[:30], LABELS[30:]])),
    ],
)
def test_kinds_of_columns(p, y):
    assert statistic_of(p, y) == pytest.approx(statistic_of(), rel=1e-12)


@pytest.mark.every(2)
@pytest.mark.parametrize(
    "features",
    [
        FEATURES.astype({"x": "double[pyarrow]", "group": "string[pyarrow]"}),
        FEATURES.assign(group=pd.Categorical(GROUPS, categories=["low", "high"])),
        pl.DataFrame({"x": X, "group": pl.Series(GROUPS, dtype=pl.Enum(["low", "high"]))}),
        pa.table({"x": X, "group": GROUPS}),
    ],
)
def test_kinds_of_features(features):
    assert statistic_of(features=features) == statistic_of(features=FEATURES)


def test_times_of_which_none_is_shared_warn():
    times = pd.date_range("2020-01-01", periods=N)
    berlin = times.tz_localize("Europe/Berlin")[np.random.default_rng(3).permutation(N)]
    with pytest.warns(UserWarning, match="have 0 of 60 labels of their indices in common"):
        statistic_of(FRAME.set_axis(berlin), pd.Series(NAMES, times))


def test_indices_that_share_some_labels_only_warn():
    moved = pd.Series(NAMES, INDEX[1:].append(pd.Index(["other"])))
    with pytest.warns(
        UserWarning, match="have 59 of 60 labels of their indices in common, and are matched by position"
    ):
        assert statistic_of(FRAME, moved) == statistic_of()
    assert statistic_of(FRAME, moved.set_axis([f"other {i}" for i in range(N)])) == statistic_of()
    assert statistic_of(FRAME.reset_index(drop=True), moved.set_axis(np.arange(N) * 2)) == statistic_of()


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda: statistic_of(FRAME.set_axis(["a", "a", "b"], axis=1), NAMES), "classes: got .'a', 'a', 'b'"),
        (lambda: slices(FEATURES.set_axis(["x", "x"], axis=1)), "features: got several columns named 'x'"),
        (lambda: groups(pd.DataFrame([[True, True]] * N, columns=["u", "u"])), "groups: got columns named .'u', 'u'"),
        (lambda: statistic_of(P, pd.Series(NAMES, dtype="category")), "order of the columns: classes=model.classes_"),
        (lambda: statistic_of(FRAME, pl.Series([None, *NAMES[1:]])), "targets: got a missing value at position 0"),
        (lambda: groups(pd.Series([None, *GROUPS[1:]], dtype="string")), "groups: got a missing value"),
        (
            lambda: ct.compare_models({"a": FRAME, "b": FRAME[["b", "c", "a"]]}, NAMES),
            "models.'b'.: predictions: got classes",
        ),
    ],
)
def test_what_could_be_meant_otherwise_is_an_error(call, match):
    with pytest.raises(ValueError, match=match):
        call()


COUNTS = RNG.poisson(4.0, N)


@pytest.mark.every(5)
@pytest.mark.usefixtures("without_findings")
@pytest.mark.parametrize(
    ("made", "y"),
    [
        (lambda row: ct.Normal(row(X), 1.0), X + RNG.normal(size=N)),
        (lambda row: ct.Normal(scale=series(np.exp(X)), mean=row(X)), X + RNG.normal(size=N)),
        (lambda row: ct.NegativeBinomial(row(np.exp(X)), series(1.0 / (1.0 + np.exp(X)))), COUNTS),
        (lambda row: ct.NegativeBinomial.from_mean(row(np.exp(X)), 0.5), COUNTS),
        (lambda row: ct.Ensemble(row(np.column_stack([X, X + 1.0, X - 1.0]))), X),
        (lambda row: ct.QuantileForecast(pd.Series([0.3, 0.6]), row(np.column_stack([X, X + 1.0]))), X),
        (lambda row: ct.Ordinal(row(P)), LABELS),
        (lambda row: ct.Bernoulli(row(P[:, 0])), LABELS == 0),
    ],
    ids=["one", "two", "counts", "mean counts", "ensemble", "quantiles", "ordered", "binary"],
)
def test_families_made_of_pandas_objects_are_matched_by_their_index(made, y):
    def labelled(data):
        return pd.DataFrame(data, INDEX) if data.ndim == 2 else pd.Series(data, INDEX)

    predictions = made(labelled)
    found = ct.calibration_test(predictions, series(y), **SETTINGS)
    in_order = predictions.take(SHUFFLED)
    assert found.statistic == ct.calibration_test(in_order, y[SHUFFLED], **SETTINGS).statistic
    assert found.notes[-1] == "predictions and targets were matched by their index, which is in another order"
    assert found.statistic != ct.calibration_test(predictions, series(y).to_numpy(), **SETTINGS).statistic
    assert in_order.index.equals(predictions.index[SHUFFLED])
    assert predictions.take(SHUFFLED.reshape(2, -1)).index is None


def test_columns_of_parameters_are_matched_by_their_index():
    rate, chance = np.exp(X), 1.0 / (1.0 + np.exp(X))
    matched = ct.NegativeBinomial(pd.Series(rate, INDEX), series(chance))
    assert np.array_equal(matched.probability, ct.NegativeBinomial(rate, chance).probability)


def test_maps_are_fitted_to_rows_that_are_matched_by_their_index():
    y = X + 2.0 * RNG.normal(size=N)
    recalibrate = ct.recalibration.FamilyTemperatureScaling()
    found = recalibrate.fit(ct.Normal(pd.Series(X, INDEX), 1.0), series(y))
    assert found.temperature == recalibrate.fit(ct.Normal(X[SHUFFLED], 1.0), y[SHUFFLED]).temperature


@pytest.mark.usefixtures("without_findings")
@pytest.mark.parametrize("family", [ct.Categorical, ct.Ordinal])
def test_columns_name_the_classes_of_families_as_they_do_of_frames(family):
    named = FRAME.set_axis(["low", "middle", "high"], axis=1)
    y = np.array(["low", "middle", "high"])[LABELS]
    predictions = family(named)
    found = ct.calibration_test(predictions, y, **SETTINGS)
    assert found.statistic == ct.calibration_test(family(P), LABELS, **SETTINGS).statistic
    assert found.statistic == ct.calibration_test(predictions, LABELS, **SETTINGS).statistic
    assert ct.calibration_test(predictions.take(SHUFFLED), y[SHUFFLED], **SETTINGS).pvalue_kind == "exact"
    with pytest.raises(ValueError, match=r"classes: got .'high', 'low', 'middle'., wanted them in the order"):
        ct.calibration_test(predictions, y, classes=["high", "low", "middle"], **SETTINGS)
    with pytest.raises(ValueError, match=r"names of the columns of the predictions .2, 1, 0. as well as their places"):
        ct.calibration_test(family(FRAME.set_axis([2, 1, 0], axis=1)), LABELS, **SETTINGS)


TIME, SEEN = np.exp(X + RNG.normal(size=N)), RNG.random(N) < 0.8


@pytest.mark.parametrize(
    "found",
    [
        lambda law, y, x: ct.calibration_test(law, y, features=x, **SETTINGS).statistic,
        lambda law, y, x: ct.fields.one_calibration(law, y, 1.0, n_groups=2, rng=1).statistic,
        lambda law, y, x: ct.fields.d_calibration(law, y, n_bins=4, n_resamples=9, rng=1).statistic,
        lambda law, y, x: [one.answer for one in ct.audit(law, y, features=x, **SETTINGS)["model"].sections.values()],
    ],
    ids=["test", "one-calibration", "d-calibration", "audit"],
)
def test_censored_times_are_matched_by_their_index(found):
    law = ct.LogNormal(pd.Series(X, INDEX), 1.0)
    y = ct.Censored(series(TIME), pd.Series(SEEN, INDEX))
    wanted = found(law.take(SHUFFLED), ct.Censored(TIME[SHUFFLED], SEEN[SHUFFLED]), {"x": X[SHUFFLED]})
    assert found(law, y, FEATURES[["x"]]) == wanted


@pytest.mark.parametrize("kind", [pd.DataFrame, lambda *data: ct.Ensemble(pd.DataFrame(*data))])
def test_forecasts_of_weather_are_matched_by_their_index(kind):
    members = X[:, None] + RNG.normal(size=(N, 5))
    y = X + RNG.normal(size=N)
    found = ct.fields.weather.rank_histogram(kind(members, INDEX), series(y), n_resamples=9, rng=1)
    wanted = ct.fields.weather.rank_histogram(kind(members[SHUFFLED]), y[SHUFFLED], n_resamples=9, rng=1)
    assert found.rows == wanted.rows


OF_TWO = np.arange(N) // 4, np.arange(N) % 7


@pytest.mark.every(2)
@pytest.mark.usefixtures("without_findings")
@pytest.mark.parametrize(
    ("made", "labelled", "plain"),
    [
        (ct.ClusterSKCETest, lambda: series(OF_TWO[0]), lambda: OF_TWO[0]),
        (ct.ClusterSKCETest, lambda: (series(OF_TWO[0]), series(OF_TWO[1])), lambda: OF_TWO),
        (ct.named_tests.ClusterLikelihoodRatioTest, lambda: series(OF_TWO[0]), lambda: OF_TWO[0]),
        (lambda w: ct.OmnibusTest(n_resamples=19, weights=w), lambda: series(WEIGHTS), lambda: WEIGHTS),
        (lambda x: ct.OmnibusTest(None, 19, features=x), lambda: {"x": series(X)}, lambda: {"x": X}),
        (lambda x: ct.OmnibusTest(None, 19, features=x), lambda: FEATURES.iloc[SHUFFLED], lambda: FEATURES),
        (
            lambda w: ct.MonteCarloTest(ct.estimators.WeightedSKCE(ct.Categorical(P).default_kernel(), w), 19),
            lambda: series(WEIGHTS),
            lambda: WEIGHTS,
        ),
        (
            lambda c: ct.estimators.ClusterSKCE(ct.Categorical(P).default_kernel(), c),
            lambda: series(OF_TWO[0]),
            lambda: OF_TWO[0],
        ),
        (
            lambda x: ct.OmnibusTest(None, 19, features=x),
            lambda: {"x": series(X), "without an index": WEIGHTS},
            lambda: {"x": X, "without an index": WEIGHTS},
        ),
    ],
)
def test_settings_of_rows_are_matched_by_their_index(made, labelled, plain):
    test = made(labelled())
    found = test(FRAME, pd.Series(NAMES, INDEX), rng=1)
    wanted = made(plain())(P, LABELS, rng=1)
    in_another_order = made(labelled())(P, LABELS, rng=1)
    assert getattr(found, "statistic", found) == getattr(wanted, "statistic", wanted)
    assert getattr(found, "statistic", found) != getattr(in_another_order, "statistic", in_another_order)
    assert getattr(found, "test", "") == getattr(wanted, "test", "")
    again = test(P, LABELS, rng=1)
    assert getattr(again, "statistic", again) == getattr(in_another_order, "statistic", in_another_order)


@pytest.mark.parametrize(
    "found",
    [
        lambda a, b, y: [row.pvalue for row in ct.compare_models({"a": a, "b": b}, y, **SETTINGS).rows],
        lambda a, b, y: [row.pvalue for row in ct.compare_pairs({"a": a, "b": b}, y).rows],
        lambda a, b, y: ct.PairedSKCETest()(a, b, y).pvalue,
        lambda a, b, y: [one.result.pvalue for one in ct.audit({"a": a, "b": b}, y, **SETTINGS).models],
    ],
    ids=["models", "pairs", "paired test", "audit"],
)
def test_models_are_matched_by_their_index_where_outcomes_have_none(found):
    first, second = ct.Normal(X, 1.0), ct.Normal(X + 0.5, 1.0)
    y = X + RNG.normal(size=N)
    labelled = ct.Normal(pd.Series(X, INDEX), 1.0), ct.Normal(series(X + 0.5), 1.0)
    assert found(*labelled, y) == found(first, second, y)
    frame = pd.DataFrame({"a": P[:, 0]}, INDEX), series(0.9 * P[:, 0])
    assert found(*frame, LABELS == 0) == found(P[:, 0], 0.9 * P[:, 0], LABELS == 0)


def weighted(data):
    return ct.estimators.WeightedSKCE(ct.Categorical(P).default_kernel(), data)


@pytest.mark.usefixtures("without_findings")
@pytest.mark.parametrize(
    "found",
    [
        lambda p, y, w: ct.compare_models({"a": p}, y, estimator=weighted(w), **SETTINGS).rows[0].estimate,
        lambda p, y, w: (
            ct.compare_models({"a": p}, y, test=ct.MonteCarloTest(weighted(w), 19), **SETTINGS).rows[0].pvalue
        ),
        lambda p, y, w: ct.GroupCalibrationTest(weighted(w), 19)(p, y, np.arange(N) % 2, rng=1).groups[0].estimate,
        lambda p, y, w: ct.noise_floor(p, weighted(w), n_resamples=19, rng=1).mean,
    ],
    ids=["estimator of models", "test of models", "groups", "noise floor"],
)
def test_settings_of_rows_are_matched_wherever_a_test_or_an_estimator_is_given(found):
    labels = pd.Series(NAMES, INDEX)
    assert found(FRAME, labels, series(WEIGHTS)) == found(FRAME, labels, WEIGHTS)
    assert found(FRAME, labels, series(WEIGHTS)) != found(FRAME, labels, series(WEIGHTS).to_numpy())


@pytest.mark.parametrize(
    "made",
    [
        ct.Poisson,
        lambda row: ct.NegativeBinomial(row, 0.5),
        lambda row: ct.Normal(row, 1.0),
        lambda row: ct.Gamma(row, 1.0),
        lambda row: ct.Bernoulli(row / 9.0),
    ],
    ids=["Poisson", "negative binomial", "Normal", "Gamma", "binary"],
)
def test_predictions_of_another_temperature_have_the_same_index(made):
    assert made(pd.Series(np.exp(X), INDEX).clip(0.1, 8.0)).at_temperature(1.5).index.equals(INDEX)


def test_mixtures_have_the_index_of_their_components():
    y = X + RNG.normal(size=N)
    labelled = ct.Mixture([ct.Normal(pd.Series(X + shift, INDEX), 0.5) for shift in (-1.0, 1.0)])
    plain = ct.Mixture([ct.Normal(X + shift, 0.5) for shift in (-1.0, 1.0)])
    assert ct.SKCE(plain.default_kernel())(labelled, series(y)) == pytest.approx(
        ct.SKCE(plain.default_kernel())(plain.take(series(np.arange(N)).to_numpy()), series(y).to_numpy()), rel=1e-9
    )
    assert labelled.take(slice(0, 5)).index.equals(INDEX[:5])


def test_amounts_of_rain_are_matched_with_their_laws_and_dry_shares():
    amounts, dry = np.maximum(X, 0.0), 0.2 + 0.6 * (np.arange(N) % 7) / 7.0
    wanted = weather.pit_values(ct.Gamma(1.0 + X**2, 1.0), amounts, dry=dry, rng=1)[1]
    laws = ct.Gamma(pd.Series(1.0 + X**2, INDEX), 1.0)
    found = weather.pit_values(laws, series(amounts), dry=pd.Series(dry, INDEX), rng=1)[1]
    wet = amounts[SHUFFLED] > 0.0
    np.testing.assert_allclose(found[wet], wanted[SHUFFLED][wet])
    np.testing.assert_array_equal(weather.pit_values(laws, amounts, dry=series(dry), rng=1)[1], wanted)


@pytest.mark.parametrize("y", [series, lambda time: pd.Series(time, INDEX)], ids=["other order", "same order"])
def test_limits_of_survival_are_matched(y):
    time, limits = 0.1 + X**2, 9.0 + np.arange(N)
    events, means = np.ones(N), 0.5 + (np.arange(N) % 5)
    wanted = d_calibration(ct.Gamma(means, 1.0), ct.Censored(time, events), limits=limits, n_resamples=19, rng=1)
    laws, targets = ct.Gamma(pd.Series(means, INDEX), 1.0), ct.Censored(y(time), events)
    for given in (series(limits), pd.Series(limits, INDEX)):
        ends = _limits(laws, targets, given)
        np.testing.assert_allclose(
            np.sort(ends), np.sort(_limits(ct.Gamma(means, 1.0), ct.Censored(time, events), limits))
        )
        found = d_calibration(laws, targets, limits=given, n_resamples=19, rng=1)
        assert found.statistic == pytest.approx(wanted.statistic)


def test_dates_of_forecasts_are_in_the_order_of_time():
    times = pd.date_range("2026-01-01", periods=N)
    members, outcomes = RNG.normal(size=(N, 4)), np.convolve(RNG.normal(size=N + 2), np.ones(3), "valid")
    wanted = weather.rank_histogram(members, outcomes, horizon=3, rng=1, n_resamples=99)
    frame, shuffled = pd.DataFrame(members, times), pd.Series(outcomes, times).iloc[SHUFFLED]
    for given in (frame, frame.iloc[SHUFFLED]):
        assert weather.rank_histogram(given, shuffled, horizon=3, rng=1, n_resamples=99).to_dict() == wanted.to_dict()


def test_distributions_of_scipy_have_the_index_of_their_parameters():
    y = X + RNG.normal(size=N)
    kernel = ct.SKCE(ct.Normal(X, 1.0).default_kernel())
    wanted = kernel(ct.Normal(X[SHUFFLED], 1.0), y[SHUFFLED])
    for law in (stats.norm(pd.Series(X, INDEX), 1.0), stats.norm(scale=np.ones(N), loc=pd.Series(X, INDEX))):
        assert kernel(law, series(y)) == wanted
    with pytest.raises(ValueError, match="got parameters with different indices"):
        kernel(stats.norm(pd.Series(X, INDEX), series(np.exp(X))), y)


def test_coordinates_of_vectors_in_another_order_are_refused():
    columns = ["east", "north"]
    means, targets = (pd.DataFrame(RNG.normal(size=(N, 2)), INDEX, columns) for _ in range(2))
    variances = pd.DataFrame(np.exp(RNG.normal(size=(N, 2))), INDEX, columns)
    law = ct.MvNormal(means, variances)
    plain = ct.MvNormal(means.to_numpy(), variances.to_numpy())
    kernel = ct.SKCE(plain.default_kernel())
    assert kernel(law, targets) == kernel(plain, targets.to_numpy())
    with pytest.raises(ValueError, match="targets: got the columns"):
        kernel(law, targets[columns[::-1]])
    with pytest.raises(ValueError, match="covariance: got the columns"):
        ct.MvNormal(means, variances[columns[::-1]])


@pytest.mark.usefixtures("without_findings")
def test_a_lag_takes_rows_in_the_order_of_time():
    times = pd.date_range("2026-01-01", periods=N)
    y = pd.Series(LABELS, times)
    wanted = ct.calibration_test(P, LABELS, lag=3, **SETTINGS).pvalue
    assert ct.calibration_test(pd.DataFrame(P, times).iloc[SHUFFLED], y, lag=3, **SETTINGS).pvalue == wanted
    with pytest.raises(ValueError, match="wanted rows in the order of time"):
        ct.calibration_test(pd.DataFrame(P, times), y.iloc[SHUFFLED], lag=3, **SETTINGS)


def test_arrays_of_xarray_are_matched_by_their_labels():
    xr = pytest.importorskip("xarray")
    rng = np.random.default_rng(3)
    p, y, days = rng.dirichlet(np.ones(3), 60), rng.integers(0, 3, 60), pd.date_range("2026-01-01", periods=60)
    predictions = xr.DataArray(p, dims=("day", "animal"), coords={"day": days, "animal": ["cat", "dog", "eel"]})
    names = xr.DataArray(np.array(["cat", "dog", "eel"])[y], dims="day", coords={"day": days})
    skce = ct.SKCE(ct.ProductKernel(ct.ExponentialKernel(ct.TotalVariation(), 0.5), ct.DeltaKernel()))
    assert skce(predictions, names) == pytest.approx(skce(p, y))
    assert skce(predictions[::-1, ::-1], names) == pytest.approx(skce(p, y))
    result = ct.calibration_test(predictions, names[::-1], n_resamples=19, rng=1)
    assert result.notes[0] == "predictions and targets were matched by their index, which is in another order"
    fitted = ct.recalibration.TemperatureScaling().fit(predictions, names)
    assert fitted(predictions[:, ::-1]).sel(animal="cat").to_numpy() == pytest.approx(fitted(predictions)[:, 0])
    members = xr.DataArray(rng.normal(size=(5, 60)), dims=("member", "day"), coords={"day": days})
    outcomes = xr.DataArray(rng.normal(size=60), dims="day", coords={"day": days})
    found = [
        ct.calibration_test(ct.Ensemble(some), outcomes, n_resamples=19, rng=1).statistic
        for some in (members, members.transpose(), members.transpose()[::-1], members.to_numpy().T)
    ]
    assert found == pytest.approx(found[:1] * 4)
    for name in ("number", "realization", "ensemble", "sample"):
        again = ct.Ensemble(members.rename(member=name)[:, ::-1] if name != "sample" else members.T.rename(member=name))
        assert ct.calibration_test(again, outcomes, n_resamples=19, rng=1).statistic == pytest.approx(found[0])
    rows = members[:, :5].rename(member="sample", day="tree")
    assert np.array_equal(ct.Ensemble(rows).members, np.sort(rows.to_numpy(), axis=1))


def test_times_of_batches_are_in_one_time_zone():
    test, times = ct.SequentialCalibrationTest(strategy="likelihood"), pd.date_range("2026-01-01", periods=N)
    test.update(P[:30], pd.Series(LABELS, times)[:30])
    with pytest.raises(ValueError, match="got times with the time zone UTC after some with no time zone"):
        test.update(P[30:], pd.Series(LABELS, times.tz_localize("UTC"))[30:])


def test_frames_of_narwhals_are_matched_as_what_they_hold():
    """Labels of rows of pandas count, as without it; polars has none."""
    nw = pytest.importorskip("narwhals", reason="narwhals is missing")
    names = pd.Series(NAMES, INDEX)
    held = nw.from_native(FRAME.iloc[SHUFFLED]), nw.from_native(names, series_only=True)
    assert statistic_of(*held) == statistic_of(FRAME.iloc[SHUFFLED], names)
    assert statistic_of(nw.from_native(pl.DataFrame(P, schema=["a", "b", "c"])), NAMES) == statistic_of(FRAME, NAMES)
