import re
import unicodedata
from collections import defaultdict
from functools import partial
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
from samples import TV, samples

import caltest as ct
from caltest import estimators, nulls
from caltest._results.citations import all_entries, entries, reference

ROOT = Path(__file__).resolve().parents[2]
S = samples(30, 3)
CITING = [getattr(place, name) for place in (estimators, nulls) for name in place.__all__]
CITING = [one for one in CITING if isinstance(one, type) and hasattr(one, "citations")]


WHERE = {
    "article": {"journal", "volume", "pages"},
    "inproceedings": {"booktitle"},
    "book": {"publisher"},
    "misc": {"howpublished"},
}
WITHOUT_VOLUMES = "Transactions on Machine Learning Research"
ENTRIES = all_entries()


@pytest.mark.parametrize("key", ENTRIES)
def test_entries_are_complete(key):
    first, *lines, last = entries([key]).splitlines()
    kind = re.fullmatch(r"@(\w+)\{" + key + ",", first)[1]
    fields = dict(re.fullmatch(r"  (\w+) = \{(.+)\},", line).groups() for line in lines)
    where = {"journal"} if fields.get("journal") == WITHOUT_VOLUMES else WHERE[kind]
    assert {"author", "title", "year"} | where <= set(fields)
    assert not re.search("Journal|Transactions", fields.get("booktitle", ""))
    assert key.endswith(fields["year"])
    assert last == "}"
    assert all(value.count("{") == value.count("}") and value.isascii() for value in fields.values())


def test_entries_are_in_order_and_all_read():
    text = (files("caltest._results") / "citations.bib").read_text()
    misplaced = [after for after, right in zip(ENTRIES, sorted(ENTRIES), strict=True) if after != right][:1]
    assert not misplaced, f"citations.bib: {misplaced} is not in the order of the alphabet"
    assert entries(ENTRIES) + "\n" == text, "citations.bib: wanted entries written as the others, a blank line apart"
    assert text.count("@") == len(ENTRIES)


@pytest.mark.parametrize("one", CITING, ids=lambda one: one.__name__)
def test_keys_are_known(one):
    if isinstance(one.citations, tuple):
        assert set(one.citations) <= set(ENTRIES)


def test_every_entry_is_cited_or_named():
    comparison = ct.compare_models({"a": S.p}, S.y, n_resamples=9, rng=1)
    levels = ct.fields.d_calibration([0.6, 0.9], ct.Censored([1.0, 2.0], [1, 0]), n_resamples=9, rng=1)
    cited = {key for one in CITING if isinstance(one.citations, tuple) for key in one.citations}
    results = (
        ct.results.GroupCalibrationTestResult,
        ct.results.MonitorResult,
        ct.results.SequentialTestResult,
        ct.results.CalibrationErrorEstimate,
        ct.results.ClinicalValidation,
        ct.results.DecisionCurve,
        ct.results.ValidationByGroup,
        ct.results.ValidationSize,
        ct.recalibration.MulticalibrationReport,
        ct.results.SimulationBasedCalibrationResult,
    )
    cited |= set(ct.PairedSKCETest.citations) | set(comparison.citations) | set(levels.citations)
    cited |= {key for one in results for key in one.citations}
    assert cited | named() == set(ENTRIES)


def named():
    """Keys whose first author and year stand together in the package or on a page of the documentation."""
    text = " ".join(path.read_text() for folder in ("caltest", "docs") for path in (ROOT / folder).rglob("*.[pm][yd]"))
    text = unicodedata.normalize("NFKD", " ".join(text.split())).lower()
    of_year = defaultdict(list)
    for part in re.split("[.;|]", text):
        for year in set(re.findall(r"\b\d+\b", part)):
            of_year[year].append(part)
    keys = {key: re.fullmatch(r"(\D+)(\d+)", key).groups() for key in ENTRIES}
    return {
        key
        for key, (author, year) in keys.items()
        if any(author in part and re.search(rf"\b{author}\b.{{0,60}}\b{year}\b", part) for part in of_year[year])
    }


def test_sources_of_tests_and_results():
    test = ct.MonteCarloTest(ct.SKCE(TV), 19)
    expected = ["barnard1963", "dwass1957", "phipson2010", "widmann2019", "widmann2021"]
    result = test(S.p, S.y, rng=1)
    for text in (ct.results.bibtex(test), result.bibtex(), ct.results.bibtex(result)):
        assert re.findall(r"^@\w+{(\w+),", text, re.M) == expected
    assert ct.results.bibtex(ct.ECE()).count("@") == 3
    assert result.to_dict()["citations"] == expected
    assert "holm1979" in ct.compare_models({"a": S.p}, S.y, n_resamples=9, rng=1).bibtex()
    assert "bounliphone2016" in ct.results.bibtex(ct.PairedSKCETest())
    assert ct.results.bibtex(ct.estimators.ResidualMean()) == ""


def test_sequential_monte_carlo_cites_its_source():
    null = ct.nulls.ConditionalMonteCarlo(99, stop_after=10)
    assert "besag1991" in null.citations
    assert "besag1991" not in ct.nulls.ConditionalMonteCarlo(99).citations


@pytest.mark.parametrize("wrong", [ct.ECE, 1, "ECE", np.zeros(3)])
def test_other_things_have_no_sources(wrong):
    with pytest.raises(TypeError, match="source: got"):
        ct.results.bibtex(wrong)


@pytest.mark.parametrize("key", ENTRIES)
def test_references_are_a_line_of_plain_text(key):
    assert re.fullmatch(rf"[^{{}}\\\n]+ \({key[-4:]}\): [^{{}}\\\n]+, [^{{}}\\\n]+", reference(key))


def test_references_name_all_authors_as_they_are_written():
    assert reference("broecker2007") == (
        "Bröcker and Smith (2007): Increasing the reliability of reliability diagrams, Weather and Forecasting"
    )
    assert reference("blasiok2024").startswith("Błasiok and Nakkiran (2024): Smooth ECE: ")
    assert reference("modrak2022").startswith(
        "Modrák, Moon, Kim, Bürkner, Huurre, Faltejsková, Gelman and Vehtari (2022)"
    )


def test_audits_say_where_their_methods_come_from():
    rows = np.arange(80)
    p, y = np.linspace(0.1, 0.9, 80), rows % 2
    plain = ct.audit(p, y, n_resamples=19, rng=1)
    assert "Widmann, Lindsten and Zachariah (2019): Calibration tests in multi-class" in plain.to_html()
    settings = {"groups": rows // 2 % 2, "time": rows, "field": "clinical", "n_resamples": 19, "rng": 1}
    audit = ct.audit(p, y, **settings)
    added = set(audit.citations) - set(plain.citations)
    # Adjusted p-values of groups, the e-process, curves, decisions.
    assert {"westfall1993", "shafer2021", "cox1958", "vickers2006"} <= added
    assert {"kull2017", "broecker2007", *audit["model"].result.citations} <= set(plain.citations)
    assert audit.bibtex() == entries(audit.citations) == ct.results.Audit.from_dict(audit.to_dict()).bibtex()
    assert "Vickers and Elkin (2006)" in audit.to_html()
    assert all(reference(key) in str(audit["model"].sections["methods"].facts["Sources"]) for key in audit.citations)


CALIBRATORS = [ct.recalibration.OneVsRest(ct.recalibration.Platt())]
CALIBRATORS += [
    one()
    for name in ct.recalibration.__all__
    if isinstance(one := getattr(ct.recalibration, name), type)
    and issubclass(one, ct.recalibration.Calibrator)
    and name not in ("Calibrator", "ProbabilityCalibrator", "OneVsRest", "Identity")
]


@pytest.mark.parametrize("one", CALIBRATORS, ids=repr)
def test_methods_of_recalibration_have_sources(one):
    assert set(one.citations) <= set(ENTRIES)
    assert ct.results.bibtex(one).count("@") == len(one.citations) > 0


def test_reports_cite_the_method_and_what_judges_it():
    p, y = np.linspace(0.1, 0.9, 80), np.arange(80) % 2
    platt, beta = ct.recalibration.Platt(), ct.recalibration.BetaCalibration()
    report = ct.recalibration.report(p, y, platt, n_resamples=19, rng=1)
    assert {"platt1999", "widmann2019", "guo2017"} <= set(report.citations)
    assert ct.recalibration.fit_best(p, y, [platt, beta], rng=1).citations == ("kull2017", "platt1999")
    test, model = ct.MonteCarloTest(ct.ECE(), 19), ct.generators.class_model("M3", 3)
    found = [
        report,
        ct.noise_floor(p, ct.ECE(), n_resamples=19, rng=1),
        ct.power(test, model, 20, n_simulations=10, rng=1),
        ct.power_curve(test, model, [20], n_simulations=10, rng=1),
        ct.score_decomposition(p, y),
        ct.score_decomposition(p, y, binning=ct.binning.UniformBinning(5)),
        ct.confidence_errors(p, y),
        ct.estimators.cox_calibration(p, y),
    ]
    for one in found:
        assert one.bibtex() == entries(one.citations) == type(one).from_dict(one.to_dict()).bibtex()
    assert set(found[2].citations) == set(found[3].citations) == set(test.citations)
    default = partial(ct.calibration_test, n_resamples=9)
    assert ct.power(default, model, 20, n_simulations=2, rng=1).citations == ct.OmnibusTest().citations
    assert [one.citations for one in found[4:6]] == [("dimitriadis2021",), ("murphy1973",)]
