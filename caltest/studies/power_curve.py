"""Sizes and powers of several tests over sample sizes and effects."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Any

import numpy as np

from caltest._basics.calls import own_errstate
from caltest._basics.numerics import FloatArray
from caltest._basics.threads import progress_bars
from caltest._results.report import at_level, listed
from caltest._results.tables import Grid, Page, Part, Table
from caltest._results.values import Stored, restored
from caltest._validation import fraction, switch, whole_number
from caltest.studies import simulation
from caltest.studies.power import PowerResult, check_same_study, power_result
from caltest.studies.simulation import Task, Test, simulate


@dataclass(frozen=True, eq=False, repr=False)
class PowerCurve(Stored):
    """Rates of rejection of several tests, for several generators and sample sizes. Printing it gives a table.

    Attributes
    ----------
    tests, generators, sizes
        Names of the tests, the generators in words, and numbers of observations.
    strengths
        Of the generators, or None for those that have none.
    cells
        What was simulated, by (name of the test, position of the generator, n); cells that were not reached are
        missing.
    seed
        Integer that reproduces the study as ``rng=seed``.

    Examples
    --------
    >>> import caltest as ct
    >>> test = ct.MonteCarloTest(ct.ECE(ct.binning.UniformBinning(5)), n_resamples=19)
    >>> curve = ct.power_curve(test, ct.generators.class_model("M3", 3), [5, 10], n_simulations=100, rng=1)
    >>> print(curve)
    Power by simulation
    -------------------
    Simulations    100 each
    <BLANKLINE>
    At the 5 % level, with 95 % intervals:
      n                test
      5   0.94 [0.87, 0.98]
      10  0.98 [0.93, 1.00]
    <BLANKLINE>
    Reproduce      rng=1
    """

    picture = "power_curve"

    @property
    def citations(self) -> tuple[str, ...]:  # type: ignore[override]
        """Sources of the tests, keys of ``caltest/_results/citations.bib``."""
        return tuple(sorted({key for cell in self.cells.values() for key in cell.citations}))

    tests: tuple[str, ...]
    generators: tuple[str, ...]
    strengths: tuple[float | None, ...]
    sizes: tuple[int, ...]
    alphas: tuple[float, ...]
    confidence_level: float
    cells: Mapping[tuple[str, int, int], PowerResult]
    seed: int
    notes: tuple[str, ...] = ()

    def cell(self, test: str | None = None, generator: int = 0, n: int | None = None) -> PowerResult:
        """What was simulated for a test, a generator (its position) and n; the first ones where left out."""
        key = (self.tests[0] if test is None else test, generator, self.sizes[0] if n is None else n)
        if key not in self.cells:
            raise KeyError(f"got test, generator, n = {key}, wanted one of {list(self.cells)}")
        return self.cells[key]

    def rates(self, alpha: float | None = None) -> FloatArray:
        """Rates (tests, generators, sizes) at a level, by default the first; NaN where nothing was simulated."""
        return self._table(lambda cell: cell.rate_at(alpha))

    def lows(self, alpha: float | None = None) -> FloatArray:
        """Lower ends of the intervals (tests, generators, sizes)."""
        return self._table(lambda cell: cell.interval_at(alpha).low)

    def highs(self, alpha: float | None = None) -> FloatArray:
        """Upper ends of the intervals (tests, generators, sizes)."""
        return self._table(lambda cell: cell.interval_at(alpha).high)

    def _table(self, value: Any) -> FloatArray:
        shape = len(self.tests), len(self.generators), len(self.sizes)
        table = np.full(shape, np.nan)
        for (test, g, n), cell in self.cells.items():
            table[self.tests.index(test), g, self.sizes.index(n)] = value(cell)
        return table

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, strings and lists, ready for JSON and for ``from_dict``; one entry for each cell."""
        cells = [
            {**cell.to_dict(), "name": test, "position": g, "strength": self.strengths[g]}
            for (test, g, _), cell in self.cells.items()
        ]
        return super().to_dict() | {"cells": cells}

    @classmethod
    def _restored(cls, name: str, hint: Any, value: Any) -> Any:
        if name != "cells":
            return restored(hint, value, name)
        found = restored(tuple[PowerResult, ...], value, name)
        names = [restored(str, row.get("name"), "cells.name") for row in value]
        positions = [restored(int, row.get("position"), "cells.position") for row in value]
        return {(test, g, cell.n): cell for test, g, cell in zip(names, positions, found, strict=True)}

    def table(self, alpha: float | None = None) -> Table:
        found = {
            key: "{:.2f} [{:.2f}, {:.2f}]".format(cell.rate_at(alpha), *cell.interval_at(alpha))
            for key, cell in self.cells.items()
        }
        rows = [
            [words, str(n), *(found.get((test, g, n), "-") for test in self.tests)]
            for g, words in enumerate(self.generators)
            for n in self.sizes
        ]
        table = [["data", "n", *self.tests], *rows]
        return table if len(self.generators) > 1 else [row[1:] for row in table]

    def row_entries(self) -> list[dict[str, Any]]:
        return [
            {"name": test, "generator": self.generators[g], "strength": self.strengths[g], "n": n, "rate": cell.rate}
            | dict(zip(("low", "high"), cell.interval, strict=True))
            for (test, g, n), cell in self.cells.items()
        ]

    def sentence(self) -> str:
        found = {test: [cell.rate for key, cell in self.cells.items() if key[0] == test] for test in self.tests}
        rates = [f"from {min(some):.2f} to {max(some):.2f} for {test}" for test, some in found.items() if some]
        return (
            f"The simulated {self._quantities} {at_level(self.alphas[0])} for n = {listed(list(map(str, self.sizes)))} "
            f"and {listed(self.generators)} was {listed(rates)}."
        )

    @property
    def _quantities(self) -> str:
        return " and ".join(sorted({cell.quantity for cell in self.cells.values()}))

    def __repr__(self) -> str:
        return f"<PowerCurve of {len(self.tests)} tests, {len(self.generators)} generators, n = {list(self.sizes)}>"

    def summary(self) -> str:
        made = sorted({cell.n_simulations for cell in self.cells.values()})
        counts = f"{made[0]}" if len(made) == 1 else f"{made[0]} to {made[-1]}"
        parts: list[Part] = []
        for alpha in self.alphas:
            level = f"{at_level(alpha).capitalize()}, with {100 * self.confidence_level:g} % intervals:"
            parts += ["", level], Grid(self.table(alpha))
        title, seed = f"{self._quantities.capitalize()} by simulation", {"Reproduce": f"rng={self.seed}"}
        return Page(title, {"Simulations": f"{counts} each"}, *parts, [""], seed, notes=self.notes)


@own_errstate
def power_curve(
    tests: Test | Mapping[str, Test],
    generators: Any,
    n: int | Sequence[int],
    *,
    n_simulations: int = 1000,
    alpha: float | Sequence[float] = 0.05,
    confidence_level: float = 0.95,
    rng: Any = None,
    progress: bool = False,
    resume: PowerCurve | None = None,
) -> PowerCurve:
    """Rates of rejection of several tests over sample sizes and effects, on the same data sets for all tests.

    Parameters
    ----------
    tests
        A test as ``power`` takes it, or several by their names.
    generators
        A generator, or a list of them: ``[generator.with_strength(s) for s in ...]`` for a range of effects.
    n
        Observations of each data set, or several such numbers.
    n_simulations, alpha, confidence_level, rng, progress
        As in ``power``.
    resume
        An earlier result of the same study: what was simulated is kept. Tests, numbers n, simulations and generators
        (at the end of the list) can be added.

    Returns
    -------
    PowerCurve
        ``print`` it for a table, ``caltest.plots.power_curve`` draws it.

    Raises
    ------
    TypeError, ValueError
        As ``power`` does; also for numbers n that occur twice.

    Notes
    -----
    Cells of different n or generators are simulated independently of each other. As in ``power``, results do not depend
    on workers, and Ctrl-C returns what was finished.

    Examples
    --------
    >>> import caltest as ct
    >>> tests = {
    ...     "default": ct.OmnibusTest(n_resamples=19),
    ...     "ECE": ct.MonteCarloTest(ct.ECE(ct.binning.UniformBinning(5)), n_resamples=19),
    ... }
    >>> model = ct.generators.class_model("M3", 3)
    >>> curve = ct.power_curve(tests, [model.with_strength(s) for s in (0.0, 0.5)], 30, n_simulations=25, rng=1)
    >>> curve.rates()[:, :, 0]
    array([[0.08, 1.  ],
           [0.04, 0.96]])
    """
    named = dict(tests) if isinstance(tests, Mapping) else {"test": tests}
    models = list(simulation.several(generators))
    numbers = tuple(sorted(whole_number("n", one, 1, inf) for one in simulation.several(n)))
    if not numbers or len(set(numbers)) != len(numbers):
        raise ValueError(f"n: got {n!r}, wanted one number of observations or several different ones")
    if not named or not models:
        raise ValueError(f"tests, generators: got {len(named)} and {len(models)}, wanted at least one of each")
    for name, test in named.items():
        simulation.check_test(test, f"tests[{name!r}]")
    for g, model in enumerate(models):
        simulation.check_generator(model, f"generators[{g}]")
    wanted = whole_number("n_simulations", n_simulations, 1)
    alphas, level = simulation.checked_alphas(alpha), fraction("confidence_level", confidence_level)
    shown = switch("progress", progress)
    if resume is not None:
        simulation.check_resumed(resume, PowerCurve)
    seed = simulation.checked_seed(rng, resume)
    cells: dict[tuple[str, int, int], PowerResult] = {}
    interrupted = False
    with progress_bars(shown):
        for g, number in ((g, number) for g in range(len(models)) for number in numbers):
            task = Task(tuple(named.values()), models[g], number, simulation.child_seed(seed, g, number))
            stored = {} if resume is None else resume.cells
            earlier = {name: stored[name, g, number] for name in named if (name, g, number) in stored}
            for name, cell in earlier.items():
                check_same_study(cell, named[name], models[g], number, wanted)
            made = {name: cell.pvalues for name, cell in earlier.items()}
            if not interrupted:
                made = _simulate_cell(named, task, made, wanted)
                interrupted = any(pvalues.size < wanted for pvalues in made.values())
            for name, pvalues in made.items():
                if pvalues.size:
                    cells[name, g, number] = power_result(task, named[name], wanted, alphas, level, pvalues)
    if not cells:
        raise KeyboardInterrupt
    note = "interrupted: some simulations are missing; resume=result continues them"
    return PowerCurve(
        tests=tuple(named),
        generators=tuple(simulation.describe_generator(model) for model in models),
        strengths=tuple(getattr(model, "strength", None) for model in models),
        sizes=numbers,
        alphas=alphas,
        confidence_level=level,
        cells=cells,
        seed=seed,
        notes=(note,) if interrupted else (),
    )


def _simulate_cell(
    tests: Mapping[str, Test], task: Task, earlier: Mapping[str, FloatArray], wanted: int
) -> dict[str, FloatArray]:
    """P-values by the name of the test, fewer if interrupted; tests that go on together share data."""
    made = {name: earlier.get(name, np.empty(0)) for name in tests}
    for start in sorted({values.size for values in made.values()}):
        names = [name for name, values in made.items() if values.size == start]
        part = replace(task, tests=tuple(tests[name] for name in names))
        found = simulate(part, np.stack([made[name] for name in names], axis=1), wanted)
        made |= zip(names, found.T, strict=True)
        if len(found) < wanted:
            break
    return made
