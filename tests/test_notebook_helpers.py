"""The modules beside the notebooks."""

from dataclasses import replace

import friedman
import numpy as np
import pytest
import synthetic

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
