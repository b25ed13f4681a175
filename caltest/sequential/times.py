"""Times of observations: checked, not used."""

from caltest._arrays import to_array
from caltest._types import Array, ArrayLike


def checked_times(times: ArrayLike, n: int, last: Array | None) -> Array:
    """Times (n,) that increase, after those before; ``ValueError`` otherwise."""
    array = to_array(times, "times")
    array = array.reshape(1) if array.ndim == 0 else array
    if array.shape != (n,):
        raise ValueError(f"times: got shape {array.shape}, wanted ({n},), one per observation")
    if array.dtype.kind not in "iufM":
        raise ValueError(f"times: got values of type {array.dtype}, wanted numbers or dates (numpy.datetime64)")
    if (array != array).any():
        raise ValueError("times: got missing values, wanted the time of every observation")
    if last is not None and last.dtype.kind != array.dtype.kind and "M" in (last.dtype.kind + array.dtype.kind):
        raise ValueError(f"times: got values of type {array.dtype} after {last.dtype}, wanted the same kind")
    steps = array[1:] <= array[:-1]
    if steps.any():
        i = int(steps.argmax())
        _refuse(array[i + 1], array[i], f"row {i + 1}")
    if last is not None and array[0] <= last:
        _refuse(array[0], last, "row 0")
    return array


def _refuse(value: object, before: object, where: str) -> None:
    how = "again" if value == before else f"after {before}"
    raise ValueError(
        f"times: got {value} {how} at {where}, wanted times that increase; sort the observations by time, and break "
        "ties in an order that does not depend on the outcomes"
    )
