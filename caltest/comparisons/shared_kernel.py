"""One kernel for several models, so that their errors are the same quantity."""

from collections.abc import Sequence
from functools import reduce

from caltest.estimators.default_kernel import default_kernel
from caltest.kernels import PairKernel
from caltest.kernels.product import check_pair_kernel
from caltest.predictions import Predictions
from caltest.predictions.members import of_equal_size


def shared_kernel(kernel: PairKernel | None, predictions: Sequence[Predictions]) -> PairKernel:
    """The kernel, or that of the family, with ``"median"`` bandwidths from the predictions of all models together.

    Ensembles enter these with as many members as the smallest of them has.
    """
    pooled = reduce(lambda one, other: one.followed_by(other), of_equal_size(predictions))
    if kernel is None:
        return default_kernel(pooled)[0]
    check_pair_kernel(kernel)
    return kernel.resolve(pooled)
