"""The event log: one NDJSON line per event, the single truth that every report is a pure function of.

Every event is a JSON object with `event`, its kind. The kinds and their members:

* `run.started`: `run_id`, `suite_version`, `seed`, `started_at` (unix seconds), `target` (`name`, `surfaces`: name to
  address), `chains`, `non_defaults` (array of `{key, value}`), `claims`, `rows` (ids selected), `options` of the
  command.
* `check.started`: `check` (id), `rows`.
* `exchange`: `n` (1, 2, … within the run), `check`, `ordinal` (1, 2, … within the check), `retry` (whether it repeats
  an exchange because the target asked for it), `request` `{method, url, path, headers, body, template}`, `response`
  `{status, headers, body, body_bytes, milliseconds}` or null, `error` or null, `curl`. Headers are pairs of name and
  value.
* `arrival`: `n` (of the same count as exchanges), `destination` (its name), `request` `{method, url, path, headers,
  body}` as the target sent it to us, `response` (ours) or null, `error` or null (why we gave none), `curl`, which
  delivers it once more.
* `judgement`: `check`, `row`, `verdict`, `expected`, `found`, `exchange` (the `n` of an exchange or arrival, or null),
  `hint`, `where` (lane, operation …).
* `check.finished`: `check`, `seconds`, `outcome` (`done`, `unreachable`, `lacking`, `fault`, `cancelled`), `error` or
  null.
* `note`: `check`, `text`: something the reader should know that judges nothing.
* `comparison`: a receipt of the target beside that of another target for the same call: `call`, `lane` (null where
  nothing is paid), `left` and `right` `{name, source, place, exchange, verified, fault, receipt}` (the target's name,
  the address called, where the receipt stood, the `n` of the answer, whether it verifies with its own target's
  published keys, why it does not or is not there, the compact JWS), `missing` (why nothing is compared, or null),
  `grade` (the worst of the claims, or null), `claims`: array of `{part, name, left, right, grade, why}`, the values as
  JSON text, `grade` `same`, `expected` (it differs as it must or may) or `matters`. Values are compared before live
  ones are taken out.
* `row`: `id`, `verdict`, `reason` or null, `checks`, `expected_failure` (null, `expected`, `unexpected_pass`,
  `expired`).
* `run.finished`: `seconds`, `exit_code`, `interrupted`, `counts` (verdict to number).

Secrets never get here: the recording client takes them out first.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import orjson

from conformance.encodable import encodable
from conformance.owner import Owned

Event = Mapping[str, Any]


class EventLog(Owned):
    """Collects events in order, and writes each to a file as one line when it has one."""

    def __init__(self, path: Path | None = None) -> None:
        self._events: list[Event] = []
        self._listeners: list[Callable[[Event], None]] = []
        self._file: io.BufferedWriter | None = None
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = path.open("wb")

    def listen(self, listener: Callable[[Event], None]) -> None:
        """Call `listener` with each later event, for progress."""
        self._listeners.append(listener)

    def add(self, event: str, **members: Any) -> None:
        """Append one event; what JSON cannot carry (a target may send it) becomes its text, in memory and file."""
        self._owned()
        line: Event = {"event": event, **members}
        try:
            text = orjson.dumps(line, default=str)
        except TypeError:
            line = encodable(line)
            text = orjson.dumps(line)
        self._events.append(line)
        if self._file is not None:
            self._file.write(text + b"\n")
        for listener in self._listeners:
            listener(line)

    @property
    def events(self) -> tuple[Event, ...]:
        """All events so far."""
        self._owned()
        return tuple(self._events)

    def of(self, kind: str) -> Iterable[Event]:
        """Return the events of one kind."""
        self._owned()
        return (event for event in self._events if event["event"] == kind)

    def close(self) -> None:
        """Flush and close the file, if any."""
        if self._file is not None:
            self._file.close()
            self._file = None


def read(path: Path) -> tuple[Event, ...]:
    """Read an event log back.

    A last line that was torn by a sudden end of the run (it lacks its line feed) is left out.

    Raises:
        ValueError: A line is not a JSON object with `event`; its text says which.
    """
    events = []
    data = path.read_bytes()
    whole = data[: data.rfind(b"\n") + 1]
    for number, line in enumerate(whole.splitlines(), start=1):
        try:
            event = orjson.loads(line)
        except orjson.JSONDecodeError as fault:
            raise ValueError(f"{path}: line {number} is not JSON: {fault}") from fault
        if not isinstance(event, dict) or not isinstance(event.get("event"), str):
            raise ValueError(f"{path}: line {number} is not an event")  # noqa: TRY004 - a fault of the file, not of a type
        events.append(event)
    return tuple(events)
