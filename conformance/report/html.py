"""`index.html`: one file for people, no network, useful without script, light and dark.

Everything a target sent is escaped by the template engine and stripped of what hides or moves text; the page's own
content security policy lets run nothing but its own style and script, so that no body can act on the reader.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Final

from jinja2 import Environment, FunctionLoader, StrictUndefined, Template
from markupsafe import Markup, escape

from conformance.log.events import Event
from conformance.outcome import Exit, Verdict
from conformance.report.conclusion import (
    SURFACES,
    WORDS,
    describe_standing,
    duration,
    expectation,
    headline,
    rests_on,
    sentence,
    start_time,
    words,
)
from conformance.report.detail import place
from conformance.report.exchange import Exchange
from conformance.report.receipt_comparison import GRADES
from conformance.report.replay_line import READ_LATER
from conformance.report.row_result import NOTHING, Finding, RowResult
from conformance.report.summary import Summary, summarise
from conformance.text.target_text_escaping import one_line, show_shortened
from conformance.vocabulary.profile_claims import LANES

# The page is for people. It shows so much of each body and text, and so many rows and findings, that a run with
# hundreds of breaches stays readable. `report.json` has the rest.
BODY_LIMIT: Final = 16_000
TEXT_LIMIT: Final = 4_000
SHOWN_FINDINGS: Final = 20
SHOWN_PASSES: Final = 12
SHOWN_OF_CAUSE: Final = 6
LEVELS: Final = ("MUST", "SHOULD", "MAY")
# From judged to not judged, and among the judged from best to worst, so that equal colours of two runs line up.
BAR_ORDER: Final = (
    Verdict.PASS,
    Verdict.WARN,
    Verdict.FAIL,
    Verdict.ERROR,
    Verdict.INCONCLUSIVE,
    Verdict.NOT_APPLICABLE,
    Verdict.DOCUMENTED,
    Verdict.LEFT_OUT,
)


@dataclass(frozen=True, slots=True)
class Segment:
    """One verdict's part of the bar, in percent of its width."""

    verdict: Verdict
    count: int
    start: float
    width: float


@dataclass(frozen=True, slots=True)
class ShownFinding:
    """A finding with its exchange, or with the number of one that another row of the list shows."""

    finding: Finding
    exchange: Exchange | None
    shown_elsewhere: int | None


@dataclass(frozen=True, slots=True)
class Card:
    """A row of the list, with what was found against it."""

    row: RowResult
    lanes: tuple[str, ...]
    findings: tuple[ShownFinding, ...]
    more: int


@dataclass(frozen=True, slots=True)
class Surface:
    """The rows of one surface by group.

    Attributes:
        name: As profiles call it.
        title: In words.
        groups: Name of each group and its rows, in ledger order.
        broken: Whether one of them by itself fails the run.
    """

    name: str
    title: str
    groups: tuple[tuple[str, tuple[Card, ...]], ...]
    broken: bool

    @property
    def rows(self) -> tuple[RowResult, ...]:
        """All its rows."""
        return tuple(card.row for _, cards in self.groups for card in cards)

    @property
    def attention(self) -> int:
        """How many of them need attention."""
        return sum(row.needs_attention for row in self.rows)


def render(events: Iterable[Event]) -> bytes:
    """Return `index.html`, UTF-8."""
    summary = summarise(events)
    page = template("page.html.j2").render(
        summary=summary,
        tone=_tone(summary),
        headline=headline(summary),
        sentence=sentence(summary),
        started=start_time(summary),
        duration=duration(summary),
        rests_on=rests_on(summary),
        words=words(summary),
        segments=tuple(_segments(summary)),
        causes=tuple((cause, cause.rows[0].against[:1]) for cause in summary.causes),
        surfaces=(surfaces := tuple(_by_surface(summary))),
        levels=tuple(level for level in LEVELS if any(row.requirement.level == level for row in summary.rows)),
        lanes=tuple(lane for lane in LANES if any(lane in card.lanes for card in _cards(surfaces))),
    )
    return page.encode("utf-8")


@cache
def template(name: str) -> Template:
    """Return a page template of this folder: it escapes, and knows the filters that make foreign text safe to show."""
    folder = files(__package__)
    environment = Environment(
        loader=FunctionLoader(lambda one: folder.joinpath(one).read_text("utf-8")),
        autoescape=True,
        # A misspelt name in a template raises in a test, and does not leave a blank in a report.
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "line": one_line,
        "visible": lambda text: show_shortened(str(text), TEXT_LIMIT),
        "coded": _mark_code,
        "digest": _digest,
        "where": place,
        "expectation": expectation,
        "standing": describe_standing,
    }
    environment.globals |= {
        "WORDS": WORDS,
        "BODY_LIMIT": BODY_LIMIT,
        "NOTHING": NOTHING,
        "replay_command": READ_LATER.command,
        "SHOWN_PASSES": SHOWN_PASSES,
        "SHOWN_OF_CAUSE": SHOWN_OF_CAUSE,
        "GRADES": GRADES,
    }
    return environment.get_template(name)


def _digest(text: str) -> str:
    """Return what a content security policy calls an inline style or script by."""
    # The policy allows style and script by their hash. Markup of a target that got past the escaping could not run.
    return "sha256-" + base64.b64encode(hashlib.sha256(str(text).encode("utf-8")).digest()).decode("ascii")


def _mark_code(text: str) -> Markup:
    """Return a sentence of the ledger with the texts in backticks as code."""
    parts = one_line(text).split("`")
    # An odd number of backticks marks nothing. The sentence is shown as it is written.
    if len(parts) % 2 == 0:
        return escape(one_line(text))
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if place % 2 else escape(part) for place, part in enumerate(parts)
    )


def _tone(summary: Summary) -> str:
    # Exit code 0 is not enough for green: warnings, known breaches and rows that were not tried are part of such a run.
    if summary.exit_code == Exit.PASSED and not summary.is_clean:
        return "inconclusive" if summary.quick else "warn"
    tones: Mapping[int | None, str] = {Exit.PASSED: "pass", Exit.FAILED: "fail", Exit.SUITE_FAULT: "error"}
    return tones.get(summary.exit_code, "inconclusive")


def _segments(summary: Summary) -> Iterator[Segment]:
    total, start = max(1, len(summary.rows)), 0.0
    for verdict in BAR_ORDER:
        count = summary.counts[verdict]
        width = 100 * count / total
        if count:
            yield Segment(verdict, count, round(start, 3), round(width, 3))
        start += width


def _cards(surfaces: Iterable[Surface]) -> Iterator[Card]:
    return (card for surface in surfaces for _, cards in surface.groups for card in cards)


def _card(summary: Summary, row: RowResult, shown: set[int]) -> Card:
    telling = row.against if row.needs_attention else ()
    found = tuple(_excerpt(finding, summary.exchanges, shown) for finding in telling[:SHOWN_FINDINGS])
    return Card(row, _lanes(row), found, max(0, len(telling) - SHOWN_FINDINGS))


def _lanes(row: RowResult) -> tuple[str, ...]:
    """Return the lanes that a row was judged on, or that it is of."""
    named = {row.requirement.lane, *(finding.where.get("lane") for finding in row.findings)}
    return tuple(lane for lane in LANES if lane in named or any(name.endswith(f"[{lane}]") for name in row.checks))


def _excerpt(finding: Finding, exchanges: Mapping[int, Exchange], shown: set[int]) -> ShownFinding:
    exchange = None if finding.exchange is None else exchanges.get(finding.exchange)
    if exchange is None:
        return ShownFinding(finding, None, None)
    # Many rows rest on one exchange, and its bodies are long. It is shown once, and later rows refer to it by number.
    if exchange.n in shown:
        return ShownFinding(finding, None, exchange.n)
    shown.add(exchange.n)
    return ShownFinding(finding, exchange, None)


def _by_surface(summary: Summary) -> Iterator[Surface]:
    found: dict[str, list[tuple[str, tuple[Card, ...]]]] = {}
    shown: set[int] = set()
    for name, rows in summary.groups.items():
        cards = tuple(_card(summary, row, shown) for row in rows)
        found.setdefault(rows[0].requirement.surface, []).append((name, cards))
    for surface, groups in found.items():
        broken = any(summary.breaks(card.row) for _, cards in groups for card in cards)
        yield Surface(surface, SURFACES.get(surface, surface), tuple(groups), broken)
