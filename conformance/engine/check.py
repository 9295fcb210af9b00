"""What a check is: one async function that names the requirement rows it decides.

A check reads as: arrange one success, change one thing, expect one refusal. It talks to the target through its `Case`
only, and says what it found by `Case.expect`; a row that a check names and never judges is inconclusive.
"""

from __future__ import annotations

import inspect
import random
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeVar

from conformance.engine.exclusive import Exclusive
from conformance.engine.quick_policy import BY_COMPANY, WHOLE, Quick
from conformance.engine.session import Session
from conformance.http.client import Client, Recorded
from conformance.ledger import Requirement, load
from conformance.log.events import EventLog
from conformance.outcome import NOT_TRIED, ONLY_WARNS, Inconclusive, Verdict
from conformance.target import Profile
from conformance.vocabulary.lanes.registry import FACTS

T = TypeVar("T")

_STARTS_PROGRAM: Final = "the check starts the program that it judges, and ends it"
# What a check does beside its requests, by the company that it runs in.
_SIDE_EFFECTS: Final[Mapping[Exclusive, str | None]] = {
    Exclusive.NOTHING: None,
    Exclusive.CLOCK: "the check lets time pass before it",
    Exclusive.CHAIN: "the check does something to the chain meanwhile",
    Exclusive.SURFACE: "the check does something to the service meanwhile",
    Exclusive.LIMITS: "the check sends as many before it as a limit allows",
    Exclusive.RESTART: "the check starts the service again meanwhile",
    Exclusive.CHAIN_AND_CLOCK: "the check does something to the chain and the clock meanwhile",
}


@dataclass(frozen=True, slots=True)
class Check:
    """A registered check.

    Attributes:
        id: Name of its function, with the lane in brackets when it runs once a lane (`stray_transfer[LANE]`).
        rows: Requirement ids it decides.
        surface: Surface it talks to.
        lane: The lane it is bound to; `each` before expansion, None when it needs none.
        exclusive: What it disturbs, which decides when it runs.
        fix: What an implementer does about a breach.
        run: The function.
        self_contained: Whether it judges programs only that it starts itself: whatever is done to the target, its
            chains and its clock does not touch it.
        quick: What `run --quick` makes of it.
        needs_more: Why no single request shows what it finds, where that does not follow from the others.
        pays_rail: Whether it pays at nodes of the rail as well, where its surface is another.
        extra: The extra of the distribution that it needs beside its lane's.
    """

    id: str
    rows: tuple[str, ...]
    surface: str
    lane: str | None
    exclusive: Exclusive
    fix: str
    function: Callable[..., Awaitable[None]] = field(repr=False)
    self_contained: bool = False
    quick: Quick = WHOLE
    needs_more: str | None = None
    pays_rail: bool = False
    extra: str | None = None

    @property
    def replay_obstacle(self) -> str | None:
        """Why no single request, sent once more, shows what it finds; None where one does."""
        return self.needs_more or (_STARTS_PROGRAM if self.self_contained else _SIDE_EFFECTS[self.exclusive])

    @property
    def sentence(self) -> str:
        """What the check sends and expects: the docstring of its function."""
        return inspect.getdoc(self.function) or ""

    def bind_to(self, lane: str) -> Check:
        """Return this check bound to one lane."""
        return replace(self, id=f"{self.id}[{lane}]", lane=lane)

    def expand(self, lanes: Iterable[str]) -> tuple[Check, ...]:
        """Return this check as it runs on lanes: as it is, where it needs none, else for each that it can be made on.

        What is bound to the first lane of a family is made on its further lanes as well.
        """
        if self.lane is None:
            return (self,)
        bound_lanes = (lane for lane in lanes if self.lane in {"each", lane, FACTS[lane].family})
        return tuple(self if lane == self.lane else self.bind_to(lane) for lane in bound_lanes)


REGISTRY: dict[str, Check] = {}


def check(
    *rows: str,
    surface: str,
    fix: str,
    lane: str | None = None,
    exclusive: Exclusive = Exclusive.NOTHING,
    self_contained: bool = False,
    quick: Quick | None = None,
    needs_more: str | None = None,
    pays_rail: bool = False,
    extra: str | None = None,
) -> Callable[[Callable[..., Awaitable[None]]], Callable[..., Awaitable[None]]]:
    """Register an async function as the check of `rows`.

    Args:
        rows: Requirement ids; each must be in the ledger.
        surface: Surface whose claim the check needs.
        fix: One or two sentences: what to change when it fails.
        lane: Name of the lane it needs, or `each` to run once for every claimed lane.
        exclusive: What it disturbs. A check that disturbs something runs after those that disturb nothing.
        self_contained: It judges programs only that it starts itself.
        quick: What `run --quick` makes of it; by default what its company says (`quick.BY_COMPANY`).
        needs_more: Why no single request shows what it finds, where its company does not say it: it sends several at
            once, or what it compares stands in several answers.
        pays_rail: It pays at nodes of the rail as well, whatever its surface; so they are left alone meanwhile.
        extra: The extra of the distribution that it needs beside its lane's.

    Raises:
        ValueError: An unknown row, no docstring, or a name taken twice: a fault of the suite.
    """

    def register(function: Callable[..., Awaitable[None]]) -> Callable[..., Awaitable[None]]:
        name = str(function.__name__)
        unknown = [row for row in rows if row not in load()]
        if unknown or not rows or name in REGISTRY or not inspect.getdoc(function):
            raise ValueError(f"check {name}: unknown rows {unknown}, no rows, no docstring, or registered twice")
        policy = quick or BY_COMPANY[exclusive]
        REGISTRY[name] = Check(
            name, rows, surface, lane, exclusive, fix, function, self_contained, policy, needs_more, pays_rail, extra
        )
        return function

    return register


def log_shortened_part(log: EventLog, check: Check, part: str, count: int, of: int) -> None:
    """Put into the log that a part was tried of what could be: by a quick look, or where a target gets samples."""
    log.add("check.shortened", check=check.id, rows=list(check.rows), what=part, tried=count, of=of)


def judge_breach(row: Requirement, *, beyond: str | None = None) -> Verdict:
    """Return what a breach of `row` counts as.

    Args:
        row: The requirement.
        beyond: What of the trial the interface leaves open, where it goes beyond the row: then a breach warns.
    """
    return Verdict.FAIL if row.decides and beyond is None else Verdict.WARN


@dataclass(slots=True)
class Case:
    """One run of one check: its client, its randomness, and the place where it says what it found.

    `quick` is the run's seed where the run is a quick look, else None. Where `holds_breaches`, breaches are not in the
    log before `release`: something may show at the check's end that they decide nothing.
    """

    check: Check
    profile: Profile
    client: Client
    log: EventLog
    rng: random.Random
    session: Session
    judged_rows: set[str] = field(default_factory=set)
    quick: int | None = None
    holds_breaches: bool = False
    _held_breaches: list[dict[str, Any]] = field(default_factory=list)
    _parts: dict[str, tuple[int, int]] = field(default_factory=dict)

    @property
    def lane(self) -> str:
        """The lane this check is bound to."""
        if self.check.lane is None:
            raise Inconclusive("this check is bound to no lane")
        return self.check.lane

    def row(self, row_id: str) -> Requirement:
        """Return a row that this check names."""
        if row_id not in self.check.rows:
            raise KeyError(f"check {self.check.id} does not name {row_id}")
        return load()[row_id]

    def expect(
        self,
        row_id: str,
        holds: bool,
        expectation: str,
        observation: object,
        *,
        exchange: Recorded | None = None,
        where: Mapping[str, str] | None = None,
        hint: str | None = None,
        beyond: str | None = None,
    ) -> bool:
        """Judge one row once; a row may be judged many times, and its worst judgement counts.

        Args:
            row_id: A row the check names.
            holds: Whether the requirement is kept here.
            expected: What should be, in words.
            found: What was, short; live values are taken out.
            exchange: The answer, or the delivery, that shows it.
            where: Which operation, axis and so on; the lane is added.
            hint: What to do about it, when it is more exact than the check's `fix`.
            beyond: What the interface leaves open here, where the trial goes beyond what the row surely says: a breach
                then warns, whatever the row's level, and the reader is given this reason.

        Returns:
            `holds`, so that a check can go on only when it makes sense.
        """
        verdict = Verdict.PASS if holds else judge_breach(self.row(row_id), beyond=beyond)
        if not holds and beyond is not None:
            where = {**(where or {}), ONLY_WARNS: beyond}
        self._judge(row_id, verdict, expectation, observation, exchange, where, hint)
        return holds

    def mark_inconclusive(self, row_id: str, reason: str, *, exchange: Recorded | None = None) -> None:
        """Say that a row could not be decided, and why."""
        self._judge(row_id, Verdict.INCONCLUSIVE, reason, None, exchange, None, None)

    def mark_not_applicable(self, row_id: str, reason: str, *, skipped_trial: str | None = None) -> None:
        """Say that a row does not apply by the operator's profile, and why.

        Args:
            row_id: A row the check names.
            reason: Why not.
            untried: What the check would have tried, and the key that lets it: whatever else is judged of the row, the
                report says so.
        """
        where = None if skipped_trial is None else {NOT_TRIED: skipped_trial}
        self._judge(row_id, Verdict.NOT_APPLICABLE, reason, None, None, where, None)

    def mark_documented(self, row_id: str, reason: str) -> None:
        """Say that nothing this target or its node can be made to do shows the row, and why."""
        self._judge(row_id, Verdict.DOCUMENTED, reason, None, None, None, None)

    def sample(self, items: Iterable[T], kind: Callable[[T], object] = lambda _: None, *, few: int = 1) -> list[T]:
        """Return what is to be tried: everything, or in a quick look a few of each kind, drawn from the seed.

        What is left out is in the log, and so in every report.

        Args:
            items: What a whole run tries.
            kind: What makes two of them alike.
            few: How many of a kind a quick look tries.

        Raises:
            ValueError: The check does not say that it tries a sample: a fault of the suite.
        """
        candidates = list(items)
        if self.quick is None:
            return candidates
        if self.check.quick.way != "sample":
            raise ValueError(f"check {self.check.id} samples without saying so")
        alike: dict[object, list[int]] = {}
        for place, item in enumerate(candidates):
            alike.setdefault(kind(item), []).append(place)
        # Drawn from names alone, so that the sample is the same in whatever order checks run.
        rng = random.Random(f"{self.quick}:{self.check.id}:{len(candidates)}")  # noqa: S311 - repeatable on purpose
        sample_places = sorted(
            place for places in alike.values() for place in rng.sample(places, min(few, len(places)))
        )
        if len(sample_places) < len(candidates):
            log_shortened_part(self.log, self.check, self.check.quick.words, len(sample_places), len(candidates))
        return [candidates[place] for place in sample_places]

    def draw_part(self, items: Iterable[T], few: int, description: str) -> list[T]:
        """Return `few` of the items, drawn from the check's randomness; how many in all is told when the check ends.

        Args:
            items: What could be tried.
            few: How many of them are.
            what: What they are, and why not all of them, for a reader.
        """
        candidates = list(items)
        selection = self.rng.sample(candidates, min(few, len(candidates)))
        tried_count, total = self._parts.get(description, (0, 0))
        self._parts[description] = tried_count + len(selection), total + len(candidates)
        return selection

    def log_parts(self) -> None:
        """Put into the log what was tried in part only, whatever the kind of run."""
        for description, (tried_count, total) in self._parts.items():
            if tried_count < total:
                log_shortened_part(self.log, self.check, description, tried_count, total)

    def note(self, text: str) -> None:
        """Tell the reader something that judges nothing."""
        self.log.add("note", check=self.check.id, text=self.client.names.redact_cut(text))

    def _judge(
        self,
        row_id: str,
        verdict: Verdict,
        expectation: str,
        observation: object,
        exchange: Recorded | None,
        where: Mapping[str, str] | None,
        hint: str | None,
    ) -> None:
        self.row(row_id)
        self.judged_rows.add(row_id)
        redact = self.client.names.redact_cut
        is_breach = verdict in {Verdict.FAIL, Verdict.WARN}
        members = {
            "check": self.check.id,
            "row": row_id,
            "verdict": verdict.value,
            "expected": redact(expectation),
            "found": None if observation is None else redact(str(observation))[:2000],
            "exchange": None if exchange is None else exchange.n,
            "hint": (hint or self.check.fix) if is_breach else None,
            "where": {
                **({"lane": self.check.lane} if self.check.lane else {}),
                **{name: redact(str(text)) for name, text in (where or {}).items()},
            },
        }
        if is_breach and self.holds_breaches:
            self._held_breaches.append(members)
        else:
            self.log.add("judgement", **members)

    @property
    def has_held_breaches(self) -> bool:
        """Whether breaches wait for `release`."""
        return bool(self._held_breaches)

    def release(self, unless: str | None = None) -> None:
        """Put the breaches that were held into the log; as inconclusive if something says that they decide nothing."""
        breaches, self._held_breaches = self._held_breaches, []
        for members in breaches:
            if unless is not None:
                members |= {"verdict": Verdict.INCONCLUSIVE.value, "expected": unless, "hint": None}
            self.log.add("judgement", **members)
