"""Sums over equally likely members, whatever they say of the targets."""

from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np

from caltest._basics.arrays import is_data_array, members_elsewhere, to_array, with_members_second
from caltest._basics.numerics import Array, ArrayLike, FloatArray
from caltest._loops.transport import squared_gaps
from caltest._validation import finite_array, real_targets
from caltest._validation.arrays import all_whole
from caltest._validation.column_names import names_of_columns, refuse_quantiles
from caltest.kernels import EnergyDistance, Metric, TargetKernel, Wasserstein
from caltest.kernels.metrics.discrepancies import difference_of_means
from caltest.predictions.bandwidth import median_of
from caltest.predictions.base import Drawer, Parameter, Predictions, weighted_sum
from caltest.predictions.measures.sums import Measures, distance_sums, kernel_sums, mixture_sums

UNEQUAL = (
    "all cases need as many members, because the errors of fewer members are larger; where this number differs, keep "
    "the first m of each case, with m the smallest number, as exchangeable members differ in nothing but their order: "
    "[row[:m] for row in members]"
)
"""Why ragged ensembles are refused, and the way out."""

RAGGED = "different lengths", "got nan", "missing value"
"""Signs of ragged ensembles in errors: as they are, or filled up."""

SEVERAL = 10
"""Rows from which on a column of different whole numbers beside fractions is taken to number them."""


class Members(Predictions):
    """n predictions of m equally likely members each, numbers or vectors of d numbers.

    What members say of the targets is what subclasses differ in; expectations and costs are those of ``Ensemble``.
    """

    known_metrics = "EnergyDistance(), MMD(kernel), and Wasserstein() for scalar targets"
    inverts_quickly = True
    meaning: ClassVar[str]
    """What the members are to the targets, in a few words."""
    members = Parameter(0, "Members (..., n, m) in ascending order, or (..., n, m, d) for vectors.")

    def __init__(self, members: FloatArray, *others: Any) -> None:
        self._is_vector = members.ndim == 3
        # In ascending order the members of a scalar ensemble are its quantile function.
        self._parameters = (members if self._is_vector else np.sort(members, axis=1), *others)
        self.members.flags.writeable = False

    def _of(self, members: FloatArray) -> Self:
        return self._like(members, *self._parameters[1:])

    @property
    def n_members(self) -> int:
        """Number m of members."""
        return int(self.members.shape[-2 if self._is_vector else -1])

    @property
    def shape(self) -> tuple[int, ...]:
        return self.members.shape[: -2 if self._is_vector else -1]

    def drawer(self) -> Drawer:
        rows = np.arange(len(self))
        return lambda uniforms: self.members[rows, (uniforms(0) * self.n_members).astype(np.intp)]

    @property
    def default_median_of(self) -> int:
        """Fewer of vectors, as a pair of ensembles takes as many steps as there are pairs of members."""
        return median_of(self.n_members if self._is_vector else 1)

    def has_formulas(self, kernel: TargetKernel) -> bool:
        return not self._is_vector

    def width(self, kernel: TargetKernel) -> int:
        return super().width(kernel) + self.n_members * self.dimension

    @property
    def dimension(self) -> int:
        """Length of the vectors, or 1 for numbers."""
        return int(self.members.shape[-1]) if self._is_vector else 1

    def check_targets(self, targets: ArrayLike, name: str = "targets") -> Array:
        array = to_array(targets, name)
        shape = self.members.shape
        wanted = shape[:1] + shape[2:]
        if array.shape != wanted and (advice := members_elsewhere(shape, array.shape, "members")):
            raise ValueError(f"{name}: got shape {array.shape}, wanted {wanted}, one outcome per prediction{advice}")
        return real_targets(array, len(self), name, self.dimension if self._is_vector else None)

    def check_compatible(self, other: Predictions, name: str) -> None:
        """Raise unless ``other`` is an ensemble of the same kind of targets; the numbers of members can differ."""
        if not isinstance(other, Members):
            raise TypeError(f"{name}: got {other.family} predictions, wanted {self.family} predictions")
        if self._kind != other._kind:
            raise ValueError(f"{name}: got members that are {other._kind}, wanted {self._kind} as in the predictions")

    @property
    def loss_name(self) -> str:
        return "fair energy score" if self._is_vector else "fair CRPS"

    @property
    def _kind(self) -> str:
        return f"vectors of length {self.dimension}" if self._is_vector else "numbers"

    def transport_vectors(self) -> FloatArray | None:
        """Sorted members over sqrt(m), for scalar targets."""
        return None if self._is_vector else np.asarray(self.members / np.sqrt(self.n_members))

    def transport_distances(self, other: Self) -> FloatArray | None:
        """Those to ensembles with more or less members."""
        if self._is_vector or other.n_members == self.n_members:
            return None
        return Wasserstein().tile(*_quantile_functions(self.members, other.members))

    def energy_distances(self, other: Self) -> FloatArray:
        """``2 E|Z - Z'| - E|Z - Z~| - E|Z' - Z'~|`` for each prediction (..., r) and each other one (..., c).

        For scalar targets ``2 int (F - F')**2``, a sum of squares. Equal ensembles have 0, and so have those whose
        difference is rounding.
        """
        if self._is_vector:
            within = (distance_sums(one._each()._measures, one._each()._measures)[..., 0, 0] for one in (self, other))
            return difference_of_means(distance_sums(self._measures, other._measures), *within)
        batch = np.broadcast_shapes(self.shape[:-1], other.shape[:-1])
        out = np.empty((*batch, len(self), len(other)))
        # Sorted members are followed by infinity.
        ended = (np.concatenate([one.members, np.full((*one.shape, 1), np.inf)], axis=-1) for one in (self, other))
        rows, columns = (np.broadcast_to(one, (*batch, *one.shape[-2:])).reshape(-1, *one.shape[-2:]) for one in ended)
        squared_gaps(rows, columns, out.reshape(-1, len(self), len(other)))
        out *= 2.0
        return out

    def moments(self) -> tuple[FloatArray, FloatArray]:
        axis = len(self.shape)
        variances = self.members.var(axis=axis)
        return self.members.mean(axis=axis), variances.sum(axis=-1) if self._is_vector else variances

    def cdf(self, targets: Array) -> FloatArray:
        if self._is_vector:
            return super().cdf(targets)
        return np.asarray((self.members <= targets[..., None]).mean(axis=-1))

    def target_tile(self, kernel: TargetKernel, rows: Array, columns: Array) -> FloatArray:
        if self._is_vector:
            return kernel.vector_target_tile(rows, columns)
        return kernel.target_tile(rows, columns)

    @property
    def _measures(self) -> Measures:
        points = self.members if self._is_vector else self.members[..., None]
        return Measures(points, np.full(self.n_members, 1.0 / self.n_members))

    def _point_masses(self, targets: Array) -> Measures:
        points = targets[..., None, :] if self._is_vector else targets[..., None, None]
        return Measures(points, np.ones(1))

    def _each(self) -> Self:
        """A stack of samples of one prediction."""
        return self._of(self.members[..., None, :, :] if self._is_vector else self.members[..., None, :])

    def _expected_kernel(self, kernel: TargetKernel, targets: Array) -> FloatArray:
        return kernel_sums(kernel, self._measures, self._point_masses(targets), self._is_vector)

    def _expected_kernel2(self, kernel: TargetKernel, other: Self) -> FloatArray:
        return kernel_sums(kernel, self._measures, other._measures, self._is_vector)

    def self_kernel(self, kernel: TargetKernel) -> FloatArray:
        return self._each().expected_kernel2(kernel, self._each())[..., 0, 0]

    def centred_kernel(self, kernel: TargetKernel, targets: Array, other: Self, other_targets: Array) -> FloatArray:
        """The four terms of the target part of h in one: a target with weight 1 and the members with -1/m."""
        rows = self._point_masses(targets) - self._measures
        columns = other._point_masses(other_targets) - other._measures
        return weighted_sum(kernel, lambda term: kernel_sums(term, rows, columns, self._is_vector))

    def _expectation_sums(self, kernel: TargetKernel, weights: FloatArray, targets: Array) -> FloatArray:
        sums = mixture_sums(kernel, self._measures, np.ascontiguousarray(weights), targets)
        return super()._expectation_sums(kernel, weights, targets) if sums is None else sums

    @property
    def _default_metric(self) -> Metric:
        return EnergyDistance() if self._is_vector else Wasserstein()

    def describe(self, n: int | None = None) -> str:
        dimension = f", d = {self.dimension}" if self._is_vector else ""
        return f"{self.family}, n = {len(self) if n is None else n}, {self._number}{dimension}"

    @property
    def _number(self) -> str:
        return f"{self.n_members} members"

    def coordinate(self, t: int) -> Self:
        one = self._of(np.sort(self.members[..., t], axis=-1) if self._is_vector else self.members)
        one._is_vector = False
        return one

    def of_fewer(self, n_members: int) -> Self:
        """So many of the members, at equal distances in their order: about the same distributions."""
        places = (np.arange(n_members) + 0.5) * self.n_members / n_members
        return self._of(np.take(self.members, places.astype(np.intp), axis=len(self.shape)))

    def followed_by(self, other: Self) -> Self:
        self.check_compatible(other, "predictions")
        if other.n_members != self.n_members:
            raise ValueError(
                f"predictions: got {other.n_members} members, wanted {self.n_members} as in those that they follow"
            )
        if type(other) is not type(self):
            raise ValueError(
                f"predictions: got members {other.meaning}, wanted members {self.meaning}, as in those that they follow"
            )
        return super().followed_by(other)


def of_equal_size(predictions: Sequence[Predictions]) -> list[Predictions]:
    """The predictions, ensembles among them with as many members as the smallest has."""
    fewest = min((one.n_members for one in predictions if isinstance(one, Members)), default=0)
    return [one.of_fewer(fewest) if isinstance(one, Members) else one for one in predictions]


def checked_members(members: ArrayLike) -> FloatArray:
    """Members (n, m) or (n, m, d) of users as an array of finite numbers; ``ValueError`` for what is none."""
    if is_data_array(members) and {"chain", "draw"} <= set(members.dims):
        raise ValueError(
            "members: got dimensions chain and draw, wanted one dimension of members; pass "
            'members.stack(member=("chain", "draw"))'
        )
    members = with_members_second(members)
    refuse_quantiles(names_of_columns(members), "members", "members")
    data = members.to_numpy() if hasattr(members, "to_numpy") else members
    rows = list(data) if isinstance(data, np.ndarray) and data.dtype == object and data.ndim == 1 else data
    try:
        array = to_array(rows, "members")
        if array.ndim in (2, 3) and 0 not in array.shape:
            _refuse_row_numbers(array)
            return finite_array(array, "members")
    except ValueError as error:
        if any(sign in str(error) for sign in RAGGED):
            raise ValueError(f"{error}; {UNEQUAL}") from None
        raise
    raise ValueError(
        f"members: got shape {array.shape}, wanted (n, m) numbers, m members of each prediction, "
        "or (n, m, d) for vectors, with n, m and d at least 1"
    )


def _refuse_row_numbers(members: Array) -> None:
    """Raise ``ValueError`` if the first or last column has a whole number for each row, and others have fractions."""
    n, m = members.shape[:2]
    if members.ndim > 2 or m < 3 or n < SEVERAL or members.dtype.kind != "f":
        return
    for j, others in ((0, members[:, 1:]), (m - 1, members[:, :-1])):
        column = members[:, j]
        if not all_whole(column) or all_whole(others) or np.unique(column).size < n:
            continue
        raise ValueError(
            f"members: got another whole number in each row of column {j}, and fractions in others, wanted members "
            "only; leave out the column that numbers the rows"
        )


def _quantile_functions(rows: FloatArray, columns: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Vectors with the distance of two quantile functions in L2, from sorted members (..., m) and (..., m')."""
    m, k = rows.shape[-1], columns.shape[-1]
    # Levels in units of 1 / (m k), as whole numbers, so that levels of both that are equal are one.
    ends = np.union1d(np.arange(1, m + 1) * k, np.arange(1, k + 1) * m)
    widths = np.sqrt(np.diff(ends, prepend=0) / (m * k))
    return rows[..., (ends - 1) // k] * widths, columns[..., (ends - 1) // m] * widths
