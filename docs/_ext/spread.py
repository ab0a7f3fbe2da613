"""Spreads the notebooks over the pages, so that the processes that read pages share them.

Sphinx gives each process a run of consecutive pages. In alphabetical order, all notebooks would go
to one process.
"""

from pathlib import Path


def spread(app, env, docnames):
    """Put the notebooks at even distances among the other pages."""
    del app
    notebooks = [name for name in docnames if is_notebook(env.doc2path(name))]
    others = [name for name in docnames if name not in notebooks]
    for place, name in enumerate(notebooks):
        others.insert(place * len(docnames) // len(notebooks), name)
    docnames[:] = others


def is_notebook(path):
    """Whether MyST-NB runs a page."""
    return "file_format: mystnb" in Path(path).read_text("utf-8")[:200]


def setup(app):
    app.connect("env-before-read-docs", spread)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
