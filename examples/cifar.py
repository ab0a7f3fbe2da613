"""Images in the binary format of CIFAR-10."""

from pathlib import Path
from typing import NamedTuple

import numpy as np

CHANNELS, WIDTH = 3, 32
RECORD = 1 + CHANNELS * WIDTH**2
"""Bytes of an image: its class, then all reds, all greens and all blues, row by row."""
TRAINING = tuple(f"data_batch_{number}.bin" for number in range(1, 6))
TEST = "test_batch.bin"


class Coloured(NamedTuple):
    """Images (n, 32, 32, 3) with values of 0 to 255, and their classes (n,), both uint8."""

    images: np.ndarray
    classes: np.ndarray


class Cifar10(NamedTuple):
    """The images to train, 50,000 in the published files, and those to test, 10,000."""

    training: Coloured
    test: Coloured


def read_cifar10(path: Path) -> Coloured:
    """Reads one binary file.

    Args:
        path: The file, a sequence of records of 3,073 bytes.

    Returns:
        Images with the colours as their last axis, and classes.

    Raises:
        ValueError: If the file is not a number of whole records, or has a class above 9.
    """
    content = np.fromfile(path, np.uint8)
    if not len(content) or len(content) % RECORD:
        raise ValueError(
            f"Expected records of {RECORD:,} bytes (CIFAR-10, binary version); got"
            f" {len(content):,} bytes in {path}."
        )
    records = content.reshape(-1, RECORD)
    classes = records[:, 0].copy()
    if classes.max() > 9:
        raise ValueError(
            f"Expected classes 0 to 9; got {classes.max()} in {path}. Use the binary version of"
            " CIFAR-10, not that of CIFAR-100."
        )
    planes = records[:, 1:].reshape(-1, CHANNELS, WIDTH, WIDTH)
    return Coloured(np.ascontiguousarray(planes.transpose(0, 2, 3, 1)), classes)


def cifar10(folder: Path) -> Cifar10:
    """Loads CIFAR-10 from a folder.

    Args:
        folder: The folder with ``data_batch_1.bin`` to ``data_batch_5.bin`` and
            ``test_batch.bin``.

    Returns:
        Images to train and to test.

    Raises:
        FileNotFoundError: If a file is missing.
    """
    missing = [name for name in (*TRAINING, TEST) if not (folder / name).exists()]
    if missing:
        raise FileNotFoundError(
            f"Expected the files of CIFAR-10 in {folder}; got none named {', '.join(missing)}."
            " Unpack its binary version, cifar-10-binary.tar.gz, and pass the folder"
            " cifar-10-batches-bin."
        )
    parts = [read_cifar10(folder / name) for name in TRAINING]
    training = Coloured(*(np.concatenate(part) for part in zip(*parts, strict=True)))
    return Cifar10(training, read_cifar10(folder / TEST))
