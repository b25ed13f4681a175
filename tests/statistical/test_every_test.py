"""The rates of ``docs/error-rates.md``: sizes in the settings where they are worst; in all, and powers, with --full."""

import inspect
import re
import typing

import pytest
from public import PUBLIC

import caltest as ct

from .every_test import OTHERS, PAGE, TESTS, WRONG, draws, page, rate, stored, worst
from .other_nulls import CALIBRATED, population, squared_error
from .settings import HARD, band, spawn

STATED = {name: worst(row) for name, row in stored().items()}
"""Where the worst rate of a test was found, and how large it was."""
KNOWN_PARTS = {f"{name}, n = {n}" for name in CALIBRATED for n in (100, 400)}
"""Settings of models that are calibrated."""
NO_TESTS = {"CalibrationTest", "power"}
"""What every test is, and what simulates them."""


def valid(name):
    """Whether p-values are valid for every n."""
    return TESTS[name].pvalue.startswith(("exact", "bound"))


def test_page_has_what_is_stored():
    assert page() == PAGE.read_text()


@pytest.mark.parametrize(
    ("name", "where"), [("EquivalenceTest", "too low"), ("ToleranceTest", ""), ("PairedSKCETest", "calibrated")]
)
def test_other_pages_say_the_same_of_tests_of_margins_and_pairs(name, where):
    """The worst rate; and in one table that of all settings but one kind of them, or of models that are calibrated."""
    rates = stored()[name]["size"]["rates"]
    percent = f"{100 * max(rates.values()):.1f} %"
    row = next(line for line in (PAGE.parent / "which-test.md").read_text().splitlines() if f"`{name}(" in line)
    said = row.rpartition(" | ")[2]
    assert said.startswith(percent)
    if where:
        kept = [
            rate
            for setting, rate in rates.items()
            if (setting in KNOWN_PARTS if name[0] == "P" else where not in setting)
        ]
        assert f"; {100 * max(kept):.1f} % " in said
    text = " ".join((PAGE.parent / "validity.md").read_text().split())
    assert f"`{name}` rejects up to {percent}" in text or f"`{name}` up to {percent}" in text


def has_a_pvalue(thing):
    """Whether a call, or the result of a test that is updated, has a p-value."""
    for call in (thing, *(getattr(thing, name, None) for name in ("__call__", "result"))):
        result = typing.get_type_hints(call).get("return") if callable(call) else None
        # Comparisons and verifications have one in each row.
        rows = getattr(result, "__dataclass_fields__", {})
        if any(name.startswith("pvalue") for name in rows) or ("rows" in rows and "score_name" in rows):
            return True
    return False


def test_every_public_test_has_a_row_or_is_named_on_the_page():
    rows = {name.partition("(")[0].partition(",")[0] for name in (*TESTS, *OTHERS)}
    tests = {thing.__name__ for name, thing in PUBLIC.items() if inspect.isclass(thing) and name.endswith("Test")}
    assert tests - rows == {"CalibrationTest"}
    named = {name.rpartition(".")[2] for name in re.findall(r"`([\w.]+)`", PAGE.read_text())}
    calls = {thing.__name__ for thing in PUBLIC.values() if has_a_pvalue(thing)}
    assert len(calls) > 40
    assert calls - rows - named == NO_TESTS


def test_every_row_has_its_rates():
    assert stored().keys() == {*TESTS, *OTHERS}
    for name, row in stored().items():
        for kind, measured in row.items():
            known = set(measured["rates"])
            assert known == set(draws(kind, name)[0]) or (name in TESTS and known < set(draws(kind, name)[0]))
            assert known


@pytest.mark.parametrize("name", ["3 classes, Dir(0.1), a fifth moved", "numbers, 0.3 sd too low"])
def test_errors_of_populations_are_what_estimates_have_on_average(name):
    claimed, true = population(name)
    kernel, rng = claimed.default_kernel().resolve(claimed), spawn(208)
    rows = [rng.integers(len(claimed), size=400) for _ in range(100)]
    found = [ct.SKCE(kernel)(claimed.take(one), true.take(one).sample(rng)) for one in rows]
    mean = sum(found) / 100
    spread = (sum((one - mean) ** 2 for one in found) / 99 / 100) ** 0.5
    assert abs(mean - squared_error(kernel, claimed, true)) < 3.0 * spread < 0.3 * mean


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


def new_rate(kind, name, setting, number):
    """Of other data sets than those that are stored, or of more, where few are."""
    return rate(kind, name, setting, number, *([1] if name in OTHERS else []))


@pytest.mark.statistical
@pytest.mark.usefixtures("without_findings")
@pytest.mark.every(7)
@pytest.mark.parametrize("name", [*TESTS, *OTHERS])
def test_stated_sizes_hold(name, replications):
    setting, stated = STATED[name]
    number = replications(12 if name.startswith("OmnibusTest") else 40, 1000)
    for one in replications([setting], list(draws("size", name)[0])):
        found = new_rate("size", name, one, number)
        assert found is None or number * found <= band(number, stated)[1]


@pytest.mark.statistical
@pytest.mark.full
@pytest.mark.usefixtures("without_findings")
@pytest.mark.parametrize("name", [*TESTS, *OTHERS])
def test_stated_powers_hold(name):
    """Within 3.5 standard errors of a difference."""
    row = stored()[name]["power"]
    for fault, stated in row["rates"].items():
        middle = min(max(stated, 0.02), 0.98)
        allowed = 3.5 * (middle * (1.0 - middle) * (1 / row["sets"] + 1 / 400)) ** 0.5
        assert abs(new_rate("power", name, fault, 400) - stated) <= allowed


@pytest.mark.statistical
@pytest.mark.usefixtures("without_findings")
@pytest.mark.parametrize("name", [name for name in TESTS if STATED[name][1] > 0.07 and not valid(name)])
def test_results_say_that_the_size_is_not_kept(name):
    """In the setting of the worst size, where the data of that size give a result."""
    rng = spawn(201)
    p = HARD[STATED[name][0]](rng)
    notes = TESTS[name].make(p, rng)(p, p.sample(rng), rng=rng).notes
    assert any("reject" in note and ("%" in note or "far too often" in note) for note in notes)
