"""What makes diamonds expensive? Linear regression with an unknown noise scale on 53,940 diamonds.

A few rows have impossible sizes (a width of 59 mm) and a strong influence on the fit. They make the
minibatch gradient noisy. The kernel measures this and chooses a small step size. `num_steps` takes
enough transitions for each draw; without it the kernel would choose their number too.

Run it with `python -m examples.linear` if the extra `examples` is installed.
"""

from functools import partial

import jax
import jax.numpy as jnp
from numpyro.infer import MCMC

from examples.data import Diamonds, diamonds
from examples.models import linear
from numpyro_sgmcmc import SGHMCSplit, summary, to_inference_data


def fit(data: Diamonds) -> MCMC:
    """Fit the regression on minibatches of 1,000 diamonds."""
    mcmc = MCMC(
        SGHMCSplit(partial(linear, subsample_size=1_000), num_steps=200),
        num_warmup=300,
        num_samples=1_500,
        num_chains=4,
        chain_method="vectorized",
        jit_model_args=True,
    )
    mcmc.run(jax.random.key(0), *map(jnp.asarray, data.arrays))
    return mcmc


def main() -> None:
    """Fit the model and print the summary."""
    data = diamonds()
    results = to_inference_data(fit(data), coords={"coefficients_dim_0": list(data.feature_names)})
    print(summary(results, round_to=4).to_string())


if __name__ == "__main__":
    main()
