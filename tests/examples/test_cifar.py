"""The loader of CIFAR-10's binary format, on files that the tests write byte by byte."""

import numpy as np
import pytest

from examples.cifar import TEST, TRAINING, cifar10, read_cifar10


def record(label, value):
    """Return an image whose red, green and blue values name their place: channel, row, column."""
    planes = [
        [
            (value + 100 * channel + 7 * row + column) % 256
            for row in range(32)
            for column in range(32)
        ]
        for channel in range(3)
    ]
    return bytes([label, *(number for plane in planes for number in plane)])


def test_images_and_classes_are_those_written(tmp_path):
    for number, name in enumerate((*TRAINING, TEST)):
        (tmp_path / name).write_bytes(record(number, number) + record(9, 50 + number))
    found = cifar10(tmp_path)
    assert found.training.images.shape == (10, 32, 32, 3) and found.test.images.dtype == np.uint8
    assert found.training.classes.tolist() == [0, 9, 1, 9, 2, 9, 3, 9, 4, 9]
    assert found.test.classes.tolist() == [5, 9]
    for image, value in ((found.training.images[2], 1), (found.test.images[1], 55)):
        for row, column, channel in ((0, 0, 0), (31, 3, 1), (4, 30, 2)):
            assert image[row, column, channel] == (value + 100 * channel + 7 * row + column) % 256


def test_a_missing_file_is_named_with_its_remedy(tmp_path):
    for name in TRAINING:
        (tmp_path / name).write_bytes(record(0, 0))
    with pytest.raises(FileNotFoundError, match=r"test_batch\.bin\. Unpack its binary version"):
        cifar10(tmp_path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "got 0 bytes"),
        (record(0, 0)[:-1], "got 3,072 bytes"),
        (record(0, 0) + record(10, 0), "not that of CIFAR-100"),
    ],
)
def test_another_format_is_refused(tmp_path, content, message):
    path = tmp_path / "some.bin"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=message):
        read_cifar10(path)
