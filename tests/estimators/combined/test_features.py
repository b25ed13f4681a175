import re
from datetime import datetime, timedelta

import numpy as np
import pandas as pd
import pytest
import scipy
from printed import unfolded

import caltest as ct
from caltest.estimators.combined.features import Feature, FeatureErrors, _event, _mean, _spread, words_of
from caltest.predictions.inputs.convert import as_sample

N = 300
RNG = np.random.default_rng(1)
X = {
    "age": RNG.integers(20, 80, N),
    "site": RNG.choice(list("abc"), N),
    "dose": np.where(RNG.random(N) < 0.1, np.nan, RNG.lognormal(size=N)),
}
P = RNG.uniform(0.2, 0.8, N)
Y = (RNG.random(N) < P).astype(int)


@pytest.mark.parametrize("law", [ct.Bernoulli(P), ct.Categorical(RNG.dirichlet(np.ones(4), N)), ct.Normal(P, 1.0)])
def test_sums_over_pairs_by_definition(law):
    errors = FeatureErrors([Feature(name, values) for name, values in X.items()], law)
    y = law.sample(2, 3)
    weights = RNG.random(N)
    found = errors(law, y, weights)
    kinds = [group(y) for group in errors._errors.groups]
    expected = []
    for kind in kinds:
        for basis in errors.bases:
            k = basis.functions @ basis.functions.T
            e = kind * weights[:, None]
            h = np.einsum("bid,bjd->bij", e, e) * k
            expected.append(h.sum(axis=(1, 2)) - np.einsum("bii->b", h))
    assert found == pytest.approx(np.array(expected), rel=1e-9, abs=1e-9)
    assert [basis.name for basis in errors.bases][::3] == [
        "given age",
        "given age and the prediction",
        "given age and site",
    ]


def test_functions_have_mean_zero_and_do_not_depend_on_units():
    v = P * (1.0 - P)
    for scale in (1.0, 1e-300):
        ages = FeatureErrors([Feature("age", scale * X["age"])], ct.Bernoulli(P)).bases
        assert np.abs(v @ ages[0].functions).max() < 1e-10
        assert ages[0].functions == pytest.approx(
            FeatureErrors([Feature("age", X["age"])], ct.Bernoulli(P)).bases[0].functions
        )


def test_errors_that_predictions_do_not_show_are_found():
    rng = np.random.default_rng(3)
    x, p = rng.normal(size=(600, 3)), rng.uniform(0.2, 0.8, 600)
    y = (rng.random(600) < p + 0.15 * np.sign(x[:, 1])).astype(int)
    assert ct.calibration_test(p, y, rng=1).pvalue > 0.05
    result = ct.calibration_test(p, y, features=pd.DataFrame(x, columns=["a", "b", "c"]), rng=1)
    assert result.pvalue == 0.001
    assert result.components[0].name == "given b"
    assert result.hypothesis == "P(Y = 1 | p, X) = p"
    assert str(result).startswith("OmnibusTest")


FAMILIES = {
    "classes": ct.Categorical(RNG.dirichlet(np.ones(3), N)),
    "many classes": ct.Categorical(RNG.dirichlet(np.full(50, 0.1), N)),
    "ordered": ct.Ordinal(RNG.dirichlet(np.ones(4), N)),
    "counts": ct.Poisson(1.0 + P),
    "numbers": ct.StudentT(4.0, P, 1.0),
    "vectors": ct.MvNormal(RNG.normal(size=(N, 2)), 1.0),
    "quantiles": ct.QuantileForecast([0.1, 0.9], P[:, None] + np.array([-1.0, 1.0])),
    "constant": ct.Bernoulli(np.full(N, 0.3)),
}


@pytest.mark.every(2)
@pytest.mark.usefixtures("without_findings")
@pytest.mark.parametrize("name", FAMILIES)
def test_all_families(name):
    law = FAMILIES[name]
    y = law.sample(4)
    result = ct.calibration_test(law, y, features=X, n_resamples=39, rng=1)
    assert result.pvalue == ct.OmnibusTest(n_resamples=39, features=X)(law, y, rng=1).pvalue > 0.0


@pytest.mark.usefixtures("without_findings")
def test_ensembles():
    members = P[:, None] + RNG.normal(size=(N, 4))
    assert (
        ct.calibration_test(ct.Ensemble(members), P + RNG.normal(size=N), features=X, n_resamples=39, rng=1).pvalue > 0
    )


@pytest.mark.usefixtures("without_findings")
@pytest.mark.parametrize(
    "column",
    [
        [f"patient {i}" for i in range(N)],
        [None] * 10 + ["x"] * (N - 10),
        [datetime(2026, 1, 1) + timedelta(days=i) for i in range(N)],
        np.datetime64("2026-01-01") + np.arange(N),
        np.full(N, np.inf) * np.sign(P - 0.5),
        pd.Categorical(X["site"]),
        [1.0, "a"] * (N // 2),
        P > 0.5,
        [np.nan] * 2 + [1e308, -1e308] * (N // 2 - 1),
    ],
    ids=["10 000 names", "missing", "objects", "times", "infinite", "categories", "mixed", "booleans", "extreme"],
)
def test_columns_of_all_kinds(column):
    result = ct.calibration_test(P, Y, features={"one": column, "age": X["age"]}, n_resamples=19, rng=1)
    assert 0.0 < result.pvalue <= 1.0


def test_rows_without_targets_are_left_out_with_their_features():
    y = Y.astype(float)
    y[5] = np.nan
    kept = np.delete(np.arange(N), 5)
    some = {name: values[kept] for name, values in X.items()}
    one = ct.calibration_test(P, y, features=X, missing="drop", n_resamples=39, rng=1)
    assert one.pvalue == ct.calibration_test(P[kept], Y[kept], features=some, n_resamples=39, rng=1).pvalue


def test_the_other_rows_are_tested_given_their_features_where_one_outcome_was_impossible():
    rng = np.random.default_rng(1)
    p, x = rng.uniform(0.1, 0.9, N), rng.normal(size=N)
    y = (rng.random(N) < np.clip(p + 0.4 * np.sign(x), 0.0, 1.0)).astype(int)
    rest = ct.calibration_test(p[1:], y[1:], features={"x": x[1:]}, n_resamples=199, rng=1)
    p[0], y[0] = 0.0, 1
    result = ct.calibration_test(p, y, features={"x": x}, n_resamples=199, rng=1)
    assert result.pvalue == 0.0
    assert result.pvalue_otherwise == rest.pvalue < 0.05


def test_bad_features():
    for features, words in (
        ({"a": np.ones(N)}, "wanted at least one"),
        ({"a": X["age"][:-1]}, f"got {N - 1} values, wanted {N}"),
        ({"a": X["age"], "outcome": Y}, r"features\['outcome'\]: got the targets, wanted"),
        ({"outcome": np.where(Y == 1, "ill", "well")}, r"features\['outcome'\]: got the targets by other names"),
        ({"outcome": np.array([None, "x"])[Y]}, r"features\['outcome'\]: got the targets by other names"),
        ({"a": np.zeros((N, 2))}, "wanted one value for each row"),
        ({"a": "x"}, r"got shape \(\), wanted one value for each row"),
        (3.0, "wanted a data frame"),
    ):
        with pytest.raises(ValueError, match=words):
            ct.calibration_test(P, Y, features=features, rng=1)
    with pytest.raises(TypeError, match="give the groups as a feature"):
        ct.MonteCarloTest(ct.estimators.GroupMaximum(ct.estimators.Omnibus(features=X), X["site"]), 9)(P, Y, rng=1)
    with pytest.raises(TypeError, match="features: got some, wanted none for data that come in chunks"):
        ct.OmnibusTest(features=X).accumulator().update(P, Y)


def plain_step_down(statistics):
    """Adjusted p-values by the definition of Westfall and Young: the maximum over what is not larger."""
    n, adjusted, last = statistics.shape[1], {}, 0.0
    left = set(range(len(statistics)))
    while left:
        first = max(left, key=lambda i: statistics[i, 0])
        largest = statistics[sorted(left), 1:].max(axis=0)
        last = max(last, (1 + np.sum(largest >= statistics[first, 0] - 1e-9)) / n)
        adjusted[first] = last
        left.discard(first)
    return np.array([adjusted[i] for i in range(len(statistics))])


def test_adjusted_pvalues_are_those_of_the_step_down_over_the_same_redraws():
    y = (np.random.default_rng(5).random(N) < P + 0.2 * (X["site"] == "b") * (1.0 - P)).astype(int)
    sample = ct.predictions.Sample(ct.Bernoulli(P), y)
    null = ct.nulls.ConditionalMonteCarlo(99)
    omnibus = ct.estimators.Omnibus(features=X).resolve(sample.predictions)
    values = null.values(omnibus, sample, np.random.default_rng(1))
    tails = omnibus._tails(values)
    names = [basis.name for basis in omnibus.components[-1].numbers.bases]
    statistics = [
        np.logaddexp.reduce([tail + np.log(one.weight) for one, tail in tails if one.name == name]) for name in names
    ]
    outcome = null.outcome(omnibus, sample, np.random.default_rng(1))
    found = {one.name: one.adjusted for one in outcome.components}
    expected = np.maximum(plain_step_down(np.array(statistics)), outcome.pvalue)
    assert [found[name] for name in names] == pytest.approx(expected)
    assert all(found[name] is None for name in found if name not in names)


def test_a_result_says_given_which_feature_and_where():
    rng = np.random.default_rng(6)
    age, p = rng.normal(50.0, 15.0, 1500), rng.uniform(0.2, 0.8, 1500)
    y = (rng.random(1500) < p + 0.2 * (age > 65.0)).astype(int)
    result = ct.calibration_test(p, y, features={"age": age, "site": rng.choice(list("ab"), 1500)}, rng=1)
    first = result.given()[0]
    old = age >= np.quantile(age, 0.8, method="lower")
    assert first.name == "given age"
    assert first.words.startswith("class 1 occurs more often than claimed where age >= 6")
    assert first.words.endswith(f"({100 * y[old].mean():.3g} %, claimed {100 * p[old].mean():.3g} %)")
    assert f"Features       {first.name}: {first.words} (adjusted p = {first.adjusted:.3g})" in unfolded(result)
    said = f"; errors depend on features: {first.name}: {first.words} (adjusted p = {first.adjusted:.3g})"
    assert said in result.sentence()
    assert result.sentence().count(first.words) == 1
    assert result.to_dict()["components"][0]["adjusted"] == first.adjusted <= 0.005
    assert all("site" not in one.name or "age" in one.name for one in result.given())
    assert result.given(0.0005) == ()


WORDS = {
    "higher": (ct.Normal(np.zeros(1500), 1.0), lambda z, rows: z + 0.5 * rows, "outcomes are higher than predicted"),
    "larger": (ct.Normal(np.zeros(1500), 2.0), lambda z, rows: 2 * z * (1 + rows), "errors are larger than predicted"),
    "vectors": (
        ct.MvNormal(np.zeros((1500, 2)), 1.0),
        lambda z, rows: np.stack([z, np.roll(z, 1) - rows], axis=1),
        "outcomes in coordinate 1 are lower than predicted",
    ),
    "classes": (
        ct.Categorical(
            np.full((1500, 3), 1 / 3) + 1e-3 * np.random.default_rng(2).dirichlet(np.ones(3), 1500) - 1e-3 / 3
        ),
        lambda z, rows: np.where(rows & (z < 0.3), 2, (np.arange(1500) * 7) % 3),
        "class 2 occurs more often than claimed",
    ),
}


@pytest.mark.parametrize("name", WORDS)
def test_words_of_each_kind_of_outcomes(name):
    law, outcomes, words = WORDS[name]
    rng = np.random.default_rng(7)
    site, z = rng.choice(list("abc"), 1500), rng.normal(size=1500)
    result = ct.calibration_test(law, outcomes(z, site == "b"), features={"site": site}, n_resamples=99, rng=1)
    first = next(one for one in result.given() if one.name == "given site")
    assert first.words.startswith(words)
    assert "where site = b (" in first.words


def test_words_of_two_columns_are_of_thirds():
    rng = np.random.default_rng(8)
    p, x, z = rng.uniform(0.3, 0.7, 3000), *rng.uniform(0.0, 1.0, (2, 3000))
    y = rng.random(3000) < np.where((x < 1 / 3) & (z > 2 / 3), p + 0.3, p)
    result = ct.calibration_test(p, y, features={"x": x, "z": z}, n_resamples=99, rng=1)
    words = next(one for one in result.given() if one.name == "given x and z").words
    assert re.search(r"more often than claimed where x < 0\.3\d+ and z >= 0\.6\d+ \(", words), words


def test_features_by_definition():
    rng = np.random.default_rng(9)
    x, p = rng.normal(size=(300, 3)), rng.uniform(0.2, 0.8, 300)
    y = (rng.random(300) < p + 0.1 * np.sign(x[:, 0] * x[:, 1]) + 0.05 * x[:, 2]).astype(int)
    named = dict(zip("abc", x.T, strict=True))
    result = ct.OmnibusTest(n_resamples=39, features=named)(p, y, rng=1)
    omnibus = ct.estimators.Omnibus(features=named).resolve(ct.Bernoulli(p), 1)
    values = ct.nulls.ConditionalMonteCarlo(39).values(omnibus, as_sample(p, y), np.random.default_rng(1))
    tails = [(column.name, column.weight * np.exp(tail)) for column, tail in omnibus._tails(values)]

    def adjusted(names_of):
        sums = {one: sum(tail for name, tail in tails if name in names_of(one)) for one in "abc"}
        found, least = {}, rank(sum(tail for _, tail in tails))
        for i, one in enumerate(order := sorted("abc", key=lambda one: -sums[one][0])):
            most = np.max([sums[other][1:] for other in order[i:]], axis=0)
            least = found[one] = max(least, rank(np.append(sums[one][0], most)))
        return found

    def rank(sums):
        return np.count_nonzero(sums >= sums[0] - 1e-10 * abs(sums[0])) / sums.size

    pairs = {"a": ("given a and b", "given a and c"), "b": ("given a and b", "given b and c")}
    pairs["c"] = ("given a and c", "given b and c")
    own = {one: (f"given {one}", f"given {one} and the prediction") for one in "abc"}
    everything = {name for name, _ in tails}
    alone, rest = adjusted(own.get), adjusted(lambda one: everything - {*own[one], *pairs[one]})
    assert {one.name: (one.pvalue, one.without) for one in result.features} == {k: (alone[k], rest[k]) for k in "abc"}
    assert list(result.features) == sorted(result.features, key=lambda one: (one.pvalue, -one.without))


def test_features_that_act_together_are_those_without_which_nothing_is_found():
    rng = np.random.default_rng(10)
    x, p = rng.normal(size=(800, 3)), rng.uniform(0.2, 0.8, 800)
    y = (rng.random(800) < p + 0.15 * np.sign(x[:, 0] * x[:, 1])).astype(int)
    result = ct.calibration_test(p, y, features=dict(zip("abc", x.T, strict=True)), n_resamples=99, rng=1)
    found = {one.name: one for one in result.features}
    assert found["c"].without == 0.01 < 0.05 < min(found["a"].without, found["b"].without)
    assert "feature  adjusted p-value  adjusted, without it" in str(result)
    assert ct.results.CalibrationTestResult.from_dict(result.to_dict()).features == result.features
    assert ct.calibration_test(p, y, n_resamples=99, rng=1).features == ()


def test_nothing_is_named_where_nothing_is_rejected():
    result = ct.calibration_test(P, Y, features=X, n_resamples=99, rng=1)
    assert result.pvalue > 0.05
    assert result.given() == ()
    assert "Features       no error that depends on one or two of them is clear (smallest adjusted p = " in unfolded(
        result
    )
    assert "depend on features" not in result.sentence()
    assert all(one.adjusted is None or one.adjusted >= result.pvalue for one in result.components)


def test_words_of_errors_close_to_those_that_are_expected():
    assert _spread(1.21) == ("errors are larger than predicted", "1.1 predicted standard deviations")
    assert _spread(0.81) == ("errors are smaller than predicted", "0.9 predicted standard deviations")
    assert _mean("", 0.1) == ("outcomes are higher than predicted", "by 0.1 standard deviations on average")
    assert _mean(" of a", -0.1)[0] == "outcomes of a are lower than predicted"
    assert _event("it is right", 0.51, 0.5) == ("it is right more often than claimed", "51 %, claimed 50 %")
    assert _event("it is right", 0.49, 0.5)[0] == "it is right less often than claimed"


@pytest.mark.parametrize("n", [4, 5])
def test_words_are_of_five_rows(n):
    site = np.repeat(["a", "b"], n)
    words = words_of([Feature("site", site)], False, ct.Bernoulli(np.full(2 * n, 0.5)), (site == "a").astype(int))
    assert words == "class 1 occurs more often than claimed where site = a (100 %, claimed 50 %)" * (n == 5)


def _site(rng, n=1000):
    site = rng.choice(list("abc"), n)
    return Feature("site", site), site == "a"


def _temper(p, power):
    q = p ** np.reshape(power, (-1, 1))
    return q / q.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("with_prediction", [False, True])
@pytest.mark.parametrize("name", ["odds", "claims", "classes", "spread"])
def test_features_that_have_nothing_to_do_with_what_is_wrong_are_not_named(name, with_prediction, replications):
    rng, n_sets, named = np.random.default_rng(11), replications(60, 100), 0
    for _ in range(n_sets):
        site, _ = _site(rng)
        if name == "spread":
            law, y = ct.Normal(mean := rng.normal(size=1000), 0.5), mean + rng.standard_t(5, 1000)
        elif name == "classes":
            q = rng.dirichlet(np.ones(5), 1000)
            law, y = ct.Categorical(_temper(q, 2.0)), (q.cumsum(axis=1) < rng.random((1000, 1))).sum(axis=1)
        else:
            q = rng.beta(1.0, 4.0, 1000)
            p = q / (2.0 - q) if name == "odds" else _temper(np.stack([1 - q, q], axis=1), 2.0)[:, 1]
            law, y = ct.Bernoulli(p), (rng.random(1000) < q).astype(int)
        named += bool(words_of([site], with_prediction, law, y))
    assert named <= scipy.stats.binom.isf(1e-3, n_sets, 0.05)


def test_words_of_a_site_at_which_classes_are_less_sure_than_claimed():
    rng = np.random.default_rng(12)
    site, at = _site(rng, 2000)
    q = rng.dirichlet(np.ones(10), 2000)
    p = _temper(q, np.where(at, 2.0, 0.7))
    y = (q.cumsum(axis=1) < rng.random((2000, 1))).sum(axis=1)
    claimed, right = 100 * p.max(axis=1), 100 * (y == p.argmax(axis=1))
    here, elsewhere = (f"{right[one].mean():.3g} %, claimed {claimed[one].mean():.3g} %" for one in (at, ~at))
    words = words_of([site], False, ct.Categorical(p), y)
    assert (
        words == f"the predicted class is right less often than claimed where site = a ({here}; elsewhere {elsewhere})"
    )


def test_words_of_rare_events_are_about_the_event():
    rng = np.random.default_rng(13)
    site, at = _site(rng, 6000)
    q = rng.beta(1.0, 40.0, 6000)
    words = words_of([site], False, ct.Bernoulli(np.where(at, q / 2.5, q)), (rng.random(6000) < q).astype(int))
    assert words.startswith("class 1 occurs more often than claimed where site = a (")
    assert "elsewhere" not in words


def test_features_without_words_in_a_report():
    rng = np.random.default_rng(14)
    q = rng.beta(1.0, 4.0, 1000)
    features = {"x": rng.normal(size=1000), "z": rng.normal(size=1000)}
    result = ct.calibration_test(q / 3.0, rng.random(1000) < q, features=features, n_resamples=99, rng=1)
    found = result.given()
    assert [one.name for one in found if one.words] == []
    wrong = f"predictions are wrong {', '.join(one.name for one in found)}, but nowhere clearly more than elsewhere"
    assert f"Features       {wrong}: repair them, then test features again" in unfolded(result)
    assert "depend on features" not in result.sentence()
