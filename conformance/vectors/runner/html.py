"""The comparison as one page for people: one file, no network, no script, light and dark.

Everything a verifier said is escaped by the template engine and stripped of what hides or moves text; the page's own
content security policy lets nothing but its own style apply.
"""

from __future__ import annotations

from typing import Final

from conformance.report.html import template
from conformance.vectors.runner.judging import Outcome
from conformance.vectors.runner.verifier_comparison import Comparison

# What a result looks like: a tone of the report's page.
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
    """Return the page, UTF-8."""
    kinds = [kind for family in outcomes.families for kind in family.kinds]
    page = template("verifiers.html.j2").render(
        found=outcomes, tones=TONES, kinds=len(kinds), differing=sum(kind.differs for kind in kinds)
    )
    return page.encode("utf-8")
