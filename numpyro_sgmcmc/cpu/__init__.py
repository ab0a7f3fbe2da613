"""Optimisations that are needed only for XLA on a CPU.

Each file replaces a part of plain JAX, with results that are equal to the bit or up to rounding:
`random.py` (random numbers), `slices.py` (neighbouring rows), `assembly.py` and `finite.py`
(long vectors), `sums.py` (narrow arrays), `trips.py` (numbers from which many others are computed)
and `compiling.py` (compiler options). Calls in the rest of the package look like those of plain
JAX.

The replacements are used only if JAX's default backend is a CPU. The environment variable
`NUMPYRO_SGMCMC_PLAIN_JAX=1` switches them off. `gate.py` decides this while JAX is tracing. The
file docs/decisions/cpu.md records what each one saves, and when it can be deleted.
"""
