"""Numbers in arrays."""

import numpy as np

from caltest._basics.arrays import column, read_only, to_array
from caltest._basics.numerics import Array, ArrayLike, BoolArray, FloatArray
from caltest._basics.rows import is_number


def real_array(data: ArrayLike, name: str, ndim: int) -> FloatArray:
    """A finite, non-empty float64 array with ``ndim`` dimensions; for one, a column (n, 1) is taken too."""
    array = to_array(data, name)
    if ndim == 1:
        array = column(array)
    if array.dtype.kind not in "buif":
        raise _not_real(array, name)
    if array.size == 0:
        raise ValueError(f"{name}: got no values (shape {array.shape}), wanted at least one observation")
    if array.ndim != ndim:
        raise ValueError(f"{name}: got shape {array.shape}, wanted {ndim} dimension{'s' if ndim > 1 else ''}")
    return finite_array(array, name)


def _not_real(array: Array, name: str) -> ValueError:
    """What to say about other types."""
    advice = "; divide by the unit, such as numpy.timedelta64(1, 'D')" if array.dtype.kind == "m" else ""
    if array.dtype.names:
        advice = f"; it has the columns {', '.join(array.dtype.names)}: pass one, or ct.Censored(time, event) of two"
    first = str(array.flat[0]).strip() if array.dtype.kind in "US" and array.size else ""
    if first.endswith("%"):
        advice = f"; take the % off {first!r} and divide by 100"
    elif is_number(first):
        are_others = np.array([not is_number(str(cell)) for cell in array.flat]).reshape(array.shape)
        if are_others.any():
            where, place = first_place(are_others)
            return ValueError(f"{name}: got {str(array[where])!r} at {place}, wanted real numbers")
        points = ", with points for its decimal commas" * ("," in first)
        advice = f", not text such as {first!r}; make numbers of it{points}: numpy.asarray(text, dtype=float)"
    elif first and name.endswith("probabilities"):
        advice = f", not text such as {first!r}; if it is predicted labels, pass predict_proba(X), not predict(X)"
    return ValueError(f"{name}: got values of type {array.dtype}, wanted real numbers{advice}")


def finite_array(array: Array, name: str, unit: str = "row") -> FloatArray:
    """Numbers of any shape as float64, all finite; ``unit`` is what errors call one of the first axis."""
    if array.dtype.kind not in "buif":
        raise _not_real(array, name)
    array = array.astype(np.float64)
    finite = np.isfinite(array)
    if not finite.all():
        if array.ndim == 0:
            raise ValueError(f"{name}: got {array}, wanted a finite number")
        where, place = first_place(~finite, unit)
        count, is_unknown = int((~finite).sum()), unit == "row" and np.isnan(array[where])
        advice = "; leave those rows out of everything that is passed" if is_unknown else ""
        raise ValueError(f"{name}: got {array[where]} at {place} ({count} in all), wanted finite numbers{advice}")
    return array


def first_place(wrong: BoolArray, unit: str = "row") -> tuple[tuple[int, ...], str]:
    """Where an array is wrong first, as an index and in words."""
    row, *columns = (int(i) for i in np.argwhere(wrong)[0])
    return (row, *columns), f"{unit} {row}" + "".join(f", column {column}" for column in columns)


def refuse_rows(wrong: BoolArray, values: FloatArray, name: str, wanted: str) -> None:
    """Raise ``ValueError`` with the first value that is wrong."""
    if wrong.any():
        i = int(wrong.argmax())
        raise ValueError(f"{name}: got {values.reshape(-1)[i]:.6g} at row {i}, wanted {wanted}")


def refuse_negative(values: FloatArray, name: str, wanted: str) -> None:
    """The same for numbers below 0, which logarithms of them can be."""
    refuse_rows(values < 0.0, values, name, f"{wanted}; if these are logarithms, pass numpy.exp of them")


def increasing_numbers(data: ArrayLike, name: str, advice: str) -> FloatArray:
    """An array (n,) each number of which is above the one before."""
    values = real_array(data, name, ndim=1)
    level = np.diff(values) <= 0.0
    if level.any():
        i = int(level.argmax())
        raise ValueError(
            f"{name}: got {values[i]:.6g} and then {values[i + 1]:.6g}, wanted increasing numbers; bring {advice}"
        )
    return values


def real_targets(data: ArrayLike, n: int, name: str, d: int | None = None) -> FloatArray:
    """Observed numbers as an (n,) float array, or vectors as an (n, d) one."""
    array = to_array(data, name)
    if d is not None and array.size and (array.ndim != 2 or array.shape[1] != d):
        raise ValueError(f"{name}: got shape {array.shape}, wanted ({n}, {d}), a vector for each prediction")
    values = real_array(array, name, ndim=1 if d is None else 2)
    same_length(n, values.shape[0], name)
    return values


def floats(array: Array, copy: bool, dtype: type = np.float64) -> Array:
    return read_only(np.array(array, dtype=dtype, order="C") if copy else array, dtype)


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


def observation_weights(data: ArrayLike) -> FloatArray:
    """Weights (n,) of at least 0, not all 0, scaled so that the largest is 1."""
    weights = real_array(data, "weights", ndim=1)
    if weights.min() < 0.0:
        i = int(np.argmin(weights))
        raise ValueError(f"weights: got {weights[i]:.6g} at row {i}, wanted numbers of at least 0")
    largest = float(weights.max())
    if largest == 0.0:
        raise ValueError("weights: got only zeros, wanted some that are positive")
    return read_only(weights / largest, np.float64)


def same_length(n_predictions: int, n_targets: int, name: str = "targets") -> None:
    """Raise ``ValueError`` unless there is one target per prediction."""
    if n_predictions != n_targets:
        advice = "; a prediction that is the same for all rows has to be repeated, with arrays of n equal parameters"
        advice = advice if n_predictions == 1 and name == "targets" else ""
        raise ValueError(f"{name}: got {n_targets} values, wanted {n_predictions}, one per prediction{advice}")


def all_whole(array: Array) -> bool:
    if array.dtype.kind in "USbui":
        return True
    return array.dtype.kind == "f" and bool(np.all(array == np.floor(array)))


def in_unit(array: Array) -> bool:
    return bool(np.all((array >= 0) & (array <= 1)))
