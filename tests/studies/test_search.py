import pytest

from caltest.studies.search import Search


def test_doubling_ends_at_the_first_size_that_has_the_power(monkeypatch):
    monkeypatch.setattr(Search, "rate", lambda self, n, m: {8: 0.2, 16: 0.8, 32: 0.9}[n])
    monkeypatch.setattr(Search, "_crossing", lambda *_: None)
    doubled = Search(None, None, 0.05, 0.95, 1)._doubled
    assert doubled(0.2, 100, 8, 1000) is None
    assert doubled(0.8, 100, 8, 1000) == pytest.approx(16.0 / 2.0**0.5)
    assert doubled(0.8, 100, 8, 16) == pytest.approx(16.0 / 2.0**0.5)
    assert doubled(0.81, 100, 8, 32) == pytest.approx(32.0 / 2.0**0.5)
