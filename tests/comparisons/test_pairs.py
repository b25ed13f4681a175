import json

import numpy as np
import pytest
from samples import TV, W2, samples
from statsmodels.stats.multitest import multipletests

import caltest as ct
from caltest.comparisons.pairs import _pairs

S = samples(60, 3)
MODELS = {"good": S.p, "other": S.rng.dirichlet(np.ones(3), 60), "wrong & bad": np.eye(3)[(S.y + 1) % 3]}


@pytest.fixture(scope="module")
def comparison():
    return ct.compare_pairs(MODELS, S.y, kernel=TV)


def test_rows_are_paired_tests(comparison):
    pairs = [("good", "other"), ("good", "wrong & bad"), ("other", "wrong & bad")]
    assert [(row.first, row.second) for row in comparison.rows] == pairs
    results = [ct.PairedSKCETest(TV)(MODELS[a], MODELS[b], S.y) for a, b in pairs]
    for row, result in zip(comparison.rows, results, strict=True):
        assert (row.estimate, row.pvalue) == pytest.approx((result.estimate, result.pvalue), rel=1e-12)
        assert tuple(row.interval) == pytest.approx(tuple(result.confidence_interval(0.95)), rel=1e-12)
        assert row.better == (row.first if row.estimate < 0 else row.second)
    pvalues = [result.pvalue for result in results]
    assert [row.pvalue_holm for row in comparison.rows] == list(multipletests(pvalues, method="holm")[1])
    assert [row.pvalue_bh for row in comparison.rows] == list(multipletests(pvalues, method="fdr_bh")[1])


def test_one_bandwidth_for_all_models():
    bandwidth = ct.median_bandwidth(np.concatenate(list(MODELS.values())), ct.TotalVariation())
    kernel = ct.ProductKernel(ct.ExponentialKernel(ct.TotalVariation(), bandwidth), ct.DeltaKernel())
    assert ct.compare_pairs(MODELS, S.y).rows == ct.compare_pairs(MODELS, S.y, kernel=kernel).rows


def test_tables_and_sentences(comparison):
    lines = str(comparison).splitlines()
    assert lines[0] == "Comparison of 3 pairs of models"
    start = next(i for i, line in enumerate(lines) if line.startswith("pair"))
    assert len({len(line) for line in lines[start : start + 4]}) == 1
    assert comparison.to_markdown().splitlines()[4].startswith("| other - wrong & bad | ")
    assert "other - wrong \\& bad & " in comparison.to_latex()
    assert json.loads(json.dumps(comparison.to_dict()))["rows"][0]["first"] == "good"
    assert comparison.to_pandas().loc["good - other", "estimate"] == comparison.rows[0].estimate
    assert comparison.sentence().endswith(".")
    assert "good - wrong & bad (good is better calibrated" in comparison.sentence()
    assert "no errors differ." in ct.compare_pairs({"a": S.p, "b": S.p}, S.y).sentence()
    assert "@article{bounliphone2016" in comparison.bibtex().lower() or "bounliphone2016" in comparison.bibtex()
    assert (len(comparison), repr(comparison)) == (3, "<comparison of 3 pairs of models, n = 60>")


def test_numbers():
    models = {"good": S.normal, "wide": ct.Normal(np.zeros(60), 2.0)}
    assert len(ct.compare_pairs(models, S.targets, kernel=W2)) == 1


def test_bad_input():
    with pytest.raises(ValueError, match="models: got only 'good', wanted at least two"):
        ct.compare_pairs({"good": S.p}, S.y)
    with pytest.raises(ValueError, match=r"models\['short'\]"):
        ct.compare_pairs({"good": S.p, "short": S.p[:9]}, S.y)
    with pytest.raises(ValueError, match="confidence_level"):
        ct.compare_pairs(MODELS, S.y, confidence_level=1.0)
    with pytest.raises(TypeError, match="kernel"):
        ct.compare_pairs(MODELS, S.y, kernel=0.5)
    with pytest.raises(ValueError, match=r"models 'a' and 'b': .*got differences of h that do not vary"):
        ct.compare_pairs({"a": [[0.5, 0.5]] * 20, "b": [[0.4, 0.6]] * 20}, [1] * 20)


def test_one_pair_is_called_so():
    assert [_pairs(rows) for rows in ((1,), (1, 2))] == ["pair", "pairs"]
