"""Memory of threads that is used again."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from caltest._basics import scratch as module
from caltest._basics.scratch import scratch


def test_memory_is_that_of_the_last_call_with_the_name():
    first = scratch("a", (4, 5))
    first[:] = 7.0
    again = scratch("a", (2, 3), np.float32)
    assert np.shares_memory(first, again)
    assert (again.dtype, again.shape, again.flags.c_contiguous) == (np.float32, (2, 3), True)
    assert not np.shares_memory(first, scratch("b", (4, 5)))
    assert not np.shares_memory(first, scratch("a", (5, 5)))


def test_each_thread_has_its_own():
    first = scratch("a", (3,))
    with ThreadPoolExecutor(1) as pool:
        assert not np.shares_memory(first, pool.submit(scratch, "a", (3,)).result())


@pytest.mark.parametrize(("size", "is_kept"), [(2, True), (3, False)])
def test_large_arrays_are_not_kept(size, is_kept, monkeypatch):
    monkeypatch.setattr(module, "LARGEST", 16)
    assert np.shares_memory(scratch("c", (size,)), scratch("c", (size,))) is is_kept
