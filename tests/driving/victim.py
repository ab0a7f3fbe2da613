"""Runs that tests kill."""

import jax
from numpyro.infer import MCMC, NUTS

import numpyro_sgmcmc as sg
from tests.contract.problem import data, model
from tests.driving.problem import whole

EVERY = 0.1
KERNELS = {
    "untuned": lambda: sg.SGHMCSplit(model),
    "saga": lambda: sg.SGLD(model, 1e-3, gradient=sg.SAGA()),
    "pair": lambda: sg.RichardsonRomberg(sg.SGHMCSplit(model, 1e-3, friction=5.0)),
    "epochs": lambda: sg.SGHMC(model, 1e-3, friction=5.0, minibatch=sg.ReshuffledMinibatch()),
    "nuts": lambda: NUTS(whole),
}
SAMPLES = {
    "untuned": 100_000,
    "saga": 100_000,
    "pair": 100_000,
    "epochs": 100_000,
    "nuts": 6_000,
}
METHODS = {"saga": "sequential"}


def mcmc_of(name, samples=None):
    """Return the named MCMC, whose warm-up takes a part of the run."""
    count = samples or SAMPLES[name]
    return MCMC(
        KERNELS[name](),
        num_warmup=count // 5 if name == "nuts" else 200,
        num_samples=count,
        num_chains=2,
        chain_method=METHODS.get(name, "vectorized"),
        progress_bar=False,
        jit_model_args=name == "epochs",
    )


def run(name, folder, samples=None, **options):
    """Run the named MCMC in a folder and return it."""
    mcmc = mcmc_of(name, samples)
    given = {"every": EVERY, "collect_warmup": name == "nuts"} | options
    sg.run(mcmc, jax.random.key(5), *data(), folder=folder, **given)
    return mcmc
