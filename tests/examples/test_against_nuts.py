"""The examples' posteriors, with nothing tuned by hand, against NUTS on all rows."""

import json
from pathlib import Path

import numpy as np
import pytest

from examples import flights, linear
from examples.data import diamonds as load_diamonds
from examples.data import flights as load_flights
from tests.marks import rarely

REFERENCES = Path(__file__).parents[2] / "examples" / "references"


@pytest.mark.slow
@pytest.mark.parametrize("name", rarely(["flights", "diamonds"], ["flights"]))
def test_default_kernel_agrees_with_nuts(name):
    if name == "flights":
        data, fit = load_flights(), flights.fit
        labels = {
            "coefficients": data.feature_names,
            "carrier_intercept": data.carrier_names,
            "origin_effect": data.origin_names,
        }
    else:
        data, fit = load_diamonds(), linear.fit
        labels = {"coefficients": data.feature_names}
    reference = json.loads((REFERENCES / f"{name}.json").read_text())
    draws = fit(data).get_samples()
    for site, values in draws.items():
        columns = np.asarray(values).reshape(len(values), -1)
        for column, label in enumerate(labels.get(site, [None])):
            scalar = site if label is None else f"{site}[{label}]"
            mean, sd = reference["mean"][scalar], reference["sd"][scalar]
            # The bar on a standard deviation is 15 %. A mean may be off by 4 Monte Carlo
            # standard errors at an effective sample size of 250 (0.25 sd; false-failure rate 6e-5).
            assert abs(columns[:, column].std() / sd - 1) < 0.15, scalar
            assert abs(columns[:, column].mean() - mean) < 0.25 * sd, scalar
