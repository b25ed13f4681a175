"""Numbers at the ends of what options allow, and defaults."""

import json
import re
from argparse import ArgumentTypeError

import numpy as np
import pytest

import caltest as ct
from caltest.cli import named
from caltest.cli.main import _parser, main
from caltest.cli.options import OPTIONS, level, message, seed, whole


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


SHARED = {"--n-resamples", "--alpha", "--seed", "--fail-on", "--fail-on-reject", "--format", "--json"}
LACK = {"audit": {"--alpha"}, "power": {"--fail-on", "--fail-on-reject"}}
"""An audit decides at the 5 % level, and a study rejects nothing."""


@pytest.mark.parametrize("name", [name for name in commands() if name != "demo"])
def test_the_same_things_have_the_same_options(name):
    given = {option: one for one in commands()[name]._actions for option in one.option_strings}
    assert SHARED - set(given) == LACK.get(name, set())
    assert {"--columns", "--normal"} <= set(given)
    for option in (SHARED | {"--columns", "--missing", "--outcome-column", "--members"}) & set(given):
        usual, one = OPTIONS[option], given[option]
        assert one.metavar == usual.get("metavar"), option
        assert one.choices == usual.get("choices"), option
        assert one.dest == usual.get("dest", option[2:].replace("-", "_")), option


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    p, y = ct.datasets.load_digits_predictions()["random forest"]
    np.savetxt(folder / "forest.csv", p.probabilities, delimiter=",")
    np.savetxt(folder / "warm.csv", p.at_temperature(1.5).probabilities, delimiter=",")
    np.savetxt(folder / "y.csv", y, fmt="%d")
    rows = [f"{p.probabilities[i, 1]},{int(y[i] == 1)},{'a long name of a place ' * 4}{i % 3}" for i in range(200)]
    (folder / "risks.csv").write_text("\n".join(["risk,event,site", *rows]))
    return folder


COMMANDS = {
    "test": "test forest.csv y.csv",
    "groups": "test risks.csv --outcome-column event --columns risk --groups site",
    "audit": "audit risks.csv --outcome-column event --columns risk --groups site",
    "compare": "compare forest.csv warm.csv y.csv",
    "binary models": "compare risks.csv --outcome-column event --columns risk",
    "pairs": "compare forest.csv warm.csv y.csv --pairs",
    "recalibrate": "recalibrate forest.csv y.csv",
    "power": "power forest.csv --strength 0.1 --n-simulations 3 --n 100",
}


@pytest.mark.parametrize("name", COMMANDS)
def test_commands_print_lines_of_at_most_80_letters_and_the_same_keys(name, files, capsys, monkeypatch):
    monkeypatch.chdir(files)
    arguments = [*COMMANDS[name].split(), "--seed", "1", "--n-resamples", "19"]
    assert main(arguments) == 0
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 80
    assert main([*arguments, "--json"]) == 0
    entries = json.loads(capsys.readouterr().out)
    assert {"result", "schema", "caltest", "seed", "alpha", "verdict"} <= set(entries)
    assert entries["alpha"] == 0.05
    assert isinstance(entries["verdict"], str)
    if name != "power":
        assert isinstance(entries["rejected"], bool)
        assert entries["rejected"] == (entries["pvalue"] <= 0.05)
        assert main([*arguments, "--fail-on", "reject"]) == entries["rejected"]
    if name in ("groups", "compare", "pairs"):
        assert bool(entries["rejected_names"]) == entries["rejected"]


@pytest.mark.parametrize("name", ["ece", "ece-top-label", "ece-consistency"])
def test_binned_tests_have_the_bins_that_their_description_says(name):
    described = named.TESTS["ece" if name == "ece-consistency" else name].text
    number = int(re.search(r"(\d+) bins", described)[1])
    assert named.TESTS[name].of(None).estimator.binning == ct.binning.UniformBinning(number)


def test_messages_of_more_than_a_screen_lose_their_middle():
    assert message("a" * 2000) == "a" * 2000
    assert message("a" * 1000 + "b" + "c" * 1000) == "a" * 1000 + " [...] " + "c" * 1000
