"""Runs in a folder: readable by others, resumed to the bit, and refused where something differs."""

import json
import subprocess
import sys

import jax
import numpy as np
import pytest
import xarray as xr

import numpyro_sgmcmc as sg
from numpyro_sgmcmc.driving import identity, loop
from numpyro_sgmcmc.driving.memory import DrawsInMemory
from numpyro_sgmcmc.driving.on_disk import DrawsOnDisk
from numpyro_sgmcmc.folder import Lock, numbers
from numpyro_sgmcmc.folder.zarr_files import NAME
from numpyro_sgmcmc.results.entries import attributes_of
from numpyro_sgmcmc.results.groups import group_names
from tests.contract.problem import build, data, model, shared
from tests.driving.kills import content
from tests.driving.problem import assert_identical, bits, mcmc_of, whole


class Killed(BaseException):
    """Stands for a kill: nothing after it runs."""


def drive(folder, kernel=None, args=None, key=1, options=(), **settings):
    """Run in a folder, with a commit between any two calls of the program, and return the MCMC."""
    mcmc = mcmc_of(kernel or shared("SGHMC"), **settings)
    given = {"every": 1e-9} | dict(options)
    sg.run(mcmc, jax.random.key(key), *(args or data()), folder=folder, **given)
    return mcmc


@pytest.fixture
def killed_after(monkeypatch):
    """Return a function that drives until so many commits are made."""

    def until_killed(count, folder, **given):
        commit, made = DrawsOnDisk.commit, []

        def committing(self, *args):
            commit(self, *args)
            made.append(args)
            if len(made) == count:
                raise Killed

        with monkeypatch.context() as patch, pytest.raises(Killed):
            patch.setattr(DrawsOnDisk, "commit", committing)
            patch.setattr(loop, "GROWTH", 2)
            drive(folder, **given)

    return until_killed


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "method"),
    [
        pytest.param("SGHMC", "vectorized", marks=pytest.mark.release),
        pytest.param("SAGALD", "sequential", marks=pytest.mark.release),
        ("SAGALD", "parallel"),
        ("RichardsonRomberg(SGHMCSplit)", "vectorized"),
        pytest.param("RichardsonRomberg(SGHMCSplit)", "parallel", marks=pytest.mark.release),
    ],
)
def test_a_resumed_run_is_the_same_run(name, method, tmp_path, killed_after):
    given = {"kernel": build(name), "chain_method": method, "num_samples": 200, "thinning": 3}
    own = mcmc_of(build(name), **{n: v for n, v in given.items() if n != "kernel"})
    own.run(jax.random.key(1), *data())
    for count in (1, 2, 4):
        killed_after(count, tmp_path, **(given | {"kernel": build(name)}))
    mcmc = drive(tmp_path, **(given | {"kernel": build(name)}))
    assert_identical(own, mcmc)
    again = drive(tmp_path, **(given | {"kernel": build(name)}))
    assert_identical(own, again)


@pytest.mark.slow
def test_resumed_by_the_same_object(tmp_path, killed_after):
    own = mcmc_of(sg.SGHMC(model, 1e-3, friction=5.0))
    own.run(jax.random.key(1), *data())
    kernel = build("SGHMC")
    killed_after(3, tmp_path, kernel=kernel)
    assert bits(drive(tmp_path, kernel=kernel).get_samples()) == bits(own.get_samples())


@pytest.mark.slow
def test_a_resumed_warm_up_that_chooses_is_not_repeated(tmp_path, killed_after, monkeypatch):
    killed_after(2, tmp_path, kernel=sg.SGHMCSplit(model), num_warmup=100)
    monkeypatch.setattr("numpyro_sgmcmc.kernels.memory.prepare", None)
    kernel = sg.SGHMCSplit(model)
    mcmc = drive(tmp_path, kernel=kernel, num_warmup=100)
    monkeypatch.undo()
    own = mcmc_of(sg.SGHMCSplit(model), num_warmup=100)
    own.run(jax.random.key(1), *data())
    assert_identical(own, mcmc)
    found, expected = (
        k.adaptation._replace(seconds_per_transition=None) for k in (kernel, own.sampler)
    )
    assert str(found) == str(expected)
    attributes = attributes_of(sg.to_inference_data(mcmc, verdict=False))
    assert attributes["tuned"] == 1 and attributes["stopped"] == "complete"


@pytest.mark.long
def test_more_samples_go_on_from_the_end(tmp_path):
    drive(tmp_path / "a", num_samples=20)
    longer = drive(tmp_path / "a", num_samples=150)
    assert_identical(longer, drive(tmp_path / "b", num_samples=150))
    assert content(tmp_path / "a") == content(tmp_path / "b")
    with pytest.raises(ValueError, match=r"Expected at least the 150 `num_samples`"):
        drive(tmp_path / "a", num_samples=149)


@pytest.mark.long
def test_more_samples_with_thinning_must_be_aligned(tmp_path):
    drive(tmp_path, num_samples=20, thinning=3)
    with pytest.raises(ValueError, match=r"remainder 2 by `thinning`=3, .* Use 29\."):
        drive(tmp_path, num_samples=30, thinning=3)
    own = mcmc_of(shared("SGHMC"), num_samples=29, thinning=3)
    own.run(jax.random.key(1), *data())
    assert_identical(own, drive(tmp_path, num_samples=29, thinning=3))


@pytest.mark.long
def test_others_read_the_folder(tmp_path, monkeypatch):
    monkeypatch.setattr("numpyro_sgmcmc.folder.layout.MOST_LENGTH", 32)
    mcmc = drive(tmp_path, num_samples=100, options={"collect_warmup": True})
    samples, fields = mcmc.get_samples(True), mcmc.get_extra_fields(True)
    tree = xr.open_datatree(tmp_path / NAME, engine="zarr", chunks=None)
    opened = sg.open_run(tmp_path)
    assert set(group_names(opened)) == set(tree.children)
    for name, array in samples.items():
        for found in (tree["posterior"][name], opened["posterior"][name]):
            assert found.dims[:2] == ("chain", "draw")
            assert bits(found.values) == bits(array)
    for name in ("diverging", "potential_energy"):
        np.testing.assert_array_equal(tree["sample_stats"][name], fields[name])
        np.testing.assert_array_equal(opened["sample_stats"][name], fields[name])
    assert tree["warmup_posterior"].sizes["draw"] == mcmc.num_warmup
    assert dict(tree["posterior"].sizes) == dict(opened["posterior"].sizes)
    np.testing.assert_array_equal(tree["posterior"]["draw"], np.arange(100))
    attributes = attributes_of(opened)
    assert attributes["stopped"] == "complete"
    assert attributes["kernel"] == "SGHMC"


@pytest.mark.long
def test_read_while_it_runs(tmp_path, monkeypatch):
    seen, commit = [], DrawsOnDisk.commit

    def committing(self, *args):
        commit(self, *args)
        data = sg.open_run(tmp_path)
        tree = xr.open_datatree(tmp_path / NAME, engine="zarr", chunks=None)
        assert tree["posterior"].sizes["draw"] == data["posterior"].sizes["draw"]
        seen.append((data["posterior"]["w"].values, attributes_of(data)["stopped"]))

    monkeypatch.setattr(DrawsOnDisk, "commit", committing)
    mcmc = drive(tmp_path, num_samples=100)
    draws = np.asarray(mcmc.get_samples(True)["w"])
    assert [status for _, status in seen[:-1]] == ["running"] * (len(seen) - 1)
    assert len({array.shape[1] for array, _ in seen}) > 3
    for array, _ in seen:
        np.testing.assert_array_equal(array, draws[:, : array.shape[1]])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"key": 2}, r"key: threefry2x32 \[0, 1\] before, threefry2x32 \[0, 2\] now"),
        (
            {"args": data(1)},
            r"data \['x'\]: float32 \(48, 2\) \w+ before, float32 \(48, 2\) \w+ now",
        ),
        ({"num_warmup": 11}, "num_warmup: 10 before, 11 now"),
        ({"num_chains": 3}, "num_chains: 2 before, 3 now"),
        ({"thinning": 2, "num_samples": 62}, "thinning: 1 before, 2 now"),
        ({"options": {"extra_fields": ("i",)}}, "collected fields: .* before, .*, i now"),
        ({"kernel": sg.SGHMC(model, 2e-3, friction=5.0)}, r"option step_size: .*0.001.*0.002"),
        ({"kernel": sg.SGHMC(whole, 1e-3, friction=5.0)}, "model: model, source .* whole, source"),
        ({"kernel": shared("SGLD")}, "kernel: SGHMC before, SGLD now"),
    ],
)
def test_another_run_is_refused_by_name(change, message, finished):
    before = content(finished)
    with pytest.raises(ValueError, match=f"It differs in .*{message}"):
        drive(finished, **change)
    with pytest.raises(ValueError, match=message):
        drive(
            finished, **(change | {"options": dict(change.get("options", {})) | {"resume": "law"}})
        )
    assert content(finished) == before


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """Return a folder with a finished run that tests may not change."""
    folder = tmp_path_factory.mktemp("finished")
    drive(folder)
    return folder


SCALE = 1.0


def _scaled(x, y=None):
    import numpyro
    import numpyro.distributions as dist

    w = numpyro.sample("w", dist.Normal(0.0, SCALE).expand([2]).to_event(1))
    with numpyro.plate("rows", x.shape[0], subsample_size=6) as rows:
        numpyro.sample("y", dist.Normal(x[rows] @ w, 1.0), obs=y[rows])


@pytest.mark.long
def test_a_constant_that_the_model_uses_is_noticed(tmp_path, monkeypatch):
    drive(tmp_path, kernel=sg.SGLD(_scaled, 1e-3))
    monkeypatch.setattr(sys.modules[__name__], "SCALE", 2.0)
    with pytest.raises(
        ValueError, match=r"program: \w+ before, \w+ now\. Something that the model"
    ):
        drive(tmp_path, kernel=sg.SGLD(_scaled, 1e-3), num_samples=40)


@pytest.mark.long
def test_other_versions_need_the_word_law(tmp_path, monkeypatch):
    drive(tmp_path, num_samples=20)
    monkeypatch.setattr(identity, "version", lambda name: f"9.{name}")
    with pytest.raises(ValueError, match=r'versions.jax: .* before, 9.jax now.*resume="law"'):
        drive(tmp_path, num_samples=40)
    mcmc = drive(tmp_path, num_samples=40, options={"resume": "law"})
    notes = attributes_of(sg.to_inference_data(mcmc, verdict=False))["notes"]
    assert "After 20 draws: versions.jax: " in notes
    assert attributes_of(sg.open_run(tmp_path))["notes"] == notes


@pytest.mark.long
def test_until_ends_a_run_in_a_folder_at_the_same_draw(tmp_path, killed_after):
    condition = {"until": sg.until(ess=50)}
    plain = mcmc_of(shared("SGHMC"), num_samples=20_000)
    sg.run(plain, jax.random.key(1), *data(), **condition)
    killed_after(6, tmp_path, num_samples=20_000, options=condition)
    mcmc = drive(tmp_path, num_samples=20_000, options=condition | {"every": 60})
    assert_identical(plain, mcmc)
    assert attributes_of(sg.open_run(tmp_path))["stopped"] == "precise"
    again = drive(tmp_path, num_samples=20_000, options=condition)
    assert_identical(plain, again)


@pytest.mark.long
def test_memory_does_not_hold_the_draws(tmp_path, monkeypatch):
    monkeypatch.setattr(DrawsInMemory, "__init__", None)
    mcmc = drive(tmp_path, num_samples=100)
    assert mcmc._states._loaded == {}
    assert mcmc.get_samples()["w"].shape == (200, 2)
    assert list(mcmc._states._loaded) == ["z"]
    mcmc.print_summary()


def test_a_folder_in_use_is_refused(tmp_path):
    with Lock(tmp_path), pytest.raises(RuntimeError, match="is in use by process"):
        drive(tmp_path)
    drive(tmp_path)


@pytest.mark.long
def test_the_lock_ends_with_its_process(tmp_path):
    code = f"""
from pathlib import Path
import os, signal
from numpyro_sgmcmc.folder.lock import Lock
lock = Lock(Path({str(tmp_path)!r}))
os.kill(os.getpid(), signal.SIGKILL)
"""
    assert subprocess.run([sys.executable, "-c", code]).returncode == -9
    with Lock(tmp_path):
        pass


def test_other_folders_are_refused(tmp_path):
    (tmp_path / "thesis.tex").write_text("")
    with pytest.raises(ValueError, match=r"holds \['thesis.tex'\]"):
        drive(tmp_path)
    with pytest.raises(OSError, match="Expected a folder that can be written to"):
        drive(tmp_path / "thesis.tex")
    with pytest.raises(ValueError, match="has none"):
        sg.open_run(tmp_path)


@pytest.mark.parametrize(
    ("options", "message"),
    [({"every": 0}, "Expected `every`"), ({"resume": True}, "Expected `resume` to be")],
)
def test_options_are_checked(options, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        drive(tmp_path / "new", options=options)
    assert not (tmp_path / "new").exists()


def test_without_zarr(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "zarr", None)
    with pytest.raises(ImportError, match=r"pip install 'numpyro-sgmcmc\[runs\]'"):
        drive(tmp_path / "new")


def test_no_pickle_and_two_commits(finished):
    assert len(numbers(finished)) == 2
    for path in finished.glob("state-*.npz"):
        with np.load(path, allow_pickle=False) as file:
            assert all(file[name].dtype != object for name in file.files)
    for path in finished.glob("commit-*.json"):
        assert json.loads(json.loads(path.read_text())["commit"])["format"] == 1
