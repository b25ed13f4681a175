"""The rates of ``docs/error-rates.md``: sizes in the settings where they are worst; in all, and powers, with --full."""

import pytest

import caltest as ct

from .every_test import PAGE, TESTS, WRONG, page, power, size, stored, worst
from .settings import HARD, band, spawn

STATED = {name: worst(row) for name, row in stored().items()}
"""Where the worst rate of a test was found, and how large it was."""
ELSEWHERE = {"BinnedEquivalenceTest", "CalibrationTestAccumulator", "EquivalenceTest"}
"""Names that are no tests of calibration."""


def valid(name):
    """Whether p-values are valid for every n."""
    return TESTS[name].pvalue.startswith(("exact", "bound"))


def test_page_has_what_is_stored():
    assert page() == PAGE.read_text()


def test_every_named_test_has_a_row():
    rows = {name.partition("(")[0].partition(",")[0] for name in TESTS}
    assert set(ct.named_tests.__all__) - rows == ELSEWHERE
    assert all(row["size"]["rates"] and row["power"]["rates"] for row in stored().values())
    assert stored().keys() == TESTS.keys()


@pytest.mark.usefixtures("without_findings")
@pytest.mark.parametrize("name", TESTS)
def test_kinds_of_pvalues_are_those_of_results(name):
    rng = spawn(203)
    for make in WRONG.values():
        p, y = make(rng)
        try:
            result = TESTS[name].make(p, rng)(p, y, rng=rng)
        except (TypeError, ValueError):  # not for these predictions, or not for these locations
            continue
        kind, _, _ = TESTS[name].pvalue.partition(":")
        assert getattr(result, "pvalue_kind", kind) == kind
        within = "between clusters" in getattr(result, "assumes", "")
        assert within == (TESTS[name].independent == "clusters")
        return
    pytest.fail("no predictions are for it")


@pytest.mark.statistical
@pytest.mark.usefixtures("without_findings")
@pytest.mark.every(7)
@pytest.mark.parametrize("name", [name for name, (setting, _) in STATED.items() if setting in HARD])
def test_stated_sizes_hold(name, replications):
    setting, stated = STATED[name]
    number = replications(12 if name.startswith("OmnibusTest") else 40, 1000)
    for one in replications([setting], list(HARD)):
        found = size(name, one, number)
        assert found is None or number * found <= band(number, stated)[1]


@pytest.mark.statistical
@pytest.mark.full
@pytest.mark.usefixtures("without_findings")
@pytest.mark.parametrize("name", TESTS)
def test_stated_powers_hold(name):
    """Within 3.5 standard errors of a difference."""
    row = stored()[name]["power"]
    for fault, stated in row["rates"].items():
        middle = min(max(stated, 0.02), 0.98)
        allowed = 3.5 * (middle * (1.0 - middle) * (1 / row["sets"] + 1 / 400)) ** 0.5
        assert abs(power(name, fault, 400) - stated) <= allowed


@pytest.mark.statistical
@pytest.mark.usefixtures("without_findings")
@pytest.mark.parametrize("name", [name for name, (_, stated) in STATED.items() if stated > 0.07 and not valid(name)])
def test_results_say_that_the_size_is_not_kept(name):
    """In the setting of the worst size, where the data of that size give a result."""
    rng = spawn(201)
    p = HARD[STATED[name][0]](rng)
    notes = TESTS[name].make(p, rng)(p, p.sample(rng), rng=rng).notes
    assert any("reject" in note and ("%" in note or "far too often" in note) for note in notes)
