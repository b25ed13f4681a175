"""Numbers and texts that public calls return, as they are stored by ``python -m tests.golden.numbers``."""

import json

import pytest
from golden import numbers
from golden.numbers import CASES, STORED, Digest

KNOWN = json.loads(STORED.read_text())


def test_all_cases_are_stored():
    assert list(KNOWN) == list(CASES), "python -m tests.golden.numbers new"


def test_what_is_new_is_named(monkeypatch, tmp_path, capsys):
    *_, first, last = KNOWN
    monkeypatch.setattr(numbers, "STORED", tmp_path / "numbers.json")
    monkeypatch.setattr(numbers, "store", lambda names: print(names))
    for lacking, printed in (
        ((first, last), f"{[first, last]}\n2 new cases stored\n  {first}\n  {last}\n"),
        ((), "0 new cases stored\n"),
    ):
        numbers.STORED.write_text(json.dumps({name: 0 for name in KNOWN if name not in lacking}))
        numbers.store_new()
        assert capsys.readouterr().out == printed


@pytest.mark.parametrize("name", CASES)
def test_calls_return_what_they_did(name):
    """If this fails, ``python -m tests.golden.numbers NAME`` shows all, here and at the last commit."""
    assert name in KNOWN, "python -m tests.golden.numbers new"
    found, stored = Digest(name).parts, KNOWN[name]
    assert list(found) == list(stored)
    changed = {part: (found[part], stored[part]) for part in stored if not is_same(found[part], stored[part])}
    assert not changed


def is_same(found, stored):
    """Whether letters and numbers agree, as far as they are stored."""
    (letters, numbers), (known_letters, known) = found, stored
    if known_letters not in (None, letters):
        return False
    if known is None:
        return True
    pairs = zip(numbers, known, strict=False)
    return all(then is None or abs(now - then) <= 1e-8 * abs(then) for now, then in pairs)
