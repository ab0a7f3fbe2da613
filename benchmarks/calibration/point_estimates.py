"""Point estimates, ensembles and colder posteriors of the digits' network beside its posterior.

From the root of the repository: ``python -m benchmarks.calibration.point_estimates``. It takes some
minutes, and writes `point_estimates.md` in `benchmarks/results/`.
"""

from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpyro.infer import MCMC, SVI, Trace_ELBO
from numpyro.infer.autoguide import AutoDelta
from numpyro.infer.initialization import init_to_sample
from optax import adam, cosine_decay_schedule

from benchmarks.calibration import references
from benchmarks.calibration.agreement import agreement
from benchmarks.calibration.problems import PROBLEMS, Problem
from benchmarks.calibration.scores import class_probabilities
from numpyro_sgmcmc import SGHMCSplit

RESULT = Path(__file__).parents[1] / "results" / "point_estimates.md"
MEMBERS = 20
STEPS = 5_000
RATE = 0.01
TEMPERATURES = (1.0, 0.3, 0.1)


class Scores(NamedTuple):
    """What probabilities of classes are worth on held-out rows."""

    log_score: float
    accuracy: float
    same_class: float
    total_variation: float


def modes(problem: Problem, members: int = MEMBERS, steps: int = STEPS) -> dict[str, jax.Array]:
    """Return modes of the posterior by site, (members, ...), from as many draws of the prior."""
    schedule = cosine_decay_schedule(RATE, steps)
    arguments = tuple(map(jnp.asarray, problem.arguments))

    def fitted(key: jax.Array) -> Any:
        # A guide keeps its first start, so that each member needs its own.
        guide = AutoDelta(problem.model, init_loc_fn=init_to_sample)
        svi = SVI(problem.model, guide, adam(schedule), Trace_ELBO())
        return guide.median(svi.run(key, steps, *arguments, progress_bar=False).params)

    found = [fitted(key) for key in jax.random.split(jax.random.key(0), members)]
    return {name: jnp.stack([one[name] for one in found]) for name in found[0]}


def tempered(problem: Problem, temperature: float) -> dict[str, jax.Array]:
    """Return draws at a temperature by site, (chains, draws, ...), with nothing else chosen."""
    kernel = SGHMCSplit(
        partial(problem.model, subsample_size=problem.batch), temperature=temperature
    )
    mcmc = MCMC(
        kernel,
        num_warmup=1_000,
        num_samples=500,
        num_chains=4,
        chain_method="vectorized",
        progress_bar=False,
    )
    mcmc.run(jax.random.key(1), *map(jnp.asarray, problem.arguments))
    return mcmc.get_samples(group_by_chain=True)


def scored(probabilities: np.ndarray, label: np.ndarray, reference: np.ndarray) -> Scores:
    """Return the scores of probabilities of classes, (rows, classes)."""
    true = probabilities[np.arange(len(label)), label]
    correct = probabilities.argmax(-1) == label
    near = agreement(probabilities, reference)
    return Scores(float(np.log(true).mean()), float(correct.mean()), *near)


def main() -> None:
    """Write the table."""
    problem = PROBLEMS["digits"]
    held_out = problem.load().held_out
    label = np.asarray(held_out[-1])
    posterior = np.array(references.load("digits")["probabilities"])
    found = modes(problem)
    assert problem.classify is not None

    def probabilities(members: slice) -> np.ndarray:
        draws = {name: x[None, members] for name, x in found.items()}
        return class_probabilities(problem.classify, draws, held_out)

    singles = [scored(probabilities(slice(at, at + 1)), label, posterior) for at in range(MEMBERS)]
    rows = {
        "posterior (NUTS)": scored(posterior, label, posterior),
        f"a mode (mean of {MEMBERS})": Scores(*np.mean(singles, axis=0)),
        f"an ensemble of {MEMBERS} modes": scored(probabilities(slice(None)), label, posterior),
    }
    for temperature in TEMPERATURES:
        draws = tempered(problem, temperature)
        colder = class_probabilities(problem.classify, draws, held_out)
        rows[f"SGHMCSplit, T = {temperature}"] = scored(colder, label, posterior)
    lines = [
        "| predictions by | held-out log score | accuracy | same class as NUTS | total variation |",
        "| --- | --- | --- | --- | --- |",
    ]
    for name, one in rows.items():
        lines.append(
            f"| {name} | {one.log_score:.4f} | {one.accuracy:.1%} | {one.same_class:.1%} |"
            f" {one.total_variation:.3f} |"
        )
    text = "\n".join(lines) + "\n"
    RESULT.write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
