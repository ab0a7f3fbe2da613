"""A process that imports everything once and forks the runs that tests kill.

`python -m tests.driving.nursery ERRORS` reads orders from its input, one line of JSON for each: the
name of a run, its folder and its number of samples. It answers "begins" with the number of the
process once the run begins, and "ended" with the exit status, negative for a signal. What the run
prints goes to the file ERRORS.
"""

import json
import os
import select
import signal
import sys
import threading
import traceback
import warnings

import jax.numpy as jnp
import zarr
from jax._src import xla_bridge

from tests.driving import victim

INTERVAL = 0.02
"""Seconds between two looks at a run."""
IMPORTED = (zarr, victim)


def main(errors):
    """Fork a run for each order, until the input ends."""
    line = sys.stdin.buffer.readline()
    while line:
        # A device has threads, which a fork does not copy.
        assert not xla_bridge._backends
        assert threading.active_count() == 1
        pid = os.fork()
        if not pid:
            live(errors, *json.loads(line))
        print("ended", watch(pid), flush=True)
        line = sys.stdin.buffer.readline()
        # Until here no other process can have the number, and a late kill hits nobody else.
        os.waitpid(pid, 0)


def live(errors, name, folder, samples):
    """Run what was ordered, in a process that ends with it."""
    status = 1
    try:
        answers = os.dup(1)
        with open(errors, "wb") as file, open(os.devnull, "rb") as nothing:
            for handle, target in ((nothing, 0), (file, 1), (file, 2)):
                os.dup2(handle.fileno(), target)
        assert jnp.zeros(1).size
        os.write(answers, f"begins {os.getpid()}\n".encode())
        victim.run(name, folder, samples)
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(status)


def watch(pid):
    """Return the exit status of a process, which is killed if the input ends before."""
    options = os.WEXITED | os.WNOWAIT | os.WNOHANG
    while (found := os.waitid(os.P_PID, pid, options)) is None:
        if select.select([sys.stdin], [], [], INTERVAL)[0]:
            os.kill(pid, signal.SIGKILL)
    return found.si_status if found.si_code == os.CLD_EXITED else -found.si_status


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(sys.argv[1])
