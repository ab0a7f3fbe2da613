"""The folder of a long run: draws, checkpoints and the commits that name them."""

from numpyro_sgmcmc.folder.commits import (
    Commit,
    Damaged,
    clear_unfinished,
    newest,
    numbers,
    write_commit,
)
from numpyro_sgmcmc.folder.layout import PREFIX, Variable, layout_of, length_of
from numpyro_sgmcmc.folder.leaves import as_arrays, as_state
from numpyro_sgmcmc.folder.lock import Lock
from numpyro_sgmcmc.folder.reader import Committed, committed, groups, is_foreign
from numpyro_sgmcmc.folder.recorder import Recorder
from numpyro_sgmcmc.folder.values import classes_of, decoded, encoded
from numpyro_sgmcmc.folder.zarr_files import publish, require_zarr

__all__ = [
    "PREFIX",
    "Commit",
    "Committed",
    "Damaged",
    "Lock",
    "Recorder",
    "Variable",
    "as_arrays",
    "as_state",
    "classes_of",
    "clear_unfinished",
    "committed",
    "decoded",
    "encoded",
    "groups",
    "is_foreign",
    "layout_of",
    "length_of",
    "newest",
    "numbers",
    "publish",
    "require_zarr",
    "write_commit",
]
