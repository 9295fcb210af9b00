"""The causes of the rows that need attention: rows of one cause are listed together, the first cause first.

One fault, or one unbound key, decides many rows at once. Rows have one cause in three cases: the target refused them in
the same way (one status and one code), they found the same, or the reason why they are open is the same or names
another row that needs attention. Parts that differ from row to row, such as a path, a lane, a number or a token, are
not compared.

An answer below 400 says nothing about why the target accepted what it should have refused. Two such rows have one cause
only if they also expected the same and tried the same.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from conformance.outcome import Verdict
from conformance.report.exchange import Exchange
from conformance.report.row_result import RowResult
from conformance.text.target_text_escaping import one_line
from conformance.vocabulary.profile_claims import LANES

# Status codes from here on are refusals.
_REFUSAL: Final = 400
# Addresses, paths, lanes, long tokens and numbers. They differ between rows that one fault broke.
_VARIABLE_PARTS: Final = re.compile(
    rf"https?://\S+|/[\w./{{}}<>:%-]+|\b(?:{'|'.join(LANES)})\b|[A-Za-z0-9_+=-]{{20,}}|\b\d+(?:\.\d+)?\b"
)
_ROW: Final = re.compile(r"\b(?:GW|RAIL|AGENT|CP|WH|X)-[A-Z0-9]+-\d{2}\b")
_LONGEST: Final = 400
# Number of characters. A shorter finding, such as `None` or `402`, means nothing without the expectation.
_SHORTEST_FINDING: Final = 12


@dataclass(frozen=True, slots=True)
class Cause:
    """Rows that one cause decided.

    Attributes:
        text: Description of the cause, taken from its first row.
        rows: Its rows: breaches before open rows, and among equals the one that was judged first, which reports print
            in full.
    """

    text: str
    rows: tuple[RowResult, ...]


def with_causes(
    rows: Sequence[RowResult], exchanges: Mapping[int, Exchange], judgement_places: Mapping[str, int]
) -> tuple[RowResult, ...]:
    """Return the rows; each one that needs attention gets the description of its cause and the cause's place.

    Args:
        rows: Every row of a run.
        exchanges: The exchanges that they cite, by number.
        judgement_places: Place in the log of the judgement that made a row's verdict, by the row's id.
    """
    attention = {row.id: row for row in rows if row.needs_attention}
    keys = {row_id: _key(row, exchanges) for row_id, row in attention.items()}
    roots = {row_id: _root(row_id, attention) for row_id in attention}
    groups: dict[str, list[RowResult]] = {}
    for row_id, row in attention.items():
        groups.setdefault(keys[roots[row_id]], []).append(row)

    # Breaches come before open rows, and among equals the one that was judged first: later ones often follow from it.
    def at(row: RowResult) -> tuple[bool, int]:
        return row.verdict not in {Verdict.ERROR, Verdict.FAIL}, judgement_places.get(row.id, len(judgement_places))

    cause_by_row: dict[str, tuple[str | None, int | None, int | None]] = {}
    for place, group in enumerate(sorted(groups.values(), key=lambda group: min(map(at, group))), start=1):
        own = [row for row in group if roots[row.id] == row.id]
        # The row that is the origin of the others describes the cause best.
        text = _words(min(own or group, key=at), exchanges)
        cause_by_row |= {row.id: (text, place, order) for order, row in enumerate(sorted(group, key=at), start=1)}
    row_causes = ((row, *cause_by_row.get(row.id, (None, None, None))) for row in rows)
    return tuple(
        replace(row, cause=text, cause_place=place, cause_order=order) for row, text, place, order in row_causes
    )


def causes(attention: Iterable[RowResult]) -> tuple[Cause, ...]:
    """Return the causes in their order, each with its rows."""
    groups: dict[int, list[RowResult]] = {}
    for row in attention:
        groups.setdefault(row.cause_place or 0, []).append(row)
    # Reports of earlier versions have no order within a cause.
    ordered = ((place, sorted(rows, key=lambda row: row.cause_order or 0)) for place, rows in sorted(groups.items()))
    return tuple(Cause(rows[0].cause or "", tuple(rows)) for _, rows in ordered)


def _root(row_id: str, attention: Mapping[str, RowResult]) -> str:
    """Return the row that is the reason why a row is undecided; the row itself if its reason names none."""
    # The chain of reasons is followed to its end: row A is open because of row B, which is open because of row C.
    visited = [row_id]
    while True:
        row = attention[visited[-1]]
        # Only undecided rows name their origin. Two rows may name each other, so visited rows are
        # skipped.
        reason = row.reason or "" if row.verdict is Verdict.INCONCLUSIVE else ""
        onward = next((one for one in _ROW.findall(reason) if one in attention and one not in visited), None)
        if onward is None:
            return visited[-1]
        visited.append(onward)


def _key(row: RowResult, exchanges: Mapping[int, Exchange]) -> str:
    finding = row.decisive_findings[0] if row.decisive_findings else None
    if row.verdict is Verdict.INCONCLUSIVE or finding is None:
        return f"open: {_without_variable_parts(row.reason or row.id)}"
    refusal = _refusal(exchanges.get(finding.exchange or 0), finding.found)
    if refusal is not None:
        return f"refused: {refusal}"
    found = _without_variable_parts(finding.found or "")
    if _is_acceptance(exchanges.get(finding.exchange or 0), finding.found or ""):
        tried = "; ".join(f"{name} {_without_variable_parts(value)}" for name, value in sorted(finding.where.items()))
        return f"accepted: {tried}: {_without_variable_parts(finding.expected)}: {found}"
    if len(finding.found or "") > _SHORTEST_FINDING:
        return f"found: {found}"
    expectation = _without_variable_parts(finding.expected)
    # "415" and "1005000" are two expectations. A number that is the whole expectation is no variable part of it.
    has_words = any(letter.isalpha() for letter in expectation)
    return f"{expectation if has_words else finding.expected}: {found}"


def _words(row: RowResult, exchanges: Mapping[int, Exchange]) -> str:
    """Return the description of a cause, from one of its rows."""
    finding = row.decisive_findings[0] if row.decisive_findings else None
    if row.verdict is Verdict.INCONCLUSIVE or finding is None:
        return one_line(row.reason or "no reason given", _LONGEST)
    refusal = _refusal(exchanges.get(finding.exchange or 0), finding.found)
    if refusal is not None:
        return f"answered {one_line(refusal, _LONGEST)}"
    finding_text = finding.found or ""
    return one_line(f"found {finding_text}" if len(finding_text) > _SHORTEST_FINDING else finding.contrast, _LONGEST)


def _refusal(exchange: Exchange | None, finding_text: str | None) -> str | None:
    """Return status and code of a refusal, if the finding mentions one of the two; else None."""
    if exchange is None or exchange.response is None or exchange.response.status < _REFUSAL or finding_text is None:
        return None
    status, code = str(exchange.response.status), _code(exchange.response.body)
    if status not in finding_text and (code is None or code not in finding_text):
        return None
    return status if code is None else f"{status} {code}"


def _is_acceptance(exchange: Exchange | None, finding_text: str) -> bool:
    """Return whether the finding is that the target answered a request with a status below 400."""
    if exchange is None or exchange.response is None or exchange.delivered_to is not None:
        return False
    return exchange.response.status < _REFUSAL and finding_text.startswith(str(exchange.response.status))


def _code(body: str) -> str | None:
    """Return the code of an error body: its `error`, `code` or `title`, at the top or in an object `error`."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return None
    inner = value.get("error") if isinstance(value, dict) else None
    # Error bodies have no common form: `error` may be the code itself, or an object that contains
    # it.
    for place in (inner, value):
        for name in ("error", "code", "title"):
            if isinstance(place, dict) and isinstance(place.get(name), str):
                return str(place[name])
    return None


def _without_variable_parts(text: str) -> str:
    # Two findings that differ only in a path, an id or a number have the same cause.
    return _VARIABLE_PARTS.sub("…", one_line(text, 2 * _LONGEST))
