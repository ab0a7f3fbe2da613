"""The page of what was measured on a GPU is that of the committed files."""

import json

from benchmarks.gpu.page import RESULTS, TABLES, page


def test_the_page_shows_the_files():
    assert RESULTS.with_suffix(".md").read_text("utf-8") == page()


def test_every_table_names_its_device(tmp_path):
    for name in TABLES:
        content = {"device": "a device", "date": "today", "versions": {"jax": "1"}, "found": []}
        (tmp_path / f"{name}.json").write_text(json.dumps(content))
    assert page(tmp_path).count("a device, today, jax 1.") == len(TABLES)


def test_ratios_of_the_network_are_those_of_its_times():
    found = json.loads((RESULTS / "network.json").read_text("utf-8"))["found"]
    cost = {(row["side"], row["precision"]): row["us"] for row in found}
    for row in found:
        base = cost["optax's SGD", row["precision"]]
        # A median of ratios is near the ratio of medians.
        assert abs(row["ratio"] / (row["us"] / base) - 1) < 0.05
