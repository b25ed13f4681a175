from caltest._results.measures import Measure, widest
from caltest._results.values import ConfidenceInterval


def test_the_widest_gap_is_that_of_most_margins():
    """Of gaps that may be 0 the one that may be the largest multiple of its margin, not the one that may be largest."""
    gaps = [("small", 0.005, 0.001), ("large", 0.02, 0.02)]
    known = [
        Measure("accuracy", 0.5, gap=ConfidenceInterval(0.0, high, 0.95, "exact", 0.0), margin=margin, event=event)
        for event, high, margin in gaps
    ]
    assert "of small are 0 to 0.5 percentage points off" in widest(known)
    assert widest([Measure("log loss", 0.5)]) is None
