"""The summary of a run, computed from the event log and the ledger of this version; every report uses it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from conformance.ledger import Requirement, load
from conformance.log.events import Event
from conformance.outcome import NOT_TRIED, Exit, Verdict, worst
from conformance.report.causes import Cause, causes, with_causes
from conformance.report.curl_reproducibility import ByHand
from conformance.report.exchange import Exchange
from conformance.report.receipt_comparison import SideBySide, side_by_side
from conformance.report.row_result import BAD, UNEXPECTED_OUTCOMES, Finding, RowResult
from conformance.report.stopped_servers import describe_stopped_servers
from conformance.text.target_text_escaping import one_line

# Number of slow checks in reports.
SLOWEST: Final = 10
# The number of reported reasons why nothing answered.
_MOST_REASONS: Final = 3


class LogFault(ValueError):
    """This version cannot read the event log; the text contains the reason."""


@dataclass(frozen=True, slots=True)
class CheckTime:
    """Duration and outcome of a check (`done`, `unreachable`, `lacking`, `fault`, `cancelled`)."""

    check: str
    seconds: float
    outcome: str
    error: str | None


@dataclass(frozen=True, slots=True)
class Note:
    """A note of a check, which affects no verdict."""

    check: str
    text: str


@dataclass(frozen=True, slots=True)
class Shortened:
    """A check that tried only `tried` of `of` cases, in a quick look or because it draws samples."""

    check: str
    rows: tuple[str, ...]
    what: str
    tried: int
    of: int

    @property
    def text(self) -> str:
        """The description in words."""
        return f"{self.check} tried {self.tried} of {self.of}: {self.what}"


@dataclass(frozen=True, slots=True)
class Summary:
    """A whole run.

    Attributes:
        run_id: Id of the run.
        suite_version: Version of the suite that judged.
        seed: Seed that repeats the run.
        target: The target's name.
        surfaces: Surface to address.
        claims: The parts that the operator claims.
        non_defaults: (key, value as text) of each value that is not the built-in default.
        options: Options of the command.
        started_at: Unix seconds.
        seconds: Duration; None if the log ends before the run.
        exit_code: Exit code; None if the log ends before the run.
        interrupted: Whether a signal ended the run early.
        rows: Every selected row, in ledger order.
        timings: Every check that ran, slowest first.
        notes: Notes of checks.
        exchange_count: Number of exchanges.
        exchanges: The exchanges that a row needing attention cites, by number.
        comparisons: Receipts compared with another target's, by call and lane.
        unanswered: Whether the run made exchanges, and none was answered.
        unanswered_because: The first reasons for that, in the client's words.
        stopped_servers: A sentence for each server that answered first and accepted no connection at the end.
        quick: Whether it was a quick look, which gives no verdict.
        shortened: Checks that were tried in part.
        also_seen: Unselected rows that a check of a selected row saw broken, to their verdict.
        not_yours: The part of the suite that was judged, if no surface of the operator was; else None.
    """

    run_id: str
    suite_version: str
    seed: int
    target: str
    surfaces: Mapping[str, str]
    claims: Mapping[str, tuple[str, ...]]
    non_defaults: tuple[tuple[str, str], ...]
    options: Mapping[str, Any]
    started_at: int
    seconds: float | None
    exit_code: int | None
    interrupted: bool
    rows: tuple[RowResult, ...]
    timings: tuple[CheckTime, ...]
    notes: tuple[Note, ...]
    exchange_count: int
    exchanges: Mapping[int, Exchange]
    comparisons: tuple[SideBySide, ...] = ()
    unanswered: bool = False
    unanswered_because: tuple[str, ...] = ()
    stopped_servers: tuple[str, ...] = ()
    quick: bool = False
    shortened: tuple[Shortened, ...] = ()
    also_seen: Mapping[str, Verdict] = field(default_factory=dict)
    not_yours: str | None = None

    @property
    def is_finished(self) -> bool:
        """Whether the log contains the end of the run."""
        return self.exit_code is not None

    @property
    def counts(self) -> Mapping[Verdict, int]:
        """The number of rows of each verdict; contains every verdict, in the order of the enumeration."""
        numbers = Counter(row.verdict for row in self.rows)
        return {verdict: numbers[verdict] for verdict in Verdict}

    @property
    def groups(self) -> Mapping[str, tuple[RowResult, ...]]:
        """The rows by group, in ledger order."""
        rows_by_group: dict[str, list[RowResult]] = defaultdict(list)
        for row in self.rows:
            rows_by_group[row.group].append(row)
        return {name: tuple(rows) for name, rows in rows_by_group.items()}

    def breaks(self, row: RowResult) -> bool:
        """Return whether the row alone fails the run or is a fault of the suite; a known breach is not."""
        # With --strict a warning breaks the run, too.
        breach = row.verdict in BAD or (row.verdict is Verdict.WARN and bool(self.options.get("strict")))
        return row.expected_failure in UNEXPECTED_OUTCOMES or (breach and row.expected_failure != "expected")

    @property
    def known_failures(self) -> tuple[str, ...]:
        """Ids of broken MUST rows that the expected-failure list excludes from the exit code."""
        return tuple(row.id for row in self.rows if row.expected_failure == "expected" and row.requirement.decides)

    @property
    def is_clean(self) -> bool:
        """Whether the run ended with 0 and no MUST is broken, even as an expected failure: the condition for green."""
        is_broken = any(row.requirement.decides and row.verdict in {Verdict.FAIL, Verdict.WARN} for row in self.rows)
        return self.exit_code == Exit.PASSED and not self.quick and not is_broken

    @property
    def attention(self) -> tuple[RowResult, ...]:
        """The rows that need attention; those that fail the run come first."""
        # A fault of the suite comes first, because it makes the other results doubtful.
        order = (Verdict.ERROR, Verdict.FAIL, Verdict.PASS, Verdict.WARN, Verdict.INCONCLUSIVE)
        rows = (row for row in self.rows if row.needs_attention)
        return tuple(sorted(rows, key=lambda row: (not self.breaks(row), _place(order, row))))

    @property
    def causes(self) -> tuple[Cause, ...]:
        """The rows that need attention by their cause, the first cause first."""
        return causes(self.attention)

    @property
    def absent(self) -> Mapping[str, tuple[str, ...]]:
        """Reason to the ids of rows that do not apply."""
        return self._by_reason(Verdict.NOT_APPLICABLE, "the check found that it does not apply")

    @property
    def left_out(self) -> Mapping[str, tuple[str, ...]]:
        """Reason to the ids of rows that a quick look did not try at all."""
        return self._by_reason(Verdict.LEFT_OUT, "left out by --quick")

    def _by_reason(self, verdict: Verdict, otherwise: str) -> Mapping[str, tuple[str, ...]]:
        ids_by_reason: dict[str, list[str]] = defaultdict(list)
        for row in self.rows:
            if row.verdict is verdict:
                ids_by_reason[row.reason or otherwise].append(row.id)
        return {reason: tuple(ids) for reason, ids in ids_by_reason.items()}

    def short_trials(self, row: RowResult) -> tuple[str, ...]:
        """Return a sentence for each check of a row that was shortened or left out by a quick look."""
        left_out = {f"{one.check} was {one.expected}" for one in row.findings if one.verdict is Verdict.LEFT_OUT}
        sentences = sorted(left_out) if row.verdict is not Verdict.LEFT_OUT else []
        return (*sentences, *(one.text for one in self.shortened if row.id in one.rows))

    @property
    def partly(self) -> tuple[str, ...]:
        """Ids of rows that pass although a part of them cannot be tested here, for example with the lane's node."""
        return tuple(
            row.id
            for row in self.rows
            if row.verdict is Verdict.PASS and any(one.verdict is Verdict.DOCUMENTED for one in row.findings)
        )

    @property
    def not_shown(self) -> Mapping[str, tuple[str, ...]]:
        """Reason why a part of a passed row was not tested, to the ids of the rows."""
        ids_by_reason: dict[str, dict[str, None]] = defaultdict(dict)
        partly = set(self.partly)
        for row in self.rows:
            for finding in row.findings if row.id in partly else ():
                if finding.verdict is Verdict.DOCUMENTED:
                    ids_by_reason[finding.expected][row.id] = None
        return {reason: tuple(ids) for reason, ids in ids_by_reason.items()}

    @property
    def untried_steps(self) -> tuple[str, ...]:
        """Steps that were not tried because a key of the profile is unbound, each with the key."""
        keys = (one.where[NOT_TRIED] for row in self.rows for one in row.findings if NOT_TRIED in one.where)
        return tuple(sorted(set(keys)))

    @property
    def slowest(self) -> tuple[CheckTime, ...]:
        """The slowest checks."""
        return self.timings[:SLOWEST]

    def seconds_of(self, row: RowResult) -> float:
        """Return the total duration of a row's checks."""
        return sum(timing.seconds for timing in self.timings if timing.check in row.checks)


def _names(value: Any) -> tuple[str, ...]:
    """Return the names of a claim: a list of them, or a single one."""
    return (value,) if isinstance(value, str) else tuple(map(str, value))


def _place(order: Sequence[Verdict], row: RowResult) -> int:
    # A pass is in the order, since an unexpected pass needs attention.
    return order.index(row.verdict) if row.verdict in order else len(order)


def summarise(events: Iterable[Event]) -> Summary:
    """Return the summary of a run's events; an incomplete log gives a partial summary.

    Raises:
        LogFault: The log has no `run.started`, or an event lacks a member.
    """
    try:
        return _Reader(events).summary()
    except LogFault:
        raise
    # A log may come from a stranger or another version, so any member can be missing or have
    # another type.
    except (KeyError, TypeError, ValueError, AttributeError) as fault:
        raise LogFault(f"this version cannot read the event log: {type(fault).__name__}: {fault}") from fault


# A log is a list of events, and a report needs a few kinds of them many times. So the events are sorted by kind in one
# pass. A run that was killed has no `run.finished`: everything that needs it is missing then.
class _Reader:
    """Reads the parts of a summary from events that are sorted by kind once."""

    def __init__(self, events: Iterable[Event]) -> None:
        self._kinds: dict[str, list[Event]] = defaultdict(list)
        for event in events:
            self._kinds[event["event"]].append(event)
        if not self._kinds["run.started"]:
            raise LogFault("the event log has no run.started event, so no run began")
        self._findings: dict[str, list[Finding]] = defaultdict(list)
        for event in self._kinds["judgement"]:
            self._findings[event["row"]].append(_finding(event))

    def summary(self) -> Summary:
        start_event = self._kinds["run.started"][0]
        # The last one: a merged log contains the ends of all its parts.
        end = self._kinds["run.finished"][-1] if self._kinds["run.finished"] else {}
        rows = self._rows(start_event["rows"])
        # A run makes thousands of exchanges. Reports show those of breaches and open rows only.
        cited_numbers = {finding.exchange for row in rows if row.needs_attention for finding in row.findings}
        recorded_exchanges = (*self._kinds["exchange"], *self._kinds["arrival"])
        by_hand = ByHand.of(start_event, self._kinds["exchange"])
        exchanges = {
            event["n"]: Exchange.of(event, by_hand) for event in recorded_exchanges if event["n"] in cited_numbers
        }
        rows = with_causes(rows, exchanges, self._judgement_places())
        surfaces = {str(name): str(url) for name, url in start_event["target"]["surfaces"].items()}
        return Summary(
            run_id=str(start_event["run_id"]),
            suite_version=str(start_event["suite_version"]),
            seed=int(start_event["seed"]),
            target=str(start_event["target"]["name"]),
            surfaces=surfaces,
            claims={str(name): _names(value) for name, value in start_event["claims"].items() if value is not None},
            non_defaults=tuple((str(one["key"]), _plain(one["value"])) for one in start_event["non_defaults"]),
            options=dict(start_event["options"]),
            started_at=int(start_event["started_at"]),
            seconds=None if not end else float(end["seconds"]),
            exit_code=None if not end else int(end["exit_code"]),
            interrupted=bool(end.get("interrupted")),
            rows=rows,
            timings=self._timings(),
            notes=tuple(Note(str(event["check"]), str(event["text"])) for event in self._kinds["note"]),
            exchange_count=len(self._kinds["exchange"]),
            unanswered=bool(no_answer_reasons := self._reasons_without_answer()),
            unanswered_because=no_answer_reasons,
            # The end of an interrupted run, and of one that has not ended yet, shows nothing about the server.
            stopped_servers=()
            if not end or end.get("interrupted")
            else describe_stopped_servers(surfaces, self._kinds["exchange"]),
            exchanges=dict(sorted(exchanges.items())),
            comparisons=self._comparisons(),
            quick=bool(start_event.get("quick")),
            shortened=self._short_trials(),
            also_seen=self._also_seen({row.id for row in rows}),
            not_yours=None if start_event.get("not_yours") is None else str(start_event["not_yours"]),
        )

    def _judgement_places(self) -> dict[str, int]:
        """Return the place in the log of the first judgement with a row's verdict, by the row's id."""
        verdicts = {event["id"]: event["verdict"] for event in self._kinds["row"]}
        places: dict[str, int] = {}
        for place, event in enumerate(self._kinds["judgement"]):
            # A row fails by one of its judgements. The passes before it are not its cause.
            if event["verdict"] == verdicts.get(event["row"], event["verdict"]):
                places.setdefault(event["row"], place)
        return places

    def _reasons_without_answer(self) -> tuple[str, ...]:
        """Return why no exchange was answered; empty if one was, or if none waited for the end of an answer."""
        exchanges = self._kinds["exchange"]
        if any(event["response"] is not None for event in exchanges):
            return ()
        reasons = dict.fromkeys(str(event["error"]) for event in exchanges if event.get("error") is not None)
        return (*reasons,)[:_MOST_REASONS]

    def _short_trials(self) -> tuple[Shortened, ...]:
        """Return the shortened checks, with the parts of one check combined."""
        trials: dict[tuple[str, str], Shortened] = {}
        for event in self._kinds["check.shortened"]:
            key = (str(event["check"]), str(event["what"]))
            old = trials.get(key)
            tried_count, of = int(event["tried"]), int(event["of"])
            rows = tuple(map(str, event["rows"]))
            before = (0, 0) if old is None else (old.tried, old.of)
            trials[key] = Shortened(key[0], rows, key[1], before[0] + tried_count, before[1] + of)
        return tuple(trials[key] for key in sorted(trials))

    def _also_seen(self, selected_ids: Collection[str]) -> Mapping[str, Verdict]:
        verdicts = {
            name: worst(finding.verdict for finding in findings)
            for name, findings in sorted(self._findings.items())
            if name not in selected_ids
        }
        return {name: one for name, one in verdicts.items() if one in {Verdict.FAIL, Verdict.WARN}}

    def _comparisons(self) -> tuple[SideBySide, ...]:
        comparisons = map(side_by_side, self._kinds["comparison"])
        return tuple(sorted(comparisons, key=lambda one: (one.call, one.lane or "")))

    @property
    def _is_claimed(self) -> bool:
        """Whether the target claims the specification, so that rows decide which elsewhere only warn."""
        return self._kinds["run.started"][0]["claims"].get("specification") is not None

    def _rows(self, row_ids: Sequence[str]) -> tuple[RowResult, ...]:
        row_events = {event["id"]: event for event in self._kinds["row"]}
        return tuple(self._row(str(row_id), row_events.get(row_id)) for row_id in row_ids)

    def _row(self, row_id: str, event: Event | None) -> RowResult:
        findings, requirement = tuple(self._findings[row_id]), _requirement(row_id)
        if event is None:
            # The run ended before it could combine the findings of this row, so it is done here as
            # the runner does.
            verdict = worst(finding.verdict for finding in findings) or Verdict.INCONCLUSIVE
            reason, checks, expectation = (
                "the log ends before this row was judged",
                {one.check for one in findings},
                None,
            )
        else:
            verdict, reason, expectation = Verdict(event["verdict"]), event["reason"], event["expected_failure"]
            checks = set(event["checks"])
        return RowResult(
            requirement=requirement.as_claimed() if self._is_claimed else requirement,
            verdict=verdict,
            reason=None if reason is None else str(reason),
            checks=tuple(sorted(checks)),
            expected_failure=expectation,
            findings=findings,
        )

    def _timings(self) -> tuple[CheckTime, ...]:
        timings = [
            CheckTime(str(event["check"]), float(event["seconds"]), str(event["outcome"]), _text(event["error"]))
            for event in self._kinds["check.finished"]
        ]
        return tuple(sorted(timings, key=lambda one: (-one.seconds, one.check)))


def _finding(event: Event) -> Finding:
    return Finding(
        check=str(event["check"]),
        verdict=Verdict(event["verdict"]),
        expected=str(event["expected"]),
        found=_text(event["found"]),
        hint=_text(event["hint"]),
        where={str(name): str(value) for name, value in event["where"].items()},
        exchange=event["exchange"],
    )


def _requirement(row_id: str) -> Requirement:
    ledger = load()
    # A log of another version may name requirements that this version does not have.
    if row_id in ledger:
        return ledger[row_id]
    sentence = "This version of the suite does not know the requirement."
    return Requirement(one_line(row_id, 80), sentence, "unknown", "MAY", "implied", (), "shared")


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def _plain(value: object) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(_plain(item) for item in value)
    return "true" if value is True else "false" if value is False else str(value)
