import pytest

from caltest._results.measures import Measure, ends_of, matters, percent, practical, shares_of, widest
from caltest._results.values import ConfidenceInterval


def test_ends_of_intervals_are_told_apart():
    def said(low, high):
        return ends_of(ConfidenceInterval(low, high, 0.95, ""))

    assert said(0.7991, 0.802) == "79.9 to 80.2"
    assert (said(0.012, 0.014), said(0.01201, 0.01204), said(0.5, 0.5)) == ("1.2 to 1.4", "1.201 to 1.204", "50 to 50")


def test_the_widest_gap_is_that_of_most_margins():
    """Of gaps that may be 0 the one that may be the largest multiple of its margin, not the one that may be largest."""
    gaps = [("small", 0.005, 0.001), ("large", 0.02, 0.02)]
    known = [
        Measure("accuracy", 0.5, gap=ConfidenceInterval(0.0, high, 0.95, "exact", 0.0), margin=margin, event=event)
        for event, high, margin in gaps
    ]
    assert "of small are 0 to 0.5 percentage points off" in widest(known)
    assert widest([Measure("log loss", 0.5)]) is None


def test_one_gap_beyond_its_margin_is_enough_to_matter():
    small, unclear, large = (
        Measure("accuracy", 0.5, gap=ConfidenceInterval(low, high, 0.95, "exact"), margin=0.02)
        for low, high in ((0.0, 0.01), (0.01, 0.03), (0.03, 0.05))
    )
    assert matters([small, large]) is matters([unclear, large]) is True
    assert matters([small, unclear]) is None
    assert matters([small, Measure("log loss", 0.5)]) is False


def gap(event, low, estimate, high, margin):
    return Measure(event, 0.5, gap=ConfidenceInterval(low, high, 0.95, "exact", estimate), margin=margin, event=event)


def test_the_verdict_and_the_size_are_of_the_same_probabilities():
    """The second gap is larger in margins, and only the first is known to be above its margin."""
    known = gap("shift", 0.05, 0.10, 0.15, 0.04), gap("spread", 0.01, 0.06, 0.11, 0.02)
    assert practical(True, known, None) == ": the error is large enough to matter"
    assert widest(known).startswith("probabilities of shift are 5 to 15 ")
    open_ones = gap("shift", 0.02, 0.09, 0.14, 0.04), gap("spread", 0.0, 0.04, 0.09, 0.02)
    assert "whether probabilities of shift are more than 4 points off" in practical(True, open_ones, None)
    assert widest(open_ones).startswith("probabilities of shift are 2 to 14 ")


def test_from_a_power_of_80_percent_on_nothing_was_missed():
    open_one, ruled_out = gap("shift", 0.01, 0.02, 0.05, 0.04), gap("shift", 0.0, 0.01, 0.02, 0.04)
    missed = ", but errors that matter could have been missed"
    assert [practical(False, [open_one], power) for power in (None, 0.79, 0.8)] == [missed, missed, ""]
    assert practical(False, [], None) == ""
    assert practical(False, [ruled_out], 0.1) == ", and errors that matter are ruled out"


def test_no_share_between_0_and_1_is_printed_as_one_of_them():
    assert percent(1e-74) == percent(0.0, 1e-74) == "0.0 %"
    said = [percent(share) for share in (0.0, 1e-12, 1e-6, 0.00034, 0.97, 1 - 1e-6, 1.0)]
    assert said == ["0.0 %", "1e-10 %", "0.00010 %", "0.034 %", "97.0 %", "99.99990 %", "100.0 %"]
    interval = ConfidenceInterval(0.0, 0.03, 0.95, "")
    assert shares_of(1e-12, 0.0, interval) == ["1e-10 %", "0.0 %", "0.0 to 3.0 %"]


@pytest.mark.parametrize(
    ("shares", "text"),
    [
        ((0.5, 1e-4), "50.000 %"),
        ((0.5, 1e-8), "50.0000 %"),  # though the other one has seven digits,
        ((0.5, 1e-9), "50.0 %"),  # and none for one that is a power of 10.
        ((1e-8,), "0.0000010 %"),
        ((1e-9,), "1e-07 %"),
        ((1.0 - 1e-9,), "99.99999990 %"),
        ((0.0, 0.02), "0.0 %"),
    ],
)
def test_digits_of_shares(shares, text):
    assert percent(*shares) == text
