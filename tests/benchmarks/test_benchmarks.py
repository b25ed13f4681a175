from dataclasses import replace

import pytest
from grids import full, thinned

from . import gate
from .__main__ import main
from .compare import disagreement
from .measure import Outcome
from .rows import ROWS
from .sides import Side

QUICK = ["ece-test", "family-normal"]
MORE = ["skce-10000-10", "family-full", "bootstrap-10", "blocks", "family-laplace", "family-diagonal", "family-mixture"]


@pytest.mark.full
def test_quick_rows_agree_and_the_table_is_printed(capsys, replications):
    rows = replications(QUICK, QUICK + MORE)
    assert main(["--quick", "--repeats", "1", "--markdown", "--rows", *rows]) == 0
    table = [line for line in capsys.readouterr().out.splitlines() if line.startswith("|")]
    assert table[0].startswith("| what | caltest | beside |")
    for cells in (line.split(" | ") for line in table[2:]):
        assert " MB / " in cells[4]
    assert len(table) == 2 + len(rows)


def test_different_estimates_and_pvalues_are_noticed():
    ours = ROWS[0].ours
    values = {"estimate": 1e-3, "pvalue": 0.2, "draws": 999}
    one, same = (Outcome(replace(ours, n=10), [{"values": values}]) for _ in range(2))
    assert disagreement(one, same) == ""
    for wrong in ({"estimate": 1.00001e-3}, {"pvalue": 0.3}):
        other = Outcome(ours, [{"values": values | wrong}])
        assert disagreement(one, other)


def answer(seconds, processor, megabytes=5.0, loop=0.01, share=1.0):
    reference = {"seconds": loop / share, "processor": loop}
    return {"seconds": seconds, "processor": processor, "megabytes": megabytes, "reference": reference}


def test_ratios_to_the_loop():
    """The shortest of each; other programs do not count, waiting does."""
    assert gate.best([answer(0.3, 0.3), answer(0.2, 0.2, loop=0.02)]) == pytest.approx((20.0, 0.2, 5.0))
    assert gate.best([answer(0.8, 0.2, share=0.25)])[0] == pytest.approx(20.0)
    assert gate.best([answer(0.8, 0.2)])[0] == pytest.approx(80.0)
    assert gate.best([answer(0.2, 0.2, 9.0), answer(0.2, 0.2, 0.0)])[2] == 9.0


def test_what_is_worse_fails():
    assert gate.worse((14.9, 0.1, 16.9), (10.0, 10.0)) == ""
    assert "1.51 times the 10" in gate.worse((15.1, 0.1, 0.0), (10.0, 10.0))
    assert "17.1 MB of extra memory" in gate.worse((1.0, 0.1, 17.1), (10.0, 10.0))


@pytest.mark.full
@pytest.mark.parametrize("times", thinned([100, 1 / 100], [100]))
def test_a_slower_row_fails(times, monkeypatch, capsys, tmp_path):
    """The row takes more or less than a baseline that the load of this machine does not reach from its own."""
    ratio, megabytes = gate.json.loads(gate.BASELINE.read_text())["skce-5000-2"]
    baseline = tmp_path / "baseline.json"
    baseline.write_text(gate.json.dumps({"skce-5000-2": [times * ratio, megabytes]}))
    monkeypatch.setattr(gate, "BASELINE", baseline)
    monkeypatch.setattr(gate, "MOST_PROCESSES", 1)
    assert gate.main(["--rows", "skce-5000-2"]) == (times < 1)
    assert ("FAILED skce-5000-2" in capsys.readouterr().out) == (times < 1)


def prepare(log, sizes, loops=1):
    """A call that takes some loops of time, and the i-th size of memory, in MB, in the i-th process."""
    with open(log, "a+") as file:
        file.write("process\n")
        file.seek(0)
        megabytes = sizes[min(len(file.readlines()), len(sizes)) - 1]

    def call():
        for _ in range(loops):
            gate.reference()
        return {"filled": len(b"x" * int(megabytes * 2**20))}

    return call


def made_up_row(tmp_path, sizes, loops=1):
    settings = {"log": str(tmp_path / f"{sizes}-{loops}"), "sizes": sizes, "loops": loops}
    return replace(ROWS[0], ours=Side("caltest", "test_benchmarks", "prepare", settings=settings), others=())


@pytest.mark.full
def test_a_row_is_as_large_as_the_smallest_process(tmp_path):
    """A process that is large by chance is measured again; all are large if the row takes 1.5 times the memory."""
    known = (1e9, 20.0)
    assert gate.measured(made_up_row(tmp_path, [60, 20]), tmp_path, known)[2] == pytest.approx(20.0, abs=4.0)
    assert "MB of extra memory" in gate.worse(gate.measured(made_up_row(tmp_path, [35]), tmp_path, known), known)


@full
def test_a_row_that_takes_twice_the_loops_is_slower(tmp_path, monkeypatch):
    monkeypatch.setattr(gate, "MOST_PROCESSES", 2)
    ratio, _, _ = gate.measured(made_up_row(tmp_path, [1], 4), tmp_path, None)
    known = (ratio, 20.0)
    assert "loops of time" in gate.worse(gate.measured(made_up_row(tmp_path, [1], 8), tmp_path, known), known)


def test_the_gate_has_the_rows_that_take_less_than_a_second():
    stored = gate.json.loads(gate.BASELINE.read_text())
    assert set(stored) <= {row.name for row in ROWS}
    assert {"skce-10000-10", "default-1000", "ece", "import", "first-warm", "family-normal", "gp-10"} <= set(stored)
