"""Settings of the documentation: ``python -m sphinx docs build/docs``, without a network, with warnings as errors."""

import shutil
import sys
from pathlib import Path

from numpydoc import docscrape_sphinx

import caltest

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from linking import lead_to_error_rates, link_names, signature_of, skip_members_of_sklearn  # noqa: E402
from llms import write_llms  # noqa: E402
from paper_items import write_items  # noqa: E402
from reference import MOCKED, for_extending, write_reference, write_source_files  # noqa: E402

project = "caltest"
author = "The caltest developers"
version = release = caltest.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_nb",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "sphinx-mathjax-offline",
    "sphinxcontrib.bibtex",
]
nitpicky = True
exclude_patterns = ["**/sg_execution_times.rst", "sg_execution_times.rst", "gallery/*.ipynb", "pictures/*"]
templates_path = ["templates"]

highlight_language = "none"

html_theme = "pydata_sphinx_theme"
html_title = "caltest"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_theme_options = {"show_prev_next": False, "secondary_sidebar_items": ["page-toc"]}
html_sidebars = {path.stem: [] for path in HERE.glob("*.md") if path.stem not in ("api", "how-to", "notebooks")}

autosummary_generate = True
autosummary_context = {"for_extending": for_extending()}
autodoc_typehints = "none"
autodoc_mock_imports = MOCKED
numpydoc_show_class_members = False

# numpydoc makes an environment for each docstring, which compiles its template anew; here all have the first one.
environments, Environment = {}, docscrape_sphinx.SandboxedEnvironment
docscrape_sphinx.SandboxedEnvironment = lambda loader: environments.setdefault("first", Environment(loader=loader))

bibtex_bibfiles = ["../caltest/_results/citations.bib"]
bibtex_reference_style = "author_year"

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
nb_execution_mode = "off"

sphinx_gallery_conf = {
    "examples_dirs": "pictures",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "download_all_examples": False,
    "show_signature": False,
    "write_computation_times": False,
    "min_reported_time": 1e9,
}

shutil.copytree(HERE.parent / "notebooks", HERE / "notebooks", dirs_exist_ok=True)
write_reference(HERE / "api")
write_source_files(HERE / "source-files.rst")
write_items(HERE / "papers-items.txt")


def setup(app):
    """What is changed in the pages, and written after them."""
    app.connect("autodoc-process-signature", signature_of)
    app.connect("autodoc-skip-member", skip_members_of_sklearn)
    app.connect("autodoc-process-docstring", lead_to_error_rates, priority=900)
    app.connect("doctree-read", link_names)
    app.connect("build-finished", write_llms)
