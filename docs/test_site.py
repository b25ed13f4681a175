"""The built site, in a browser where there is one: ``python -m pytest -n 0 docs/test_site.py``, after it is built.

A page of the same server shows every other one in a frame, of a telephone's width and then of a desk's, and prints what
is wrong.
Contrast is measured on all pages but those of the reference, which look alike, and are looked at now and then.
"""

import inspect
import json
import re
import shutil
import subprocess
import sys
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from llms import public_things

SITE = Path(__file__).parents[1] / "build" / "docs"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
WIDTHS = (390, 1280)
PARTS = 4
"""Of all pages, so that several browsers can share them."""

pytestmark = pytest.mark.skipif(not SITE.is_dir(), reason="needs the pages: python -m sphinx docs build/docs")
in_a_browser = pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")

PROBE = """<!DOCTYPE html><title>wait</title><script>CONTRAST
async function look(page) {
  const frame = document.createElement("iframe"), found = [];
  frame.style.width = WIDTHS[0] + "px"; frame.style.height = "900px"; frame.style.border = "0";
  document.body.append(frame);
  await new Promise(done => { frame.onload = done; frame.src = "/" + page; });
  const inner = frame.contentWindow, root = inner.document.documentElement;
  for (const width of WIDTHS) {
    frame.style.width = width + "px";
    await new Promise(done => setTimeout(done, 50));
    if (root.scrollWidth > width) found.push("is " + root.scrollWidth + " wide in " + width);
    for (const one of inner.document.querySelectorAll("article code"))
      if (!one.closest("table, pre") && one.getBoundingClientRect().right > width)
        found.push("is cut off in " + width + ": " + one.textContent);
    for (const one of inner.document.querySelectorAll("article :is(h1, h2, h3, dt)"))
      if (one.scrollWidth > one.clientWidth && one.getBoundingClientRect().left + one.scrollWidth > width)
        found.push("is cut off in " + width + ": " + one.textContent);
  }
  for (const image of inner.document.images) {
    if (!image.alt.trim() && !image.closest(".sphx-glr-thumbcontainer")) found.push("no words for " + image.src);
    if (image.loading !== "lazy" && !image.naturalWidth) found.push("no picture " + image.src);
  }
  for (const one of inner.performance.getEntriesByType("resource"))
    if (new URL(one.name).host !== location.host && !one.name.startsWith("data:")) found.push("asks for " + one.name);
  if (LOOKED_AT.includes(page)) for (const theme of ["light", "dark"]) {
    inner.document.head.insertAdjacentHTML("beforeend", "<style>* { transition: none !important }</style>");
    root.dataset.theme = theme;
    found.push(...faint(inner).map(words => "is faint in " + theme + ": " + words));
  }
  frame.remove();
  return found.map(words => [page, words]);
}
async function all() {
  const found = [];
  for (const page of PAGES) found.push(...await look(page));
  document.title = "done"; document.body.textContent = JSON.stringify(found);
}
window.onload = all;
</script><body></body>"""


@pytest.fixture(scope="module")
def server():
    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=SITE))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def browse(address, *options):
    usual = ["--headless", "--no-sandbox", "--disable-gpu", "--window-size=1400,1000", "--enable-logging=stderr"]
    return subprocess.run(
        [CHROMIUM, *usual, *options, address], capture_output=True, text=True, timeout=300, check=True
    )


def errors_in(log):
    """What the console of the browser says, but for what the theme tells of its choices."""
    said = re.findall(r"CONSOLE(?::|\()\d+\)?\] (.*)", log)
    return [line for line in said if not re.match(r'"(\[PST\]|Got invalid theme mode: \. )', line)]


def pages():
    return sorted(str(path.relative_to(SITE)) for path in SITE.rglob("*.html") if "_static" not in path.parts)


@in_a_browser
@pytest.mark.parametrize("part", range(PARTS))
def test_pages_fit_a_telephone_and_a_desk_and_ask_no_other_host(server, part):
    script = PROBE.replace("PAGES", json.dumps(pages()[part::PARTS])).replace("WIDTHS", json.dumps(WIDTHS))
    looked_at = [page for i, page in enumerate(pages()) if not page.startswith("api/") or i % 20 == 0]
    script = script.replace("CONTRAST", (Path(__file__).parent / "contrast.js").read_text())
    script = script.replace("LOOKED_AT", json.dumps(looked_at))
    probe = SITE / "_static" / f"probe{part}.html"
    probe.write_text(script)
    try:
        done = browse(f"{server}/_static/{probe.name}", "--virtual-time-budget=600000", "--dump-dom")
    finally:
        probe.unlink()
    assert "<title>done</title>" in done.stdout, done.stdout[-2000:]
    found = json.loads(re.search(r"<body>(.*)</body>", done.stdout, re.S)[1].replace("&gt;", ">").replace("&lt;", "<"))
    assert not found
    assert not errors_in(done.stderr)


@in_a_browser
def test_errors_of_scripts_are_noticed(server):
    page = SITE / "_static" / "wrong.html"
    page.write_text("<iframe srcdoc='<script>nothing.here()</script>'></iframe>")
    try:
        assert len(errors_in(browse(f"{server}/_static/{page.name}", "--dump-dom").stderr)) == 1
    finally:
        page.unlink()


@in_a_browser
@pytest.mark.parametrize(
    ("words", "page"),
    [
        ("noise floor", "concepts/noise-floor"),
        ("SKCE", "api/names/caltest.SKCE"),
        ("ensemble", "api/names/caltest.Ensemble"),
    ],
)
def test_the_search_finds(server, words, page):
    done = browse(f"{server}/search.html?q={words.replace(' ', '+')}", "--virtual-time-budget=20000", "--dump-dom")
    results = re.search(r'<div id="search-results">(.*?)</div>', done.stdout, re.S)[1]
    first = re.findall(r'<li[^>]*>.*?href="([^"#?]*)\.html', results, re.S)[:5]
    assert len(first) == 5
    assert page in first


def test_every_link_leads_somewhere():
    """To a file of the site, and to an anchor that the page has."""
    text = {SITE / name: (SITE / name).read_text() for name in pages()}
    anchors = {path: set(re.findall(r'\s(?:id|name)="([^"]+)"', page)) for path, page in text.items()}
    lost = []
    for path, page in text.items():
        for target in re.findall(r'<a[^>]*\shref="([^"]*)"', page):
            if re.match(r"[a-z]+:", target):
                continue
            name, _, anchor = target.partition("#")
            other = (path.parent / name.partition("?")[0]).resolve() if name else path
            if not other.exists() or (anchor and other in anchors and anchor not in anchors[other]):
                lost.append((str(path.relative_to(SITE)), target))
    assert not lost


def test_assistants_have_an_index_of_the_pages():
    listed = re.findall(r"\]\((.+?\.md)\)", (SITE / "llms.txt").read_text())
    assert {"start.md", "concepts/noise-floor.md", "how-to/ensembles.md"} <= set(listed)
    assert {"api/names/caltest.calibration_test.md", "gallery/plot_evidence.md"} <= set(listed)
    assert "api/names/caltest.recalibration.CalibratedModel.md" in listed
    assert {page.replace(".html", ".md") for page in pages()} - set(listed) == {"genindex.md", "search.md"}
    texts = {name: (SITE / name).read_text() for name in listed}
    assert all(text.startswith("#") for text in texts.values())
    assert "SKCE_ul" in texts["glossary.md"]
    assert "@article{" in texts["bibliography.md"]
    assert "## 0.2.0" in texts["changelog.md"]
    assert "| **Figure 1**" in texts["papers.md"]
    assert "[ct.nulls](api/nulls.md)" in texts["api.md"]
    assert "predictions, labels = " in texts["notebooks/01_quickstart.md"]
    assert not [name for name, text in texts.items() if re.search(r"^```{", text, re.M)]


def said_first(name):
    """The first definition on a page of the reference, and what it says."""
    page = (SITE / "api" / "names" / f"{name}.html").read_text()
    return re.search(r"<dt class=\"sig.*?</dt>", page, re.S)[0], page


def test_the_reference_says_what_things_are_made_of():
    for name, thing in public_things():
        if not inspect.isclass(thing) or issubclass(thing, BaseException) or ".results." in name:
            continue
        wanted = set(inspect.signature(thing).parameters) - {"arguments", "named", "args", "kwargs"}
        found = set(re.findall(r'class="n"><span class="pre">(\w+)', said_first(name)[0]))
        assert found == wanted, name


def test_names_of_libraries_that_the_site_lacks_have_pages():
    for name in ("torch.skce_loss", "torchmetrics.CalibrationTestMetric"):
        text = (SITE / "api" / "names" / f"caltest.bridges.{name}.html").read_text()
        assert f"<h1>{name.partition('.')[2]}" in text


def test_pages_of_tests_lead_to_their_error_rates_and_say_how_to_call_them():
    from linking import RATES

    tests = [name for name, thing in public_things() if inspect.isclass(thing) and name.endswith("Test")]
    assert len(tests) > 25
    for name in tests:
        _, page = said_first(name)
        assert f'id="{name}.__call__"' in page, name
        assert "ow often it errs" in page, name
        rates = re.search(r'ow often it errs.*?href="../../([\w-]+.html)"', page, re.S)[1]
        rows = " ".join(re.findall(r"<tr.*?</tr>", (SITE / rates).read_text(), re.S))
        assert name == "caltest.CalibrationTest" or name.rpartition(".")[2] in rows, name
    for page, calls in RATES.items():
        for name in calls:
            assert (
                f'How often it errs: <a class="reference internal" href="../../{page}.html"'
                in said_first(f"caltest.{name}")[1]
            ), name


def test_files_of_the_pages_lead_there():
    assert 'validity.html"><span class="doc">Validity</span>' in said_first("caltest.confidence_errors")[1]


def test_calls_of_the_chooser_lead_to_the_reference():
    page = (SITE / "which-test.html").read_text()
    linked = re.findall(r'<a [^>]*href="api/names/([\w.]+)\.html[^>]*><code', page)
    assert {"caltest.calibration_test", "caltest.find_slices", "caltest.fields.clinical.validate"} <= set(linked)
    assert not re.findall(r"<(?:td|p)><code[^>]*><span class=\"pre\">ct\.", page)
