"""Reference posteriors: NUTS on all rows, or an exact law.

From the root of the repository: ``python -m benchmarks.calibration.references [NAME ...]``.
A form of the model with the same posterior is taken where that helps NUTS: see `recipes`.
The flights' reference is the example's.
"""

import argparse
import json
import re
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import jax
import numpy as np
import numpyro
from numpyro.infer import MCMC, NUTS

from benchmarks.calibration import exact, recipes, scores
from benchmarks.calibration.compare import NO_PLACES, law, scalars
from benchmarks.calibration.problems import PROBLEMS, Problem

FOLDER = Path(__file__).parent / "references"
FLIGHTS = Path(__file__).parents[2] / "examples" / "references" / "flights.json"


def load(name: str) -> dict[str, Any]:
    """Return a reference that was made."""
    path = FLIGHTS if name == "flights" else FOLDER / f"{name}.json"
    return json.loads(path.read_text(encoding="utf-8"))


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


def summarised(
    samples: Mapping[str, np.ndarray],
    cost: Mapping[str, Any],
    places: Mapping[str, slice] = NO_PLACES,
) -> dict[str, Any]:
    """Return the law of the scalars that are compared, with the worst diagnostics."""
    found = law(scalars(samples, {}, places))
    worst = {
        "smallest_ess": min(found["ess"].values()),
        "largest_rhat": max(found["rhat"].values()),
    }
    return found | worst | dict(cost)


def predicted(problem: Problem, samples: Mapping[str, Any], cost: Any = None) -> dict[str, Any]:
    """Return the law of what is said of held-out rows, and its scores."""
    held_out = problem.load().held_out
    assert problem.predict is not None
    found = scores.predictions(problem.predict, samples, held_out)
    result = summarised(scores.functionals(found), cost or {})
    result["log_score"] = scores.log_score(found)._asdict()
    if problem.squared:
        result["rmse"] = scores.root_mean_square(found, held_out[-1])._asdict()
    if problem.classify is not None:
        probabilities = scores.class_probabilities(problem.classify, samples, held_out)
        result["probabilities"] = probabilities.round(5).tolist()
    return result


def make(name: str) -> dict[str, Any]:
    """Make one reference."""
    if name in exact.LAWS:
        return exact.LAWS[name]()
    problem = next(one for one in PROBLEMS.values() if one.reference == name)
    recipe = recipes.RECIPES.get(name, recipes.Recipe())
    model = recipe.model or problem.model
    arguments = recipe.load() if recipe.load else problem.arguments
    samples, cost = nuts(model, arguments, **{"warmup": 400, "samples": 600, **recipe.options})
    if problem.predict is not None:
        return predicted(problem, samples, cost)
    form = {"form": recipe.form} if recipe.form else {}
    return summarised(samples, cost, problem.places) | form


def _on_one_line(match: re.Match[str]) -> str:
    return f"[{' '.join(match[1].split())}]"


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
        # The probabilities of a row's classes stand on one line.
        text = re.sub(r"\[\s+([^][]*?)\s+\]", _on_one_line, json.dumps(result, indent=1))
        (FOLDER / f"{name}.json").write_text(text + "\n", encoding="utf-8")
        worst = {
            key: result.get(key)
            for key in ("smallest_ess", "largest_rhat", "divergences", "seconds")
        }
        print(name, worst, flush=True)


if __name__ == "__main__":
    main()
