"""The first look at a server: its kind, the rules for any 402, and the requirements that can be judged at once."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from urllib.parse import urlsplit

from conformance.engine.quick_selection import select_quick_checks
from conformance.first_look.read_only_policy import ReadOnlyPolicy, is_tried
from conformance.first_look.server_recognition import ServerView, bases, recognise
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
# Requests per second to another machine.
_RATE = 25.0
_WORKERS = 8
# Seconds that an interrupted run needs to end.
_ENDING_SECONDS = 2.4
_SHORTEST_SECONDS = 0.5
DECIDED_VERDICTS = frozenset({Verdict.PASS, Verdict.FAIL, Verdict.WARN})


@dataclass(frozen=True, slots=True)
class LookSettings:
    """Settings of a look: HTTP method, longest duration and time-out in seconds, certificates, and seed."""

    method: str = "GET"
    seconds: float = 10.0
    timeout: float = 5.0
    tls: Tls = field(default_factory=Tls)
    seed: int = 1


@dataclass(frozen=True)
class Look:
    """The result of a first look.

    Attributes:
        server: The server as it appears.
        rules: The judged rules for any 402; empty if nothing is sold.
        summary: The run over the requirements that can be judged; None if no surface was recognised.
        profile: The profile of that run, or None.
        seconds: Duration.
    """

    server: ServerView
    rules: tuple[Judged, ...]
    summary: Summary | None
    profile: Profile | None
    seconds: float

    @cached_property
    def judged_rows(self) -> tuple[RowResult, ...]:
        """The requirements that were judged, in the ledger's order."""
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
        """Return the number of requirements and rules with one of these verdicts."""
        verdicts_found = [*(row.verdict for row in self._rows), *(rule.verdict for rule in self.rules)]
        return sum(verdict in verdicts for verdict in verdicts_found)

    @property
    def exit_code(self) -> Exit:
        """4 for a fault of the suite, 1 for a breach, 3 if nothing was judged, else 0."""
        if self.count(Verdict.ERROR):
            return Exit.SUITE_FAULT
        if self.count(Verdict.FAIL):
            return Exit.FAILED
        return Exit.PASSED if self.count(Verdict.PASS, Verdict.WARN) else Exit.NO_VERDICT


async def look(url: str, settings: LookSettings, started_at: float) -> Look:
    """Look at a server.

    Args:
        url: Its address, or that of a resource that it sells.
        settings: Settings of the look.
        started_at: Start of the look on the clock `time.monotonic`, from which the longest duration counts.

    Raises:
        Unreachable: The server gave no answer.
        Throttled: The server rejects requests at this rate.
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
            # On a busy machine the command itself may have used most of the time before its first request.
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
    """Try other spellings of the sold address, for at most a third of the time."""
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
            server.challenge = replace(server.challenge, spellings=await try_spellings(raw, url))
    except (TimeoutError, Inconclusive):
        server.trouble.append("not all other spellings of its path were tried")


def _rate(url: str) -> float:
    return 0.0 if urlsplit(url).hostname in _LOOPBACK else _RATE


def profile_of(server: ServerView, settings: LookSettings) -> Profile:
    """Return the profile of a server as `init` would write it, without chain nodes."""
    text = render(
        server.findings, {}, {}, Pace(requests_per_second=_rate(server.base), workers=_WORKERS), {}, settings.tls
    )
    profile = parse(text, source=server.base)
    return profile.model_copy(update={"budgets": Budgets(request=settings.timeout, fuzz=1.0)})


async def _run_checks(profile: Profile, permit: ReadOnlyPolicy, seed: int, names: Names, seconds: float) -> Summary:
    # Imported late, because this imports every check of the suite, which takes longer than most looks.
    from conformance.engine.runner import Plan, Run, select_checks  # noqa: PLC0415

    surfaces = {*profile.claims.surfaces, "shared"}
    rows = tuple(row for row in load() if row.surface in surfaces)
    # Importing and selecting the checks blocks, and the event loop must stay free for the time
    # limit.
    checks = [one for one in await asyncio.to_thread(select_checks, rows, profile) if is_tried(one)]
    quick_look = select_quick_checks(checks, seed)
    log = EventLog()
    plan = Plan(rows=rows, checks=quick_look.checks, quick=quick_look, seed=seed, workers=_WORKERS)
    task = asyncio.ensure_future(Run(plan, profile, log, names=names, permit=permit).execute())
    try:
        await asyncio.wait([task], timeout=seconds)
    finally:
        # The time is over: rows that were not reached stay open, and the cancelled run still judges the others.
        if not task.done():
            task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
    return summarise(log.events)


def by_needs(rows: tuple[RowResult, ...]) -> Mapping[str, tuple[RowResult, ...]]:
    """Return requirements by the means that their test needs and a first look lacks, in words."""
    rows_by_need: dict[str, list[RowResult]] = {}
    for row in rows:
        words = next((text for code, text in _TAKES if code in row.requirement.needs), _OTHERWISE)
        rows_by_need.setdefault(words, []).append(row)
    return {words: tuple(one) for words, one in rows_by_need.items()}


_OTHERWISE = "more than these seconds, or a call that might create something"
# What a row that was not judged would take, by the letters of its needs. The first match names it: a row that starts
# processes usually needs keys as well, and the hardest need decides whether it is worth while.
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
