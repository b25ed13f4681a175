import gc
import os
import sys
from collections import Counter
from pathlib import Path

if "PYTEST_XDIST_WORKER" in os.environ:
    # The workers share the processors; numpy reads this when it is imported.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
# Each process that a test starts would translate all modules again; machine code is kept in the same folders.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

import numpy as np
import pytest

from caltest._basics.calls import pvalues_only

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"


def pytest_addoption(parser):
    parser.addoption("--full", action="store_true", help="take all cells of all grids, and all replications")
    parser.addoption("--own", metavar="FILE", help="hold contracts against the classes of a file of your own too")


def pytest_configure(config):
    """``tests/public.py`` reads the file, in the processes that tests start too."""
    if config.getoption("--own"):
        os.environ["CALTEST_OWN"] = str(Path(config.getoption("--own")).resolve())


def pytest_collection_modifyitems(config, items):
    """Tests marked ``full``, and cells of grids that are left out by ``every(k)``, wait for ``--full``.

    With ``--own`` all cells are taken: those that are left out could be the ones of the file.
    """
    if not config.getoption("--full"):
        cells = None if config.getoption("--own") else Counter()
        waits = {item: _waits(item, cells) for item in items}
        config.hook.pytest_deselected(items=[item for item in items if waits[item]])
        items[:] = [item for item in items if not waits[item]]


def _waits(item, cells):
    if item.get_closest_marker("full"):
        return True
    every = item.get_closest_marker("every")
    if cells is None or not every:
        return False
    function = item.path, item.originalname
    cells[function] += 1
    return (cells[function] - 1) % every.args[0] != 0


def pytest_collection():
    """What is imported and collected stays to the end, so garbage collection need not look at it: a third of the time.

    ``pytest_collection_finish`` switches it on again, for what comes later.
    """
    gc.disable()


def pytest_collection_finish(session):
    """Remember the loops that were compiled while tests were collected, by every worker for itself."""
    modules = [module for name, module in sys.modules.items() if name.startswith("caltest._loops.")]
    loops = {value for module in modules for value in vars(module).values() if getattr(value, "signatures", None)}
    session.config.compiled_at_collection = sorted(loop.__name__ for loop in loops)
    gc.enable()


@pytest.fixture(scope="module", autouse=True)
def only_what_tests_make_is_looked_at():
    """What earlier tests have loaded, compiled and kept is not looked at for garbage again."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def replications(request):
    """Number of simulated data sets: the first number, or the second with --full."""
    return lambda reduced, full: full if request.config.getoption("--full") else reduced


@pytest.fixture
def without_findings():
    """Tests do not say what is wrong, how much it is and what they missed, which takes most of their time."""
    with pvalues_only():
        yield


@pytest.fixture(scope="session")
def cifar10():
    """Folder with predictions of networks for CIFAR-10 and the published results."""
    folder = SHARED / "cifar10"
    if not folder.is_dir():
        pytest.skip(f"no CIFAR-10 predictions: {folder} does not exist")
    return folder


@pytest.fixture(scope="session")
def ds1():
    """100 predictions for 3 classes with labels that do not depend on them; anyone can draw them."""
    rng = np.random.default_rng(1234)
    probabilities = rng.dirichlet((3, 2, 5), 100)
    return probabilities, rng.integers(1, 4, 100) - 1


@pytest.fixture(scope="session")
def normal30():
    """30 normal predictions with targets that do not depend on them."""
    rng = np.random.default_rng(1234)
    mean, scale = rng.normal(size=30), rng.uniform(0.2, 1.5, 30)
    return mean, scale, rng.normal(size=30)
