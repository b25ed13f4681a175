import re
import shutil
import subprocess
from html import escape
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import caltest as ct
from caltest._basics.calls import without_power
from caltest.auditing.audit_result import _is_wide
from caltest.auditing.pictures import pictures_of
from caltest.predictions.inputs.convert import as_sample

NAME = "<script>alert(1)</script> & $x_1$ \x1b[31m"


@pytest.fixture(scope="module")
def audit():
    rng = np.random.default_rng(1)
    p = rng.dirichlet(np.ones(3), 90)
    y = ct.Categorical(p).at_temperature(2.5).sample(1)
    groups = {NAME: np.arange(90) < 45}
    return ct.audit({NAME: p}, y, groups=groups, time=np.arange(90), title=NAME, n_resamples=39, rng=1)


def test_a_page_has_nothing_from_outside_and_nothing_of_the_user_as_markup(audit):
    html = audit.to_html()
    assert len(html) < 1_000_000
    assert "<script" not in html
    assert "&lt;script&gt;" in html
    assert not re.search(r'(?:src|href)="(?!#)', html.replace('xlink:href="#', 'xlink_href="#'))
    assert "@import" not in html
    assert html.count("<h1") == 1
    headings = [int(level) for level in re.findall(r"<h([1-6])", html)]
    assert all(later - first <= 1 for first, later in pairwise(headings))


def test_pictures_have_words_and_names_of_their_own(audit):
    html = audit.to_html()
    svgs = re.findall(r"<svg[^>]*>", html)
    assert len(svgs) == 7
    assert all('role="img" aria-label="' in svg for svg in svgs)
    names = re.findall(r'\sid="([^"]+)"', html)
    assert len(names) == len(set(names))


def test_pages_of_several_models_and_many_rows_are_small_and_name_pictures_once(only):
    """A dozen pictures of such a size are a page of less than 1 MB."""
    p = np.random.default_rng(1).random(20_000)
    only("pictures")
    models = {name: ct.Categorical(np.stack([1 - p, p], axis=1)).at_temperature(t) for name, t in (("a", 1), ("b", 2))}
    with without_power():
        html = ct.audit(models, models["a"].sample(1), n_resamples=19, rng=1).to_html()
    pictures = re.findall("<svg.*?</svg>", html, flags=re.DOTALL)
    assert len(pictures) == 4
    assert max(map(len, pictures)) < 80_000
    names = re.findall(r'\sid="([^"]+)"', html)
    assert len(names) == len(set(names))


def test_a_map_of_the_simplex_of_many_rows_is_small():
    p = ct.Categorical(np.random.default_rng(1).dirichlet(np.ones(3), 20_000))
    assert len(pictures_of(as_sample(p, p.sample(1)), 1)[2].svg) < 120_000


def test_pictures_have_no_letters_that_terminals_obey(audit, recwarn):
    audit.to_html()
    ct.audit(
        np.full((20, 3), 1 / 3), np.repeat(["a", "b", NAME], [5, 5, 10]), classes=["a", "b", NAME], rng=1
    ).to_html()
    assert not [one for one in recwarn if "Glyph" in str(one.message)]


def test_junit_says_what_failed(audit):
    suite = ElementTree.fromstring(audit.to_junit())
    assert (suite.get("tests"), suite.get("failures")) == ("1", "1")
    assert "was rejected at the 5 % level" in suite.find("testcase/failure").text
    assert ElementTree.fromstring(audit.to_junit("never")).get("failures") == "0"
    assert "\x1b" not in audit.to_junit()


def test_files_are_written_by_their_ending(audit, tmp_path):
    for ending, begins in ((".html", "<!DOCTYPE html>"), (".json", "{"), (".xml", "<?xml"), (".txt", "<script>")):
        path = audit.save(tmp_path / f"audit{ending}")
        assert path.read_text().startswith(begins)
    with pytest.raises(FileExistsError, match=r"exists; pass force=True"):
        audit.save(tmp_path / "audit.html")
    audit.save(tmp_path / "audit.html", force=True)
    with pytest.raises(ValueError, match=r"wanted a name that ends with \.html, \.json, \.xml, \.txt"):
        audit.save(tmp_path / "audit.pdf")


CONTRAST = Path(__file__).parents[2] / "docs" / "contrast.js"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.fixture(scope="module")
def numbers():
    """An audit whose line on how to recalibrate has the longest word."""
    rng = np.random.default_rng(1)
    mean = rng.normal(size=100)
    return ct.audit(ct.Normal(mean, 0.5), mean + rng.normal(size=100), n_resamples=39, rng=1)


@pytest.fixture(scope="module")
def long_names():
    """An audit of classes and models whose names are one word that no page has room for."""
    p, names = np.random.default_rng(1).dirichlet(np.ones(3), 90), ["x" * 300, "y" * 300, "z"]
    law = ct.Categorical(p, classes=names)
    with without_power():
        return ct.audit({"m" * 300: law}, np.array(names)[np.arange(90) % 3], title="t" * 300, n_resamples=19, rng=1)


@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
def test_a_browser_shows_it_without_scrolling_sideways(audit, numbers, long_names, tmp_path):
    """Windows of a browser are never as narrow as a telephone, but frames are."""
    widths, pages = (360, 390, 1280), [escape(one.to_html()) for one in (audit, numbers, long_names)]
    frames = [f'<iframe width="{width}" height="900" srcdoc="{page}"></iframe>' for page in pages for width in widths]
    script = (
        "onload = () => document.title = [...document.querySelectorAll('iframe')].map("
        "one => one.contentDocument.body.scrollWidth).join(' ')"
    )
    (tmp_path / "frame.html").write_text(f"<title>x</title>{''.join(frames)}<script>{script}</script>")
    needed = [int(one) for one in title_of(tmp_path / "frame.html", "--window-size=1500,1000").split()]
    assert all(one <= width for one, width in zip(needed, 3 * widths, strict=True)), needed


@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
def test_no_table_scrolls(tmp_path, only):
    """Names of columns are one long word each; on a telephone rows of wide tables are paragraphs."""
    only("size", "groups", "slices")
    rng = np.random.default_rng(1)
    n = 4_000
    age, site = rng.integers(18, 90, n), rng.choice(["north wing", "south wing", "west wing"], n)
    risk = rng.uniform(0.1, 0.8, n)
    event = rng.random(n) < risk + np.where((age >= 75) & (site == "west wing"), 0.2, 0.0)
    features = {"age_at_admission_in_years": age, "site_of_the_department": site}
    audit = ct.audit(risk, event, groups=site, features=features, n_resamples=39, rng=1)
    assert len(audit["model"].sections["slices"].rows) > 1
    frames = "".join(
        f'<iframe width="{width}" height="900" srcdoc="{escape(audit.to_html())}"></iframe>' for width in (390, 1280)
    )
    script = (
        "onload = () => document.title = [...document.querySelectorAll('iframe')].map(one => [...one.contentDocument."
        "querySelectorAll('.wide')].map(one => one.scrollWidth - one.clientWidth + getComputedStyle(one.querySelector("
        "'tbody')).display).join(' ')).join('; ')"
    )
    (tmp_path / "frame.html").write_text(f"<title>x</title>{frames}<script>{script}</script>")
    of_telephone, wide = title_of(tmp_path / "frame.html", "--window-size=1800,1000").split("; ")
    assert of_telephone.split() == ["0block", "0block", "0block"]
    assert set(wide.split()) == {"0table-row-group"}


@pytest.mark.parametrize(
    ("rows", "wide"),
    [
        ([("component", "statistic", "p-value"), ("scores by predicted class", "3.24e+03", "0.01")], False),
        ([("", "claimed", "observed", "points apart"), ("accuracy", "97.1 %", "96.2 %", "0 to 2.4")], False),
        ([("", "claimed", "observed", "95 % interval", "margin"), ("accuracy", "97.1 %", "96.2 %", "94 %", "2")], True),
        ([("name",), ("a name of any length, which is broken into lines " * 3,)], False),
    ],
)
def test_wide_tables_are_those_that_do_not_fit_on_a_telephone(rows, wide):
    assert _is_wide(rows) == wide


@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
def test_what_is_wrong_in_a_group_is_in_view_on_a_telephone(tmp_path, only):
    only("groups")
    p, y = ct.datasets.load_digits_predictions()["random forest"]
    p, y = p.take(slice(0, 150)), y[:150]
    audit = ct.audit(p, y, groups=np.arange(y.size) % 2, n_resamples=39, rng=1)
    page = escape(audit.to_html())
    script = (
        "onload = () => document.title = [...document.querySelector('iframe').contentDocument.querySelectorAll("
        "'td, td div')].filter(one => one.innerText.startsWith('predictions are')).map("
        "one => Math.round(one.getBoundingClientRect().right)).join(' ')"
    )
    (tmp_path / "frame.html").write_text(
        f'<title>x</title><iframe width="390" height="900" srcdoc="{page}"></iframe><script>{script}</script>'
    )
    ends = [int(one) for one in title_of(tmp_path / "frame.html", "--window-size=1500,1000").split()]
    assert len(ends) == 4
    assert max(ends) <= 390


@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
@pytest.mark.parametrize(("scheme", "options"), [("light", []), ("dark", ["--blink-settings=preferredColorScheme=0"])])
def test_texts_can_be_read_in_both_schemes(audit, tmp_path, scheme, options):
    script = f"document.title = matchMedia('(prefers-color-scheme: {scheme})').matches + faint(window).join('; ')"
    assert title_by(CONTRAST.read_text() + script, audit, tmp_path, *options) == "true"


def title_by(script, audit, folder, *options):
    """The title that a script in the page gives it in Chromium."""
    page = audit.save(folder / "audit.html")
    inner = page.read_text().replace("default-src 'none'", "default-src 'none'; script-src 'unsafe-inline'")
    page.write_text(inner.replace("</body>", f"<script>{script}</script></body>"))
    return title_of(page, *options)


def title_of(page, *options):
    command = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom", *options, page.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert "Uncaught" not in done.stderr
    return re.search(r"<title>(.*?)</title>", done.stdout)[1]
