"""The parts of a run that was shared out among machines, put together again into one event log."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from conformance.ledger import load
from conformance.log.events import Event
from conformance.outcome import Verdict, exit_code
from conformance.report.row_result import UNEXPECTED_OUTCOMES

# What all parts of one run have alike: of `run.started`, and of its options.
_ALIKE: Final = ("suite_version", "seed", "claims", "quick")
_OWN: Final = frozenset({"shard", "kinds", "workers", "config"})


class MergeFault(ValueError):
    """The runs are not the parts of one run; the text says why."""


@dataclass(frozen=True, slots=True)
class _Part:
    """One part: its number, the number of parts, its folder, and its events."""

    number: int
    of: int
    name: str
    events: tuple[Event, ...]

    @property
    def start_event(self) -> Event:
        return next(event for event in self.events if event["event"] == "run.started")

    @property
    def finish_event(self) -> Event:
        return next(event for event in self.events if event["event"] == "run.finished")


def merge_parts(runs: Mapping[str, Sequence[Event]]) -> tuple[Event, ...]:
    """Return the event log of the whole run, with renumbered exchanges, and each row as its part judged it.

    Args:
        runs: The events of each part, by its name.

    Raises:
        MergeFault: A log is not a part, did not end or belongs to another run, or a part is missing or given twice.
    """
    parts = sorted((_part(name, tuple(events)) for name, events in runs.items()), key=lambda part: part.number)
    _check_same_run(parts)
    rows = [row for part in parts for row in part.start_event["rows"]]
    if duplicate_ids := sorted(row for row, count in Counter(rows).items() if count > 1):
        raise MergeFault(f"more than one part judged {', '.join(duplicate_ids[:5])}: these are not parts of one run")
    return (_start_event(parts, rows), *_events_between(parts), *_row_events(parts, rows), _finish_event(parts))


def _part(name: str, events: tuple[Event, ...]) -> _Part:
    start_events = [event for event in events if event["event"] == "run.started"]
    if not start_events:
        raise MergeFault(f"{name}: no run began")
    number, _, of = str(start_events[0]["options"].get("shard", "")).partition("/")
    if not (number.isdecimal() and of.isdecimal()):
        raise MergeFault(f"{name}: it is not a part of a run by `weldproof run --shard I/N`")
    if not any(event["event"] == "run.finished" for event in events):
        raise MergeFault(f"{name}: part {number} did not end")
    return _Part(int(number), int(of), name, events)


def _check_same_run(parts: Sequence[_Part]) -> None:
    if not parts:
        raise MergeFault("no part was given")
    first = parts[0]
    for part in parts[1:]:
        if part.of != first.of:
            raise MergeFault(f"{first.name} is one of {first.of} parts, {part.name} one of {part.of}")
        for name, ours, theirs in _find_differences(first.start_event, part.start_event):
            raise MergeFault(f"{first.name} and {part.name} are of different runs: {name} {ours} and {theirs}")
    # A part that is given twice would count its rows twice, and hide that another one is missing.
    counts = Counter(part.number for part in parts)
    for number, count in counts.items():
        if count > 1:
            names = " and ".join(part.name for part in parts if part.number == number)
            raise MergeFault(f"part {number} of {first.of} is given {count} times: {names}")
    if missing_parts := [str(number) for number in range(1, first.of + 1) if number not in counts]:
        raise MergeFault(f"of {first.of} parts these are missing: {', '.join(missing_parts)}")


def _find_differences(first: Event, second: Event) -> Iterator[tuple[str, object, object]]:
    for name in _ALIKE:
        if first.get(name) != second.get(name):
            yield name, first.get(name), second.get(name)
    if first["target"]["name"] != second["target"]["name"]:
        yield "target", first["target"]["name"], second["target"]["name"]
    ours, theirs = ({k: v for k, v in each["options"].items() if k not in _OWN} for each in (first, second))
    for name in sorted({*ours, *theirs}):
        if ours.get(name) != theirs.get(name):
            yield f"option {name}", ours.get(name), theirs.get(name)


def _start_event(parts: Sequence[_Part], rows: Iterable[str]) -> Event:
    begins = [part.start_event for part in parts]
    not_yours = {begin.get("not_yours") for begin in begins}
    options = {name: value for name, value in begins[0]["options"].items() if name != "shard"}
    return {
        **begins[0],
        # Derived from the parts, so that merging the same parts again gives the same id.
        "run_id": hashlib.sha256(":".join(str(begin["run_id"]) for begin in begins).encode()).hexdigest()[:16],
        "started_at": min(int(begin["started_at"]) for begin in begins),
        "rows": _in_order(rows),
        "non_defaults": list(_values(begins)),
        "checks": [one for begin in begins for one in begin.get("checks", ())],
        "not_alone": {check: why for begin in begins for check, why in begin.get("not_alone", {}).items()},
        "options": {**options, "parts": len(parts)},
        # If one part judged a surface of the operator, so did the whole run.
        "not_yours": next(iter(not_yours)) if len(not_yours) == 1 else None,
    }


def _in_order(rows: Iterable[str]) -> list[str]:
    places = {row.id: place for place, row in enumerate(load())}
    return sorted(rows, key=lambda row: (places.get(row, len(places)), row))


def _values(begins: Sequence[Event]) -> Iterator[dict[str, Any]]:
    """Yield each value that is not the default; if machines differ, such as in a port, the values of all."""
    values_by_key: dict[str, list[Any]] = {}
    for begin in begins:
        for entry in begin["non_defaults"]:
            values = values_by_key.setdefault(entry["key"], [])
            if entry["value"] not in values:
                values.append(entry["value"])
    for key, values in values_by_key.items():
        yield {"key": key, "value": values[0] if len(values) == 1 else values}


def _events_between(parts: Sequence[_Part]) -> Iterator[Event]:
    """Yield the events of each part, with exchange numbers that continue from part to part."""
    before = 0
    for part in parts:
        last = before
        for event in part.events:
            if event["event"] in {"run.started", "run.finished", "row"}:
                continue
            renumbered = _renumber(event, before)
            last = max(last, renumbered.get("n", 0))
            yield renumbered
        before = last


def _renumber(event: Event, by: int) -> Event:
    """Return an event with an offset added to the exchange numbers in it."""
    kind = event["event"]
    if kind in {"exchange", "arrival"}:
        return {**event, "n": event["n"] + by}
    if kind == "judgement" and event["exchange"] is not None:
        return {**event, "exchange": event["exchange"] + by}
    return event


def _row_events(parts: Sequence[_Part], rows: Iterable[str]) -> Iterator[Event]:
    row_events = {event["id"]: event for part in parts for event in part.events if event["event"] == "row"}
    for row in _in_order(rows):
        if row not in row_events:
            raise MergeFault(f"no part contains a verdict of {row}")
        yield row_events[row]


def _finish_event(parts: Sequence[_Part]) -> Event:
    rows = [event for part in parts for event in part.events if event["event"] == "row"]
    ends = [part.finish_event for part in parts]
    is_interrupted = any(end["interrupted"] for end in ends)
    verdicts = (Verdict.PASS if row["expected_failure"] == "expected" else Verdict(row["verdict"]) for row in rows)
    # Computed again from all rows, since no part knows the verdicts of the others.
    code = exit_code(
        verdicts,
        unexpected_passes=sum(row["expected_failure"] in UNEXPECTED_OUTCOMES for row in rows),
        is_interrupted=is_interrupted,
        is_strict=bool(parts[0].start_event["options"].get("strict")),
    )
    return {
        "event": "run.finished",
        # The parts ran at the same time, so the longest one is the duration.
        "seconds": max(float(end["seconds"]) for end in ends),
        "exit_code": int(code),
        "interrupted": is_interrupted,
        "counts": dict(Counter(row["verdict"] for row in rows)),
    }
