"""Reports of tests of several labels."""

import numpy as np
import pytest
from printed import unfolded

import caltest as ct

RNG = np.random.default_rng(1)
P = RNG.uniform(0.1, 0.4, (300, 14))
Y = RNG.random(P.shape) < P + 0.25 * (np.arange(14) < 5)


@pytest.fixture(scope="module")
def result():
    return ct.calibration_test(ct.MultiLabel(P, [f"tag{j}" for j in range(14)]), Y, n_resamples=199, rng=1)


def test_the_report_has_the_verdict_first_and_a_line_for_the_worst_labels(result):
    lines = unfolded(result).splitlines()
    assert lines[2].startswith("Verdict        reject calibration at the 5 % level for 5 of 14 labels: tag")
    assert lines[3].count("claimed") >= 3
    assert "; and 2 others" in lines[3]
    assert sum(line.strip().startswith("tag") for line in lines) == 10
    assert "  and 4 others with larger p-values" in lines


def test_many_rejected_labels_are_not_all_in_the_report_and_the_picture():
    p = np.tile(P, 4)[:, :50]
    y = RNG.random(p.shape) < p + 0.4
    result = ct.calibration_test(ct.MultiLabel(p, [f"tag{j}" for j in range(50)]), y, n_resamples=99, rng=1)
    assert len(result.rejected()) == 50
    lines = unfolded(result).splitlines()
    assert sum(line.strip().startswith("tag") for line in lines) == 20
    assert "  and 30 others, whose p-values are not smaller; to_pandas() has all" in lines
    assert any(line.startswith("p-value        0.05 (the smallest possible with 99 redraws;") for line in lines)
    ax = result.plot()
    assert len(ax.get_yticklabels()) == 40
    assert ax.get_legend().get_title().get_text() == "the first 40 of 50"


def test_tables_have_all_labels(result):
    assert len(result.table()) == 15
    frame = result.to_pandas()
    assert frame.loc["tag3", "observed"] == pytest.approx(Y[:, 3].mean())
    assert len(result.bars()) == 14
    assert sum(bar.stands_out for bar in result.bars()) == 5


def test_labels_by_name(result):
    assert result["tag2"].n == 300
    with pytest.raises(KeyError):
        result["tag99"]


def test_nothing_found():
    calm = ct.calibration_test(ct.MultiLabel(P[:, 5:]), Y[:, 5:], n_resamples=99, rng=1)
    assert calm.verdict() == "calibration of none of 9 labels is rejected at the 5 % level"
    assert calm.why() is None
    assert calm.finding is None
