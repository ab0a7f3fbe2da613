"""What exists only because of XLA on a CPU.

Each file holds one replacement for plain JAX, equal to it to the bit or to rounding, and its name
in the rest of the package reads as plain JAX: `random.py` (random numbers), `slices.py` (rows that
are neighbours), `assembly.py` (long vectors), `compiling.py` (compiler options).

All of them are used only where JAX's default backend is a CPU. The environment variable
`NUMPYRO_SGMCMC_PLAIN_JAX=1` switches them off; `gate.py` decides it while JAX traces. What each
one saves, and when it can be deleted, is recorded in docs/decisions/cpu.md.
"""
