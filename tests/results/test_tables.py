import numpy as np
import pytest

import caltest as ct
from caltest._results.measures import amount, percent, points, shares_of
from caltest._results.tables import Bar, Grid, Page, aligned, in_decimals, latex, markdown, sharper
from caltest.results import ConfidenceInterval


def test_a_page_is_its_text():
    page = Page("Title", {"Name": "text", "None": None}, [""], Grid([["", "n"], ["row", "12"]]), notes=["said"])
    assert page == "Title\n-----\nName           text\n\n        n\n  row  12\nNote: said"
    assert page.heading == "Title"


@pytest.mark.parametrize(
    ("numbers", "words"),
    [
        ([0.25, 0.00012, None], ["0.2500", "0.0001", "-"]),
        ([0.00123, -0.00012], ["0.00123", "-0.00012"]),
        ([0.00999, 0.0], ["0.00999", "0.00000"]),
        ([np.inf, 0.000004567], ["inf", "0.00000457"]),
        ([0.0, -0.0], ["0.0000", "0.0000"]),
        ([1e-300], ["0.0000"]),
    ],
)
def test_small_numbers_of_one_kind_keep_three_digits(numbers, words):
    assert in_decimals(numbers) == words


def test_scores_of_rare_events_are_not_shown_as_zero():
    rng = np.random.default_rng(3)
    p = rng.uniform(0.0002, 0.001, size=20_000)
    y = (rng.uniform(size=p.size) < p).astype(int)
    brier = f"{np.square(y - p).mean():.6f}"
    assert float(brier) < 0.001
    assert dict(ct.score_decomposition(p, y).table()[1:])["score"] == brier
    calibrators = [ct.recalibration.Platt(), ct.recalibration.Identity()]
    report = ct.recalibration.report(p, y, calibrators[0], n_resamples=19, rng=1)
    assert report.table()[1][2] == f"{report.before.brier:.6f}"
    best = ct.recalibration.fit_best(p, y, calibrators, rng=1)
    assert best.table()[1][1] == f"{best.scores[best.name]:.5f}"


def test_html_escapes_what_users_name():
    page = Page("<script>", {"<b>": "a & b"}, ["<i>"], Grid([["<u>", "n"], ["</table>", "1"]]), ["more"], notes=["<p>"])
    html = page.html()
    for text in ("<script>", "<b>:", "<i>", "<u>", "</table></td>"):
        assert text not in html
    assert "&lt;script&gt;" in html
    assert "<details>" in html


def test_results_show_themselves_in_notebooks():
    p, y = ct.datasets.load_digits_predictions()["random forest"]
    p, y = p.take(slice(0, 100)), y[:100]
    result = ct.calibration_test(p, y, n_resamples=19, rng=1)
    html = result._repr_html_()
    assert html.index("Verdict") < html.index("accuracy") < html.index("<details>") < html.index("Hypothesis")
    assert "script" not in html
    assert ct.noise_floor(p, ct.ECE(), n_resamples=9, rng=1)._repr_html_().startswith("<pre>mean ")
    named = ct.calibration_by_group(p, y, {"<b>x</b>": np.arange(100) < 50}, n_resamples=19, rng=1)
    assert "<b>x</b>" not in named._repr_html_()


def test_single_results_are_exported():
    p, y = ct.datasets.load_digits_predictions()["random forest"]
    result = ct.calibration_test(p, y, n_resamples=19, rng=1)
    assert "| accuracy | 73.3 % | 97.1 % | 95.8 to 98.1 % |" in result.to_markdown()
    assert r"accuracy & 73.3 \% & 97.1 \% & 95.8 to 98.1 \% \\" in result.to_latex()
    frame, first = result.to_pandas(), result.measures[0]
    assert frame.loc["accuracy", "observed"] == first.observed
    assert tuple(frame.loc["accuracy", ["gap", "gap_low", "gap_high"]]) == (first.gap.estimate, *first.gap)
    other = ct.SpiegelhalterTest()(*ct.top_label(p, y))
    assert other.to_pandas().loc["SpiegelhalterTest", "pvalue"] == other.pvalue
    assert "| SpiegelhalterTest | 899 |" in other.to_markdown()


def test_shares_have_the_digits_that_tell_them_apart():
    assert [percent(share) for share in (0.9712, 0.0034, 0.99934, 0.00002, 0.0, 1.0)] == [
        "97.1 %",
        "0.34 %",
        "99.934 %",
        "0.0020 %",
        "0.0 %",
        "100.0 %",
    ]
    near = ConfidenceInterval(0.974, 0.9922, 0.95, "any")
    assert shares_of(0.9841, 0.9851, near) == ["98.4 %", "98.5 %", "97.4 to 99.22 %"]
    apart = ConfidenceInterval(0.911379, 0.999972, 0.95, "any")
    assert shares_of(0.75, 0.9888, apart)[-1] == "91.1 to 99.9972 %"
    assert [points(share) for share in (0.02, 0.0398, 0.113, 0.0004, 2e-8)] == ["2", "4", "11", "0.04", "0.000002"]
    assert [amount(margin, " points") for margin in (0.02, 2e-6, 2e-10)] == ["2 points", "0.0002 points", "0 points"]


def test_sentences_at_the_end_of_rows_begin_below_each_other():
    table = [["group", "n", "what is wrong"], ["a", "5", "claims are too high"], ["b", "10", 41 * "x"]]
    assert aligned(table) == ["group   n  what is wrong", "a       5  claims are too high", "b      10  " + 41 * "x"]
    assert aligned([["", "claimed"], ["accuracy", "80 %"]])[1] == "accuracy     80 %"


@pytest.mark.parametrize("more", range(4))
def test_numbers_stay_beside_their_percent_signs(more):
    text = (60 + more) * "x" + " 12 % (4.7 % to 20 %)"
    lines = str(Page("Title", {"Name": text})).splitlines()[2:]
    assert not any(line.lstrip().startswith("%") for line in lines)
    assert " ".join(line.strip() for line in lines) == f"Name           {text}"


def test_wide_tables_are_folded_at_words_and_then_below_each_other():
    table = [["a name", "95 % interval", "what is wrong"], ["first one", "[0.1, 0.2]", "more words than fit here " * 2]]
    assert aligned(table, 66) == [
        "a name     95 % interval  what is wrong",
        "first one     [0.1, 0.2]  more words than fit here more words than",
        "                            fit here",
    ]
    assert aligned([["", "claimed before"], ["inside", "0.5"]], 15) == [
        "        claimed",
        "         before",
        "inside      0.5",
    ]
    numbers = [["", *(f"n {i}" for i in range(30))], ["row", *(f"{i:.4f}" for i in range(30))]]
    lines = aligned(numbers)
    assert max(map(len, lines)) <= 100
    assert [line.split()[0] for line in lines[1::2]] == ["row"] * (len(lines) // 2)
    assert sum(line.count(".") for line in lines) == 30
    page = Page("t" * 200, {"a": "b" * 300}, ["c" * 90], Grid([["d" * 500, "e" * 500]] * 2), notes=["f" * 90])
    assert max(map(len, page.splitlines())) <= 100


def test_sentences_that_numbers_leave_no_room_for_are_below_their_rows():
    words = "more words than fit here " * 3
    table = [["a name", "95 % interval", "what is wrong"], ["first one", "[0.1, 0.2]", words], ["second", "-", ""]]
    assert aligned(table, 65)[:2] == ["a name     95 % interval", "    what is wrong"]
    assert aligned(table, 65)[2:] == [
        "first one     [0.1, 0.2]",
        "    more words than fit here more words than fit here more words",
        "    than fit here",
        "second                 -",
    ]
    # They have 40 characters in a column of their own.
    assert aligned(table, 66)[0] == "a name     95 % interval  what is wrong"
    html = Page("t", Grid(table)).html()
    assert html.count('colspan="2"') == 2
    assert html.index("[0.1, 0.2]</td></tr><tr>") < html.index(words) < html.index("second")
    of_words = [["", "one model", "another"], ["decision", "use as it is", words]]
    assert "another" in aligned(of_words, 65)[0]


def test_html_leaves_out_empty_parts_alone():
    html = Page("t", {"a": "b"}, ["", "said", ""]).html()
    assert "said" in html
    assert Page("t", {"a": "b"}, [""], ["", "said", ""], [], {}).html() == html


def test_names_neither_break_rows_nor_reach_terminals_or_pages():
    table = [["name", "n"], ["<script>a|b\nc\x1b[31m & d_1", "1"], ["p < 0.05", "2"]]
    rows = markdown(table).splitlines()
    assert rows[2:] == [r"| &lt;script>a\|b\\nc\\x1b[31m & d_1 | 1 |", "| p < 0.05 | 2 |"]
    lines = latex(table).splitlines()
    assert len(lines) == 8
    assert not {"\x1b", "\t"} & set("".join(lines))
    assert r"\textless{}script\textgreater{}a|b\textbackslash{}nc\textbackslash{}x1b[31m \& d\_1 & 1 \\" in lines


@pytest.mark.parametrize(
    ("reference", "interval", "stands_out", "are_said"),
    [
        (1.0, (0.0, 2.0), True, True),
        (0.0, (0.0, 2.0), True, True),
        (2.0, (0.0, 2.0), True, True),
        (2.5, (0.0, 2.0), True, False),
        (-0.5, (0.0, 2.0), True, False),
        (1.0, (0.0, 2.0), False, False),
        (1.0, None, True, False),
        (None, (0.0, 2.0), True, False),
    ],
)
def test_intervals_that_hold_what_stands_out_are_explained(reference, interval, stands_out, are_said):
    bars = [Bar("own", 1.0, interval, reference, "", "", stands_out), Bar("other", 1.0, None, None, "", "", True)]
    words = "p-values and intervals come from different tests and can disagree"
    assert sharper(bars) == [words] * are_said


def test_numbers_are_folded_before_brackets_and_next_between_ends():
    """Where neither is enough, columns are below the others; no interval is in three lines."""
    head = ["group", "n", "observed", "expected", "ratio (95 %)", "risk", "rate", "adjusted"]
    rows = [head, ["the islands", "11951", "225", "151.5", "1.48 (1.24 to 1.76)", "1.5 %", "2.3 %", "0.001"]]
    lines = aligned(rows, 76)
    assert lines[0].endswith("ratio (95 %)   risk   rate  adjusted")
    assert lines[1].split() == ["the", "11951", "225", "151.5", "1.48", "1.5", "%", "2.3", "%", "0.001"]
    assert lines[2].split() == ["islands", "(1.24", "to", "1.76)"]
    wide = [["", "estimate", "95 % interval", "p"], ["bias", "0.002", "-0.016 to 0.020", "0.8"]]
    assert aligned(wide, 30)[2:] == ["bias     0.002     -0.016  0.8", "                 to 0.020"]
    assert not any("\xa0" in line for line in (*lines, *aligned(wide, 30)))
