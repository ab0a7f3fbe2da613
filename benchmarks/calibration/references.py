"""Reference posteriors: NUTS on all rows, or an exact law.

From the root of the repository: ``python -m benchmarks.calibration.references [NAME ...]``.
Equal rows are counted and groups enter by their moments, where that leaves the posterior as it is.
The flights' reference is the example's.
"""

import argparse
import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import jax
import numpy as np
import numpyro
from numpyro.infer import MCMC, NUTS, init_to_uniform

from benchmarks.calibration import data, models, scores
from benchmarks.calibration.compare import law, scalars
from benchmarks.calibration.problems import PROBLEMS, Problem

FOLDER = Path(__file__).parent / "references"
FLIGHTS = Path(__file__).parents[2] / "examples" / "references" / "flights.json"


def load(name: str) -> dict[str, Any]:
    """Return a reference that was made."""
    path = FLIGHTS if name == "flights" else FOLDER / f"{name}.json"
    return json.loads(path.read_text(encoding="utf-8"))


def counted(features: np.ndarray, response: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return the distinct rows, how often each occurs, and its ones."""
    cells, place = np.unique(features, axis=0, return_inverse=True)
    trials = np.bincount(place.ravel())
    return cells, trials, np.bincount(place.ravel(), weights=response).astype(int)


def moments(group: np.ndarray, response: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return each group's size, mean and sum of squares about it."""
    sizes = np.bincount(group)
    means = np.bincount(group, weights=response) / sizes
    return sizes, means, np.bincount(group, weights=(response - means[group]) ** 2)


def exact_gaussian() -> dict[str, Any]:
    """Return the law of linear regression with unit noise and the prior N(0, 100)."""
    features, response, axes = (x.astype(np.float64) for x in data.gaussian())
    covariance = np.linalg.inv(features.T @ features + np.eye(features.shape[1]) / 100)
    mean = covariance @ features.T @ response
    result: dict[str, Any] = {"mean": {}, "sd": {}, "mcse": {}, "mcse_sd": {}}
    sides = {"coefficients": np.eye(len(mean)), "principal": axes}
    for site, columns in sides.items():
        for place, column in enumerate(columns.T):
            name = f"{site}[{place}]"
            result["mean"][name] = float(column @ mean)
            result["sd"][name] = float(np.sqrt(column @ covariance @ column))
            result["mcse"][name] = result["mcse_sd"][name] = 0.0
    return result | {"exact": True}


def nuts(
    model: Callable,
    arguments: tuple,
    *,
    warmup: int,
    samples: int,
    chains: int = 4,
    **options: Any,
) -> tuple[Mapping[str, np.ndarray], dict[str, Any]]:
    """Return draws by site, (chains, draws, ...), and what they cost."""
    kernel = NUTS(model, **{"dense_mass": True, "max_tree_depth": 8, **options})
    mcmc = MCMC(
        kernel,
        num_warmup=warmup,
        num_samples=samples,
        num_chains=chains,
        chain_method="sequential",
        progress_bar=False,
        jit_model_args=True,
    )
    begin = time.perf_counter()
    mcmc.run(jax.random.key(0), *arguments, extra_fields=("num_steps", "diverging"))
    found = {name: np.asarray(x) for name, x in mcmc.get_samples(group_by_chain=True).items()}
    fields = mcmc.get_extra_fields()
    return found, {
        "divergences": int(fields["diverging"].sum()),
        "gradients": int(fields["num_steps"].sum()),
        "draws": chains * samples,
        "seconds": time.perf_counter() - begin,
    }


def summarised(samples: Mapping[str, np.ndarray], cost: dict[str, Any]) -> dict[str, Any]:
    """Return the law of every scalar with the worst diagnostics."""
    found = law(scalars(samples, {}))
    worst = {
        "smallest_ess": min(found["ess"].values()),
        "largest_rhat": max(found["rhat"].values()),
    }
    return found | worst | cost


def predicted(problem: Problem, samples: Mapping[str, Any], cost: Any = None) -> dict[str, Any]:
    """Return the law of what is said of held-out rows, and its scores."""
    held_out = problem.load().held_out
    assert problem.predict is not None
    found = scores.predictions(problem.predict, samples, held_out)
    result = summarised(scores.functionals(found), cost or {})
    result["log_score"] = scores.log_score(found)._asdict()
    if problem.squared:
        result["rmse"] = scores.root_mean_square(found, held_out[-1])._asdict()
    return result


def make(name: str) -> dict[str, Any]:
    """Make one reference."""
    long = {"warmup": 1_000, "samples": 3_000}
    # The gentle start keeps hidden units from saturating; NumPyro's annotation asks for an int.
    start = init_to_uniform(radius=0.1)  # pyright: ignore[reportArgumentType]
    wide = {"warmup": 200, "dense_mass": False, "init_strategy": start}
    sizes = {"digits": {"samples": 400}, "movielens": {"samples": 1_000, "chains": 2}}
    if name == "gaussian":
        return exact_gaussian()
    if name == "military":
        cells = counted(*data.military())
        return summarised(*nuts(models.logistic_of_counts, cells, **long))
    if name == "groups":
        return summarised(*nuts(models.grouped_by_moments, moments(*data.groups()), **long))
    problem = PROBLEMS[name]
    if problem.predict is not None:
        return predicted(problem, *nuts(problem.model, problem.arguments, **wide, **sizes[name]))
    return summarised(*nuts(problem.model, problem.arguments, warmup=400, samples=600))


def main() -> None:
    """Run the command line."""
    names = sorted({problem.reference for problem in PROBLEMS.values()} - {"flights"})
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(names))
    for name in parser.parse_args().names or names:
        # In double precision a network's or a factorisation's gradient would take twice as long.
        numpyro.enable_x64(name not in ("digits", "movielens"))
        result = make(name)
        FOLDER.mkdir(exist_ok=True)
        text = json.dumps(result, indent=1) + "\n"
        (FOLDER / f"{name}.json").write_text(text, encoding="utf-8")
        worst = {key: result.get(key) for key in ("smallest_ess", "largest_rhat", "seconds")}
        print(name, worst, flush=True)


if __name__ == "__main__":
    main()
