"""Numbers at the ends of what options allow, and defaults."""

import re
from argparse import ArgumentTypeError

import pytest

from caltest.cli.main import _parser
from caltest.cli.options import level, seed, whole


@pytest.mark.parametrize(
    ("kind", "allowed", "refused", "wanted"),
    [
        (whole, ["1", "7"], ["0", "-1", "1.5", "many"], "a whole number of at least 1"),
        (seed, ["0", "7"], ["-1", "0.5"], "a whole number of at least 0"),
        (level, ["1e-300", "0.9999"], ["0", "1", "-0.1", "nan"], "a number between 0 and 1"),
    ],
)
def test_numbers(kind, allowed, refused, wanted):
    assert [kind(text) for text in allowed] == [float(text) for text in allowed]
    for text in refused:
        with pytest.raises(ArgumentTypeError, match=f"^got '{text}', wanted {wanted}$"):
            kind(text)


def commands():
    (group,) = (one for one in _parser()._actions if hasattr(one, "choices") and isinstance(one.choices, dict))
    return group.choices


@pytest.mark.parametrize("name", commands())
def test_help_says_what_the_defaults_are(name):
    for option in commands()[name]._actions:
        if isinstance(option.default, (int, float)) and not isinstance(option.default, bool):
            assert re.search(r"\(default: (\S+)\)", option.help)[1] == str(option.default), option.dest
