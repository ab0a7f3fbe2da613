"""The report in a real browser: what is on top, the table that sorts, figures, and no complaint."""

import html
import json
import re
import shutil
import subprocess

import pytest

from numpyro_sgmcmc import report, to_inference_data
from tests.results.gaussian import momentum

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))),
    None,
)

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on PATH; the package is chromium"),
]

PROBE = """{
const text = (id) => document.getElementById(id).textContent;
const order = () => [...document.querySelectorAll("#estimates tbody tr")].map(
  (row) => row.cells[0].textContent);
const heads = [...document.querySelectorAll("#estimates thead button")];
const found = { verdict: text("verdict"), convergence: text("convergence"), orders: [] };
const column = heads.findIndex((head) => head.textContent === "mean");
for (let n = 0; n < 2; n++) { heads[column].click(); found.orders.push(order()); }
found.sorted = heads[column].parentElement.getAttribute("aria-sort");
found.figures = [...document.querySelectorAll("figure svg")].map((svg) => {
  const [shown, own] = [svg.getBoundingClientRect(), svg.viewBox.baseVal];
  return { shown: [shown.width, shown.height], own: [own.width, own.height] };
});
found.page = [document.documentElement.scrollWidth, window.innerWidth];
found.ink = getComputedStyle(document.querySelector("figure svg")).color;
found.paper = getComputedStyle(document.body).backgroundColor;
document.body.dataset.found = JSON.stringify(found);
}"""


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    with pytest.warns(UserWarning, match="Not (calibrated|known yet)"):  # 120 draws are too few
        data = to_inference_data(momentum())
    # More rows than one, of known order.
    for name, shift in (("low", -9), ("top", 9)):
        data["posterior"][name] = data["posterior"]["theta"] + shift
    return data, report(data, tmp_path_factory.mktemp("browser") / "report.html")


def looked_at(path, width, *options):
    """Return what the probe finds in a window of a width, and what the console says."""
    page = path.read_text(encoding="utf-8").replace("</body>", f"<script>{PROBE}</script></body>")
    probed = path.with_name("probed.html")
    probed.write_text(page, encoding="utf-8")
    # A window cannot be as narrow as a telephone; a frame can, and its page thinks it is a window.
    frame = path.with_name("frame.html")
    frame.write_text(
        f'<body style="margin:0"><iframe id="frame" srcdoc="{html.escape(page)}"'
        f' style="border:0;width:{width}px;height:2000px"></iframe><script>'
        "document.getElementById('frame').onload = (event) => document.body.dataset.found ="
        " event.target.contentDocument.body.dataset.found;</script></body>",
        encoding="utf-8",
    )
    command = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr"]
    command += ["--window-size=1280,2000", "--virtual-time-budget=5000", *options, "--dump-dom"]
    done = subprocess.run(
        [*command, frame.as_uri()], capture_output=True, text=True, timeout=120, check=True
    )
    (found,) = re.findall(r'<body[^>]* data-found="([^"]*)"', done.stdout)[:1]
    return json.loads(html.unescape(found)), re.findall(r".*CONSOLE.*", done.stderr)


@pytest.mark.parametrize("width", [1280, 400])
def test_report_in_a_browser(written, width):
    data, path = written
    found, console = looked_at(path, width)
    assert console == []
    assert found["verdict"] == data.attrs["verdict"]
    assert re.fullmatch(
        r"Smallest effective sample size \d+ \(\w+\); largest R-hat \d\.\d{3} \(\w+\);"
        r" 0\.0% of 120 draws diverged\.",
        found["convergence"],
    )
    assert found["orders"] == [["low", "theta", "top"], ["top", "theta", "low"]]
    assert found["sorted"] == "descending"
    assert found["page"][0] <= found["page"][1] == width  # nothing to scroll sideways
    assert len(found["figures"]) == 3 * 4 + 2
    for figure in found["figures"]:
        (wide, high), own = figure["shown"], figure["own"]
        assert 300 < wide <= width and 300 < own[0] < 310
        assert abs(wide / high - own[0] / own[1]) < 0.02


def test_figures_take_the_colours_of_the_dark(written):
    light, _ = looked_at(written[1], 400)
    dark, console = looked_at(written[1], 400, "--blink-settings=preferredColorScheme=0")
    assert console == []
    brightness = lambda colour: sum(map(int, re.findall(r"\d+", colour)))  # noqa: E731
    assert brightness(light["paper"]) > 700 > 150 > brightness(light["ink"])
    assert brightness(dark["ink"]) > 600 > 150 > brightness(dark["paper"])
