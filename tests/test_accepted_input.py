"""Data in any container give the same numbers, rounded rows are mended in the open, and user data stay as they are."""

import dataclasses
from dataclasses import FrozenInstanceError, replace
from functools import cache

import numpy as np
import pandas as pd
import polars as pl
import pytest
from printed import unfolded

import caltest as ct
from caltest._loops import rows
from caltest._loops.statistics import binned
from caltest.predictions.inputs.convert import as_predictions

N, K = 40, 3
RNG = np.random.default_rng(0)
# Multiples of 1/64 are exact in every floating-point type down to 8 bits of precision, and so are their sums.
P = RNG.multinomial(64, RNG.dirichlet(np.ones(K), N)) / 64
Y = np.arange(N) % K
P1, Y1 = P[:, 1], (Y == 1).astype(int)
SHUFFLED = RNG.permutation(N)
NAMES = np.array(["eel", "cat", "dog"])
KERNEL = ct.ProductKernel(ct.ExponentialKernel(ct.TotalVariation(), bandwidth=0.5), ct.DeltaKernel())


def table(names, cases):
    return pytest.mark.parametrize(names, cases.values(), ids=cases)


def outcome(p, y, **options):
    """All numbers and words of a result, but for what was found and measured, which has the names of the classes."""
    entries = ct.calibration_test(p, y, n_resamples=19, rng=0, **options).to_dict()
    entries["measures"] = [one | {"name": "", "event": ""} for one in entries["measures"]]
    return {name: entry for name, entry in entries.items() if not name.startswith("finding")}


@cache
def of_classes():
    return outcome(P, Y)


@cache
def of_events():
    return outcome(P1, Y1)


def as_frame(array, **options):
    make = pd.DataFrame if array.ndim == 2 else pd.Series
    return make(array, index=SHUFFLED, **options)


def as_polars(array):
    return pl.DataFrame(array) if array.ndim == 2 else pl.Series(array)


def read_only(array):
    array = array.copy()
    array.flags.writeable = False
    return array


@dataclasses.dataclass
class Tensor:
    """Does what tensors do with ``numpy``: only plain ones in main memory can be converted."""

    values: np.ndarray
    requires_grad: bool = False
    half: bool = False
    device: str = "cpu"

    @property
    def ndim(self):
        return self.values.ndim

    @property
    def shape(self):
        return self.values.shape

    def detach(self):
        return replace(self, requires_grad=False)

    def cpu(self):
        return replace(self, device="cpu")

    def double(self):
        return replace(self, half=False)

    def is_floating_point(self):
        return self.values.dtype.kind == "f"

    def numpy(self):
        if self.requires_grad:
            raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
        if self.device != "cpu":
            raise TypeError(f"can't convert {self.device} device type tensor to numpy")
        if self.half:
            raise TypeError("Got unsupported ScalarType BFloat16")
        return self.values

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.numpy(), dtype=dtype)

    def __len__(self):
        return len(self.values)

    def __getitem__(self, index):
        return replace(self, values=np.asarray(self.values[index]))

    def __float__(self):
        return float(self.values)


FORMS = {
    "lists": np.ndarray.tolist,
    "tuples": lambda a: tuple(map(tuple, a)) if a.ndim == 2 else tuple(a),
    "list of arrays": list,
    "float32": np.float32,
    "float16": np.float16,
    "long double": np.longdouble,
    "big-endian": lambda a: a.astype(">f8"),
    "objects": lambda a: a.astype(object),
    "Fortran order": np.asfortranarray,
    "every other value": lambda a: np.repeat(a, 2, axis=0)[::2],
    "backwards": lambda a: a[::-1].copy()[::-1],
    "read-only": read_only,
    "nothing masked": np.ma.masked_invalid,
    "pandas": as_frame,
    "pandas float32": lambda a: as_frame(a, dtype="float32"),
    "pandas nullable": lambda a: as_frame(a, dtype="Float64"),
    "pandas objects": lambda a: as_frame(a, dtype=object),
    "polars": as_polars,
    "tensor": Tensor,
    "tensor with gradient": lambda a: Tensor(a, requires_grad=True),
    "tensor in half precision": lambda a: Tensor(a, half=True),
    "tensor on a device": lambda a: Tensor(a, requires_grad=True, half=True, device="cuda:0"),
    "list of tensors": lambda a: list(Tensor(a)),
    "list of tensors with gradient": lambda a: list(Tensor(a, requires_grad=True)),
}


@pytest.mark.every(9)
@table("form", FORMS)
def test_forms_of_probabilities(form):
    assert outcome(form(P), Y) == of_classes()
    assert outcome(form(P1), Y1) == of_events()
    assert ct.SKCE(KERNEL)(form(P), Y) == ct.SKCE(KERNEL)(P, Y)


@pytest.mark.every(9)
@table("form", FORMS)
def test_forms_of_labels(form):
    assert outcome(P, form(Y.astype(float))) == of_classes()
    assert outcome(P1, form(Y1.astype(float))) == of_events()
    assert ct.SKCE(KERNEL)(P, form(Y.astype(float))) == ct.SKCE(KERNEL)(P, Y)


@pytest.mark.every(5)
@table("form", FORMS)
def test_forms_of_normal_predictions(form):
    mean, scale = P[:, 0], P[:, 1] + 0.5
    assert outcome(ct.Normal(form(mean), form(scale)), form(P[:, 2])) == outcome(ct.Normal(mean, scale), P[:, 2])


@pytest.mark.parametrize("scale", [1, np.float32(1), np.array(1.0), Tensor(np.array(1.0)), Tensor(np.array(1.0), True)])
def test_one_scale_for_all(scale):
    assert outcome(ct.Normal(P[:, 0], scale), P[:, 2]) == outcome(ct.Normal(P[:, 0], np.ones(N)), P[:, 2])


LABELS = {
    "int8": np.int8,
    "uint8": np.uint8,
    "uint64": np.uint64,
    "objects": lambda y: y.astype(object),
    "pandas": as_frame,
    "pandas nullable": lambda y: as_frame(y, dtype="Int64"),
    "pandas categories": lambda y: as_frame(y, dtype="category"),
    "polars": pl.Series,
    "tensor": Tensor,
}


@pytest.mark.every(2)
@table("form", LABELS)
def test_whole_number_labels(form):
    assert outcome(P, form(Y)) == of_classes()


OUTCOMES = {
    "booleans": lambda y: y == 1,
    "list of booleans": lambda y: (y == 1).tolist(),
    "pandas booleans": lambda y: as_frame(y == 1),
    "pandas nullable booleans": lambda y: as_frame(y == 1, dtype="boolean"),
    "polars booleans": lambda y: pl.Series(y == 1),
    "tensor of booleans": lambda y: Tensor(y == 1),
}


@pytest.mark.every(2)
@table("form", OUTCOMES)
def test_boolean_outcomes(form):
    assert outcome(P1, form(Y1)) == of_events()
    assert outcome(np.stack([1 - P1, P1], axis=1), form(Y1)) == outcome(np.stack([1 - P1, P1], axis=1), Y1)


NAMED = {
    "array": np.asarray,
    "list": np.ndarray.tolist,
    "objects": lambda a: a.astype(object),
    "pandas": pd.Series,
    "pandas strings": lambda a: pd.Series(a, dtype="string"),
    "pandas categories": lambda a: pd.Series(a, dtype="category"),
    "pandas index": pd.Index,
    "polars": pl.Series,
    "polars categories": lambda a: pl.Series(a, dtype=pl.Categorical),
}


@pytest.mark.every(7)
@table("labels", NAMED)
@table("classes", NAMED)
def test_names_of_classes(labels, classes):
    assert outcome(P, labels(NAMES[Y]), classes=classes(NAMES)) == of_classes()


CLASSES = {
    "whole numbers": ([7, 3, 5], np.array([7, 3, 5])[Y]),
    "whole numbers, float labels": ([7, 3, 5], np.array([7.0, 3.0, 5.0])[Y]),
    "1-based": (range(1, 4), Y + 1),
    "fractions": ([0.5, 1.5, 2.5], Y + 0.5),
    "digits": (["0", "1", "2"], Y.astype(str)),
    "words, labels 0..k-1": (NAMES, Y),
    "words, float labels": (NAMES, Y.astype(float)),
    "words that count from 0": (["class 0", "class 1", "class 2"], Y),
}


@table(("classes", "labels"), CLASSES)
def test_classes_that_are_not_names(classes, labels):
    assert outcome(P, labels, classes=classes) == of_classes()
    assert outcome(ct.Categorical(P, classes=classes), labels) == of_classes()


def test_names_of_binary_outcomes():
    names = np.array(["no", "yes"])
    assert outcome(P1, names[Y1], classes=names) == outcome(P1, Y1, classes=names) == of_events()
    with pytest.raises(ValueError, match=r"got [01] at row 0, which is not one of classes"):
        outcome(P1, Y1, classes=["yes", "no"])
    assert outcome(ct.Bernoulli(P1, classes=[False, True]), Y1 == 1) == of_events()
    for words in (["no ", "yes"], ["F", "T"]):
        assert outcome(P1, np.array(words)[Y1]) == of_events()


TORCH = {
    "float64": lambda torch, a: torch.tensor(a),
    "float32": lambda torch, a: torch.tensor(a, dtype=torch.float32),
    "bfloat16": lambda torch, a: torch.tensor(a, dtype=torch.bfloat16),
    "requires_grad": lambda torch, a: torch.tensor(a, dtype=torch.float32, requires_grad=True),
    "bfloat16, requires_grad": lambda torch, a: torch.tensor(a, dtype=torch.bfloat16, requires_grad=True),
    "Parameter": lambda torch, a: torch.nn.Parameter(torch.tensor(a)),
    "list of tensors": lambda torch, a: list(torch.tensor(a)),
    "list, requires_grad": lambda torch, a: list(torch.tensor(a, requires_grad=True)),
    "list, bfloat16": lambda torch, a: list(torch.tensor(a, dtype=torch.bfloat16)),
}


@table("form", TORCH)
def test_torch(form):
    torch = pytest.importorskip("torch")
    assert outcome(form(torch, P), torch.tensor(Y)) == of_classes()
    assert outcome(form(torch, P1), torch.tensor(Y1)) == of_events()
    assert outcome(form(torch, P1), torch.tensor(Y1) == 1) == of_events()
    assert outcome(P, form(torch, Y.astype(float))) == of_classes()


def test_torch_half_precision_counts_as_its_rounded_values():
    torch = pytest.importorskip("torch")
    tensor = torch.tensor(RNG.dirichlet(np.ones(K), N), dtype=torch.bfloat16, requires_grad=True)
    rounded = np.array(tensor.tolist())
    assert outcome(tensor, Y) == outcome(rounded, Y)
    assert outcome(rounded, Y)["notes"][0].startswith("rows of the probabilities summed to 1 only within")


def test_torch_tensors_stay_as_they_are():
    torch = pytest.importorskip("torch")
    tensor, labels = torch.tensor(P * 1.005, requires_grad=True), torch.tensor(Y)
    outcome(tensor, labels)
    assert tensor.requires_grad
    assert np.array_equal(tensor.detach().numpy(), P * 1.005)
    assert np.array_equal(labels.numpy(), Y)


# Rows that do not sum to 1.


@pytest.mark.parametrize("factor", [1 + 9e-7, 1 - 9e-7, 1 + 1e-15])
def test_rows_off_by_a_rounding_error_are_taken_as_they_are(factor):
    p = P * factor
    predictions = ct.Categorical(p)
    assert np.array_equal(predictions.probabilities, p)
    assert predictions.notes == ()
    assert outcome(p, Y)["notes"] == []


@pytest.mark.parametrize("scale", [1, 30])
def test_float32_softmax_is_taken_as_it_is(scale):
    logits = RNG.normal(scale=scale, size=(1000, 100)).astype(np.float32)
    exponentials = np.exp(logits - logits.max(axis=1, keepdims=True))
    p = exponentials / exponentials.sum(axis=1, keepdims=True)
    assert p.dtype == np.float32
    assert np.array_equal(ct.Categorical(p).probabilities, p.astype(float))


@pytest.mark.parametrize(("factor", "off"), [(1.0099, "0.01"), (0.991, "0.009"), (1 + 2e-6, "2e-06")])
def test_rows_off_by_more_are_renormalised_and_said_to_be(factor, off):
    p = P * factor
    p[1:] = P[1:]
    note = f"rows of the probabilities summed to 1 only within {off}; they were renormalised"
    assert np.array_equal(ct.Categorical(p).probabilities, p / p.sum(axis=1, keepdims=True))
    result = ct.calibration_test(p, Y, n_resamples=19, rng=0)
    assert result.notes == (note,)
    assert f"Note: {note}" in unfolded(result).splitlines()
    assert result.to_dict()["notes"] == [note]


def test_reductions_keep_the_note():
    (note,) = ct.Categorical(P * 1.005).notes
    assert ct.MonteCarloTest(ct.ECE(), 19)(*ct.top_label(P * 1.005, Y)).notes == (note,)
    assert [ct.MonteCarloTest(ct.ECE(), 19)(*sample).notes for sample in ct.classwise(P * 1.005, Y)] == [(note,)] * K
    for predictions, _ in (ct.predictions.top_m(P * 1.005, Y, 1), ct.predictions.class_groups(P * 1.005, Y, range(K))):
        assert predictions.notes == (note,)


@pytest.mark.parametrize("row", [[0.33, 0.33, 0.33], [0.34, 0.34, 0.33], [0.17, 0.17, 0.65]])
def test_rows_rounded_to_two_decimals(row):
    assert ct.Categorical([row]).probabilities.sum() == pytest.approx(1.0, abs=1e-15)


# What belongs to the user.

MEAN, SCALE, TARGETS = P[:, 0], P[:, 1] + 0.5, P[:, 2]
OFF = P * 1.005
CALLS = {
    "calibration_test": (ct.calibration_test, P, Y),
    "renormalised": (ct.calibration_test, OFF, Y),
    "binary": (ct.calibration_test, P1, Y1),
    "names": (lambda p, y: ct.calibration_test(p, y, classes=NAMES), P, NAMES[Y]),
    "normal": (lambda m, s, y: ct.calibration_test(ct.Normal(m, s), y, n_resamples=9), MEAN, SCALE, TARGETS),
    "SKCE": (ct.SKCE(KERNEL), P, Y),
    "BlockSKCE": (ct.BlockSKCE(KERNEL, 3), P, Y),
    "ECE": (ct.ECE(ct.binning.MedianVarianceBinning()), P, Y),
    "MMCE": (ct.MMCE(), P, Y),
    "UCME": (lambda p, y, t, u: ct.UCME(KERNEL, t, u)(p, y), P, Y, P[:3], Y[:3]),
    "CME test": (lambda p, y, t, u: ct.AsymptoticCMETest(ct.UCME(KERNEL, t, u))(p, y), P, Y, P[:3], Y[:3]),
    "bootstrap": (ct.AsymptoticSKCETest(KERNEL, 9), P, Y),
    "blocks": (ct.AsymptoticBlockSKCETest(KERNEL), P, Y),
    "bound": (ct.DistributionFreeSKCETest(ct.SKCE(KERNEL)), P, Y),
    "consistency": (ct.ConsistencyTest(ct.ECE(), 9), P, Y),
    "top_label": (ct.top_label, P, Y),
    "classwise": (ct.classwise, P, Y),
    "median_bandwidth": (lambda p: ct.median_bandwidth(p, ct.TotalVariation()), P),
    "Categorical": (ct.Categorical, OFF),
    "Bernoulli": (ct.Bernoulli, P1),
}


@pytest.mark.every(4)
@pytest.mark.parametrize("case", CALLS.values(), ids=CALLS)
def test_arrays_stay_as_they_are(case):
    call, *arrays = case
    given = [array.copy() for array in arrays]
    call(*given)
    for array, before in zip(given, arrays, strict=True):
        assert array.flags.writeable
        assert array.dtype == before.dtype
        assert np.array_equal(array, before)


PREDICTIONS = {
    "Categorical": (ct.Categorical, P),
    "Categorical, renormalised": (ct.Categorical, OFF),
    "Bernoulli": (ct.Bernoulli, P1),
    "Normal, mean": (lambda mean: ct.Normal(mean, 1.0), MEAN),
    "Normal, scale": (lambda scale: ct.Normal(MEAN, scale), SCALE),
    "Categorical of a frame": (lambda p: ct.Categorical(pd.DataFrame(p, copy=False)), P),
    "Bernoulli of a series": (lambda p: ct.Bernoulli(pd.Series(p, copy=False)), P1),
    "Categorical of a tensor": (lambda p: ct.Categorical(Tensor(p)), P),
}


@table(("make", "data"), PREDICTIONS)
def test_predictions_keep_their_values(make, data):
    given = data.copy()
    predictions = make(given)
    before = predictions.sample(0)
    given[:] = given[::-1].copy()
    assert np.array_equal(predictions.sample(0), before)
    assert np.array_equal(make(data).sample(0), before)


@pytest.mark.parametrize("dtype", ["<f8", ">f8", np.float32])
@pytest.mark.parametrize("taken", [slice(None), slice(None, None, 2)], ids=["all", "every other"])
def test_arrays_are_read_in_place_only_within_a_call(dtype, taken):
    """Where they are contiguous doubles, and through views that cannot be written to."""
    p = np.repeat(P, 2, axis=0).astype(dtype)[taken]
    for given in (p, p[:, 0]):
        in_place = given.dtype == np.float64 and given.flags.c_contiguous
        for copy in (False, True):
            read = as_predictions(given, copy=copy).embedding(ct.Euclidean())
            assert np.shares_memory(read, given) == (in_place and not copy)
            assert not read.flags.writeable
            assert np.array_equal(read.reshape(given.shape), given)
        assert given.flags.writeable


def test_layouts_share_their_compiled_loops():
    for form in FORMS.values():
        ct.ECE()(*ct.top_label(form(P), form(Y.astype(float))))
        ct.ECE()(form(P1), form(Y1.astype(float)))
        ct.ECE()(ct.Categorical(P).take(slice(None, None, 2)), Y[::2])
    for loop in (rows.maxima, binned.sums_of_bins):
        assert len(loop.signatures) == 1, (loop, loop.signatures)


@pytest.mark.parametrize("change", ["test_predictions", "test_targets"])
def test_test_locations_keep_their_values(change):
    given = {"test_predictions": P[:2].copy(), "test_targets": Y[:2].copy()}
    ucme = ct.UCME(KERNEL, **given)
    before = ucme(P, Y)
    given[change][:] = given[change][::-1].copy()
    assert ucme(P, Y) == before


@pytest.mark.parametrize(
    "array", [ct.Categorical(P).probabilities, ct.Bernoulli(P1).probability, ct.Normal(MEAN, 1).mean]
)
def test_arrays_of_predictions_are_read_only(array):
    with pytest.raises(ValueError, match="read-only"):
        array[0] = 0.0


def test_results_and_settings_are_frozen():
    result = ct.AsymptoticSKCETest(KERNEL, 19)(P, Y, rng=0)
    for thing in (
        result,
        ct.SKCE(KERNEL),
        ct.ECE(),
        KERNEL,
        ct.CalibrationTest(ct.ECE(), ct.nulls.ConditionalMonteCarlo()),
    ):
        for field in dataclasses.fields(thing):
            with pytest.raises(FrozenInstanceError, match=field.name):
                setattr(thing, field.name, None)


def test_draws_of_a_result_are_read_only():
    result = ct.AsymptoticSKCETest(KERNEL, 19)(P, Y, rng=0)
    with pytest.raises(ValueError, match="read-only"):
        result.null_distribution[0] = 0.0


def test_results_do_not_change_with_the_data():
    p, y = P.copy(), Y.copy()
    result = ct.calibration_test(p, y, n_resamples=19, rng=0)
    before = str(result), result.to_dict()
    p[:], y[:] = 1 / K, 0
    assert (str(result), result.to_dict()) == before


def test_probabilities_that_exceed_1_by_rounding_are_taken_as_1_and_said_to_be():
    p = np.where(P1 > 0.5, 1.0 + 1.2e-7, P1)
    result = ct.calibration_test(p, Y1, n_resamples=9, rng=0)
    assert result.notes[0] == "probabilities exceeded 1 by up to 1e-07; they were taken as 1"
    same = ct.calibration_test(np.minimum(p, 1.0), Y1, n_resamples=9, rng=0)
    assert (result.estimate, result.pvalue) == (same.estimate, same.pvalue)


def test_outcomes_of_probability_0_are_named():
    p = np.array([[0.0, 0.5, 0.5], [0.2, 0.3, 0.5], [1.0, 0.0, 0.0]])
    result = ct.MonteCarloTest(ct.ECE(), n_resamples=19)(p, [0, 1, 2], rng=0)
    assert result.notes[0].startswith("2 of 3 outcomes had predicted probability 0 (row 0, 2); calibrated predictions")
    assert "Note: 2 of 3 outcomes" in unfolded(result)
