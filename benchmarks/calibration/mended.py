"""One model run wrong, diagnosed and mended: the pictures and sentences of docs/calibration.md.

`python -m benchmarks.calibration.mended`
"""

from collections.abc import Callable
from functools import partial
from math import ceil
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np
from numpyro.infer import MCMC
from scipy.stats import gaussian_kde, norm

from benchmarks.calibration import references
from benchmarks.calibration.problems import PROBLEMS
from benchmarks.papers.picture import COLOURS, STYLE
from numpyro_sgmcmc import SGLD, Diagnosis, FixedPoint, SGHMCSplit, diagnose

PICTURE = Path(__file__).parents[2] / "docs" / "images" / "mended.png"
STEP_SIZE = 2e-6
CHAINS, SAMPLES = 4, 2_000
KERNELS: dict[str, Callable[[Any], Any]] = {
    "SGLD(model, 2e-6)": lambda model: SGLD(model, STEP_SIZE, num_steps=20),
    "SGLD(model, 2e-6, gradient=FixedPoint())": lambda model: SGLD(
        model, STEP_SIZE, gradient=FixedPoint(), num_steps=20
    ),
    "SGHMCSplit(model)": SGHMCSplit,
}


def run(kernel: Any, arguments: tuple, samples: int) -> tuple[np.ndarray, Diagnosis]:
    """Return draws of the first coefficient, and the verdict."""
    mcmc = MCMC(
        kernel,
        num_warmup=1_000,
        num_samples=samples,
        num_chains=CHAINS,
        chain_method="vectorized",
        jit_model_args=True,
        progress_bar=False,
    )
    mcmc.run(jax.random.key(0), *arguments)
    return np.asarray(mcmc.get_samples()["coefficients"][:, 0]), diagnose(mcmc)


def main() -> None:
    """Run the kernels, print what is said of each, and draw their posteriors beside NUTS's.

    Where the verdict asks for more draws a second run takes them.
    """
    problem = PROBLEMS["logistic"]
    reference = references.load(problem.reference)
    model = partial(problem.model, subsample_size=problem.batch)
    arguments = tuple(map(jnp.asarray, problem.arguments))
    mean, sd = (reference[key]["coefficients[0]"] for key in ("mean", "sd"))
    grid = np.linspace(mean - 8 * sd, mean + 8 * sd, 400)
    with plt.rc_context(STYLE):
        figure, axis = plt.subplots(figsize=(7.0, 3.4), layout="constrained")
    axis.fill_between(grid, norm.pdf(grid, mean, sd), color="0.85", label="NUTS on all rows")
    for number, (name, build) in enumerate(KERNELS.items()):
        draws, found = run(build(model), arguments, SAMPLES)
        print(f"{name}\n{found}\n", flush=True)
        if found.more_draws is not None:
            samples = SAMPLES + ceil(found.more_draws / CHAINS)
            draws, found = run(build(model), arguments, samples)
            print(f"The same with {samples:,} draws a chain\n{found}\n", flush=True)
        axis.plot(grid, gaussian_kde(draws)(grid), color=COLOURS[number], lw=1.6, label=name)
    axis.set_xlabel("first coefficient")
    axis.set_ylabel("posterior density")
    figure.legend(*axis.get_legend_handles_labels(), loc="outside lower center", ncols=2)
    PICTURE.parent.mkdir(exist_ok=True)
    figure.savefig(PICTURE, dpi=100)


if __name__ == "__main__":
    main()
