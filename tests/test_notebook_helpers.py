"""The modules beside the notebooks."""

import base64
import csv
import io
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path

import active
import calibration_risk
import cifar10_networks
import digits_epochs
import friedman
import kitti
import kitti_mondrian
import kitti_published
import mondrian
import nbformat
import numpy as np
import pytest
import run
import synthetic
import synthetic_classes
from grids import full
from matplotlib.figure import Figure
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax
from sklearn.model_selection import ShuffleSplit

import caltest as ct


class TestFriedman:
    def test_gradients_are_those_of_finite_differences(self):
        rng = np.random.default_rng(1)
        x, y = ct.generators.Friedman1().data(20, rng)
        parameters = friedman.glorot(2, rng)
        for p in parameters[1::2]:
            p += rng.normal(0.0, 0.1, p.shape)
        for p, gradient in zip(parameters, friedman.gradients(parameters, x, y), strict=True):
            index = tuple(rng.integers(size) for size in p.shape)
            losses = []
            for step in (1e-6, -1e-6):
                p[index] += step
                losses.append(np.mean((friedman.means(parameters, x) - y) ** 2, axis=1)[index[0]])
                p[index] -= step
            assert gradient[index] == pytest.approx((losses[0] - losses[1]) / 2e-6, rel=1e-5, abs=1e-7)

    def test_training_lowers_the_error_of_every_network(self):
        x, y = ct.generators.Friedman1().data(30, rng=2)
        saved = friedman.train(x, y, {0, 60}, n_models=3, rng=3)
        before, after = (np.mean((friedman.means(saved[t], x) - y) ** 2, axis=1) for t in (0, 60))
        assert (after < 0.3 * before).all()
        again = friedman.train(x, y, {0}, n_models=3, rng=3)[0]
        assert all(np.array_equal(a, b) for a, b in zip(again, saved[0], strict=True))

    def test_pairs_that_the_published_software_leaves_out(self):
        """Its value for data that anyone can draw (CalibrationErrors.jl 0.6.4)."""
        rng = np.random.default_rng(1234)
        rng.dirichlet(np.ones(3), 30)
        means, scales, y = rng.normal(size=(30, 3)), rng.uniform(0.2, 1.5, (30, 3)), rng.normal(size=30)
        ensemble = ct.Mixture([ct.Normal(means[:, a], scales[:, a]) for a in range(3)])
        with pytest.warns(ct.kernels.KernelWarning):
            found = friedman.without_some_pairs(ensemble, y, friedman.MIXTURE_WASSERSTEIN)
        assert found["SKCE (unbiased)"] == pytest.approx(0.000313767465140139, rel=1e-9)

    @pytest.mark.full
    def test_the_first_replica_is_that_of_the_stored_study(self, replications):
        """Up to sums in another order, which grow in the training."""
        last = replications(30, 600)
        found = friedman.replica(0, last)
        rows = [one for one in friedman.statistics() if 0 < one.iteration <= last]
        assert {one[:4] for one in rows} == {place for place in found if place[3]}
        for one in rows:
            assert found[one[:4]] == pytest.approx(one.first, rel=0.02, abs=0.01)
            assert one.smallest <= one.first <= one.largest
            assert one.below <= friedman.N_REPLICAS

    def test_published_statistics_are_those_of_the_file(self):
        if not friedman.PUBLISHED.exists():
            pytest.skip(f"no published statistics: {friedman.PUBLISHED} does not exist")
        theirs = friedman.published()
        for one in friedman.statistics():
            place = one.data, one.model.partition(",")[0], one.statistic, one.iteration
            assert one.published == pytest.approx(theirs[place], rel=1e-4)


class TestCifar10:
    def test_stored_numbers_are_the_published_ones(self):
        """Bounds for estimates that are not positive are 1 here, and resampling p-values at least 1 / (B + 1)."""
        stored = cifar10_networks.numbers()
        estimates = {(one.network, one.quantity): one.found for one in stored if one.figure == 35}
        for one in stored:
            if one.figure == 35 or one.quantity == "SKCEul_median_asymptotic":
                assert one.found == pytest.approx(one.published, rel=1e-9)
            elif one.quantity.endswith("distribution_free"):
                positive = estimates[one.network, one.quantity.removesuffix("_distribution_free")] > 0
                assert one.found == (pytest.approx(one.published, rel=1e-9) if positive else 1.0)
            elif one.figure == 36:
                assert one.published == 0.0
                assert one.found == 1 / (cifar10_networks.N_RESAMPLES + 1)
        assert {one.network for one in stored} == set(cifar10_networks.NETWORKS)

    @pytest.mark.full
    def test_some_of_them_are_found_again(self):
        if not cifar10_networks.FOLDER.exists():
            pytest.skip(f"no predictions: {cifar10_networks.FOLDER} does not exist")
        predictions, labels = cifar10_networks.load("resnet18")
        kernel = cifar10_networks.kernel_of(predictions)
        estimators = cifar10_networks.estimators(kernel)
        found = {
            name: estimators[name](predictions, labels) for name in ("ECE_uniform", "ECE_dynamic", "SKCEul_median")
        }
        lens = cifar10_networks.lenses(predictions, labels)["animals and vehicles"]
        pvalue = ct.calibration_test(*lens, n_resamples=cifar10_networks.N_RESAMPLES, rng=1).pvalue
        for one in cifar10_networks.numbers():
            if one.network == "resnet18" and one.figure == 35 and one.quantity in found:
                assert found[one.quantity] == pytest.approx(one.found, rel=1e-9)
            if (one.network, one.quantity) == ("resnet18", "animals and vehicles"):
                assert pvalue == one.found


class TestSynthetic:
    @pytest.mark.parametrize("d", [1, 10])
    def test_where_caltest_makes_the_mean_embedding_test_the_helper_agrees(self, d):
        rng = np.random.default_rng(4)
        ucme = ct.UCME(synthetic.KERNEL, *synthetic.random_locations(d, rng))
        sample = synthetic.GaussianModel(d).sample(40, rng)
        result = ct.AsymptoticCMETest(ucme, "chi2")(*sample)
        assert synthetic.cme_pvalue(ucme, *sample) == result.pvalue
        assert synthetic.singular_cme_pvalue(ucme, *sample) == pytest.approx(result.pvalue, rel=1e-5)

    def test_simulations_are_reproducible_and_nested(self):
        short, long = (synthetic.simulate(synthetic.MODELS[1], 4, n_sets) for n_sets in (3, 5))
        for name, values in short.estimates.items():
            assert np.array_equal(values, long.estimates[name][:3])
        assert set(short.errors) == set(synthetic.TESTS)

    def test_stored_times_are_beside_the_published_ones(self):
        theirs = {kind: synthetic.published(kind) for kind in ("errors", "tests")}
        if not theirs["tests"]:
            pytest.skip(f"no published results: {synthetic.FOLDER} does not exist")
        stored = synthetic.times()
        assert len(stored) == sum(map(len, theirs.values()))
        for one in stored:
            model = ct.generators.GaussianModel(one.dimension, one.calibrated)
            time = float(theirs[one.kind][one.method, model, one.n]["mintime"])
            assert one.published == pytest.approx(time, rel=0.01)
            assert one.found > 0.0

    def test_comparisons_find_wrong_numbers(self):
        if not synthetic.published("tests"):
            pytest.skip(f"no published results: {synthetic.FOLDER} does not exist")
        right = synthetic.simulate(synthetic.MODELS[0], 16, 60)
        wrong = {name: 3.0 * values for name, values in right.estimates.items()}
        changed = replace(right, estimates=wrong, errors=dict.fromkeys(right.errors, 30))
        assert min(c.pvalue for c in synthetic.compare(right)) > 1e-4
        assert max(c.pvalue for c in synthetic.compare_tests(changed)) < 1e-3
        assert max(c.pvalue for c in synthetic.compare_estimates(changed)) < 0.05


class TestSyntheticClasses:
    def test_estimates_are_nested_and_share_data(self):
        model = synthetic_classes.MODELS["M2"]
        short = synthetic_classes.simulated_estimates(["SKCE_b", "SKCE_uq"], model, 2)
        long = synthetic_classes.simulated_estimates(["SKCE_uq"], model, 3)
        assert np.array_equal(short["SKCE_uq"], long["SKCE_uq"][:2])
        sample = model.sample(250, np.random.default_rng([2019, 1]))
        kernel = synthetic_classes.kernel(ct.median_bandwidth(sample[0], ct.TotalVariation(), include_diagonal=True))
        assert short["SKCE_b"][1] == ct.SKCE(kernel, unbiased=False)(*sample)

    def test_settings_of_all_figures(self):
        assert list(synthetic_classes.FIGURES) == list(range(3, 35))
        settings = synthetic_classes.FIGURES
        assert [settings[i].estimator for i in (3, 7, 11, 19, 27)] == [
            "ECE",
            "ECE, data-dependent bins",
            "SKCE_b",
            "SKCE_uq",
            "SKCE_ul",
        ]
        assert {settings[i].make_kernel for i in (15, 23, 34)} == {synthetic_classes.mean_kernel}
        assert settings[20].model(10, 1.0) == ct.generators.DirichletModel.m3()
        assert settings[22].model(10, 0.5) == ct.generators.DirichletModel.m2()

    def test_figures_have_a_panel_for_each_setting(self):
        found = synthetic_classes.estimates(24, n_sets=2, classes=(2,), n_jobs=1)
        assert list(found) == [(2, share) for share in synthetic_classes.SHARES]
        model = synthetic_classes.FIGURES[24].model(2, 0.25)
        sample = model.sample(250, np.random.default_rng([2019, 0]))
        kernel = synthetic_classes.kernel(model.mean_total_variation())
        assert found[2, 0.25]["SKCE_uq"][0] == ct.SKCE(kernel)(*sample)

    @pytest.mark.full
    def test_published_means_are_those_of_the_estimates_and_not_of_others(self):
        names = ["SKCE_b", "SKCE_uq", "SKCE_ul"]
        found = {
            name: synthetic_classes.simulated_estimates([*names, "ECE"], model, 60)
            for name, model in synthetic_classes.MODELS.items()
        }
        assert min(one.pvalue for one in synthetic_classes.compare_means(found)) > 1e-4
        wrong = {name: {key: 1.5 * one for key, one in values.items()} for name, values in found.items()}
        for one in synthetic_classes.compare_means(wrong):
            assert one.pvalue < 1e-3 or one.model == "M1" or one.method == "SKCE_ul"

    def test_stored_means_are_those_of_all_figures_and_agree_with_the_published_ones(self):
        means = synthetic_classes.means()
        places = {(one.figure, one.n_classes, one.share) for one in means}
        assert places == set(product(range(3, 35), synthetic_classes.CLASSES, synthetic_classes.SHARES))
        z = np.array([one.z for one in means])
        assert np.abs(z).max() < 5.0
        assert np.mean(z**2) < 1.3

    @pytest.mark.parametrize(("number", "k", "share"), [(4, 10, 0.5), (10, 2, 1.0), (12, 10, 0.0), (31, 2, 0.75)])
    def test_stored_means_are_those_of_the_code(self, number, k, share):
        setting = synthetic_classes.FIGURES[number]
        one = next(one for one in synthetic_classes.means() if one[:3] == (number, k, share))
        made = synthetic_classes.simulated_estimates(
            [setting.estimator], setting.model(k, share), 25, setting.make_kernel, seed=8
        )
        values = made[setting.estimator]
        assert abs(values.mean() - one.found) < 4.5 * np.hypot(values.std(ddof=1) / 5.0, one.error)

    def test_published_means_are_those_of_the_file(self):
        path = Path(__file__).resolve().parents[2] / "shared" / "data" / "neurips2019" / "error_means.csv"
        if not path.exists():
            pytest.skip(f"no published means: {path} does not exist")
        with path.open() as file:
            published = sorted(round(float(row["mean_of_estimates"]), 8) for row in csv.DictReader(file))
        stored = sorted(one.published for one in synthetic_classes.means())
        assert stored == pytest.approx(published, rel=1e-5, abs=1e-8)

    def test_errors_are_rejections_of_the_calibrated_model_only(self):
        curve = ct.power_curve(
            {"A_l": synthetic_classes.normal_limit},
            list(synthetic_classes.MODELS.values()),
            250,
            n_simulations=40,
            rng=1,
        )
        pvalues = [curve.cell("A_l", g).pvalues for g in range(3)]
        assert synthetic_classes.errors(curve.cell("A_l", 0), [0.1]) == np.mean(pvalues[0] <= 0.1)
        assert synthetic_classes.errors(curve.cell("A_l", 2), [0.1]) == np.mean(pvalues[2] > 0.1)
        for g, model in enumerate(synthetic_classes.MODELS):
            for level, published in zip(
                synthetic_classes.LEVELS, synthetic_classes.PUBLISHED_ERRORS["A_l"][g], strict=True
            ):
                found = synthetic_classes.errors(curve.cell("A_l", g), [level])[0]
                assert abs(found - published) <= 4 * np.sqrt(max(published * (1 - published), 0.01) / 40), model


def stump_one_by_one(x, y, weights, k):
    """Probabilities of each row by the stump with the smallest weighted Gini impurity, by trying all of them."""
    best, lowest = None, np.inf
    for j in range(x.shape[1]):
        for threshold in np.sort(x[:, j])[:-1]:
            sides = x[:, j] <= threshold, x[:, j] > threshold
            shares = [np.array([weights[side & (y == c)].sum() for c in range(k)]) for side in sides]
            impurity = sum(share.sum() - (share**2).sum() / share.sum() for share in shares)
            if impurity < lowest:
                lowest = impurity
                best = np.where(sides[0][:, None], *(share / share.sum() for share in shares))
    return best


@pytest.fixture(scope="module")
def kitti_features():
    if not kitti.ARCHIVE.is_file():
        pytest.skip(f"no KITTI features: {kitti.ARCHIVE} does not exist")
    return kitti.load()


@pytest.fixture(scope="module")
def boosted(kitti_features):
    return kitti.trained("XGBoost", kitti.binary(kitti_features))


class TestKitti:
    @pytest.mark.parametrize("k", [2, 3])
    def test_boosting_is_that_of_stumps_found_one_by_one(self, k):
        rng = np.random.default_rng(k)
        x = rng.normal(size=(40, 3))
        y = np.argmax(x @ rng.normal(size=(3, k)) + rng.normal(size=(40, k)), axis=1)
        weights, logs = np.full(40, 1 / 40), np.zeros((40, k))
        for _ in range(4):
            p = np.log(np.maximum(stump_one_by_one(x, y, weights, k), np.finfo(float).eps))
            logs += p
            for i in range(40):
                coding = [1.0 if c == y[i] else -1 / (k - 1) for c in range(k)]
                weights[i] *= np.exp(-(k - 1) / k * sum(coding[c] * p[i, c] for c in range(k)))
            weights /= weights.sum()
        boosted = kitti.SammeR(n_estimators=4).fit(x, y).predict_proba(x)
        assert boosted == pytest.approx(softmax(logs / 4, axis=1), rel=1e-10)

    def test_splits_are_those_of_one_generator_for_all_models(self):
        rng = np.random.RandomState(1)
        found = kitti.splits(9090)
        sizes = (("AdaBoost", 9090), ("XGBoost", 9090), (None, 9031), ("Random forest", 9090), ("1-layer NN", 9090))
        for name, n in sizes:
            splits = list(ShuffleSplit(10, test_size=8000, train_size=1000, random_state=rng).split(np.zeros(n)))
            if name is not None:
                for (train, test), (calibration, rest) in zip(splits, found[name], strict=True):
                    assert np.array_equal(train, calibration)
                    assert np.array_equal(test, rest)

    def test_midpoint_error_is_that_of_bins_one_by_one(self):
        rng = np.random.default_rng(1)
        p, y = rng.dirichlet((1.0, 1.0, 1.0), 300), rng.integers(3, size=300)
        p[:2] = [1.0, 0.0, 0.0], [1 / 3, 1 / 3, 1 / 3]
        edges, total = [1 / 3 + b * (2 / 3) / 10 for b in range(11)], 0.0
        for b in range(10):
            inside = [i for i in range(300) if edges[b] <= p[i].max() and (p[i].max() < edges[b + 1] or b == 9)]
            middle = 1 / 3 + 1 / 20 + b * (2 / 3 - 1 / 10) / 9
            total += abs(sum(float(p[i].argmax() == y[i]) - middle for i in inside)) / 300
        assert kitti.midpoint_ece(p, y, n_bins=10) == pytest.approx(total, abs=1e-12)

    def test_temperature_of_probabilities_has_the_largest_likelihood(self):
        rng = np.random.default_rng(2)
        p = rng.dirichlet((2.0, 1.0, 1.0), 200)
        y = (p.cumsum(axis=1) < rng.random(200)[:, None]).sum(axis=1)

        def loss(log_temperature):
            return -log_softmax(p / np.exp(log_temperature), axis=1)[np.arange(200), y].mean()

        best = np.exp(minimize_scalar(loss, bounds=(-5, 5), method="bounded", options={"xatol": 1e-10}).x)
        assert kitti.temperature_of_probabilities(p, y, p) == pytest.approx(softmax(p / best, axis=1), rel=1e-5)

    def test_independent_draws_average_over_the_latent_values(self):
        class Latent:
            def latent_function(self, inputs):
                return np.log(inputs), np.log(inputs), np.full(inputs.shape, 0.8)

        p = np.array([[0.2, 0.8], [0.5, 0.5]])
        nodes, weights = np.polynomial.hermite_e.hermegauss(60)
        differences = np.log(p[:, 1] / p[:, 0])[:, None] + np.sqrt(2) * 0.8 * nodes
        exact = (1 / (1 + np.exp(-differences))) @ weights / weights.sum()
        drawn = kitti.independent_draws(Latent(), p, rng=1, n_draws=200_000)
        assert drawn[:, 1] == pytest.approx(exact, abs=2e-3)
        assert abs(exact[0] - 0.8) > 0.01

    def test_several_classes_keep_rows_of_sum_1_and_temperatures_the_order(self):
        p, y = ct.datasets.load_digits_predictions()["random forest"]
        p = p.probabilities
        found = kitti.recalibrated_classes(p[:450], y[:450], p[450:])
        for q in found.values():
            assert q.sum(axis=1) == pytest.approx(1.0)
        for name in ("Temperature, ln p", "Temperature, p"):
            assert np.array_equal(found[name].argmax(axis=1), p[450:].argmax(axis=1))
        assert kitti.log_loss(found["Temperature, p"], y[450:]) < kitti.log_loss(p[450:], y[450:])

    def test_study_has_the_scores_of_each_split(self):
        p, y = ct.datasets.load_digits_predictions()["random forest"]
        confidence, right = ct.top_label(p, y)
        p = kitti.two_columns(confidence.probability)
        parts = {"forest": [(np.arange(0, 300), np.arange(300, 899)), (np.arange(300, 899), np.arange(0, 300))]}
        found = kitti.study({"forest": p}, right, parts, kitti.faulty, n_jobs=1)
        assert list(found) == [("forest", "BBQ")]
        for row, (calibration, test) in zip(found["forest", "BBQ"], parts["forest"], strict=True):
            q = kitti.faulty(p[calibration], right[calibration], p[test])["BBQ"]
            assert row.tolist() == kitti.scores(q, right[test])
            assert row[2] == np.mean((q[:, 1] > 0.5) == right[test])
            assert row[3] == pytest.approx(-np.log(q[np.arange(test.size), right[test]]).mean(), rel=1e-12)

    def test_fault_of_published_bbq_concerns_predictions_of_0_only(self):
        p, y = ct.datasets.load_digits_predictions()["random forest"]
        confidence, right = ct.top_label(p, y)
        p = kitti.two_columns(confidence.probability)
        new = kitti.two_columns(np.array([0.0, 0.3, 1.0]))
        right_map = ct.recalibration.BBQ().fit(p[:, 1], right)
        expected = right_map(np.array([1.0, 0.3, 1.0]))
        assert kitti.faulty(p, right, new)["BBQ"][:, 1].tolist() == expected.tolist()
        assert expected[0] != right_map(np.zeros(1))[0]

    def test_test_rows_of_labels_that_no_model_can_know_are_left_out(self):
        rng = np.random.default_rng(3)
        y, y_test = np.array([0, 2, 5, 5, 2, 0]), np.array([5, 1, 2, 0])
        features = kitti.Features(rng.normal(size=(6, 2)), y, rng.normal(size=(4, 2)), y_test)
        found = kitti.seven(features)
        assert found.y.tolist() == [0, 1, 2, 2, 1, 0]
        assert found.y_test.tolist() == [2, 1, 0]
        assert np.array_equal(found.x_test, features.x_test[[0, 2, 3]])
        assert kitti.binary(features).y_test.tolist() == [1, 1, 1, 0]

    def test_comparison_finds_means_that_are_too_far(self):
        column = kitti.QUANTITIES.index("midpoint ECE")
        values = np.zeros((10, 4))
        values[:, column] = 0.0182 + np.tile([-0.0005, 0.0005], 5)
        cell = kitti_published.compare({("AdaBoost", "Platt"): values}, kitti.QUANTITIES)[0]
        assert (cell.mean, cell.published, cell.published_sd) == (pytest.approx(0.0182), 0.0182, 0.0018)
        assert cell.closely
        assert not cell._replace(mean=0.0182 + 2.1 * 0.0018).within
        assert cell._replace(mean=0.0182 - 1.9 * 0.0018).within
        assert not cell._replace(mean=0.0182 + 0.7 * 0.0018).closely
        assert all(len(row.split(", ")) == 8 for table in kitti_published.TABLES.values() for row in table.values())

    @full
    def test_features_and_predictions_are_those_of_the_paper(self, kitti_features, boosted):
        assert kitti_features.x.shape == (16000, 60)
        assert kitti.seven(kitti_features).y_test.size == 8856
        # The first predictions in the repository of the paper.
        assert boosted[:3, 0] == pytest.approx([0.909611642, 0.943735242, 0.978067935], abs=1e-6)

    @full
    def test_results_are_within_two_published_standard_deviations(self, kitti_features, boosted, replications):
        data = kitti.binary(kitti_features)
        models = replications(["XGBoost"], list(kitti.MODELS))
        probabilities = {name: boosted if name == "XGBoost" else kitti.trained(name, data) for name in models}
        results = kitti.study(probabilities, data.y_test, kitti.splits(data.y_test.size), n_jobs=1)
        cells = kitti_published.compare(results, kitti.QUANTITIES)
        assert len(cells) == 24 * len(models)
        outside = {(cell.model, cell.method, cell.quantity) for cell in cells if not cell.within}
        assert outside == {fault for fault in kitti_published.FAULTS if fault[0] in models}
        if "Random forest" in models:
            probabilities = {"Random forest": probabilities["Random forest"]}
            results = kitti.study(probabilities, data.y_test, kitti.splits(data.y_test.size), kitti.faulty, n_jobs=1)
            assert all(cell.within for cell in kitti_published.compare(results, kitti.QUANTITIES))


@pytest.fixture
def without_compiling(monkeypatch):
    """A few points take less time than the compiler."""
    for name in ("grown", "predicted"):
        monkeypatch.setattr(mondrian, name, getattr(mondrian, name).py_func)


@pytest.fixture
def quick_maps(monkeypatch):
    """Gaussian processes of few parameters, in few steps."""
    gp = partial(ct.recalibration.GPCalibrator, n_inducing=3, max_iterations=20)
    monkeypatch.setattr(ct.recalibration, "GPCalibrator", gp)


@pytest.mark.usefixtures("without_compiling")
class TestMondrianForest:
    def test_tree_of_two_points_by_hand(self):
        """A point leaves the root with probability 1 - exp(-time * distance), and has its shares then."""
        forest = mondrian.MondrianForest(1).fit(np.array([[0.0], [1.0]]), np.array([0, 1]))
        leaves = 1.0 - np.exp(-forest.trees[0].time[0] * 1.5)
        expected = [[1.0, 0.0], [0.0, 1.0], [leaves / 2, 1.0 - leaves / 2], [1.0 - leaves / 2, leaves / 2]]
        assert forest.predict_proba(np.array([[0.0], [1.0], [2.5], [-1.5]])) == pytest.approx(np.array(expected))

    def test_rows_of_the_training_have_their_shares_and_far_ones_those_of_all(self):
        rng = np.random.default_rng(1)
        x, y = rng.normal(size=(60, 3)), rng.integers(3, size=60)
        x[1], y[:2] = x[0], [0, 2]
        forest = mondrian.MondrianForest(4, rng).fit(x, y)
        assert forest.predict_proba(x[:1]) == pytest.approx(np.array([[0.5, 0.0, 0.5]]))
        assert forest.predict_proba(x[2:]) == pytest.approx(np.eye(3)[y[2:]])
        assert forest.predict_proba(np.full((1, 3), 1e9)) == pytest.approx(np.bincount(y)[None] / 60)

    def test_first_splits_are_as_likely_as_edges_are_long(self):
        """On the first of two edges of 3 and 1 three times out of four, after a time of mean 1 / 4."""
        x, y = np.array([[0.0, 0.0], [3.0, 1.0]]), np.array([0, 1])
        trees = mondrian.MondrianForest(4000).fit(x, y).trees
        assert np.mean([tree.feature[0] == 0 for tree in trees]) == pytest.approx(0.75, abs=0.03)
        assert np.mean([tree.time[0] for tree in trees]) == pytest.approx(0.25, abs=0.02)
        assert np.mean([tree.cut[0] for tree in trees if tree.feature[0] == 0]) == pytest.approx(1.5, abs=0.07)

    def test_stored_errors_are_the_published_ones_after_recalibration(self):
        """Within two published standard deviations of a split."""
        stored = kitti_mondrian.scores()
        for method in kitti_published.METHODS:
            mean, sd = kitti_published.published("midpoint ECE", "Mondrian forest", method)
            ours = stored["Mondrian forest", method].ece
            assert (abs(ours - mean) <= 2 * sd) == (method != "Uncalibrated"), method


class TestDigitsEpochs:
    def test_error_falls_to_the_end_but_log_score_and_calibration_error_do_not(self):
        test = [one for one in digits_epochs.epochs() if one.data == "test"]
        last = test[-1]
        assert last.error == min(one.error for one in test)
        for name in ("nll", "ece"):
            assert min(getattr(one, name) for one in test) < 0.92 * getattr(last, name)

    @pytest.mark.usefixtures("quick_maps")
    def test_a_network_is_trained_on_other_rows_than_it_is_judged_on(self, monkeypatch):
        monkeypatch.setattr(digits_epochs, "N_EPOCHS", 3)
        found, after = digits_epochs.network_epochs(0)
        again, _ = digits_epochs.network_epochs(0)
        assert found.shape == (2, 3, 3)
        assert np.array_equal(found, again)
        assert found[0, 2, 0] < found[0, 0, 0]
        assert len(after) == 3


def small_stand_in():
    """A few rows of a few features."""
    features = kitti.stand_in(300, 50)
    return features._replace(x=features.x[:, :10], x_test=features.x_test[:, :10])


@pytest.mark.usefixtures("without_compiling", "quick_maps")
class TestActiveLearning:
    @pytest.fixture(autouse=True)
    def small(self, monkeypatch):
        """Two trees, and a tenth of the rows."""
        monkeypatch.setattr(active, "MondrianForest", partial(mondrian.MondrianForest, 2))
        for name, value in (("PRETRAINING", 50), ("BATCH", 50), ("N_CALIBRATION", 25), ("POINTS", (50, 200, 350))):
            monkeypatch.setattr(active, name, value)

    @pytest.fixture(scope="class")
    def data(self):
        return active.stream(small_stand_in(), seed=1)

    def test_entropy_is_a_share_of_the_largest(self):
        p = np.array([[0.25] * 4, [1.0, 0.0, 0.0, 0.0], [0.5, 0.5, 0.0, 0.0]])
        assert active.normalised_entropy(p) == pytest.approx([1.0, 0.0, 0.5])

    def test_stream_is_a_reproducible_order_of_the_training_data(self, data):
        features = small_stand_in()
        again = active.stream(features, seed=1)
        assert np.array_equal(again.x, data.x)
        assert sorted(again.y.tolist()) == sorted(features.y.tolist())
        assert not np.array_equal(active.stream(features, seed=2).y, data.y)

    def test_labels_are_asked_for_where_the_entropy_is_large(self, data):
        learner = active.Learner(data, threshold=0.3)
        chosen = learner.uncertain(60, 160)
        entropy = active.normalised_entropy(learner.predict(data.x[60:160]))
        assert 0 < chosen.size < 100
        assert chosen.tolist() == [60 + i for i in range(100) if entropy[i] > 0.3]

    def test_calibration_uses_other_rows_than_training(self, data, monkeypatch):
        made = []
        original = active.Learner.__init__
        monkeypatch.setattr(active.Learner, "__init__", lambda self, *a: (original(self, *a), made.append(self))[0])
        plain, recalibrated = (active.learn(data, recalibrate) for recalibrate in (False, True))
        without, learner = made
        assert without.map is None
        assert without.calibration == []
        assert len(learner.calibration) in (25, 50)
        assert not set(learner.calibration) & set(learner.training)
        assert recalibrated.total == learner.queried == recalibrated.queried[-1]
        assert (np.diff(plain.queried) >= 0).all()
        assert plain.error[0] == recalibrated.error[0]
        assert plain.ece[1] != recalibrated.ece[1]

    def test_smoothed_curves_are_weighted_means(self):
        curve = active.Curve(np.array([500, 1000]), np.array([0.1, 0.3]), np.array([0.2, 0.4]), 1000)
        ece, error = active.smoothed([curve, curve], np.array([500.0, 750.0]), width=50.0)
        assert ece == pytest.approx([0.1, 0.2], abs=1e-10)
        assert error == pytest.approx([0.2, 0.3], abs=1e-10)


@pytest.mark.parametrize(
    ("found", "stored", "same"),
    [
        ("log loss 0.094 ± 0.013", "log loss 0.093  ± 0.013", True),
        ("p = 4.11e-109, 999 draws", "p = 4.1e-109, 999 draws", True),
        ("about 10 % of the labels", "about 20 % of the labels", False),
        ("p = 4.1e-108", "p = 4.1e-109", False),
        ("rejected: 1", "not rejected: 1", False),
        ("0.5 0.6", "0.5", False),
    ],
)
def test_outputs_of_other_processors_are_alike(found, stored, same):
    assert run.alike(found, stored) == same


def drawn(*arrays):
    """A notebook with some pictures."""
    outputs = []
    for values in arrays:
        figure = Figure(figsize=(3, 2))
        figure.add_subplot().plot(values)
        file = io.BytesIO()
        figure.savefig(file, format="png")
        data = {"image/png": base64.b64encode(file.getvalue()).decode()}
        outputs.append(nbformat.v4.new_output("display_data", data))
    return nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("draw()", outputs=outputs)])


def test_lost_empty_and_other_pictures_are_noticed():
    rise, fall, nothing = np.arange(9.0), np.arange(9.0)[::-1] ** 2, np.full(9, np.nan)
    stored = run.pictures(drawn(rise, fall))
    assert run.look_alike(run.pictures(drawn(rise * 1.001, fall)), stored)
    for other in (drawn(rise), drawn(), drawn(fall, rise), drawn(rise, nothing)):
        assert not run.look_alike(run.pictures(other), stored)


class TestCalibrationRisk:
    @pytest.fixture
    def digits(self, monkeypatch):
        p, y = ct.datasets.load_digits_predictions()["naive Bayes"]
        monkeypatch.setattr(calibration_risk, "load", lambda *_: (p, y))
        return ct.top_label(p, y)

    @pytest.mark.parametrize("table", calibration_risk.PUBLISHED)
    def test_published_tables_have_a_cell_for_each_network(self, table):
        n_networks = 3 if table == 4 else len(calibration_risk.PUBLISHED_NETWORKS)
        cells = calibration_risk.published(table)
        assert {len(row) for row in cells.values()} == {n_networks}
        notion = "canonical" if table in (3, 5) else "top_label"
        assert list(cells) == list(calibration_risk.functions(notion))

    def test_stored_rows_are_complete(self):
        found = [tuple(row[:4]) for row in calibration_risk.stored()]
        expected = []
        for data_set, networks in calibration_risk.NETWORKS.items():
            for network, notion in product(networks, ("top_label", "canonical", "classwise")):
                names = [*calibration_risk.functions(notion), calibration_risk.ZERO]
                expected += [(data_set, network, notion, name) for name in names]
            top = [(data_set, network, "top_label", calibration_risk.WITHOUT_ONES) for network in networks]
            expected += [*top, (data_set, "wideresnet-16-4", "canonical", calibration_risk.FINER)]
        assert sorted(found) == sorted(expected)

    def test_rows_are_the_pipeline_step_by_step(self, digits):
        """And the split is that of the package."""
        confidence, correct = digits
        function = ct.risk.DirichletErrorFunction(0.01)
        row, zero = calibration_risk.rows("digits", "naive Bayes", "top_label", {"kde": function})
        splits, held_out = calibration_risk.folds(correct.size)
        fitted = [function.fit(confidence.take(rest), correct[rest]) for rest, _ in splits]
        pairs = zip(fitted, splits, strict=True)
        risks = [one.risk(confidence.take(part), correct[part]).value for one, (_, part) in pairs]
        errors = [one.squared_error(confidence.take(held_out)) for one in fitted]
        assert row.risks == pytest.approx(risks, rel=1e-12)
        assert row.squared_errors == pytest.approx(errors, rel=1e-12)
        assert row.setting == "0.01"
        assert row.root_risk == pytest.approx(
            (100 * np.mean(np.sqrt(risks)), 100 * np.std(np.sqrt(risks), ddof=1) / 5**0.5), rel=1e-12
        )
        assert zero.risks.mean() > row.risks.mean()
        assert (zero.squared_errors == 0.0).all()

    def test_class_wise_rows_are_sums(self, digits):
        function = ct.risk.DebiasedBinnedErrorFunction((5, 10))
        row, _ = calibration_risk.rows("digits", "naive Bayes", "classwise", {"bins": function})
        p, y = calibration_risk.load()
        result = ct.estimate_calibration_error(p, y, "classwise", error_functions=[function], rng=calibration_risk.SEED)
        assert row.squared_errors.mean() == pytest.approx(result.squared_error, rel=1e-12)
        assert row.risks.mean() == pytest.approx(sum(one.selected.risk for one in result.selections), rel=1e-12)

    def test_confidences_of_one_are_left_out(self, monkeypatch):
        """Where they are always right, the root of the risk of the others is larger by one over their share."""
        rng = np.random.default_rng(2)
        c = np.where(rng.random(4000) < 0.4, 1.0, rng.uniform(0.6, 0.99, 4000))
        sample = ct.Categorical(np.column_stack([c, 1.0 - c])), (rng.random(4000) > c - 0.1 * (c < 1.0)).astype(int)
        monkeypatch.setattr(calibration_risk, "load", lambda *_: sample)
        every, _ = calibration_risk.rows("", "", "top_label", {"kde": ct.risk.DirichletErrorFunction(0.01)})
        some = calibration_risk.without_ones("", "", [0.01])
        assert some.root_risk[0] == pytest.approx(every.root_risk[0] / np.mean(c < 1.0), rel=0.03)
        assert some.error[0] > 1.2 * every.error[0]

    def test_temperature_of_one_is_the_truth(self):
        truth, p, _ = calibration_risk.simulated(np.random.default_rng(1), 20)
        fitted = calibration_risk.Temperature(1.0).fit(p, np.zeros(20, dtype=int))
        assert fitted.matrix(p) == pytest.approx((p - truth) @ (p - truth).T, abs=1e-12)
