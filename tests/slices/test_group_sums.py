import numpy as np
import pytest
from scipy import stats

import caltest as ct
from caltest._validation.groups import as_groups
from caltest.group_test import step_down
from caltest.predictions.inputs.convert import as_sample
from caltest.slices.group_sums import (
    CLASSES,
    IMPOSSIBLE,
    WEIGHT,
    GroupSums,
    _of_classes,
    adjusted_by_redraws,
    normal_deviates,
)

N, G = 300, 40
RNG = np.random.default_rng(2)
MEMBERS = RNG.random((N, G)) < np.linspace(0.02, 0.9, G)
MEMBERS[:2] = True

FAMILIES = {
    "binary": ct.Bernoulli(RNG.beta(0.8, 2.0, N)),
    "classes": ct.Categorical(RNG.dirichlet(np.full(4, 0.4), N)),
    "numbers": ct.Normal(RNG.normal(size=N), RNG.uniform(0.5, 2.0, N)),
    "counts": ct.Poisson(RNG.gamma(0.5, 1.0, N)),
}


def deviates(z, *cumulants):
    return normal_deviates(np.atleast_2d(np.asarray(z, dtype=float)), *(np.atleast_1d(one) for one in cumulants))[0]


@pytest.mark.parametrize("m", [1e-250, 1e-4, 0.01, 1.0, 30.0])
def test_rare_events_are_as_unlikely_as_a_poisson_variable_says(m):
    """The deviance of k events where m are expected is 2 (k log(k / m) - k + m)."""
    k = np.array([0.0, 1.0, 2.0, 5.0, 40.0])
    deviance = 2.0 * (k * np.log(np.maximum(k, 1.0) / m) - k + m)
    expected = np.sign(k - m) * np.sqrt(deviance)
    assert deviates(k - m, m, m, m) == pytest.approx(expected, rel=1e-4)


def test_tails_are_those_of_the_difference_of_two_poisson_variables():
    z = np.array([4.0, 8.0, 12.0])
    up, down = 0.5, 0.1
    tails = stats.skellam.sf(z - 1.0, up, down)
    found = stats.norm.sf(deviates(z - 0.5 - up + down, up + down, up - down, up + down))
    assert np.log(found) == pytest.approx(np.log(tails), rel=0.1)


def test_deviates_of_symmetric_sums_are_the_sums_and_those_of_constant_ones_0():
    z = np.linspace(-8.0, 8.0, 33)
    assert deviates(3.0 * z, 9.0, 0.0, -5.0) == pytest.approx(z, rel=1e-5)
    assert (deviates(z, 0.0, 0.0, 0.0) == 0.0).all()


@pytest.mark.parametrize("skewness", [-3.0, -0.1, 0.1, 3.0])
@pytest.mark.parametrize("excess", [0.0, 1.0, 12.0])
def test_deviates_increase_beyond_the_end_of_the_law(skewness, excess):
    z = np.linspace(-60.0, 60.0, 4001)
    found = deviates(z, 1.0, skewness, excess)
    assert (np.diff(found) > 0.0).all()
    assert (np.sign(found[z != 0.0]) == np.sign(z[z != 0.0])).all()


@pytest.mark.every(3)
@pytest.mark.parametrize("family", FAMILIES)
def test_sums_have_the_moments_that_are_claimed(family):
    """Means, cumulants and correlations with the first sum of 20 000 redraws of a group."""
    p, groups = FAMILIES[family], as_groups(MEMBERS[:, 30:31])
    sums = GroupSums.of(as_sample(p, p.sample(1)), 1)
    outcomes = np.ascontiguousarray(sums.draw(np.random.default_rng(3), 20_000).T)
    for part in sums.parts:
        moments = part.moments(groups)
        scores, first = part.score(outcomes)[groups.rows[0]], None
        for feature, *of_group in zip([np.ones(N), *part.features], *moments, strict=True):
            centre, *cumulants = (one[0] for one in of_group)
            one = (feature[groups.rows[0]] - (0.0 if first is None else centre)) @ scores
            first = one if first is None else first
            deviation = cumulants[0] ** 0.5
            assert abs(one.mean()) < 0.035 * deviation
            assert one.std() == pytest.approx(deviation, rel=0.03)
            assert stats.skew(one) == pytest.approx(cumulants[1] / deviation**3, abs=0.1)
            # The kurtosis of rare counts varies more, and is compared with their laws in a test of its own.
            error = 0.5 if family == "counts" else 0.25
            assert stats.kurtosis(one) == pytest.approx(cumulants[2] / deviation**4, abs=error)
            assert one is first or abs(np.corrcoef(one, first)[0, 1]) < 0.035
        for one in part.statistics(outcomes, groups.matrix, moments)[:, 0]:
            assert one.std() == pytest.approx(1.0, abs=0.1 if family == "counts" else 0.04)


def test_sums_of_binary_outcomes_are_those_of_a_loop():
    p = FAMILIES["binary"]
    y = p.sample(5)
    sums = GroupSums.of(as_sample(p, y), 1)
    found = sums.tested(as_groups(MEMBERS), np.zeros(N), 19, 1)
    values = p.to_array()
    v = values * (1.0 - values)
    features = sums.parts[0].features
    for g in range(G):
        rows = MEMBERS[:, g]
        r, some = (y - values)[rows], v[rows]
        assert found.estimates[g] == pytest.approx(r.mean(), abs=1e-12)
        signed = []
        for feature in [np.ones(N), *features]:
            f = feature[rows] - (some @ feature[rows] / some.sum() if signed else 0.0)
            cumulants = some @ f**2, (some * (1.0 - 2.0 * values[rows])) @ f**3, (some * (1.0 - 6.0 * some)) @ f**4
            signed.append(float(deviates(r @ f, *cumulants)[0]))
        sizes = np.abs(signed) * np.array([1.0] + [WEIGHT] * len(features))
        assert found.sizes[g] == pytest.approx(sizes.max(), rel=1e-7)
        assert found.scores[g] == pytest.approx(signed[sizes.argmax()], rel=1e-7)


def test_streamed_pvalues_are_those_of_all_redraws_together():
    rng = np.random.default_rng(4)
    observed, parts = np.round(rng.normal(size=30), 1), []

    def redrawn(generator, size):
        parts.append(np.round(generator.normal(size=(30, size)), 1))
        return parts[-1]

    found = adjusted_by_redraws(observed, redrawn, 150, 7, "groups", 0.0)
    values = np.concatenate([observed[:, None], *parts], axis=1)
    assert values.shape == (30, 151)
    assert found.adjusted == pytest.approx(step_down(values), rel=1e-14)
    alone = (1 + np.count_nonzero(values[:, 1:] >= observed[:, None], axis=1)) / 151
    assert found.alone == pytest.approx(alone, rel=1e-14)
    assert (found.maxima == values[:, 1:].max(axis=0)).all()


def test_impossible_outcomes_are_as_large_as_can_be():
    p, y = np.tile([0.0, 0.4], 60), np.zeros(120, dtype=int)
    y[6] = 1
    sample, groups = as_sample(p, y), as_groups(np.arange(120) // 6)
    found = GroupSums.of(sample, 1).tested(groups, sample.predictions.impossible(sample.targets), 99, 1)
    assert np.flatnonzero(found.sizes == IMPOSSIBLE).tolist() == [1]
    assert found.adjusted[1] == found.alone[1] == 0.01


def test_classes_of_most_variance_are_compared():
    """A class that is certain where it is frequent varies in no row, so it is left out."""
    k = CLASSES + 1
    p = np.full((10, k), 1.0 / CLASSES)
    p[::2], p[:, 0] = 0.0, np.arange(10) % 2 == 0
    p[1::2, 1:] = np.random.default_rng(1).dirichlet(np.full(CLASSES, 50.0), 5)
    _, _, *events = _of_classes(p)[0]
    assert len(events) == CLASSES
    # Row 1 has an error above 0 where the label is the event.
    of = [next(c for c in range(k) if one.score(np.full((10, 1), c))[1, 0] > 0.0) for one in events]
    variances = (p * (1.0 - p)).sum(axis=0)
    assert of == sorted(range(1, k), key=lambda c: -variances[c])


@pytest.mark.parametrize("k", [2, 4])
def test_cumulants_are_those_of_enumerated_outcomes(k):
    """Central moments of each row, with classes of probability 0 and 1 among them."""
    p = np.random.default_rng(1).dirichlet(np.full(k, 0.4), 8)
    p[0], p[1] = np.eye(k)[k - 1], np.append(np.zeros(k - 2), [0.3, 0.7])
    labels = np.tile(np.arange(k), (8, 1))
    for part in _of_classes(p)[0]:
        scores = part.score(labels)
        assert np.sum(p * scores, axis=1) == pytest.approx(np.zeros(8), abs=1e-14)
        second, third, fourth = (np.sum(p * scores**power, axis=1) for power in (2, 3, 4))
        assert part.cumulants == pytest.approx(
            np.stack([second, third, fourth - 3.0 * second**2]), rel=1e-12, abs=1e-14
        )


def test_cumulants_of_sums_of_counts_are_those_of_their_laws():
    """By the probabilities of all counts up to 200: of rates exactly, of dispersions for Poisson laws."""
    means, counts = np.array([0.02, 0.7, 5.0]), np.arange(200)
    for law in (ct.Poisson(means), ct.NegativeBinomial.from_mean(means, 0.4)):
        p = np.exp(law.log_probabilities(counts.astype(float)))
        for part in GroupSums.of(as_sample(law, [0, 0, 0]), 1).parts[: 2 if isinstance(law, ct.Poisson) else 1]:
            scores = part.score(np.broadcast_to(counts, (3, 200)))
            first, second, third, fourth = ((p * scores**power).sum(axis=1) for power in (1, 2, 3, 4))
            np.testing.assert_allclose(first, 0.0, atol=1e-9)
            np.testing.assert_allclose(part.cumulants, [second, third, fourth - 3.0 * second**2], rtol=1e-6)


@pytest.mark.usefixtures("without_findings")
def test_a_group_in_which_rare_counts_are_too_many_is_found():
    found = 0
    for seed in range(4):
        rng = np.random.default_rng([3, seed])
        rates, wards = rng.uniform(0.02, 0.1, 3000), rng.integers(0, 60, 3000)
        counts = rng.poisson(np.where(wards == 7, 8.0, 1.0) * rates)
        first = ct.calibration_by_group(ct.Poisson(rates), counts, wards, n_resamples=199, rng=1).groups[0]
        found += first.name == "7" and first.adjusted <= 0.05 and first.z > 0.0 and first.estimate > 0.0
    assert found == 4


def test_normal_scores_have_the_cumulants_of_normal_numbers():
    (part,) = GroupSums.of(as_sample(FAMILIES["numbers"], FAMILIES["numbers"].sample(1)), 1).parts
    np.testing.assert_array_equal(part.cumulants, np.outer([1.0, 0.0, 0.0], np.ones(N)))
