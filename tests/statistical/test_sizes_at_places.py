import pytest

from .sizes_at_places import CASES, covered


@pytest.mark.parametrize("case", CASES)
def test_intervals_of_sizes_allow_for_other_places(case):
    named, inside = covered(case, 2000, True, 4)
    assert named >= 12
    assert inside >= 0.8 * named
