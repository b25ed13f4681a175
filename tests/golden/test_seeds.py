"""The promise on seeds: versions that differ in the last place only give the same numbers for the same seed."""

import json

import pytest
from golden.seeds import CASES, path_of

import caltest as ct

STORED = path_of(ct.__version__)


def test_numbers_are_stored_for_this_version():
    assert STORED.is_file(), "new version: python -m tests.golden.seeds"
    assert set(json.loads(STORED.read_text())) == set(CASES)


@pytest.mark.parametrize("name", CASES)
def test_seeds_keep_their_numbers(name):
    """If this fails the second place of the version has to be raised, and Changes has to say what changed."""
    assert CASES[name]() == pytest.approx(json.loads(STORED.read_text())[name], rel=1e-8, abs=1e-12)
