"""Memory of this process, as Linux counts it."""

from pathlib import Path

from benchmarks.speed.parts import NotMeasured

STATUS = Path("/proc/self/status")
CLEAR = Path("/proc/self/clear_refs")
RESET_PEAK = "5"


def resident() -> int:
    """Return the bytes that are resident."""
    return _field("VmRSS")


def peak() -> int:
    """Return the most bytes that were resident since the start, or since `forget_peak`."""
    return _field("VmHWM")


def forget_peak() -> None:
    """Start counting the peak anew."""
    if not CLEAR.exists():
        raise NotMeasured("no /proc, from which memory is read")
    CLEAR.write_text(RESET_PEAK)


def _field(name: str) -> int:
    if not STATUS.exists():
        raise NotMeasured("no /proc, from which memory is read")
    for line in STATUS.read_text().splitlines():
        if line.startswith(f"{name}:"):
            return 1024 * int(line.split()[1])
    raise NotMeasured(f"no {name} in {STATUS}")
