"""The plots show the numbers that they say they show."""

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest

from numpyro_sgmcmc import (
    diagnose,
    expectation,
    plot_gradient_noise,
    plot_kinetic_temperature,
    plot_running_mean,
    plot_step_size,
    plot_walkers,
    to_inference_data,
)
from numpyro_sgmcmc.results.groups import assemble
from tests.results.gaussian import DATA, coarse_and_fine, decreasing, momentum, unjudged

matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def judged():
    with pytest.warns(UserWarning, match="Not (calibrated|known yet)"):  # 120 draws are too few
        return to_inference_data(momentum())


@pytest.mark.parametrize("make", [decreasing, coarse_and_fine])
def test_running_mean_ends_at_the_estimate(make):
    data = unjudged(make())
    axes = plot_running_mean(data, ["w"])
    assert [one.get_title(loc="left") for one in axes] == ["w[0]", "w[1]"]
    found = expectation(data, lambda sites: sites["w"])
    for one, value, mcse in zip(axes, found.value, found.mcse, strict=True):
        assert one.lines[-1].get_ydata()[-1] == pytest.approx(value)
        band = one.collections[0].get_paths()[0].vertices
        last = band[band[:, 0] == 50, 1]
        assert last.min() == pytest.approx(value - 2 * mcse)
        assert last.max() == pytest.approx(value + 2 * mcse)


def test_gradient_noise_is_that_of_the_minibatches(judged):
    group = judged["gradient_noise"]
    # With replacement: N^2 / B times the variance of a row, and h V / (2 D) of the increment's. The
    # variance of 2,048 minibatch means of 2 rows has a relative standard error below
    # sqrt(2 / 2048); 5 of them: a false-failure rate of 6e-7.
    variance = DATA.size**2 / 2 * float(np.var(DATA))
    np.testing.assert_allclose(group["noise_variance"], variance, rtol=5 * np.sqrt(2 / 2048))
    share = 0.05 * group["noise_variance"] / (2 * 3.0)
    np.testing.assert_allclose(group["noise_share"], share, rtol=1e-5)
    np.testing.assert_array_equal(group["noise_corrected"], 0)
    measured = diagnose(momentum())  # by the verdict, and once
    assert group["noise_variance"].values.tolist() == [measured.noise]
    assert measured.noise_covariance.variances.tolist() == [measured.noise]
    points = plot_gradient_noise(judged).lines[0].get_ydata()
    np.testing.assert_allclose(points, group["noise_share"])


def test_directions_without_noise_do_not_stretch_the_axis():
    share = np.array([0.2, 1e-2, 1e-9, 0.0])
    corrected = np.array([0.1, 1e-2, 0.0, 0.0])
    noise = {"noise_variance": share, "noise_share": share, "noise_corrected": corrected}
    data = assemble({"gradient_noise": noise}, {}, {name: ["direction"] for name in noise}, {})
    before, left = plot_gradient_noise(data).lines[:2]
    np.testing.assert_allclose(before.get_ydata(), [0.2, 1e-2, 2e-5, 2e-5])
    np.testing.assert_allclose(left.get_ydata(), [0.1, 2e-5, 2e-5, 2e-5])


def test_kinetic_temperature_is_drawn_against_its_target(judged):
    lines = plot_kinetic_temperature(judged).lines
    mean = float(judged["sample_stats"]["kinetic_temperature"].mean())
    assert lines[-2].get_ydata()[-1] == pytest.approx(mean)
    assert list(lines[-1].get_ydata()) == [1.0, 1.0]


def test_step_size_is_the_schedule():
    data = unjudged(decreasing())
    drawn = np.ravel(plot_step_size(data).lines[0].get_ydata())
    np.testing.assert_allclose(drawn, 1e-3 * (1.0 + 20 + np.arange(50)) ** -0.5, rtol=1e-5)


def test_walkers_are_drawn_against_each_other():
    data = unjudged(coarse_and_fine())
    (axes,) = plot_walkers(data, ["scale"])
    fine, coarse = axes.lines[0].get_data()
    np.testing.assert_array_equal(fine, np.ravel(data["posterior"]["scale"]))
    np.testing.assert_array_equal(coarse, np.ravel(data["posterior_coarse"]["scale"]))


def test_plots_use_the_axes_they_are_given():
    data = unjudged(decreasing())
    _, axes = plt.subplots(1, 2)
    assert plot_running_mean(data, ["w"], axes=axes) == list(axes)
    with pytest.raises(ValueError, match=r"Expected 2 axes, one for each entry; got 1"):
        plot_running_mean(data, ["w"], axes=axes[0])


def test_what_a_run_does_not_have_is_refused():
    data = unjudged(decreasing())
    with pytest.raises(ValueError, match=r"group `gradient_noise`; got none"):
        plot_gradient_noise(data)
    with pytest.raises(ValueError, match=r"`kinetic_temperature` .* no momentum"):
        plot_kinetic_temperature(data)
    with pytest.raises(ValueError, match=r"`posterior_coarse`; got none"):
        plot_walkers(data)
    with pytest.raises(ValueError, match=r"`var_names` among .*'w'.*; got \['v'\]"):
        plot_running_mean(data, ["v"])
