"""Checks of user data at the boundary: every error says what was got, what was wanted and how to fix it."""

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from caltest._arrays import read_only, to_array
from caltest._loops.rows import are_distributions
from caltest._types import Array, ArrayLike, FloatArray, IntArray

SUM_TOLERANCE = 1e-6
"""Rows that sum to 1 within this are taken as they are: float32 softmax outputs do."""

RENORMALISED_TOLERANCE = 1e-2 + 1e-9
"""Rows that sum to 1 within this are renormalised: half-precision and rounded outputs do (0.33 + 0.33 + 0.33 too)."""


LARGEST_COUNT = 2.0**53
"""From here on not every whole number is a floating point number."""


def real_array(data: ArrayLike, name: str, ndim: int) -> FloatArray:
    """A finite, non-empty float64 array with ``ndim`` dimensions."""
    array = to_array(data, name)
    if array.dtype.kind not in "buif":
        raise ValueError(f"{name}: got values of type {array.dtype}, wanted real numbers")
    if array.size == 0:
        raise ValueError(f"{name}: got no values (shape {array.shape}), wanted at least one observation")
    if array.ndim != ndim:
        raise ValueError(f"{name}: got shape {array.shape}, wanted {ndim} dimension{'s' if ndim > 1 else ''}")
    return finite_array(array, name)


def finite_array(array: Array, name: str) -> FloatArray:
    """Numbers of any shape as float64, all finite."""
    if array.dtype.kind not in "buif":
        raise ValueError(f"{name}: got values of type {array.dtype}, wanted real numbers")
    array = array.astype(np.float64)
    finite = np.isfinite(array)
    if not finite.all():
        where = tuple(int(i) for i in np.argwhere(~finite)[0])
        raise ValueError(
            f"{name}: got {array[where]} at {_place(where)} ({int((~finite).sum())} in all), wanted finite numbers"
        )
    return array


def _place(where: tuple[int, ...]) -> str:
    return f"row {where[0]}" + "".join(f", column {place}" for place in where[1:])


def vector_targets(data: ArrayLike, n: int, d: int, name: str) -> FloatArray:
    """Observed vectors as an (n, d) float array."""
    values = real_array(data, name, ndim=2)
    same_length(n, values.shape[0], name)
    if values.shape[1] != d:
        raise ValueError(f"{name}: got vectors of length {values.shape[1]}, wanted {d} as predicted")
    return values


def probability_matrix(data: ArrayLike, name: str = "probabilities", *, copy: bool = True) -> tuple[FloatArray, str]:
    """A read-only (n, k) array of probability vectors, and a note on what was done to it (empty if nothing was).

    Without ``copy`` it can be a view of the data. Time: one pass over data that need no mending.
    """
    array = to_array(data, name)
    if array.ndim == 2 and array.size > 0 and array.shape[1] > 1 and array.dtype.kind in "buif":
        matrix = _floats(array, copy)
        if are_distributions(matrix, SUM_TOLERANCE):
            return matrix, ""
    matrix, note = _mended_matrix(array, name)
    return read_only(matrix, np.float64), note


def _floats(array: Array, copy: bool) -> FloatArray:
    return read_only(np.array(array, dtype=np.float64, order="C") if copy else array, np.float64)


def _mended_matrix(array: Array, name: str) -> tuple[FloatArray, str]:
    if array.ndim == 2 and array.size and array.dtype.kind == "f" and np.isneginf(array).any():
        _refuse_log_probabilities(array, name)
    matrix = real_array(array, name, ndim=2)
    if matrix.shape[1] == 1:
        raise ValueError(
            f"{name}: got shape {matrix.shape}, wanted one column per class; "
            "for two classes pass the probabilities of class 1 as a 1-D array"
        )
    sums = matrix.sum(axis=1)
    deviation = np.abs(sums - 1.0)
    if (matrix < 0.0).any() or deviation.max() > RENORMALISED_TOLERANCE:
        _raise_not_probabilities(matrix, sums, name)
    if deviation.max() <= SUM_TOLERANCE:
        return matrix, ""
    matrix /= sums[:, None]
    return matrix, f"rows of the probabilities summed to 1 only within {deviation.max():.1g}; they were renormalised"


def _refuse_log_probabilities(matrix: FloatArray, name: str) -> None:
    if matrix.max() <= 1e-6 and np.allclose(np.exp(matrix).sum(axis=1), 1.0, atol=RENORMALISED_TOLERANCE):
        raise ValueError(
            f"{name}: got log-probabilities such as {matrix.min():.4g}, wanted probabilities; pass np.exp of them"
        )


def _raise_not_probabilities(matrix: FloatArray, sums: FloatArray, name: str) -> None:
    row = int(np.argmax(np.abs(sums - 1.0)))
    _refuse_log_probabilities(matrix, name)
    if (matrix < 0.0).any() and np.mean(np.abs(sums - 1.0) > RENORMALISED_TOLERANCE) > 0.5:
        i, j = (int(v) for v in np.argwhere(matrix < 0.0)[0])
        raise ValueError(
            f"{name}: got {matrix[i, j]:.6g} at row {i}, column {j}, and rows that do not sum to 1: these look like "
            "logits, wanted probabilities; apply scipy.special.softmax(logits, axis=1) first"
        )
    if (matrix < 0.0).any():
        i, j = (int(v) for v in np.argwhere(matrix < 0.0)[0])
        hint = "; if this is a rounding error, clip it at 0" if matrix.min() > -1e-6 else ""
        raise ValueError(
            f"{name}: got {matrix[i, j]:.6g} at row {i}, column {j}, wanted probabilities of at least 0{hint}"
        )
    if np.allclose(sums, 100.0, rtol=RENORMALISED_TOLERANCE):
        raise ValueError(f"{name}: got rows that sum to 100, wanted rows that sum to 1; divide the percentages by 100")
    if np.allclose(matrix.sum(axis=0), 1.0, atol=RENORMALISED_TOLERANCE):
        raise ValueError(
            f"{name}: got shape {matrix.shape} with columns that sum to 1, wanted one row per observation; "
            "pass the transpose"
        )
    raise ValueError(
        f"{name}: got row {row} that sums to {sums[row]:.6g}, wanted rows that sum to 1 (within "
        f"{RENORMALISED_TOLERANCE:g}); check that every class has its column"
    )


def mixture_weights(data: Array, n: int, m: int, name: str = "weights") -> tuple[FloatArray, str]:
    """Weights (n, m), from those or from (m,) for all, and a note on what was done to them (empty if nothing was)."""
    if data.ndim == 1 and data.shape[0] == m:
        data = np.broadcast_to(data, (n, m))
    if data.shape != (n, m):
        raise ValueError(
            f"{name}: got shape {data.shape}, wanted ({n}, {m}) or ({m},) for {m} components of length {n}"
        )
    if m == 1:
        ones = real_array(data, name, ndim=2)
        if not np.allclose(ones, 1.0, atol=SUM_TOLERANCE, rtol=0.0):
            raise ValueError(f"{name}: got {ones[np.argmax(np.abs(ones - 1.0)), 0]:.6g}, wanted 1 for one component")
        return ones, ""
    weights, note = probability_matrix(data, name)
    return weights, note.replace("probabilities", name)


def probability_vector(data: ArrayLike, name: str = "probabilities", *, copy: bool = True) -> tuple[FloatArray, str]:
    """A read-only (n,) array of probabilities of class 1, and a note on what was done to it (empty if nothing was).

    Without ``copy`` it can be a view of the data.
    """
    array = to_array(data, name)
    if array.ndim == 1 and array.size > 0 and array.dtype.kind in "buif":
        vector = _floats(array, copy)
        if vector.min() >= 0.0 and vector.max() <= 1.0:
            return vector, ""
    vector, note = _mended_vector(array, name)
    return read_only(vector, np.float64), note


def _mended_vector(array: Array, name: str) -> tuple[FloatArray, str]:
    vector = real_array(array, name, ndim=1)
    if vector.min() < 0.0 or vector.max() > 1.0 + SUM_TOLERANCE:
        i = int(np.argmax((vector < 0.0) | (vector > 1.0 + SUM_TOLERANCE)))
        raise ValueError(
            f"{name}: got {vector[i]:.9g} at row {i}, wanted probabilities between 0 and 1{_advice(vector)}"
        )
    excess = float(vector.max()) - 1.0
    if excess <= 0.0:
        return vector, ""
    return np.minimum(vector, 1.0), f"probabilities exceeded 1 by up to {excess:.1g}; they were taken as 1"


def _advice(vector: FloatArray) -> str:
    """How to make probabilities of numbers that are none."""
    if vector.min() < -1e-6:
        share = float(np.mean((vector < 0.0) | (vector > 1.0)))
        return "; these look like logits: apply scipy.special.expit first" if share > 0.2 else ""
    if vector.min() < 0.0:
        return "; if this is a rounding error, pass numpy.clip(p, 0, 1)"
    return "; if these are percentages, divide them by 100" if 2.0 < vector.max() <= 100.0 else ""


def positive_semidefinite(data: ArrayLike, name: str) -> FloatArray:
    """A symmetric (d, d) matrix without negative eigenvalues beyond rounding."""
    matrix = real_array(data, name, ndim=2)
    if matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"{name}: got shape {matrix.shape}, wanted a square matrix")
    size = float(np.abs(matrix).max())
    i, j = np.unravel_index(int(np.abs(matrix - matrix.T).argmax()), matrix.shape)
    if abs(matrix[i, j] - matrix[j, i]) > 1e-10 * size:
        raise ValueError(
            f"{name}: got {matrix[i, j]:.6g} at row {i}, column {j} but {matrix[j, i]:.6g} at row {j}, column {i}, "
            "wanted a symmetric matrix"
        )
    matrix = (matrix + matrix.T) / 2.0
    lowest = float(np.linalg.eigvalsh(matrix)[0])
    if lowest < -1e-10 * size:
        raise ValueError(f"{name}: got the eigenvalue {lowest:.3g}, wanted a positive semi-definite matrix")
    return matrix


def class_labels(data: ArrayLike, k: int, classes: Sequence[Any] | None, name: str = "targets") -> IntArray:
    """Labels 0..k-1 as an (n,) integer array, which can be the data; with ``classes`` they are looked up there."""
    array = to_array(data, name)
    if array.size == 0:
        raise ValueError(f"{name}: got no values (shape {array.shape}), wanted at least one observation")
    if array.ndim == 2 and array.shape[1] == k and array.dtype.kind in "buif" and set(np.unique(array)) <= {0, 1}:
        raise ValueError(f"{name}: got one-hot rows of shape {array.shape}, wanted labels; pass targets.argmax(axis=1)")
    if array.ndim != 1:
        advice = "; pass targets.ravel()" if array.ndim == 2 and 1 in array.shape else ""
        raise ValueError(f"{name}: got shape {array.shape}, wanted one label per observation, 1-D{advice}")
    if classes is not None:
        return _labels_from_classes(array, list(classes), name)
    if array.dtype.kind in "US":
        raise ValueError(
            f"{name}: got text such as {str(array[0])!r}, wanted labels 0..{k - 1}; "
            "pass classes=[...], the class names in the order of the columns"
        )
    if array.dtype.kind == "b" and k > 2:
        raise ValueError(
            f"{name}: got booleans for {k} classes, wanted labels 0..{k - 1}; if they say whether the top prediction "
            "was correct, pass predictions.max(axis=1) with them"
        )
    return _whole_labels(array, k, name)


def _whole_labels(array: Array, k: int, name: str) -> IntArray:
    if array.dtype.kind in "bui" and array.min() >= 0 and array.max() < k:
        return np.require(array, np.intp, ["C", "A"])
    values = real_array(array, name, ndim=1)
    fractional = values != np.floor(values)
    if fractional.any():
        i = int(np.argmax(fractional))
        raise ValueError(f"{name}: got {values[i]:.6g} at row {i}, wanted whole-number labels 0..{k - 1}")
    if values.min() >= 1 and values.max() == k:
        raise ValueError(
            f"{name}: got labels {values.min():g}..{k}, wanted labels 0..{k - 1}; these look 1-based, subtract 1"
        )
    if k == 2 and set(np.unique(values)) == {-1.0, 1.0}:
        raise ValueError(f"{name}: got labels -1 and 1, wanted labels 0 and 1; pass (targets + 1) // 2")
    outside = (values < 0) | (values >= k)
    if outside.any():
        i = int(np.argmax(outside))
        raise ValueError(f"{name}: got label {values[i]:.6g} at row {i}, wanted labels 0..{k - 1}")
    return values.astype(np.intp)


def whole_counts(data: ArrayLike, name: str = "targets") -> IntArray:
    """Counts 0, 1, 2, ... as an (n,) integer array."""
    values = real_array(data, name, ndim=1)
    wrong = (values < 0.0) | (values != np.floor(values))
    if wrong.any():
        i = int(np.argmax(wrong))
        advice = "" if values[i] < 0.0 else "; for rates per exposure pass the counts, and predict rate times exposure"
        raise ValueError(f"{name}: got {values[i]:.6g} at row {i}, wanted whole numbers of at least 0{advice}")
    if values.max() >= LARGEST_COUNT:
        i = int(values.argmax())
        raise ValueError(f"{name}: got {values[i]:.6g} at row {i}, wanted counts below 2**53")
    return values.astype(np.intp)


def _labels_from_classes(array: Array, classes: list[Any], name: str) -> IntArray:
    position = {value: index for index, value in enumerate(classes)}
    labels = np.empty(array.shape[0], dtype=np.intp)
    for i, value in enumerate(array.tolist()):
        if value not in position:
            raise ValueError(f"{name}: got {value!r} at row {i}, which is not one of classes={classes!r}")
        labels[i] = position[value]
    return labels


def class_names(classes: Sequence[Any] | None, k: int) -> tuple[Any, ...] | None:
    """Class names, one per class and all different."""
    if classes is None:
        return None
    array = to_array(list(classes) if isinstance(classes, tuple) else classes, "classes")
    if array.ndim != 1:
        raise ValueError(f"classes: got {classes!r}, wanted a list of {k} names in the order of the columns")
    names = tuple(array.tolist())
    if len(names) != k:
        raise ValueError(f"classes: got {len(names)} names, wanted {k}, one per class in the order of the columns")
    if len(set(names)) != len(names):
        raise ValueError(f"classes: got {list(names)!r}, wanted names that are all different")
    return names


def same_length(n_predictions: int, n_targets: int, name: str = "targets") -> None:
    """Raise ``ValueError`` unless there is one target per prediction."""
    if n_predictions != n_targets:
        raise ValueError(f"{name}: got {n_targets} values, wanted {n_predictions}, one per prediction")


def not_swapped(predictions: Array, targets: Array) -> None:
    """Raise ``ValueError`` if the first argument looks like the labels and the second like the predictions."""
    if targets.dtype.kind != "f":
        return
    labels_first = predictions.ndim == 1 and _all_whole(predictions)
    matrix_second = targets.ndim == 2 and targets.shape[1] > 1
    fractions_second = targets.ndim == 1 and not _all_whole(targets) and _in_unit(targets)
    if labels_first and (matrix_second or fractions_second):
        raise ValueError(
            f"predictions: got labels (shape {predictions.shape}) and targets: got probabilities (shape "
            f"{targets.shape}); the arguments are swapped, pass the predictions first"
        )


def _all_whole(array: Array) -> bool:
    if array.dtype.kind in "USbui":
        return True
    return array.dtype.kind == "f" and bool(np.all(array == np.floor(array)))


def _in_unit(array: Array) -> bool:
    return bool(np.all((array >= 0) & (array <= 1)))


def positive_number(name: str, value: Any, also: str = "") -> float:
    """A finite number above 0."""
    try:
        number = float(value) if np.ndim(value) == 0 else float("nan")
    except (TypeError, ValueError):
        number = float("nan")
    if isinstance(value, (bool, np.bool_, str)) or not (0.0 < number < float("inf")):
        raise ValueError(f"{name}: got {value!r}, wanted a positive number{' ' + also if also else ''}")
    return number


def whole_number(name: str, value: Any, minimum: int) -> int:
    """An integer of at least ``minimum``."""
    try:
        number = operator.index(value)
    except TypeError:
        raise ValueError(f"{name}: got {value!r}, wanted a whole number of at least {minimum}") from None
    if isinstance(value, bool) or number < minimum:
        raise ValueError(f"{name}: got {value!r}, wanted a whole number of at least {minimum}")
    return number


def at_least(n: int, minimum: int, what: str) -> None:
    """Raise ``ValueError`` if there are fewer observations than an estimator needs."""
    if n < minimum:
        raise ValueError(
            f"predictions: got {n} observation{'s' if n != 1 else ''}, wanted at least {minimum} for {what}"
        )


def fraction(name: str, value: Any) -> float:
    """A number strictly between 0 and 1."""
    number = float(value) if isinstance(value, (float, np.floating)) else 0.0
    if not 0.0 < number < 1.0:
        raise ValueError(f"{name}: got {value!r}, wanted a number between 0 and 1")
    return number


def levels(name: str, data: ArrayLike) -> FloatArray:
    """Numbers strictly between 0 and 1, of any shape."""
    array = to_array(data, name)
    values = np.asarray(array, dtype=np.float64) if array.dtype.kind in "buif" else np.full(1, np.nan)
    outside = ~((values > 0.0) & (values < 1.0))
    if outside.any():
        got = np.ravel(array)[np.argmax(outside)] if array.dtype.kind in "buif" else data
        raise ValueError(f"{name}: got {got!r}, wanted numbers between 0 and 1")
    return values


def switch(name: str, value: Any) -> bool:
    """True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{name}: got {value!r}, wanted True or False")
    return bool(value)


def observation_weights(data: ArrayLike, name: str = "weights") -> FloatArray:
    """Weights (n,) of at least 0, not all 0, scaled so that the largest is 1."""
    weights = real_array(data, name, ndim=1)
    if weights.min() < 0.0:
        i = int(np.argmin(weights))
        raise ValueError(f"{name}: got {weights[i]:.6g} at row {i}, wanted numbers of at least 0")
    largest = float(weights.max())
    if largest == 0.0:
        raise ValueError(f"{name}: got only zeros, wanted some that are positive")
    return read_only(weights / largest, np.float64)
