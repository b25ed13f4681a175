"""Grids of which a default run takes some cells, and a run with ``--full`` all of them."""

import pytest

full = pytest.mark.full


def thinned(cells, kept):
    """Parameters of a test; those that are not among the ``kept`` ones wait for ``--full``."""
    cells, kept = list(cells), list(kept)
    unknown = [cell for cell in kept if cell not in cells]
    assert not unknown, f"no cells of the grid: {unknown}"
    return [cell if cell in kept else pytest.param(*_values(cell), marks=full) for cell in cells]


def _values(cell):
    return cell if isinstance(cell, tuple) else (cell,)
