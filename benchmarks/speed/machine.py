"""On what a figure was measured: device, cores, date and versions."""

import datetime
import os
import platform
from importlib import metadata
from pathlib import Path

import jax

PACKAGES = ("jax", "numpyro", "optax", "arviz", "blackjax")
CPU_INFO = Path("/proc/cpuinfo")


def device_name() -> str:
    """Return the name of the device that JAX computes on."""
    device = jax.devices()[0]
    if device.platform != "cpu" or not CPU_INFO.exists():
        return device.device_kind
    names = [line for line in CPU_INFO.read_text().splitlines() if line.startswith("model name")]
    return names[0].partition(":")[2].strip() if names else platform.machine()


def described() -> dict[str, object]:
    """Return the fields of a figure's file that say where and when."""
    installed = {"python": platform.python_version()}
    for package in PACKAGES:
        if any(metadata.distributions(name=package)):
            installed[package] = metadata.version(package)
    return {
        "date": datetime.date.today().isoformat(),
        "device": device_name(),
        "cores": os.cpu_count(),
        "versions": installed,
    }
