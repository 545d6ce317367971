"""How the documentation is built: ``python -m sphinx -W -n --keep-going -b html docs docs/_build/html``.

Neither the build nor the pages ask another machine for anything: the inventories of other projects lie in
`_inventories`, MathJax comes along with sphinx-mathjax-offline.
"""

from __future__ import annotations

import os
import sys
import warnings
from importlib import import_module
from pathlib import Path

os.environ.setdefault("MPLBACKEND", "Agg")

import skeltraj

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE / "_ext"), str(HERE / "_inventories")]
inventories = import_module("make")

project = "skeltraj"
author = "The skeltraj developers"
project_copyright = author
version = release = skeltraj.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.intersphinx",
    "sphinx.ext.mathjax",
    "sphinx.ext.napoleon",
    "myst_nb",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "sphinx-mathjax-offline",
    "sphinxcontrib.bibtex",
    "matplotlib.sphinxext.plot_directive",
    "command_line",
    "docstrings",
    "llms",
    "matrices",
]
exclude_patterns = [
    "_build",
    "_ext",
    "_templates",
    "**.ipynb_checkpoints",
    "gallery/*.rst",
    "sg_execution_times.rst",
    "**/sg_execution_times.rst",
    "gallery/*/GALLERY_HEADER.rst",
    "gallery/extra",
    "gallery/generated/**.ipynb",
]
templates_path = ["_templates"]
default_role = "short"  # of the extension `docstrings`: a link to what is ours, else literal text
nitpicky = True

# ---- pages
myst_enable_extensions = ["amsmath", "attrs_inline", "colon_fence", "deflist", "dollarmath", "fieldlist"]
myst_heading_anchors = 4
nb_execution_mode = "off"  # notebooks that are run at build say so; the others are stored as they were run
nb_execution_timeout = 900  # seconds for a cell: the first ones compile
nb_merge_streams = True
bibtex_bibfiles = ["references.bib"]
bibtex_reference_style = "author_year"
copybutton_prompt_text = r">>> |\.\.\. |\$ |In \[\d*\]: | {2,5}\.\.\.: | {5,8}: "
copybutton_prompt_is_regexp = True

# ---- the API, from docstrings
autosummary_generate = True
# where letters of both cases are one, as on many a disk, `core.Trends` and `core.trends` need two files
autosummary_filename_map = {
    f"skeltraj.{room}.{name}": f"skeltraj.{room}.{name}-class"
    for room in skeltraj.__all__
    for name in getattr(skeltraj, room).__all__
    if not name.islower()
    and name.lower() in {other.lower() for other in getattr(skeltraj, room).__all__ if other != name}
}
autodoc_typehints = "none"  # types stand with the parameters, see `docstrings`
autodoc_member_order = "bysource"
napoleon_google_docstring = False
napoleon_custom_sections = [
    "Parameters",
    "Attributes",
    "Returns",
    "Raises",
    "Warns",
    "Yields",
]  # each a heading over a list

# ---- pictures made by docstrings
plot_html_show_formats = False
plot_html_show_source_link = False
plot_formats = [("png", 110)]
plot_include_source = True
plot_rcparams = {"figure.dpi": 110, "savefig.bbox": "tight", "font.size": 9}
plot_apply_rcparams = True
plot_pre_code = ""
warnings.filterwarnings("ignore", message="Observation names are not unique", category=UserWarning)

# ---- the gallery
(HERE / "gallery" / "extra").mkdir(exist_ok=True)
html_extra_path = ["gallery/extra"]
sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "gallery/generated",
    "filename_pattern": r"\.py$",
    "ignore_pattern": r"generated|extra",
    "subsection_order": [f"gallery/{part}" for part in ("tree", "groups", "genes", "trust")],
    "within_subsection_order": "FileNameSortKey",
    "image_scrapers": ("matplotlib", "gallery_pages"),
    "matplotlib_animations": False,
    "capture_repr": (),
    "reset_modules": ("matplotlib",),
    "abort_on_example_error": True,
    "download_all_examples": False,
    "notebook_extensions": set(),
    "show_memory": False,
    "min_reported_time": 1e9,
    "show_signature": False,
    "doc_module": ("skeltraj",),
    "backreferences_dir": "gallery/generated/backreferences",
    "image_srcset": ["2x"],
    "thumbnail_size": (480, 336),
    "nested_sections": True,
}

# ---- other projects
intersphinx_mapping = {
    name: (address, f"_inventories/{name}.inv") for name, (address, _) in inventories.projects().items()
}

# ---- html
html_theme = "sphinx_book_theme"
html_title = f"skeltraj {version}"
html_static_path = ["_static"]
html_js_files = ["from_folder.js"]
html_css_files = ["skeltraj.css"]
html_theme_options = {
    "home_page_in_toc": False,
    "show_navbar_depth": 1,
    "show_toc_level": 2,
    "use_download_button": False,
    "use_fullscreen_button": False,
    "navigation_with_keys": False,
    "navbar_persistent": [],  # the search field stands in the side bar
}
html_context = {"default_mode": "auto"}
html_copy_source = False
html_show_sourcelink = False
