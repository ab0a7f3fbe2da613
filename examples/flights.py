"""Which flights from New York arrive late? SGHMC on 327,346 real flights, from data to picture.

Run it with `make demo`, or with `python -m examples.flights` if the extra `examples` is installed.
"""

import time
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import matplotlib
import numpy as np
from numpyro.infer import MCMC

from examples.data import Flights, flights
from examples.models import late_arrival
from numpyro_sgmcmc import SGHMCSplit, report, summary, to_inference_data

OUTPUT = Path("output")
SUBSAMPLE_SIZE = 1_000
KEY = 0


def fit(data: Flights) -> MCMC:
    """Fit the logistic regression on minibatches of 1,000 flights."""
    model = partial(
        late_arrival,
        num_carriers=len(data.carrier_names),
        num_origins=len(data.origin_names),
        subsample_size=SUBSAMPLE_SIZE,
    )
    mcmc = MCMC(
        SGHMCSplit(model, num_steps=10),
        num_warmup=500,
        num_samples=1_000,
        num_chains=4,
        chain_method="vectorized",
        jit_model_args=True,
    )
    mcmc.run(jax.random.key(KEY), *map(jnp.asarray, data.arrays))
    return mcmc


def draw(data: Flights, posterior: Any, path: Path) -> None:
    """Plot each carrier's probability of a late arrival, and the effects of the predictors."""
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    sites = {str(name): np.asarray(posterior[name]) for name in posterior.data_vars}
    flat = {name: value.reshape(-1, *value.shape[2:]) for name, value in sites.items()}
    late = 100 / (1 + np.exp(-flat["carrier_intercept"]))
    order = np.argsort(late.mean(0))
    flown = np.bincount(data.carrier)
    carriers = [f"{data.carrier_names[i]}  ({flown[i]:,})" for i in order]
    figure, axes = plt.subplots(1, 2, figsize=(10, 5.5), width_ratios=(3, 2), layout="constrained")
    _intervals(axes[0], late[:, order], carriers)
    axes[0].set_xlabel("late on an average flight (%)")
    axes[0].set_title("Carriers, with their number of flights", loc="left")
    effects = np.concatenate([flat["coefficients"], flat["origin_effect"]], axis=1)
    names = [f"{name} (+1 sd)" for name in data.feature_names] + list(data.origin_names)
    _intervals(axes[1], effects[:, ::-1], names[::-1])
    axes[1].axvline(0, color="0.7", linewidth=1, zorder=0)
    axes[1].set_xlabel("effect on the log odds")
    axes[1].set_title("Predictors and airports", loc="left")
    rows = f"{len(data.late):,} flights in minibatches of {SUBSAMPLE_SIZE:,}"
    figure.suptitle(
        f"More than 15 minutes late: {rows}; 50 % and 94 % intervals", x=0.01, ha="left"
    )
    figure.savefig(path, dpi=150)


def _intervals(axis: Any, draws: np.ndarray, names: list[str]) -> None:
    places = np.arange(len(names))
    for low, high, width in ((3, 97, 1.5), (25, 75, 5)):
        ends = np.percentile(draws, [low, high], axis=0)
        axis.hlines(places, *ends, color="tab:blue", linewidth=width)
    axis.plot(draws.mean(0), places, "o", color="white", markeredgecolor="tab:blue", markersize=5)
    axis.set_yticks(places, names)
    axis.spines[["top", "right"]].set_visible(False)


def main() -> None:
    """Fit the model, print the summary, and write draws, picture and report."""
    begin = time.perf_counter()
    data = flights()
    print(f"{len(data.late):,} flights, {data.late.mean():.1%} of them late. Sampling ...")
    mcmc = fit(data)
    jax.block_until_ready(mcmc.last_state)
    seconds = time.perf_counter() - begin
    labels = {
        "carrier_intercept_dim_0": list(data.carrier_names),
        "origin_effect_dim_0": list(data.origin_names),
        "coefficients_dim_0": list(data.feature_names),
    }
    results = to_inference_data(mcmc, coords=labels)
    print(summary(results, round_to=3).to_string())
    print(f"\nSampled in {seconds:.0f} s, compilation and warm-up included.")
    OUTPUT.mkdir(exist_ok=True)
    archive, picture = OUTPUT / "flights.nc", OUTPUT / "flights.png"
    results.to_netcdf(archive)
    draw(data, results["posterior"], picture)
    page = report(results, OUTPUT / "flights.html", title="Late flights from New York")
    print(f"Draws for ArviZ: {archive.resolve()}\nPicture:         {picture.resolve()}")
    print(f"Report:          {page.resolve()}")


if __name__ == "__main__":
    main()
