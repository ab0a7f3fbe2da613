"""Random small problems of each model: data, and the exact posterior of the free coordinates."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from numpyro.distributions import constraints
from scipy.special import digamma, polygamma

from tests.fuzz import densities
from tests.fuzz.densities import NORMAL, table, tabulated
from tests.oracles import linear

ROWS = 60


class Problem(NamedTuple):
    """A model's arguments, and what is known of its posterior on the unconstrained space.

    Attributes:
        args: arrays of the same shapes for all problems of one family.
        mean: of each coordinate, in the order of flat positions.
        sd: likewise.
        sample: `(rng, shape) -> (*shape, d)`, independent draws.
    """

    args: tuple
    mean: np.ndarray
    sd: np.ndarray
    sample: Callable[[Any, tuple[int, ...]], np.ndarray]


class Family(NamedTuple):
    """A model for a minibatch size, and random problems of it.

    Attributes:
        model: `batch -> NumPyro model`; None takes all rows.
        problem: `(rng, width, temperature) -> Problem`; the narrowest direction has a standard
            deviation of about the width, where the family uses it.
    """

    model: Callable[[int | None], Callable]
    problem: Callable[[Any, float, float], Problem]


def _arrays(*values):
    return tuple(jnp.asarray(v, jnp.int32 if v.dtype.kind == "i" else jnp.float32) for v in values)


def log_uniform(rng, low, high, size=None):
    return np.exp(rng.uniform(np.log(low), np.log(high), size))


def synthetic(dimension, kinds=range(densities.KINDS), spread=3.0, bend=0.6):
    """Independent coordinates of any kind, the second bent by the first, mixed by a matrix.

    u = matrix (z - centre), y_1 = (u_1 - bend (u_0^2 - 1)) exp(-funnel u_0 / 2). Rows share U
    unevenly, and tilt it by amounts that cancel: the noise of minibatches has both parts.
    """
    kinds = tuple(kinds)
    among = tuple(sorted({NORMAL, *kinds}))  # Bent coordinates are normal.

    def build(batch):
        def model(kind, a, b, bends, matrix, centre, share, tilt):
            z = numpyro.sample("z", dist.ImproperUniform(constraints.real_vector, (), (dimension,)))
            u = matrix @ (z - centre)
            y = u
            if dimension > 1:
                y1 = (u[1] - bends[0] * (u[0] ** 2 - 1)) * jnp.exp(-bends[1] * u[0] / 2)
                y = u.at[1].set(y1)
            total = densities.energy(kind, y, a, b, among).sum() + bends[1] * u[0] / 2
            with numpyro.plate("rows", ROWS, subsample_size=batch) as rows:
                numpyro.factor("row", -(share[rows] * total + tilt[rows] @ u))

        return model

    def problem(rng, width, temperature):
        kind = rng.choice(kinds, dimension)
        is_bent = dimension > 1 and temperature == 1 and rng.random() < bend
        bends = np.zeros(2)
        if is_bent:
            kind[:2] = NORMAL
            bends[rng.integers(2)] = rng.uniform(0.2, 1.0)
        bounds = np.array([densities.RANGES[int(k)] for k in kind])
        # Round numbers: equal densities share a table.
        a, b = np.round(rng.uniform(bounds[..., 0], bounds[..., 1]), 1).T
        chosen = zip(kind.tolist(), a.tolist(), b.tolist(), strict=True)
        tables = [table(*numbers, temperature) for numbers in chosen]
        scale = width * log_uniform(rng, 1, spread, dimension)
        scale[rng.integers(dimension)] = width
        scale /= [t.sd for t in tables]
        root = np.eye(dimension) + np.tril(rng.normal(size=(dimension,) * 2), -1) * (
            rng.choice([0.0, 0.5]) / np.sqrt(dimension)
        )
        root = scale[:, None] * root  # z = centre + root u
        centre = width * rng.normal(size=dimension)
        share = log_uniform(rng, 0.5, 2, ROWS) if rng.random() < 0.5 else np.ones(ROWS)
        tilt = rng.normal(size=(ROWS, dimension)) * rng.choice([0.0, 0.05, 0.2])
        tilt -= tilt.mean(0)
        mean, sd = np.array([[t.mean, t.sd] for t in tables]).T
        if is_bent:
            sd[1] = np.sqrt(np.exp(bends[1] ** 2 / 2) + 2 * bends[0] ** 2)

        def sample(rng, shape):
            y = np.stack([t.draws(rng, shape) for t in tables], axis=-1)
            if is_bent:
                y[..., 1] = y[..., 1] * np.exp(bends[1] * y[..., 0] / 2)
                y[..., 1] += bends[0] * (y[..., 0] ** 2 - 1)
            return centre + y @ root.T

        matrix = np.linalg.inv(root)
        args = _arrays(kind, a, b, bends, matrix, centre, share / share.sum(), tilt)
        return Problem(args, centre + root @ mean, np.sqrt(root**2 @ sd**2), sample)

    return Family(build, problem)


def _gaussian(args, mean, precision):
    covariance = np.linalg.inv(precision)
    root = np.linalg.cholesky(covariance)

    def sample(rng, shape):
        return mean + rng.normal(size=(*shape, len(mean))) @ root.T

    return Problem(args, mean, np.sqrt(np.diag(covariance)), sample)


def regression(dimension, crossed=False):
    """Linear regression with known noise, weights of the rows, and perhaps a second plate."""

    def build(batch):
        def model(design, y, weight, scale, other):
            prior = dist.Normal(0.0, 10.0 * scale).expand([dimension]).to_event(1)
            theta = numpyro.sample("theta", prior)
            with numpyro.plate("rows", ROWS, subsample_size=batch) as rows:
                errors = (y[rows] - design[rows] @ theta / scale) ** 2 / 2
                numpyro.factor("row", -weight[rows] * errors)
            if crossed:
                with numpyro.plate("others", 20, subsample_size=None if batch is None else 5) as i:
                    numpyro.sample("other", dist.Normal(theta[0] / scale, 2.0), obs=other[i])

        return model

    def problem(rng, width, temperature):
        design = rng.normal(size=(ROWS, dimension)) / np.sqrt(ROWS)
        design *= log_uniform(rng, 1, 3, dimension)
        weight = log_uniform(rng, 0.3, 3, ROWS) if rng.random() < 0.5 else np.ones(ROWS)
        y = rng.normal(size=ROWS)
        other = rng.normal(size=20)
        precision = np.eye(dimension) / 100 + (design * weight[:, None]).T @ design
        offset = (design * weight[:, None]).T @ y
        if crossed:
            precision[0, 0] += 20 / 4
            offset[0] += other.sum() / 4
        # In units in which the largest curvature has standard deviation `width`.
        scale = width * np.sqrt(np.linalg.eigvalsh(precision)[-1])
        args = _arrays(design, y, weight, np.asarray(scale), other)
        mean = scale * np.linalg.solve(precision, offset)
        return _gaussian(args, mean, precision / scale**2 / temperature)

    return Family(build, problem)


def gaussian_rows(dimension):
    """The linear model of the oracles: the gradient noise of a normal likelihood."""

    def build(batch):
        return lambda design, y, scale: linear.model(design, y, scale, batch)

    def problem(rng, width, temperature):
        design = rng.normal(size=(ROWS, 1, dimension)) * log_uniform(rng, 0.5, 1, dimension)
        scale = np.full(1, np.sqrt(ROWS) * width)
        y = design[:, 0] @ rng.normal(size=(dimension, 1)) * width
        y = y + scale * rng.normal(size=(ROWS, 1))
        known = linear.posterior(design, y, scale)
        return _gaussian(_arrays(design, y, scale), known.mode, known.hessian / temperature)

    return Family(build, problem)


def _known(args, tables):
    def sample(rng, shape):
        return np.stack([t.draws(rng, shape) for t in tables], axis=-1)

    return Problem(
        args, np.array([t.mean for t in tables]), np.array([t.sd for t in tables]), sample
    )


def conjugate():
    """A rate, a probability, a precision and proportions of four, on their constrained spaces.

    log Gamma has mean digamma(a) - log(b) and variance trigamma(a); logit Beta their differences;
    the stick-breaking map makes proportions into independent Betas.
    """

    def build(batch):
        def model(shape, count, heads, squares, words):
            rate = numpyro.sample("a_rate", dist.Gamma(shape[0], shape[1]))
            chance = numpyro.sample("b_chance", dist.Beta(shape[2], shape[3]))
            variance = numpyro.sample("c_variance", dist.InverseGamma(shape[4], shape[5]))
            parts = numpyro.sample("d_parts", dist.Dirichlet(shape[6:10]))
            with numpyro.plate("rows", ROWS, subsample_size=batch) as rows:
                numpyro.sample("count", dist.Poisson(rate), obs=count[rows])
                numpyro.factor("heads", heads[rows] * jnp.log(chance))
                numpyro.factor("tails", (1 - heads[rows]) * jnp.log1p(-chance))
                normal = dist.Normal(0.0, jnp.sqrt(variance))
                numpyro.sample("squares", normal, obs=squares[rows])
                numpyro.factor("words", words[rows] @ jnp.log(parts))

        return model

    def problem(rng, width, temperature):
        # Rows that count a little: standard deviations of about 1.
        shape = np.concatenate([log_uniform(rng, 0.5, 4, 6), log_uniform(rng, 0.5, 4, 4)])
        count = rng.poisson(log_uniform(rng, 0.02, 0.3), ROWS)
        heads = rng.random(ROWS) * log_uniform(rng, 0.05, 0.3)
        squares = rng.normal(size=ROWS)
        words = rng.dirichlet(np.ones(4), ROWS) * log_uniform(rng, 0.05, 0.5)
        gamma = shape[0] + count.sum(), shape[1] + ROWS
        beta = shape[2] + heads.sum(), shape[3] + (1 - heads).sum()
        inverse = shape[4] + ROWS / 2, shape[5] + (squares**2).sum() / 2
        alpha = shape[6:] + words.sum(0)
        rest = alpha[::-1].cumsum()[::-1]
        first, second = alpha[:3], rest[1:]
        mean = np.concatenate(
            [
                [digamma(gamma[0]) - np.log(gamma[1])],
                [digamma(beta[0]) - digamma(beta[1])],
                [np.log(inverse[1]) - digamma(inverse[0])],
                digamma(first) - digamma(second) + np.log(np.arange(3, 0, -1)),
            ]
        )
        variance = np.concatenate(
            [
                [polygamma(1, gamma[0])],
                [polygamma(1, beta[0]) + polygamma(1, beta[1])],
                [polygamma(1, inverse[0])],
                polygamma(1, first) + polygamma(1, second),
            ]
        )

        def sample(rng, shape_):
            def betas(a, b):
                x, y = rng.gamma(a, size=shape_), rng.gamma(b, size=shape_)
                return np.log(x) - np.log(y)

            return np.stack(
                [
                    np.log(rng.gamma(gamma[0], size=shape_) / gamma[1]),
                    betas(*beta),
                    -np.log(rng.gamma(inverse[0], size=shape_) / inverse[1]),
                    *(
                        betas(a, b) + np.log(3 - k)
                        for k, (a, b) in enumerate(zip(first, second, strict=True))
                    ),
                ],
                axis=-1,
            )

        return Problem(
            _arrays(shape, count, heads, squares, words), mean, np.sqrt(variance), sample
        )

    return Family(build, problem)


def hierarchy(groups=4):
    """Effects of groups with a learned scale, centred: a funnel whose scale has a known marginal.

    Given log tau, means and effects are Gaussian: one-dimensional quadrature does the rest.
    """

    def build(batch):
        def model(y, noise, group):
            mu = numpyro.sample("mu", dist.Normal(0.0, 2.0))
            tau = numpyro.sample("tau", dist.LogNormal(0.0, 0.5))
            theta = numpyro.sample("theta", dist.Normal(mu, tau).expand([groups]).to_event(1))
            with numpyro.plate("rows", ROWS, subsample_size=batch) as rows:
                numpyro.sample("y", dist.Normal(theta[group[rows]], noise), obs=y[rows])

        return model

    def problem(rng, width, temperature):
        group = np.arange(ROWS) % groups
        noise = log_uniform(rng, 2, 6)
        truth = rng.normal(size=groups)
        y = truth[group] + noise * rng.normal(size=ROWS)
        averages = np.array([y[group == j].mean() for j in range(groups)])
        v = noise**2 * groups / ROWS
        grid = np.linspace(-4, 4, 2_001)
        t2 = np.exp(2 * grid)[:, None]
        # y_j | mu, tau ~ N(mu, t2 + v), mu ~ N(0, 4), by completing the square.
        weights = 1 / (t2 + v)
        precision = 1 / 4 + groups * weights[:, 0]
        mu = (weights * averages).sum(1) / precision
        log_mass = (
            -((grid / 0.5) ** 2) / 2
            + groups / 2 * np.log(weights[:, 0])
            - np.log(precision) / 2
            - (weights * averages**2).sum(1) / 2
            + precision * mu**2 / 2
        )
        tau = tabulated(grid, log_mass)
        mass = np.exp(log_mass - log_mass.max())
        mass /= mass.sum()
        keep = t2 / (t2 + v)  # theta_j | mu, tau has mean mu + keep (y_j - mu)
        means = np.column_stack([mu, grid, mu[:, None] * (1 - keep) + keep * averages])
        variances = np.column_stack(
            [1 / precision, 0 * grid]
            + [(keep * v)[:, 0] + (1 - keep[:, 0]) ** 2 / precision] * groups
        )
        mean = mass @ means
        sd = np.sqrt(mass @ (variances + (means - mean) ** 2))

        def sample(rng, shape):
            log_tau = tau.draws(rng, shape)
            at = np.interp(log_tau, grid, mu)
            drawn = at + rng.normal(size=shape) / np.sqrt(np.interp(log_tau, grid, precision))
            kept = 1 / (1 + v * np.exp(-2 * log_tau))[..., None]
            theta = drawn[..., None] * (1 - kept) + kept * averages
            theta = theta + np.sqrt(kept * v) * rng.normal(size=theta.shape)
            return np.concatenate([drawn[..., None], log_tau[..., None], theta], axis=-1)

        return Problem(_arrays(y, np.asarray(noise), group), mean, sd, sample)

    return Family(build, problem)


def logistic():
    """One coefficient, by quadrature: its coordinate is `width` wide."""

    def build(batch):
        def model(x, y, scale):
            w = numpyro.sample("w", dist.Normal(0.0, 2.0 * scale))
            with numpyro.plate("rows", ROWS, subsample_size=batch) as rows:
                numpyro.sample("y", dist.Bernoulli(logits=x[rows] * w / scale), obs=y[rows])

        return model

    def problem(rng, width, temperature):
        x = rng.normal(size=ROWS) * log_uniform(rng, 0.2, 1)
        y = (rng.random(ROWS) < 1 / (1 + np.exp(-x))).astype(float)
        grid = np.linspace(-12, 12, 4_001)
        eta = grid[:, None] * x
        log_mass = -(grid**2) / 8 + (y * eta - np.logaddexp(eta, 0)).sum(1)
        known = tabulated(grid, log_mass / temperature)
        scale = width / known.sd
        known = known._replace(mean=scale * known.mean, sd=width, grid=scale * grid)
        return _known(_arrays(x, y, np.asarray(scale)), [known])

    return Family(build, problem)
