"""The record that `weldproof replay` reads from an event log: an exchange, its judgement, and the run's start.

The log is not trusted. Only the check, the rows, the seed and the result are taken from it, and never a program, a
file, a secret or a server (SECURITY.md, "What is trusted").
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from conformance.cli.usage import UsageFault
from conformance.http.curl_and_templates import write_curl_line
from conformance.ledger import Requirement, load
from conformance.log.events import Event, log_in, read_log
from conformance.outcome import Verdict, worst
from conformance.report.exchange import Exchange
from conformance.text.target_text_escaping import one_line
from conformance.vocabulary.profile_claims import LANES

EXCHANGE_KINDS: Final = frozenset({"exchange", "arrival"})


@dataclass(frozen=True, slots=True)
class Record:
    """One recorded exchange, with the members of its run that a replay needs.

    Attributes:
        exchange: The exchange or delivery.
        judgement: The worst judgement that cites it, or None.
        seed: Seed of its run.
        quick: Whether its run was a quick look.
        rows: Ids of the rows that its run selected.
        target: Name of the target of its run.
        surfaces: Addresses of that target by surface.
        options: Options of its run, which are shown and never used.
        company: Checks that ran at the same time.
        lanes: Lanes that its run claimed.
    """

    exchange: Event
    judgement: Event | None
    seed: int
    quick: bool
    rows: tuple[str, ...]
    target: str
    surfaces: Mapping[str, str]
    options: Mapping[str, Any]
    company: tuple[str, ...]
    lanes: tuple[str, ...]

    @property
    def check(self) -> str:
        """Id of the check that runs again."""
        # A delivery belongs to no check. The check that judged it is run again.
        return str((self.judgement or self.exchange)["check"])

    @property
    def requirements(self) -> tuple[Requirement, ...]:
        """The rows of the run that this version of the suite knows."""
        ledger = load()
        return tuple(ledger[row] for row in self.rows if row in ledger)

    def check_shape(self) -> None:
        """Check that the exchange has the members that are shown, before anything is sent.

        Raises:
            UsageFault: A member is missing or malformed.
        """
        try:
            Exchange.of(self.exchange)
            write_curl_line(self.exchange["request"])
            if self.exchange["event"] == "exchange":
                int(self.exchange["ordinal"])
            if self.judgement is not None:
                Verdict(self.judgement["verdict"])
                self.judgement["where"].items()
                _ = self.judgement["expected"], self.judgement["found"]
        except (KeyError, TypeError, ValueError, AttributeError) as fault:
            raise UsageFault(f"the log is damaged: its exchange lacks {one_line(str(fault), 100)}") from fault


def read_record(replay_id: str, *, beside: bool) -> Record:
    """Return the record that `REPORT#N[@RUN]` names.

    Args:
        replay_id: The replay id.
        beside: Whether to include the checks that ran at the same time.

    Raises:
        UsageFault: The exchange does not exist, or the log cannot be read.
    """
    events, number, run_prefix = _events(replay_id)
    start_event = next((event for event in events if event["event"] == "run.started"), None)
    if start_event is None:
        raise UsageFault(f"{replay_id}: the log does not contain the beginning of the run")
    if run_prefix and not str(start_event.get("run_id", "")).startswith(run_prefix):
        raise UsageFault(
            f"{replay_id}: the log is of the run {one_line(str(start_event.get('run_id')), 40)}, seed "
            f"{one_line(str(start_event.get('seed')), 40)}. A later run may have replaced the run that you mean: give "
            f"each run that you keep a separate --report-dir"
        )
    try:
        return _record(replay_id, events, start_event, number, beside=beside)
    except (KeyError, TypeError, ValueError, AttributeError) as fault:
        raise UsageFault(
            f"{replay_id}: the log is damaged: {type(fault).__name__}: {one_line(str(fault), 100)}"
        ) from fault


def _record(replay_id: str, events: Sequence[Event], start_event: Event, number: int, *, beside: bool) -> Record:
    exchange = next((event for event in events if event["event"] in EXCHANGE_KINDS and event["n"] == number), None)
    if exchange is None:
        raise UsageFault(f"{replay_id}: the run has no exchange {number}")
    judgement = _judgement_of(exchange, events)
    target = start_event.get("target", {})
    return Record(
        # The places of names are removed: the curl line must not contain variables of the reader that the log chose.
        exchange={**exchange, "request": {**exchange["request"], "names": {}}},
        judgement=judgement,
        seed=int(start_event["seed"]),
        quick=bool(start_event.get("quick")),
        rows=tuple(map(str, start_event["rows"])),
        target=str(target.get("name", "a target without a name")),
        surfaces={str(name): str(url) for name, url in target.get("surfaces", {}).items()},
        options={str(name): value for name, value in start_event["options"].items()},
        company=_company(events, str((judgement or exchange)["check"])) if beside else (),
        lanes=tuple(lane for lane in LANES if lane in start_event.get("claims", {}).get("lanes", ())),
    )


def _events(replay_id: str) -> tuple[tuple[Event, ...], int, str]:
    """Return the events of a log, the number in the replay id, and its prefix of the run's id."""
    name, mark, place = replay_id.rpartition("#")
    number, _, run_prefix = place.partition("@")
    if not mark or not number.isdecimal():
        raise UsageFault(f"{replay_id}: give REPORT#N, for example report#17; N is printed with each failure")
    path = Path(name)
    try:
        path = log_in(path) if path.is_dir() else path
        return read_log(path), int(number), run_prefix
    except (OSError, ValueError) as fault:
        raise UsageFault(f"cannot read {path}: {one_line(str(fault))}") from fault


def _company(events: Sequence[Event], check: str) -> tuple[str, ...]:
    """Return the checks that ran at the same time as one check."""
    # One pass over the events. A check is company if it was running when the check began, or began while the check ran.
    under_way: set[str] = set()
    # Running checks that have not yet overlapped the check. Kept separately, or a log that restarts one check often
    # would make this quadratic.
    unmet: set[str] = set()
    company: set[str] = set()
    for event in events:
        if event["event"] == "check.started":
            if event["check"] == check:
                company |= unmet
                unmet.clear()
            elif check in under_way:
                company.add(event["check"])
            else:
                unmet.add(event["check"])
            under_way.add(event["check"])
        elif event["event"] == "check.finished":
            under_way.discard(event["check"])
            unmet.discard(event["check"])
    return tuple(sorted(company - {check}))


def _judgement_of(exchange: Event, events: Sequence[Event]) -> Event | None:
    """Return the worst judgement that cites the exchange or delivery; None for an uncited exchange.

    Raises:
        UsageFault: No check judged the delivery.
    """
    judgements = [one for one in events if one["event"] == "judgement" and one["exchange"] == exchange["n"]]
    if not judgements and exchange["event"] == "exchange":
        return None
    if not judgements:
        raise UsageFault(f"number {exchange['n']} is a webhook delivery that no check judged")
    verdict = worst(Verdict(one["verdict"]) for one in judgements)
    return next(one for one in judgements if one["verdict"] == verdict)
