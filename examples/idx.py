"""Images in the IDX format of MNIST, and Fashion-MNIST as Debian distributes it."""

import gzip
from pathlib import Path
from typing import NamedTuple

import numpy as np

FASHION_MNIST = Path("/usr/share/datasets/fashion-mnist")
"""Where Debian's package `dataset-fashion-mnist` puts its files."""
TYPES = {0x08: ">u1", 0x09: ">i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}
"""NumPy's names of the numbers that the third byte of a file tells, all big-endian."""


class Images(NamedTuple):
    """Grey images with values of 0 to 255, uint8.

    Attributes:
        training: (60000, 28, 28) for Fashion-MNIST.
        test: (10000, 28, 28).
    """

    training: np.ndarray
    test: np.ndarray


def read_idx(path: Path) -> np.ndarray:
    """Reads an array from an IDX file, compressed by gzip or not.

    The file has two zero bytes, the type of its numbers, the number of axes, the length of each
    axis as a big-endian integer of four bytes, and the numbers in C order.

    Args:
        path: The file; it is taken for a compressed one if its name ends in ``.gz``.

    Returns:
        The array, in the byte order of this machine.

    Raises:
        ValueError: If the file is not one of this format, or has another length than it tells.
    """
    content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    if len(content) < 4 or content[:2] != b"\0\0" or content[2] not in TYPES:
        raise ValueError(f"Expected a file in IDX format; got {content[:4]!r} first in {path}.")
    kind, axes = np.dtype(TYPES[content[2]]), content[3]
    begin = 4 + 4 * axes
    shape = tuple(int.from_bytes(content[at : at + 4], "big") for at in range(4, begin, 4))
    expected = begin + int(np.prod(shape, dtype=np.int64)) * kind.itemsize
    if len(content) != expected:
        raise ValueError(
            f"Expected {expected} bytes for the shape {shape}; got {len(content)} in {path}."
        )
    found = np.frombuffer(content, kind, offset=begin).reshape(shape)
    return found.astype(kind.newbyteorder("="))


class Classes(NamedTuple):
    """Classes 0 to 9 of the same images, uint8.

    Attributes:
        training: (60000,) for Fashion-MNIST.
        test: (10000,).
    """

    training: np.ndarray
    test: np.ndarray


def fashion_mnist(folder: Path = FASHION_MNIST) -> Images:
    """Loads the images of Fashion-MNIST from a folder.

    Args:
        folder: The folder with ``train-images-idx3-ubyte.gz`` and ``t10k-images-idx3-ubyte.gz``.

    Returns:
        Training and test images.

    Raises:
        FileNotFoundError: If a file is missing.
    """
    return Images(*map(read_idx, _files(folder, "images-idx3")))


def fashion_mnist_classes(folder: Path = FASHION_MNIST) -> Classes:
    """Loads the classes of Fashion-MNIST's images from a folder.

    Args:
        folder: The folder with ``train-labels-idx1-ubyte.gz`` and ``t10k-labels-idx1-ubyte.gz``.

    Returns:
        Classes of the training and of the test images.

    Raises:
        FileNotFoundError: If a file is missing.
    """
    return Classes(*map(read_idx, _files(folder, "labels-idx1")))


def _files(folder: Path, kind: str) -> list[Path]:
    paths = [folder / f"{name}-{kind}-ubyte.gz" for name in ("train", "t10k")]
    missing = [str(path) for path in paths if not path.exists()]
    if missing:
        raise FileNotFoundError(
            f"Expected the files of Fashion-MNIST; got none at {', '.join(missing)}. Install them"
            " with `apt-get install dataset-fashion-mnist` (Debian), or pass their folder."
        )
    return paths
