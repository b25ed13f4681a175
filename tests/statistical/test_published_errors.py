"""The published estimates and test errors of Widmann et al. 2021, appendix A.2, against simulations.

Reduced here; ``python -m pytest tests/statistical/test_published_errors.py --full`` simulates as many data sets as the
paper, 500 for each setting.
"""

import numpy as np
import pytest
import synthetic
from grids import thinned

import caltest as ct

pytestmark = [pytest.mark.statistical, pytest.mark.usefixtures("without_findings")]

REDUCED = {4: 20, 64: 8}
N_COMPARISONS = 240


@pytest.mark.every(5)
@pytest.mark.parametrize("n", thinned(synthetic.SIZES, REDUCED))
@pytest.mark.parametrize("model", synthetic.MODELS, ids=lambda model: model.description)
def test_published_numbers_are_reproduced(model, n, replications):
    """Test errors, mean errors and variances within the 99.9 % band for all of them together (Bonferroni)."""
    if not synthetic.published("tests"):
        pytest.skip(f"no published results: {synthetic.FOLDER} does not exist")
    n_sets = replications(REDUCED.get(n), synthetic.PUBLISHED_SETS)
    comparisons = list(synthetic.compare(synthetic.simulate(model, n, n_sets)))
    assert len(comparisons) == N_COMPARISONS / (len(synthetic.SIZES) * len(synthetic.MODELS))
    for comparison in comparisons:
        assert comparison.pvalue >= 0.001 / N_COMPARISONS, comparison


def test_fewer_observations_than_locations_make_the_published_mean_embedding_test_a_coin(replications):
    """n = 4, J = 10: Hotelling's statistic of a matrix of rank 3 is rounding errors, negative as often as positive."""
    model, n_sets = synthetic.MODELS[0], replications(60, 2000)
    rng = np.random.default_rng(1)
    rejected = 0
    for _ in range(n_sets):
        ucme = ct.UCME(synthetic.KERNEL, *synthetic.random_locations(1, rng))
        sample = model.sample(4, rng)
        with pytest.raises(ValueError, match="at least 11 for 10 test locations"):
            ct.AsymptoticCMETest(ucme, "chi2")(*sample)
        rejected += synthetic.cme_pvalue(ucme, *sample) < 0.05
    assert 0.3 < rejected / n_sets < 0.7
