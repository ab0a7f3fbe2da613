"""One pass over documents: its gradient against enumeration, its table against the page."""

from itertools import product

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from benchmarks.papers import p000_topics_at_scale as figure
from benchmarks.papers.common import OUTPUT, load, select
from benchmarks.papers.finding import Verdict
from benchmarks.papers.p000_corpus import SHARE, TOPICS
from benchmarks.papers.p000_one_pass import assignments
from benchmarks.papers.page import PAGE, between, part

HOLDS, FAILS = Verdict.HOLDS, Verdict.FAILS
NAME = "p000_topics_at_scale"


def exact(topics, words):
    """Return the posterior probabilities of the topics of a document's words, by enumeration."""
    found = np.zeros((len(words), TOPICS))
    for chosen in product(range(TOPICS), repeat=len(words)):
        weight, counts = 1.0, np.full(TOPICS, SHARE)
        for k, word in zip(chosen, words, strict=True):
            weight *= counts[k] * topics[k, word]
            counts[k] += 1
        found[np.arange(len(words)), chosen] += weight
    return found / found.sum(1, keepdims=True)


def test_topics_of_words_have_the_probabilities_of_an_enumeration():
    """Four words, |z| <= 5 in 20 comparisons: fails by chance with probability 1e-5. Fixed key."""
    rng = np.random.default_rng(3)
    topics, words = rng.dirichlet(np.ones(6), TOPICS), np.array([0, 3, 3, 5])
    copies = 10_000
    given = jnp.asarray(topics, jnp.float32), jnp.tile(jnp.asarray(words), (copies, 1))
    each = np.asarray(assignments(jax.random.key(0), *given, sweeps=40, kept=10), np.float64)
    error = each.std(1) / np.sqrt(copies)
    assert np.max(np.abs(each.mean(1) - exact(topics, words)) / error) <= 5
    other = exact(topics[:, ::-1], words)
    assert np.max(np.abs(each.mean(1) - other) / error) > 50


def test_the_part_of_the_page_is_made_from_the_table():
    _, shown, _ = between(PAGE.read_text("utf-8"), NAME)
    assert shown == part(NAME, figure, load(NAME))
    assert (OUTPUT / f"{NAME}.png").exists()


def ending(rows, **which):
    """Return the rows of the last tenth of the pass, those with these values."""
    return select(rows, documents=max(row["documents"] for row in rows), **which)


def behind(rows):
    """SGLD at twice the perplexity."""
    for row in ending(rows, sampler="langevin"):
        row["perplexity"] *= 2


def ahead(rows):
    for row in ending(rows, sampler="langevin"):
        row["perplexity"] /= 2


def euler_survives(rows):
    for row in ending(rows, sampler="hamiltonian", step_size=figure.LARGE):
        row |= {"exploded": 0, "perplexity": 200.0, "perplexity_error": 1.0}


def far(rows):
    for row in ending(rows, sampler="splitting"):
        row |= {"perplexity": 2 * row["perplexity"], "variation": 0.5}


CASES = [
    ("SGHMC-S has a smaller perplexity than SGLD", HOLDS, behind),
    ("SGHMC-S has a smaller perplexity than SGLD", FAILS, ahead),
    ("SGLD's perplexity is 1.5 times that of SGHMC-S", HOLDS, behind),
    ("SGHMC-S has a smaller perplexity than SGHMC-E", FAILS, far),
    ("SGHMC-E explodes", FAILS, euler_survives),
    ("ours: the perplexity of SGHMC-S", FAILS, far),
    ("ours: SGHMC-S recovers the topics", FAILS, far),
]


@pytest.mark.parametrize(("claim", "after", "change"), CASES)
def test_another_truth_would_give_another_verdict(claim, after, change):
    def verdict(rows):
        return next(f.verdict for f in figure.findings(rows) if f.claim.startswith(claim))

    rows = load(NAME)
    before = verdict(rows)
    change(rows)
    assert before is not after
    assert verdict(rows) is after


@pytest.mark.papers
def test_steps_that_explode_are_seen_and_others_go_on():
    """Two chains of 80 transitions: Euler leaves the numbers, the splitting does not."""
    rows = figure.measure(quick=True)
    for name, expected in (("hamiltonian", 2), ("splitting", 0)):
        mine = select(rows, sampler=name, step_size=figure.LARGE)
        assert {row["exploded"] for row in mine} == {expected}
    assert figure.findings(rows)
    first, last = select(rows, sampler="splitting", step_size=figure.LARGE)
    assert last["perplexity"] < first["perplexity"]
