"""A check: one async function that names the requirement rows that it decides, and its run, a `Case`.

A check reads as: arrange one success, change one thing, expect one refusal. It sends requests only through its `Case`,
and judges rows only with `Case.expect` and the methods after it.
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
from conformance.outcome import CLAIMED_CLAUSE, NOT_TRIED, ONLY_WARNS, Inconclusive, OpenPoint, Verdict
from conformance.target import Profile
from conformance.vocabulary.lanes.registry import FACTS

T = TypeVar("T")

_STARTS_PROGRAM: Final = "the check starts the program that it judges, and ends it"
# What a check does in addition to its requests. A request that is sent again without that shows something else, so
# `weldproof replay` runs such a check as a whole.
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
        id: Name of its function, with the lane in brackets if it runs for each lane (`stray_transfer[LANE]`).
        rows: Requirement ids it decides.
        surface: Surface it talks to.
        lane: The lane it is bound to; `each` before expansion, None when it needs none.
        exclusive: What it disturbs, which decides when it runs.
        fix: What an implementer does about a breach.
        function: The function.
        self_contained: Whether it judges only programs that it starts itself. Nothing that is done to the target, its
            chains or its clock changes its verdict.
        quick: How `run --quick` tries it.
        needs_more: Why no single request shows its finding, if that does not follow from the other attributes.
        pays_rail: Whether it pays at nodes of the rail although its surface is another.
        extra: The extra of the distribution that it needs in addition to its lane's.
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
        """Why no single repeated request shows the check's finding; None if one does."""
        return self.needs_more or (_STARTS_PROGRAM if self.self_contained else _SIDE_EFFECTS[self.exclusive])

    @property
    def sentence(self) -> str:
        """What the check sends and expects: the docstring of its function."""
        return inspect.getdoc(self.function) or ""

    def bind_to(self, lane: str) -> Check:
        """Return this check bound to one lane."""
        return replace(self, id=f"{self.id}[{lane}]", lane=lane)

    def expand(self, lanes: Iterable[str]) -> tuple[Check, ...]:
        """Return this check once for each lane on which it can run; a check without a lane is returned as it is."""
        if self.lane is None:
            return (self,)
        # A check that names the first lane of a family tests rules of the family: it runs on the other lanes, too.
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
        self_contained: It judges only programs that it starts itself.
        quick: How `run --quick` tries it; the default depends on `exclusive` (`quick_policy.BY_COMPANY`).
        needs_more: Why no single request shows its finding, if `exclusive` does not imply it: for example, the check
            sends several requests at once, or compares several answers.
        pays_rail: It pays at nodes of the rail whatever its surface is, so these nodes are not disturbed meanwhile.
        extra: The extra of the distribution that it needs in addition to its lane's.

    Raises:
        ValueError: An unknown row, a missing docstring, or a name that is taken: a fault of the suite.
    """

    def register(function: Callable[..., Awaitable[None]]) -> Callable[..., Awaitable[None]]:
        name = str(function.__name__)
        # At import time, so that a check with a mistyped row cannot be released: no run would ever judge that row.
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
    """Log that a check tried a part only, in a quick run or because a target gets samples."""
    log.add("check.shortened", check=check.id, rows=list(check.rows), what=part, tried=count, of=of)


def judge_breach(row: Requirement, *, beyond: str | None = None) -> Verdict:
    """Return the verdict of a breach of `row`.

    Args:
        row: The requirement.
        beyond: What the interface leaves open, if the trial goes beyond the row.
    """
    # A server may not fail for a rule that the interface does not state: such a breach is only a warning.
    return Verdict.FAIL if row.decides and beyond is None else Verdict.WARN


@dataclass(slots=True)
class Case:
    """One run of one check: its client, its random numbers, and the methods that judge rows.

    Attributes:
        quick: The run's seed in a quick run, otherwise None.
        holds_breaches: Whether breaches are logged only at `release`: the end of the check may show that they decide
            nothing.
    """

    check: Check
    profile: Profile
    client: Client
    log: EventLog
    rng: random.Random
    session: Session
    # A row that a check names and never judges is inconclusive: the runner compares this set with the check's rows.
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
        row = load()[row_id]
        return row if self.profile.claims.specification is None else row.as_claimed()

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
        """Judge one row once. A row may be judged many times; its worst judgement counts.

        Args:
            row_id: A row the check names.
            holds: Whether the requirement is kept here.
            expectation: What should be, in words.
            observation: What was received, in short; secrets are redacted.
            exchange: The answer or delivery that shows it.
            where: The operation, axis and so on; the lane is added.
            hint: What to change, if that is more exact than the check's `fix`.
            beyond: What the interface leaves open, if the trial goes beyond what the row surely says. A breach is then
                a warning whatever the row's level, and the report contains this reason. If it is an `OpenPoint`, the
                breach decides at a target that claims the specification, and the report contains the clause.

        Returns:
            `holds`, so that a check can stop when the rest makes no sense.
        """
        if isinstance(beyond, OpenPoint) and self.profile.claims.specification is not None:
            where = where if holds else {**(where or {}), CLAIMED_CLAUSE: beyond.clause}
            beyond = None
        verdict = Verdict.PASS if holds else judge_breach(self.row(row_id), beyond=beyond)
        if not holds and beyond is not None:
            where = {**(where or {}), ONLY_WARNS: beyond}
        self._judge(row_id, verdict, expectation, observation, exchange, where, hint)
        return holds

    def mark_inconclusive(self, row_id: str, reason: str, *, exchange: Recorded | None = None) -> None:
        """Record that a row could not be decided, with the reason."""
        self._judge(row_id, Verdict.INCONCLUSIVE, reason, None, exchange, None, None)

    def mark_not_applicable(self, row_id: str, reason: str, *, skipped_trial: str | None = None) -> None:
        """Record that a row does not apply according to the operator's profile, with the reason.

        Args:
            row_id: A row the check names.
            reason: Why not.
            skipped_trial: What the check would have tried, and the profile key that enables it. The report prints it
                whatever else is judged of the row.
        """
        where = None if skipped_trial is None else {NOT_TRIED: skipped_trial}
        self._judge(row_id, Verdict.NOT_APPLICABLE, reason, None, None, where, None)

    def mark_documented(self, row_id: str, reason: str) -> None:
        """Record that nothing which this target or its node can be made to do shows the row, with the reason."""
        self._judge(row_id, Verdict.DOCUMENTED, reason, None, None, None, None)

    def sample(self, items: Iterable[T], kind: Callable[[T], object] = lambda _: None, *, few: int = 1) -> list[T]:
        """Return the items to try: all of them, or in a quick run a few of each kind, drawn from the seed.

        Args:
            items: What a whole run tries.
            kind: Returns the kind of an item.
            few: How many items of a kind a quick run tries.

        Raises:
            ValueError: The check does not declare that it tries a sample: a fault of the suite.
        """
        candidates = list(items)
        if self.quick is None:
            return candidates
        if self.check.quick.way != "sample":
            raise ValueError(f"check {self.check.id} samples, but its `quick` is not a sample")
        alike: dict[object, list[int]] = {}
        for place, item in enumerate(candidates):
            alike.setdefault(kind(item), []).append(place)
        # Seeded with names only and not with the case's `rng`: the sample is the same in any order of checks.
        rng = random.Random(f"{self.quick}:{self.check.id}:{len(candidates)}")  # noqa: S311 - repeatable on purpose
        sample_places = sorted(
            place for places in alike.values() for place in rng.sample(places, min(few, len(places)))
        )
        if len(sample_places) < len(candidates):
            log_shortened_part(self.log, self.check, self.check.quick.words, len(sample_places), len(candidates))
        return [candidates[place] for place in sample_places]

    def draw_part(self, items: Iterable[T], few: int, description: str) -> list[T]:
        """Return `few` of the items, drawn with the check's random numbers.

        Args:
            items: What could be tried.
            few: How many of them are tried.
            description: What the items are and why only some are tried, for the report.
        """
        candidates = list(items)
        selection = self.rng.sample(candidates, min(few, len(candidates)))
        tried_count, total = self._parts.get(description, (0, 0))
        self._parts[description] = tried_count + len(selection), total + len(candidates)
        return selection

    def log_parts(self) -> None:
        """Log the parts that `draw_part` left out, in quick and whole runs."""
        for description, (tried_count, total) in self._parts.items():
            if tried_count < total:
                log_shortened_part(self.log, self.check, description, tried_count, total)

    def note(self, text: str) -> None:
        """Log a remark for the reader that judges nothing."""
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
            # Redacted before it is cut: a secret that the cut divides would not be recognised.
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
        """Whether breaches are held until `release`."""
        return bool(self._held_breaches)

    def release(self, unless: str | None = None) -> None:
        """Log the held breaches; `unless` is a reason why they decide nothing, which makes them inconclusive."""
        # Emptied first: `release` in a `finally` may run after an earlier release.
        breaches, self._held_breaches = self._held_breaches, []
        for members in breaches:
            if unless is not None:
                members |= {"verdict": Verdict.INCONCLUSIVE.value, "expected": unless, "hint": None}
            self.log.add("judgement", **members)
