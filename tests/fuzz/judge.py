"""Whether what a call did is what every call should do: a valid result, or an error that helps, and data untouched."""

import copy
import dataclasses
import re
import signal
import traceback
import warnings
from collections.abc import Mapping
from contextlib import contextmanager
from pathlib import Path

import numpy as np

import caltest as ct

PACKAGE = Path(ct.__file__).parent
SECONDS = 60
"""A call that takes longer counts as one that never returns."""

HELPFUL = re.compile(
    r"\b(got|wanted|wants|needs?|takes?|use|pass|give|name|choose|drop|move|instead|leaves?|must|rescale|reduce)\b"
)
"""Words of messages that say what was got, what is wanted or what to do."""

FINITE = {"estimate", "effect_size", "value", "squared_error", "estimate_a", "estimate_b"}
"""Entries of results that are finite numbers, whatever the data are."""

PROBABILITIES = re.compile(r"^(p|adjusted|pvalue\w*|power|rate)$")


class Broken(AssertionError):
    """A promise that does not hold."""


def judged(call, *data):
    """The result of ``call(*data)``, or None after an error of ours; ``Broken`` for anything else."""
    before = copied(data)
    with time_limit(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = call(*data)
        except (ValueError, TypeError, MemoryError) as error:
            check_error(error)
            result = None
        except Broken:
            raise
        except BaseException as error:
            if isinstance(error, (KeyboardInterrupt, SystemExit)) or type(error).__module__.startswith("hypothesis"):
                raise
            raise Broken(f"{type(error).__name__}: {error}\n{traceback.format_exc(limit=-4)}") from error
    if not same(before, data):
        raise Broken("the data of the caller were changed")
    check_result(result)
    return result


@contextmanager
def time_limit():
    """An error after some time, where the system has alarms."""
    if not hasattr(signal, "SIGALRM"):
        yield
        return

    def stop(*_):
        raise Broken(f"no answer within {SECONDS} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def check_error(error):
    """An error is ours if our code raises it and its words help; numpy's and Python's own speak of our insides."""
    place = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{place.filename}:{place.lineno}"
    if PACKAGE not in Path(place.filename).parents:
        calling = traceback.extract_tb(error.__traceback__)
        inside = [one for one in calling if PACKAGE in Path(one.filename).parents]
        # Wrong numbers and names of arguments are told by Python itself.
        if not inside and isinstance(error, TypeError) and "argument" in str(error):
            return
        last = inside[-1] if inside else place
        raise Broken(f"{type(error).__name__} of others: {error} (through {last.filename}:{last.lineno})") from error
    if not HELPFUL.search(str(error)):
        raise Broken(f"{type(error).__name__} says neither got nor wanted: {error} ({where})") from error


def check_result(result, name="result"):
    """No NaN in it, probabilities between 0 and 1, estimates that are finite and inside their intervals."""
    if isinstance(result, (float, np.floating)):
        check_number(float(result), name)
    elif isinstance(result, np.ndarray):
        if result.dtype.kind == "f" and np.isnan(result).any():
            raise Broken(f"{name}: NaN in an array")
    elif isinstance(result, Mapping):
        for key, value in result.items():
            check_result(value, str(key))
    elif isinstance(result, (list, tuple)) and not hasattr(result, "_fields"):
        for value in result:
            check_result(value, name)
    elif isinstance(result, ct.results.ConfidenceInterval):
        check_interval(result, name)
    elif dataclasses.is_dataclass(result) and not isinstance(result, type):
        for field in dataclasses.fields(result):
            check_result(getattr(result, field.name), field.name)
        check_parts(result)
        if type(result).__module__.startswith("caltest"):
            str(result), repr(result)
    elif hasattr(result, "_asdict"):
        check_result(result._asdict(), name)


def check_number(value, name):
    if np.isnan(value):
        raise Broken(f"{name}: NaN")
    if name in FINITE and not np.isfinite(value):
        raise Broken(f"{name}: {value}")
    if PROBABILITIES.match(name) and not 0.0 <= value <= 1.0:
        raise Broken(f"{name}: {value} is no probability")


def check_interval(interval, name):
    if np.isnan([interval.low, interval.high]).any() or interval.low > interval.high:
        raise Broken(f"{name}: {interval}")
    # A bound on one side of less than 50 % lies beyond the estimate.
    central = interval.estimate is not None and interval.confidence_level >= 0.5
    if central and not interval.low <= interval.estimate <= interval.high:
        raise Broken(f"{name}: estimate {interval.estimate} outside of {interval}")


def check_parts(result):
    """Intervals of named parts of a result hold the parts that they are printed beside."""
    intervals = getattr(result, "intervals", None)
    pairs = intervals.items() if isinstance(intervals, Mapping) else ()
    single = getattr(result, "interval", None)
    if isinstance(single, ct.results.ConfidenceInterval) and isinstance(getattr(result, "estimate", None), float):
        pairs = [("estimate", single)]
    for part, interval in pairs:
        value = interval.estimate if interval.estimate is not None else getattr(result, part, None)
        if value is not None and not interval.low <= value <= interval.high:
            raise Broken(f"{part}: {value} outside of {interval}")


def copied(data):
    """Copies of what can be copied; things like generators are used up by whoever looks at them."""
    try:
        return copy.deepcopy(data)
    except TypeError:
        return data


def same(one, other):
    """Whether nothing differs, bit by bit."""
    if type(one) is not type(other):
        return False
    if isinstance(one, np.ndarray):
        if one.dtype.hasobject:
            return one.shape == other.shape and all(same(a, b) for a, b in zip(one.flat, other.flat, strict=True))
        return one.shape == other.shape and one.dtype == other.dtype and one.tobytes() == other.tobytes()
    if isinstance(one, Mapping):
        return list(one) == list(other) and all(same(one[key], other[key]) for key in one)
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(same(a, b) for a, b in zip(one, other, strict=True))
    if isinstance(one, (float, np.floating)):
        return np.float64(one).tobytes() == np.float64(other).tobytes()
    if isinstance(one, ct.predictions.Predictions):
        # Families may keep what they have computed beside what they were made of.
        pairs = [(value, vars(other).get(name)) for name, value in vars(one).items()]
        return all(same(*pair) for pair in pairs if isinstance(pair[0], (np.ndarray, tuple)))
    if hasattr(one, "equals"):
        return bool(one.equals(other))
    return True
