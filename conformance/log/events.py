"""The event log: one NDJSON line per event in gzip, the single truth that every report is a pure function of.

`zcat events.ndjson.gz` shows the lines. What is written is compressed up to here at least once a second, so that a run
that ends suddenly leaves a file that can be read up to there. Logs from before, plain NDJSON, are read as well.

Every event is a JSON object with `event`, its kind. The kinds and their members:

* `run.started`: `run_id`, `suite_version`, `seed`, `started_at` (unix seconds), `target` (`name`, `surfaces`: name to
  address), `chains`, `non_defaults` (array of `{key, value}`), `claims`, `rows` (ids selected), `options` of the
  command, `quick` (whether the run is a quick look, which gives no verdict), `not_yours` (what of the suite's own is
  judged where nothing of the operator's is, else null), `checks` (pairs of a check and the company it runs in:
  `together`, `chain …` or `alone`), `workers`, `variables` (names of what the operator gave, such as a tenant's key,
  which stand in requests in its place), `not_alone` (check to why no single request shows what it finds).
* `run.waiting`: `shared` (words for what another run uses, whose end this run waits for).
* `check.started`: `check` (id), `rows`.
* `check.shortened`: `check`, `rows`, `what`, `tried`, `of`: so many were tried of what could be. What a quick look
  leaves out has judgements with the verdict `left_out`.
* `exchange`: `n` (1, 2, … within the run), `check`, `ordinal` (1, 2, … within the check), `retry` (whether it repeats
  an exchange because the target asked for it), `request` `{method, url, path, headers, body}`, `response` `{status,
  headers, body, body_bytes, milliseconds}` or null, `error` or null. Headers are pairs of name and value. A body is
  text, or null in a request without one. In the file a long body stands once: where it comes again, `{line, of}` says
  in which line, from 1, and of what, `request` or `response`, it stands; `read_log` puts the text there. A request has
  `names` as well: where in `url`, `headers` (by the field's place, from 0) and `body` the `$NAMES` stand that the suite
  put there, each `[place, length]`; any other `$` is what was sent. It has `whole`, false, where its body is no text or
  was cut. The curl line and the template of a request follow from it; see `recorded`.
* `arrival`: `n` (of the same count as exchanges), `destination` (its name), `request` `{method, url, path, headers,
  body, names}` as the target sent it to us, `response` (ours) or null, `error` or null (why we gave none).
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
  `expired`, `unmatched`).
* `run.finished`: `seconds`, `exit_code`, `interrupted`, `counts` (verdict to number).

Secrets never get here: the recording client takes them out first.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import orjson

from conformance.log.file import LogFile, read_numbered_events
from conformance.log.owner import Owned
from conformance.text.files import refuse_link
from conformance.text.json_safe import json_safe

Event = Mapping[str, Any]

# What a note that is of the whole run has for its check.
WHOLE_RUN: Final = "run"

# Name of the log in a report folder, and what it was called before it was compressed.
LOG: Final = "events.ndjson.gz"
_PLAIN_LOG: Final = "events.ndjson"


def log_in(folder: Path) -> Path:
    """Return the event log of a report folder: `events.ndjson.gz`, unless there is only a plain one from before.

    Raises:
        OSError: It is a symbolic link: a folder that others made must not name another file of its reader.
    """
    plain = folder / _PLAIN_LOG
    log_path = plain if plain.exists() and not (folder / LOG).exists() else folder / LOG
    if log_path.exists():
        refuse_link(log_path)
    return log_path


class EventLog(Owned):
    """Collects events in order, and writes each to a file as one line when it has one."""

    def __init__(self, path: Path | None = None) -> None:
        self._events: list[Event] = []
        self._listeners: list[Callable[[Event], None]] = []
        self._finished = False
        self._file: LogFile | None = None
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = LogFile(path)

    def listen(self, listener: Callable[[Event], None]) -> None:
        """Call `listener` with each later event, for progress.

        A listener only shows what happens. If it raises, it is not called again and a note says so: a fault of the
        display must not decide the exit code.
        """
        self._listeners.append(listener)

    def add(self, event: str, **members: Any) -> None:
        """Append one event; what JSON cannot carry (a target may send it) becomes its text, in memory and file.

        What checks of an interrupted run still say after its end is dropped: the rows are judged without it.
        """
        self._check_owner()
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
            except Exception as fault:  # noqa: BLE001 - whatever it is, the run goes on without this display
                self._listeners.remove(listener)
                if not self._finished:
                    self._keep_fault(fault)

    def _keep_fault(self, fault: Exception) -> None:
        """Append a note about a display that failed; its place only, since its text may quote what the target sent."""
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
    """Read an event log back, compressed or plain.

    A last line that was torn by a sudden end of the run (it lacks its line feed) is left out.

    Raises:
        ValueError: A line is not a JSON object with `event`; its text says which.
    """
    events = []
    for number, event in read_numbered_events(path):
        if not isinstance(event, dict) or not isinstance(event.get("event"), str):
            raise ValueError(f"{path}: line {number} is not an event")  # noqa: TRY004 - a fault of the file, not of a type
        events.append(event)
    return tuple(events)
