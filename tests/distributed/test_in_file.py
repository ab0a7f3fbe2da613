"""Arrays in files are found there by every process, and not sent."""

import pickle

import jax
import numpy as np
import pytest

from numpyro_sgmcmc.distributed.gradients import Model
from numpyro_sgmcmc.distributed.in_file import InFile, in_file
from numpyro_sgmcmc.distributed.shipment import received, shipment_of

VALUES = np.arange(6_000, dtype=np.float32).reshape(2_000, 3)
"""More than a page of memory, on which files are mapped."""


@pytest.fixture
def path(tmp_path):
    found = tmp_path / "x.npy"
    np.save(found, VALUES)
    return found


def mapped(path, mode="r"):
    return np.load(path, mmap_mode=mode)


@pytest.mark.parametrize("mode", ["r", "r+"])
@pytest.mark.parametrize(
    "part", [slice(None), slice(0, 10), slice(1_500, None), slice(7, 1_900), 3, slice(5, 6)]
)
def test_a_part_of_an_array_is_found_in_its_file(path, part, mode):
    array = mapped(path, mode)[part]
    found = pickle.loads(pickle.dumps(in_file(array))).opened()
    assert isinstance(found, np.memmap) and not found.flags.writeable
    assert found.dtype == array.dtype and np.array_equal(found, VALUES[part])


def test_parts_of_parts_other_orders_and_files_without_a_header(path, tmp_path):
    part = mapped(path)[1_000:][300:400][5:]
    assert np.array_equal(in_file(part).opened(), VALUES[1_305:1_400])
    assert np.array_equal(in_file(mapped(path)[10:20].T).opened(), VALUES[10:20].T)
    assert np.array_equal(in_file(mapped(path).reshape(-1)[4_500:]).opened(), VALUES.flat[4_500:])
    raw = tmp_path / "raw"
    raw.write_bytes(b"12345" + VALUES.astype(">f8").tobytes())
    array = np.memmap(raw, ">f8", "r", 5 + 24 * 900, (1_000, 3))
    assert np.array_equal(in_file(array[50:]).opened(), VALUES[950:1_900])


def test_what_is_written_is_in_the_file(path):
    array = mapped(path, "r+")
    array[3] = -1
    assert np.array_equal(in_file(array).opened()[3], [-1, -1, -1])


def test_what_is_not_in_a_file_is_sent(path):
    own = mapped(path, "c")
    own[0] = 5  # in memory only
    in_memory = [VALUES, own, mapped(path) * 2, mapped(path)[::2], mapped(path)[:, 1]]
    in_memory += [mapped(path)[:0], np.array(mapped(path)), mapped(path)[[1, 2]]]
    assert [in_file(array) for array in in_memory] == [None] * len(in_memory)


def test_a_copy_of_the_file_is_taken(path, tmp_path):
    """As on another machine, whose file has other times."""
    place = in_file(mapped(path))
    copy = tmp_path / "copy.npy"
    np.save(copy, VALUES)
    path.unlink()
    copy.rename(path)
    assert np.array_equal(place.opened(), VALUES)


@pytest.mark.parametrize("change", ["gone", "short", "an entry"])
def test_a_file_that_was_replaced_is_not_that_of_the_array(path, change):
    array, values = mapped(path), VALUES.copy()
    path.unlink()
    values[777, 1] += 1
    if change != "gone":
        np.save(path, VALUES[:10] if change == "short" else values)
    assert in_file(array) is None
    assert np.array_equal(shipment_of(Model(len, (array,), {})).arrays[0], VALUES)


@pytest.mark.parametrize("fault", ["missing", "short", "other", "an entry"])
def test_another_file_is_refused(path, fault):
    place = in_file(mapped(path))
    path.unlink()
    if fault == "short":
        np.save(path, VALUES[:10])
    elif fault != "missing":
        values = VALUES.copy()
        values[777, 1] += 1
        np.save(path, VALUES + 1 if fault == "other" else values)
    with pytest.raises(ValueError, match=r"file '.*x.npy' on every machine; got .*same path"):
        place.opened()


def test_a_model_arrives_as_it_was(path):
    small = np.array([1, 2, 3])
    model = Model(len, (mapped(path), "text", {"deep": small}), {"y": mapped(path)[:5], "n": 7})
    sent = shipment_of(model)
    assert sent.nbytes == small.nbytes
    assert sum(isinstance(leaf, InFile) for leaf in jax.tree.leaves(sent.model[1:])) == 2
    function, args, kwargs = received(pickle.loads(pickle.dumps(sent.model)), sent.arrays)
    assert function is len and args[1] == "text" and kwargs["n"] == 7
    assert np.array_equal(args[0], VALUES) and np.array_equal(kwargs["y"], VALUES[:5])
    assert args[2]["deep"] is sent.arrays[0]
