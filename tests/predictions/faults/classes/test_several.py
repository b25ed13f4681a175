"""Rows of classes, claims and pairs, against loops over observations; features of predictions."""

import numpy as np
import pytest
from scipy import special

import caltest as ct
from caltest.estimators.combined.findings import findings_of
from caltest.predictions.faults.classes import labels
from caltest.predictions.faults.classes.labels import ClassView, Labels
from caltest.predictions.faults.classes.several import Neighbours, Permutation
from caltest.predictions.faults.classes.windows import WINDOWS
from caltest.predictions.inputs.convert import as_sample

RNG = np.random.default_rng(4)
N, K, B = 30, 4, 5
P = RNG.dirichlet(np.ones(K), N)
Y = RNG.integers(0, K, (B, N))
W = RNG.uniform(0.5, 2.0, N)


def rows_of(faults, name, targets):
    (some,) = [one for one in faults.compared if one.name == name]
    rows = some.rows(faults.seen(targets))
    assert rows.shape == (some.n_rows, len(targets))
    return rows


def cosine(values, j):
    ranks = np.array([((values < v).sum() + (values <= v).sum()) / 2.0 for v in values]) / values.size
    return np.sqrt(2.0) * np.cos(np.pi * j * ranks)


def groups_of(values):
    """The one of 64 groups of each rank, (n,)."""
    ends = np.quantile(values, np.arange(1, 64) / 64, method="inverted_cdf")
    return np.array([((ends < v).sum() + (ends <= v).sum()) // 2 for v in values])


def rounded_cosine(values, j):
    return np.sqrt(2.0) * np.cos(np.pi * j * (groups_of(values) + 0.5) / 64)


FAULTS = ct.Categorical(P).faults(W)


def test_totals_curves_waves_and_windows():
    totals = [[W[y == c].sum() for y in Y] for c in range(K)]
    assert rows_of(FAULTS, "frequency", Y) == pytest.approx(np.array(totals), rel=1e-12)
    claims = [(P[:, c], c == Y) for c in range(K)]
    with_hits = [*claims, (P.max(axis=1), P.argmax(axis=1) == Y)]
    speeds = ("curves", (1, 2, 3), claims), ("waves", range(4, 13), with_hits), ("fast waves", range(13, 25), with_hits)
    for name, some, of in speeds:
        curves = [[(W * rounded_cosine(p, j))[one].sum() for one in came] for p, came in of for j in some]
        assert rows_of(FAULTS, name, Y) == pytest.approx(np.array(curves), abs=1e-10)
    some = [(s, s + 16) for s in range(0, 49, 8)] + [(s, s + 8) for s in range(0, 57, 4)]
    inside = [[(groups_of(p) >= low) & (groups_of(p) < high) for low, high in some] for p, _ in with_hits]
    windows = [
        [W[one & own].sum() for own in came] for (_, came), of in zip(with_hits, inside, strict=True) for one in of
    ]
    assert rows_of(FAULTS, "windows", Y) == pytest.approx(np.array(windows), abs=1e-10)


def test_hits():
    top, confidence = P.argmax(axis=1), P.max(axis=1)
    features = [np.ones(N), *(rounded_cosine(confidence, j) for j in (1, 2, 3))]
    hits = [[(W * f)[y == top].sum() for y in Y] for f in features]
    assert rows_of(FAULTS, "hits", Y) == pytest.approx(np.array(hits), abs=1e-10)
    by_class = [[W[(top == a) & (y == a)].sum() for y in Y] for a in range(K)]
    logs = [[(W * np.log(P[np.arange(N), y]))[top == a].sum() for y in Y] for a in range(K)]
    assert rows_of(FAULTS, "scores by predicted class", Y) == pytest.approx(np.array(by_class + logs), abs=1e-10)


def test_leaks_and_swaps():
    m = np.array([[[(W * P[:, a])[y == b].sum() for b in range(K)] for a in range(K)] for y in Y])
    ordered = [(a, b) for a in range(K) for b in range(K) if a != b]
    leaks = {(a, b): m[:, a, b] - m[:, a, a] for a, b in ordered}
    assert rows_of(FAULTS, "leak", Y) == pytest.approx(np.array([leaks[pair] for pair in ordered]), abs=1e-10)
    swaps = [leaks[a, b] + leaks[b, a] for a, b in ordered if a < b]
    assert rows_of(FAULTS, "swap", Y) == pytest.approx(np.array(swaps), abs=1e-10)


@pytest.mark.parametrize("table", [labels.TABLE, 40])
def test_likelihood_of_pairs(table, monkeypatch):
    monkeypatch.setattr(labels, "TABLE", table)
    logs = []
    for fault in FAULTS.kinds:
        if fault.kind in ("leak", "swap"):
            logs += [
                [fault.log_ratio(FAULTS.seen(y[None]), sibling, labels.PAIR_SHARE) for y in Y]
                for sibling in range(fault.n_siblings)
            ]
    assert rows_of(FAULTS, "likelihood of pairs", Y)[0] == pytest.approx(np.logaddexp.reduce(logs, axis=0), rel=1e-9)


def test_windows_of_claims():
    p, y = np.round(RNG.random(60), 1), RNG.integers(0, 2, (B, 60))
    faults = ct.Bernoulli(p).faults()
    rows = rows_of(faults, "windows of claims", y)
    ranks = np.array([((p < v).sum() + (p <= v).sum()) / 2.0 for v in p]) / 60
    for (low, high), row in zip(WINDOWS, rows, strict=True):
        inside = (ranks > low) & (ranks <= high)
        enough = 60 * (high - low) > 9.99
        assert row == pytest.approx(y[:, inside].sum(axis=1) if enough and inside.any() else np.zeros(B))
    features = np.array([np.ones(60), *(cosine(p, j) for j in range(1, 25))])
    assert rows_of(faults, "claims", y) == pytest.approx(features[:7] @ y.T, abs=1e-10)
    assert rows_of(faults, "waves of claims", y) == pytest.approx(features[7:] @ y.T, abs=1e-10)


def test_many_classes_have_pairs_of_the_most_frequent_ones():
    p = RNG.dirichlet(np.full(50, 0.3), 80)
    faults = ct.Categorical(p).faults()
    chosen = faults.view.chosen
    assert chosen.tolist() == sorted(np.argsort(-p.sum(axis=0))[: labels.MOST_CLASSES].tolist())
    y = RNG.integers(0, 50, (B, 80))
    assert rows_of(faults, "leak", y).shape[0] == 32 * 31
    a, b = int(chosen[0]), int(chosen[1])
    expected = [p[one == b, a].sum() - p[one == a, a].sum() for one in y]
    assert rows_of(faults, "leak", y)[0] == pytest.approx(expected, abs=1e-10)
    assert rows_of(faults, "frequency", y).sum(axis=0) == pytest.approx(np.full(B, 80.0))


def test_constant_predictions_have_no_curves():
    faults, y = ct.Categorical(np.tile([0.2, 0.3, 0.5], (20, 1))).faults(), RNG.integers(0, 3, (B, 20))
    assert not rows_of(faults, "curves", y).any()
    assert not rows_of(faults, "waves", y).any()
    assert not rows_of(faults, "windows", y).any()


def test_classes_that_are_all_too_frequent_are_said_together():
    rng = np.random.default_rng(4)
    p = rng.dirichlet([2.0, 2.0, 0.3, 0.3], 2000)
    both, one, other_way = [1.0, 1.0, 2.5, 2.5], [1.0, 1.0, 2.5, 1.0], [0.4, 1.0, 1.0, 1.0]
    for factors, together in ((both, True), (one, False), (other_way, False)):
        law = p * factors
        y = (np.cumsum(law, axis=1) < rng.random((2000, 1)) * law.sum(axis=1, keepdims=True)).sum(axis=1)
        first = findings_of(as_sample(p, y))[0]
        assert first.kind == "frequency"
        assert ("; and class" in first.words) is together


def test_constant_claims_have_one_fault():
    """All faults of one claim are the same law."""
    y = (np.arange(1000) < 260).astype(int)
    result = ct.calibration_test(ct.Bernoulli(np.full(1000, 0.2)), y, n_resamples=19, rng=1)
    assert result.finding.words.startswith("class 1 occurs more often than predicted, 260 times instead of 200")
    assert "; or" not in result.finding.words


def test_equal_claims_have_no_range():
    p = np.concatenate([np.full(400, 0.9), np.linspace(0.1, 0.89, 600)])
    faults = ct.Bernoulli(p).faults()
    (windows,) = [one for one in faults.kinds if one.kind == "window"]
    places = {windows.place(sibling) for sibling in range(windows.n_siblings)}
    assert "claims of 0.90" in places


def test_other_chosen_classes_have_their_own_probabilities():
    """Also where those of the classes predicted most often are known already."""
    p = np.random.default_rng(4).dirichlet(np.linspace(0.2, 2.0, 50), 300)
    view = ct.Categorical(p).faults().view
    assert view.of_chosen == pytest.approx(p[:, view.chosen])
    assert view.own_groups.shape == (300, view.chosen.size + 1)
    few = view.choosing(np.array([0, 3, 49]))
    assert few.of_chosen == pytest.approx(p[:, [0, 3, 49]])
    assert few.places[[0, 3, 49, 7]].tolist() == [0, 1, 2, 3]
    assert (few.edges.shape, few.own_groups.shape) == ((4, 63), (300, 4))
    assert few.origin is few
    assert view.of_chosen.shape == (300, view.chosen.size)


@pytest.mark.parametrize("exchanged", [{0: 1, 1: 0, 2: 3, 3: 2}, {1: 4, 4: 1, 0: 5, 5: 0}])
def test_two_pairs_of_confused_classes_are_told_from_random_labels(exchanged):
    """Alone, random labels explain more than either pair; both pairs together explain more than these and one pair."""
    rng = np.random.default_rng(1)
    p = ct.Categorical(rng.dirichlet(np.full(6, 0.5), 2000))
    y = p.sample(rng)
    other = np.array([exchanged.get(c, c) for c in range(6)])
    y = np.where(rng.random(2000) < 0.3, other[y], y)
    words = findings_of(as_sample(p, y))[0].words
    assert words.count("are confused") == 2
    assert "random" not in words


@pytest.mark.every(2)
@pytest.mark.parametrize("temperature", [1.15, 1.0])
def test_what_all_predictions_share_is_named_before_a_window(temperature):
    """Overconfidence that is larger from 0.7 to 0.97 than at the temperature: a window alone is a bit more likely."""
    rng = np.random.default_rng(1)
    p = np.exp(2.5 * rng.normal(size=(4000, 6)))
    p /= p.sum(axis=1, keepdims=True)
    rows, top, q = np.arange(len(p)), p.argmax(axis=1), p ** (1.0 / temperature)
    q /= q.sum(axis=1, keepdims=True)
    hit = q.max(axis=1) - 0.12 * ((p.max(axis=1) > 0.7) & (p.max(axis=1) < 0.97))
    q *= ((1.0 - hit) / (1.0 - q.max(axis=1)))[:, None]
    q[rows, top] = hit
    y = (q.cumsum(axis=1) < rng.random((len(p), 1))).sum(axis=1)
    first, *others = findings_of(as_sample(p, y))
    if temperature > 1.0:
        assert (first.kind, first.second.kind) == ("temperature", "window")
        assert first.gain < next(one.gain for one in others if one.kind == "window")
    else:
        assert first.place.startswith("claims of the most probable class")


@pytest.mark.parametrize("seed", range(3))
def test_constant_predictions_have_other_shares_and_nothing_else(seed):
    """Other laws of theirs, of random labels or confused classes, are shares of which nobody saw more."""
    rng = np.random.default_rng(seed)
    p = np.tile([0.5, 0.3, 0.2], (1000, 1))
    found = findings_of(as_sample(p, rng.choice(3, 1000, p=[0.4, 0.3, 0.3])))
    assert {one.kind for one in found} <= {"frequency", "frequencies"}
    assert found[0].gain > 0.0
    assert "class 2" in found[0].words
    assert findings_of(as_sample(p, rng.choice(3, 1000, p=p[0])))[0].gain <= 0.0


def next_of(y, k, rng):
    return (y + 1) % k


def last_stays(y, k, rng):
    return np.minimum(y + 1, k - 1)


def one_before(y, k, rng):
    return (y - 1) % k


def of_another_order(y, k, rng):
    return np.array([2, 0, 4, 1, 3])[y]


@pytest.mark.parametrize(
    ("move", "said"),
    [
        (
            next_of,
            "are of the class after the one that is predicted: what is predicted as class 0 turns out as class 1",
        ),
        (last_stays, "what is predicted as class 0 turns out as class 1, and so on, class 4 stays"),
        (one_before, "are of the class before the one that is predicted: what is predicted as class 4 turns out as"),
        (of_another_order, "what is predicted as class 1 turns out as class 0, what is predicted as class 3 turns out"),
    ],
)
@pytest.mark.parametrize("share", [0.15, 1.0])
def test_labels_that_are_moved_to_other_classes(move, said, share):
    rng = np.random.default_rng(31)
    p = rng.dirichlet(np.full(5, 0.5), 2000)
    y = ct.Categorical(p).sample(rng)
    moved = np.where(rng.random(2000) < share, move(y, 5, rng), y)
    first = findings_of(as_sample(p, moved))[0]
    assert (first.kind, said in first.words) == ("order", True)
    assert first.estimate == pytest.approx(share, abs=0.03)


def test_moved_labels_are_those_of_a_law():
    p, t = np.random.default_rng(32).dirichlet(np.ones(4), 30), 0.3
    for make in (Permutation, Neighbours):
        for sibling in range(4 if make is Neighbours else 1):
            view = ClassView(ct.Categorical(p), None)
            fault, y = make(view), np.random.default_rng(33).integers(0, 4, 30)
            seen = Labels(view, y[None])
            q = fault.law(seen, sibling, t)
            assert q.sum(axis=1) == pytest.approx(np.ones(30), rel=1e-12)
            expected = np.log(q[np.arange(30), y] / p[np.arange(30), y]).sum()
            assert fault.log_ratio(seen, sibling, t) == pytest.approx(expected, rel=1e-12)


def rare(rng, n, mean=-4.0):
    return special.expit(mean + 1.5 * rng.normal(size=n))


def uneven(rng, n):
    return special.softmax(1.5 * rng.normal(size=(n, 3)) + [2.0, 0.0, -1.0], axis=1)


def mixed(rng, p, share):
    some = np.flatnonzero(rng.random(len(p)) < share)
    q = p.copy()
    q[some] = p[rng.permutation(some)]
    return q


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("make", "law"), [(rare, ct.Bernoulli), (uneven, ct.Categorical)])
def test_predictions_of_other_rows_are_said_to_be_that(make, law, seed):
    """Of rare events 40 % of the labels, and not the few that would be random."""
    rng = np.random.default_rng(seed)
    p = make(rng, 4000)
    found = findings_of(as_sample(law(mixed(rng, p, 0.4)), law(p).sample(rng)))[0]
    assert found.kind == "other rows"
    assert found.estimate == pytest.approx(0.4, abs=0.12)
    assert found.words.startswith("predictions are overconfident, as if about ")
    assert found.words.endswith("of them were those of other rows")


@pytest.mark.parametrize("seed", range(4))
def test_events_that_nobody_sees_coming_are_no_random_labels(seed):
    rng = np.random.default_rng(seed)
    p = rare(rng, 6000, -5.5)
    missed = rng.random(6000) < 0.015
    for claims, label in ((p, 1), (1.0 - p, 0)):
        found = findings_of(
            as_sample(ct.Bernoulli(claims), np.where(missed, label, rng.random(6000) < claims).astype(int))
        )[0]
        assert (found.kind, found.place) == ("share", f"class {label}")
        assert found.estimate == pytest.approx(0.015, abs=0.005)


@pytest.mark.parametrize("seed", range(4))
def test_random_labels_of_uneven_classes_keep_their_name(seed):
    rng = np.random.default_rng(seed)
    p = uneven(rng, 2000)
    labels = np.where(rng.random(2000) < 0.2, rng.integers(0, 3, 2000), ct.Categorical(p).sample(rng))
    found = findings_of(as_sample(ct.Categorical(p), labels))[0]
    assert found.kind == "random labels"
    assert found.interval.low < 0.2 < found.interval.high


def test_claims_that_are_rare_only_before_a_correction_have_the_same_faults():
    p = special.expit(-4.0 + np.random.default_rng(6).normal(size=200))
    faults = ct.Bernoulli(p).faults()
    seen = faults.seen(np.zeros((1, 200), dtype=np.uint8))
    after, _ = faults.after(seen, np.stack([1.0 - 20.0 * p, 20.0 * p], axis=1).clip(0.1, 0.9))
    assert [one.kind for one in after.kinds] == [one.kind for one in faults.kinds]
    assert "other rows" in {one.kind for one in after.kinds}


def test_ratios_have_mean_one_and_are_those_of_the_law():
    rng = np.random.default_rng(1)
    p, w = uneven(rng, 30), np.arange(1.0, 31.0)
    faults = ct.Categorical(p).faults(w)
    (fault,) = [one for one in faults.kinds if one.kind == "other rows"]
    labels = ct.Categorical(p).sample(rng)
    q = fault.law(faults.seen(labels[None]), 0, 0.3)
    assert q == pytest.approx(0.7 * p + 0.3 * (w @ p / w.sum()), rel=1e-12)
    rows = np.arange(30)
    expected = w @ np.log(q[rows, labels] / p[rows, labels])
    assert fault.log_ratio(faults.seen(labels[None]), 0, 0.3) == pytest.approx(expected, rel=1e-12)
