from dataclasses import replace

from .__main__ import main
from .compare import disagreement
from .measure import Outcome
from .rows import ROWS

QUICK = ["skce-10000-10", "bootstrap-10", "blocks", "ece-test", "family-normal", "family-laplace", "family-diagonal"]
QUICK += ["family-full", "family-mixture"]


def test_quick_rows_agree_and_the_table_is_printed(capsys):
    assert main(["--quick", "--repeats", "1", "--markdown", "--rows", *QUICK]) == 0
    table = [line for line in capsys.readouterr().out.splitlines() if line.startswith("|")]
    assert table[0].startswith("| what | caltest | beside |")
    for cells in (line.split(" | ") for line in table[2:]):
        assert " MB / " in cells[4]
    assert len(table) == 2 + len(QUICK)


def test_different_estimates_and_pvalues_are_noticed():
    ours = ROWS[0].ours
    values = {"estimate": 1e-3, "pvalue": 0.2, "draws": 999}
    one, same = (Outcome(replace(ours, n=10), [{"values": values}]) for _ in range(2))
    assert disagreement(one, same) == ""
    for wrong in ({"estimate": 1.00001e-3}, {"pvalue": 0.3}):
        other = Outcome(ours, [{"values": values | wrong}])
        assert disagreement(one, other)
