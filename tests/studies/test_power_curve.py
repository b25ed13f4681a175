"""Tables of simulated powers: every cell is a simulation of its own, on the same data for all tests."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
from printed import unfolded

import caltest as ct
from caltest.generators import DirichletModel
from caltest.studies.simulation import child_seed

MODELS = [DirichletModel.m3(3, 1.0, strength) for strength in (0.0, 0.6)]


def uniform(predictions, targets, rng):
    return SimpleNamespace(pvalue=rng.random())


def mean_label(predictions, targets, rng):
    """A p-value that shows the data."""
    return SimpleNamespace(pvalue=targets.mean() / 2)


TESTS = {"uniform": uniform, "mean": mean_label}


class Interrupting:
    def __init__(self, at):
        self.left, self.calls = at, 0

    def __call__(self, predictions, targets, rng):
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt
        self.calls += 1
        return uniform(predictions, targets, rng)


class TestCells:
    CURVE = ct.power_curve(TESTS, MODELS, [20, 10], n_simulations=25, alpha=[0.5, 0.2], rng=3)

    def test_are_single_simulations(self):
        for g, model in enumerate(MODELS):
            for n in (10, 20):
                for name, test in TESTS.items():
                    cell = self.CURVE.cell(name, g, n)
                    assert cell.seed == child_seed(3, g, n)
                    alone = ct.power(test, model, n, n_simulations=25, alpha=[0.5, 0.2], rng=cell.seed)
                    assert np.array_equal(alone.pvalues, cell.pvalues)
                    assert alone.quantity == cell.quantity == ("size" if g == 0 else "power")

    def test_tables(self):
        rates, lows, highs = self.CURVE.rates(), self.CURVE.lows(), self.CURVE.highs()
        assert rates.shape == (2, 2, 2)
        cell = self.CURVE.cell("mean", 1, 20)
        assert (rates[1, 1, 1], lows[1, 1, 1], highs[1, 1, 1]) == (cell.rate, *cell.interval)
        assert self.CURVE.rates(0.2)[0, 0, 0] == np.mean(self.CURVE.cell("uniform", 0, 10).pvalues <= 0.2)
        assert self.CURVE.sizes == (10, 20)

    def test_report(self):
        text = unfolded(self.CURVE)
        assert text.startswith("Power and size by simulation\n")
        assert "Simulations    25 each" in text
        assert "At the 50 % level, with 95 % intervals:" in text
        assert "At the 20 % level, with 95 % intervals:" in text
        cell = self.CURVE.cell("mean", 1, 20)
        header, *rows = self.CURVE.table()
        assert (header, len(rows)) == (["data", "n", "uniform", "mean"], 4)
        assert f"{cell.rate:.2f} [{cell.interval.low:.2f}, {cell.interval.high:.2f}]" in text
        assert repr(self.CURVE) == "<PowerCurve of 2 tests, 2 generators, n = [10, 20]>"
        assert self.CURVE.strengths == (0.0, 0.6)

    def test_dictionary_is_plain(self):
        entries = json.loads(json.dumps(self.CURVE.to_dict()))
        assert len(entries["cells"]) == 8
        assert entries["cells"][0]["name"] == "uniform"
        assert entries["strengths"] == [0.0, 0.6]

    def test_cells_that_are_not_there(self):
        with pytest.raises(KeyError, match="wanted one of"):
            self.CURVE.cell("mean", 0, 11)

    def test_one_test_one_generator_one_size(self):
        curve = ct.power_curve(uniform, MODELS[1], 10, n_simulations=4, rng=1)
        assert curve.tests == ("test",)
        assert curve.cell().n_simulations == 4
        assert [row[0] for row in curve.table()] == ["n", "10"]


class TestContinuing:
    def test_adds_tests_sizes_generators_and_simulations(self):
        small = ct.power_curve({"uniform": uniform}, MODELS[:1], [10], n_simulations=6, rng=3)
        counting = Interrupting(0)
        large = ct.power_curve({"uniform": uniform, "new": counting}, MODELS, [10, 20], n_simulations=9, resume=small)
        fresh = ct.power_curve({"uniform": uniform, "new": counting}, MODELS, [10, 20], n_simulations=9, rng=3)
        for key, cell in fresh.cells.items():
            assert np.array_equal(cell.pvalues, large.cells[key].pvalues)
        assert counting.calls == 2 * 4 * 9

    def test_interrupts(self):
        fresh = ct.power_curve({"a": Interrupting(0)}, MODELS, [10, 20], n_simulations=5, rng=3)
        test = Interrupting(8)
        cut = ct.power_curve({"a": test}, MODELS, [10, 20], n_simulations=5, rng=3)
        assert {key: cell.n_simulations for key, cell in cut.cells.items()} == {("a", 0, 10): 5, ("a", 0, 20): 2}
        assert cut.notes == ("interrupted: some simulations are missing; resume=result continues them",)
        assert np.isnan(cut.rates()[0, 1]).all()
        assert " - " in unfolded(cut) or str(cut).count("-") >= 2
        whole = ct.power_curve({"a": test}, MODELS, [10, 20], n_simulations=5, resume=cut)
        assert test.calls == 21  # The first data set of the cell that was cut short is tested again.
        assert whole.notes == ()
        for key, cell in fresh.cells.items():
            assert np.array_equal(cell.pvalues, whole.cells[key].pvalues)

    def test_what_was_done_survives_a_second_interrupt(self):
        test = Interrupting(12)
        cut = ct.power_curve({"a": test}, MODELS, [10, 20], n_simulations=5, rng=3)
        test.left = 1
        again = ct.power_curve({"a": test}, MODELS, [10, 20], n_simulations=6, resume=cut)
        assert {key: cell.n_simulations for key, cell in again.cells.items()} == {
            key: cell.n_simulations for key, cell in cut.cells.items()
        }

    def test_nothing_finished_is_no_result(self):
        with pytest.raises(KeyboardInterrupt):
            ct.power_curve(Interrupting(1), MODELS, 10)


class TestBadInput:
    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({"n": [10, 10]}, r"n: got \[10, 10\], wanted one number of observations or several different"),
            ({"n": []}, r"n: got \[\]"),
            ({"n": 0}, "n: got 0, wanted a whole number of at least 1"),
            ({"tests": {}}, "tests, generators: got 0 and 2, wanted at least one of each"),
            ({"generators": []}, "tests, generators: got 2 and 0"),
            ({"alpha": 2}, "alpha: got 2"),
            ({"n_simulations": 0}, "n_simulations: got 0"),
        ],
    )
    def test_settings(self, settings, message):
        with pytest.raises(ValueError, match=message):
            ct.power_curve(**{"tests": TESTS, "generators": MODELS, "n": 10, **settings})

    def test_names_say_what_is_wrong(self):
        with pytest.raises(TypeError, match=r"tests\['b'\]: got 3, wanted a function"):
            ct.power_curve({"a": uniform, "b": 3}, MODELS, 10)
        with pytest.raises(TypeError, match=r"generators\[1\]: got 'M1', wanted an object with a method sample"):
            ct.power_curve(uniform, [MODELS[0], "M1"], 10)

    def test_other_studies(self):
        earlier = ct.power_curve(uniform, MODELS, 10, n_simulations=2, rng=3)
        with pytest.raises(ValueError, match="resume: got a study with generator = Dir"):
            ct.power_curve(uniform, MODELS[::-1], 10, n_simulations=2, resume=earlier)
        with pytest.raises(TypeError, match="resume: got 1, wanted the result of an earlier call"):
            ct.power_curve(uniform, MODELS, 10, resume=1)
