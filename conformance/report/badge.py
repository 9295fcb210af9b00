"""`badge.svg`: the verdict at a glance, in plain SVG without fonts or links of its own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from markupsafe import escape

from conformance.log.events import Event
from conformance.outcome import Exit, Verdict
from conformance.report.conclusion import QUICK_LOOK, headline
from conformance.report.summary import Summary, summarise

_COLOURS: Final[Mapping[int | None, str]] = {
    Exit.FAILED: "#b42318",
    Exit.SUITE_FAULT: "#8b0f4d",
}
_CLEAN: Final = "#1a7f4b"
_BUT_FOR: Final = "#8a5a00"
_OTHER: Final = "#7a3e9d"
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
    left, right = 10 + 9 * _CHARACTER, 10 + len(text) * _CHARACTER
    return _SVG.format(
        width=left + right,
        left=left,
        flat=right - 4,
        colour=_colour(summary),
        label=escape(f"weldproof: {text}"),
        text=escape(text),
        name_at=left // 2,
        name_length=left - 10,
        text_at=left + right // 2,
        text_length=right - 10,
    ).encode("utf-8")


def _colour(summary: Summary) -> str:
    """Return the colour of the outcome: green for no quick look, and not while a MUST is broken."""
    if summary.is_clean:
        return _CLEAN
    if summary.exit_code == Exit.PASSED and not summary.quick:
        return _BUT_FOR
    return _COLOURS.get(summary.exit_code, _OTHER)


def _text(summary: Summary) -> str:
    counts = summary.counts
    breaches = [f"{counts[one]} {one.value}" for one in (Verdict.FAIL, Verdict.WARN) if counts[one]]
    if summary.quick and summary.exit_code == Exit.PASSED:
        return ", ".join([QUICK_LOOK.lower(), "no verdict", *breaches])
    passed = "without a breach" if summary.quick else "pass"
    # Warnings are counted behind.
    outcome = headline(summary).lower().partition(" with ")[0].rstrip(",")
    return ", ".join([outcome, f"{counts[Verdict.PASS]} {passed}", *breaches])
