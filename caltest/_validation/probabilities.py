"""Probabilities, mended where they are off by rounding."""

import numpy as np

from caltest._basics.arrays import column, read_only, to_array
from caltest._basics.numerics import Array, ArrayLike, FloatArray
from caltest._validation.arrays import all_whole, first_place, floats, in_unit, real_array

MANY, LARGE = 33, 2**22
"""Classes, and numbers in all, from which on those in single precision are not copied into double precision."""

SUM_TOLERANCE = 1e-6
"""Rows that sum to 1 within this are taken as they are: float32 softmax outputs do."""

ROUNDING = 1e-6
"""How far numbers of a few decimal digits may be from these, in single precision too."""

RENORMALISED_TOLERANCE = 1e-2 + 1e-9
"""Rows that sum to 1 within this are renormalised: half-precision and rounded outputs do (0.33 + 0.33 + 0.33 too)."""


def probability_matrix(data: ArrayLike, name: str = "probabilities", *, copy: bool = True) -> tuple[FloatArray, str]:
    """A read-only (n, k) array of probability vectors, and a note on what was done to it (empty if nothing was).

    Without ``copy`` it can be a view of the data. Time: one pass over data that need no mending. Large ones of many
    classes stay in single precision if they come in it; all others are float64.
    """
    array = to_array(data, name)
    if array.ndim == 2 and array.size > 0 and array.shape[1] > 1 and array.dtype.kind in "buif":
        is_large = array.dtype == np.float32 and array.shape[1] >= MANY and array.size >= LARGE
        matrix = floats(array, copy, np.float32 if is_large else np.float64)
        if _are_distributions(matrix):
            return matrix, ""
    matrix, note = _mended_matrix(array, name)
    return read_only(matrix, np.float64), note


def _are_distributions(matrix: FloatArray) -> bool:
    """Whether no value is negative and every row sums to 1 within the tolerance; never so with nan or infinity."""
    with np.errstate(over="ignore", invalid="ignore"):
        sums = matrix.sum(axis=1, dtype=np.float64)
        low, high = float(sums.min()), float(sums.max())
    return bool(matrix.min() >= 0.0 and 1.0 - low <= SUM_TOLERANCE and high - 1.0 <= SUM_TOLERANCE)


def _mended_matrix(array: Array, name: str) -> tuple[FloatArray, str]:
    if array.ndim == 2 and array.size and array.dtype.kind == "f" and np.isneginf(array).any():
        _refuse_log_probabilities(array, name)
    lacking = np.isnan(array) if array.ndim == 2 and array.dtype.kind == "f" else np.zeros(1, dtype=np.bool_)
    if lacking.any() and np.allclose(np.nansum(array, axis=1), 1.0, atol=RENORMALISED_TOLERANCE):
        row = int(lacking.any(axis=1).argmax())
        raise ValueError(
            f"{name}: got nan at row {row} ({int(lacking.sum())} in all), where the other probabilities sum to 1, "
            "wanted 0 for classes that a row does not have; pass numpy.nan_to_num of them"
        )
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
    _refuse_other_column(matrix, sums, name)
    if (matrix < 0.0).any():
        where, place = first_place(matrix < 0.0)
        got = f"{name}: got {matrix[where]:.6g} at {place}"
        if np.mean(np.abs(sums - 1.0) > RENORMALISED_TOLERANCE) > 0.5:
            raise ValueError(
                f"{got}, and rows that do not sum to 1: these look like logits, wanted probabilities; apply "
                "scipy.special.softmax(logits, axis=1) first"
            )
        hint = "; if this is a rounding error, clip it at 0" if matrix.min() > -1e-6 else ""
        raise ValueError(f"{got}, wanted probabilities of at least 0{hint}")
    if np.allclose(sums, 100.0, rtol=RENORMALISED_TOLERANCE):
        raise ValueError(f"{name}: got rows that sum to 100, wanted rows that sum to 1; divide the percentages by 100")
    if np.allclose(matrix.sum(axis=0), 1.0, atol=RENORMALISED_TOLERANCE):
        raise ValueError(
            f"{name}: got shape {matrix.shape} with columns that sum to 1, wanted one row per observation; "
            "pass the transpose"
        )
    if (digits := _rounded_to(matrix, sums)) is not None:
        raise ValueError(
            f"{name}: got row {row} that sums to {sums[row]:.6g}, wanted rows that sum to 1 (within "
            f"{RENORMALISED_TOLERANCE:g}); these are rounded to {digits} digit{'s' * (digits > 1)}: pass them as they "
            "were before, or p / p.sum(axis=1, keepdims=True)"
        )
    several = "; if an observation can have several labels, or none, wrap them in ct.MultiLabel"
    if (sums < 1.0 + RENORMALISED_TOLERANCE).all():
        several += "; if these are the most probable classes only, give the rest a column: 1 - p.sum(axis=1)"
    raise ValueError(
        f"{name}: got row {row} that sums to {sums[row]:.6g}, wanted rows that sum to 1 (within "
        f"{RENORMALISED_TOLERANCE:g}); check that every class has its column{several if in_unit(matrix) else ''}"
    )


def _refuse_other_column(matrix: FloatArray, sums: FloatArray, name: str) -> None:
    """Refuse a column of something else, such as numbers of rows or labels, beside those of at least two classes."""
    if matrix.shape[1] < 3 or np.abs(sums - 1.0).max() <= RENORMALISED_TOLERANCE:
        return
    for j, other in enumerate(matrix.T):
        is_other = not in_unit(other) or bool((other == np.rint(other)).all())
        if is_other and np.allclose(sums - other, 1.0, rtol=0.0, atol=RENORMALISED_TOLERANCE):
            raise ValueError(
                f"{name}: got column {j} with numbers from {other.min():.6g} to {other.max():.6g}, beside others that "
                "sum to 1 in each row, wanted probabilities only; leave this column out (is it the index, or labels?)"
            )


def _rounded_to(matrix: FloatArray, sums: FloatArray) -> int | None:
    """Decimal digits to which rows that sum to 1 may have been rounded, all of them; None if they were not."""
    for digits in (1, 2, 3):
        is_rounded = np.allclose(matrix, np.round(matrix, digits), rtol=0.0, atol=ROUNDING)
        if is_rounded and np.abs(sums - 1.0).max() <= 0.5 * 10.0**-digits * matrix.shape[1] + ROUNDING:
            # Sums of rounded rows are 1 on average; those that lack a class are not.
            return digits if abs(float(sums.mean()) - 1.0) <= 0.5 * 10.0**-digits else None
    return None


def mixture_weights(data: Array, n: int, m: int) -> tuple[FloatArray, str]:
    """Weights (n, m), from those or from (m,) for all, and a note on what was done to them (empty if nothing was)."""
    if data.ndim == 1 and data.shape[0] == m:
        data = np.broadcast_to(data, (n, m))
    if data.shape != (n, m):
        raise ValueError(
            f"weights: got shape {data.shape}, wanted ({n}, {m}) or ({m},) for {m} components of length {n}"
        )
    if m == 1:
        ones = real_array(data, "weights", ndim=2)
        if not np.allclose(ones, 1.0, atol=SUM_TOLERANCE, rtol=0.0):
            raise ValueError(f"weights: got {ones[np.argmax(np.abs(ones - 1.0)), 0]:.6g}, wanted 1 for one component")
        return ones, ""
    weights, note = probability_matrix(data, "weights")
    return weights, note.replace("probabilities", "weights")


def label_probabilities(array: Array) -> tuple[FloatArray, str]:
    """A read-only (n, L) array of probabilities, whatever their sums, and a note on what was done to it."""
    if array.ndim == 3 and array.shape[2] == 2:
        raise ValueError(
            f"probabilities: got {array.shape[0]} arrays {array.shape[1:]}, as predict_proba of several outputs gives, "
            "wanted (n, L) probabilities that labels occur; pass numpy.stack([q[:, 1] for q in probabilities], axis=1)"
        )
    if array.ndim == 1:
        raise ValueError(
            f"probabilities: got shape {array.shape}, wanted (n, L) with a column for each label; pass those of one "
            "label to the test as they are"
        )
    return _up_to_one(real_array(array, "probabilities", ndim=2))


def probability_vector(data: ArrayLike, *, copy: bool = True) -> tuple[FloatArray, str]:
    """A read-only (n,) array of probabilities of class 1, and a note on what was done to it (empty if nothing was).

    Without ``copy`` it can be a view of the data.
    """
    array = column(to_array(data, "probabilities"))
    if array.ndim == 1 and array.size > 0 and array.dtype.kind in "buif":
        vector = floats(array, copy)
        if vector.min() >= 0.0 and vector.max() <= 1.0:
            return vector, ""
    return _up_to_one(real_array(array, "probabilities", ndim=1))


def _up_to_one(probabilities: FloatArray) -> tuple[FloatArray, str]:
    """Without the excess of rounding, and a note on that; ``ValueError`` for numbers that are no probabilities."""
    outside = (probabilities < 0.0) | (probabilities > 1.0 + SUM_TOLERANCE)
    if outside.any():
        where, place = first_place(outside)
        got = f"probabilities: got {probabilities[where]:.9g} at {place}"
        raise ValueError(f"{got}, wanted probabilities between 0 and 1{_advice(probabilities)}")
    excess = float(probabilities.max()) - 1.0
    if excess <= 0.0:
        return read_only(probabilities, np.float64), ""
    note = f"probabilities exceeded 1 by up to {excess:.1g}; they were taken as 1"
    return read_only(np.minimum(probabilities, 1.0), np.float64), note


def _advice(vector: FloatArray) -> str:
    """How to make probabilities of numbers that are none."""
    if vector.min() < -1e-6:
        share = float(np.mean((vector < 0.0) | (vector > 1.0)))
        if vector.max() <= 0.0:
            return "; pass np.exp of them if these are log-probabilities, scipy.special.expit if they are logits"
        return "; these look like logits: apply scipy.special.expit first" if share > 0.2 else ""
    if vector.min() < 0.0:
        return "; if this is a rounding error, pass numpy.clip(p, 0, 1)"
    if 2.0 < vector.max() <= 100.0:
        return "; if these are percentages, divide them by 100"
    return "; if these are basis points, divide them by 10 000" if 100.0 < vector.max() <= 10_000.0 else ""


def not_swapped(predictions: Array, targets: Array, first: str = "predictions") -> None:
    """Raise ``ValueError`` if predictions look like labels, and targets like predictions; ``first`` comes first."""
    if targets.dtype.kind != "f":
        return
    labels_first = predictions.ndim == 1 and all_whole(predictions)
    matrix_second = targets.ndim == 2 and targets.shape[1] > 1
    fractions_second = targets.ndim == 1 and not all_whole(targets) and in_unit(targets)
    if labels_first and (matrix_second or fractions_second):
        raise ValueError(
            f"predictions: got labels (shape {predictions.shape}) and targets: got probabilities (shape "
            f"{targets.shape}); the arguments are swapped, pass the {first} first"
        )


def not_a_pair(targets: Array, n: int, name: str = "targets") -> None:
    """Raise ``ValueError`` if refused targets are a pair of n times and n events, as rows or as columns."""
    pair = targets.T if targets.shape == (n, 2) else targets
    if pair.shape != (2, n) or pair.dtype.kind not in "biuf":
        return
    if sum(bool(np.isin(one, (0, 1)).all()) for one in pair) == 1:
        raise ValueError(f"{name}: got an array of times and one of events, wanted ct.Censored(time, event)")


def not_numbers(predictions: Array, targets: Array, name: str = "targets") -> None:
    """Raise ``ValueError`` if targets are numbers that are no labels, and plain arrays of predictions are numbers too.

    Arrays hold probabilities of classes; predicted numbers say which family they belong to. It is asked where the data
    are refused, for the better reason.
    """
    p, y = column(predictions), column(targets)
    if any(array.dtype.kind not in "iuf" or array.ndim not in (1, 2) or not array.size for array in (p, y)):
        return
    if not (np.isfinite(p).all() and np.isfinite(y).all()) or _nearly_probabilities(p):
        return
    if y.ndim == 2 and not all_whole(y):
        raise ValueError(
            f"{name}: got vectors of real numbers, wanted labels for a plain array of predictions, which holds "
            "probabilities of classes; wrap predicted vectors in ct.MvNormal(mean, covariance) or ct.Ensemble(members)"
        )
    if y.ndim == 2 or (p.ndim == 2 and all_whole(y) and y.min() >= 0.0 and p.min() >= 0.0 and p.max() <= 1.0):
        # Columns of classes that are left out, say.
        return
    places = np.arange(-1 if p.ndim == 1 else 0, (1 if p.ndim == 1 else p.shape[1]) + 1)
    if np.isin(y, places).all():
        return
    i = int(np.argmax(~np.isin(y, places)))
    got = f"predictions: got numbers such as {p.flat[0]:.6g}, and {name}: got {y[i]:.6g} at row {i}"
    wrap = "ct.Normal(mean, scale), or ct.Poisson(rate) for counts"
    if p.ndim == 2:
        wrap = "ct.Ensemble(members)"
        if 2 in p.shape:
            wrap += ", or means and standard deviations in ct.Normal(mean, scale)"
        if (np.diff(p, axis=1) >= 0.0).all():
            wrap += ", or quantiles in ct.QuantileForecast(levels, quantiles)"
    raise ValueError(
        f"{got}, wanted probabilities and labels of classes in plain arrays; predicted numbers need their family: wrap "
        f"them in {wrap}"
    )


def _nearly_probabilities(p: Array) -> bool:
    """Whether numbers are meant as probabilities, or as percentages."""
    if p.ndim == 1:
        return bool(p.min() >= 0 and p.max() <= 1.5)
    sums = p.sum(axis=1)
    return bool(p.min() >= 0 and any(np.abs(sums / whole - 1.0).max() <= 0.1 for whole in (1.0, 100.0)))
