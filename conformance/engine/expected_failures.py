"""The operator's list of expected failures, compared with a run: stale entries, and the list without them."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

import tomlkit

from conformance.log.events import Event
from conformance.outcome import Verdict
from conformance.target import ExpectedFailure

# Name of the proposed list in a report folder.
FILE: Final = "xfail.toml"
# The states of an entry (`expected_failure` in the log) that fail the run, with the sentence for the operator. A list
# that is not kept current would hide new breaches behind old ones, so stale and expired entries are faults.
FAULTS: Final = {
    "unexpected_pass": "stale: {id} passes",
    "unmatched": "unmatched: {id} does not apply to this target",
    "expired": "expired on {expires}, and {id} is still broken",
}
_HEAD: Final = (
    "# The expected-failure list as it holds against the last run. Entries that do not hold are left as comments:\n"
    "# delete them, or repair what they are about, or give an expired one a new date.\n"
)


def compare_with_entry(entry: ExpectedFailure, verdict: Verdict, today: dt.date) -> str | None:
    """Return the state of an entry after a run: `expected`, one of `FAULTS`, or None if the row was not decided."""
    if verdict in {Verdict.FAIL, Verdict.WARN}:
        return "expired" if today > entry.expires else "expected"
    if verdict in {Verdict.NOT_APPLICABLE, Verdict.DOCUMENTED}:
        return "unmatched"
    return "unexpected_pass" if verdict is Verdict.PASS else None


def explain_contradiction(entries: Iterable[ExpectedFailure]) -> str | None:
    """Return a sentence on rows with several entries, with the entry to keep of each; None if there is no such row."""
    entry_list = list(entries)
    counts = Counter(entry.id for entry in entry_list)
    twice = [row for row, count in counts.items() if count > 1]
    if not twice:
        return None
    # The entry that expires first is the stricter one, so keeping it cannot hide a breach for longer.
    earliest_entries = [min((one for one in entry_list if one.id == row), key=lambda one: one.expires) for row in twice]
    row_names = ", ".join(f"{row} ({counts[row]} entries)" for row in twice)
    return f"xfail: one row, one entry, and not {row_names}; keep the first to expire:\n\n{_toml(earliest_entries)}"


def list_faults(entries: Iterable[ExpectedFailure], events: Iterable[Event]) -> tuple[str, ...]:
    """Return one sentence for each entry that a run contradicts."""
    expectations = _read_expectations(events)
    entry_faults = ((entry, FAULTS.get(expectations.get(entry.id, ""))) for entry in entries)
    return tuple(fault.format(id=entry.id, expires=entry.expires) for entry, fault in entry_faults if fault is not None)


def propose_list(entries: Sequence[ExpectedFailure], events: Iterable[Event]) -> str | None:
    """Return the list as TOML with the contradicted entries as comments; None without any."""
    event_list = list(events)
    if not list_faults(entries, event_list):
        return None
    expectations = _read_expectations(event_list)
    # Entries of rows that the run did not select stay: the run shows nothing about them.
    valid_entries = [entry for entry in entries if expectations.get(entry.id) not in FAULTS]
    text = _HEAD + (f"\n{_toml(valid_entries)}" if valid_entries else "")
    for entry in entries:
        if entry not in valid_entries:
            text += f"\n# {list_faults([entry], event_list)[0]}\n"
            text += "".join(f"# {line}\n" for line in _toml([entry]).splitlines())
    return text


def _read_expectations(events: Iterable[Event]) -> dict[str, str]:
    """Return the state of the entry of each row that has one."""
    rows = (event for event in events if event["event"] == "row")
    return {event["id"]: event["expected_failure"] for event in rows if event["expected_failure"] is not None}


def _toml(entries: Iterable[ExpectedFailure]) -> str:
    tables = tomlkit.aot()
    for entry in entries:
        table = tomlkit.table()
        table.update({"id": entry.id, "reason": entry.reason, "owner": entry.owner, "expires": entry.expires})
        tables.append(table)
    return tomlkit.dumps({"xfail": tables})
