"""Settings of Sphinx, which `make docs` runs on the pages that build.py has put together. No page needs a network."""

import sys
from pathlib import Path

import latex2mathml.converter
from docutils import nodes
from sphinx import addnodes

import mpm

sys.path.insert(0, str(Path(__file__).parent))
import class_pages

project = "mpm"
author = "The mpm developers"
copyright = author
version = release = mpm.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "myst_nb",
    "sphinx_copybutton",
]
exclude_patterns = ["_files"]
default_role = "py:obj"
nitpicky = False  # docstrings put code as well as names between single backticks
suppress_warnings = ["myst.header"]  # tables that scripts print begin at their own level

html_theme = "pydata_sphinx_theme"
html_title = "mpm"
html_static_path = ["static"]
html_css_files = ["pages.css"]
html_search_scorer = str(Path(__file__).parent / "static" / "scorer.js")  # guides before design notes
html_show_sourcelink = False
html_math_renderer = "mathml"
ALONE = (
    "index gallery/index installation quickstart features verified reproducibility performance names core contributing "
    "changelog"
)
html_sidebars = {page: [] for page in ALONE.split()}  # there is nothing below them
html_theme_options = {
    "navbar_end": ["theme-switcher"],
    "show_prev_next": True,
    "navigation_depth": 2,
    "show_toc_level": 2,
    "header_links_before_dropdown": 6,
}

autodoc_typehints = "none"  # docstrings say types, shapes and units
autosummary_generate = False
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True
napoleon_preprocess_types = False

nb_execution_mode = "off"  # build.py takes notebooks that were executed by their tests
nb_ipywidgets_js = {}
nb_mime_priority_overrides = [("html", "application/vnd.jupyter.widget-view+json", None)]
nb_merge_streams = True
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 4
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True


def formula(latex: str, display: str) -> str:
    """MathML, which browsers draw by themselves."""
    return latex2mathml.converter.convert(latex, display=display)


def inline_formula(translator, node):
    translator.body.append(formula(node.astext(), "inline"))
    raise nodes.SkipNode


def formula_of_its_own(translator, node):
    translator.body.append(
        f'<div style="margin: 1.2em 0; overflow-x: auto">{formula(node.astext(), "block")}</div>'
    )
    raise nodes.SkipNode


def escape_bars(app, what, name, obj, options, lines):
    """Docstrings write |v| for an absolute value, which is a substitution in reStructuredText."""
    for i, line in enumerate(lines):
        if "|" in line and not line.lstrip().startswith(">>>"):
            parts = line.split("`")
            parts[::2] = [part.replace("|", "\\|") for part in parts[::2]]
            lines[i] = "`".join(parts)


def show_class(app, what, name, obj, options, lines):
    """The picture of a class, and the scenes of the gallery that have it."""
    if what == "class":
        if drawn := class_pages.picture_of(name):  # below the summary, which lists of classes show
            end = lines.index("") if "" in lines else len(lines)
            picture = class_pages.picture(drawn, f"a picture of {name}", 240).splitlines()
            lines[end:end] = ["", *picture, "   :class: at-a-class", ""]
        if scenes := class_pages.scenes_beside(name):
            lines += ["", scenes, ""]


def name_exactly(app, doctree):
    """A name means that of its module, or else that of `mpm`; Sphinx would take any method that is called so."""
    for reference in doctree.findall(addnodes.pending_xref):
        if reference.get("refdomain") == "py":
            reference.attributes.pop("refspecific", None)
            target, module = reference["reftarget"], reference.get("py:module")
            here = getattr(sys.modules.get(module), "__all__", ())
            if target.partition(".")[0] in mpm.__all__ and target.partition(".")[0] not in here:
                reference["reftarget"] = f"mpm.{target}"


def setup(app):
    app.connect("autodoc-process-docstring", escape_bars)
    app.connect("autodoc-process-docstring", show_class)
    app.connect("doctree-read", name_exactly)
    app.add_html_math_renderer("mathml", (inline_formula, None), (formula_of_its_own, None))
