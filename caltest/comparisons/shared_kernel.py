"""One kernel for several models, so that their errors are the same quantity."""

from collections.abc import Sequence
from functools import reduce

from caltest.estimators.default_kernel import default_kernel
from caltest.kernels import PairKernel
from caltest.kernels.product import check_pair_kernel
from caltest.predictions import Members, Predictions


def shared_kernel(kernel: PairKernel | None, predictions: Sequence[Predictions]) -> PairKernel:
    """The kernel, or that of the family, with ``"median"`` bandwidths from the predictions of all models together.

    Ensembles enter these with as many members as the smallest of them has.
    """
    fewest = min((one.n_members for one in predictions if isinstance(one, Members)), default=0)
    alike = [one.of_fewer(fewest) if isinstance(one, Members) else one for one in predictions]
    pooled = reduce(lambda one, other: one.followed_by(other), alike)
    if kernel is None:
        return default_kernel(pooled)[0]
    check_pair_kernel(kernel)
    return kernel.resolve(pooled)
