"""Zarr's files: encoded by zarr in memory, then written by us, each as a whole."""

import math
import warnings
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from numpyro_sgmcmc.folder.commits import Damaged
from numpyro_sgmcmc.folder.files import write_whole
from numpyro_sgmcmc.folder.layout import PREFIX, Variable

NAME = "draws.zarr"
CHECKSUM = 4
"""Bytes of the CRC-32C that zarr's codec adds, so that other readers notice damage as well."""


def require_zarr() -> Any:
    """Return the package zarr.

    Raises:
        ImportError: if it is not installed.
    """
    try:
        import zarr
    except ImportError as error:
        raise ImportError(
            "Expected the package zarr for a run with a `folder`; it is not installed. Use"
            " pip install 'numpyro-sgmcmc[runs]'."
        ) from error
    return zarr


def write_chunk(
    folder: Path,
    phase: str,
    variables: Sequence[Variable],
    place: int,
    arrays: list[np.ndarray],
    *,
    lasting: bool,
) -> list[int]:
    """Write the draws of a file, full or padded, of all variables; return their checksums."""
    sums = []
    for variable, array in zip(variables, arrays, strict=True):
        content = _encoded(array)
        write_whole(_path(folder, phase, variable, place), content, lasting=lasting)
        sums.append(zlib.crc32(content))
    return sums


def read_chunk(
    folder: Path, phase: str, variable: Variable, place: int, shape: tuple[int, ...], expected: int
) -> np.ndarray:
    """Return the draws of a full file.

    Raises:
        Damaged: if the file is missing or has other content than was written.
    """
    path = _path(folder, phase, variable, place)
    try:
        content = path.read_bytes()
    except OSError as error:
        raise Damaged(f"{path.relative_to(folder)} cannot be read") from error
    if zlib.crc32(content) != expected:
        raise Damaged(f"{path.relative_to(folder)} does not have its checksum")
    return np.frombuffer(content[:-CHECKSUM], _little(variable.dtype)).reshape(shape)


def is_there(folder: Path, phase: str, variable: Variable, place: int, size: int) -> bool:
    """Return whether the file of a chunk with so many bytes of draws exists, in full length."""
    path = _path(folder, phase, variable, place)
    return path.exists() and path.stat().st_size == size + CHECKSUM


def publish(
    folder: Path,
    layout: Sequence[Variable],
    chains: int,
    length: int,
    draws: dict[str, int],
    attributes: dict[str, Any],
) -> None:
    """Write Zarr's metadata, so that other readers find so many draws.

    The metadata of all groups are in the file of the root too, which is written last. Readers that
    use it, such as xarray, see all variables at the same length.
    """
    zarr = require_zarr()
    store = zarr.storage.MemoryStore()
    root = zarr.create_group(store, attributes=dict(sorted(attributes.items())))
    groups: dict[str, list[tuple[str, Variable]]] = {}
    for phase in draws:
        for variable in layout:
            groups.setdefault(PREFIX[phase] + variable.group, []).append((phase, variable))
    for name, members in groups.items():
        group = root.create_group(name)
        phase = members[0][0]
        sizes: dict[str, int] = {"chain": chains}
        for _, variable in members:
            shape = (chains, draws[phase], *variable.shape)
            chunks = (chains, length, *variable.shape)
            dims = ("chain", "draw", *variable.dims)
            sizes |= dict(zip(variable.dims, variable.shape, strict=True))
            _create(group, variable.name, shape, chunks, variable.dtype, dims)
        for dim, size in sizes.items():
            if dim not in {variable.name for _, variable in members}:
                _create(group, dim, (size,), (max(size, 1),), "int64", (dim,))
        _create(group, "draw", (draws[phase],), (length,), "int64", ("draw",))
        base = folder / NAME / name
        for dim, size in sizes.items():
            if size and not (base / dim / "c" / "0").exists() and dim not in _names(members):
                content = _encoded(np.arange(size, dtype=np.int64))
                write_whole(base / dim / "c" / "0", content, lasting=False)
        for place in range(math.ceil(draws[phase] / length)):
            path = base / "draw" / "c" / str(place)
            if not path.exists():
                begin = place * length
                numbers = np.arange(begin, begin + length, dtype=np.int64)
                write_whole(path, _encoded(numbers), lasting=False)
    with warnings.catch_warnings():
        # Version 3 of Zarr's format does not specify it yet; readers that do not know it ignore it.
        warnings.filterwarnings("ignore", "Consolidated metadata is currently not part")
        zarr.consolidate_metadata(store)
    documents = {key: value.to_bytes() for key, value in store._store_dict.items()}
    for key in sorted(documents, key=lambda key: (key == "zarr.json", key)):
        if key.endswith("zarr.json"):
            _write_if_other(folder / NAME / key, documents[key])


def _names(members: list[tuple[str, Variable]]) -> set[str]:
    return {variable.name for _, variable in members}


def _write_if_other(path: Path, content: bytes) -> None:
    if not (path.exists() and path.read_bytes() == content):
        write_whole(path, content, lasting=False)


def _create(
    group: Any, name: str, shape: tuple, chunks: tuple, dtype: str, dims: tuple[str, ...]
) -> Any:
    zarr = require_zarr()
    return group.create_array(
        name,
        shape=shape,
        chunks=tuple(max(size, 1) for size in chunks),
        dtype=dtype,
        compressors=zarr.codecs.Crc32cCodec(),
        filters=None,
        fill_value=np.nan if np.dtype(dtype).kind == "f" else 0,
        dimension_names=dims,
        config={"write_empty_chunks": True},
    )


def _encoded(array: np.ndarray) -> bytes:
    """Return the content of the file of a chunk."""
    zarr = require_zarr()
    store = zarr.storage.MemoryStore()
    group = zarr.create_group(store)
    dims = tuple(f"dim_{i}" for i in range(array.ndim))
    whole = _create(group, "x", array.shape, array.shape, str(array.dtype), dims)
    whole[...] = array
    (key,) = (key for key in store._store_dict if not key.endswith("zarr.json"))
    return store._store_dict[key].to_bytes()


def _path(folder: Path, phase: str, variable: Variable, place: int) -> Path:
    rest = ["0"] * len(variable.shape)
    group = folder / NAME / (PREFIX[phase] + variable.group)
    return group.joinpath(variable.name, "c", "0", str(place), *rest)


def _little(dtype: str) -> np.dtype:
    return np.dtype(dtype).newbyteorder("<")
