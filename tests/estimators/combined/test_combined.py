"""The default test of data that come in chunks: the same result, whoever takes which rows and in which order."""

import copy

import numpy as np
import pytest
from printed import unfolded

import caltest as ct

N = 400
RNG = np.random.default_rng(8)
SETS = {2: RNG.beta(0.8, 2.0, N), 3: RNG.dirichlet(np.ones(3), N)}
LABELS = {2: (RNG.random(N) < SETS[2]).astype(int), 3: (SETS[3].cumsum(axis=1) < RNG.random(N)[:, None]).sum(axis=1)}
TEST = ct.OmnibusTest(n_resamples=99)


def accumulator(k=3, **options):
    return TEST.accumulator(predictions=SETS[k], rng=5, **options)


def updated(one, rows, k=3, **options):
    return one.update(SETS[k][rows], LABELS[k][rows], **options)


def numbers(result):
    return result.pvalue, result.statistic, result.estimate, result.findings, result.components, result.n


@pytest.mark.parametrize("k", [2, 3])
def test_results_do_not_depend_on_chunks_or_their_order(k):
    whole = numbers(updated(accumulator(k), slice(None), k).result())
    one = accumulator(k)
    for start in range(0, N, 7):
        updated(one, slice(start, start + 7), k)
    assert numbers(one.result()) == whole
    parts = [(250, N), (0, 100), (100, 250)]
    first, *others = [updated(accumulator(k), slice(*part), k, start=part[0]) for part in parts]
    for other in others:
        first.merge(other)
    result = first.result()
    assert numbers(result) == whole
    assert result.seed == 5


def test_dask_arrays_give_the_same_whatever_their_chunks():
    da = pytest.importorskip("dask.array")
    results = [
        ct.calibration_test(
            da.from_array(SETS[3], chunks=(size, 3)), da.from_array(LABELS[3], chunks=size), n_resamples=99, rng=5
        )
        for size in (37, N)
    ]
    assert numbers(results[0]) == numbers(results[1])
    assert results[0].test == "OmnibusTest"


@pytest.mark.parametrize("settings", [{"kernel": SETS}, {"weights": np.ones(N)}, {"missing": "drop"}])
def test_dask_arrays_are_refused_with_what_needs_all_rows(settings):
    da = pytest.importorskip("dask.array")
    with pytest.raises((TypeError, ValueError), match="dask"):
        ct.calibration_test(da.from_array(SETS[2]), da.from_array(LABELS[2]), **settings)


def test_rows_are_taken_once():
    one = updated(accumulator(), slice(0, 50))
    before = numbers(one.result())
    with pytest.raises(ValueError, match="start: got row 49 twice"):
        updated(one, slice(49, 60), start=49)
    with pytest.raises(ValueError, match="other: got row 10 twice"):
        one.merge(updated(accumulator(), slice(10, 20), start=10))
    with pytest.raises(ValueError, match="count twice"):
        one.merge(copy.deepcopy(one))
    assert numbers(one.result()) == before


def test_parts_without_numbers_have_rows_of_their_own():
    one, other = updated(accumulator(part=1), slice(0, 50)), updated(accumulator(part=2), slice(50, N))
    assert one.merge(other).result().n == N
    assert one.result().pvalue > 0.01


def test_what_follows_from_the_first_chunk_must_be_equal():
    one, other = (updated(TEST.accumulator(rng=5, part=part), slice(100 * part, 100 * part + 100)) for part in (0, 1))
    assert one.result().n == 100
    with pytest.raises(ValueError, match="some of all predictions"):
        one.merge(other)


def test_faults_are_found_and_impossible_outcomes_named():
    p = SETS[3] ** 3 / (SETS[3] ** 3).sum(axis=1, keepdims=True)
    one = TEST.accumulator(predictions=p, rng=1)
    for start in range(0, N, 100):
        one.update(p[start : start + 100], LABELS[3][start : start + 100])
    result = one.result()
    assert result.pvalue == 0.01
    assert result.finding.kind == "temperature"
    p = np.where(np.arange(3) == LABELS[3][:, None], 0.0, 0.5)[:10]
    result = one.update(p, LABELS[3][:10]).result()
    assert result.pvalue == 0.0
    assert f"row {N}: class {LABELS[3][0]}" in unfolded(result)


OTHERS = {
    "wider": (lambda p: np.column_stack([p / 2.0, np.full((len(p), 1), 0.5)]), "predictions: got 4 classes, wanted 3"),
    "names": (lambda p: ct.Categorical(p, classes=["a", "b", "d"]), "classes"),
    "empty": (lambda p: p[:0], "got no|got shape|wanted at least one|got an empty"),
    "numbers": (lambda p: ct.Normal(p[:, 0], 1.0), "got Normal predictions, wanted Categorical"),
    "single precision": (lambda p: p.astype(np.float32), None),
}


@pytest.mark.parametrize("name", OTHERS)
def test_chunks_that_differ(name):
    """Of another width, names, family or without rows: refused, and nothing is lost; another precision is none."""
    change, message = OTHERS[name]
    p, y = SETS[3][:200], LABELS[3][:200]
    first = ct.Categorical(p, classes=["a", "b", "c"]) if name == "names" else p
    labels = np.array(["a", "b", "c"])[y] if name == "names" else y
    stream = TEST.accumulator(predictions=first, rng=1).update(first, labels)
    other = change(p)
    if message is None:
        assert stream.update(other, labels).n == 400
        return
    with pytest.raises((TypeError, ValueError), match=message):
        stream.update(other, labels[: len(other)])
    assert stream.n == 200
    assert stream.result().n == 200


def test_what_cannot_come_in_chunks_is_refused():
    centre = np.arange(9.0)
    scores = ct.Unnormalised(lambda centre, y: -(y - centre), centre, points=np.linspace(-4.0, 4.0, 9))
    with pytest.raises(TypeError, match="got Unnormalised predictions in chunks, wanted"):
        TEST.accumulator(predictions=scores)
    with pytest.raises(TypeError, match=r"weights: got some.*keep each row with probability weight / largest weight"):
        ct.OmnibusTest(weights=np.arange(1.0, 4.0)).accumulator(predictions=SETS[3])
    kernel = ct.ProductKernel(ct.ExponentialKernel(ct.TotalVariation(), 0.5), ct.DeltaKernel())
    blocks = ct.AsymptoticBlockSKCETest(kernel).accumulator()
    with pytest.raises(TypeError, match="start: got 3"):
        blocks.update(SETS[3], LABELS[3], start=3)
    one = updated(accumulator(), slice(0, 50))
    with pytest.raises(ValueError, match="classes"):
        one.update(np.full((5, 4), 0.25), np.zeros(5, dtype=int))
    with pytest.raises(ValueError, match="no values"):
        one.update(np.empty((0, 3)), np.empty(0, dtype=int))
    assert one.n == 50


def test_many_classes_come_in_chunks(without_findings):
    rng = np.random.default_rng(9)
    p = rng.dirichlet(np.full(40, 0.1), 300)
    labels = (p.cumsum(axis=1) < rng.random(300)[:, None]).sum(axis=1)
    one, other = (TEST.accumulator(predictions=p, rng=2) for _ in range(2))
    one.update(p[:150], labels[:150], start=0)
    other.update(p[150:], labels[150:], start=150)
    result = one.merge(other).result()
    assert result.n == 300
    assert result.pvalue > 0.01
    wrong = one.update(p, np.full(300, 7)).result()
    assert wrong.pvalue == 0.01
