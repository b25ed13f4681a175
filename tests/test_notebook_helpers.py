"""The modules beside the notebooks."""

from dataclasses import replace

import friedman
import numpy as np
import pytest
import synthetic
import synthetic_classes

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

    def test_published_means_are_those_of_the_estimates_and_not_of_others(self):
        names = ["SKCE_b", "SKCE_uq", "SKCE_ul"]
        found = {
            name: synthetic_classes.simulated_estimates([*names, "ECE"], model, 60)
            for name, model in synthetic_classes.MODELS.items()
        }
        kept = [one for one in synthetic_classes.compare_means(found) if one.method in names]
        assert min(one.pvalue for one in kept) > 1e-4
        wrong = {name: {key: 1.5 * one for key, one in values.items()} for name, values in found.items()}
        for one in synthetic_classes.compare_means(wrong):
            assert one.pvalue < 1e-3 or one.model == "M1" or one.method == "SKCE_ul"

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
