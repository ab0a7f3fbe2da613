"""Reference posteriors of the examples, from NUTS on all rows in double precision.

Run it from the root of the repository: ``python -m examples.reference flights out.json``.
"""

import argparse
import functools
import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import jax
import numpy as np
import numpyro
from numpyro.diagnostics import summary
from numpyro.infer import MCMC, NUTS

from examples import data, models

Labels = Mapping[str, tuple[str, ...]]


def problem(name: str) -> tuple[Callable[..., None], tuple[np.ndarray, ...], Labels]:
    """Finds a model and its data.

    Args:
        name: ``"flights"`` or ``"diamonds"``.

    Returns:
        The model, its arguments, and the labels of the entries of its vector-valued sites.
    """
    if name == "flights":
        flights = data.flights()
        model = functools.partial(
            models.late_arrival,
            num_carriers=len(flights.carrier_names),
            num_origins=len(flights.origin_names),
        )
        labels = {
            "coefficients": flights.feature_names,
            "carrier_intercept": flights.carrier_names,
            "origin_effect": flights.origin_names,
        }
        return model, flights.arrays, labels
    diamonds = data.diamonds()
    return models.linear, diamonds.arrays, {"coefficients": diamonds.feature_names}


def summarise(samples: Mapping[str, np.ndarray], labels: Labels) -> dict[str, Any]:
    """Summarises draws by scalar, named ``site`` or ``site[label]``.

    Args:
        samples: Draws by site, of shape (chains, draws) or (chains, draws, entries).
        labels: Labels of the entries of the vector-valued sites.

    Returns:
        Mean, sd, effective sample size and R-hat by scalar, and the worst of the last two.
    """
    scalars = {}
    for site, draws in samples.items():
        if draws.ndim == 2:
            scalars[site] = draws
            continue
        for position, label in enumerate(labels[site]):
            scalars[f"{site}[{label}]"] = draws[..., position]
    rows = summary(scalars, group_by_chain=True)
    columns = {"mean": "mean", "sd": "std", "ess": "n_eff", "rhat": "r_hat"}
    result: dict[str, Any] = {
        ours: {name: float(row[theirs]) for name, row in rows.items()}
        for ours, theirs in columns.items()
    }
    result["smallest_ess"] = min(result["ess"].values())
    result["largest_rhat"] = max(result["rhat"].values())
    return result


def reference(name: str, *, num_warmup: int, num_samples: int, seed: int) -> dict[str, Any]:
    """Runs two chains of NUTS with a dense mass matrix on all rows.

    Args:
        name: ``"flights"`` or ``"diamonds"``.
        num_warmup: Warm-up steps of each chain.
        num_samples: Draws of each chain.
        seed: Seed of the random numbers.

    Returns:
        The result of ``summarise`` with the cost of the run.
    """
    model, arguments, labels = problem(name)
    mcmc = MCMC(
        NUTS(model, dense_mass=True, target_accept_prob=0.9),
        num_warmup=num_warmup,
        num_samples=num_samples,
        num_chains=2,
        chain_method="sequential",
        progress_bar=False,
        jit_model_args=True,
    )
    start = time.perf_counter()
    mcmc.run(jax.random.key(seed), *arguments, extra_fields=("num_steps", "diverging"))
    samples = {
        site: np.asarray(draws) for site, draws in mcmc.get_samples(group_by_chain=True).items()
    }
    fields = mcmc.get_extra_fields()
    return summarise(samples, labels) | {
        "divergences": int(fields["diverging"].sum()),
        "gradients": int(fields["num_steps"].sum()),
        "draws": 2 * num_samples,
        "seconds": time.perf_counter() - start,
    }


def main() -> None:
    """Runs the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", choices=("flights", "diamonds"))
    parser.add_argument("output", type=Path)
    parser.add_argument("--warmup", type=int, default=1000)
    parser.add_argument("--samples", type=int, default=1500)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    numpyro.enable_x64()
    result = reference(
        options.name,
        num_warmup=options.warmup,
        num_samples=options.samples,
        seed=options.seed,
    )
    options.output.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
