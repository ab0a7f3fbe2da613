"""`sg.run`: NumPyro's `MCMC`, driven so that it can be watched, stopped and resumed."""

from collections.abc import Sequence
from time import perf_counter
from typing import Any

import jax
from numpyro.infer import MCMC

from numpyro_sgmcmc.checks import check_instance
from numpyro_sgmcmc.driving.bar import Bar
from numpyro_sgmcmc.driving.collected import collected_of
from numpyro_sgmcmc.driving.compiled import program_of
from numpyro_sgmcmc.driving.first import first_states
from numpyro_sgmcmc.driving.finish import conclude, leave_to_mcmc
from numpyro_sgmcmc.driving.loop import Work, carry_out
from numpyro_sgmcmc.driving.memory import DrawsInMemory
from numpyro_sgmcmc.driving.plan import plan_of
from numpyro_sgmcmc.driving.program import Layout
from numpyro_sgmcmc.driving.sampled import by_site
from numpyro_sgmcmc.driving.until import Until
from numpyro_sgmcmc.kernels import NumPyroKernel


def run(
    mcmc: MCMC,
    rng_key: jax.Array,
    *args: Any,
    until: Until | None = None,
    collect_warmup: bool = False,
    progress_bar: bool | None = None,
    extra_fields: Sequence[str] = (),
    init_params: Any = None,
    **kwargs: Any,
) -> None:
    begin = perf_counter()
    check_instance("mcmc", mcmc, MCMC, "MCMC(kernel, num_warmup=1000, num_samples=1000)")
    layout = _layout_of(mcmc)
    collected = collected_of(
        mcmc._sample_field, (*mcmc._default_fields, *extra_fields)
    )
    model = args, kwargs
    mcmc._args, mcmc._kwargs = args, kwargs
    is_continued = mcmc.post_warmup_state is not None
    plan = plan_of(
        0 if is_continued else mcmc.num_warmup, mcmc.num_samples, mcmc.thinning, collect_warmup
    )
    state = first_states(mcmc, layout, rng_key, init_params, args, kwargs)
    program = program_of(mcmc, layout, collected, model)
    state = program.prepared(state, model)
    shapes = program.shapes(state, model)
    _check_until(until, mcmc.sampler, shapes[mcmc._sample_field])
    keeper = DrawsInMemory(mcmc._sample_field, plan, shapes)
    is_shown = mcmc.progress_bar if progress_bar is None else progress_bar
    is_together = _is_together(mcmc.sampler)
    work = Work(
        program, model, plan, program.capacity(state, model), keeper, until, is_together
    )
    bar = Bar(plan, 0, is_shown, is_together)
    try:
        stopped = carry_out(work, state, 0, bar)
    finally:
        bar.close()
    count = plan.draws_after(stopped.iterations)
    grouped, flat = keeper.taken("sample", count)
    leave_to_mcmc(mcmc, stopped.state, layout, grouped, flat)
    warmup = None
    if plan.collects_warmup:
        warmup = keeper.taken("warmup", plan.draws_after(stopped.iterations, "warmup"))[0]
    conclude(mcmc, plan, stopped, warmup, perf_counter() - begin)


def _layout_of(mcmc: MCMC) -> Layout:
    if callable(mcmc.chain_method):
        raise TypeError(
            'Expected `chain_method` "vectorized", "sequential" or "parallel"; got'
            f" {mcmc.chain_method!r}. Use one of the three, or `mcmc.run`."
        )
    return Layout(mcmc.num_chains, mcmc.chain_method)


def _is_together(kernel: Any) -> bool:
    return isinstance(kernel, NumPyroKernel) and kernel.options.minibatch.is_shared


def _check_until(until: Until | None, kernel: Any, draws: Any) -> None:
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
        )
