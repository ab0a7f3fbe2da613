"""What `sg.run` asks of an `MCMC` and of a condition to end."""

from typing import Any

from numpyro.infer import MCMC

from numpyro_sgmcmc.checks import check_instance
from numpyro_sgmcmc.driving.program import Layout
from numpyro_sgmcmc.driving.sampled import by_site
from numpyro_sgmcmc.driving.until import Until
from numpyro_sgmcmc.kernels import NumPyroKernel


def layout_of(mcmc: MCMC) -> Layout:
    """Return how the chains are computed.

    Raises:
        TypeError: if `chain_method` is a transformation.
    """
    if callable(mcmc.chain_method):
        raise TypeError(
            'Expected `chain_method` "vectorized", "sequential" or "parallel"; got'
            f" {mcmc.chain_method!r}. Use one of the three, or `mcmc.run`."
        )
    return Layout(mcmc.num_chains, mcmc.chain_method)


def is_together(kernel: Any) -> bool:
    """Return whether chains share their minibatches."""
    return isinstance(kernel, NumPyroKernel) and kernel.options.minibatch.is_shared


def check_until(until: Until | None, kernel: Any, draws: Any) -> None:
    """Check that the condition can be evaluated for draws of these shapes.

    Raises:
        TypeError: if it is not a condition.
        ValueError: if the draws have unequal weights, or a site is unknown.
    """
    if until is None:
        return
    check_instance("until", until, Until, "sg.until(ess=400, r_hat=1.01)")
    if isinstance(kernel, NumPyroKernel):
        if kernel.levels > 1:
            raise ValueError(
                "Expected a kernel with one walker with `until`; got"
                f" {type(kernel).__name__}, whose estimates combine the draws of several. Leave"
                " `until` out."
            )
        if not kernel.options.has_constant_step_size:
            raise ValueError(
                "Expected a constant step size with `until`; got a schedule, whose draws have"
                " unequal weights. Leave `until` out."
            )
    if unknown := sorted(until.mcse.keys() - by_site(draws).keys()):
        raise ValueError(
            f"Expected `mcse` to name sites of the draws, {sorted(by_site(draws))}; got {unknown}."
            " Use these names, or make the quantity a `numpyro.deterministic` site."
        )
