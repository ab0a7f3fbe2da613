"""Configuration of Sphinx. `make docs` builds the site without warnings and without network."""

import os
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE / "_ext")]

import inventories  # noqa: E402

import numpyro_sgmcmc  # noqa: E402

project = "numpyro_sgmcmc"
author = "The numpyro_sgmcmc developers"
copyright = author
release = version = numpyro_sgmcmc.__version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.intersphinx",
    "mathml",
    "references",
    "spread",
]
exclude_patterns = ["_build", "**/.ipynb_checkpoints"]

# All notebooks run, because their output depends on the library. NOTEBOOKS=cache runs those whose
# text has changed, NOTEBOOKS=off runs none.
nb_execution_mode = os.environ.get("NOTEBOOKS", "force")
suppress_warnings = ["myst-nb.lexer"] if nb_execution_mode == "off" else []
nb_execution_cache_path = str(HERE / "_build" / "jupyter_cache")
nb_execution_timeout = 600  # seconds for a cell, on a busy machine
nb_execution_raise_on_error = True
nb_execution_show_tb = True
nb_merge_streams = True
# ArviZ 0.23 announces version 1.x at its first import of a day.
# Notebooks share a cache of compiled programs. One that is being written is compiled again.
os.environ["PYTHONWARNINGS"] = ",".join(
    ["ignore::FutureWarning", "ignore:Error reading persistent compilation cache entry"]
)

myst_enable_extensions = ["dollarmath", "colon_fence"]
myst_heading_anchors = 3
html_math_renderer = "mathml"

intersphinx_mapping = inventories.write(HERE / "_build" / "inventories")

nitpicky = True
nitpick_ignore_regex = [
    ("py:obj", r".*"),  # `code` in docstrings is a link only if it names an object
]
default_role = "py:obj"
autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
autodoc_class_signature = "mixed"
napoleon_numpy_docstring = False
napoleon_use_ivar = True
python_use_unqualified_type_names = True

html_theme = "furo"
html_title = "numpyro_sgmcmc"
html_static_path = ["_static"]
html_css_files = ["pictures.css"]
html_theme_options = {"navigation_with_keys": True}
