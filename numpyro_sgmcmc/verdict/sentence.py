"""One sentence: the outcome, its cause, and the number that mends it."""

from collections.abc import Callable
from math import ceil

import numpy as np

from numpyro_sgmcmc.preparation import duration, larger_minibatches, other_methods
from numpyro_sgmcmc.preparation.thresholds import DENSE_NOISE
from numpyro_sgmcmc.verdict.assessment import Cause, Evidence, Outcome, more_draws
from numpyro_sgmcmc.verdict.thresholds import (
    EFFECTIVE_DRAWS,
    LARGEST_R_HAT,
    MEAN_TOLERANCE,
    SD_TOLERANCE,
)

ROUNDING = 1e-6
"""What floating-point arithmetic may add to a bound in units of its last decimal."""


def sentence_of(outcome: Outcome, causes: list[Cause], evidence: Evidence) -> str:
    """Return the outcome in words; the cause to mend first comes first."""
    target = ""
    if evidence.temperature != 1:
        temperature = f"{evidence.temperature:g}"
        target = f" (for exp(-U / T) at T = {temperature}, not for the posterior)"
    if outcome is Outcome.CALIBRATED:
        return f"{outcome.value}{target}: {_calibrated(evidence)}"
    first, *others = (WORDS[cause](evidence) for cause in causes)
    also = "".join(f" Also, {words}" for words in others[:1])
    is_unmixed = causes[0] in (Cause.UNMIXED, Cause.SHORT)
    if is_unmixed or evidence.suits_predictions:
        also += _predictions(evidence, is_unmixed)
    more = more_draws(evidence, outcome, causes)
    if more is not None:
        took = ""
        if evidence.seconds is not None:
            took = f"; about {duration(more * evidence.seconds)}"
        is_for_predictions = evidence.suits_predictions and evidence.predictions is not None
        take = "For predictions take" if is_for_predictions else "Take"
        advice = f" {take} {more:,} more draws (in all chains together{took})."
        advice += other_methods(evidence.passes)
    else:
        advice = _no_draws(evidence) if causes == [Cause.IMPRECISE] else ""
    advice += _non_centred(evidence)
    if evidence.suits_predictions:
        advice += (
            " The warm-up chose settings for predictions; with a much larger `max_num_steps` it"
            " chooses settings for single parameters."
        )
    return f"{outcome.value}{target}: {first}{also}{advice}"


def _calibrated(evidence: Evidence) -> str:
    sd, mean = evidence.sd[1], evidence.mean[1]
    return (
        f"the worst standard deviation is measured {100 * abs(sd.error):.1f} % off (at most"
        f" {_percent_above(sd.upper)}), the worst mean {abs(mean.error):.2f} standard"
        f" deviations (at most {_rounded_up(mean.upper, 2)}); smallest effective sample size"
        f" {evidence.ess[1]:,.0f}."
        f"{_ages(evidence)}{_heavy(evidence)}"
    )


def _heavy(evidence: Evidence) -> str:
    if evidence.heavy is None:
        return ""
    site, error = evidence.heavy
    return (
        f" {site!r} has heavy tails: its intervals are judged, and the Monte Carlo error of its own"
        f" standard deviation is {_percent(error)}."
    )


def _ages(evidence: Evidence) -> str:
    if evidence.ages is None:
        return ""
    remedy = "no remedy" if evidence.ages.remedy is None else f"remedy {evidence.ages.remedy!r}"
    return f" Gradients are {evidence.ages.mean:.1f} transitions old on average ({remedy})."


def _predictions(evidence: Evidence, is_unmixed: bool) -> str:
    """Return how predictions mix, where parameters do not mix or are wrong for another reason."""
    found = evidence.predictions
    if found is None:
        return ""
    numbers = (
        f"smallest effective sample size {found.ess[1]:,.0f} ({found.ess[0]}), largest R-hat"
        f" {found.r_hat[1]:.3f}"
    )
    if not found.mix:
        return f" Predictions do not mix{' either' if is_unmixed else ''}: {numbers}."
    if is_unmixed:
        return f" Predictions do mix, {numbers}: use them, and no single parameter."
    return f" Predictions do mix, {numbers}; `predictions` of the diagnosis has their errors."


def _non_centred(evidence: Evidence) -> str:
    if evidence.centred is None:
        return ""
    site, scale = evidence.centred
    return (
        f" The data hardly determine {site!r}, whose curvature varies with {scale!r}: write the"
        " site non-centred, `numpyro.handlers.reparam(model, config={"
        f"{site!r}: numpyro.infer.reparam.LocScaleReparam(0)}})`."
    )


def _no_draws(evidence: Evidence) -> str:
    return (
        f" More draws would not decide: gradients at {evidence.points:,} of them, as many as are"
        " computed, leave too much uncertain. Compare with NUTS (`numpyro.infer.NUTS`) on all rows,"
        " or on as many as it can afford."
    )


def _smaller(evidence: Evidence, step_size: float) -> str:
    """Return a smaller step size or other remedies, the warm-up's own choice the last of them."""
    untuned = ["step_size=None"] if evidence.can_be_tuned else []
    return _either([f"step_size={step_size:.2g}", "a preconditioner", *untuned])


def _divergence(evidence: Evidence) -> str:
    untuned = ", or step_size=None" if evidence.can_be_tuned else ""
    broken = ""
    if evidence.broken is not None:
        site, share = evidence.broken
        broken = (
            f" The gradient for {site!r} is not finite at {share:.0%} of the draws looked at. If"
            " smaller steps do not help, rewrite the model: both branches of a `jnp.where` need"
            " finite values, and scales and probabilities that underflow need their logarithms."
        )
    return (
        f"{evidence.diverged:.1%} of iterations diverged. Use"
        f" step_size={evidence.step_size / 4:.2g} (a quarter){untuned}.{broken}"
    )


def _still(evidence: Evidence) -> str:
    untuned = "step_size=None" if evidence.can_be_tuned else "another step size"
    return (
        f"{evidence.still} of {evidence.chains} chains did not move at all. A step size that is far"
        " too large damps the momentum to zero, and one that is far too small is below the rounding"
        f" error of the position. Use {untuned}."
    )


def _unvisited(evidence: Evidence) -> str:
    missed = evidence.unvisited
    assert missed is not None
    return (
        f"a mode with about {missed.share:.2g} of the probability, {missed.distance:.0f} standard"
        f" deviations away in {missed.site!r}, has {missed.visits:.2g} of the draws. Order or fix"
        " labels and signs in the model, or choose one mode with init_strategy, if modes differ in"
        " nothing else; otherwise give each chain a start of its own (init_params), or sample each"
        " mode by itself."
    )


def _staleness(evidence: Evidence) -> str:
    ages = evidence.ages
    assert ages is not None
    in_force = "without a remedy" if ages.remedy is None else f"with remedy={ages.remedy!r}"
    if not np.isfinite(ages.error):
        factor = 4.0
        what = f"make the chain unstable in a direction of {ages.site!r}"
    else:
        factor = max(abs((1 + ages.error) ** 2 - 1) / SD_TOLERANCE, 2.0)
        what = f"change the standard deviation of {ages.site!r} by {_percent(ages.error)}"
    remedies = [f"step_size={evidence.step_size / factor:.2g}", "a shorter delay"]
    if ages.remedy != "curvature":
        remedies.insert(0, 'remedy="curvature"')
    return (
        f"gradients that are {ages.mean:.1f} transitions old on average, {in_force}, {what}. Use"
        f" {_either(remedies)}."
    )


def _noise(evidence: Evidence) -> str:
    site, error = evidence.noise
    variance = abs((1 + error) ** 2 - 1)
    factor = max(variance / SD_TOLERANCE, 2.0)  # to half of what is allowed
    remedies = [f"step_size={evidence.step_size / factor:.2g}"]
    if evidence.has_plain_gradient and evidence.plates and not evidence.has_latents:
        remedies.insert(0, "gradient=FixedPoint()")
    can_correct = not evidence.has_latents and not evidence.is_extrapolated
    if not evidence.has_correction and can_correct:
        kind = "dense" if evidence.dimension <= DENSE_NOISE else "diagonal"
        remedies.append(f'noise_correction="{kind}"')
    if evidence.plates:
        remedies.append(larger_minibatches(evidence.plates, factor))
    verb = "inflates" if error > 0 else "reduces"
    return (
        f"gradient noise {verb} the standard deviation of {site!r} by {_percent(abs(error))}. Use"
        f" {_either(remedies)}."
    )


def _discretisation(evidence: Evidence) -> str:
    site, error = evidence.discretisation
    factor = 4.0 if not np.isfinite(error) else max(abs(error) / (SD_TOLERANCE / 2), 2.0)
    return (
        f"the step size changes the standard deviation of {site!r} by {_percent(error)}. Use"
        f" {_smaller(evidence, evidence.step_size / factor)}."
    )


def _coarse(evidence: Evidence) -> str:
    times = evidence.step_size / evidence.largest_step_size
    return (
        f"step size {evidence.step_size:.2g} is {times:.1f} times the largest at which the measured"
        " curvature bounds errors beyond those of a Gaussian. Use"
        f" {_smaller(evidence, evidence.largest_step_size / 2)}."
    )


def _sd(evidence: Evidence) -> str:
    worst = evidence.sd[0]
    if worst.error == -1:
        what = "has a negative extrapolated variance"
    else:
        what = f"is measured {_percent(worst.error)} off"
    untuned = " or step_size=None" if evidence.can_be_tuned else ""
    return (
        f"the standard deviation of {worst.site} {what} (Monte Carlo error"
        f" {_percent(worst.standard_error)}), by Stein's identity. {_theory(evidence)} Use"
        f" step_size={evidence.step_size / 3:.2g}{untuned}, and a longer warm-up."
    )


def _theory(evidence: Evidence) -> str:
    noise, step = evidence.noise[1], evidence.discretisation[1]
    if np.isnan(noise) or np.isnan(step):
        return "Theory predicts no number for this kernel and model."
    return (
        f"Theory predicts at most {_percent(abs(noise))} from gradient noise and"
        f" {_percent(abs(step))} from the step size{_from_ages(evidence)}, for a Gaussian."
    )


def _from_ages(evidence: Evidence) -> str:
    if evidence.ages is None:
        return ""
    return f", and {_percent(abs(evidence.ages.error))} from old gradients"


def _mean(evidence: Evidence) -> str:
    worst = evidence.mean[0]
    untuned = ["step_size=None"] if evidence.can_be_tuned else []
    longer = ["a longer warm-up", "init_params nearer to the posterior"]
    remedies = [*longer, f"step_size={evidence.step_size / 3:.2g}", *untuned]
    return (
        f"the mean of {worst.site} is measured {worst.error:+.2f} standard deviations off (Monte"
        f" Carlo error {worst.standard_error:.2f}), by Stein's identity. Either the chains have not"
        " arrived, or the step size or the gradient noise is too large: small errors of many"
        f" effects add up in a scale that they share. Use {_either(remedies)}."
    )


def _short(evidence: Evidence) -> str:
    site, r_hat = evidence.r_hat
    few, apart = evidence.ess[1] < EFFECTIVE_DRAWS, evidence.apart
    if apart is not None:
        return (
            "the chains sit in different modes: each stays where it is, and their means of"
            f" {apart.site!r} differ by {apart.distance:.1f} standard deviations of a chain"
            f" (largest R-hat {r_hat:.3f}, at {site!r}). More draws are no remedy."
            " Order or fix labels and signs in the model, or start all chains in one mode"
            " (init_params), if modes differ in nothing else; otherwise sample each mode by itself."
        )
    return (
        f"the chains are too short: smallest effective sample size {evidence.ess[1]:,.0f} (wanted"
        f" {EFFECTIVE_DRAWS}), largest R-hat {r_hat:.3f} (wanted {LARGEST_R_HAT}), at"
        f" {evidence.ess[0] if few else site!r}."
    )


def _unchecked(evidence: Evidence) -> str:
    assert evidence.unchecked is not None
    site, why = evidence.unchecked
    return f"{site} cannot be checked, {why}."


def _imprecise(evidence: Evidence) -> str:
    sd, mean = evidence.sd[1], evidence.mean[1]
    if not sd.upper <= SD_TOLERANCE:
        return (
            f"the standard deviation of {sd.site} is measured {_percent(sd.error)} off (Monte Carlo"
            f" error {_percent(sd.standard_error)}) and may be {_percent_above(sd.upper)} off, more"
            f" than {_percent(SD_TOLERANCE)}."
        )
    return (
        f"the mean of {mean.site} is measured {mean.error:+.2f} standard deviations off (Monte"
        f" Carlo error {mean.standard_error:.2f}) and may be {_rounded_up(mean.upper, 2)} off,"
        f" more than {MEAN_TOLERANCE}."
    )


WORDS: dict[Cause, Callable[[Evidence], str]] = {
    Cause.DIVERGENCE: _divergence,
    Cause.STILL: _still,
    Cause.UNMIXED: _short,
    Cause.UNVISITED: _unvisited,
    Cause.STALENESS: _staleness,
    Cause.NOISE: _noise,
    Cause.DISCRETISATION: _discretisation,
    Cause.COARSE: _coarse,
    Cause.SD: _sd,
    Cause.MEAN: _mean,
    Cause.SHORT: _short,
    Cause.UNCHECKED: _unchecked,
    Cause.IMPRECISE: _imprecise,
}


def _either(remedies: list[str]) -> str:
    *some, last = remedies
    return f"{', '.join(some)}, or {last}" if some else last


def _percent(error: float) -> str:
    if not np.isfinite(error):
        return "without bound"
    percent = 100 * error
    return f"{percent:.0f} %" if abs(percent) >= 10 else f"{percent:.1f} %"


def _percent_above(bound: float) -> str:
    if not np.isfinite(bound):
        return _rounded_up(bound, 0)
    percent = 100 * bound
    return f"{_rounded_up(percent, 0 if percent >= 10 else 1)} %"


def _rounded_up(bound: float, decimals: int) -> str:
    """Return a bound with so many decimals, rounded up so that it still holds."""
    if not np.isfinite(bound):
        return "infinitely"
    return f"{ceil(bound * 10**decimals - ROUNDING) / 10**decimals:.{decimals}f}"
