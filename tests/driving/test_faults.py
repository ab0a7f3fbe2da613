"""`make faults`: 100 kills, 200 damaged bytes, and a disk that is really full."""

import os
import subprocess
import sys

import numpy as np
import pytest

import numpyro_sgmcmc as sg
from tests.driving.kills import ROOT, content, kill_often
from tests.driving.test_damage import corrupt, finished
from tests.driving.victim import KERNELS, SAMPLES

pytestmark = pytest.mark.faults
KILLS, CORRUPTIONS = 20, 200
DISK = 1_500_000
"""Bytes of the disk that fills up."""

__all__ = ["finished"]


@pytest.mark.parametrize("name", KERNELS)
def test_a_killed_run_is_the_same_run(nursery, name, tmp_path):
    samples = SAMPLES[name]
    nursery.whole(name, tmp_path / "whole", samples)
    expected = content(tmp_path / "whole")
    rng = np.random.default_rng(list(KERNELS).index(name))
    folders, last = kill_often(nursery, name, tmp_path / "killed", samples, KILLS, rng)
    for folder in folders:
        assert content(folder) == expected
    print(f"\n{name}: {KILLS} kills, {len(folders)} runs to the end, the last in {last:.1f} s")


def test_many_damaged_bytes(finished):
    folder, expected = finished
    tally = corrupt(folder, expected, CORRUPTIONS, np.random.default_rng(7))
    print(f"\n{CORRUPTIONS} damaged bytes: {tally}")
    assert min(tally["named"], tally["fell back"]) > 0


@pytest.fixture
def full_disk(tmp_path):
    """Return a folder on a disk of its own that is small."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK}", "tmpfs", str(folder)]
    if os.geteuid() or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("mounting a small disk needs the rights of an administrator")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def test_a_full_disk_leaves_the_last_commit(nursery, full_disk, tmp_path):
    samples = SAMPLES["epochs"]
    folder = full_disk / "run"
    errors = nursery.live("epochs", folder, samples).errors
    assert "The last commit is intact" in errors, errors
    assert "No space left on device" in errors
    held = sg.open_run(folder)["posterior"].sizes["draw"]
    subprocess.run(["mount", "-o", "remount,size=64m", str(full_disk)], check=True)
    nursery.whole("epochs", folder, samples)
    nursery.whole("epochs", tmp_path / "whole", samples)
    assert content(folder) == content(tmp_path / "whole")
    print(f"\nfull disk: {held} draws of each chain were intact")


def test_a_folder_without_the_right_to_write(nursery, tmp_path):
    """The superuser writes anywhere, so the disk itself is read-only."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "ro,size=1m", "tmpfs", str(folder)]
    if os.geteuid() or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("mounting a read-only disk needs the rights of an administrator")
    try:
        errors = nursery.live("epochs", folder / "run", 1_000).errors
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)
    assert "Expected a folder that can be written to" in errors
    assert sys.platform == "linux" and ROOT.exists()
