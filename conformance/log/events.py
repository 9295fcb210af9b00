"""The event log: one NDJSON line per event in gzip. Every report is a pure function of it.

`zcat events.ndjson.gz` shows the lines. The compressed stream is flushed at most a second after an event, so that a run
that ends suddenly leaves a readable file. Logs of older versions, which are plain NDJSON, can also be read.

Every event is a JSON object with `event`, its kind. The kinds and their members:

* `run.started`: `run_id`, `suite_version`, `seed`, `started_at` (unix seconds), `target` (`name`, `surfaces`: name to
  address), `chains`, `non_defaults` (array of `{key, value}`), `claims`, `rows` (ids selected), `options` of the
  command, `quick` (whether the run is a quick look, which gives no verdict), `not_yours` (which part of the suite is
  judged if no surface of the operator is, else null), `checks` (pairs of a check and its scheduling:
  `together`, `chain …` or `alone`), `workers`, `variables` (names of the operator's secrets, such as a tenant's key,
  which replace them in requests), `not_alone` (check to the reason why no single request shows what it finds).
* `run.waiting`: `shared` (a resource that another run uses; this run waits for its end).
* `check.started`: `check` (id), `rows`.
* `check.shortened`: `check`, `rows`, `what`, `tried`, `of`: only `tried` of the `of` cases were tried. Rows that a
  quick look skips have judgements with the verdict `left_out`.
* `exchange`: `n` (1, 2, … within the run), `check`, `ordinal` (1, 2, … within the check), `retry` (whether it repeats
  an exchange because the target asked for it), `request` `{method, url, path, headers, body}`, `response` `{status,
  headers, body, body_bytes, milliseconds}` or null, `error` or null, `worker` (the address that it was sent to; absent
  if the service has no list of workers). Headers are pairs of name and value. A body is text, or null in a request
  without one. The file contains a long body once. At its later places, `{line, of}` names the line, from 1, and the
  side, `request` or `response`, that contain it; `read_log` puts it back. A request has also `names`: the places in
  `url`, `headers` (by the field's index, from 0) and `body` of the `$NAMES` that the suite inserted, each `[place,
  length]`; any other `$` was sent. It has `whole`, false, if its body is not text or was cut. The curl line and the
  template of a request follow from it; see `recorded`.
* `arrival`: `n` (in the same sequence as exchanges), `destination` (its name), `request` `{method, url, path, headers,
  body, names}` as the target sent it to the suite, `response` (the suite's) or null, `error` (why it is absent) or
  null.
* `judgement`: `check`, `row`, `verdict`, `expected`, `found`, `exchange` (the `n` of an exchange or arrival, or null),
  `hint`, `where` (lane, operation …).
* `scene`: `check`, `lane`, `runs` (how often the payer under test was started), `received` and `spent` (atomic units
  that arrived at the payee, and that left the payer's account).
* `check.finished`: `check`, `seconds`, `outcome` (`done`, `unreachable`, `lacking`, `fault`, `cancelled`), `error` or
  null.
* `note`: `check`, `text`: information that affects no verdict.
* `comparison`: a receipt of the target and one of another target for the same call: `call`, `lane` (null if
  the call is free), `left` and `right` `{name, source, place, exchange, verified, fault, receipt}` (the target's name,
  the address called, the receipt's place in the answer, the `n` of the answer, whether it verifies with its target's
  published keys, why it does not or is not there, the compact JWS), `missing` (why nothing is compared, or null),
  `grade` (the worst of the claims, or null), `claims`: array of `{part, name, left, right, grade, why}`, the values as
  JSON text, `grade` `same`, `expected` (it must or may differ) or `matters`. Values are compared before secrets
  are replaced.
* `row`: `id`, `verdict`, `reason` or null, `checks`, `expected_failure` (null, `expected`, `unexpected_pass`,
  `expired`, `unmatched`).
* `run.finished`: `seconds`, `exit_code`, `interrupted`, `counts` (verdict to number).

The log contains no secrets: the recording client replaces them first.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import orjson

from conformance.log.file import LogFile, read_numbered_events
from conformance.log.thread_ownership import Owned
from conformance.text.files import refuse_link
from conformance.text.json_safe import json_safe

Event = Mapping[str, Any]

# The `check` member of a note about the whole run.
WHOLE_RUN: Final = "run"

# Name of the log in a report folder, and its name in older versions, which did not compress it.
LOG: Final = "events.ndjson.gz"
_PLAIN_LOG: Final = "events.ndjson"


def log_in(folder: Path) -> Path:
    """Return the path of a report folder's event log: `events.ndjson.gz`, or a plain one of an older version.

    Raises:
        OSError: The log is a symbolic link. A stranger's folder must not name another file of its reader.
    """
    plain = folder / _PLAIN_LOG
    log_path = plain if plain.exists() and not (folder / LOG).exists() else folder / LOG
    if log_path.exists():
        refuse_link(log_path)
    return log_path


class EventLog(Owned):
    """The events of a run in order; also written to a file, one line each, if a path is given."""

    def __init__(self, path: Path | None = None) -> None:
        self._events: list[Event] = []
        self._listeners: list[Callable[[Event], None]] = []
        self._finished = False
        self._file: LogFile | None = None
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = LogFile(path)

    def listen(self, listener: Callable[[Event], None]) -> None:
        """Call `listener` with each later event, for example to show progress.

        If the listener raises an exception, it is not called again, and a note reports it.
        """
        self._listeners.append(listener)

    def add(self, event: str, **members: Any) -> None:
        """Append one event. A value that JSON cannot carry, which a target may send, becomes its text.

        Events after `run.finished` are dropped.
        """
        self._check_owner()
        # Cancelled checks of an interrupted run may still report. The verdicts are already written, and the log
        # must agree with them.
        if self._finished:
            return
        self._finished = event == "run.finished"
        line: Event = {"event": event, **members}
        try:
            self._write(line)
        except TypeError:
            line = json_safe(line)
            self._write(line)
        self._events.append(line)
        for listener in tuple(self._listeners):
            try:
                listener(line)
            # A fault of the display must not decide the exit code of a run.
            except Exception as fault:  # noqa: BLE001 - whatever it is, the run goes on without this display
                self._listeners.remove(listener)
                if not self._finished:
                    self._keep_fault(fault)

    def _keep_fault(self, fault: Exception) -> None:
        """Append a note about a display that failed."""
        # The note contains the place and not the message, which may quote text of the target.
        place = traceback.extract_tb(fault.__traceback__)[-1]
        where = f"{type(fault).__name__} in {Path(place.filename).name}, line {place.lineno}"
        line: Event = {
            "event": "note",
            "check": WHOLE_RUN,
            "text": f"the display of the run failed and was turned off ({where}); no verdict depends on it",
        }
        self._write(line)
        self._events.append(line)

    def _write(self, line: Event) -> None:
        if self._file is None:
            # Without a file the line is encoded all the same, so that an event that cannot be written is found
            # in every run.
            orjson.dumps(line, default=str)
        else:
            self._file.write(line)

    @property
    def events(self) -> tuple[Event, ...]:
        """All events so far."""
        self._check_owner()
        return tuple(self._events)

    def of(self, kind: str) -> Iterable[Event]:
        """Return the events of one kind."""
        self._check_owner()
        return (event for event in self._events if event["event"] == kind)

    def close(self) -> None:
        """Flush and close the file, if any."""
        if self._file is not None:
            self._file.close()
            self._file = None


def read_log(path: Path) -> tuple[Event, ...]:
    """Return the events of a log, compressed or plain.

    A last line without its line feed, which a sudden end of the run leaves, is left out.

    Raises:
        ValueError: A line is not a JSON object with `event`; the text contains its number.
    """
    events = []
    for number, event in read_numbered_events(path):
        if not isinstance(event, dict) or not isinstance(event.get("event"), str):
            raise ValueError(f"{path}: line {number} is not an event")  # noqa: TRY004 - a fault of the file
        events.append(event)
    return tuple(events)
