"""An exchange as a page shows it: what differs from run to run stands in one form, what shows the breach stays. Pure.

Times keep their distance from each other and begin at one moment; digests and ids keep their length, case and identity;
ports have a name; long values are cut. Secrets and live values had names before.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import re
from email.utils import format_datetime, parsedate_to_datetime
from typing import Final

# When a recorded run begins, on every page.
FIRST_SECOND: Final = int(dt.datetime(2026, 1, 1, 12, tzinfo=dt.UTC).timestamp())
_LONGEST_WORD: Final = 64
_LONGEST_TEXT: Final = 32
# So far from its beginning a number of that size is a time of the run: its clock may be moved by days.
_NEAR_SECONDS: Final = 400 * 86_400

_PORT: Final = re.compile(r"\b(localhost|127\.0\.0\.1)(:|%3A)\d{4,5}\b", re.IGNORECASE)
_ISO: Final = re.compile(r"\b20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d")
_HTTP_DATE: Final = re.compile(r"\b[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} 20\d\d \d\d:\d\d:\d\d GMT\b")
_UNIX: Final = re.compile(r"(?<![\w.])\d{10}(\d{3})?(?!\w)")
_UUID: Final = r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}"
_ID: Final = re.compile(rf"(?<![0-9A-Za-z])(?:{_UUID}|[0-9a-f]{{24,}}|[0-9A-F]{{24,}})(?![0-9A-Za-z])")
_LONG: Final = re.compile(rf"[A-Za-z0-9_+/\-]{{{_LONGEST_WORD + 1},}}={{0,2}}")


class Stable:
    """The form of one row's example.

    Args:
        row: Id of the row; stand-ins of different rows differ.
        started_at: When the run began, in unix seconds.
    """

    def __init__(self, row: str, started_at: int) -> None:
        self._row = row
        self._started_at = started_at
        self._ids: dict[str, str] = {}

    def text(self, text: str) -> str:
        """Return a text of the example."""
        text = _PORT.sub(r"\1\2$PORT", text)
        text = _ID.sub(lambda found: self._ids.setdefault(found[0], self._stand_in(found[0])), text)
        text = _HTTP_DATE.sub(lambda found: self._http(found[0]), text)
        text = _ISO.sub(lambda found: self._iso(found[0]), text)
        text = _UNIX.sub(lambda found: self._unix(found[0]), text)
        return _LONG.sub(lambda found: f"{found[0][:_LONGEST_TEXT]}…", text)

    def _stand_in(self, value: str) -> str:
        """Return other hexadecimal digits of the same length and case; the fixed digits of a UUID stay."""
        digits = ""
        while len(digits) < len(value):
            digits += hashlib.sha256(f"{self._row}:{len(self._ids)}:{len(digits)}".encode()).hexdigest()
        fixed_places = {8, 13, 14, 18, 19, 23} if "-" in value else frozenset[int]()
        stand_in = "".join(
            old if place in fixed_places else new for place, (old, new) in enumerate(zip(value, digits, strict=False))
        )
        return stand_in.upper() if value.isupper() else stand_in

    def _shift(self, moment: float) -> float | None:
        """Return a moment as seconds after the page's beginning; None for a number that is no time of the run."""
        after = moment - self._started_at
        return FIRST_SECOND + after if abs(after) < _NEAR_SECONDS else None

    def _iso(self, text: str) -> str:
        shifted_time = self._shift(dt.datetime.fromisoformat(f"{text}+00:00").timestamp())
        return text if shifted_time is None else f"{dt.datetime.fromtimestamp(shifted_time, dt.UTC):%Y-%m-%dT%H:%M:%S}"

    def _http(self, text: str) -> str:
        shifted_time = self._shift(parsedate_to_datetime(text).timestamp())
        return (
            text
            if shifted_time is None
            else format_datetime(dt.datetime.fromtimestamp(shifted_time, dt.UTC), usegmt=True)
        )

    def _unix(self, text: str) -> str:
        seconds, fraction = text[:10], text[10:]
        shifted_time = self._shift(int(seconds))
        return text if shifted_time is None else f"{int(shifted_time)}{fraction}"
