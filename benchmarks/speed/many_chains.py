"""Chain-steps per second of 256 vectorised chains over one chain's."""

from functools import cache, partial
from typing import Any

from benchmarks.speed.logistic import model, simulate
from benchmarks.speed.parts import Measured, Part
from benchmarks.speed.ratios import Bar, median_ratio, medians
from benchmarks.speed.report import run
from benchmarks.speed.sides import through_mcmc
from benchmarks.speed.timing import seconds_a_step
from numpyro_sgmcmc import SGLD, SharedMinibatch

CHAINS = 256
ROWS, COLUMNS = 100_000, 20
data_once = cache(partial(simulate, ROWS, COLUMNS))


def gain(options: dict[str, Any], rounds: int) -> Measured:
    """Return the chain-steps a second of all chains over those of one."""
    kernel = SGLD(model, 0.1 / ROWS, **options)
    chains: dict[str, Any] = {"num_chains": CHAINS, "chain_method": "vectorized"}
    one = through_mcmc(SGLD(model, 0.1 / ROWS), data_once())
    many = through_mcmc(kernel, data_once(), 200, 1_000, **chains)
    many = many._replace(steps=many.steps * CHAINS)
    found = seconds_a_step({"one": one, "many": many}, rounds)
    rates = {name: 1 / cost for name, cost in medians(found).items()}
    shown = f"{rates['many']:,.0f} against {rates['one']:,.0f} chain-steps/s"
    ratio = median_ratio(found["one"], found["many"])
    return Measured(ratio, shown, {"chain_steps_a_second": rates})


PARTS = (
    Part(
        f"{CHAINS} chains over one, each with its own minibatch",
        Bar(4.0, at_least=True),
        partial(gain, {}),
    ),
    Part(
        f"{CHAINS} chains over one, sharing their minibatch",
        Bar(20.0, at_least=True),
        partial(gain, {"minibatch": SharedMinibatch()}),
    ),
)

if __name__ == "__main__":
    run("many_chains", PARTS)
