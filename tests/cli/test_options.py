"""Numbers at the ends of what options allow, and defaults."""

import re
from argparse import ArgumentTypeError

import numpy as np
import pytest

import caltest as ct
from caltest.cli import named
from caltest.cli.main import _parser, main
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


@pytest.mark.parametrize("name", commands())
def test_help_begins_with_two_examples_that_are_understood(name):
    """Each is a command line that the parser takes."""
    lines = commands()[name].description.splitlines()
    assert lines[0] == "examples:"
    examples = [line.split() for line in lines[1:3]]
    assert all(example[:2] == ["caltest", name] for example in examples)
    for example in examples:
        assert commands()[name].parse_args(example[2:]).run


def test_reports_in_a_terminal_have_lines_of_at_most_80_letters(tmp_path, capsys):
    p, y = ct.datasets.load_digits_predictions()["random forest"]
    np.savetxt(tmp_path / "p.csv", p.probabilities, delimiter=",")
    np.savetxt(tmp_path / "y.csv", y, fmt="%d")
    assert main(["test", str(tmp_path / "p.csv"), str(tmp_path / "y.csv"), "--seed", "1"]) == 0
    text = capsys.readouterr().out
    assert max(map(len, text.splitlines())) <= 80
    assert "Verdict        reject calibration" in text


@pytest.mark.parametrize("name", ["ece", "ece-top-label", "ece-consistency"])
def test_binned_tests_have_the_bins_that_their_description_says(name):
    described = named.TESTS["ece" if name == "ece-consistency" else name].text
    number = int(re.search(r"(\d+) bins", described)[1])
    assert named.TESTS[name].of(None).estimator.binning == ct.binning.UniformBinning(number)
