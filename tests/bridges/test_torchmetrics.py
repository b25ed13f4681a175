import doctest
import pickle

import numpy as np
import pytest

import caltest as ct

torch = pytest.importorskip("torch", reason="torch is missing")
pytest.importorskip("torchmetrics", reason="torchmetrics is missing")

from torchmetrics import MetricCollection

from caltest.bridges import torchmetrics as bridge

P, Y = ct.datasets.load_digits_predictions()["neural network"]
TENSORS = torch.tensor(P.probabilities), torch.tensor(Y)
SETTINGS = {"seed": 1, "n_resamples": 99, "predictions": P}


def wanted():
    return ct.OmnibusTest(n_resamples=99).accumulator(predictions=P, rng=1).update(P, Y).result()


def batches(*sizes):
    return zip(*(tensor.split(sizes) for tensor in TENSORS), strict=True)


def test_examples():
    assert doctest.testmod(bridge, optionflags=doctest.NORMALIZE_WHITESPACE).failed == 0


@pytest.mark.parametrize("sizes", [(899,), (400, 499), (100, 1, 798)])
def test_batches_are_all_data(sizes):
    metric = bridge.CalibrationTestMetric(**SETTINGS)
    for p, y in batches(*sizes):
        metric.update(p, y)
    assert metric.compute().item() == pytest.approx(wanted().pvalue)
    assert metric.result.statistic == wanted().statistic
    metric.reset()
    metric.update(*TENSORS)
    assert metric.compute().item() == pytest.approx(wanted().pvalue)


@pytest.mark.filterwarnings("ignore:You are using `torch.load`:FutureWarning")  # of torchmetrics with torch before 2.6
def test_forward_collections_copies_and_devices():
    metric = bridge.CalibrationTestMetric(**SETTINGS)
    collection = MetricCollection({"calibration": metric})
    (first, second) = batches(450, 449)
    value = collection(*first)["calibration"]
    part = ct.OmnibusTest(n_resamples=99).accumulator(predictions=P, rng=1).update(*first).result()
    assert value.item() == pytest.approx(part.pvalue)
    collection = pickle.loads(pickle.dumps(collection)).to("cpu").double()
    collection.update(*second)
    assert collection.compute()["calibration"].item() == pytest.approx(wanted().pvalue)


def test_bad_settings():
    with pytest.raises(ValueError, match="seed: got -1"):
        bridge.CalibrationTestMetric(seed=-1)
    with pytest.raises(ValueError, match="got"):
        bridge.CalibrationTestMetric(seed=1).update(TENSORS[0] * 2, TENSORS[1])
    with pytest.raises(ValueError, match="accumulators: got no batch"), pytest.warns(UserWarning, match="compute"):
        bridge.CalibrationTestMetric(seed=1).compute()


def of_process(rank, path):
    """What one of two processes does: its rows, more of them after a first result, and what it says."""
    torch.distributed.init_process_group("gloo", init_method=f"file://{path}/store", rank=rank, world_size=2)
    with pytest.raises(ValueError, match="predictions: got None in several processes"):
        bridge.CalibrationTestMetric(seed=1).update(*TENSORS)
    metric = bridge.CalibrationTestMetric(**SETTINGS)
    metric.update(TENSORS[0][rank:600:2], TENSORS[1][rank:600:2])
    first = metric.compute().item()
    metric.update(TENSORS[0][600 + rank :: 2], TENSORS[1][600 + rank :: 2])
    second = metric.compute().item()
    np.savez(f"{path}/{rank}.npz", pvalues=[first, second], n=metric.result.n, statistic=metric.result.statistic)
    torch.distributed.destroy_process_group()


@pytest.mark.full
def test_two_processes(tmp_path):
    torch.multiprocessing.spawn(of_process, (str(tmp_path),), nprocs=2)
    one, other = (np.load(tmp_path / f"{rank}.npz") for rank in (0, 1))
    rows = [np.arange(rank, 600, 2) for rank in (0, 1)], [np.arange(600 + rank, 899, 2) for rank in (0, 1)]
    parts = [ct.OmnibusTest(n_resamples=99).accumulator(predictions=P, rng=1, part=rank) for rank in (0, 1)]
    for places in rows:
        for part, some in zip(parts, places, strict=True):
            part.update(P.take(some), Y[some])
    merged = parts[0].merge(parts[1]).result()
    for found in (one, other):
        assert found["n"] == 899 == merged.n
        assert found["statistic"] == merged.statistic
        assert found["pvalues"][1] == pytest.approx(merged.pvalue)
        assert (found["pvalues"] == one["pvalues"]).all()
