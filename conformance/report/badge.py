"""`badge.svg`: the verdict at a glance, in plain SVG without fonts or links.

It is shown without the rest of the report, so it is strict. It is green only if the whole suite judged everything that
the operator claims, on the operator's server, and no MUST is broken. It counts the rows that did not apply.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from markupsafe import escape

from conformance.ledger import NEWEST, Requirement, load
from conformance.log.events import Event
from conformance.outcome import Exit, Verdict
from conformance.report.conclusion import QUICK_LOOK, headline
from conformance.report.summary import Summary, summarise
from conformance.text.target_text_escaping import one_line
from conformance.vocabulary.lanes.row_applicability import decided_on

_COLOURS: Final[Mapping[int | None, str]] = {
    Exit.FAILED: "#b42318",
    Exit.SUITE_FAULT: "#8b0f4d",
}
_CLEAN: Final = "#1a7f4b"
_BUT_FOR: Final = "#8a5a00"
_NO_VERDICT_COLOUR: Final = "#7a3e9d"
_VERDICT_WORDS: Final = {
    Verdict.FAIL: "fail",
    Verdict.WARN: "warn",
    Verdict.INCONCLUSIVE: "undecided",
    Verdict.NOT_APPLICABLE: "not applicable",
}
# Average width of a character in pixels at 11 px. `textLength` makes every renderer use this width,
# since fonts differ from machine to machine.
_CHARACTER: Final = 7
_SVG: Final = """\
<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="20" role="img" aria-label="{label}">
<title>{label}</title>
<rect width="{width}" height="20" rx="4" fill="#30363d"/>
<path d="M{left} 0h{flat}a4 4 0 0 1 4 4v12a4 4 0 0 1-4 4h-{flat}z" fill="{colour}"/>
<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11" text-anchor="middle">
<text x="{name_at}" y="14" textLength="{name_length}">weldproof</text>
<text x="{text_at}" y="14" textLength="{text_length}">{text}</text>
</g>
</svg>
"""


def render(events: Iterable[Event]) -> bytes:
    """Return `badge.svg`, UTF-8."""
    summary = summarise(events)
    text = _text(summary)
    name_width, text_width = 10 + 9 * _CHARACTER, 10 + len(text) * _CHARACTER
    return _SVG.format(
        width=name_width + text_width,
        left=name_width,
        flat=text_width - 4,
        colour=_colour(summary),
        label=escape(f"weldproof: {text}"),
        text=escape(text),
        name_at=name_width // 2,
        name_length=name_width - 10,
        text_at=name_width + text_width // 2,
        text_length=text_width - 10,
    ).encode("utf-8")


def _colour(summary: Summary) -> str:
    """Return the colour of the outcome: green only for a complete run without a reservation."""
    if summary.exit_code == Exit.PASSED and not summary.quick and summary.not_yours is None:
        whole = summary.is_clean and not _not_run(summary) and not _skips_certificates(summary)
        return _CLEAN if whole else _BUT_FOR
    return (
        _NO_VERDICT_COLOUR if summary.exit_code == Exit.PASSED else _COLOURS.get(summary.exit_code, _NO_VERDICT_COLOUR)
    )


def _text(summary: Summary) -> str:
    counts = summary.counts
    pass_words = "without a breach" if summary.quick else "pass"
    # The headline names warnings too; here they have their own number, so that part is cut.
    outcome = [headline(summary).lower().partition(" with ")[0].rstrip(","), f"{counts[Verdict.PASS]} {pass_words}"]
    if summary.quick and summary.exit_code == Exit.PASSED:
        outcome = [QUICK_LOOK.lower(), "no verdict"]
    parts = outcome + [f"{counts[one]} {words}" for one, words in _VERDICT_WORDS.items() if counts[one]]
    parts += [f"{_not_run(summary)} not run"] if _not_run(summary) else []
    parts += ["certificates not checked"] if _skips_certificates(summary) else []
    target_prefix = "" if summary.not_yours is None else f"{one_line(summary.not_yours, 40)}: "
    return f"{target_prefix}{', '.join(parts)}"


def _not_run(summary: Summary) -> int:
    """Return how many claimed requirements were not selected, or belong to a lane that was left out."""
    claimed_surfaces = {*summary.claims.get("surfaces", ()), "shared"}
    selected_ids = {row.id for row in summary.rows}
    lanes = frozenset(summary.options.get("lanes") or summary.claims.get("lanes", ()))
    # Counted against the ledger version of the run: a later version has rows that the run could not
    # know.
    ledger = load().at_version(int(summary.options.get("ledger") or NEWEST))
    unselected_count = sum(row.surface in claimed_surfaces and row.id not in selected_ids for row in ledger)
    return unselected_count + sum(
        row.verdict is Verdict.NOT_APPLICABLE and _of_lanes_left_out(row.requirement, summary, lanes)
        for row in summary.rows
    )


def _of_lanes_left_out(row: Requirement, summary: Summary, lanes: frozenset[str]) -> bool:
    """Return whether a row names a lane, and none of its claimed lanes was part of the run."""
    claimed_lanes = {lane for lane in summary.claims.get("lanes", ()) if decided_on(row, lane)}
    return row.lane is not None and bool(claimed_lanes) and claimed_lanes.isdisjoint(lanes)


def _skips_certificates(summary: Summary) -> bool:
    return ("tls.insecure", "true") in summary.non_defaults
