"""Spreads the notebooks over the pages, so that the processes that read pages take equally long.

Sphinx gives each process a run of consecutive pages: in alphabetical order one would get nearly all
notebooks. A notebook's front matter says how many seconds it takes.
"""

import re
from itertools import zip_longest
from pathlib import Path

from sphinx.util.parallel import make_chunks


def spread(app, env, docnames):
    """Give each process the next longest notebook once it has had the fewest seconds."""
    seconds = {name: seconds_of(env.doc2path(name)) for name in docnames}
    others = [name for name in docnames if not seconds[name]]
    chunks = make_chunks(docnames, app.parallel)
    # Each process begins with one of the first chunks. Those that follow get no notebook.
    shares = [[] for _ in chunks[: app.parallel]]
    for name in sorted(seconds.keys() - others, key=lambda name: (-seconds[name], name)):
        min(shares, key=lambda share: sum(map(seconds.get, share))).append(name)
    ordered = []
    for chunk, share in zip_longest(chunks, shares, fillvalue=[]):
        rest = max(0, len(chunk) - len(share))
        ordered += share + others[:rest]
        del others[:rest]
    docnames[:] = ordered + others


def seconds_of(path):
    """Return what a notebook's front matter says, and 0 for other pages."""
    front = Path(path).read_text("utf-8").split("\n---", 1)[0]
    if "file_format: mystnb" not in front:
        return 0
    found = re.search(r"^seconds: (\d+)$", front, re.MULTILINE)
    if found is None:
        raise ValueError(f"Expected the line `seconds: N` in the front matter of {path}; got none.")
    return int(found[1])


def setup(app):
    app.connect("env-before-read-docs", spread)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
