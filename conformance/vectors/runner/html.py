"""HTML page of a comparison: one file, without network access and scripts, in light and dark colours."""

from __future__ import annotations

from typing import Final

from conformance.report.html import template
from conformance.vectors.runner.judging import Outcome
from conformance.vectors.runner.verifier_comparison import Comparison

# The colour of each outcome, named as in the report.
TONES: Final = {
    Outcome.AGREE: "pass",
    Outcome.OTHER_REASON: "warn",
    Outcome.WRONG_VALUE: "fail",
    Outcome.ACCEPTS: "fail",
    Outcome.REFUSES: "fail",
    Outcome.UNSUPPORTED: "not_applicable",
    Outcome.CRASH: "error",
    Outcome.HANG: "error",
    Outcome.NONSENSE: "error",
}


def render(outcomes: Comparison) -> bytes:
    """Return the page in UTF-8."""
    kinds = [kind for family in outcomes.families for kind in family.kinds]
    # The template engine escapes every text of a verifier, and removes characters that hide or move text. The page's
    # content security policy allows only its own style, so a text that was not escaped could still not run.
    page = template("verifiers.html.j2").render(
        found=outcomes, tones=TONES, kinds=len(kinds), differing=sum(kind.differs for kind in kinds)
    )
    return page.encode("utf-8")
