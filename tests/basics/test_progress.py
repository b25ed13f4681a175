"""Progress bars: on standard error, only where they were asked for, only for what takes more than a second."""

import io
import re

import numpy as np
import pytest
import tqdm

import caltest as ct
from caltest._basics.threads import in_terminal, progress_bars, tracked

RNG = np.random.default_rng(1)
P = RNG.dirichlet(np.ones(3), 700)
Y = RNG.integers(0, 3, 700)
TV = ct.ProductKernel(ct.ExponentialKernel(ct.TotalVariation(), 0.4), ct.DeltaKernel())
MEDIAN = ct.ProductKernel(ct.ExponentialKernel(ct.TotalVariation()), ct.DeltaKernel())

CALLS = {
    "SKCE": (lambda **options: ct.SKCE(TV)(P, Y, **options), "kernel of all pairs"),
    "median": (lambda **options: ct.SKCE(MEDIAN)(P, Y, **options), "median distance"),
    "median_bandwidth": (lambda **options: ct.median_bandwidth(P, ct.TotalVariation(), **options), "median distance"),
    "MonteCarloTest": (lambda **options: ct.MonteCarloTest(ct.SKCE(TV), 9)(P, Y, rng=1, **options), "redraws"),
    "ConsistencyTest": (lambda **options: ct.ConsistencyTest(ct.ECE(), 299)(P, Y, rng=1, **options), "resamples"),
    "AsymptoticSKCETest": (lambda **options: ct.AsymptoticSKCETest(TV, 9)(P, Y, rng=1, **options), "bootstrap"),
    "calibration_test": (lambda **options: ct.calibration_test(P, Y, n_resamples=9, **options), "median distance"),
}
calls = pytest.mark.parametrize(("call", "what"), CALLS.values(), ids=CALLS)


@pytest.fixture
def at_once(monkeypatch):
    """Bars as after a second."""
    delayed = tqdm.tqdm

    class Impatient(delayed):
        def __init__(self, *arguments, delay, **options):
            assert delay == 1.0
            super().__init__(*arguments, **{**options, "mininterval": 0.0})

    monkeypatch.setattr(tqdm, "tqdm", Impatient)


@calls
def test_bars_go_to_standard_error(call, what, at_once, capsys):
    call(progress=True)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert what in captured.err


@calls
def test_no_bar_is_shown_by_default(call, what, at_once, capsys):
    call()
    call(progress=False)
    assert capsys.readouterr() == ("", "")


@calls
def test_nothing_is_shown_of_what_takes_less_than_a_second(call, what, capsys):
    call(progress=True)
    assert capsys.readouterr() == ("", "")


@calls
def test_a_bar_is_not_a_number(call, what):
    for value in (1, 0, None, "yes"):
        with pytest.raises(ValueError, match=f"progress: got {value!r}, wanted True or False"):
            call(progress=value)


def test_a_slow_loop_shows_its_name_and_its_parts(monkeypatch, capsys):
    """A clock that moves two seconds at every look stands for slow parts."""
    ticks = iter(range(0, 10_000, 2))
    monkeypatch.setattr(tqdm.tqdm, "_time", staticmethod(lambda: float(next(ticks))), raising=False)
    monkeypatch.setattr("tqdm.std.time", lambda: float(next(ticks)))
    with progress_bars(True):
        assert list(tracked(range(3), 3, "slow parts")) == [0, 1, 2]
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "slow parts" in captured.err
    assert re.search(r"about \d\d:\d\d left: slow parts, 1 of 3 \|", captured.err)


def test_bars_end_with_the_block_and_with_its_error(at_once, capsys):
    with progress_bars(True), progress_bars(False):
        list(tracked(range(3), 3, "inner"))
    with pytest.raises(KeyError), progress_bars(True):
        raise KeyError
    list(tracked(range(3), 3, "after"))
    assert capsys.readouterr() == ("", "")


def test_results_are_those_without_a_bar(at_once):
    test = ct.MonteCarloTest(ct.SKCE(TV), 19)
    shown, hidden = test(P, Y, rng=1, progress=True), test(P, Y, rng=1)
    assert np.array_equal(shown.null_distribution, hidden.null_distribution)
    assert shown.to_dict() == hidden.to_dict()


class Full(io.StringIO):
    """A stream that takes nothing."""

    def write(self, text):
        raise OSError("no space left on device")


def closed():
    stream = io.StringIO()
    stream.close()
    return stream


@pytest.mark.parametrize("stream", [lambda: None, closed, Full, object], ids=["none", "closed", "full", "no stream"])
def test_a_missing_closed_or_full_standard_error_changes_nothing(stream, at_once, monkeypatch):
    expected = ct.MonteCarloTest(ct.SKCE(TV), 9)(P, Y, rng=1).to_dict()
    monkeypatch.setattr("sys.stderr", stream())
    assert ct.MonteCarloTest(ct.SKCE(TV), 9)(P, Y, rng=1, progress=True).to_dict() == expected
    assert not in_terminal()
