"""Simulation-based calibration: ranks of the truth among posterior draws, redrawn, and what they say."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np
import scipy

from caltest._basics.calls import own_errstate
from caltest._basics.numerics import ArrayLike, FloatArray, IntArray, resampling_pvalue, seed_of, step_down
from caltest._results.report import at_level, counted, format_pvalue, is_smallest, listed, pvalue_phrase
from caltest._results.tables import Page, Table
from caltest._results.values import ConfidenceInterval, Entry, Stored
from caltest._validation import fraction, whole_number
from caltest.estimators import SKCE
from caltest.fields.bayesian.draws import Posteriors, posteriors_of
from caltest.predictions import Ensemble
from caltest.predictions.questions.order import misplaced
from caltest.predictions.questions.units import in_another_unit

POINTS = 100
"""Ranks, at most, at which distribution functions are compared."""


@dataclass(frozen=True)
class RankLaw:
    """The law of how many of n ranks, uniform on 0 to m, are below each of some ``points`` (L,), ranks k.

    On average it is the share ``k / (m + 1)`` of them. ``surprises`` (L, n + 1) are
    ``-log(2 min(P(X <= x), P(X >= x)))`` for X binomial with n and the share, at least 0.
    """

    points: IntArray
    shares: FloatArray
    surprises: FloatArray

    @classmethod
    def of(cls, n: int, m: int) -> "RankLaw":
        """The law for n simulations of m draws."""
        points = np.unique(np.linspace(1, m, min(m, POINTS)).round().astype(np.intp))
        shares = points / (m + 1.0)
        x = np.arange(n + 1.0)
        below = scipy.special.bdtr(x, n, shares[:, None])
        # P(X >= x) is the probability that the n - X others are at most n - x: no cancellation.
        above = scipy.special.bdtr(n - x, n, 1.0 - shares[:, None])
        tails = np.clip(2.0 * np.minimum(below, above), 1e-300, 1.0)
        return cls(points, shares, -np.log(tails))

    def counts(self, ranks: IntArray) -> IntArray:
        """(L, B) how many of ranks (n, B) are below each point."""
        n_points, size = self.points.size, ranks.shape[1]
        cells = np.searchsorted(self.points, ranks, side="right") * size + np.arange(size)
        table = np.bincount(cells.ravel(), minlength=(n_points + 1) * size).reshape(n_points + 1, size)
        return np.asarray(np.cumsum(table, axis=0)[:-1])

    def statistics(self, ranks: IntArray) -> FloatArray:
        """(B,) the largest surprise over all points."""
        return np.asarray(np.take_along_axis(self.surprises, self.counts(ranks), axis=1).max(axis=0))

    def band(self, maxima: FloatArray, level: float) -> tuple[FloatArray, FloatArray]:
        """Shares (L,) between which all curves stay with the level, from observed and redrawn maxima (B + 1,)."""
        critical = np.sort(maxima)[ceil(level * maxima.size - 1e-9) - 1]
        inside = self.surprises <= critical
        n = inside.shape[1] - 1
        return inside.argmax(axis=1) / n, (n - inside[:, ::-1].argmax(axis=1)) / n


def ranks_of(pools: FloatArray, rng: np.random.Generator) -> IntArray:
    """(n, m + 1) the rank of each value of pools (n, m + 1), from 0 on, equal ones in random order."""
    return np.asarray(np.argsort(np.lexsort((rng.random(pools.shape), pools), axis=1), axis=1))


def chosen(ranks: IntArray, choices: IntArray) -> IntArray:
    """(n, B + 1) ranks of the truth, the last value of pools, and of redrawn ones (n, B)."""
    return np.concatenate([ranks[:, -1:], np.take_along_axis(ranks, choices, axis=1)], axis=1)


def normal_scores(pools: FloatArray) -> FloatArray:
    """Pools (n, m + 1, d) with each parameter as normal quantiles of its ranks, the mean of those of equal values."""
    return np.asarray(scipy.special.ndtri((scipy.stats.rankdata(pools, axis=1) - 0.5) / pools.shape[1]))


def shape_of(ranks: IntArray, m: int) -> FloatArray:
    """Contrasts of degrees 1 to 4 of ranks (n,) on 0 to m, in standard deviations; 0 where there is none."""
    every = (2.0 * np.arange(m + 1) - m) / (m + 1.0)
    degrees = min(SHAPES, m)
    # Columns of Q are polynomials that are orthogonal over the ranks, whose signs are those of the diagonal of R.
    q, r = np.linalg.qr(np.vander(every, degrees + 1, increasing=True))
    contrasts = np.zeros(SHAPES)
    found = (q * np.sign(np.diag(r)))[ranks, 1:].sum(axis=0)
    contrasts[:degrees] = found * np.sqrt((m + 1.0) / ranks.size)
    return contrasts


@dataclass(frozen=True)
class ParameterRanks(Entry):
    """The ranks of one parameter, or of one test quantity.

    Attributes
    ----------
    finding
        What the ranks look like, in words that mean something if they are rejected.
    mean_rank
        Mean rank of the truth as a share, 0.5 if calibrated.
    pvalue, adjusted
        Alone, and adjusted for all parameters and quantities.
    ranks
        (n,) of the truth among its draws, from 0 on.
    shares
        Share of ranks below each point of the band, which is that of the whole result: there is no ``interval``.

    Examples
    --------
    >>> from caltest.fields import bayesian
    >>> draws = [[[0.1], [0.2], [0.3]], [[1.0], [3.0], [2.0]]]
    >>> bayesian.simulation_based_calibration(draws, [0.25, 4.0], n_resamples=19, rng=1).rows[0].ranks
    (2, 3)
    """

    name: str
    finding: str
    mean_rank: float
    pvalue: float
    adjusted: float
    ranks: tuple[int, ...]
    shares: tuple[float, ...]
    interval: ConfidenceInterval | None = None


@dataclass(frozen=True, eq=False, repr=False)
class SimulationBasedCalibrationResult(Stored):
    """Ranks of all parameters and the test of all of them together. Printing it gives the verdict and a table.

    Attributes
    ----------
    rows
        Parameters, then test quantities.
    n, n_draws, thin
        Simulations, draws of each that remain, and the step between them.
    pvalue
        Of the hypothesis that all posteriors are right, exact: twice the smaller of the two below, or that of ranks
        alone.
    ranks_pvalue
        The smallest adjusted p-value of ``rows``.
    joint_pvalue
        Of the kernel test of all parameters together; None for one parameter.
    points, lowest, highest
        Shares at which distribution functions of ranks are compared, and the ends of their band there.
    confidence_level
        Probability, at least, that all curves of right posteriors are in the band.

    Examples
    --------
    >>> import numpy as np
    >>> from caltest.fields import bayesian
    >>> rng = np.random.default_rng(1)
    >>> result = bayesian.simulation_based_calibration(rng.normal(size=(50, 20, 2)), rng.normal(size=(50, 2)), rng=1)
    >>> result
    <simulation-based calibration of 2 parameters: p = 1, n = 50>
    """

    rows: tuple[ParameterRanks, ...]
    n: int
    n_draws: int
    thin: int
    pvalue: float
    ranks_pvalue: float
    joint_pvalue: float | None
    pvalue_kind: str
    points: tuple[float, ...]
    lowest: tuple[float, ...]
    highest: tuple[float, ...]
    confidence_level: float
    n_resamples: int
    seed: int
    notes: tuple[str, ...] = ()

    picture = "rank_ecdf"
    citations = ("talts2018", "modrak2022", "sailynoja2022", "westfall1993", "widmann2021")

    def __repr__(self) -> str:
        what = counted(len(self.rows), "parameter")
        return f"<simulation-based calibration of {what}: {pvalue_phrase(self.pvalue)}, n = {self.n}>"

    def rejected(self, alpha: float = 0.05) -> tuple[ParameterRanks, ...]:
        """Parameters and quantities whose ranks are rejected at a level, the smallest p-value first.

        Their adjusted p-values are at most alpha, or half of that where the kernel test rejects nothing (Holm).
        """
        level = fraction("alpha", alpha)
        level *= 1.0 if self.joint_pvalue is None or 2.0 * self.joint_pvalue <= level else 0.5
        return tuple(sorted((one for one in self.rows if one.adjusted <= level), key=lambda one: one.adjusted))

    def verdict(self, alpha: float = 0.05) -> str:
        """What was found, in words."""
        said = at_level(alpha)
        if self.pvalue > alpha:
            return f"posteriors are not rejected {said}"
        some = [f"{one.name}: {one.finding}" for one in self.rejected(alpha)[:3]]
        of_all = "the parameters together; ranks of single ones do not show it"
        return f"posteriors are wrong {said} ({'; '.join(some) or of_all})"

    def sentence(self, alpha: float = 0.05) -> str:
        names = [f"{one.name} ({one.finding}, {pvalue_phrase(one.adjusted)})" for one in self.rejected(alpha)]
        of_all, p = pvalue_phrase(self.pvalue, self.pvalue_kind == "bound"), self.joint_pvalue
        joint = "" if p is None else f", a kernel test of all together {pvalue_phrase(p)}"
        return (
            f"Posteriors were tested by simulation-based calibration with {self.n} simulations of {self.n_draws} draws "
            f"({of_all}); ranks, adjusted for {len(self.rows)} parameters and quantities by the "
            f"step-down maximum over {self.n_resamples} redraws, had {pvalue_phrase(self.ranks_pvalue)}{joint}: "
            f"{listed(names) if names else 'no ranks were rejected'}."
        )

    def table(self) -> Table:
        rows, rejected = [["parameter", "mean rank", "p-value", "adjusted", "what the ranks say"]], self.rejected()
        for one in self.rows:
            pvalues = map(format_pvalue, (one.pvalue, one.adjusted))
            rows.append([one.name, f"{one.mean_rank:.3f}", *pvalues, one.finding if one in rejected else ""])
        if self.joint_pvalue is not None:
            rows.append(["all together", "", format_pvalue(self.joint_pvalue), "", "kernel test of vectors"])
        return rows

    def summary(self, alpha: float = 0.05) -> Page:
        smallest = " (the smallest possible)" if is_smallest(self.ranks_pvalue, self.n_resamples) else ""
        of_two = "" if self.joint_pvalue is None else ", twice the smaller of ranks and kernel test"
        kind = "upper bound" if self.pvalue_kind == "bound" else "exact"
        pvalue = f"{format_pvalue(self.pvalue)}, {kind}{of_two}{smallest}"
        only_together = self.pvalue <= alpha and not self.rejected(alpha)
        found = {"Verdict": self.verdict(alpha), "p-value": pvalue, "Next": TOGETHER if only_together else None}
        thinned = f", one in {self.thin} of the chain" if self.thin > 1 else ""
        what = {
            "Simulations": f"{self.n}, each with {counted(self.n_draws, 'draw')}{thinned}",
            "Null": f"which of the {self.n_draws + 1} values is the truth redrawn {self.n_resamples} times",
            "Assumes": "simulations independent, parameters drawn from the prior of the model, draws exchangeable",
            "Reproduce": f"rng={self.seed}",
        }
        return self._page("Simulation-based calibration", found, what, notes=self.notes)


KEPT = 20
"""Draws of each simulation that take part in the kernel test."""

BIAS = "draws too low", "draws too high"
SPREAD = "posteriors too narrow", "posteriors too wide"
SKEW = "draws skewed, their upper tail too short", "draws skewed, their lower tail too short"
TAILS = "tails of draws too short", "tails of draws too long"
SHAPES, MORE = 4, 1.25
"""Contrasts, and how many times as large one of the shape is that is named before a bias or spread."""

TOGETHER = "calibration_test(Ensemble(draws), truths) names correlations that are wrong"
"""What to do where the kernel test alone rejects."""

CLEAR = 3.0
"""Standard deviations from which on a bias is named beside a larger fault of the spread."""

Quantity = Callable[..., ArrayLike]


@own_errstate
def simulation_based_calibration(
    draws: Any,
    truths: Any,
    *,
    quantities: Mapping[str, Quantity] | None = None,
    data: Any = None,
    thin: int | str = "auto",
    n_resamples: int = 999,
    confidence_level: float = 0.95,
    rng: Any = None,
) -> SimulationBasedCalibrationResult:
    """Test whether a sampler draws from the posteriors of its model, one parameter at a time and all together.

    Parameters are drawn from the prior, data from the model, and independent draws from the posterior given these data:
    then the true parameters are exchangeable with the draws. With the ranks r_i of the truth among the m draws of
    simulation i::

        ranks:  max_k -log(2 min(P(X_k <= x_k), P(X_k >= x_k))),  x_k = #{i: r_i < k},  X_k ~ Binomial(n, k / (m + 1))
        joint:  the unbiased SKCE of the vectors of parameters, as normal scores of ranks in their simulation

    Wrong correlations between parameters leave the ranks of each as they should be; the kernel test finds them.

    Parameters
    ----------
    draws
        (n, m, d) array-like, m draws of d parameters in n simulations, (n, m) for one parameter, such as samples of
        sbi stacked, or an ``Ensemble`` of them; a mapping from names to (n, m, ...) numbers; or a list of n data frames
        with a column for each parameter, or of n objects of ArviZ with a ``posterior`` (InferenceData, DataTree). Data
        arrays of xarray have a dimension ``draw``, and may have ``chain``, in any order.
    truths
        The parameters that made the data: (n, d) or (n,); for draws with names a mapping to (n, ...), a list of n
        mappings, or a data frame. Its names choose the parameters that are tested. Simulations are matched by their
        labels, where draws and truths have the same ones, else by position.
    quantities
        Test quantities: functions from parameters and data of one simulation to one number for each row. Parameters are
        (m + 1, d) numbers, for draws with names a dictionary of (m + 1,) numbers by the names of the table. The
        likelihood of the data is a good one: it finds posteriors that ignore data, which ranks of parameters do not.
    data
        n data sets, one for each simulation, for the quantities; None calls them with the parameters alone.
    thin
        Keep every so many draws of each chain; ``"auto"`` estimates the autocorrelation time, and keeps all draws
        unless their autocorrelation is clear. Of chains of fewer than about five such times it keeps a single draw or
        two. Draws of one parameter may be in any order for ``thin=1``, else sorted ones are refused.
    n_resamples, rng
        As in ``calibration_test``: redraws of which value is the truth, and of the order of equal values.
    confidence_level
        Probability, at least, that the curves of all right parameters are in the band.

    Raises
    ------
    ValueError
        For other shapes, missing values, simulations with other numbers of draws, fewer than 2 simulations, a parameter
        whose draws and truths are all one number, or quantities that are not one finite number for each row.
    TypeError
        For names in one of draws and truths only.

    Notes
    -----
    P-values are exact for every n and m and any ties, which ranks break at random: in each redraw one value of each
    simulation is the truth, for all parameters at once. ``adjusted`` is the step-down maximum over parameters and
    quantities; the overall p-value is twice the smaller of this and the joint one. Thinning by a step that the draws
    choose keeps this as good as independent the draws become; draws that stay dependent look too narrow.

    The kernel test takes at most 20 draws of each simulation, evenly spaced. Draws of a simulation that are all equal
    are allowed, and wrong unless the truth is as well.

    Time O(n m d log m + n B d) and 441 n**2 d for the kernel test, memory O(n m d + n B).

    Sources: Talts et al. 2018; Modrak et al. 2022 for test quantities; Sailynoja, Buerkner and Vehtari 2022 for the
    band, whose level is exact here by redraws for all parameters together; Widmann et al. 2021 for the SKCE.

    Examples
    --------
    Draws with the right margins and without the correlation:

    >>> import numpy as np
    >>> from caltest.fields import bayesian
    >>> rng = np.random.default_rng(1)
    >>> truths = rng.multivariate_normal([0.0, 0.0], [[1.0, 0.8], [0.8, 1.0]], 100)
    >>> result = bayesian.simulation_based_calibration(rng.normal(size=(100, 99, 2)), truths, rng=1)
    >>> result.ranks_pvalue > 0.1, result.joint_pvalue
    (True, 0.001)
    """
    level, number = fraction("confidence_level", confidence_level), whole_number("n_resamples", n_resamples, 1)
    seed = seed_of(rng)
    if hasattr(draws, "members"):
        # Sorted members, as those of an ensemble of numbers are, would look autocorrelated.
        members = np.asarray(draws.members)
        draws = np.random.default_rng([seed, 1]).permuted(members, axis=1) if members.ndim == 2 else members
    given = posteriors_of(draws, truths)
    given.refuse_sorted(thin)
    step = given.step() if thin == "auto" else whole_number("thin", thin, 1)
    kept = given.thinned(step)
    pools = kept.pools
    names, values = list(kept.names), pools
    if quantities is not None:
        computed = [_computed(name, one, kept, pools, data) for name, one in quantities.items()]
        names, values = [*names, *map(str, quantities)], np.concatenate([pools, *computed], axis=2)
    n, size = pools.shape[:2]
    drawing, breaking, kernel = np.random.default_rng(seed).spawn(3)
    choices = drawing.integers(size, size=(n, number))
    law = RankLaw.of(n, size - 1)
    ranks = [chosen(ranks_of(values[..., j], breaking), choices) for j in range(len(names))]
    statistics = np.stack([law.statistics(one) for one in ranks])
    low, high = law.band(statistics.max(axis=0), level)
    rows = tuple(
        ParameterRanks(
            name=name,
            finding=_words(own[:, 0], size - 1),
            mean_rank=float((own[:, 0].mean() + 0.5) / size),
            pvalue=resampling_pvalue(float(found[0]), found[1:]),
            adjusted=float(adjusted),
            ranks=tuple(own[:, 0].tolist()),
            shares=tuple((law.counts(own[:, :1])[:, 0] / n).tolist()),
        )
        for name, own, found, adjusted in zip(names, ranks, statistics, step_down(statistics), strict=True)
    )
    of_ranks = min(row.adjusted for row in rows)
    joint = _joint(pools, number, kernel) if len(kept.names) > 1 and size > 2 else None
    return SimulationBasedCalibrationResult(
        rows=rows,
        n=n,
        n_draws=size - 1,
        thin=step,
        pvalue=of_ranks if joint is None else min(1.0, 2.0 * min(of_ranks, joint)),
        ranks_pvalue=of_ranks,
        joint_pvalue=joint,
        pvalue_kind="exact" if joint is None else "bound",
        points=tuple(map(float, law.shares)),
        lowest=tuple(map(float, low)),
        highest=tuple(map(float, high)),
        confidence_level=level,
        n_resamples=number,
        seed=seed,
        notes=_notes(thin, step, given, size - 1),
    )


def _computed(name: str, quantity: Quantity, kept: Posteriors, pools: FloatArray, data: Any) -> FloatArray:
    """(n, m + 1, 1) a test quantity of all draws and truths."""
    n, size, _ = pools.shape
    if data is not None and len(data) != n:
        raise ValueError(f"data: got {len(data)} data sets, wanted one for each of the {n} simulations")
    out = np.empty((n, size, 1))
    for i, pool in enumerate(pools):
        parameters: Any = dict(zip(kept.names, pool.T, strict=True)) if kept.named else pool
        found = np.asarray(quantity(parameters) if data is None else quantity(parameters, data[i]), dtype=np.float64)
        if found.shape != (size,) or not np.isfinite(found).all():
            got = f"shape {found.shape}" if found.shape != (size,) else "nan or inf"
            raise ValueError(
                f"quantities[{str(name)!r}]: got {got} in simulation {i}, wanted {size} finite numbers, one for each "
                "draw and the truth"
            )
        out[i, :, 0] = found
    return out


def _words(ranks: IntArray, m: int) -> str:
    """What the ranks look like."""
    bias, spread, skew, tails = map(float, shape_of(ranks, m))
    level = max(abs(bias), abs(spread))
    if max(abs(skew), abs(tails)) > max(MORE * level, 2.0):
        return SKEW[int(skew < 0.0)] if abs(skew) > abs(tails) else TAILS[int(tails < 0.0)]
    if level < 2.0:
        return "uneven in another way"
    centre, width = BIAS[int(bias < 0.0)], SPREAD[int(spread < 0.0)]
    far = ranks if bias < 0.0 else m - ranks
    # A bias alone makes the spread about the middle large too, but brings few ranks to the far end.
    only_biased = abs(bias) >= CLEAR and spread > 0.0 and float(np.mean(far > 0.9 * m)) < 0.1
    if abs(bias) >= abs(spread) or only_biased:
        return centre
    return f"{width}, {centre}" if abs(bias) >= CLEAR else width


def _joint(pools: FloatArray, n_resamples: int, rng: np.random.Generator) -> float:
    """The kernel test of vectors, of a few draws that are scored among all."""
    from caltest.named_tests import MonteCarloTest

    scores, m = normal_scores(pools), pools.shape[1] - 1
    places = ((np.arange(min(m, KEPT)) + 0.5) * m / min(m, KEPT)).astype(np.intp)
    ensemble = Ensemble(scores[:, places])
    test = MonteCarloTest(SKCE(ensemble.default_kernel()), n_resamples=n_resamples)
    return test(ensemble, scores[:, -1], rng=rng).pvalue


def _notes(thin: Any, step: int, given: Posteriors, m: int) -> tuple[str, ...]:
    notes = []
    if thin == "auto" and step > 1:
        notes.append(f"draws are autocorrelated: one in {step} was kept, m = {m}; thin=1 keeps all")
    elif thin != "auto" and (own := given.step()) > step:
        notes.append(f"draws are autocorrelated over {own} draws, which thin={step} leaves: ranks may look too narrow")
    for j, name in enumerate(given.names):
        notes += _notes_of(name, given.draws[..., j].reshape(len(given.truths), -1), given.truths[:, j])
    if m < 19:
        number = "one draw" if m == 1 else f"{m} draws"
        alone = ", and parameters are not tested together" * (m == 1 and len(given.names) > 1)
        notes.append(f"only {number} of each simulation: wrong tails are hard to find{alone}")
    return tuple(notes)


def _notes_of(name: str, draws: FloatArray, truths: FloatArray) -> tuple[str, ...]:
    """What to ask about one parameter: a sampler that stands still, or the unit of truths (n,)."""
    n, m = draws.shape
    still = int(((draws == draws[:, :1]).all(axis=1) & (draws[:, 0] != truths)).sum())
    if still and m > 1:
        return (f"{name}: all draws of {still} of {n} simulations are equal: does the sampler move?",)
    ensemble, what = Ensemble(draws), f"truths of {name}"
    return misplaced(ensemble, truths, what) or in_another_unit(ensemble, truths, what)
