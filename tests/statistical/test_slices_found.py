"""How often slices are found, in the settings of ``slices_found``."""

import numpy as np
import pytest

from .repaired_slices import made
from .slices_found import WAYS, of_one_category

pytestmark = [pytest.mark.statistical, pytest.mark.usefixtures("without_findings")]


@pytest.mark.parametrize("slices", [175, pytest.param(5000, marks=pytest.mark.full)])
def test_both_statistics_find_nearly_what_the_mean_alone_finds(slices, replications):
    """A tenth of the rows that is 10 points off: 90 % with 178 slices, and 3 points less than the mean at most."""
    designs = replications(1, 16)
    _, _, both, _, mean, _, _, named = of_one_category(slices, designs=designs)
    slack = replications(4.0, 0.0)  # A design has a power of its own, by how many rows the tenth has.
    assert both > mean - 3.0 - slack
    assert slices > 175 or both > 90.0 - 2.0 * slack
    assert both - 10.0 - slack < named < both + slack  # A part of it is named now and then.


@pytest.mark.parametrize("way", [one for one in WAYS if one != "mcgrad"])
def test_each_way_of_searching_finds_a_wrong_category(way):
    p, _, y, x = made("uniform", "one category, logits - 0.6", 2000, 0)
    assert WAYS[way](p, y, x, 0) <= 0.05
    rng = np.random.default_rng(1)
    assert WAYS[way](p, (rng.random(2000) < p).astype(int), x, 0) > 0.05
