"""The default test with weights of the observations."""

import numpy as np
import pytest
from contracts import FAMILIES, NOT_CENTRED, vector_ensemble
from scipy import stats

import caltest as ct
from caltest.estimators.combined.findings import findings_of
from caltest.estimators.scores import ResidualMean
from caltest.hstatistics.sums.grid import Grid
from caltest.hstatistics.sums.residuals import prediction_features, residual_means
from caltest.predictions.reductions.standard_scores import mean_square

MAKERS = [pytest.param(maker, id=family.__name__) for family, maker in FAMILIES.items()] + [
    pytest.param(vector_ensemble, id="vectors")
]


def sample_of(maker):
    if maker in NOT_CENTRED:
        pytest.skip("refused by the default test")
    return maker()


def weights_for(n, seed=3):
    return np.random.default_rng(seed).exponential(size=n)


def normalised(w):
    return w * (w.sum() / (w @ w))


@pytest.mark.every(12)
@pytest.mark.parametrize("maker", MAKERS)
def test_equal_weights_are_none_and_only_ratios_matter(maker):
    sample = sample_of(maker)
    p, y = sample.predictions, sample.predictions.sample(5)
    n, w = len(sample), weights_for(len(sample))
    plain = ct.calibration_test(p, y, n_resamples=9, rng=4)
    for size in (0.3, 1e-200):
        equal = ct.calibration_test(p, y, n_resamples=9, rng=4, weights=np.full(n, size))
        assert (equal.pvalue, equal.estimate, equal.components) == (plain.pvalue, plain.estimate, plain.components)
        assert str(equal) == str(plain)
    weighted = ct.calibration_test(p, y, n_resamples=9, rng=4, weights=w)
    again = ct.calibration_test(p, y, n_resamples=9, rng=4, weights=1e5 * w / 3)
    assert again.pvalue == weighted.pvalue
    assert again.estimate == pytest.approx(weighted.estimate, rel=1e-9, abs=1e-14)
    assert {one.name for one in weighted.components} == {one.name for one in plain.components}
    assert weighted.hypothesis != plain.hypothesis
    assert "weights w are functions of the predictions" in weighted.assumes
    assert any(f"as much evidence as {w.sum() ** 2 / (w @ w):.3g} observations" in note for note in weighted.notes)


@pytest.mark.every(4)
@pytest.mark.usefixtures("without_findings")
@pytest.mark.parametrize("maker", MAKERS)
def test_rows_of_weight_0_are_left_out(maker):
    sample = sample_of(maker)
    p, y = sample.predictions, np.asarray(sample.predictions.sample(5))
    if p.longest < np.inf:
        return  # What is beyond the last time is drawn for all rows, also those that are left out.
    w = weights_for(len(sample))
    w[[1, 4]] = 0.0
    kept = np.flatnonzero(w)
    result = ct.calibration_test(p, y, n_resamples=39, rng=4, weights=w)
    other = ct.calibration_test(p.take(kept), y[kept], n_resamples=39, rng=4, weights=w[kept])
    assert (result.pvalue, result.estimate, result.components) == (other.pvalue, other.estimate, other.components)
    assert f"2 of {len(sample)} rows have weight 0 and are left out" in result.notes
    alone = ct.calibration_test(p, y, n_resamples=39, rng=4, weights=(w > 0).astype(int))
    assert alone.pvalue == ct.calibration_test(p.take(kept), y[kept], n_resamples=39, rng=4).pvalue


def expected_values(component, p, y, w):
    """The numbers of a component for each of the targets (B, n), one by one."""
    if component.name == "kernel error":
        return [[ct.estimators.WeightedSKCE(one, w)(p, t) for t in y] for one in component.numbers.args[0]]
    if component.name == "likelihood ratio":
        alternatives = p.law.alternatives()
        terms = [(alternatives.log_ratio_terms(t) * w).sum(axis=1) + np.log(alternatives.weights) for t in y]
        return [[np.logaddexp.reduce(one) for one in terms]]
    if component.name in ("log loss", "Brier score"):
        estimator = ct.estimators.ExcessLogScore() if component.name == "log loss" else ct.estimators.ExcessBrierScore()
        scores = [[estimator(p.take([i]), t[[i]]) for i in range(len(p))] for t in y]
        return [np.average(scores, axis=1, weights=w)]
    if component.name == "kernel error of residuals":
        return None
    if component.name == "faults":
        return p.faults(w).rows(y)
    z = p.law.standard_scores(y).reshape(len(y), len(p), -1)
    if component.name == "mean residual":
        mean = np.stack([np.average(one, axis=0, weights=w) for one in z])
        return [w.sum() ** 2 / (w @ w) * np.square(mean).sum(axis=1) - z.shape[2]]
    assert component.name == "spread of residuals"
    return [[np.average(np.square(one).mean(axis=1), weights=w) - 1.0 for one in z]]


@pytest.mark.every(5)
@pytest.mark.parametrize("maker", MAKERS)
def test_every_component_is_a_weighted_mean(maker):
    sample = sample_of(maker)
    p, w = sample.predictions, normalised(weights_for(len(sample)))
    omnibus = ct.estimators.Omnibus(weights=3.0 * w).resolve(p)
    y = np.asarray(p.redraw(2, 3))
    parts = omnibus.parts(omnibus.values(p, y))
    for component, part in zip(omnibus.components, parts, strict=True):
        expected = expected_values(component, p, y, w)
        if expected is not None:
            assert part == pytest.approx(np.asarray(expected), rel=1e-8, abs=1e-10), component.name


def test_residual_kernel_with_weights_by_pairs():
    """The sum over pairs, with a kernel of residuals on the landmarks itself: features are exact for few values."""
    rng = np.random.default_rng(1)
    p = ct.Normal(rng.random(12), 1.0)
    z, w = rng.normal(size=(4, 12)), rng.random(12)
    psi = prediction_features(p.default_kernel().resolve(p).prediction_kernel, p)
    everything = residual_means(psi, (1.0,), z, w)[0]
    pairs = [(i, j) for i in range(12) for j in range(i)]
    alone = [residual_means(psi, (1.0,), z, np.isin(np.arange(12), pair).astype(float))[0] for pair in pairs]
    products = np.array([w[i] * w[j] for i, j in pairs])
    assert everything == pytest.approx(products @ np.array(alone) / products.sum(), rel=1e-9)


def test_residual_kernels_of_several_bandwidths_on_a_grid_are_those_of_each(monkeypatch):
    """Nodes are close enough for the smallest of them."""
    rng = np.random.default_rng(3)
    p = ct.Normal(rng.random(12), 1.0)
    z, w = rng.normal(size=(4, 12)), rng.random(12)
    psi, factors = prediction_features(p.default_kernel().resolve(p).prediction_kernel, p), (0.1, 1.0, 3.0)
    alone = [residual_means(psi, (factor,), z, w)[0] for factor in factors]
    monkeypatch.setattr(Grid, "is_worth", lambda *_: True)
    together = residual_means(psi, factors, z, w)
    assert together == pytest.approx(np.array(alone), abs=1e-5)


@pytest.mark.parametrize("family", ["classes", "numbers"])
def test_kernels_of_low_rank_have_weights(family, monkeypatch):
    rng = np.random.default_rng(2)
    p = ct.Categorical(rng.dirichlet(np.ones(6), 70)) if family == "classes" else ct.Normal(rng.random(70), 0.3)
    y, w = np.asarray(p.sample(1, 5)), weights_for(70)
    estimator = ct.LowRankSKCE(p.default_kernel(), rank=70).resolve(p)
    if family == "classes":
        exact = [ct.estimators.WeightedSKCE(estimator.kernel, w)(p, t) for t in y]
        assert estimator.estimates(p, y, w) == pytest.approx(exact, rel=1e-6)
    equal = estimator.estimates(p, y, np.full(70, 0.2))
    assert equal == pytest.approx(estimator.estimates(p, y), rel=1e-9, abs=1e-15)
    pairs = [(i, j) for i in range(70) for j in range(i)][::97]
    for i, j in pairs[:3]:
        chosen = np.isin(np.arange(70), (i, j)).astype(float)
        some = estimator.estimates(p.take([i, j]), y[:, [i, j]])
        assert estimator.estimates(p, y, chosen) == pytest.approx(some, rel=1e-7, abs=1e-12)
    monkeypatch.setattr("caltest.estimators.combined.components.MANY_CLASSES", 10)
    monkeypatch.setattr("caltest.estimators.combined.components.MANY_NUMBERS", 10)
    low = ct.calibration_test(p, y[0], n_resamples=19, rng=1, weights=w)
    ranks = "64 and 128" if family == "classes" else "64"
    assert any(f"kernels have rank {ranks} in" in note for note in low.notes)
    # What is printed is the error over all pairs.
    weighted = ct.estimators.WeightedSKCE(p.default_kernel(), w)(p, y[0])
    assert low.estimate == pytest.approx(weighted, rel=1e-9)
    assert low.estimate != pytest.approx(ct.SKCE(p.default_kernel())(p, y[0]), rel=1e-3)


@pytest.mark.parametrize("dimension", [1, 3])
def test_moments_of_residuals_with_weights(dimension):
    rng = np.random.default_rng(4)
    z, w = rng.normal(size=(2, 9, dimension)).squeeze(), rng.random(9)
    vectors = z.reshape(2, 9, dimension)
    mean = (vectors * w[:, None]).sum(axis=1) / w.sum()
    expected = w.sum() ** 2 / (w**2).sum() * (mean**2).sum(axis=1) - dimension
    assert ResidualMean().moments(z, w) == pytest.approx(expected, rel=1e-12)
    assert ResidualMean().moments(z, np.full(9, 0.4)) == pytest.approx(ResidualMean().moments(z), rel=1e-12)
    expected = ((vectors**2).mean(axis=2) * w).sum(axis=1) / w.sum() - 1.0
    assert mean_square(z, w) - 1.0 == pytest.approx(expected, rel=1e-12)


@pytest.mark.every(3)
@pytest.mark.statistical
@pytest.mark.parametrize("kind", ["classes", "binary", "numbers"])
@pytest.mark.usefixtures("without_findings")
def test_size_and_power_with_weights(kind, replications):
    """At most 5 % of calibrated data sets; a fault of the rows that count is found where equal weights miss it."""
    runs, rejected, found, missed = replications(25, 2000), 0, 0, 0
    for run in range(runs):
        rng = np.random.default_rng([run, 11])
        p = {
            "classes": lambda rng=rng: ct.Categorical(rng.dirichlet(np.ones(3), 40)),
            "binary": lambda rng=rng: ct.Bernoulli(rng.random(40)),
            "numbers": lambda rng=rng: ct.Normal(rng.random(40), 0.1),
        }[kind]()
        y, w = np.asarray(p.sample(rng)), rng.pareto(1.0, 40) + 0.01
        rejected += ct.calibration_test(p, y, n_resamples=19, rng=run, weights=w).pvalue <= 0.05
        if kind == "binary" and run < 15:
            shown = np.where(np.arange(40) < 20, 1 - p.probability, p.probability)
            w = np.where(np.arange(40) < 20, 100.0, 1.0)
            found += ct.calibration_test(shown, y, n_resamples=99, rng=run, weights=w).pvalue <= 0.05
            missed += ct.calibration_test(shown, y, n_resamples=99, rng=run, weights=1 / w).pvalue <= 0.05
    assert rejected <= stats.binom(runs, 0.05).ppf(0.999)
    if kind == "binary":
        assert found >= 12
        assert missed <= 8


def test_weights_change_the_verdict_of_named_tests_and_kernels():
    p, y = ct.datasets.load_digits_predictions()["neural network"]
    kernel = p.default_kernel()
    w = weights_for(899)
    named = ct.OmnibusTest(kernel.resolve(p), 99, weights=w)(p, y, rng=1)
    result = ct.calibration_test(p, y, n_resamples=99, rng=1, weights=w)
    assert (named.pvalue, named.estimate) == (result.pvalue, result.estimate)
    alone = ct.calibration_test(p, y, n_resamples=99, rng=1, weights=w, kernel=kernel)
    assert alone.estimate == pytest.approx(ct.estimators.WeightedSKCE(kernel, w)(p, y), rel=1e-12)
    assert result.estimate == pytest.approx(alone.estimate, rel=1e-9)
    assert alone.test == "MonteCarloTest"
    equal = ct.calibration_test(p, y, n_resamples=99, rng=1, weights=[2] * 899, kernel=kernel)
    assert equal.pvalue == ct.calibration_test(p, y, n_resamples=99, rng=1, kernel=kernel).pvalue
    read = ct.results.CalibrationTestResult.from_dict(result.to_dict())
    assert str(read) == str(result)


def test_statistics_with_other_weights_are_not_equal():
    w = weights_for(9)
    assert ct.estimators.Omnibus(weights=w) == ct.estimators.Omnibus(weights=w.tolist())
    assert hash(ct.estimators.Omnibus(weights=w)) == hash(ct.estimators.Omnibus(weights=w.tolist()))
    assert ct.estimators.Omnibus(weights=w) != ct.estimators.Omnibus(weights=w[::-1])
    assert ct.estimators.Omnibus(weights=w) != ct.estimators.Omnibus()
    assert ct.estimators.Omnibus(weights=np.ones(9)) == ct.estimators.Omnibus()


def test_a_weight_is_not_a_count():
    """Two equal rows say more than one of weight 2: likelihood ratios and p-values count them as two."""
    rng = np.random.default_rng(3)
    p = rng.random(30)
    y = (rng.random(30) < p**1.5).astype(int)
    counts = np.r_[np.full(15, 3), np.ones(15, dtype=int)]
    weighted = ct.calibration_test(p, y, n_resamples=999, rng=1, weights=counts)
    repeated = ct.calibration_test(np.repeat(p, counts), np.repeat(y, counts), n_resamples=999, rng=1)
    assert weighted.pvalue > 2.0 * repeated.pvalue
    assert (weighted.n, repeated.n) == (30, 60)


def test_words_use_weights():
    p = np.tile([0.3, 0.7], (60, 1))
    y = np.repeat([0, 1], 30)
    sample = ct.predictions.Sample(ct.Categorical(p), y)
    w = normalised(np.repeat([4.0, 1.0], 30))
    words = findings_of(sample, w)[0].words
    assert words.startswith("class 1 occurs less often than predicted, 20 % of the weight instead of 70 %: claims ")
    assert findings_of(sample, w[::-1])[0].gain < 0.0
    shifted = ct.predictions.Sample(ct.Normal(np.zeros(40), 1.0), np.repeat([1.0, -1.0], 20))
    assert not any(one.kind == "shift" and one.gain > 0.0 for one in findings_of(shifted))
    (shift,) = [one for one in findings_of(shifted, normalised(np.repeat([9.0, 1.0], 20))) if one.kind == "shift"]
    assert shift.words.startswith("outcomes are above what was predicted, by 0.8 (")
    assert shift.estimate == pytest.approx(0.8, rel=1e-4)


def test_rows_are_those_of_the_user():
    p = np.random.default_rng(7).dirichlet(np.ones(3), 30)
    p[20] = [0.0, 0.5, 0.5]
    y = np.argmax(p, axis=1)
    y[20] = 0
    w = np.ones(30)
    w[:5] = 0.0
    result = ct.calibration_test(p, y, n_resamples=9, rng=1, weights=w)
    assert "(row 20: class 0)" in result.finding.words
    assert any("1 of 25 outcomes had predicted probability 0 (row 20)" in note for note in result.notes)
    w[20] = 0.0
    assert ct.calibration_test(p, y, n_resamples=9, rng=1, weights=w).pvalue > 0.0


def test_groups_of_weighted_observations():
    rng = np.random.default_rng(5)
    p = ct.Categorical(rng.dirichlet(np.ones(3), 60))
    y, w, groups = p.sample(rng), weights_for(60), np.arange(60) % 2
    for estimator in (ct.estimators.Omnibus(weights=w), ct.estimators.WeightedSKCE(p.default_kernel(), w)):
        result = ct.GroupCalibrationTest(estimator, 99)(p, y, groups, rng=1)
        for g in (0, 1):
            rows = np.flatnonzero(groups == g)
            alone = ct.estimators.WeightedSKCE(p.default_kernel().resolve(p), w[rows])(p.take(rows), y[rows])
            assert result[str(g)].estimate == pytest.approx(alone, rel=1e-9)
    with pytest.raises(ValueError, match="weights: got 61 values, wanted 60"):
        ct.GroupCalibrationTest(ct.estimators.Omnibus(weights=np.append(w, 1.0)), 9)(p, y, groups, rng=1)


@pytest.mark.every(4)
@pytest.mark.parametrize("maker", MAKERS)
def test_likelihood_ratios_of_groups_are_those_of_their_members(maker):
    sample = sample_of(maker)
    p, n = sample.predictions, len(sample)
    omnibus = ct.estimators.Omnibus().resolve(p)
    groups = np.arange(n) >= n // 2
    y = np.asarray(p.redraw(3, 4))
    parts = np.split(ct.estimators.GroupMaximum(omnibus, groups).values(p, y), 2)
    rows = np.flatnonzero(groups)
    assert parts[1] == pytest.approx(omnibus.values(p.take(rows), y[:, rows]), rel=1e-9, abs=1e-12)
    if p.law.alternatives() is not None:
        expected = ct.estimators.LogLikelihoodRatio().estimates(p.take(rows), y[:, rows])
        place = [component.name for component in omnibus.components].index("likelihood ratio")
        assert omnibus.parts(parts[1])[place][0] == pytest.approx(expected, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("weights", [[1.0, 2.0], [1.0, -1.0, 2.0], [0.0, 0.0, 0.0], [1.0, np.nan, 1.0], [1, np.inf, 1]])
def test_bad_weights(weights):
    with pytest.raises(ValueError, match="weights: got"):
        ct.calibration_test([0.2, 0.5, 0.7], [0, 1, 1], weights=weights, rng=1)


@pytest.mark.parametrize("weights", ["abc", 2.0, [[1.0, 1.0]] * 3, ["a", "b", "c"], [None, 1.0, 1.0]])
def test_weights_of_another_form(weights):
    with pytest.raises((ValueError, TypeError), match="weights: got"):
        ct.calibration_test([0.2, 0.5, 0.7], [0, 1, 1], weights=weights, rng=1)


def test_weights_that_leave_too_little():
    with pytest.raises(ValueError, match="wanted at least 2 for the unbiased SKCE with weights above 0"):
        ct.calibration_test([0.2, 0.5, 0.7], [0, 1, 1], weights=[0, 1, 0], rng=1)
    with pytest.raises(ValueError, match="weights: got 0 at row 1, wanted numbers above 0; leave such rows out"):
        ct.OmnibusTest(weights=[1.0, 0.0, 2.0])


def test_one_weight_may_be_much_larger_than_the_others():
    rng = np.random.default_rng(6)
    p = ct.Categorical(rng.dirichlet(np.ones(3), 30))
    w = np.r_[1e12, np.ones(29)]
    result = ct.calibration_test(p, p.sample(1), n_resamples=39, rng=1, weights=w)
    assert 0.0 < result.pvalue <= 1.0
    assert np.isfinite(result.estimate)


def test_weights_that_may_be_counts_are_asked_about():
    """A table of 20 rows with 10,000 outcomes, half as many as predicted: p = 0.06 with counts as weights."""
    claims, which = np.repeat(np.linspace(0.05, 0.95, 10), 2), np.tile([1, 0], 10)
    counts = np.rint(1000 * np.where(which == 1, 0.5 * claims, 1.0 - 0.5 * claims)).astype(int)
    by_weight = ct.calibration_test(claims, which, weights=counts, n_resamples=99, rng=1)
    assert "First check" in str(by_weight)
    assert "to be repeated by np.repeat instead?" in " ".join(by_weight.notes)
    repeated = ct.calibration_test(np.repeat(claims, counts), np.repeat(which, counts), n_resamples=99, rng=1)
    assert repeated.pvalue == 0.01
    for others in (0.5 * counts + 0.1, np.minimum(counts, 1), 2 * np.ones(20)):
        result = ct.calibration_test(claims, which, weights=others, n_resamples=19, rng=1)
        assert "np.repeat" not in str(result)


def test_many_rows_of_equal_weight_are_a_whole_number():
    w = np.repeat([1.0, 1.1], 2000)
    result = ct.calibration_test(np.full(4000, 0.3), np.arange(4000) % 10 < 3, weights=w, n_resamples=19, rng=1)
    assert any("as much evidence as 3991 observations" in note for note in result.notes)
