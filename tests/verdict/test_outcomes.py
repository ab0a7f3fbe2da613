"""Right draws pass, wrong ones never do, and too few are said to be too few.

Draws come from NumPy, so that what is wrong with them is known exactly; keys and seeds are fixed.
"""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pandas as pd
import pytest

from numpyro_sgmcmc import SGLD, SGRRHMC, SGRRLD
from numpyro_sgmcmc.types import Plate
from numpyro_sgmcmc.verdict import budget, measurement
from numpyro_sgmcmc.verdict import gradients as verdict_gradients
from numpyro_sgmcmc.verdict.apart import Apart
from numpyro_sgmcmc.verdict.assessment import Cause, Evidence, Outcome, Worst, more_draws
from numpyro_sgmcmc.verdict.predictions import Predictions
from numpyro_sgmcmc.verdict.sentence import sentence_of
from numpyro_sgmcmc.verdict.thresholds import GRADIENT_POINTS
from tests.marks import briefly
from tests.verdict.draws import autoregression, gaussian, independent, kernel_of, scales, verdict

UNIT = (jnp.ones(3),)
WIDE = (jnp.ones(400),)


def test_exact_draws_pass():
    """An sd of 5,000 draws has an error of 1 %; 5 % is 5 of them: false-failure rate 1e-5."""
    for seed in range(4):
        found = verdict(scales, UNIT, independent(np.random.default_rng(seed), (4, 1_250, 3)))
        assert found.calibrated, found.sentence
        assert found.sentence.startswith("Calibrated")
        assert found.more_draws is None


def _shifted(x):
    x[..., 1] += 0.3
    return x


def _scaled(factor):
    def change(x):
        x[..., 1] *= factor
        return x

    return change


def _half_stuck(x):
    x[:, x.shape[1] // 2 :] = x[:, x.shape[1] // 2, None]
    return x


@pytest.mark.parametrize(
    "fault", [_shifted, _scaled(1.1), _scaled(0.9), _half_stuck, lambda x: x + 0.3]
)
def test_one_fault_is_seen(fault):
    x = independent(np.random.default_rng(0), (4, 1_250, 3))
    assert not verdict(scales, UNIT, fault(x)).calibrated


@pytest.mark.parametrize("fault", [_shifted, _scaled(2.0), _scaled(0.7)])
def test_one_of_many_coordinates_is_seen_with_fewer_draws_than_a_covariance_needs(fault):
    x = fault(independent(np.random.default_rng(0), (4, 375, 400)))
    found = verdict(scales, WIDE, x)
    assert not found.calibrated
    assert found.sentence.startswith("Not calibrated"), found.sentence
    assert np.isfinite(found.curvature)


@pytest.mark.parametrize("seed", briefly(range(4), [0]))
def test_an_error_that_chance_may_hide_is_not_known_yet(seed):
    """13 % too wide: at 400 draws chance may explain it, at the number that is advised it does not.

    Each of three sds then has an error of at most 2 %: false-failure rate below 1e-3 a seed.
    """
    rng = np.random.default_rng(seed)
    short = verdict(scales, UNIT, 1.13 * independent(rng, (4, 105, 3)))
    assert not short.calibrated
    assert short.more_draws is not None
    assert short.sentence.startswith("Not known yet")
    assert f"Take {short.more_draws:,} more draws" in short.sentence
    longer = (420 + short.more_draws) // 4
    long = verdict(scales, UNIT, 1.13 * independent(rng, (4, longer, 3)))
    assert long.sentence.startswith("Not calibrated"), long.sentence


@pytest.mark.long
def test_the_advised_number_of_draws_is_enough_for_right_ones():
    """By design for 80 % of runs; fewer than 5 of 12 have probability 6e-4. Then advice follows."""
    first, rounds = 0, 4
    for seed in range(12):
        rng = np.random.default_rng(seed)
        x = independent(rng, (4, 105, 3))
        said = verdict(scales, UNIT, x)
        for count in range(rounds):
            if said.calibrated:
                break
            more = independent(rng, (4, said.more_draws // 4, 3))
            x = np.concatenate([x, more], axis=1)
            said = verdict(scales, UNIT, x)
            first += count == 0 and said.calibrated
        assert said.calibrated, said.sentence
    assert first >= 5


def test_one_chain_can_pass_and_is_split():
    x = independent(np.random.default_rng(0), (1, 5_000, 3))
    found = verdict(scales, UNIT, x)
    assert found.calibrated, found.sentence
    assert found.sites["r_hat"].max() < 1.01
    x[:, 2_500:] += 1.0
    assert verdict(scales, UNIT, x).sites["r_hat"].max() > 1.1


def test_weights_count():
    """Every other draw is twice too wide, and counts for nothing or for everything."""
    x = independent(np.random.default_rng(0), (4, 2_500, 3))
    x[:, ::2] *= 2
    weights = np.ones((4, 2_500))
    weights[:, ::2] = 1e-6
    assert verdict(scales, UNIT, x, weights=weights).calibrated
    assert not verdict(scales, UNIT, x, weights=weights[:, ::-1].copy()).calibrated


def test_correlated_draws_have_larger_errors():
    x = autoregression(np.random.default_rng(0), (4, 2_500, 3), 0.9)
    found = verdict(scales, UNIT, x)  # some 500 effective draws
    assert found.sentence.startswith("Not known yet"), found.sentence


def test_a_temperature_is_named():
    kernel = kernel_of(scales, temperature=4.0)
    x = 2 * independent(np.random.default_rng(0), (4, 1_250, 3))
    found = verdict(scales, UNIT, x, kernel=kernel)
    assert found.calibrated, found.sentence
    assert "for exp(-U / T) at T = 4, not for the posterior" in found.sentence


def cauchy():
    numpyro.sample("z", dist.Cauchy(0.0, 1.0))


def student():
    numpyro.sample("z", dist.StudentT(5.0, 0.0, 1.0))


def test_heavy_tails():
    """Student's t with 5 degrees of freedom has a variance, 5/3; a Cauchy distribution has none."""
    x = np.random.default_rng(0).standard_t(5, (4, 10_000))
    found = verdict(student, (), x)
    assert found.sites.loc["z", "sd_error"] == pytest.approx(x.std() / np.sqrt(5 / 3) - 1, abs=0.01)
    wide = np.random.default_rng(0).standard_cauchy((4, 10_000))
    found = verdict(cauchy, (), wide)
    assert not found.calibrated
    assert "a variance need not exist" in found.sentence


def bent():
    """z_2 given z_1 is N(0.4 (z_1^2 - 1), 1), so that the derivative along z_1 depends on z_2."""
    z = numpyro.sample("z", dist.ImproperUniform(dist.constraints.real_vector, (), (2,)))
    numpyro.factor("u", -0.5 * (z[0] ** 2 + (z[1] - 0.4 * (z[0] ** 2 - 1)) ** 2))


def test_what_2000_gradients_leave_uncertain_more_of_them_decide(monkeypatch):
    """The derivative along z_1 is z_1 (1 - 0.8 e), e ~ N(0, 1).

    It leaves 0.8 sqrt(3) / sqrt(n) = 1.4 / sqrt(n) of the variance: three of these are 4.6 % of the
    sd at 2,000 gradients, 2.1 % at 10,000.
    """
    x = np.random.default_rng(0).normal(size=(4, 2_500, 2))
    x[..., 1] += 0.4 * (x[..., 0] ** 2 - 1)
    assert verdict(bent, (), x).calibrated
    monkeypatch.setattr(budget, "MORE_GRADIENT_POINTS", 0)
    found = verdict(bent, (), x)
    assert "More draws would not decide: gradients at 2,000 of them" in found.sentence
    assert found.more_draws is None


def test_chains_that_do_not_mix_take_the_least_number_of_gradients(monkeypatch):
    """The outcome does not depend on more of them."""
    counts = []
    gradients = measurement.gradients

    def counted(target, key, points, *others):
        counts.append(len(points))
        return gradients(target, key, points, *others)

    monkeypatch.setattr(measurement, "gradients", counted)
    x = independent(np.random.default_rng(0), (4, 1_250, 3))
    assert verdict(scales, UNIT, x).calibrated
    apart = verdict(scales, UNIT, x + np.arange(4)[:, None, None])
    assert apart.sentence.startswith("Not known yet: the chains"), apart.sentence
    assert counts == [5_000, GRADIENT_POINTS]


def two_modes():
    parts = dist.Normal(jnp.array([-2.0, 2.0]), 1.0)
    numpyro.sample("z", dist.MixtureSameFamily(dist.Categorical(jnp.array([0.5, 0.5])), parts))


def test_wrong_proportions_of_two_modes_are_not_called_right():
    """Gradients are right within each mode: 70 to 30 instead of 50 to 50 shows in none of them."""
    rng = np.random.default_rng(0)
    x = np.where(rng.random((4, 2_500)) < 0.7, -2, 2) + rng.normal(size=(4, 2_500))
    found = verdict(two_modes, (), x)
    assert not found.calibrated
    assert "proportions of several modes" in found.sentence
    assert found.more_draws is None  # they would not tell


@pytest.mark.long
def test_many_groups_of_coordinates_cannot_be_checked_with_few_draws():
    """40 groups of 10 that vary together: more soft directions than are tested.

    The draws that the verdict asks for are enough to form the covariance, 4 for each coordinate.
    """
    block = 0.1 * np.eye(10) + 0.9
    covariance = np.kron(np.eye(40), block)
    precision = jnp.asarray(np.linalg.inv(covariance), jnp.float32)
    x = independent(np.random.default_rng(0), (4, 375, 400), covariance)
    x[..., :10] += 0.3  # one group's common part: a tenth of that shows in each coordinate
    found = verdict(gaussian, (precision,), x)
    assert not found.calibrated
    assert found.more_draws is not None, found.sentence
    assert found.more_draws + 4 * 375 >= 4 * 400


# Richardson-Romberg: what is reported is judged, not its walkers.


def normal():
    numpyro.sample("z", dist.Normal(0.0, 1.0))


def extrapolated(kernel, fine, coarse, shape=(8, 5_000)):
    """The verdict on walkers of these exact variances, on one path."""
    path = np.random.default_rng(0).normal(size=shape)
    draws = {
        "z_halfway": {"z": np.sqrt(fine) * np.roll(path, 1, axis=1)},
        "z_coarse": {"z": np.sqrt(coarse) * path},
    }
    return verdict(normal, (), np.sqrt(fine) * path, kernel=kernel, walkers=draws)


LANGEVIN = SGRRLD(normal, 1e-3)


def test_errors_of_walkers_that_cancel_pass():
    assert extrapolated(LANGEVIN, 1.2, 1.4).calibrated  # 2 * 1.2 - 1.4 = 1


@pytest.mark.parametrize("coarse", briefly([0.75, 1.25], [1.25]))
def test_errors_that_do_not_cancel_are_seen(coarse):
    found = extrapolated(LANGEVIN, 1.0, coarse)  # variances 1.25 and 0.75
    assert found.sentence.startswith("Not calibrated"), found.sentence
    expected = np.sqrt(2 - coarse) - 1
    assert found.sites.loc["z", "sd_error"] == pytest.approx(expected, abs=0.05)


def test_a_negative_variance_is_refused():
    found = extrapolated(LANGEVIN, 1.0, 2.5)
    assert not found.calibrated
    assert "negative extrapolated variance" in found.sentence


@pytest.mark.parametrize("h", briefly([1.0, 1.2], [1.2]))
def test_a_second_order_kernel_beyond_its_step_size_is_refused(h):
    """Exact stationary variances 1 / (1 - h^2 / (4 - 2 h)); the curvature is 1."""
    at = lambda h: 1 / (1 - h**2 / (4 - 2 * h))  # noqa: E731
    kernel = SGRRHMC(normal, h, friction=1.0)
    found = extrapolated(kernel, at(h / 2), at(h))
    assert not found.calibrated
    assert found.sentence.startswith("Not calibrated")
    exact = max((4 * at(h / 2) - at(h)) / 3, 0.0) ** 0.5 - 1
    assert found.sites.loc["z", "sd_error"] == pytest.approx(exact, abs=0.03)
    assert found.curvature == pytest.approx(1, abs=1e-3)


# Sentences.


def evidence(**changes):
    fine = Worst("'z'", 0.001, 0.0, 0.002, 0.001)
    values = dict(
        diverged=0.0, step_size=0.1, largest_step_size=1.0, noise=("z", 0.2),
        discretisation=("z", 0.0), sd=(fine, fine), largest_sd_bias=0.01, mean=(fine, fine),
        ess=("z", 1_000.0), r_hat=("z", 1.0), draws=1_000, factor=1.0, points=20_000, plates={},
        passes=1.0, seconds=None,
        has_plain_gradient=False, has_correction=False, dimension=1, temperature=1.0,
        is_extrapolated=False, unchecked=None, predictions=None,
    )  # fmt: skip
    return Evidence(**(values | changes))


def test_a_correction_is_advised_to_who_has_none():
    advised = lambda **c: sentence_of(Outcome.NOT_CALIBRATED, [Cause.NOISE], evidence(**c))  # noqa: E731
    assert 'noise_correction="dense"' in advised()
    assert 'noise_correction="diagonal"' in advised(dimension=501)
    assert "noise_correction" not in advised(has_correction=True)


def test_more_draws_are_advised_with_their_time_and_what_is_faster():
    advised = lambda **c: sentence_of(  # noqa: E731
        Outcome.NOT_KNOWN, [Cause.SHORT], evidence(ess=("z", 200.0), **c)
    )
    assert "Take 2,000 more draws (in all chains together)." in advised()
    assert "2,000 more draws (in all chains together; about 20 s)." in advised(seconds=0.01)
    assert "NUTS" not in advised()
    assert "numpyro.infer.NUTS" in advised(passes=150.0)


@pytest.mark.parametrize(
    ("sd", "mean", "said"),
    [
        (0.0502, 0.0, "may be 5.1 % off, more than 5.0 %"),
        (0.1202, 0.0, "may be 13 % off"),
        (np.inf, 0.0, "may be infinitely off"),
        (0.05, 0.1001, "may be 0.11 off, more than 0.1"),
    ],
)
def test_a_bound_above_its_limit_never_reads_as_if_it_were_the_limit(sd, mean, said):
    worst = lambda upper: (Worst("z", 0.0, 0.0, upper, 0.01),) * 2  # noqa: E731
    found = evidence(sd=worst(sd), mean=worst(mean))
    assert said in sentence_of(Outcome.NOT_KNOWN, [Cause.IMPRECISE], found)


def test_a_bound_that_holds_reads_as_one_that_holds():
    worst = lambda upper: (Worst("z", 0.0, 0.0, upper, 0.01),) * 2  # noqa: E731
    found = evidence(sd=worst(0.05), mean=worst(0.1))
    sentence = sentence_of(Outcome.CALIBRATED, [], found)
    assert "(at most 5.0 %)" in sentence and "(at most 0.10)" in sentence


def test_settings_for_predictions_are_named():
    known = Predictions(pd.DataFrame(), ("f", 900.0), ("f", 1.001))
    advised = lambda **c: sentence_of(  # noqa: E731
        Outcome.NOT_KNOWN, [Cause.SHORT], evidence(ess=("z", 200.0), **c)
    )
    assert "max_num_steps" in advised(suits_predictions=True, predictions=known)
    assert "more draws" not in advised(suits_predictions=True, predictions=known)
    assert "more draws" in advised(suits_predictions=True)
    assert "max_num_steps" not in advised(predictions=known)


@pytest.mark.parametrize(
    ("ess", "said"),
    [(900.0, "Predictions do mix, smallest effective"), (90.0, "Predictions do not mix: smallest")],
)
def test_settings_for_predictions_tell_of_them_whatever_is_wrong(ess, said):
    """What is wrong with parameters may be wrong with predictions, which are not recommended."""
    known = Predictions(pd.DataFrame(), ("f", ess), ("f", 1.001))
    outcome = Outcome.NOT_CALIBRATED, [Cause.NOISE]
    sentence = sentence_of(*outcome, evidence(suits_predictions=True, predictions=known))
    assert said in sentence and "use them" not in sentence
    assert "Predictions" not in sentence_of(*outcome, evidence(predictions=known))


def test_predictions_that_do_not_mix_yet_ask_for_draws_of_their_own():
    """Also where parameters sit in different modes, which more draws do not mend."""
    apart = Apart("z", 3.0)
    few = Predictions(pd.DataFrame(), ("f", 250.0), ("f", 1.01), needed=500.0)
    given = {"ess": ("z", 20.0), "apart": apart, "suits_predictions": True, "draws": 4_000}
    short = evidence(predictions=few, **given)
    outcome = Outcome.NOT_KNOWN, [Cause.UNMIXED]
    assert more_draws(short, *outcome) == 8_000  # Three times as many: 1.5 for chance.
    sentence = sentence_of(*outcome, short)
    assert "For predictions take 8,000 more draws" in sentence
    enough = few._replace(ess=("f", 500.0))
    assert more_draws(evidence(predictions=enough, **given), *outcome) is None
    unequal = enough._replace(r_hat=("f", 1.05))
    assert more_draws(evidence(predictions=unequal, **given), *outcome) == 4_000
    unknown = few._replace(ess=("f", np.nan), r_hat=("f", np.nan))
    assert more_draws(evidence(predictions=unknown, **given), *outcome) == 4_000


def test_noise_asks_for_all_rows_at_most():
    advised = lambda size: sentence_of(  # noqa: E731
        Outcome.NOT_CALIBRATED, [Cause.NOISE], evidence(plates={"rows": Plate(size, 100)})
    )
    assert "minibatches of 880 of 2,000" in advised(2_000)
    assert "all rows (no `subsample_size`)" in advised(880)


def test_too_few_effective_draws_are_not_blamed_on_noise():
    from numpyro_sgmcmc.verdict.assessment import assessed

    assert assessed(evidence(ess=("z", 5.0))) == (Outcome.NOT_KNOWN, [Cause.UNMIXED])
    wide = evidence().sd[0]._replace(error=0.3, lower=0.2, upper=0.4)
    outcome, causes = assessed(evidence(sd=(wide, wide)))
    assert outcome is Outcome.NOT_CALIBRATED
    assert causes[0] is Cause.NOISE
    # Measurement excludes what theory predicts: it is the thermostat's, say, which theory ignores.
    assert assessed(evidence()) == (Outcome.CALIBRATED, [])


def test_random_densities_keep_to_the_budget_of_rows(monkeypatch):
    def noisy(x):
        z = numpyro.sample("z", dist.Normal(0.0, 1.0))
        jitter = jax.random.normal(numpyro.prng_key())
        with numpyro.plate("rows", x.size, subsample_size=5) as rows:
            numpyro.sample("x", dist.Normal(z + 0.01 * jitter, 1.0), obs=x[rows])

    kernel = SGLD(noisy, 1e-3)
    kernel.init(jax.random.key(0), 0, None, (jnp.zeros(200),), {})
    seen = []
    many_rows = verdict_gradients.View.many_rows

    def counted(self, key, rows=4_096):
        seen.append(rows)
        return many_rows(self, key, rows)

    monkeypatch.setattr(verdict_gradients.View, "many_rows", counted)
    points = jnp.zeros((10, 1))
    verdict_gradients.gradients(kernel.memory.target, jax.random.key(0), points, points[0], 500)
    assert seen == [50]
