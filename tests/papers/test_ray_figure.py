"""Figures with two workers of Ray: their parts without Ray, and the table against the page.

The run itself is tested in `tests/distributed`.
"""

import numpy as np
import pytest

from benchmarks.papers import p001_ray as figure
from benchmarks.papers.common import OUTPUT, load, select
from benchmarks.papers.finding import Verdict
from benchmarks.papers.p001_ray_nets import curvature, log_chances
from benchmarks.papers.p001_ray_runs import alone, by_twin
from benchmarks.papers.p001_ray_table import CHAINS, MEAN, STALE, Way, table
from benchmarks.papers.page import PAGE, between, part
from tests.papers.figures import off, undetected
from tests.papers.small_network import CLASSES, PIXELS, network

NAME = "p001_ray"


def chances(weights, x):
    outputs = np.exp(x.astype(np.float64) @ weights.astype(np.float64).reshape(PIXELS, CLASSES))
    return outputs / outputs.sum(-1, keepdims=True)


def test_log_chances_are_those_of_the_classes():
    net = network()
    weights = np.stack([net.start, -net.start]).reshape(1, 2, -1)
    found, (x, y) = log_chances(net, weights), net.test
    for k in range(2):
        expected = np.log(chances(weights[0, k], x)[np.arange(len(y)), y])
        np.testing.assert_allclose(found[0, k], expected, rtol=1e-5)


def test_the_curvature_is_the_fisher_information_of_a_softmax():
    """The derivative of log p_c by the weight of pixel i and class k is x_i (1_{c=k} - p_k)."""
    net = network()
    x = net.training[0].astype(np.float64)
    p = chances(net.start, net.training[0])
    expected = 1 + np.einsum("ni,nk->ik", x**2, p * (1 - p)).ravel()
    np.testing.assert_allclose(curvature(net, net.start), expected, rtol=1e-4)


def test_the_twin_without_ages_is_a_server_that_waits():
    """With two servers each is a chain with its own key."""
    net = network()
    fresh = by_twin(net, np.zeros((2, 8), int))
    assert fresh.shape == (2, 2, PIXELS * CLASSES) and not np.allclose(fresh[0], fresh[1])
    one = by_twin(net, np.zeros((1, 16), int))
    assert np.array_equal(one[0, 0], alone(network(iterations=16, every=8))[0, 0])


def test_old_gradients_and_changed_starts_make_other_weights():
    net = network()
    fresh, old = by_twin(net, np.zeros((1, 16), int)), by_twin(net, np.ones((1, 16), int))
    assert not np.allclose(fresh, old, rtol=1e-4)
    nudged = by_twin(net, np.ones((1, 16), int), 1e-6)
    apart = np.linalg.norm(nudged - old, axis=-1)
    assert np.all(apart > 0) and np.all(apart < 1e-3)


def test_the_table_has_losses_differences_and_distances():
    net = network()
    rng = np.random.default_rng(2)
    first, second = rng.normal(size=(2, 1, 2, PIXELS * CLASSES))
    pair = np.concatenate([first, second])
    ages = np.array([[0, 1, 1, 2]])
    ways = [
        Way(STALE, first, ages, twin=second),
        Way("other", second),
        Way(CHAINS, pair, np.zeros((2, 2)), twin=pair),
    ]
    rows = table(net, ways)
    losses = [-log_chances(net, each)[0].mean(-1) for each in (first, second)]
    for way, each in ((STALE, losses[0]), ("other", losses[1])):
        found = select(rows, kind="loss", way=way)
        np.testing.assert_allclose([row["measured"] for row in found], each)
    np.testing.assert_allclose(select(rows, kind="end", way=STALE)[0]["exact"], losses[1].mean())
    gain = select(rows, kind="difference", way=STALE, other="other")[0]
    np.testing.assert_allclose(gain["measured"], (losses[0] - losses[1]).mean())
    both = select(rows, kind="end", way=MEAN)[0]["measured"]
    np.testing.assert_allclose(both, (losses[0] + losses[1]).mean() / 2)
    assert select(rows, kind="end", way=CHAINS)[0]["measured"] < both  # Jensen
    for kind, age in (("mean age", 1.0), ("largest age", 2.0)):
        assert select(rows, kind=kind, way=STALE)[0]["measured"] == age
    distance = select(rows, kind="distance", way=STALE)[1]["measured"]
    expected = np.linalg.norm(first - second, axis=-1) / np.linalg.norm(second - net.start, axis=-1)
    np.testing.assert_allclose(distance, expected[0, 1])
    assert [row["measured"] for row in select(rows, kind="distance", way=CHAINS)] == [0.0, 0.0]


def test_the_page_is_made_from_the_table():
    _, shown, _ = between(PAGE.read_text("utf-8"), NAME)
    assert shown == part(NAME, figure, load(NAME))
    assert (OUTPUT / f"{NAME}.png").exists()


def test_losses_agree_with_the_twins_and_would_not_if_ten_times_too_large():
    rows = load(NAME)
    assert not off(figure, rows)
    assert not undetected(figure, rows)
    assert not undetected(figure, rows, 0.1)


@pytest.mark.parametrize("network", ["LeNet", "quick net"])
def test_weights_that_are_not_the_twins_are_found(network):
    rows = load(NAME)
    far = [
        {**row, "measured": 2 * figure.SAME}
        if row["kind"] == "distance" and row["network"] == network
        else row
        for row in rows
    ]
    said = [f for f in figure.findings(far) if "same weights" in f.claim and network in f.claim]
    assert [finding.verdict for finding in said] == [Verdict.FAILS] * 3
