"""The report holds what it should, and nothing that is not its own."""

import re
import sys
from html.parser import HTMLParser

import numpy as np
import pytest

from numpyro_sgmcmc import report, summary, to_inference_data
from numpyro_sgmcmc.results.groups import assemble
from numpyro_sgmcmc.results.report.lines import how_it_was_run
from tests.results.gaussian import coarse_and_fine, decreasing, momentum, unjudged

ALWAYS = ["Estimates", "Trace", "Ranks", "Autocorrelation", "Running estimate"]


class Page(HTMLParser):
    """Tags with their attributes, text by the id of what it stands in, and headings."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.words, self.headings, self._open = [], {}, [], None
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self._open = tag if tag == "h2" else dict(attrs).get("id", self._open)

    def handle_endtag(self, tag):
        self._open = None if tag == self._open == "h2" else self._open

    def handle_data(self, data):
        if self._open == "h2" and data.strip():
            self.headings.append(data.strip())
        elif self._open and data.strip():
            self.words.setdefault(self._open, []).append(data.strip())


def page_of(data, folder, **options):
    path = report(data, folder / "report.html", **options)
    return Page(path.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def judged(tmp_path_factory):
    with pytest.warns(UserWarning, match="Not (calibrated|known yet)"):  # 120 draws are too few
        data = to_inference_data(momentum())
    return data, page_of(data, tmp_path_factory.mktemp("report"))


def test_on_top_stand_verdict_and_convergence(judged):
    data, page = judged
    assert page.words["verdict"][0] == data.attrs["verdict"]
    with pytest.warns(UserWarning, match="Not (calibrated|known yet)"):
        row = summary(data).loc["theta"]
    assert page.words["convergence"][0] == (
        f"Smallest effective sample size {row['ess_bulk']:,.0f} (theta); largest R-hat"
        f" {row['r_hat']:.3f} (theta); 0.0% of 120 draws diverged."
    )


def test_figures_are_those_for_which_there_are_data(judged, tmp_path):
    whole = ["Gradient noise against injected noise", "Kinetic temperature"]
    last = ["How it was run"]
    assert judged[1].headings == ALWAYS + whole + last
    page = page_of(unjudged(decreasing()), tmp_path, max_entries=1)
    assert page.headings == [*ALWAYS, "Step size along the run", *last]
    assert sum(tag == "svg" for tag, _ in page.tags) == 5
    page = page_of(unjudged(coarse_and_fine()), tmp_path, var_names=["scale"])
    assert page.headings == [*ALWAYS, "Coarse against fine walker", *last]
    assert page.words["verdict"][0].startswith("No verdict")


def test_long_keys_are_cut_short():
    data = unjudged(momentum(), attributes={"key": list(range(20)), "few": [1, 2]})
    rows = dict(how_it_was_run(data))
    assert rows["key"] == "0 1 2 3 4 5 6 7 … (20 numbers)" and rows["few"] == "1 2"


@pytest.mark.long
def test_a_table_of_thousands_says_what_it_leaves_out(tmp_path):
    draws = np.random.default_rng(0).normal(size=(2, 20, 1_003))
    draws[..., 5] = np.linspace(0.0, 1.0, 40).reshape(2, 20)  # hardly an effective draw
    draws[..., [7, 8, 9]] = 2.0  # what does not move comes last
    ones = np.ones((2, 20))
    stats = {"weight": ones, "step_size": ones, "diverging": ones < 0}
    data = assemble({"posterior": {"w": draws}, "sample_stats": stats}, {}, {}, {})
    page = page_of(data, tmp_path, max_entries=2)
    assert page.words["left-out"][0].startswith("The table holds the 1,000 of 1,003 entries")
    assert sum(attributes.get("scope") == "row" for _, attributes in page.tags) >= 1_000
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    rows = set(re.findall(r'<tr><th scope="row">(w\[\d+\])', text))
    assert rows == {f"w[{i}]" for i in range(1_003)} - {"w[7]", "w[8]", "w[9]"}
    figures = [attributes["aria-label"] for tag, attributes in page.tags if tag == "figure"]
    assert len(figures) == 2 * 4 and figures[0] == "Trace of w[5]"
    assert len(text) < 2e6
    few = page_of(unjudged(decreasing()), tmp_path, max_entries=1)
    assert "left-out" not in few.words


def test_nothing_is_loaded_from_elsewhere(judged):
    _, page = judged
    for tag, attributes in page.tags:
        assert tag not in ("link", "img", "iframe", "object")
        for name in ("src", "href", "xlink:href", "data"):
            assert attributes.get(name, "#").startswith("#"), (tag, attributes)


def test_names_inside_figures_are_unique_and_known(judged):
    _, page = judged
    names = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(names) == len(set(names))
    wanted = {
        found
        for _, attributes in page.tags
        for value in attributes.values()
        for found in re.findall(r"^#(.+)|url\(#(.+?)\)", value or "")
    }
    assert {a or b for a, b in wanted} <= set(names)


def test_labels_are_words_and_not_tags(tmp_path):
    data = unjudged(decreasing(), coords={"column": ["<script>alert(1)</script>", "b"]})
    page = page_of(data, tmp_path, var_names=["w"], title="a < b", max_entries=2)
    assert sum(tag == "script" for tag, _ in page.tags) == 1
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "<title>a &lt; b</title>" in text


@pytest.mark.parametrize("package", ["jinja2", "matplotlib"])
def test_a_missing_package_is_named_with_its_remedy(package, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=r'pip install "numpyro-sgmcmc\[report\]"'):
        report(unjudged(decreasing()), tmp_path / "report.html")


def test_wrong_arguments_are_refused(tmp_path):
    data = unjudged(decreasing())
    with pytest.raises(ValueError, match=r"`var_names` among .*; got \['v'\]"):
        report(data, tmp_path / "report.html", var_names=["v"])
    with pytest.raises(ValueError, match=r"`max_entries` to be a positive integer; got 0"):
        report(data, tmp_path / "report.html", max_entries=0)
