"""The form that filters a list of payments: a text and two days, as an address names them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from urllib.parse import parse_qs, urlencode

from reference.gateway import refusals
from reference.protocol.service_word import ServiceWord
from reference.store.payment_text_search import PaymentSearch

LONGEST_TEXT = 255
_FIELDS = ("search", "from", "to")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", re.ASCII)
_DAY_SECONDS = 86_400
# Days are converted by their ordinals, because the machine's time zone must not matter.
_EPOCH = date(1970, 1, 1).toordinal()
_SENTENCES = {
    "search": f"Search for one line of at most {LONGEST_TEXT} characters.",
    "from": "Give the first day like 2026-01-31.",
    "to": "Give the last day like 2026-01-31.",
}
_ORDER = "Give a last day that is not before the first."


@dataclass(frozen=True, slots=True)
class PaymentFilter:
    """A filter as it was filled in.

    Attributes:
        fields: The text of each field.
        faults: What is wrong, by field; if anything is, nothing is to be listed.
        search: What it selects.
    """

    fields: Mapping[str, str]
    faults: Mapping[str, str]
    search: PaymentSearch

    @property
    def is_set(self) -> bool:
        """Whether a field is filled in."""
        return any(self.fields.values())

    @property
    def query(self) -> str:
        """The query of an address with this filter, empty if no field is filled in."""
        return urlencode({name: value for name, value in self.fields.items() if value})

    @property
    def file_name(self) -> str:
        """The name of a file with what it selects. It contains only the days, which are digits and hyphens."""
        days = [self.fields[name] and f"-{word}-{self.fields[name]}" for name, word in (("from", "from"), ("to", "to"))]
        return f"payments{''.join(days)}.csv"


def read_filter(query: str, word: ServiceWord) -> PaymentFilter:
    """Return the filter that an address names. Days are those of UTC; the last one is included.

    Args:
        query: The raw query of the address.
        word: The service word, with which the memo of every payment begins.

    Raises:
        Refused: 400, a field is named several times.
    """
    values = parse_qs(query, keep_blank_values=True, errors="replace")
    if any(len(values.get(name, ())) > 1 for name in _FIELDS):
        raise refusals.invalid_request("the address names a field of the filter several times")
    fields = {name: values.get(name, [""])[0].strip() for name in _FIELDS}
    faults: dict[str, str] = {}
    # PostgreSQL has no text with NUL in it, and a control character cannot be typed into the field.
    if len(fields["search"]) > LONGEST_TEXT or _CONTROL.search(fields["search"]):
        faults["search"] = _SENTENCES["search"]
    days: dict[str, int | None] = {}
    for name in ("from", "to"):
        try:
            days[name] = _start_of_day(fields[name]) if fields[name] else None
        except ValueError:
            faults[name] = _SENTENCES[name]
    first, last = days.get("from"), days.get("to")
    if first is not None and last is not None and last < first:
        faults["to"] = _ORDER
    if faults:
        return PaymentFilter(fields, faults, PaymentSearch())
    until = None if last is None else last + _DAY_SECONDS
    return PaymentFilter(fields, {}, PaymentSearch(fields["search"], _memo_part(fields["search"], word), first, until))


def _memo_part(text: str, word: ServiceWord) -> str:
    """Return a text without the prefix of a memo."""
    prefix = word.memo("")
    # Every memo begins with the service word. A payer's note contains it, and the stored token does not.
    return text[len(prefix) :] if text.lower().startswith(prefix) else text


def _start_of_day(text: str) -> int:
    """Return the unix seconds at which a day begins in UTC.

    Raises:
        ValueError: It is not a day.
    """
    if _DAY.fullmatch(text) is None:
        raise ValueError(text)
    return (date.fromisoformat(text).toordinal() - _EPOCH) * _DAY_SECONDS
