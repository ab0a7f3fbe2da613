"""Models that must work, each with a subsample size that None turns off."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from numpyro import handlers
from numpyro.contrib.control_flow import scan
from numpyro.infer.reparam import LocScaleReparam, TransformReparam

X = jax.random.normal(jax.random.key(0), (30, 3))
Y = X @ jnp.array([1.0, -1.0, 0.5]) + 0.3 * jax.random.normal(jax.random.key(1), (30,))
COUNTS = jnp.arange(30) % 7
GROUP = jnp.arange(30) % 4
TABLE = jax.random.normal(jax.random.key(2), (12, 15))


class Case(NamedTuple):
    """A model, its arguments, and by site a check of a draw's support."""

    model: Callable
    args: tuple
    checks: dict[str, Callable[[Any], Any]] = {}  # noqa: RUF012 - never changed
    kwargs: dict[str, Any] = {}  # noqa: RUF012


def _rows(size: int, batch: int | None, name: str = "rows", dim: int | None = None):
    return numpyro.plate(name, size, subsample_size=batch, dim=dim)


def positive(x, y, batch=None):
    w = numpyro.sample("w", dist.Normal(0, 1).expand([3]).to_event(1))
    s = numpyro.sample("s", dist.LogNormal(0.0, 1.0))
    with _rows(x.shape[0], batch) as i:
        numpyro.sample("y", dist.Normal(x[i] @ w, s), obs=y[i])


def unit_interval(counts, batch=None):
    p = numpyro.sample("p", dist.Beta(2.0, 2.0))
    width = numpyro.sample("width", dist.Uniform(-1.0, 3.0))
    with _rows(counts.shape[0], batch) as i:
        numpyro.sample("k", dist.Binomial(7, p), obs=counts[i])
        numpyro.factor("pull", -0.1 * width**2 * counts[i])


def simplex(counts, batch=None):
    p = numpyro.sample("p", dist.Dirichlet(jnp.ones(7)))
    with _rows(counts.shape[0], batch) as i:
        numpyro.sample("k", dist.Categorical(p), obs=counts[i])


def correlation(x, batch=None):
    factor = numpyro.sample("factor", dist.LKJCholesky(3, 2.0))
    with _rows(x.shape[0], batch) as i:
        numpyro.sample("x", dist.MultivariateNormal(scale_tril=factor), obs=x[i])


def ordered(y, batch=None):
    cuts = numpyro.sample(
        "cuts",
        dist.TransformedDistribution(
            dist.Normal(0, 1).expand([3]).to_event(1), dist.transforms.OrderedTransform()
        ),
    )
    with _rows(y.shape[0], batch) as i:
        level = (y[i] > 0).astype(int) + (y[i] > 1).astype(int)
        numpyro.sample("level", dist.OrderedLogistic(0.3 * y[i], cuts), obs=level)


def dynamic_support(y, batch=None):
    low = numpyro.sample("low", dist.Normal(-4.0, 0.5))
    high = numpyro.sample("high", dist.Uniform(low, low + 9.0))
    with _rows(y.shape[0], batch) as i:
        numpyro.sample("y", dist.Normal((low + high) / 2, 2.0), obs=y[i])


def independent_plates(x, y, counts, batch=None):
    w = numpyro.sample("w", dist.Normal(0, 1).expand([3]).to_event(1))
    rate = numpyro.sample("rate", dist.Gamma(2.0, 1.0))
    with _rows(x.shape[0], batch) as i:
        numpyro.sample("y", dist.Normal(x[i] @ w, 1.0), obs=y[i])
    with _rows(counts.shape[0], None if batch is None else batch + 2, "events") as j:
        numpyro.sample("k", dist.Poisson(rate + jnp.exp(w[0])), obs=counts[j])


def nested_plates(table, batch=None):
    a = numpyro.sample("a", dist.Normal(0, 1).expand([table.shape[0]]).to_event(1))
    b = numpyro.sample("b", dist.Normal(0, 1))
    columns = numpyro.plate("columns", table.shape[1], subsample_size=batch, dim=-1)
    lines = numpyro.plate("lines", table.shape[0], subsample_size=batch and batch - 1, dim=-2)
    with columns as j, lines as i:
        numpyro.sample("t", dist.Normal(a[i][:, None] * b, 1.0), obs=table[i][:, j])


def beside_whole_plates(y, group, batch=None):
    spread = numpyro.sample("spread", dist.HalfNormal(1.0))
    with numpyro.plate("groups", 4):
        effect = numpyro.sample("effect", dist.Normal(0.0, spread))
    with _rows(y.shape[0], batch) as i:
        numpyro.sample("y", dist.Normal(effect[group[i]], 1.0), obs=y[i])


def subsample_idiom(x, y, batch=None):
    w = numpyro.sample("w", dist.Normal(0, 1).expand([3]).to_event(1))
    with _rows(x.shape[0], batch):
        xs, ys = numpyro.subsample(x, event_dim=1), numpyro.subsample(y, event_dim=0)
        numpyro.sample("y", dist.Normal(xs @ w, 1.0), obs=ys)


def effects(x, y, batch=None):
    """`deterministic`, `factor`, `scale` and `mask` together."""
    w = numpyro.sample("w", dist.Normal(0, 1).expand([3]).to_event(1))
    numpyro.deterministic("norm", jnp.sqrt(jnp.sum(w**2)))
    numpyro.factor("prior", -0.5 * w[0] ** 2)
    with _rows(x.shape[0], batch) as i, handlers.scale(scale=0.5), handlers.mask(mask=y[i] > -1):
        numpyro.sample("y", dist.Normal(x[i] @ w, 1.0), obs=y[i])


@handlers.reparam(config={"effect": LocScaleReparam(0.0), "s": TransformReparam()})
def reparametrised(y, group, batch=None):
    s = numpyro.sample(
        "s", dist.TransformedDistribution(dist.Normal(0, 1), dist.transforms.ExpTransform())
    )
    effect = numpyro.sample("effect", dist.Normal(jnp.zeros(4), s).to_event(1))
    with _rows(y.shape[0], batch) as i:
        numpyro.sample("y", dist.Normal(effect[group[i]], 1.0), obs=y[i])


def scoped(x, y, batch=None):
    with handlers.scope(prefix="inner"):
        w = numpyro.sample("w", dist.Normal(0, 1).expand([3]).to_event(1))
        with _rows(x.shape[0], batch) as i:
            numpyro.sample("y", dist.Normal(x[i] @ w, 1.0), obs=y[i])


def with_scan(y, batch=None):
    drift = numpyro.sample("drift", dist.Normal(0, 1))

    def step(level, _):
        level = numpyro.sample("level", dist.Normal(level + drift, 1.0))
        return level, level

    _, levels = scan(step, 0.0, jnp.arange(3))
    with _rows(y.shape[0], batch) as i:
        numpyro.sample("y", dist.Normal(levels.sum(), 1.0), obs=y[i])


def keyword_and_pytree(data, *, batch=None):
    w = numpyro.sample("w", dist.Normal(0, 1).expand([3]).to_event(1))
    with _rows(data["x"].shape[0], batch) as i:
        numpyro.sample("y", dist.Normal(data["x"][i] @ w, 1.0), obs=data["y"][i])


def _in_order(cuts):
    return jnp.all(jnp.diff(cuts) > 0)


CASES = {
    "positive": Case(positive, (X, Y), {"s": lambda s: s > 0}),
    "unit interval": Case(
        unit_interval,
        (COUNTS,),
        {"p": lambda p: (p > 0) & (p < 1), "width": lambda w: (w > -1) & (w < 3)},
    ),
    "simplex": Case(simplex, (COUNTS,), {"p": lambda p: jnp.abs(p.sum() - 1) < 1e-5}),
    "correlation": Case(
        correlation, (X,), {"factor": lambda c: jnp.abs((c**2).sum(-1) - 1) < 1e-5}
    ),
    "ordered": Case(ordered, (Y,), {"cuts": _in_order}),
    "dynamic support": Case(dynamic_support, (Y,)),
    "independent plates": Case(independent_plates, (X, Y, COUNTS), {"rate": lambda r: r > 0}),
    "nested plates": Case(nested_plates, (TABLE,)),
    "beside whole plates": Case(beside_whole_plates, (Y, GROUP), {"spread": lambda s: s > 0}),
    "subsample idiom": Case(subsample_idiom, (X, Y)),
    "deterministic, factor, scale, mask": Case(effects, (X, Y), {"norm": lambda n: n > 0}),
    "reparam": Case(reparametrised, (Y, GROUP), {"s": lambda s: s > 0}),
    "scope": Case(scoped, (X, Y)),
    "scan": Case(with_scan, (Y,)),
    "keyword and pytree": Case(keyword_and_pytree, ({"x": X, "y": Y},)),
}
