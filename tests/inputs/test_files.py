"""Rows in files: the same draws as from memory, without reading them into memory."""

import os
import re
import subprocess
import sys
import threading
import time
import warnings

import jax
import numpy as np
import pytest
from numpyro.infer import MCMC

import numpyro_sgmcmc as sg
from numpyro_sgmcmc import SGHMCSplit, diagnose
from numpyro_sgmcmc.driving import passed
from numpyro_sgmcmc.kernels import constants
from numpyro_sgmcmc.model.arguments import copied_files, in_blocks, non_finite_arguments
from numpyro_sgmcmc.model.fingerprint import fingerprint
from tests.contract.problem import assert_same, data, model

MEGABYTE = 2**20
COLUMNS = 15


def saved(folder, arrays, mode="r"):
    """Return arrays that are in files of a folder."""
    for i, array in enumerate(arrays):
        np.save(folder / f"{i}.npy", np.asarray(array))
    return tuple(np.load(folder / f"{i}.npy", mmap_mode=mode) for i in range(len(arrays)))


def draws_by(run, rows):
    mcmc = MCMC(SGHMCSplit(model, 1e-3, friction=5.0), num_warmup=3, num_samples=20)
    run(mcmc, jax.random.key(0), *rows)
    return mcmc


@pytest.mark.parametrize(("run", "mode"), [(MCMC.run, "r"), (sg.run, "r+"), (sg.run, "c")])
@pytest.mark.filterwarnings("ignore::UserWarning")  # advice for 20 draws
def test_draws_are_those_from_memory(tmp_path, run, mode):
    on_disk = draws_by(run, saved(tmp_path, data(), mode))
    in_memory = draws_by(run, data())
    assert_same(on_disk.get_samples(), in_memory.get_samples())
    assert diagnose(on_disk).sentence == diagnose(in_memory).sentence


def test_a_run_with_files_goes_on_from_its_folder(tmp_path):
    rows, folder = saved(tmp_path, data()), tmp_path / "run"
    whole = draws_by(sg.run, rows).get_samples()
    for samples in (8, 20):
        mcmc = MCMC(SGHMCSplit(model, 1e-3, friction=5.0), num_warmup=3, num_samples=samples)
        sg.run(mcmc, jax.random.key(0), *rows, folder=folder)
    assert_same(mcmc.get_samples(), whole, rtol=0, atol=0)


@pytest.mark.parametrize("large", ["in files", "in memory"])
def test_large_data_are_inputs_of_one_program(monkeypatch, tmp_path, large):
    """Other rows of the same shape compile nothing, and numbers stay constants."""

    def sized(x, y, batch, name="b"):
        assert isinstance(batch, int) and name == "b"
        return model(x, y)

    if large == "in memory":
        monkeypatch.setattr(passed, "LARGE", 1)
        monkeypatch.setattr(constants, "LARGE", 1)
    calls = []
    mcmc = MCMC(SGHMCSplit(sized, 1e-3, friction=5.0), num_warmup=3, num_samples=20)
    found = []
    for seed in (0, 1):
        (tmp_path / str(seed)).mkdir()
        rows = data(seed)
        given = saved(tmp_path / str(seed), rows) if large == "in files" else rows
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # no word of constants
            sg.run(mcmc, jax.random.key(0), *given, 5, name="b")
        found.append(mcmc.get_samples())
        calls.append(len(sg.driving.compiled._PROGRAMS[mcmc]))
    assert calls == [1, 1]
    assert_same(found[1], draws_by(sg.run, data(1)).get_samples())


def test_an_array_edited_in_its_file_is_refused(tmp_path):
    rows = saved(tmp_path, data(), "r+")
    mcmc = draws_by(sg.run, rows)
    rows[1][3] += 1.0
    with pytest.raises(ValueError, match="edited in place"):
        diagnose(mcmc)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, bool])
def test_blocks_have_the_same_checksum(dtype, monkeypatch):
    array = (np.random.default_rng(0).normal(size=(1_000, 3)) * 9).astype(dtype)
    whole = fingerprint((array,), {}).content
    monkeypatch.setattr(in_blocks, "__defaults__", (100,))
    assert len(list(in_blocks(array))) > 20
    assert fingerprint((array,), {}).content == whole
    assert fingerprint((jax.device_put(array),), {}).content == whole
    if dtype is np.float32:
        array[-1, -1] = np.nan
        assert non_finite_arguments((), {"x": array}) == ["argument 'x'"]


def test_files_that_are_copied_are_named(tmp_path, monkeypatch):
    values = np.ones((100, 3))
    (wide,) = saved(tmp_path, [values])
    (tmp_path / "narrow").mkdir()
    (narrow,) = saved(tmp_path / "narrow", [values.astype(np.float32)])
    given = (narrow, wide, narrow[:, 0], narrow[1:], narrow[:7], values)
    found = copied_files(given, {"big": narrow.view(">f4")}, 1)
    assert set(found) == {*(f"positional argument {i}" for i in (1, 2, 3)), "argument 'big'"}
    assert "<f8" in found["positional argument 1"] and "64 bytes" in found["positional argument 3"]
    assert not copied_files(given, {}, 2**20)
    for array, name in zip(given[:4], (None, "positional argument 1", *2 * [None]), strict=True):
        at = array.ctypes.data == jax.device_put(array).unsafe_buffer_pointer()
        assert at == (array is narrow), name
    monkeypatch.setattr(constants, "LARGE", 100)
    x, y = data()
    with pytest.warns(UserWarning, match=r"positional argument 1 are in a file and are read into"):
        draws_by(sg.run, (x, saved(tmp_path, [np.asarray(y, np.float64)])[0]))


def anonymous():
    """Return the megabytes of this process that are not those of a file."""
    with open("/proc/self/status") as lines:
        return int(re.search(r"RssAnon:\s+(\d+)", lines.read()).group(1)) / 1024


def child(folder, rows):
    """Print the most memory of a run without tuning, and of its verdict, in megabytes."""
    import numpyro
    import numpyro.distributions as dist

    def linear(x, y):
        w = numpyro.sample("w", dist.Normal(0.0, 1.0).expand([COLUMNS]).to_event(1))
        sigma = numpyro.sample("sigma", dist.HalfNormal(1.0))
        with numpyro.plate("rows", len(y), subsample_size=200) as i:
            numpyro.sample("y", dist.Normal(x[i] @ w, sigma), obs=y[i])

    shapes = {"x": (rows, COLUMNS), "y": (rows,)}
    made = {
        n: np.lib.format.open_memmap(f"{folder}/{n}.npy", "w+", np.float32, shape)
        for n, shape in shapes.items()
    }
    rng = np.random.default_rng(0)
    for begin in range(0, rows, 10_000):
        some = slice(begin, begin + 10_000)
        made["x"][some] = rng.normal(size=made["x"][some].shape)
        made["y"][some] = made["x"][some].sum(1) + rng.normal(size=made["y"][some].shape)
    x, y = (np.load(f"{folder}/{n}.npy", mmap_mode="r") for n in shapes)
    most, is_over = [0.0], threading.Event()

    def watch():
        while not is_over.is_set():
            most[0] = max(most[0], anonymous())
            time.sleep(0.002)

    thread = threading.Thread(target=watch)
    thread.start()
    options = {"chain_method": "vectorized", "progress_bar": False}
    mcmc = MCMC(SGHMCSplit(linear), num_warmup=200, num_samples=200, num_chains=2, **options)
    sg.run(mcmc, jax.random.key(0), x, y)
    assert np.allclose(mcmc.get_samples()["w"].mean(0), 1.0, atol=0.1)
    diagnose(mcmc)
    is_over.set()
    thread.join()
    print(most[0])


@pytest.mark.long
@pytest.mark.minutes
@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="needs Linux")
def test_memory_does_not_grow_with_rows_in_files(tmp_path):
    """320 times as many rows, 977 MB, take at most a tenth of that more.

    Programs that are compiled at the same time take up to 65 MB more or less of the allocator.
    """
    code = "import sys; from tests.inputs.test_files import child; child({!r}, {})"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}

    def most(rows):
        given = [sys.executable, "-W", "ignore", "-c", code.format(str(tmp_path), rows)]
        done = subprocess.run(given, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return float(done.stdout)

    few, rows = most(50_000), 16_000_000
    grown = most(rows) - few
    print(f"{few:.0f} MB with 50,000 rows, {grown:+.0f} MB with {rows:,}")
    assert grown < 0.1 * rows * (COLUMNS + 1) * 4 / MEGABYTE
