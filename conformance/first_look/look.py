"""A first look at a server: what it is, which requirements can be judged of it at once, and what x402 makes of it."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from urllib.parse import urlsplit

from conformance.engine.quick_selection import select_quick_checks
from conformance.first_look.permit import ReadOnlyPolicy, is_tried
from conformance.first_look.recognised import ServerView, bases, recognise
from conformance.first_look.spellings import try_spellings
from conformance.first_look.x402_rules import Judged, judge
from conformance.http.client import Client, Counter, Names, Unreachable
from conformance.http.raw import RawTransport
from conformance.http.transport import HttpTransport
from conformance.http.trust import make_context
from conformance.ledger import load
from conformance.log.events import EventLog
from conformance.outcome import Exit, Inconclusive, Verdict
from conformance.report.row_result import RowResult
from conformance.report.summary import Summary, summarise
from conformance.surfaces.profile_draft import render
from conformance.target import Budgets, Pace, Profile, Tls, parse

_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
# Requests a second elsewhere than on this machine.
_RATE = 25.0
_WORKERS = 8
# What a run that is cut short needs at most to come to its end.
_ENDING_SECONDS = 2.4
_SHORTEST_SECONDS = 0.5
DECIDED_VERDICTS = frozenset({Verdict.PASS, Verdict.FAIL, Verdict.WARN})


@dataclass(frozen=True, slots=True)
class LookSettings:
    """How a server is asked: by which method its address, how long, by whose certificates, and from which seed."""

    method: str = "GET"
    seconds: float = 10.0
    timeout: float = 5.0
    tls: Tls = field(default_factory=Tls)
    seed: int = 1


@dataclass(frozen=True)
class Look:
    """What a first look came to.

    Attributes:
        seen: What the server seems to be.
        rules: The demands on any 402, judged; empty where nothing is sold.
        summary: The run over the requirements that can be judged so; None where no surface was recognised.
        profile: What the run took the server to be; likewise.
        seconds: How long it took.
    """

    server: ServerView
    rules: tuple[Judged, ...]
    summary: Summary | None
    profile: Profile | None
    seconds: float

    @cached_property
    def judged_rows(self) -> tuple[RowResult, ...]:
        """The requirements that were tried and came to something, in the ledger's order."""
        return tuple(row for row in self._rows if row.verdict in DECIDED_VERDICTS)

    @cached_property
    def open_rows(self) -> tuple[RowResult, ...]:
        """The requirements that apply and were not judged."""
        outside = {*DECIDED_VERDICTS, Verdict.NOT_APPLICABLE, Verdict.DOCUMENTED, Verdict.ERROR}
        return tuple(row for row in self._rows if row.verdict not in outside)

    @property
    def _rows(self) -> tuple[RowResult, ...]:
        return () if self.summary is None else self.summary.rows

    def count(self, *verdicts: Verdict) -> int:
        """Return how many requirements and rules have one of these verdicts."""
        verdicts_found = [*(row.verdict for row in self._rows), *(rule.verdict for rule in self.rules)]
        return sum(verdict in verdicts for verdict in verdicts_found)

    @property
    def exit_code(self) -> Exit:
        """4 for a fault of the suite, 1 for a breach, 3 where nothing was judged, else 0."""
        if self.count(Verdict.ERROR):
            return Exit.SUITE_FAULT
        if self.count(Verdict.FAIL):
            return Exit.FAILED
        return Exit.PASSED if self.count(Verdict.PASS, Verdict.WARN) else Exit.NO_VERDICT


async def look(url: str, settings: LookSettings, started_at: float) -> Look:
    """Look at a server.

    Args:
        url: Its address, or that of something it sells.
        asking: How it is asked.
        started: When the look began, by `time.monotonic`; that it asks no longer than agreed counts from there.

    Raises:
        Unreachable: It gave no answer at all.
        Throttled: It answers nobody at this rate.
    """
    names = Names()
    permits = {base: ReadOnlyPolicy(base) for base in bases(url)}
    transport = HttpTransport(
        seconds=settings.timeout, requests_per_second=0, connections=_WORKERS, tls=make_context(settings.tls)
    )
    server = ServerView(url, next(iter(permits)))
    async with transport:
        client = Client(transport, EventLog(), "check", names, Counter())
        try:
            # On a busy machine the command may have taken most of its time to begin.
            async with asyncio.timeout(max(settings.seconds / 2, started_at + settings.seconds - time.monotonic())):
                await recognise(client, permits, server, settings.method)
        except TimeoutError:
            if not server.answer_text:
                raise Unreachable(f"no answer within {settings.seconds:g} s") from None
            server.trouble.append(f"the answer was not complete after {settings.seconds:g} s")
        await _try_other_spellings(client, server, settings)
    rules = () if server.challenge is None else judge(server.challenge)
    if not server.surfaces:
        return Look(server, rules, None, None, time.monotonic() - started_at)
    profile = profile_of(server, settings)
    seconds_left = max(_SHORTEST_SECONDS, started_at + settings.seconds - _ENDING_SECONDS - time.monotonic())
    summary = await _run_checks(profile, permits[server.base], settings.seed, names, seconds_left)
    return Look(server, rules, summary, profile, time.monotonic() - started_at)


async def _try_other_spellings(client: Client, server: ServerView, settings: LookSettings) -> None:
    """Try other spellings of the address that is sold, in a third of the time."""
    if server.challenge is None:
        return
    url, parts = server.challenge.url, urlsplit(server.challenge.url)
    pace, tls = _rate(url), make_context(settings.tls)
    origin = f"{parts.scheme}://{parts.netloc}"
    transport = RawTransport(
        origin, seconds=settings.timeout, requests_per_second=pace, tls=tls, has_whole_requests=True
    )
    raw = client.with_transport(transport)
    try:
        async with asyncio.timeout(settings.seconds / 3):
            server.challenge = replace(server.challenge, spelled=await try_spellings(raw, url))
    except (TimeoutError, Inconclusive):
        server.trouble.append("not all other spellings of its path were tried")


def _rate(url: str) -> float:
    return 0.0 if urlsplit(url).hostname in _LOOPBACK else _RATE


def profile_of(server: ServerView, settings: LookSettings) -> Profile:
    """Return the profile that describes a server, as `init` would write it, without any chain node."""
    text = render(
        server.findings, {}, {}, Pace(requests_per_second=_rate(server.base), workers=_WORKERS), {}, settings.tls
    )
    profile = parse(text, source=server.base)
    return profile.model_copy(update={"budgets": Budgets(request=settings.timeout, fuzz=1.0)})


async def _run_checks(profile: Profile, permit: ReadOnlyPolicy, seed: int, names: Names, seconds: float) -> Summary:
    # Every check of the suite comes along, which takes longer than most looks do.
    from conformance.engine.runner import Plan, Run, select_checks  # noqa: PLC0415

    surfaces = {*profile.claims.surfaces, "shared"}
    rows = tuple(row for row in load() if row.surface in surfaces)
    checks = [one for one in await asyncio.to_thread(select_checks, rows, profile) if is_tried(one)]
    quick_look = select_quick_checks(checks, seed)
    log = EventLog()
    plan = Plan(rows=rows, checks=quick_look.checks, quick=quick_look, seed=seed, workers=_WORKERS)
    task = asyncio.ensure_future(Run(plan, profile, log, names=names, permit=permit).execute())
    try:
        await asyncio.wait([task], timeout=seconds)
    finally:
        # What was not reached in time is open; a run that is cut short still judges what it came to.
        if not task.done():
            task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
    return summarise(log.events)


def by_needs(rows: tuple[RowResult, ...]) -> Mapping[str, tuple[RowResult, ...]]:
    """Return requirements by what judging them takes that a first look has not, in words."""
    rows_by_need: dict[str, list[RowResult]] = {}
    for row in rows:
        words = next((text for code, text in _TAKES if code in row.requirement.needs), _OTHERWISE)
        rows_by_need.setdefault(words, []).append(row)
    return {words: tuple(one) for words, one in rows_by_need.items()}


_OTHERWISE = "more than these seconds, or a call that might create something"
_TAKES = (
    ("P", "starting other programs with it"),
    ("R", "a receiver of webhooks"),
    ("W", "a webhook destination and its secret"),
    ("T2", "the keys of two tenants"),
    ("T", "a tenant's key"),
    ("A", "the admin token"),
    ("C", "payments"),
    ("S", "time, or load"),
    ("K", "a receipt that it signed"),
)
