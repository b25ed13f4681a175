"""Windows and waves of claims, against sums over the predictions in each of their places."""

import re
from types import SimpleNamespace

import numpy as np
import pytest

import caltest as ct
from caltest.predictions.faults.classes.claims import BinaryView
from caltest.predictions.faults.classes.windows import WINDOWS, FollowedWave, Wave, Window, claims_of
from caltest.predictions.faults.fault import ranks
from caltest.predictions.faults.waves import FASTEST, choices, following
from caltest.predictions.faults.words import Fit

RNG = np.random.default_rng(4)
P, W = RNG.beta(1.0, 2.0, 3000), RNG.uniform(0.5, 2.0, 3000)
CAME = (RNG.random(3000) < P + 0.7 * np.cos(16.0 * np.pi * ranks(P)) * np.minimum(P, 1.0 - P)).astype(np.int64)
SEEN, VIEW = SimpleNamespace(first=CAME), BinaryView(ct.Bernoulli(P), W, None)
(FOLLOWED,) = FollowedWave.following(VIEW, [1], CAME)


def test_windows_are_a_quarter_of_their_width_apart():
    for width in (1 / 2, 1 / 3, 1 / 4, 1 / 6, 1 / 8, 1 / 12):
        some = WINDOWS[np.isclose(WINDOWS[:, 1] - WINDOWS[:, 0], width)]
        assert some[:, 0] == pytest.approx(np.arange(0.0, 1.0 - width + 1e-9, width / 4))


def test_windows_have_ten_predictions_at_least():
    """And the predictions that they say, in wide ones and in narrow ones."""
    one = np.append(np.full(19, 0.2), 0.9)
    for p in (one, *(np.linspace(0.1, 0.9, n) for n in (19, 20, 40, 60, 79, 80, 119, 120))):
        claims = claims_of(BinaryView(ct.Bernoulli(p), None, None), 1)
        for i, (low, high) in enumerate(WINDOWS):
            inside = (ranks(p) > low) & (ranks(p) <= high) & (p.size * (high - low) > 9.99)
            assert (claims.inside(i) == inside).all()
            assert claims.have_some[i] == inside.any()


def test_waves_are_compared_by_squared_standardised_sums_of_errors():
    """Of ranks that are rounded to the middles of 64 groups, or of those of the wave that is followed."""
    middles = (np.floor(64 * ranks(P)) + 0.5) / 64
    cosines = np.cos(np.pi * np.arange(2, 7)[:, None] * middles)
    for wave, lines in ((Wave(VIEW, [1], 6), cosines), (FOLLOWED, FOLLOWED.along(0)[None])):
        expected = np.square(lines @ (W * (CAME - P))) / (np.square(lines) @ (W**2 * P * (1.0 - P)))
        assert wave.promising(SEEN) == pytest.approx(expected, rel=1e-9)
        assert wave.range == (-6.0, 6.0)
    same = BinaryView(ct.Bernoulli(np.full(60, 0.3)), None, None)
    assert (Wave(same, [1], 6).promising(SEEN) == np.full(5, -np.inf)).all()
    assert FollowedWave.following(same, [1], CAME[:60]) == ()


def test_waves_change_log_odds_by_cosines_of_ranks():
    assert Wave(VIEW, [1], 6).along(3) == pytest.approx(np.sqrt(2.0) * np.cos(5.0 * np.pi * ranks(P)))


def test_the_wave_that_is_followed_is_that_of_weighted_errors():
    (wave,) = following((W * (CAME - P))[None], P, "claims", 7)
    assert FOLLOWED.along(0) == pytest.approx(wave.signs)
    assert abs(np.corrcoef(wave.signs, np.cos(16.0 * np.pi * ranks(P)))[0, 1]) > 0.95
    assert FOLLOWED.n_choices == choices([wave], W) == FASTEST * np.sqrt(W.sum())


@pytest.mark.parametrize("phase", [0.0, 1.0, 2.0])
def test_waves_of_seven_half_periods_are_followed_whatever_their_phase(phase):
    wave = np.cos(7.0 * np.pi * ranks(P) + phase)
    (found,) = FollowedWave.following(VIEW, [1], (P + 0.5 * wave > 0.5).astype(np.int64))
    assert np.corrcoef(found.along(0), wave)[0, 1] > 0.9


def off(some):
    """Of the predictions of a half period: standard errors, and ends, frequency and mean of the claims."""
    w, p = W[some] / W[some].sum(), P[some]
    error = np.sqrt(np.square(w) @ (p * (1.0 - p)))
    return abs(w @ (CAME[some] - p)) / error, p.min(), p.max(), w @ CAME[some], w @ p


@pytest.mark.parametrize(("fault", "sibling"), [(Wave(VIEW, [1], 17), 14), (FOLLOWED, 0)])
def test_words_of_waves_are_of_half_periods_that_are_clear(fault, sibling):
    periods = fault.half_periods(sibling)
    assert np.array(periods).sum(axis=0) == pytest.approx(1)
    signs = fault.along(sibling)
    assert all((signs[some] >= 0.0).all() or (signs[some] <= 0.0).all() for some in periods)
    clear = [values for z, *values in map(off, periods) if z > 2.0]
    said, other = fault.words(SEEN, sibling, None), r", and so on in (\d+) other places$"
    assert said.startswith("claims are off in places: those from ")
    assert int(re.search(other, said)[1]) == len(clear) - 4
    found = re.findall(r"from ([\d.]+) to ([\d.]+) come true ([\d.]+) % of the time instead of ([\d.]+) %", said)
    numbers = np.array(found, dtype=float) / [1.0, 1.0, 100.0, 100.0]
    assert any(numbers == pytest.approx(np.array(clear[i : i + 4]), abs=6e-3) for i in range(len(clear) - 3))


def test_waves_that_are_clear_nowhere_are_off_in_places():
    """Of outcomes that occur as often as claimed among any neighbours."""
    p = np.linspace(0.01, 0.99, 500)
    seen = SimpleNamespace(first=np.diff(np.floor(np.cumsum(p)), prepend=0.0))
    view = BinaryView(ct.Bernoulli(p), None, None)
    assert Wave(view, [1], 6).words(seen, 0, None) == "claims are off in places"


def test_words_of_windows_are_weighted_means_in_them():
    window = int(np.flatnonzero(np.isclose(WINDOWS[:, 1] - WINDOWS[:, 0], 1 / 12))[4])
    fault = Window(VIEW, [1])
    _, low, high, came, claimed = off(VIEW.event.inside(window))
    w, x = W[VIEW.event.inside(window)], P[VIEW.event.inside(window)]
    for t, side in ((0.3, "low"), (-0.3, "high")):
        odds = [x / (1.0 - x) * np.exp(t + by) for by in (-0.1, 0.1)]
        ends = [np.average(one / (1.0 + one), weights=w) for one in odds]
        rate, instead, *ends = (f"{100 * one:.2g} %" for one in (came, claimed, *ends))
        assert fault.words(SEEN, window, Fit(t, t - 0.1, t + 0.1)) == (
            f"claims from {low:.2f} to {high:.2f} are too {side}: they come true {rate} of the time "
            f"({ends[0]} to {ends[1]}) instead of {instead}"
        )


def test_words_after_a_correction_say_that_claims_are_corrected():
    """Windows are named in the given claims, whose mean is another one."""
    rng = np.random.default_rng(7)
    p = np.linspace(0.01, 0.99, 3000)
    faults = ct.Bernoulli(p).faults()
    seen = faults.seen((rng.random(3000) < p).astype(int)[None])
    (odds,) = [one for one in faults.kinds if one.kind == "frequency"]
    after, corrected = faults.after(seen, odds.corrected(seen, 0, -1.0))
    plain, later, wave = (
        next(one for one in some.kinds if one.kind == kind).words(of, 1, Fit(-1.0, -1.2, -0.8))
        for some, of, kind in ((faults, seen, "window"), (after, corrected, "window"), (after, corrected, "wave"))
    )
    assert re.search(r" instead of [\d.]+ %$", plain)
    assert re.search(r" instead of the corrected [\d.]+ %$", later)
    assert re.search(r" come true [\d.]+ % of the time instead of the corrected [\d.]+ %", wave)


def test_likelihoods_of_windows_are_those_of_their_odds():
    window, t = 30, 0.7
    inside = VIEW.event.inside(window)
    q = np.where(inside, P * np.exp(t) / (1.0 - P + P * np.exp(t)), P)
    expected = W @ (CAME * np.log(q / P) + (1 - CAME) * np.log((1.0 - q) / (1.0 - P)))
    assert Window(VIEW, [1]).log_ratio(SEEN, window, t) == pytest.approx(expected, rel=1e-9)
