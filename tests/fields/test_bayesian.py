"""Simulation-based calibration: sizes, what it finds and how, and what it refuses."""

import json
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from printed import unfolded
from samples import inference_data
from scipy import stats

import caltest as ct
from caltest.fields.bayesian import calibration, loo_pit, simulation_based_calibration
from caltest.fields.bayesian.calibration import RankLaw, _words, normal_scores, ranks_of
from caltest.fields.bayesian.draws import _autocorrelation_time, posteriors_of


def right(rng, n=40, m=9, discrete=False):
    """Draws and truths of two correlated parameters that are exchangeable."""
    values = rng.normal(size=(n, 1, 2)) + rng.normal(size=(n, m + 1, 2)) @ [[1.0, 0.7], [0.0, 0.7]]
    values = np.round(values) if discrete else values
    return values[:, 1:], values[:, 0]


def correlated(rho, size, rng):
    return rng.multivariate_normal([0.0, 0.0], [[1.0, rho], [rho, 1.0]], size)


@pytest.mark.parametrize("discrete", [False, True])
def test_sizes(discrete, replications):
    sets = replications(20, 40)
    found = np.array(
        [
            (one.pvalue, one.ranks_pvalue, one.joint_pvalue)
            for seed in range(sets)
            for one in [
                simulation_based_calibration(
                    *right(np.random.default_rng(seed), discrete=discrete), n_resamples=19, rng=seed
                )
            ]
        ]
    )
    for alpha in (0.1, 0.5):
        rejected = (found <= alpha).sum(axis=0)
        low, high = stats.binom(sets, alpha).ppf([0.005, 0.995])
        assert (rejected <= high).all()
        assert rejected[1] >= low


def test_the_mean_rank_is_a_share_of_all_values():
    draws = [[[0.1], [0.2], [0.3]], [[1.0], [3.0], [2.0]], [[5.0], [4.0], [7.0]]]
    row = simulation_based_calibration(draws, [0.25, 4.0, 4.5], n_resamples=19, rng=1).rows[0]
    assert row.ranks == (2, 3, 1)
    assert row.mean_rank == pytest.approx(np.mean([2.5, 3.5, 1.5]) / 4.0)
    result = simulation_based_calibration(draws, [0.25, 4.0, 4.5], n_resamples=19, rng=1)
    assert result.pvalue_kind == "exact"
    assert ", exact" in str(result)


def test_right_margins_with_a_wrong_correlation():
    rng = np.random.default_rng(3)
    result = simulation_based_calibration(
        rng.normal(size=(100, 50, 2)), correlated(0.7, 100, rng), n_resamples=399, rng=1
    )
    assert result.ranks_pvalue > 0.05
    assert result.joint_pvalue <= 0.005
    assert result.pvalue == 2.0 * result.joint_pvalue
    assert result.pvalue_kind == "bound"
    assert f"(p <= {result.pvalue:.3g}); ranks" in result.sentence()
    assert f"{result.pvalue:.3g}, upper bound, twice the smaller of ranks and kernel test" in str(result)
    assert "together" in result.verdict()
    assert "no ranks were rejected" in result.sentence()


@pytest.mark.every(3)
@pytest.mark.parametrize(
    ("scale", "shift", "words"),
    [
        (0.5, 0.0, "posteriors too narrow"),
        (2.0, 0.0, "posteriors too wide"),
        (1.0, 0.7, "draws too high"),
        (1.0, -0.7, "draws too low"),
        (1.0, 2.5, "draws too high"),
        (1.0, -2.5, "draws too low"),
        (0.5, 0.3, "posteriors too narrow, draws too high"),
        (0.5, -0.4, "posteriors too narrow, draws too low"),
    ],
)
def test_words(scale, shift, words):
    rng = np.random.default_rng(4)
    draws = rng.normal(size=(80, 30, 2))
    draws[..., 1] = scale * draws[..., 1] + shift
    result = simulation_based_calibration(draws, rng.normal(size=(80, 2)), n_resamples=99, rng=1)
    assert [one.name for one in result.rejected()] == ["parameter 1"]
    assert result.rows[1].finding == words
    assert result.verdict() == f"posteriors are wrong at the 5 % level (parameter 1: {words})"


def test_ranks_without_bias_and_spread_are_uneven_in_another_way():
    assert _words(np.tile([10, 35, 50, 65, 90], 16), 100) == "uneven in another way"
    assert _words(np.full(80, 50), 100) == "posteriors too wide"


@pytest.mark.parametrize("seed", range(5))
def test_the_shape_of_draws_is_named(seed):
    """Of gamma laws and of two modes, with the mean and the spread of the posteriors."""
    rng = np.random.default_rng(seed)
    truths, shape = rng.normal(size=500), (500, 99)
    skewed = (rng.gamma(2.0, 1.0, shape) - 2.0) / np.sqrt(2.0)
    two_modes = 0.9 * rng.choice([-1.0, 1.0], shape) + np.sqrt(0.19) * rng.normal(size=shape)
    for draws, words in (
        (skewed, "draws skewed, their lower tail too short"),
        (-skewed, "draws skewed, their upper tail too short"),
        (two_modes, "tails of draws too short"),
        (0.5 * rng.normal(size=shape), "posteriors too narrow"),
    ):
        assert _words((draws < truths[:, None]).sum(axis=1), 99) == words


def test_parameters_that_are_wrong_together_are_not_said_to_be_right_by_themselves():
    rng = np.random.default_rng(1)
    truths = rng.multivariate_normal([0.0, 0.0], [[1.0, 0.8], [0.8, 1.0]], 100)
    result = simulation_based_calibration(rng.normal(size=(100, 99, 2)), truths, n_resamples=99, rng=1)
    assert not result.rejected()
    words = "the parameters together; ranks of single ones do not show it"
    assert result.verdict() == f"posteriors are wrong at the 5 % level ({words})"
    assert "Next           calibration_test(Ensemble(draws), truths) names correlations that are wrong" in unfolded(
        result
    )
    alone = simulation_based_calibration(0.3 * rng.normal(size=(100, 99, 2)), truths, n_resamples=99, rng=1)
    assert "Next  " not in str(alone)


@pytest.mark.parametrize(("m", "places"), [(3, [0, 1, 2]), (20, range(20)), (50, range(2, 50, 5))])
def test_the_joint_test_takes_draws_at_equal_distances(m, places, monkeypatch):
    monkeypatch.setattr(calibration, "KEPT", 20 if m <= 20 else 10)
    pools = np.random.default_rng(2).normal(size=(12, m + 1, 2))
    scores = normal_scores(pools)
    kept = ct.Ensemble(scores[:, list(places)])
    expected = ct.MonteCarloTest(ct.SKCE(kept.default_kernel()), n_resamples=99)(kept, scores[:, -1], rng=1)
    assert calibration._joint(pools, 99, 1) == expected.pvalue


def test_ranks_are_rejected_only_if_the_posteriors_are():
    """The p-value is twice that of the ranks, where the kernel test finds nothing."""
    rng = np.random.default_rng(4)
    result = simulation_based_calibration(rng.normal(size=(80, 30, 2)), rng.normal(size=(80, 2)), rng=1)
    level = 1.5 * result.ranks_pvalue
    assert result.joint_pvalue > level
    assert result.verdict(level).startswith("posteriors are not rejected")
    assert result.rejected(level) == ()
    assert result.rejected(1.2 * result.pvalue)


def test_draws_that_ignore_data_are_found_by_the_likelihood():
    """The prior in place of the posterior has the right ranks, for parameters."""
    rng = np.random.default_rng(5)
    truths = rng.normal(size=100)
    data = truths + 0.5 * rng.normal(size=100)

    def likelihood(theta, y):
        return stats.norm.logpdf(y, theta["mu"], 0.5)

    prior = {"mu": rng.normal(size=(100, 40))}
    posterior = {"mu": 0.8 * data[:, None] + np.sqrt(0.2) * rng.normal(size=(100, 40))}
    settings = {"quantities": {"likelihood": likelihood}, "data": data, "rng": 1}
    wrong = simulation_based_calibration(prior, {"mu": truths}, **settings)
    assert wrong.rejected()[0].name == "likelihood"
    assert wrong.rows[1].adjusted == 0.001 < wrong.rows[0].pvalue
    assert simulation_based_calibration(posterior, {"mu": truths}, **settings).pvalue > 0.05


def test_surprises_are_tails_of_binomial_laws():
    law = RankLaw.of(7, 4)
    for i, k in enumerate([1, 2, 3, 4]):
        assert law.points[i] == k
        known = stats.binom(7, k / 5.0)
        for x in range(8):
            tail = min(1.0, 2.0 * min(known.cdf(x), known.sf(x - 1)))
            assert law.surprises[i, x] == pytest.approx(-np.log(tail), rel=1e-12, abs=1e-12)
    ranks = np.array([[0, 4], [0, 1], [2, 3]])
    np.testing.assert_array_equal(RankLaw.of(3, 4).counts(ranks), [[2, 0], [2, 1], [3, 1], [3, 2]])


def test_band_says_what_p_values_say():
    rng = np.random.default_rng(6)
    for shift in np.linspace(0.0, 0.6, 8):
        result = simulation_based_calibration(rng.normal(size=(60, 30)) + shift, rng.normal(size=60), rng=1)
        shares = np.asarray(result.rows[0].shares)
        outside = ((shares < result.lowest) | (shares > result.highest)).any()
        assert outside == (result.pvalue <= 0.05)


def test_ranks_break_ties_at_random():
    ranks = np.stack([ranks_of(np.zeros((2, 5)), np.random.default_rng(seed))[0] for seed in range(400)])
    assert (np.sort(ranks, axis=1) == np.arange(5)).all()
    assert stats.chisquare(np.bincount(ranks[:, -1])).pvalue > 0.001


def chains(n, c, m, share, rng):
    x = np.empty((n, c, m))
    x[..., 0] = rng.normal(size=(n, c))
    for t in range(1, m):
        x[..., t] = share * x[..., t - 1] + np.sqrt(1.0 - share**2) * rng.normal(size=(n, c))
    return x


def test_chains_are_thinned():
    rng = np.random.default_rng(7)
    draws, truths = chains(60, 1, 300, 0.8, rng)[:, 0], rng.normal(size=60)
    result = simulation_based_calibration(draws, truths, n_resamples=99, rng=1)
    assert 7 <= result.thin <= 11  # (1 + 0.8) / (1 - 0.8) = 9
    assert result.n_draws == len(range(0, 300, result.thin))
    assert "autocorrelated" in result.notes[0]
    assert "leaves" in simulation_based_calibration(draws, truths, thin=1, n_resamples=19, rng=1).notes[0]
    twice = simulation_based_calibration(chains(60, 1, 300, 0.3, rng)[:, 0], truths, n_resamples=19, rng=1)
    assert twice.thin == 2  # 1.3 / 0.7 = 1.9
    assert "one in 2 was kept" in twice.notes[0]
    independent = simulation_based_calibration(rng.normal(size=(60, 300)), truths, n_resamples=19, rng=1)
    assert (independent.thin, independent.notes) == (1, ())
    assert "each with 1 draw, one in 99 of the chain" in str(
        simulation_based_calibration(rng.normal(size=(60, 99)), truths, thin=99, n_resamples=19, rng=1)
    )


def test_mappings_and_objects_of_arviz_are_the_same_as_arrays():
    arviz, rng = pytest.importorskip("arviz"), np.random.default_rng(8)
    draws, truths = rng.normal(size=(5, 2, 30, 3)), rng.normal(size=(5, 3))
    named = {"mu": truths[:, 0], "beta": truths[:, 1:]}
    objects = [
        inference_data(arviz, posterior={"mu": one[..., 0], "beta": one[..., 1:], "other": one}) for one in draws
    ]
    flat = {"mu": draws[..., 0].reshape(5, -1), "beta": draws[..., 1:].reshape(5, -1, 2)}
    each = [{"mu": one[0], "beta": one[1:]} for one in truths]
    results = [
        simulation_based_calibration(some, true, thin=2, n_resamples=19, rng=1)
        for some, true in ((objects, named), (objects, each), (flat, named), (draws.reshape(5, -1, 3), truths))
    ]
    assert [one.name for one in results[0].rows] == ["mu", "beta[0]", "beta[1]"]
    assert {one.pvalue for one in results} == {results[0].pvalue}
    assert posteriors_of(objects, named).draws.shape == (5, 2, 30, 3)


def test_columns_of_data_frames_are_matched_by_their_names():
    rng = np.random.default_rng(9)
    draws, truths = rng.normal(size=(6, 20, 2)) * [1.0, 5.0], rng.normal(size=(6, 2)) * [1.0, 5.0]
    table = pd.DataFrame(truths, columns=["a", "b"])
    frames = [pd.DataFrame(one, columns=["a", "b"])[["b", "a"]] for one in draws]
    named = {"b": pd.DataFrame(draws[..., 1]), "a": pd.DataFrame(draws[..., 0])}
    found = [
        simulation_based_calibration(some, true, n_resamples=19, rng=1).to_dict()
        for some in (frames, named)
        for true in (table, dict(table.items()))
    ]
    assert [row["name"] for row in found[0]["rows"]] == ["a", "b"]
    assert found[1:] == found[:-1]
    with pytest.raises(ValueError, match="got no 'c', wanted the names of truths; there are b, a"):
        simulation_based_calibration(frames, table.rename(columns={"b": "c"}))
    frames[2] = frames[2].rename(columns={"a": "c"})
    with pytest.raises(ValueError, match="got columns b, c in simulation 2, wanted those of the first one, b, a"):
        simulation_based_calibration(frames, table)


def test_draws_are_known_by_the_name_of_their_dimension():
    xr, rng = pytest.importorskip("xarray"), np.random.default_rng(9)
    draws, truths = rng.normal(size=(6, 20, 2)), rng.normal(size=(6, 2))
    wanted = simulation_based_calibration(draws, truths, n_resamples=19, rng=1).to_dict()
    array = xr.DataArray(draws, dims=["simulation", "draw", "parameter"])
    for dims in (array.dims, ("draw", "simulation", "parameter"), ("simulation", "parameter", "draw")):
        found = simulation_based_calibration(array.transpose(*dims), truths, n_resamples=19, rng=1)
        assert found.to_dict() == wanted


@pytest.mark.parametrize("name", [None, "mu"])
def test_simulations_are_matched_by_their_labels(name):
    """Of arrays with names of dimensions, whichever order these have, with chains too, and of data frames."""
    xr, rng = pytest.importorskip("xarray"), np.random.default_rng(9)
    truths, labels = rng.normal(size=12), np.arange(12) + 3
    draws = truths[:, None] + rng.normal(size=(12, 20))
    known = xr.DataArray(truths, dims="simulation", coords={"simulation": labels})
    array = xr.DataArray(draws, dims=["simulation", "draw"], coords={"simulation": labels})
    chains = xr.DataArray(draws.reshape(12, 4, 5), dims=["simulation", "chain", "draw"], coords=array.coords)
    frame, series = pd.DataFrame(draws, index=labels), pd.Series(truths, index=labels)

    def found(some, true):
        some, true = (some, true) if name is None else ({name: some}, {name: true})
        return simulation_based_calibration(some, true, n_resamples=19, rng=1).rows[0]

    wanted = found(draws, truths).mean_rank
    in_chains = chains, chains.transpose("draw", "simulation", "chain"), chains[::-1]
    for some in (array, array.T, array[::-1], array[::-1].T, *in_chains):
        assert found(some, known).mean_rank == wanted
    assert found(frame[::-1], series).mean_rank == wanted


def test_tensors():
    torch, rng = pytest.importorskip("torch"), np.random.default_rng(9)
    draws, truths = right(rng)
    one = simulation_based_calibration(draws, truths, n_resamples=19, rng=1)
    tensors = [torch.tensor(x) for x in draws]
    of_list = simulation_based_calibration(tensors, torch.tensor(truths), n_resamples=19, rng=1)
    assert of_list.rows == one.rows


def test_constant_draws_are_wrong_unless_the_truth_is_constant():
    rng = np.random.default_rng(10)
    assert simulation_based_calibration(np.zeros((40, 20)), rng.normal(size=40), rng=1).pvalue == 0.001
    coin = rng.integers(2, size=40).astype(float)
    assert simulation_based_calibration(np.repeat(coin[:, None], 20, 1), coin, rng=1).pvalue > 0.01
    with pytest.raises(ValueError, match="all draws and truths of 'parameter 0' are 2"):
        simulation_based_calibration(np.full((4, 3), 2.0), np.full(4, 2.0))


Z = np.zeros((4, 3, 2))


@pytest.mark.parametrize(
    ("draws", "truths", "settings", "words"),
    [
        (Z, np.zeros((4, 3)), {}, r"draws: got shape \(4, 3, 2\) with truths of shape \(4, 3\), wanted \(n, m, d\)"),
        (Z, np.zeros((3, 2)), {}, r"numpy.moveaxis\(draws, 0, 1\) if the first axis is that of the draws"),
        (np.zeros((4, 2, 3)), np.zeros((4, 2)), {}, r"numpy.moveaxis\(draws, 2, 1\) if the last axis is that"),
        (np.zeros((4, 2)), Z, {}, r"got shape \(4, 2\) with .*; the arguments are swapped, pass the draws first"),
        (np.zeros(4), Z[..., 0], {}, "; the arguments are swapped, pass the draws first"),
        ({"a": np.zeros((4, 2))}, {"a": Z}, {}, "; the arguments are swapped, pass the draws first"),
        (Z[:1], np.zeros((1, 2)), {}, "got 1 simulation, wanted at least 2"),
        (np.where(Z == 0.0, np.nan, 0.0), np.zeros((4, 2)), {}, "draws: got nan"),
        ([Z[0], Z[0, :2]], np.zeros((2, 2)), {}, "different shapes, wanted as many draws in each"),
        ({"a": Z[..., 0]}, {}, {}, "empty mapping"),
        ({"a": Z[..., 0]}, {"b": np.zeros(4)}, {}, "got no 'b'"),
        ({"a": Z[..., 0]}, {"a": np.zeros(3)}, {}, r"draws\['a'\]: got shape \(4, 3\) with truths of shape \(3,\)"),
        ([SimpleNamespace(posterior={})] * 4, {"b": np.zeros(4)}, {}, "got no 'b' in the posterior of simulation 0"),
        (np.eye(4)[:, :3], np.ones(4), {"thin": 4}, "thin: got 4"),
        (np.eye(4)[:, :3], np.ones(4), {"thin": "all"}, "thin"),
        (np.eye(4)[:, :3], np.ones(4), {"quantities": {"q": lambda x: 0.0}}, r"quantities\['q'\]: got shape \(\)"),
        (np.eye(4)[:, :3], np.ones(4), {"quantities": {"q": lambda x: x[:, 0] * np.nan}}, "got nan or inf"),
        (np.eye(4)[:, :3], np.ones(4), {"quantities": {"q": max}, "data": [1]}, "got 1 data sets"),
    ],
)
def test_what_is_refused(draws, truths, settings, words):
    with pytest.raises(ValueError, match=words):
        simulation_based_calibration(draws, truths, **settings)


def test_names_of_one_only_are_refused():
    with pytest.raises(TypeError, match="truths: got no names"):
        simulation_based_calibration({"a": Z[..., 0]}, np.zeros(4))
    with pytest.raises(TypeError, match="wanted a mapping from names"):
        simulation_based_calibration(Z, {"a": np.zeros(4)})


@pytest.mark.parametrize("posteriors", [ct.Ensemble(Z), [SimpleNamespace(posterior={})] * 4])
def test_swapped_posteriors_are_refused(posteriors):
    with pytest.raises(TypeError, match="truths: got posteriors; the arguments are swapped, pass the draws first"):
        simulation_based_calibration(np.zeros((4, 2)), posteriors)


def test_results_are_stored_and_drawn():
    figure = pytest.importorskip("matplotlib.figure")
    result = simulation_based_calibration(*right(np.random.default_rng(11)), n_resamples=19, rng=1)
    again = ct.results.SimulationBasedCalibrationResult.from_dict(json.loads(json.dumps(result.to_dict())))
    assert str(again) == str(result)
    ax = result.plot(ax=figure.Figure().add_subplot())
    assert [one.get_text() for one in ax.get_legend().get_texts()][1:] == ["parameter 0", "parameter 1"]
    with pytest.raises(TypeError, match="simulation_based_calibration"):
        ct.plots.rank_ecdf(3)


def test_draws_in_an_ensemble_are_not_called_autocorrelated_because_it_sorts_them():
    rng = np.random.default_rng(1)
    draws, truths = rng.normal(size=(60, 19)), 2.0 * rng.normal(size=60)
    found = simulation_based_calibration(ct.Ensemble(draws), truths, rng=1)
    assert (found.thin, found.notes) == (1, ())
    assert found.pvalue <= 0.01
    with pytest.raises(ValueError, match="got those of 'parameter 0' sorted in every simulation, wanted them as they"):
        simulation_based_calibration(np.sort(draws, axis=1), truths, rng=1)
    with pytest.raises(ValueError, match="thin=1 takes them in any order"):
        simulation_based_calibration(np.sort(draws, axis=1), truths, thin=2, rng=1)
    vectors = rng.normal(size=(30, 9, 2))
    one, other = (simulation_based_calibration(some, vectors[:, 0], rng=1) for some in (vectors, ct.Ensemble(vectors)))
    assert one.pvalue == other.pvalue


def test_sorted_draws_of_one_parameter_are_as_good_where_none_are_left_out():
    rng = np.random.default_rng(1)
    draws, truths = rng.normal(size=(60, 39)), rng.normal(size=60)
    for order in (np.sort(draws, axis=1), np.sort(draws, axis=1)[:, ::-1]):
        found = simulation_based_calibration(order, truths, thin=1, rng=1)
        assert found.rows[0].ranks == simulation_based_calibration(draws, truths, thin=1, rng=1).rows[0].ranks
        assert (found.thin, found.notes) == (1, ())
    both = np.stack([draws, -draws], axis=2)
    with pytest.raises(ValueError, match=r"wanted them as they were drawn, or shuffled$"):
        simulation_based_calibration(np.sort(both, axis=1), np.stack([truths, -truths], axis=1), thin=1, rng=1)


def test_leave_one_out_transforms_make_a_pair():
    u = np.random.default_rng(8).random(30)
    pair = loo_pit(u)
    assert ct.PITTest("KS")(*pair).pvalue == pytest.approx(stats.kstest(u, "uniform").pvalue, rel=1e-9)
    for bad, words in (([0.5, 1.2], "wanted probabilities"), ([0.5, np.nan], "values"), ([0.5], "2")):
        with pytest.raises(ValueError, match=words):
            loo_pit(bad)


NEARLY = (
    "the law of Cauchy rejects 6 to 7 % of independent transforms at the 5 % level; "
    'MonteCarloTest(PIT("POT")) is exact for these'
)


@pytest.mark.parametrize(
    "test",
    [
        ct.PITTest("POT"),
        ct.MonteCarloTest(ct.estimators.PIT("KS"), 19),
        ct.PITTest("KS"),
        ct.OmnibusTest(n_resamples=19),
    ],
)
def test_results_say_that_leave_one_out_transforms_depend_on_each_other(test):
    result = test(*loo_pit(np.random.default_rng(8).random(30)), rng=1)
    found = unfolded(result)
    assert result.pvalue_kind in ("asymptotic", "resampling")
    assert "exact Monte Carlo" not in result.sentence()
    assert "exact ones would take data that are redrawn from the model" in found
    assert "leave-one-out transforms, n = 30" in found
    assert "p-values of any kind are approximate, mostly too large" in found


def test_groups_do_not_call_their_pvalues_exact():
    residuals, values = loo_pit(np.random.default_rng(8).random(30))
    result = ct.calibration_by_group(residuals, values, np.arange(30) % 2, n_resamples=19, rng=1)
    assert result.pvalue_kind == "resampling"
    assert "exact" not in unfolded(result).replace("exact ones would take", "")


def test_audits_do_not_call_their_pvalues_exact():
    audit = ct.audit(*loo_pit(np.random.default_rng(8).random(30)), n_resamples=19, rng=1)
    assert audit.models[0].sections["test"].answer.endswith("its p-value is approximate.")


def test_transforms_of_0_and_1_are_noted():
    """One that is 0 among 30 others, as the share of draws below an outcome can be, is an outlier without end."""
    u = (np.arange(30) + 0.5) / 30
    found = ct.PITTest("POT")(*loo_pit(np.append(u, 0.0)))
    assert found.pvalue < 1e-9
    assert "Note: 1 of the transforms is 0 or 1, as a share of draws can be" in unfolded(found)
    assert ct.PITTest("POT")(*loo_pit(u)).notes == (NEARLY,)
    rank = np.append(np.arange(1000) / 1000, 0.0)
    drawn = (1000 * rank + np.random.default_rng(1).random(1001)) / 1001
    assert ct.PITTest("POT")(*loo_pit(drawn)).pvalue > 0.05


def posterior_of_two(n=80, m=39):
    """Parameters of scales 1e6 and 1e-4, in posteriors that are right."""
    rng = np.random.default_rng(12)
    large, small = 1e6 * rng.normal(size=n), 1e-4 * rng.normal(size=n)
    seen = small + 1e-4 * rng.normal(size=n)
    centres = large + 1e5 * rng.normal(size=n)
    draws = {
        "mu": centres[:, None] + 1e5 * rng.normal(size=(n, m)),
        "tau": 0.5 * seen[:, None] + 1e-4 * np.sqrt(0.5) * rng.normal(size=(n, m)),
    }
    return draws, {"mu": large, "tau": small}


def notes_of(draws, truths):
    return simulation_based_calibration(draws, truths, n_resamples=19, rng=1).notes


def test_samplers_that_stand_still_and_units_are_asked_about():
    draws, truths = posterior_of_two()
    assert notes_of(draws, truths) == ()
    still = draws | {"tau": np.where(np.arange(80)[:, None] < 7, draws["tau"][:, :1], draws["tau"])}
    assert notes_of(still, truths) == ("tau: all draws of 7 of 80 simulations are equal: does the sampler move?",)
    (note,) = notes_of(draws, truths | {"mu": truths["mu"] / 1000.0})
    assert note == "truths of mu multiplied by 1000 or so would fit the predictions: are both in the same unit?"


def test_discrete_parameters_may_have_equal_draws():
    rng = np.random.default_rng(13)
    truths = rng.integers(2, size=60)
    assert (
        notes_of(
            {"k": np.repeat(truths[:, None], 30, axis=1), "x": rng.normal(size=(60, 30))},
            {"k": truths, "x": rng.normal(size=60)},
        )
        == ()
    )


def test_single_draws_are_tested_by_their_ranks():
    draws, truths = posterior_of_two()
    result = simulation_based_calibration({k: v[:, :1] for k, v in draws.items()}, truths, n_resamples=19, rng=1)
    assert result.joint_pvalue is None
    assert result.pvalue == result.ranks_pvalue
    assert result.notes == (
        "only one draw of each simulation: wrong tails are hard to find, and parameters are not tested together",
    )


@pytest.mark.parametrize(
    ("draws", "truths"),
    [({"mu": np.zeros((5, 4, 10))}, {"mu": np.arange(5.0)}), (np.zeros((5, 4, 10, 2)), np.ones((5, 2)))],
)
def test_chains_are_to_be_joined(draws, truths):
    with pytest.raises(ValueError, match=r"join chains by draws.reshape\(n, -1, \*draws.shape\[3:\]\)"):
        simulation_based_calibration(draws, truths)


def autoregressive(rng, n, m, correlation):
    draws = np.empty((n, m))
    draws[:, 0] = rng.normal(size=n)
    for j in range(1, m):
        draws[:, j] = correlation * draws[:, j - 1] + np.sqrt(1 - correlation**2) * rng.normal(size=n)
    return draws


@pytest.mark.parametrize(("correlation", "step"), [(0.0, 1), (0.25, 2)])
def test_weak_autocorrelation_of_short_chains_is_seen(correlation, step):
    """Deviations from the mean of ten independent draws have a first autocorrelation of about -1/10."""
    draws = autoregressive(np.random.default_rng(16), 300, 10, correlation)
    assert posteriors_of(draws[..., None], np.zeros((300, 1))).step() == step


@pytest.mark.parametrize(("correlation", "m"), [(0.5, 50), (0.9, 250), (0.95, 500)])
def test_time_of_autocorrelation_of_chains_of_a_few_times_it(correlation, m):
    x = autoregressive(np.random.default_rng(14), 500, m, correlation)
    x = (x - x.mean(axis=1, keepdims=True)) / x.std(axis=1, keepdims=True)
    time = (1 + correlation) / (1 - correlation)
    assert _autocorrelation_time(x) == pytest.approx(time, rel=0.2)
    assert _autocorrelation_time(autoregressive(np.random.default_rng(15), 500, m, 0.0)) == 1.0


@pytest.mark.parametrize("m", [4, 5, 6, 8])
def test_draws_of_chains_that_never_move_are_one(m):
    """All their correlations are 1, and the time is the length of the chain."""
    assert _autocorrelation_time(np.ones((3, m))) == m


@pytest.mark.statistical
def test_chains_not_much_longer_than_their_autocorrelation_are_rejected_at_the_level(replications):
    number, rejected = replications(60, 1000), 0
    for seed in range(number):
        rng = np.random.default_rng([seed, 16])
        draws = autoregressive(rng, 50, 100, 0.97)
        rejected += simulation_based_calibration(draws, rng.normal(size=50), n_resamples=19, rng=seed).pvalue <= 0.05
    assert rejected <= stats.binom.ppf(0.999, number, 0.05)


def test_contrasts_of_ranks_are_in_standard_deviations():
    """Of uniform ranks on 0 to m, whose moments are those of all ranks."""
    every, ranks = np.arange(8), np.array([0, 7, 7, 6, 3, 7])
    linear = (ranks - every.mean()).sum() / (every.std() * np.sqrt(6))
    squares = np.square(every - 3.5)
    quadratic = (np.square(ranks - 3.5) - squares.mean()).sum() / (squares.std() * np.sqrt(6))
    legendre = np.polynomial.legendre.legvander((2 * ranks - 7) / 7, 3)[:, 3]
    assert calibration.shape_of(ranks, 7)[:2] == pytest.approx((linear, quadratic))
    assert calibration.shape_of(ranks, 7)[2] * legendre.sum() > 0.0
    assert calibration.shape_of(np.array([0, 1, 1]), 1) == pytest.approx((1 / np.sqrt(3), 0.0, 0.0, 0.0))
    np.testing.assert_allclose(sum(calibration.shape_of(np.array([k]), 7) ** 2 for k in range(8)), 8.0)


def test_two_simulations_are_enough():
    draws, truths = right(np.random.default_rng(1), 2)
    assert simulation_based_calibration(draws, truths, n_resamples=9, rng=1).n == 2
