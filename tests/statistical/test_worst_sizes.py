"""The sizes of ``docs/validity.md``, in the settings where they were measured to be the worst; all with ``--full``."""

import pytest

from .settings import HARD, band
from .worst_sizes import STATED, rate

pytestmark = pytest.mark.statistical


@pytest.mark.parametrize("name", STATED)
def test_stated_sizes_hold(name, replications):
    stated, worst = STATED[name]
    number = replications(40, 1000)
    for setting in replications([worst], list(HARD)):
        found = rate(name, setting, number)
        assert found is None or number * found <= band(number, stated)[1]
