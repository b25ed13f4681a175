"""Draws from posteriors of simulations beside the parameters that made the data, from what samplers return."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from caltest._basics.arrays import Table, is_data_array, members_elsewhere, to_array, with_members_second
from caltest._basics.numerics import ArrayLike, FloatArray
from caltest._validation import finite_array
from caltest._validation.column_names import names_of_columns

CLEAR, LAGS = 5.0, 200
"""Standard errors by which the first autocorrelation counts as positive, and lags that are looked at."""

SMALL, ITERATIONS = 0.1, 100
"""Sum of two autocorrelations that counts as 0, and steps by which the time of autocorrelation is found."""

MANY = 20
"""Steps between different draws that do not all rise by chance."""

SWAPPED = "; the arguments are swapped, pass the draws first"
JOIN = "; join chains by draws.reshape(n, -1, *draws.shape[3:])"


@dataclass(frozen=True)
class Posteriors:
    """Draws (n, c, m, d) of d parameters in n simulations, c chains of m draws each, and their truths (n, d).

    ``named`` says whether the names were given.
    """

    names: tuple[str, ...]
    draws: FloatArray
    truths: FloatArray
    named: bool = True

    def __post_init__(self) -> None:
        n = len(self.truths)
        if n < 2:
            raise ValueError(f"truths: got {n} simulation, wanted at least 2; the rank of one says nothing")
        flat = self.draws.reshape(n, -1, len(self.names))
        for j, name in enumerate(self.names):
            if (flat[..., j] == self.truths[0, j]).all() and (self.truths[:, j] == self.truths[0, j]).all():
                raise ValueError(
                    f"draws: all draws and truths of {name!r} are {self.truths[0, j]:g}, which cannot be tested; "
                    "leave this parameter out"
                )

    def refuse_sorted(self, thin: int | str) -> None:
        """``ValueError`` for sorted draws where their order matters: all but those of one parameter with ``thin=1``."""
        alone, names = len(self.names) == 1, self._sorted()
        if names and not (alone and thin == 1):
            raise ValueError(
                f"draws: got those of {names[0]!r} sorted in every simulation, wanted them as they were drawn, or "
                f"shuffled{'; thin=1 takes them in any order' if alone else ''}"
            )

    def _sorted(self) -> list[str]:
        steps = [np.diff(self.draws[..., j], axis=2) for j in range(len(self.names))]
        are_many = [np.count_nonzero(one) >= MANY and ((one >= 0.0).all() or (one <= 0.0).all()) for one in steps]
        return [name for name, is_sorted in zip(self.names, are_many, strict=True) if is_sorted]

    def thinned(self, step: int) -> Self:
        """Every step-th draw of each chain; ``ValueError`` if the step is longer than the chains."""
        if step > self.draws.shape[2]:
            raise ValueError(f"thin: got {step}, wanted at most the {self.draws.shape[2]} draws of a chain")
        return replace(self, draws=self.draws[:, :, ::step])

    def step(self) -> int:
        """How far apart draws are about independent: the longest integrated autocorrelation time of a parameter.

        1 unless the first autocorrelation, over all simulations and chains, is clearly positive, and where draws are
        sorted, whose order says nothing.
        """
        n, chains, m, _ = self.draws.shape
        if m < 4 or self._sorted():
            return 1
        means = self.draws.mean(axis=2, keepdims=True)
        e = self.draws - means
        variances = np.square(e).mean(axis=2)
        times = [1.0]
        for j in range(len(self.names)):
            varying = variances[..., j] > 1e-24 * np.square(means[:, :, 0, j])
            x = e[..., j][varying] / np.sqrt(variances[..., j][varying])[:, None]
            if len(x) and float((x[:, 1:] * x[:, :-1]).mean()) + 1.0 / m > CLEAR / np.sqrt(n * chains * m):
                times.append(_autocorrelation_time(x))
        return int(min(np.ceil(max(times)), m))

    @property
    def pools(self) -> FloatArray:
        """(n, c m + 1, d) the draws and, last, the truth."""
        flat = self.draws.reshape(len(self.truths), -1, len(self.names))
        return np.concatenate([flat, self.truths[:, None]], axis=1)


def _autocorrelation_time(x: FloatArray) -> float:
    """``1 + 2 sum_l r_l`` of standardised chains (c, m), until the sum of two neighbours is not positive (Geyer).

    Deviations from the mean of a chain of m draws with the time t have about the correlations ``(r_l - t / m) / (1 - t
    / m)``, from which t follows by iteration: in chains of a few times t they alone would make it far too short.
    """
    m, time = x.shape[1], 0.0
    own = np.array([float((x[:, lag:] * x[:, : m - lag]).mean()) for lag in range(1, min(LAGS, m - 2) + 1)])
    pairs = own[: own.size // 2 * 2].reshape(-1, 2).sum(axis=1)
    for _ in range(ITERATIONS):
        share = time / m
        known = pairs * (1.0 - share) + 2.0 * share
        ends = np.flatnonzero(known <= SMALL)
        found = min(1.0 + 2.0 * float(known[: ends[0] if ends.size else None].sum()), float(m))
        if found <= time + 0.01:
            break
        time = found
    return time


def posteriors_of(draws: Any, truths: Any) -> Posteriors:
    """From arrays, mappings of names to arrays, or one object of ArviZ or data frame for each simulation."""
    if isinstance(truths, Sequence) and truths and isinstance(truths[0], Mapping):
        truths = {name: np.stack([np.asarray(one[name]) for one in truths]) for name in truths[0]}
    if hasattr(truths, "columns") and (isinstance(draws, Mapping) or _are_tables(draws) or _is_arviz(draws)):
        truths = dict(zip(names_of_columns(truths), _numbers(truths, "truths").T, strict=True))
    if isinstance(truths, Mapping) and _are_tables(draws):
        tables = [dict(zip(names_of_columns(one), np.asarray(one).T, strict=True)) for one in draws]
        others = next((i for i, one in enumerate(tables) if set(one) != set(tables[0])), None)
        if others is not None:
            raise ValueError(
                f"draws: got columns {', '.join(tables[others])} in simulation {others}, wanted those of the first "
                f"one, {', '.join(tables[0])}"
            )
        draws = {name: [one[name] for one in tables] for name in tables[0]}
    if not isinstance(truths, Mapping):
        if _is_arviz(truths) or hasattr(truths, "members"):
            raise TypeError(f"truths: got posteriors{SWAPPED}")
        if isinstance(draws, Mapping) or _is_arviz(draws):
            raise TypeError("truths: got no names, wanted a mapping from names to the true values, as of the draws")
        return _of_arrays(draws, truths)
    if not truths:
        raise ValueError("truths: got an empty mapping, wanted the true values (n,) of at least one parameter")
    parts = [_of_name(name, draws, truths[name]) for name in truths]
    shapes = {one.draws.shape[:3] for one in parts}
    if len(shapes) > 1:
        raise ValueError(f"draws: got parameters with different simulations, chains or draws: {sorted(shapes)}")
    values, true = ([getattr(one, what) for one in parts] for what in ("draws", "truths"))
    names = tuple(name for one in parts for name in one.names)
    return Posteriors(names, np.concatenate(values, axis=-1), np.concatenate(true, axis=-1))


def _are_swapped(draws: FloatArray, truths: FloatArray) -> bool:
    """Whether truths have the shape of draws, and draws that of one value of each simulation."""
    return truths.ndim == draws.ndim + 1 and truths.shape[:1] + truths.shape[2:] == draws.shape


def _are_tables(draws: Any) -> bool:
    """Whether they are data frames with names of columns, one for each simulation."""
    return isinstance(draws, Sequence) and bool(draws) and all(hasattr(one, "columns") for one in draws)


def _is_arviz(draws: Any) -> bool:
    return isinstance(draws, Sequence) and bool(draws) and hasattr(draws[0], "posterior")


def _of_arrays(draws: ArrayLike, truths: ArrayLike) -> Posteriors:
    values, true = _matched(draws, truths, "draws", "truths")
    if true.ndim == 1:
        true, values = true[:, None], values[..., None] if values.ndim == 3 else values
    if true.ndim != 2 or values.ndim != 4 or 0 in values.shape or true.shape != (len(values), values.shape[3]):
        given = _without_chains(values)
        advice = members_elsewhere(given.shape, true.shape, "draws", "draws") + SWAPPED * _are_swapped(given, true)
        advice += JOIN * (given.ndim == 4 and given.shape[:1] + given.shape[3:] == true.shape)
        raise ValueError(
            f"draws: got shape {given.shape} with truths of shape {true.shape}, wanted (n, m, d) numbers, m draws of "
            f"d parameters in n simulations, and (n, d){advice}"
        )
    return Posteriors(tuple(f"parameter {j}" for j in range(true.shape[1])), values, true, False)


def _matched(draws: ArrayLike, truths: ArrayLike, name: str, name_of_truths: str) -> tuple[FloatArray, FloatArray]:
    """Draws (n, c, m, ...) and truths (n, ...): in the order of these, where both have the same labels of simulations.

    Dimensions with names may have any order.
    """
    has_chains = is_data_array(draws) and {"chain", "draw"} <= set(draws.dims)
    if has_chains:
        first, *others = (dim for dim in draws.dims if dim not in ("chain", "draw"))
        draws = draws.transpose(first, "chain", "draw", *others)
    _check_lengths(draws, name)
    wanted = Table.of(truths, name_of_truths)
    table = Table.of(with_members_second(draws), name).in_order_of(wanted, name, name_of_truths)[0]
    values = finite_array(table.array(name), name)
    values = values if has_chains else values.reshape(*values.shape[:1], 1, *values.shape[1:])
    return values, finite_array(wanted.array(name_of_truths), name_of_truths)


def _without_chains(values: FloatArray) -> FloatArray:
    """Draws as they were given, if there is one chain."""
    return values[:, 0] if values.ndim > 1 and values.shape[1] == 1 else values


def _of_name(name: str, draws: Any, truths: ArrayLike) -> Posteriors:
    """One variable, whose elements are parameters."""
    what, of_truths = f"draws[{name!r}]", f"truths[{name!r}]"
    if isinstance(draws, Mapping):
        if name not in draws:
            raise ValueError(f"draws: got no {name!r}, wanted the names of truths; there are {', '.join(draws)}")
        values, true = _matched(draws[name], truths, what, of_truths)
    elif _is_arviz(draws):
        missing = [i for i, one in enumerate(draws) if name not in one.posterior]
        if missing:
            raise ValueError(f"draws: got no {name!r} in the posterior of simulation {missing[0]}, as truths have")
        in_order = [one.posterior[name].transpose("chain", "draw", ...).to_numpy() for one in draws]
        values, true = _numbers(in_order, what), _numbers(truths, of_truths)
    else:
        raise TypeError(
            f"draws: got {type(draws).__name__}, wanted a mapping from names to (n, m) numbers, as truths are, or a "
            "list with an object of ArviZ for each simulation"
        )
    if true.ndim == 0 or values.ndim < 3 or 0 in values.shape or values.shape[:1] + values.shape[3:] != true.shape:
        given = _without_chains(values)
        advice = JOIN * (given.ndim == true.ndim + 2)
        advice += SWAPPED * _are_swapped(given, true)
        raise ValueError(
            f"{what}: got shape {given.shape} with truths of shape {true.shape}, wanted (n, m, ...) numbers for truths "
            f"(n, ...){advice}"
        )
    index = list(np.ndindex(true.shape[1:]))
    names = tuple(f"{name}[{', '.join(map(str, one))}]" if one else str(name) for one in index)
    return Posteriors(names, values.reshape(*values.shape[:3], -1), true.reshape(len(true), -1))


def _numbers(data: Any, name: str) -> FloatArray:
    """Finite numbers; ``ValueError`` says where one is missing, or that simulations have other numbers of draws."""
    _check_lengths(data, name)
    return finite_array(to_array(data, name), name)


def _check_lengths(data: Any, name: str) -> None:
    if isinstance(data, Sequence) and len({np.shape(one) for one in data}) > 1:
        raise ValueError(f"{name}: got simulations of different shapes, wanted as many draws in each; cut the longer")
