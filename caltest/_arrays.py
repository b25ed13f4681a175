"""Anything array-like as a numpy array: lists, pandas, polars, torch."""

from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from caltest._chunks import are_chunks
from caltest._types import Array, ArrayLike


def to_array(data: ArrayLike, name: str) -> Array:
    """Any array-like as a numpy array, by position: an index of a data frame is not looked at."""
    if are_chunks(data):
        raise TypeError(
            f"{name}: got a dask {type(data).__name__}, which may not fit into memory; pass the result of compute(), "
            "or use AsymptoticBlockSKCETest(kernel) or MonteCarloTest(LowRankSKCE(kernel)), which take its chunks"
        )
    if _is_tensor(data):
        data = _from_tensor(data)
    elif isinstance(data, (list, tuple)) and any(_is_tensor(value) for value in data):
        data = [_from_tensor(value) if _is_tensor(value) else value for value in data]
    elif hasattr(data, "to_numpy"):
        data = data.to_numpy()
    if isinstance(data, np.ma.MaskedArray) and np.ma.getmaskarray(data).any():
        raise ValueError(f"{name}: got a masked array with masked values, wanted complete data; drop those rows first")
    try:
        array = np.asarray(data)
    except ValueError:
        raise ValueError(
            f"{name}: got rows of different lengths, wanted a rectangular array (concatenate batches first)"
        ) from None
    if array.dtype == object:
        array = _from_objects(array, name)
    return array


def read_only(array: Array, dtype: DTypeLike) -> Array:
    """A read-only, C-contiguous view of an array, or of a converted copy where type or layout differ.

    Loops that are given such views see one type of array and are compiled once.
    """
    view = np.require(array, dtype, ["C", "A"]).view()
    view.flags.writeable = False
    return view


def _is_tensor(data: Any) -> bool:
    return hasattr(data, "detach") and hasattr(data, "cpu")


def _from_tensor(tensor: Any) -> Any:
    tensor = tensor.detach().cpu()
    if tensor.is_floating_point():
        tensor = tensor.double()
    return tensor.numpy()


def _from_objects(array: Array, name: str) -> Array:
    flat = array.ravel()
    if flat.size == 0:
        return array.astype(float)
    missing = next((i for i, value in enumerate(flat) if _is_missing(value)), None)
    if missing is not None:
        raise ValueError(f"{name}: got a missing value at position {missing}, wanted complete data; drop those rows")
    if all(isinstance(value, str) for value in flat):
        return array.astype(str)
    try:
        if any(isinstance(value, (str, bytes)) for value in flat):
            raise TypeError
        converted = np.array([value if isinstance(value, (bool, int, float)) else float(value) for value in flat])
    except (TypeError, ValueError):
        kinds = sorted({type(value).__name__ for value in flat})
        raise ValueError(f"{name}: got values of type {', '.join(kinds)}, wanted numbers") from None
    return converted.reshape(array.shape)


def _is_missing(value: Any) -> bool:
    return (
        value is None or type(value).__name__ in ("NAType", "NaTType") or (isinstance(value, float) and value != value)
    )
