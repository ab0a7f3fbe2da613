"""LeNet and the quick net: their layers, scores of chances, and which draws are averaged."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree

from benchmarks.papers import p001_lenet, p001_quick_net
from benchmarks.papers.p001_lenet_methods import kept
from benchmarks.papers.p001_lenet_scores import (
    RESAMPLED,
    accuracy,
    calibration_error,
    difference,
    entropy,
    log_score,
    with_error,
)
from examples.cifar import TEST, TRAINING


def convolved(layer, x, padding):
    size = int(np.sqrt(layer["kernel"].shape[0] // x.shape[-1]))
    kernel = layer["kernel"].reshape(size, size, x.shape[-1], -1)
    dims = ("NHWC", "HWIO", "NHWC")
    found = jax.lax.conv_general_dilated(x, kernel, (1, 1), padding, dimension_numbers=dims)
    return found + layer["bias"]


def lenet(layers, x):
    for name in ("first", "second"):
        x = convolved(layers[name], x, "VALID")
        x = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    x = x.reshape(len(x), -1) @ layers["third"]["kernel"] + layers["third"]["bias"]
    return jnp.maximum(x, 0) @ layers["fourth"]["kernel"] + layers["fourth"]["bias"]


def quick(layers, x):
    for name in ("first", "second", "third"):
        x = convolved(layers[name], x, "SAME")
        width = x.shape[1]
        wide = jnp.pad(x, ((0, 0), (0, 1), (0, 1), (0, 0)), constant_values=-jnp.inf)
        shifts = [wide[:, i : i + width : 2, j : j + width : 2] for i in range(3) for j in range(3)]
        x = jnp.maximum(jnp.stack([s[:, : width // 2, : width // 2] for s in shifts]).max(0), 0)
    x = x.reshape(len(x), -1) @ layers["fourth"]["kernel"] + layers["fourth"]["bias"]
    return x @ layers["fifth"]["kernel"] + layers["fifth"]["bias"]


@pytest.mark.parametrize(
    ("module", "written", "shape", "size"),
    [
        (p001_lenet, lenet, (2, 28, 28), 431_080),
        (p001_quick_net, quick, (2, 32, 32, 3), 145_578),
    ],
)
def test_networks_have_the_layers_of_caffes(module, written, shape, size):
    rng = np.random.default_rng(0)
    layers = {
        name: {"bias": rng.normal(size=out), "kernel": rng.normal(size=(n, out)) / np.sqrt(n)}
        for name, (n, out) in module.LAYERS.items()
    }
    layers = jax.tree.map(lambda leaf: jnp.asarray(leaf, jnp.float32), layers)
    flat = ravel_pytree(layers)[0]
    x = jnp.asarray(rng.normal(size=shape), jnp.float32)
    images = x[..., None] if module is p001_lenet else x
    assert flat.size == module.SIZE == size
    # Rounding of float32 in five sums of up to 1,024 terms of order one.
    rounding = 5 * 1_024 * float(np.finfo(np.float32).eps)
    found = module.logits(flat, x)
    np.testing.assert_allclose(found, written(layers, images), atol=rounding, rtol=rounding)


def test_scores_of_chances_counted_by_hand():
    chances = np.array([[0.7, 0.3], [0.7, 0.3], [0.1, 0.9], [0.5, 0.5]])
    y = np.array([0, 1, 1, 0])
    assert accuracy(chances, y) == 0.75
    np.testing.assert_allclose(log_score(chances, y), np.log([0.7, 0.3, 0.9, 0.5]).mean())
    # Bins of confidence: 0.7 twice, half right; 0.9 right; 0.5 right.
    np.testing.assert_allclose(calibration_error(chances, y), (2 * 0.2 + 0.1 + 0.5) / 4)
    np.testing.assert_allclose(entropy(np.full((3, 10), 0.1)), np.log(10))


def test_errors_are_those_of_the_images():
    rng = np.random.default_rng(1)
    right, y = rng.random(4_000) < 0.8, np.zeros(4_000, int)
    chances = np.stack([right, ~right], -1).astype(float)
    value, error = with_error(accuracy, chances, y)
    # A standard deviation of 400 resamples is off by 4 of its own errors in 6e-5 of all seeds.
    close = 4 / np.sqrt(2 * RESAMPLED)
    np.testing.assert_allclose(error, np.sqrt(value * (1 - value) / 4_000), rtol=close)
    assert difference(accuracy, chances, chances, y) == (0.0, 0.0)


def test_draws_that_are_averaged():
    assert kept("SGLD", 5, 16).tolist() == [2, 3, 4]
    assert kept("cyclical", 4, 16).tolist() == [2, 3]
    assert kept("cyclical", 9, 16).tolist() == [6, 7]
    assert kept("cyclical", 16, 16).tolist() == [6, 7, 10, 11, 14, 15]


@pytest.mark.slow
def test_the_quick_net_learns_from_files_of_cifars_format(tmp_path):
    rng = np.random.default_rng(2)
    for name in (*TRAINING, TEST):
        classes = rng.integers(0, 2, 20)
        pixels = rng.integers(0, 100, (20, 3_072)) + 150 * classes[:, None]
        content = np.concatenate([classes[:, None], pixels], axis=1)
        (tmp_path / name).write_bytes(content.astype(np.uint8).tobytes())
    training, test = p001_quick_net.images(tmp_path, tmp_path)
    weights, _ = p001_quick_net.run(training, 40)
    # Dark and bright images: the loss of the right two of ten classes falls below log 2.
    assert p001_quick_net.loss(weights, *test) < np.log(2)
