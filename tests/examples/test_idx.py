"""The loader of IDX files, on files that are written here byte by byte."""

import gzip

import numpy as np
import pytest

from examples.idx import fashion_mnist, fashion_mnist_classes, read_idx

NUMBERS = np.arange(2 * 3 * 2, dtype=np.int64).reshape(2, 3, 2) * 20


def written(path, kind, dtype, numbers=NUMBERS):
    """Write an IDX file, compressed if its name says so."""
    sizes = b"".join(size.to_bytes(4, "big") for size in numbers.shape)
    content = bytes([0, 0, kind, numbers.ndim]) + sizes + numbers.astype(dtype).tobytes()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


@pytest.mark.parametrize("name", ["images-ubyte.gz", "images-ubyte"])
@pytest.mark.parametrize(
    ("kind", "dtype"), [(0x08, ">u1"), (0x0B, ">i2"), (0x0C, ">i4"), (0x0E, ">f8")]
)
def test_numbers_come_back(tmp_path, name, kind, dtype):
    found = read_idx(written(tmp_path / name, kind, dtype))
    assert found.dtype == np.dtype(dtype).newbyteorder("=") and found.dtype.isnative
    np.testing.assert_array_equal(found, NUMBERS)


def test_training_and_test_images_are_told_apart(tmp_path):
    other = NUMBERS[:1]
    written(tmp_path / "train-images-idx3-ubyte.gz", 0x08, ">u1")
    written(tmp_path / "t10k-images-idx3-ubyte.gz", 0x08, ">u1", other)
    found = fashion_mnist(tmp_path)
    np.testing.assert_array_equal(found.training, NUMBERS)
    np.testing.assert_array_equal(found.test, other)


def test_classes_are_read_from_their_own_files(tmp_path):
    written(tmp_path / "train-labels-idx1-ubyte.gz", 0x08, ">u1", NUMBERS.ravel())
    written(tmp_path / "t10k-labels-idx1-ubyte.gz", 0x08, ">u1", NUMBERS[0, 0])
    found = fashion_mnist_classes(tmp_path)
    np.testing.assert_array_equal(found.training, NUMBERS.ravel())
    np.testing.assert_array_equal(found.test, NUMBERS[0, 0])


def test_missing_files_name_the_package(tmp_path):
    written(tmp_path / "train-images-idx3-ubyte.gz", 0x08, ">u1")
    with pytest.raises(FileNotFoundError, match=r"t10k.*dataset-fashion-mnist") as error:
        fashion_mnist(tmp_path)
    assert "train-images" not in str(error.value)


@pytest.mark.parametrize("change", [lambda c: b"\1" + c[1:], lambda c: c[:3], lambda c: b""])
def test_other_formats_are_refused(tmp_path, change):
    path = written(tmp_path / "images", 0x08, ">u1")
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(ValueError, match="Expected a file in IDX format"):
        read_idx(path)


@pytest.mark.parametrize("change", [lambda c: c[:-1], lambda c: c + b"\0", lambda c: c[:9]])
def test_another_length_is_refused(tmp_path, change):
    path = written(tmp_path / "images", 0x08, ">u1")
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(ValueError, match="bytes"):
        read_idx(path)
