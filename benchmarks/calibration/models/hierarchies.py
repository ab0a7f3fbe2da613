"""Rows in groups: one level, two levels, crossed effects, correlated lines."""

import numpyro
import numpyro.distributions as dist

from benchmarks.calibration.models.priors import normal


def centred(group, response, *, groups=100, subsample_size=None):
    mean, spread, noise = hyperparameters()
    prior = dist.Normal(mean, spread).expand([groups]).to_event(1)
    intercepts = numpyro.sample("intercepts", prior)
    _grouped(intercepts, noise, group, response, subsample_size)


def non_centred(group, response, *, groups=100, subsample_size=None):
    mean, spread, noise = hyperparameters()
    raw = normal("raw", 1.0, groups)
    intercepts = numpyro.deterministic("intercepts", mean + spread * raw)
    _grouped(intercepts, noise, group, response, subsample_size)


def hyperparameters():
    """Sample the mean and the spread of the groups, and the rows' noise."""
    mean = normal("mean", 2.0)
    spread = numpyro.sample("spread", dist.HalfNormal(1.0))
    noise = numpyro.sample("noise", dist.HalfNormal(1.0))
    return mean, spread, noise


def _grouped(intercepts, noise, group, response, subsample_size):
    with numpyro.plate("rows", len(group), subsample_size=subsample_size) as rows:
        likelihood = dist.Normal(intercepts[group[rows]], noise)
        numpyro.sample("response", likelihood, obs=response[rows])


def eight_schools(effect, error, subsample_size=None):
    """Centred, as in Rubin (1981)."""
    mean = normal("mean", 5.0)
    spread = numpyro.sample("spread", dist.HalfCauchy(5.0))
    with numpyro.plate("schools", len(effect)):
        true = numpyro.sample("effects", dist.Normal(mean, spread))
    _schools(true, effect, error, subsample_size)


def eight_schools_non_centred(effect, error, subsample_size=None):
    mean = normal("mean", 5.0)
    spread = numpyro.sample("spread", dist.HalfCauchy(5.0))
    with numpyro.plate("schools", len(effect)):
        raw = numpyro.sample("raw", dist.Normal(0.0, 1.0))
    true = numpyro.deterministic("effects", mean + spread * raw)
    _schools(true, effect, error, subsample_size)


def _schools(true, effect, error, subsample_size):
    with numpyro.plate("rows", len(effect), subsample_size=subsample_size) as rows:
        numpyro.sample("effect", dist.Normal(true[rows], error[rows]), obs=effect[rows])


def insteval(student, lecturer, service, mark, *, students, lecturers, subsample_size=None):
    """Crossed effects of students and lecturers."""
    mean = numpyro.sample("mean", dist.Normal(3.0, 2.0))
    slope = normal("service", 1.0)
    student_spread = numpyro.sample("student_spread", dist.HalfNormal(1.0))
    lecturer_spread = numpyro.sample("lecturer_spread", dist.HalfNormal(1.0))
    noise = numpyro.sample("noise", dist.HalfNormal(2.0))
    with numpyro.plate("all_students", students):
        strict = numpyro.sample("students", dist.Normal(0.0, student_spread))
    with numpyro.plate("all_lecturers", lecturers):
        liked = numpyro.sample("lecturers", dist.Normal(0.0, lecturer_spread))
    with numpyro.plate("rows", len(mark), subsample_size=subsample_size) as rows:
        fitted = mean + slope * service[rows] + strict[student[rows]] + liked[lecturer[rows]]
        numpyro.sample("mark", dist.Normal(fitted, noise), obs=mark[rows])


def lkj_slopes(group, feature, response, *, groups=80, subsample_size=None):
    """Each group's intercept and slope, centred, with their correlation."""
    mean = normal("mean", 2.0, 2)
    scales = numpyro.sample("scales", dist.HalfNormal(1.0).expand([2]).to_event(1))
    root = numpyro.sample("correlation_root", dist.LKJCholesky(2, 2.0))
    noise = numpyro.sample("noise", dist.HalfNormal(1.0))
    with numpyro.plate("groups", groups):
        law = dist.MultivariateNormal(mean, scale_tril=scales[:, None] * root)
        lines = numpyro.sample("lines", law)
    with numpyro.plate("rows", len(group), subsample_size=subsample_size) as rows:
        own = lines[group[rows]]
        fitted = own[..., 0] + own[..., 1] * feature[rows]
        numpyro.sample("response", dist.Normal(fitted, noise), obs=response[rows])


def nested(school, room, score, *, schools=40, subsample_size=None):
    """Classes in schools, both centred at the level above."""
    mean = normal("mean", 5.0)
    school_spread = numpyro.sample("school_spread", dist.HalfNormal(1.0))
    class_spread = numpyro.sample("class_spread", dist.HalfNormal(1.0))
    noise = numpyro.sample("noise", dist.HalfNormal(2.0))
    with numpyro.plate("all_schools", schools):
        level = numpyro.sample("schools", dist.Normal(mean, school_spread))
    with numpyro.plate("all_classes", len(school)):
        own = numpyro.sample("classes", dist.Normal(level[school], class_spread))
    with numpyro.plate("rows", len(room), subsample_size=subsample_size) as rows:
        numpyro.sample("score", dist.Normal(own[room[rows]], noise), obs=score[rows])
