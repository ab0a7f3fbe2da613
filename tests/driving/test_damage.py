"""Damaged files, full disks and killed processes: nothing wrong is served in silence."""

import os
import resource
import subprocess
import sys
import warnings

import jax
import numpy as np
import pytest

import numpyro_sgmcmc as sg
from numpyro_sgmcmc.folder import numbers, publish
from numpyro_sgmcmc.folder.zarr_files import NAME
from tests.contract.problem import data, shared
from tests.driving.kills import ROOT, content, kill_often
from tests.driving.problem import bits, mcmc_of
from tests.marks import briefly

SAMPLES, LENGTH = 300, 64
STAGES = 100, 200, SAMPLES
"""Samples of a run at its commits."""
KILLS, CORRUPTIONS = 10, 40


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """Return a folder with a finished run of several files of draws, and its draws."""
    folder = tmp_path_factory.mktemp("finished")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("numpyro_sgmcmc.folder.layout.MOST_LENGTH", LENGTH)
        mcmc = staged(folder)
    return folder, bits(mcmc.get_samples(True))


def staged(folder):
    """Return a run that made a commit after each of its stages."""
    return [resumed(folder, samples) for samples in STAGES][-1]


def resumed(folder, samples=SAMPLES):
    mcmc = mcmc_of(shared("SGHMC"), num_samples=samples)
    sg.run(mcmc, jax.random.key(1), *data(), folder=folder)
    return mcmc


def opened(folder):
    """Return the bits of the draws that `open_run` serves, in the order of `get_samples`."""
    group = sg.open_run(folder)["posterior"]
    return bits({name: group[name].values for name in ("sigma", "signal", "w")})


def kinds_of(folder):
    """Return checkpoints, files of draws and metadata of a folder, each kind in a list."""
    found = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    checkpoints = [path for path in found if path.name.startswith(("commit-", "state-"))]
    draws = [path for path in found if "c" in path.parts]
    return checkpoints, draws, [path for path in found if path.name == "zarr.json"]


def flipped(path, rng):
    """Change one byte of a file; return its old content."""
    old = path.read_bytes()
    new = bytearray(old)
    new[rng.integers(len(new))] ^= 1 << int(rng.integers(8))
    path.write_bytes(bytes(new))
    return old


def corrupt(folder, expected, count, rng):
    """Flip bytes, one at a time; return how often that was named, healed or of no effect.

    Raises AssertionError if wrong draws are served.
    """
    tally = {"named": 0, "fell back": 0, "no effect": 0}
    for _ in range(count):
        files = kinds_of(folder)[rng.integers(3)]
        path = files[rng.integers(len(files))]
        old = flipped(path, rng)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                found = opened(folder)
            except RuntimeError as error:
                assert path.name in str(error) or "commit" in str(error)
                tally["named"] += 1
                path.write_bytes(old)
                continue
        told = any("is damaged" in str(w.message) for w in caught)
        if told:
            tally["fell back"] += 1
            for (_, shape, raw), (_, whole, all_of) in zip(found, expected, strict=True):
                few = np.frombuffer(raw, np.float32).reshape(shape)
                every = np.frombuffer(all_of, np.float32).reshape(whole)
                np.testing.assert_array_equal(few, every[:, : shape[1]])
        else:
            assert found == expected, path
            tally["no effect"] += 1
        path.write_bytes(old)
    return tally


@pytest.mark.long
def test_a_flipped_byte_never_gives_a_wrong_draw(finished):
    folder, expected = finished
    before = content(folder)
    tally = corrupt(folder, expected, CORRUPTIONS, np.random.default_rng(0))
    assert min(tally["named"], tally["fell back"]) > 0
    assert content(folder) == before


def test_damaged_draws_are_named_with_their_place(finished):
    folder, _ = finished
    path = folder / NAME / "posterior" / "w" / "c" / "0" / "1" / "0"
    old = flipped(path, np.random.default_rng(0))
    with pytest.raises(
        RuntimeError, match=r"draws 64 to 127 of 'w' .*posterior/w/c/0/1/0 does not"
    ):
        sg.open_run(folder)
    path.unlink()
    with pytest.raises(RuntimeError, match=r"draws 64 to 127 of 'w' .* is missing or torn"):
        resumed(folder, 2 * SAMPLES)
    path.write_bytes(old)


@pytest.mark.parametrize("kind", ["commit", "state"])
@pytest.mark.parametrize("is_torn", briefly([False, True], []))
def test_a_damaged_checkpoint_falls_back(kind, is_torn, tmp_path):
    expected = bits(staged(tmp_path).get_samples(True))
    (path,) = tmp_path.glob(f"{kind}-{numbers(tmp_path)[0]:08d}.*")
    if is_torn:
        path.write_bytes(path.read_bytes()[:-100])
    else:
        flipped(path, np.random.default_rng(3))
    with pytest.warns(UserWarning, match=rf"damaged \({path.name} .* goes on from the one before"):
        mcmc = resumed(tmp_path)
    assert bits(mcmc.get_samples(True)) == expected
    assert opened(tmp_path) == expected


@pytest.mark.long
def test_without_a_whole_commit_the_remedy_is_named(tmp_path):
    staged(tmp_path)
    for path in tmp_path.glob("commit-*.json"):
        path.write_bytes(b"")
    for read in (sg.open_run, resumed):
        with pytest.raises(RuntimeError, match="remove the folder and run again"):
            read(tmp_path)


@pytest.mark.long
def test_damaged_metadata_of_zarr_are_written_again(tmp_path):
    resumed(tmp_path)
    whole = content(tmp_path)
    (tmp_path / NAME / "zarr.json").write_bytes(b"{}")
    resumed(tmp_path, SAMPLES + 1)
    assert opened(tmp_path)
    assert whole.keys() <= content(tmp_path).keys()


def test_a_kill_between_the_last_commit_and_the_metadata_of_zarr(tmp_path, monkeypatch):
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    resumed(whole)

    def killed_at_the_end(*given):
        if given[-1]["stopped"] == "complete":
            raise SystemExit("killed")
        publish(*given)

    with monkeypatch.context() as patch:
        patch.setattr("numpyro_sgmcmc.driving.on_disk.publish", killed_at_the_end)
        with pytest.raises(SystemExit):
            resumed(killed)
    assert content(killed) != content(whole)
    resumed(killed)
    assert content(killed) == content(whole)


LIMITED = """
import resource, sys, warnings
import numpyro_sgmcmc
from tests.driving import victim
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[3]), resource.RLIM_INFINITY))
victim.run(sys.argv[1], sys.argv[2], int(sys.argv[4]))
"""


def limited(folder, size, samples):
    """Run a victim that may write no file larger than `size`; return its error."""
    command = [sys.executable, "-c", LIMITED, "epochs", str(folder), str(size), str(samples)]
    environment = os.environ | {"JAX_ENABLE_COMPILATION_CACHE": "false"}
    found = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert found.returncode
    return found.stderr


@pytest.mark.long
def test_a_limit_on_the_size_of_files_leaves_the_last_commit(nursery, tmp_path):
    samples = 20_000
    errors = limited(tmp_path, 200_000, samples)
    assert "The last commit is intact" in errors, errors
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] == resource.RLIM_INFINITY
    assert sg.open_run(tmp_path)["posterior"].sizes["chain"] == 2
    nursery.whole("epochs", tmp_path, samples)
    nursery.whole("epochs", tmp_path.with_name("whole"), samples)
    assert content(tmp_path) == content(tmp_path.with_name("whole"))


@pytest.mark.long
def test_kills(nursery, tmp_path):
    samples, rng = 20_000, np.random.default_rng(0)
    nursery.whole("epochs", tmp_path / "whole", samples)
    expected = content(tmp_path / "whole")
    folders, _ = kill_often(nursery, "epochs", tmp_path / "killed", samples, KILLS, rng)
    for folder in folders:
        found = content(folder)
        assert [name for name in expected if found.get(name) != expected[name]] == []
        assert found.keys() == expected.keys()
