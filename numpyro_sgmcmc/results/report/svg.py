"""Matplotlib figures as SVG elements that use the colours of the page."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from io import StringIO
from typing import Any

INK = "#010203"
"""Placeholder for the text colour of the page, which depends on its mode."""

CYCLE = ("#2f86c8", "#e0761f", "#2f9e6e", "#b8629a", "#8f7a3a", "#7d74c9")
"""Colours that are legible on white and on near-black."""

STYLE: Any = {
    "font.size": 9.0,
    "axes.titlesize": 10.0,
    "axes.labelsize": 9.0,
    "xtick.labelsize": 8.0,
    "ytick.labelsize": 8.0,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": INK,
    "axes.titlecolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.facecolor": "none",
    "figure.facecolor": "none",
    "savefig.facecolor": "none",
    "svg.fonttype": "path",
    "svg.hashsalt": "numpyro_sgmcmc",  # makes the text reproducible
    "path.simplify_threshold": 0.5,
}

_BLACK = re.compile(r"#0{6}|#010203", re.IGNORECASE)


@contextmanager
def page_style() -> Iterator[None]:
    """Plot in the colours of the page.

    Raises:
        ImportError: if matplotlib is missing.
    """
    try:
        import matplotlib
    except ImportError as error:
        raise ImportError(
            "Expected matplotlib, which draws the report's figures; it is not installed. Run"
            ' `pip install "numpyro-sgmcmc[report]"`.'
        ) from error
    cycle = matplotlib.rcParams["axes.prop_cycle"].__class__([{"color": c} for c in CYCLE])
    with matplotlib.rc_context({**STYLE, "axes.prop_cycle": cycle}):
        yield


def as_svg(figure: Any, number: int) -> str:
    """Return a figure as an `<svg>` element; `number` makes its ids unique on the page."""
    buffer = StringIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    text = buffer.getvalue()
    text = text[text.index("<svg") :].strip()
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = _BLACK.sub("currentColor", text)
    wanted = set(re.findall(r"(?:url\(|href=\")#([^)\"]+)", text))

    def renamed(match: re.Match[str]) -> str:
        return f' id="f{number}-{match[1]}"' if match[1] in wanted else ""

    text = re.sub(r' id="([^"]*)"', renamed, text)
    text = re.sub(r"(url\(#|href=\"#)", rf"\g<1>f{number}-", text)
    # The page shows a figure in its original width, and phones shrink it.
    return re.sub(r"^<svg", '<svg focusable="false" aria-hidden="true"', text)
