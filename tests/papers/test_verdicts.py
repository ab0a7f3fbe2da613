"""The figures' verdicts follow from their tables: other numbers would give other verdicts."""

from benchmarks.papers import p000_figure1
from benchmarks.papers.common import load
from benchmarks.papers.finding import Verdict

HOLDS, FAILS = Verdict.HOLDS, Verdict.FAILS


def verdict_of(module, rows, start):
    (finding,) = [f for f in module.findings(rows) if f.claim.startswith(start)]
    return finding.verdict


def test_a_splitting_of_second_order_with_minibatches_would_be_called_so():
    claim, rows = "bias of splitting is of order 2 in h, B = 10", load("p000_figure1")
    assert verdict_of(p000_figure1, rows, claim) is FAILS
    for row in rows:
        if row["integrator"] == "splitting" and row["batch"] == 10:
            row["measured"] = row["exact"] = 50.0 * row["step_size"] ** 2
            row["error"] = 0.01 * row["measured"]
    assert verdict_of(p000_figure1, rows, claim) is HOLDS
