"""What looks like copies or a time series is said; independent rows are not, however wrong predictions are."""

import numpy as np
import pytest
from printed import unfolded
from scipy import stats

import caltest as ct
from caltest.estimators.dependence import caution_on_groups, caution_on_times, cautions_on
from caltest.predictions.inputs.convert import as_sample

N = 600


def rng():
    return np.random.default_rng(7)


def autocorrelated(share):
    noise = rng().normal(size=N)
    for i in range(1, N):
        noise[i] += share * noise[i - 1]
    return noise


def families():
    """Predictions and outcomes that are independent given them."""
    mean = rng().normal(size=N)
    p, members = rng().dirichlet(np.ones(4), N), mean[:, None] + rng().normal(size=(N, 6))
    forecast = ct.QuantileForecast([0.1, 0.5, 0.9], mean[:, None] + [-1.3, 0.0, 1.3])
    mixture = ct.Mixture([ct.Normal(mean, 1.0), ct.Normal(mean, 2.0)])
    vectors = ct.MvNormal(np.column_stack([mean, -mean]), 1.0)
    laws = ct.Categorical(p), ct.Ordinal(p), ct.Normal(mean, 1.0), ct.Poisson(np.exp(mean)), forecast, mixture, vectors
    return [
        *((law, law.sample(3)) for law in laws),
        (ct.Ensemble(members), mean + np.random.default_rng(8).normal(size=N)),
    ]


@pytest.mark.parametrize(("law", "y"), families(), ids=lambda one: getattr(one, "family", ""))
def test_copies_of_rows(law, y):
    assert cautions_on(as_sample(law, y)) == ()
    rows = rng().permutation(np.append(np.arange(N), np.arange(60)))
    (caution,) = cautions_on(as_sample(law.take(rows), np.asarray(y)[rows]))
    assert caution.startswith("60 of 660 rows repeat the prediction and the outcome of another row")


def miscalibrated():
    p, m, uniform = rng().random(N).round(2), np.sort(rng().normal(size=N)), np.random.default_rng(9).random(N)
    y, noise = (uniform < p).astype(int), np.random.default_rng(9).normal(size=N)
    return {
        "rounded": (p, y),
        "sorted by outcome": (p[np.argsort(y)], np.sort(y)),
        "sorted with a few ties": (ct.Normal(np.zeros(N), 1.0), np.sort(noise.round(2))),
        "descending with a few ties": (ct.Normal(np.zeros(N), 1.0), -np.sort(noise.round(2))),
        "certain outcomes": (p, (p > 0.5).astype(int)),
        "too unsure": (p, (uniform < np.clip(3.0 * p - 1.0, 0.001, 0.999)).astype(int)),
        "saturated": (np.where(p > 0.5, 1.0, p), np.where(p > 0.5, 1, y)),
        "constant": (np.full(N, 0.3), (uniform < 0.3).astype(int)),
        "all right": (np.full(N, 0.9), np.ones(N, dtype=int)),
        "sorted and biased": (ct.Normal(m, 1.0), 1.5 * m + 1.0 + noise),
        "rounded numbers": (ct.Normal(np.zeros(N), 1.0), noise.round()),
        "one prediction": (ct.Normal(np.zeros(N), 1.0), noise),
        "two predictions": (np.where(p > 0.5, 0.9, 0.1), (p > 0.5).astype(int)),
        "two rows": (np.array([0.2, 0.2]), np.array([0, 0])),
    }


@pytest.mark.parametrize("name", miscalibrated())
def test_errors_are_no_dependence(name):
    assert cautions_on(as_sample(*miscalibrated()[name])) == ()


def test_series_of_quantiles_ordered_classes_and_vectors_are_said_to_be_alike():
    z = autocorrelated(0.5) / 1.15
    mean = 3.0 * np.sin(np.arange(N) / 60.0) + np.random.default_rng(9).normal(size=N)
    quantiles = ct.QuantileForecast([0.1, 0.5, 0.9], mean[:, None] + stats.norm.ppf([0.1, 0.5, 0.9]))
    ordered = ct.Ordinal(np.tile(np.diff([0.0, *stats.norm.cdf([-1.0, 0.0, 1.0]), 1.0]), (N, 1)))
    vectors = ct.MvNormal(np.column_stack([mean, -mean]), 1.0)
    for law, y in (
        (quantiles, mean + z),
        (ordered, np.searchsorted([-1.0, 0.0, 1.0], z)),
        (vectors, vectors.mean + z[:, None]),
    ):
        (caution,) = cautions_on(as_sample(law, y))
        assert "alike (correlation 0." in caution
        assert cautions_on(as_sample(law, law.sample(3))) == ()


def test_series_are_said_to_be_alike():
    mean, noise = np.zeros(N), autocorrelated(0.5)
    (caution,) = cautions_on(as_sample(ct.Normal(mean, 1.15), noise))
    assert "alike (correlation 0.4" in caution
    states = (autocorrelated(0.9) > 0.0).astype(int)
    p = np.full(N, 0.5) + 0.1 * rng().random(N)
    assert "SequentialCalibrationTest" in cautions_on(as_sample(p, states))[0]
    assert cautions_on(as_sample(p, states[rng().permutation(N)])) == ()


def test_errors_of_classes_are_whether_the_likeliest_one_occurred():
    p = rng().dirichlet(np.ones(3), 600)
    hits = np.repeat(rng().random(100), 6) < p.max(axis=1)
    (caution,) = cautions_on(as_sample(p, np.where(hits, p.argmax(axis=1), p.argsort(axis=1)[:, 1])))
    errors = hits - p.max(axis=1)
    assert f"alike (correlation {errors[1:] @ errors[:-1] / (errors @ errors):.1f}" in caution


def test_a_series_of_300_rows_is_seen_and_a_few_large_errors_are_no_series():
    series = autocorrelated(0.5)[:300]
    assert "alike" in cautions_on(as_sample(ct.Normal(np.zeros(300), 1.15), series))[0]
    noise = rng().normal(size=300)
    noise[100:104] = 2.9
    residuals = noise - noise.mean()
    assert residuals[1:] @ residuals[:-1] > 0.05 * (residuals @ residuals)
    assert cautions_on(as_sample(ct.Normal(np.zeros(300), 1.0), noise)) == ()


def test_independent_rows_are_never_said_to_depend(replications):
    generator = rng()
    for n in (20, 100, 1000):
        for _ in range(replications(20, 100)):
            p = generator.random(n).round(1)
            for claims in (p, np.where(p > 0.5, 0.925, 0.075), (p / 40.0).round(3)):
                assert cautions_on(as_sample(claims, (generator.random(n) < p**4).astype(int))) == ()
                assert cautions_on(as_sample(claims, (generator.random(n) < claims).astype(int))) == ()


def test_results_and_audits_say_it():
    p, y = ct.datasets.load_digits_predictions()["random forest"]
    rows = np.append(np.arange(len(p)), np.arange(200))
    result = ct.calibration_test(p.take(rows), y[rows], n_resamples=19, rng=1)
    asked = "203 of 1,099 rows repeat the prediction and the outcome of another row"
    assert_first(result, asked, "calibration_test(p, y, clusters=labels)")
    audit = ct.audit(p.take(rows), y[rows], n_resamples=19, rng=1)["model"]
    assert f"First check whether rows are independent: {asked}" in audit.because
    assert audit.because.endswith("?")
    p, y = p.take(slice(0, 300)), y[:300]
    right = ct.calibration_test(p, y, n_resamples=19, rng=1)
    assert not any("repeat" in note for note in right.notes)
    assert "First check" not in str(right) + ct.audit(p, y, n_resamples=19, rng=1)["model"].reason


def assert_first(result, asked, call):
    """The question is right below the verdict, also in HTML, and names a call."""
    line = unfolded(result).split("First check    ")[1]
    assert unfolded(result).index("First check") < unfolded(result).index("Hypothesis  ")
    assert line.startswith(asked)
    assert call in line.split("?")[0]
    page = result._repr_html_()
    assert page.index(call) < page.index("<details>")
    assert any(call in note for note in result.to_dict()["notes"])


def test_a_series_is_asked_about_first_and_the_lag_that_mends_it_named():
    forecast, errors = ct.Normal(np.zeros(N), 1.15), autocorrelated(0.5)
    result = ct.calibration_test(forecast, errors, n_resamples=19, rng=1)
    assert_first(result, "errors of rows that follow each other are alike", "calibration_test(p, y, lag=h)")
    assert "First check" not in str(ct.calibration_test(forecast, errors, lag=10, n_resamples=39, rng=1))


@pytest.mark.parametrize(
    "test",
    [
        ct.MonteCarloTest(ct.SKCE(ct.Normal([0.0], 1.0).default_kernel()), 19),
        ct.AsymptoticBlockSKCETest(),
        ct.PITTest(),
        ct.QuantileCalibrationTest(),
    ],
    ids=lambda test: type(test).__name__,
)
def test_every_test_of_independent_rows_asks(test):
    forecast = ct.Normal(np.linspace(-1.0, 1.0, N), 1.15)
    series = forecast.mean + autocorrelated(0.5)
    assert_first(test(forecast, series, rng=1), "errors of rows that follow each other are alike", "lag=h")
    assert "First check" not in str(test(forecast, series[rng().permutation(N)], rng=1))


def test_tests_with_clusters_do_not_ask():
    forecast, clusters = ct.Normal(np.linspace(-1.0, 1.0, N), 1.15), np.arange(N) // 20
    result = ct.ClusterSKCETest(clusters, n_resamples=19)(forecast, forecast.mean + autocorrelated(0.5), rng=1)
    assert "First check" not in str(result)


def test_labels_are_asked_about_by_name():
    p, uniform = rng().random((2, N, 3))
    y, rows = (uniform < p).astype(int), np.append(np.arange(N), np.arange(60))
    names = ["ant", "bee", "cat"]
    right = ct.calibration_test(ct.MultiLabel(p, names), y, n_resamples=19, rng=1)
    assert "First check" not in str(right)
    copied = ct.calibration_test(ct.MultiLabel(p[rows], names), y[rows], n_resamples=19, rng=1)
    asked = unfolded(copied).split("First check    ")[1]
    assert asked.startswith("label ")
    assert ", whose p is p.label(name): 60 of 660 rows repeat the prediction" in asked


def test_copies_are_asked_about_before_a_map_is_judged_by_them():
    p, uniform = np.repeat(rng().random((2, N // 3)), 3, axis=1)
    for rows, asks in ((slice(None), True), (slice(None, None, 3), False)):
        data = p[rows], (uniform < p)[rows]
        report = ct.recalibration.report(*data, ct.recalibration.BetaCalibration(), n_resamples=9, rng=1)
        assert ("First check" in str(report)) == asks


def test_comparisons_ask_and_say_which_rows_to_keep():
    forecast, other = ct.Normal(np.linspace(-1.0, 1.0, N), 1.15), ct.Normal(np.linspace(-1.2, 1.2, N), 1.15)
    series, order = forecast.mean + autocorrelated(0.5), rng().permutation(N)
    keep = "keep those that are too far apart to depend on each other), or in clusters (keep one row of each)?"
    for compared in (
        lambda y: ct.PairedSKCETest()(forecast, other, y),
        lambda y: ct.compare_pairs({"one": forecast, "other": other}, y),
    ):
        asked = unfolded(compared(series)).split("First check    ")[1]
        assert asked.startswith("errors of rows that follow each other are alike")
        assert keep in asked
        assert "First check" not in str(compared(series[order]))
    y = forecast.sample(1)
    rows = np.append(np.arange(N), np.arange(60))
    copied = ct.compare_pairs({"one": forecast.take(rows), "other": other.take(rows)}, y[rows])
    assert "60 of 660 rows repeat" in copied.notes[0]
    assert copied.notes[0].endswith("or measured again (keep one row of each cluster)?")


@pytest.mark.parametrize(
    "of", [str, lambda i: np.datetime64("2026-01-01") + i, complex], ids=["text", "dates", "complex"]
)
def test_parameters_that_are_no_numbers_can_be_copies(of):
    rows, y = np.append(np.arange(N), np.arange(60)), rng().normal(size=N)
    p = ct.Unnormalised(lambda _, y: -y, np.array([of(i) for i in range(N)]), points=np.linspace(-2.0, 2.0, 5))
    assert cautions_on(as_sample(p, y)) == ()
    (caution,) = cautions_on(as_sample(p.take(rows), y[rows]))
    assert caution.startswith("60 of 660 rows repeat")


def test_models_and_classes_that_are_compared_are_asked_about_once():
    p = rng().dirichlet(np.ones(3), N)
    rows = np.append(np.arange(N), np.arange(60))
    models = {"one": p[rows], "other": p[rows].round(1) + 0.01}
    y = ct.Categorical(p).sample(2)[rows]
    models["other"] /= models["other"].sum(axis=1, keepdims=True)
    for compared in (
        ct.compare_models(models, y, n_resamples=9, rng=1),
        ct.compare_classes(models["one"], y, n_resamples=9, rng=1),
    ):
        (asked,) = [note for note in compared.notes if "dependent rows" in note]
        assert " rows repeat the prediction and the outcome of another row" in asked


def test_rows_of_the_same_time_are_said_to_be_alike_however_wrong_predictions_are():
    times, of_times = np.arange(N) % 20, np.random.default_rng(3).normal(size=20)[np.arange(N) % 20]
    for seed in range(20):
        draw = np.random.default_rng(seed)
        p, m, noise = draw.beta(1.0, 3.0, N), draw.normal(size=N), draw.standard_t(3, N)
        wrong = (draw.random(N) < np.minimum(1.7 * p, 1.0)).astype(int)
        assert caution_on_times(as_sample(p, wrong), times) is None
        assert caution_on_times(as_sample(ct.Normal(m, 1.0), 1.5 * m + 2.0 * noise), times) is None
        said = caution_on_times(as_sample(ct.Normal(m, 1.1), m + 0.5 * of_times + draw.normal(size=N)), times)
        assert said is not None
        assert "errors of rows of the same time are alike" in said
    rare = (draw.random(N) < 0.02).astype(int)
    assert caution_on_times(as_sample(np.full(N, 0.02), rare), times) is None
    assert caution_on_times(as_sample(ct.Normal(m, 1.1), m + of_times), np.zeros(N, dtype=int)) is None


def test_many_groups_that_are_wrong_as_a_whole_are_asked_about_and_one_is_not():
    group, of_groups = np.arange(N) % 15, np.random.default_rng(3).normal(size=15)[np.arange(N) % 15]
    asked = np.zeros(4, dtype=int)
    for seed in range(20):
        draw = np.random.default_rng(seed)
        p, m = draw.uniform(0.1, 0.6, N), draw.normal(size=N)
        one_wrong = (draw.random(N) < p + 0.4 * (group == 0)).astype(int)
        pairs = [
            (p, (draw.random(N) < p).astype(int)),
            (p, one_wrong),
            (ct.Normal(m, 1.0), 1.5 * m + draw.standard_t(3, N)),
            (ct.Normal(m, 1.1), m + 0.5 * of_groups + draw.normal(size=N)),
        ]
        asked += [caution_on_groups(as_sample(*pair), group) is not None for pair in pairs]
    assert asked[[0, 2]].tolist() == [0, 0]
    assert asked[1] <= 2
    assert asked[3] >= 17
    few = as_sample(ct.Normal(m, 1.1), m + 0.5 * of_groups + draw.normal(size=N))
    assert caution_on_groups(few, group % 5) is None
