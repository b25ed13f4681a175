"""The default test as a metric of torchmetrics: ``from caltest.bridges.torchmetrics import CalibrationTestMetric``.

The module imports torch and torchmetrics.
"""

from collections.abc import Callable
from typing import Any

try:
    import torch
    from torchmetrics import Metric
except ImportError as error:
    raise ImportError("caltest.bridges.torchmetrics needs torchmetrics: pip install caltest[torch]") from error

from caltest._basics.numerics import ArrayLike
from caltest._results.calibration_test_result import CalibrationTestResult
from caltest._validation import whole_number
from caltest.named_tests import CalibrationTestAccumulator, OmnibusTest
from caltest.predictions.inputs.convert import as_predictions


class CalibrationTestMetric(Metric):  # type: ignore[misc]
    """The p-value of the default test of all batches, also over several processes.

    The state are accumulators, ``ct.OmnibusTest(n_resamples).accumulator()``: sums of batches, of a size that does not
    grow with the data. ``compute`` merges those of all processes, and ``result`` is then the ``CalibrationTestResult``.

    Parameters
    ----------
    seed
        Of the redraws, a whole number, the same in all processes.
    n_resamples
        Number of redraws.
    predictions
        Some predictions, the same in all processes, from which the settings of the test follow (bandwidth of the
        kernel, cells of predictions), such as some of an earlier epoch. Default: those of the first batch, for a single
        process only.
    settings
        Others of ``torchmetrics.Metric``.

    Raises
    ------
    ValueError
        For bad data or settings, or at the first ``update`` of several processes without ``predictions``.

    Notes
    -----
    The p-value is exact for all batches together, whatever their sizes and who takes them, if no observation is in two
    of them: samplers that repeat rows to make processes equally long, as torch's ``DistributedSampler`` does without
    ``drop_last``, count these twice. Call ``update`` in loops: ``forward`` tests each batch as well, which takes longer
    and says little. ``state_dict`` does not hold the state; a metric can be pickled.

    Examples
    --------
    >>> import torch
    >>> import caltest as ct
    >>> from caltest.bridges.torchmetrics import CalibrationTestMetric
    >>> predictions, labels = ct.datasets.load_digits_predictions()["random forest"]
    >>> p, y = torch.tensor(predictions.probabilities), torch.tensor(labels)
    >>> metric = CalibrationTestMetric(seed=1, n_resamples=99)
    >>> for rows in torch.arange(899).split(100):
    ...     metric.update(p[rows], y[rows])
    >>> metric.compute(), metric.result.finding.kind
    (tensor(0.0100), 'temperature')
    """

    full_state_update = True
    higher_is_better = None
    is_differentiable = False

    def __init__(self, *, seed: int, n_resamples: int = 999, predictions: ArrayLike = None, **settings: Any) -> None:
        super().__init__(**settings)
        self.seed = whole_number("seed", seed, 0)
        self.test = OmnibusTest(n_resamples=n_resamples)
        self.predictions = None if predictions is None else as_predictions(predictions)
        self.result: CalibrationTestResult | None = None
        self.accumulators: list[CalibrationTestAccumulator]
        self.add_state("accumulators", [], dist_reduce_fx=None)

    def update(self, preds: ArrayLike, target: ArrayLike) -> None:
        """Take predictions and targets of a batch: tensors on any device, or what ``ct.calibration_test`` takes."""
        if not self.accumulators:
            together = torch.distributed.is_available() and torch.distributed.is_initialized()
            rank = torch.distributed.get_rank(self.process_group) if together else 0
            if self.predictions is None and together and torch.distributed.get_world_size(self.process_group) > 1:
                raise ValueError(
                    "predictions: got None in several processes, wanted some predictions, the same in all of them: "
                    "CalibrationTestMetric(predictions=...)"
                )
            made = self.test.accumulator(predictions=self.predictions, rng=self.seed, part=rank)
            self.accumulators.append(made)
        self.accumulators[0].update(preds, target)

    def compute(self) -> Any:
        """The p-value of all batches, as a tensor; ``result`` has the rest."""
        states = self._copy_state_dict()["accumulators"]
        if not states:
            raise ValueError("accumulators: got no batch, wanted one at least; call update(preds, target) before")
        first, *others = states
        for other in others:
            first.merge(other)
        self.result = first.result()
        return torch.tensor(self.result.pvalue, device=self.device)

    def _sync_dist(self, dist_sync_fn: Any = None, process_group: Any = None) -> None:
        """Those of all processes, in the order of their ranks; they are no tensors, so the objects are sent."""
        group = process_group or self.process_group
        gathered: list[Any] = [None] * torch.distributed.get_world_size(group)
        torch.distributed.all_gather_object(gathered, self.accumulators, group=group)
        self.accumulators = [one for state in gathered for one in state]

    def _apply(self, fn: Callable[..., Any], exclude_state: Any = ()) -> Any:
        """Accumulators have no device."""
        return super()._apply(fn, (*exclude_state, "accumulators"))
