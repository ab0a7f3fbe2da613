"""The belief network of the paper's size: its move and its scores."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from benchmarks.papers import p000_belief_at_scale as figure
from benchmarks.papers.annealed_importance import Network, swept
from benchmarks.papers.common import OUTPUT, load, select
from benchmarks.papers.finding import Verdict
from benchmarks.papers.p000_belief import log_probabilities
from benchmarks.papers.p000_belief_at_scale_runs import Size, move_of, scores
from benchmarks.papers.page import PAGE, between, part

HOLDS, FAILS = Verdict.HOLDS, Verdict.FAILS
NAME = "p000_belief_at_scale"


def test_the_part_of_the_page_is_made_from_the_table():
    _, shown, _ = between(PAGE.read_text("utf-8"), NAME)
    assert shown == part(NAME, figure, load(NAME))
    assert (OUTPUT / f"{NAME}.png").exists()


def setting(units, pixels, images):
    """Return a network with logits up to 30, images, and hidden units."""
    rng = np.random.default_rng(0)
    parts = (2 * rng.standard_normal(shape) for shape in ((units, pixels), units, pixels))
    network = Network(*(jnp.asarray(part, jnp.float32) for part in parts))
    given = (rng.random((images, size)) < 0.5 for size in (pixels, units))
    return network, *(jnp.asarray(part, jnp.float32) for part in given)


def one_after_the_other(key, network, images, hidden, power):
    """Return a Gibbs sweep that computes both log likelihoods of each unit, in double precision."""
    weight, bias, offset = (np.asarray(part, np.float64) for part in network)
    images, hidden = np.asarray(images, np.float64), np.array(hidden, np.float64)

    def energy(hidden):
        logits = hidden @ weight + offset
        return hidden @ bias + power * np.sum(images * logits - np.logaddexp(0, logits), axis=1)

    for unit in range(len(bias)):
        other = hidden.copy()
        other[:, unit] = 1 - hidden[:, unit]
        chance = 1 / (1 + np.exp(energy(hidden) - energy(other)))
        uniform = np.asarray(jax.random.uniform(jax.random.fold_in(key, unit), (len(images),)))
        hidden = np.where((uniform < chance)[:, None], other, hidden)
    return hidden


@pytest.mark.parametrize("power", [0.1, 1.0])
def test_a_sweep_of_rank_one_is_a_gibbs_sweep(power):
    """All of 3,000 units are equal; of a sweep at half the power 100 or more differ."""
    given = setting(30, 40, 100)
    key = jax.random.key(1)
    found = np.asarray(jax.jit(swept)(key, *given, power))
    np.testing.assert_array_equal(found, one_after_the_other(key, *given, power))
    assert np.sum(found != one_after_the_other(key, *given, 0.5 * power)) > 100


def test_the_move_is_a_sweep_over_the_rows_that_are_visited():
    network, images, hidden = setting(30, 40, 100)
    rows, key = jnp.array([3, 70, 3]), jax.random.key(2)
    sites = {"hidden": hidden[rows].astype(jnp.int32)}
    found = move_of(images)(key, sites, network._asdict(), rows)
    assert found["hidden"].dtype == jnp.int32
    expected = swept(key, network, images[rows], hidden[rows], 1.0)
    np.testing.assert_array_equal(found["hidden"], expected)


def test_scores_are_those_of_sums_over_hidden_states(monkeypatch):
    """Two chains at two times, 8 units: within 4 standard errors, false-failure rate 3e-4."""
    size = Size("any", 8, 1, 1, 2, 2, 10, 200)
    _, images, _ = setting(8, 12, 10)
    monkeypatch.setattr(
        "benchmarks.papers.p000_belief_at_scale_runs.images",
        lambda *_: figure.images("digits", 1)._replace(test=np.asarray(images)),
    )
    parts = [setting(8, 12, 1)[0]] * 4
    scale = jnp.array([[0.2, 0.4], [0.6, 0.8]])
    networks = jax.tree.map(lambda *x: jnp.stack(x).reshape(2, 2, *x[0].shape), *parts)
    networks = jax.tree.map(lambda x: x * scale.reshape(2, 2, *[1] * (x.ndim - 2)), networks)
    found = scores(jax.random.key(3), size, networks)
    exact = -np.asarray(
        jax.vmap(jax.vmap(lambda network: log_probabilities(network, images).mean()))(networks)
    )
    error = np.max(found.spread) / np.sqrt(4 * 10)
    assert np.abs(found.values - exact).max() < 4 * error
    assert np.abs(found.values[:, ::-1] - exact).min() > 10 * error


def table():
    """Return a table as a run writes it, in which SGHMC-S is ahead and nothing explodes."""
    best = {"splitting": 100.0, "hamiltonian": 105.0, "langevin": 126.0}
    given = figure.SIZE._asdict() | {"pixels": 784, "images": 60_000, "without_units": 370.0}
    rows = []
    for name, grid in figure.GRID.items():
        for number, (h, friction) in enumerate(grid):
            for point in range(figure.SIZE.points):
                value = best[name] + 20 * (1 - number) + 4 - point
                own = {"sampler": name, "step_size": h, "friction": friction, "nll": value}
                longer = 100.1 if value == best["splitting"] else ""
                own |= {"transitions": 1_000 * (point + 1), "nll_error": 0.2, "spread": 1.0}
                rows.append(given | own | {"exploded": 0, "longer": longer})
    return rows


def behind(rows):
    for row in select(rows, sampler="splitting"):
        row["nll"] += 100


def euler_explodes(rows):
    for row in select(rows, sampler="hamiltonian"):
        row["exploded"] = row["chains"]


def too_few_temperatures(rows):
    for row in rows:
        row["longer"] = 95.0


CASES = [
    ("SGHMC-S scores better than SGHMC-E", HOLDS, FAILS, behind),
    ("SGHMC-S scores better than SGHMC-E", HOLDS, HOLDS, euler_explodes),
    ("SGHMC-S scores better than SGLD", HOLDS, FAILS, behind),
    ("SGLD's score is 1.1 times", HOLDS, FAILS, behind),
    ("SGHMC-E explodes", FAILS, HOLDS, euler_explodes),
    ("ours: annealed importance sampling", HOLDS, FAILS, too_few_temperatures),
]


@pytest.mark.parametrize(("claim", "before", "after", "change"), CASES)
def test_verdicts_follow_from_the_table(claim, before, after, change):
    def verdict(rows):
        return next(f.verdict for f in figure.findings(rows) if f.claim.startswith(claim))

    rows = table()
    assert verdict(rows) is before
    change(rows)
    for row in rows:
        row["longer"] = row["longer"] or row["nll"]
    assert verdict(rows) is after


def test_the_page_says_what_the_table_does():
    rows = table()
    shown = part("any", figure, rows)
    assert "100.00 ± 0.20 (SGHMC-S, h = 0.002, D = 1/√h)" in shown
    assert "6 of 6 settings improve" in shown
    assert figure.draw(rows) is not None
