"""The sizes of ``docs/validity.md``, in the settings where they were measured to be the worst; all with ``--full``."""

import pytest

from .settings import HARD, band, spawn
from .worst_sizes import STATED, TESTS, rate

pytestmark = [pytest.mark.statistical, pytest.mark.usefixtures("without_findings")]


@pytest.mark.every(7)
@pytest.mark.parametrize("name", STATED)
def test_stated_sizes_hold(name, replications):
    stated, worst = STATED[name]
    number = replications(40, 1000)
    for setting in replications([worst], list(HARD)):
        found = rate(name, setting, number)
        assert found is None or number * found <= band(number, stated)[1]


@pytest.mark.parametrize("name", [name for name, (stated, _) in STATED.items() if stated > 0.07])
def test_results_say_that_the_size_is_not_kept(name):
    """In the setting of the worst size, where the data of that size give a result."""
    rng = spawn(201)
    p = HARD[STATED[name][1]](rng)
    notes = TESTS[name](p, rng)(p, p.sample(rng), rng=rng).notes
    assert any("reject" in note and "%" in note for note in notes)
