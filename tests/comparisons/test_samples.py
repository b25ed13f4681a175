"""Comparisons of models of times, some of them censored: the levels F(time) are what is compared."""

import numpy as np
import pytest
from printed import unfolded
from scipy import stats

import caltest as ct

GRID = np.linspace(0.2, 40.0, 80)


def data(seed, scale=1.0, n=100):
    """Two models that know different parts of the logarithm of a time, and about a third of the times censored."""
    rng = np.random.default_rng(seed)
    known = rng.normal(size=(2, n))
    time, end = np.exp(known.sum(axis=0) + rng.normal(size=n)), rng.exponential(4.0, n)
    scales = scale * np.sqrt(2.0) * np.ones(n)
    models = {name: ct.LogNormal(one, scales) for name, one in zip("AB", known, strict=True)}
    return models, ct.Censored(np.minimum(time, end), time <= end)


def curves(law):
    return ct.predictions.SurvivalCurve(GRID, 1.0 - law.cdf(GRID[:, None]).T)


def test_reports_say_that_levels_are_compared():
    models, times = data(1, scale=0.5)
    table, pairs = ct.compare_models(models, times, n_resamples=39, rng=1), ct.compare_pairs(models, times)
    assert "what is tested is F(time)" in unfolded(str(table))
    assert "what is tested is F(time)" in unfolded(str(pairs))
    # The distance of levels from 1/2 is no score: a model that is too wide has a small one.
    assert [row.score for row in table.rows] == [None, None]
    assert table.table()[0] == ["model", "% off", "p", "Holm", "estimate", "95 % interval"]
    assert table.remarks()[0].startswith("% off for A: 95 % interval for how far events ")
    paired = ct.PairedSKCETest()(models["A"], models["B"], times)
    assert paired.pvalue == pytest.approx(pairs.rows[0].pvalue)


@pytest.mark.usefixtures("without_findings")
def test_the_same_model_twice_has_the_same_numbers():
    models, times = data(2)
    rows = ct.compare_models({"one": models["A"], "two": models["A"]}, times, n_resamples=39, rng=1).rows
    assert rows[0].pvalue == rows[1].pvalue
    assert ct.compare_pairs({"one": models["A"], "two": models["A"]}, times).pvalue == 1.0


def test_survival_curves_and_times_that_are_all_seen():
    models, times = data(3, n=60)
    of_curves = {name: curves(law) for name, law in models.items()}
    assert ct.compare_models(of_curves, times, n_resamples=19, rng=1).n == 60
    assert ct.compare_pairs(of_curves, np.asarray(times.time)).n == 60


def test_other_families_have_a_way_out():
    models, times = data(4)
    gamma = ct.Gamma(np.full(100, 2.0), np.ones(100))
    with pytest.raises(TypeError, match=r"models\['b'\].*got Gamma.*of other families take draws, ct.Ensemble"):
        ct.compare_models({"a": models["A"], "b": gamma}, times)
    with pytest.raises(TypeError, match=r"got Gamma.*of other families take draws, ct.Ensemble"):
        ct.PairedSKCETest()(models["A"], gamma, times)
    with pytest.raises(TypeError, match=r"give curves of all models at the same times, ct.predictions.SurvivalCurve"):
        ct.compare_pairs({"a": curves(models["A"]), "b": gamma}, times)
    drawn = {name: ct.Ensemble(law.to_ensemble(30, rng=1).members) for name, law in (("a", models["A"]), ("b", gamma))}
    assert ct.compare_pairs(drawn, times).n == 100


@pytest.mark.statistical
def test_size_and_power_of_tests_of_each_model(replications, without_findings):
    """At the 5 % level 5.0 % of 400 sets of calibrated predictions, and all of predictions half as wide."""
    number, wrong = replications((16, 4), (1000, 20))
    pvalues = np.array([ct.compare_models(*data([5, i]), n_resamples=39, rng=i).rows[0].pvalue for i in range(number)])
    for alpha in (0.05, 0.5):
        low, high = stats.binom.ppf([1e-3, 1.0 - 1e-3], number, alpha)
        assert low <= (pvalues <= alpha).sum() <= high
    for i in range(wrong):
        assert ct.compare_models(*data([6, i], scale=0.5), n_resamples=39, rng=i).pvalue <= 0.05


@pytest.mark.statistical
def test_size_and_power_of_pairs(replications):
    """Both half as wide: 1.8 % of 400 sets. One of them right: it is called the better one in 82 %."""
    number, rejected, found = replications(12, 1000), 0, 0
    for i in range(number):
        (right, _), (wrong, times) = data([5, i]), data([5, i], scale=0.5)
        rejected += ct.compare_pairs(wrong, times).pvalue <= 0.05
        row = ct.compare_pairs({"A": right["A"], "B": wrong["B"]}, times).rows[0]
        found += row.pvalue <= 0.05 and row.better == "A"
    assert rejected <= stats.binom.ppf(1.0 - 1e-3, number, 0.05)
    assert found >= stats.binom.ppf(1e-3, number, 0.8)


@pytest.mark.parametrize("compare", [ct.compare_models, ct.compare_pairs])
def test_draws_of_two_families_are_refused_by_the_name_of_the_model(compare):
    mean = np.random.default_rng(1).normal(size=50)
    first, second = (law.to_ensemble(5, rng=1) for law in (ct.Normal(mean, 1.0), ct.Laplace(mean, 1.0)))
    with pytest.raises(TypeError, match=r"models\['b'\].*got Laplace predictions.*ct\.Ensemble\(p\.to_ensemble"):
        compare({"a": first, "b": second}, mean)
    with pytest.raises(ValueError, match=r"models\['b'\].*got members that are exchangeable"):
        compare({"a": first, "b": ct.Ensemble(second.members)}, mean)
