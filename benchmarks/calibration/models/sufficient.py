"""Forms with the same posterior that cost little for many rows: for references only."""

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist

from benchmarks.calibration.models.designs import regularised_horseshoe
from benchmarks.calibration.models.hierarchies import hyperparameters
from benchmarks.calibration.models.latent import curve_weights
from benchmarks.calibration.models.priors import line, normal
from benchmarks.calibration.models.responses import class_lines, class_logits


def logistic_of_counts(features, trials, successes):
    """`logistic` with equal rows counted."""
    intercept, coefficients = line(features.shape[1])
    logits = intercept + features @ coefficients
    numpyro.sample("successes", dist.Binomial(trials, logits=logits), obs=successes)


def multinomial_of_counts(features, counts):
    """`multinomial` with equal rows counted, by class."""
    logits = class_logits(*class_lines(features.shape[1]), features)
    numpyro.factor("rows", jnp.sum(counts * jax.nn.log_softmax(logits)))


def grouped_by_moments(sizes, means, squares):
    """`centred` and `non_centred` through each group's size, mean and sum of squares about it."""
    mean, spread, noise = hyperparameters()
    raw = normal("raw", 1.0, len(sizes))
    intercepts = numpyro.deterministic("intercepts", mean + spread * raw)
    _moments(intercepts, noise, sizes, means, squares)


def centred_by_moments(sizes, means, squares):
    """`grouped_by_moments` in its centred form, for groups that determine their intercepts."""
    mean, spread, noise = hyperparameters()
    prior = dist.Normal(mean, spread).expand([len(sizes)]).to_event(1)
    intercepts = numpyro.sample("intercepts", prior)
    numpyro.deterministic("raw", (intercepts - mean) / spread)
    _moments(intercepts, noise, sizes, means, squares)


def nested_by_moments(school, sizes, means, squares, *, schools=40):
    """`nested` through each class's moments, with classes that are not centred."""
    mean = normal("mean", 5.0)
    school_spread = numpyro.sample("school_spread", dist.HalfNormal(1.0))
    class_spread = numpyro.sample("class_spread", dist.HalfNormal(1.0))
    noise = numpyro.sample("noise", dist.HalfNormal(2.0))
    level = mean + school_spread * normal("raw_schools", 1.0, schools)
    numpyro.deterministic("schools", level)
    own = level[school] + class_spread * normal("raw_classes", 1.0, len(school))
    numpyro.deterministic("classes", own)
    _moments(own, noise, sizes, means, squares)


def _moments(centres, noise, sizes, means, squares):
    about = squares + sizes * (means - centres) ** 2
    numpyro.factor("rows", -jnp.sum(about) / (2 * noise**2) - sizes.sum() * jnp.log(noise))


def horseshoe_by_moments(*least_squares):
    """`horseshoe` through what `_fitted` takes; the first column is constant."""
    rows, fitted = least_squares[:2]
    coefficients = regularised_horseshoe(rows, len(fitted) - 1)
    intercept = normal("intercept", 2.0)
    noise = numpyro.sample("noise", dist.HalfNormal(2.0))
    _fitted(jnp.append(intercept, coefficients), noise, *least_squares)


def curve_by_moments(*least_squares):
    """`gaussian_process` through what `_fitted` takes."""
    weights = curve_weights()
    noise = numpyro.sample("noise", dist.HalfNormal(1.0))
    _fitted(weights, noise, *least_squares)


def _fitted(coefficients, noise, rows, fitted, root, rest):
    """Observe rows through their least squares fit.

    Args:
        coefficients: of the model.
        noise: its standard deviation.
        rows: their number.
        fitted: coefficients of least squares.
        root: upper triangle R with R'R the rows' cross product.
        rest: sum of squares about the fit.
    """
    about = root @ (coefficients - fitted)
    squares = rest + about @ about
    numpyro.factor("rows", -squares / (2 * noise**2) - rows * jnp.log(noise))


def scaled_to_units(features, response, scales, far):
    """`scaled` with columns of unit scale and a response near 0."""
    shift = numpyro.sample("shift", dist.Normal(-far, 1e6))
    numpyro.deterministic("intercept", far + shift)
    units = numpyro.sample("units", dist.Normal(0.0, 1e5 * scales).to_event(1))
    numpyro.deterministic("coefficients", units / scales)
    noise = numpyro.sample("noise", dist.HalfNormal(2.0))
    fitted = shift + (features / scales) @ units
    numpyro.sample("response", dist.Normal(fitted, noise), obs=response - far)
