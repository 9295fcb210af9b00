"""A checkout in memory that reports its payments to real sockets: rightly, or with one flaw."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import hmac
import json
import random
import time
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import aiohttp
from multidict import CIMultiDictProxy

from conformance import target
from conformance.engine.check import Case
from conformance.engine.check_loading import load_checks
from conformance.engine.session import Session
from conformance.http.client import Client, Counter, Names
from conformance.lanes.checkout_request import USDC
from conformance.log.events import EventLog
from conformance.outcome import Inconclusive, Verdict, worst
from conformance.target import Profile
from conformance.webhook_receiver.inbox import Inbox, Received
from conformance.webhook_receiver.raw_receiver import SILENCE
from tests.conformance.checks.gateway.scripted_checkout import (
    NETWORK,
    PAYOUT,
    PROFILE,
    Checkout,
    Link,
    Payer,
    Transfer,
)
from tests.reserved_port import reserved_port

SECRETS = {"first": "weldw_c2VjcmV0IG9uZQ", "first_too": "weldw_c2VjcmV0IHR3bw", "second": "weldw_c2VjcmV0IHRocmVl"}
_TENANTS = {"first": "first", "first_too": "first", "second": "second"}
_TIMEOUT, _PAUSE = 30.0, 30.0
# A run that is held up for a while must not look like a sender that keeps silent, so what is due is waited for long.
_PATIENCE, _LOOK_SECONDS = 120.0, 0.05
_WEBHOOKS = """
[clock]
offset_file = "{clock}"
[webhook]
timeout = {timeout}
schedule = [{pause}]
signed_string = "{{t}}.{{body}}"
{destinations}
"""
_DESTINATION = """
[webhook.destinations.{name}]
url = "{url}"
tenant = "{tenant}"
secret = {{ file = "{file}" }}
"""

Event = dict[str, Any]


@dataclass(frozen=True)
class Place:
    """Where the shop sends: a destination that it knows."""

    name: str
    url: str
    secret: str
    tenant: str


@dataclass(frozen=True)
class Attempt:
    """One attempt of a delivery.

    Attributes:
        number: From 1.
        event: The event.
        body: Its bytes.
        now: The shop's time, in unix seconds.
        creation_time: The shop's time when the event was made.
        place: Where it goes.
        places: Everything that the shop knows.
    """

    number: int
    event: Event
    body: bytes
    now: int
    creation_time: int
    place: Place
    places: Sequence[Place]


def compact(event: Event) -> bytes:
    """Return an event as JSON."""
    return json.dumps(event, ensure_ascii=False, separators=(",", ":")).encode()


def sign_attempt(attempt: Attempt) -> str:
    """Return an honest header."""
    return header(attempt.now, attempt.place.secret, f"{attempt.now}.".encode() + attempt.body)


def header(t: int, secret: str, message: bytes) -> str:
    """Return a header over a message."""
    return f"t={t},v1={hmac.new(secret.encode(), message, hashlib.sha256).hexdigest()}"


def own_places(link: Link, places: Sequence[Place]) -> Iterable[Place]:
    """Return the destinations of the link's tenant."""
    del link
    return [one for one in places if one.tenant == "first"]


def keep_event(event: Event, number: int) -> Event:
    """Return the event unchanged, whatever the attempt."""
    del number
    return event


@dataclass
class Flaws:
    """What a shop does, honest unless something is put in its place."""

    event: Callable[[Event], Event] = lambda event: event
    body: Callable[[Event], bytes] = compact
    again: Callable[[Event, int], Event] = keep_event
    header: Callable[[Attempt], str | None] = sign_attempt
    header_name: str = "X-Weldproof-Signature"
    places: Callable[[Link, Sequence[Place]], Iterable[Place]] = own_places
    method: str = "POST"
    url: Callable[[str], str] = lambda url: url
    often: int = 2
    further: Callable[[Event], Sequence[Event]] = lambda _: ()
    tells: Callable[[Link, Transfer, bool], bool] = lambda link, seen, paid: paid  # noqa: ARG005 - a rule of all three
    page_only: bool = False


@dataclass
class Shop(Checkout):
    """A checkout that reports its payments."""

    flaws: Flaws = field(default_factory=Flaws)
    places: Sequence[Place] = ()
    clock: Path = Path("clock")
    labels: dict[str, str] = field(default_factory=dict)
    told: set[tuple[str, int]] = field(default_factory=set)
    tasks: set[asyncio.Task[None]] = field(default_factory=set)
    to_tell: int = 0
    to_deliver: int = 0
    rests: list[float] = field(default_factory=list)
    unanswered: Callable[[bytes], bool] = lambda _: False

    async def send(
        self, method: str, url: str, headers: Sequence[tuple[str, str]], body: bytes | None
    ) -> tuple[int, CIMultiDictProxy[str], bytes]:
        """Answer one request; it knows no call by which a payer names his transaction."""
        if method == "POST" and "/checkout/" in url:
            return self._answer(404, {"error": "not_found", "message": "No such call."})
        return await super().send(method, url, headers, body)

    def _create(self, body: Mapping[str, Any]) -> Mapping[str, Any]:
        made = super()._create(body)
        self.labels[str(made["token"])] = str(body["label"])
        return made

    @property
    def now(self) -> float:
        """Its time in unix seconds."""
        with contextlib.suppress(FileNotFoundError):
            return time.time() + float(self.clock.read_text())
        return time.time()

    @property
    def is_busy(self) -> bool:
        """Whether it has something to send now; a delivery that is to be repeated waits until its time comes."""
        return self.to_tell + self.to_deliver > sum(due > self.now for due in self.rests)

    def look(self) -> None:
        """See what was transferred, and tell of it."""
        for link in self.links.values():
            self._settle(link)
            for number, seen in enumerate(self.transfers, start=1):
                if (link.token, number) in self.told:
                    continue
                if self.flaws.tells(link, seen, self.rule(link, seen)):
                    self.told.add((link.token, number))
                    self._start(self._tell(link, number))

    def _start(self, work: Any) -> None:
        self.to_tell += 1
        task = asyncio.create_task(work)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def _tell(self, link: Link, number: int) -> None:
        event = self.flaws.event(self._event(link, number))
        made, places = int(self.now), [] if self.flaws.page_only else [*self.flaws.places(link, self.places)]
        texts = [(one, place) for place in places for one in (event, *self.flaws.further(event))]
        self.to_tell, self.to_deliver = self.to_tell - 1, self.to_deliver + len(texts)
        await asyncio.gather(*(self._deliver_to_place(one, place, made) for one, place in texts))

    async def _deliver_to_place(self, event: Event, place: Place, made: int) -> None:
        try:
            await self._deliver(event, place, made)
        finally:
            self.to_deliver -= 1

    def _event(self, link: Link, number: int) -> Event:
        return {
            "id": f"evt_{uuid.uuid4()}",
            "type": "payment.confirmed",
            "created": int(self.now),
            "api_version": "2026-01-01",
            "data": {
                "tenant_label": self.labels[link.token],
                "chain": "algorand:testnet",
                "asset": {"id": USDC[NETWORK], "label": "USDC", "decimals": 6},
                "amount_microunits": str(link.microunits),
                "amount_pretty": f"{link.microunits / 10**6:.6f} USDC",
                "tx_id": f"tx{number}",
                "payer_address": "PAYER",
            },
        }

    async def _deliver(self, first: Event, place: Place, made: int) -> None:
        """Try until it is taken, each time the pause after the beginning of the last attempt.

        Counted from its end, a failure that is seen late, after the clock was moved, would be tried again too late.
        """
        for number in range(1, self.flaws.often + 1):
            event = self.flaws.again(first, number)
            body = self.flaws.body(event)
            start = self.now
            if await self._attempt(Attempt(number, event, body, int(start), made, place, self.places)):
                return
            due = start + _PAUSE
            self.rests.append(due)
            while self.now < due:  # noqa: ASYNC110 - the clock is a file
                await asyncio.sleep(0.01)
            self.rests.remove(due)

    async def _attempt(self, attempt: Attempt) -> bool:
        value = self.flaws.header(attempt)
        headers = {"content-type": "application/json", **({} if value is None else {self.flaws.header_name: value})}
        request = asyncio.create_task(self._request(attempt, headers))
        while not request.done():
            await asyncio.wait([request], timeout=_LOOK_SECONDS)
            if self.unanswered(attempt.body):
                request.cancel()
                await asyncio.wait([request])
                return False
        return request.result()

    async def _request(self, attempt: Attempt, headers: Mapping[str, str]) -> bool:
        timeout = aiohttp.ClientTimeout(total=_TIMEOUT)
        with contextlib.suppress(aiohttp.ClientError, TimeoutError):
            async with (
                aiohttp.ClientSession(timeout=timeout) as session,
                session.request(
                    self.flaws.method, self.flaws.url(attempt.place.url), data=attempt.body, headers=headers
                ) as response,
            ):
                return response.status < 300
        return False


@dataclass
class Telling(Payer):
    """Pays at a shop, which sees it at once."""

    def _enter(self, bill: Any, **changes: Any) -> str:
        tx_id = super()._enter(bill, **changes)
        assert isinstance(self.checkout, Shop)
        self.checkout.look()
        return tx_id


@dataclass
class Below:
    """What the scripted chain has of a node."""

    address: str = "PAYER"
    lane: str = "algorand"
    has_control: bool = False

    async def block_time(self) -> float:
        """Return a time that no clock is ahead of."""
        return 1e12

    async def fault_names(self) -> Sequence[str]:
        """Return no fault."""
        return ()

    async def close(self) -> None:
        """Hold nothing."""


def told_places(folder: Path, names: Sequence[str], port: int) -> list[Place]:
    """Return destinations at a port, with their secrets in files."""
    for name in names:
        (folder / name).write_text(SECRETS[name])
    return [Place(name, f"http://127.0.0.1:{port}/hooks/{name}", SECRETS[name], _TENANTS[name]) for name in names]


async def run_check(
    name: str,
    folder: Path,
    flaws: Flaws | None = None,
    *,
    names: Sequence[str] = ("first", "first_too", "second"),
    changed: Callable[[str], str] = lambda text: text,
    shop: Shop | None = None,
) -> tuple[dict[str, Verdict], EventLog]:
    """Run one check against a shop and return the verdict of each row it judged, and the log.

    What is due is waited for long, and what never comes not at all: a wait ends when the shop has nothing more to tell.

    Args:
        name: The check.
        folder: For secrets and the clock.
        flaws: What the shop does.
        names: Destinations that the shop and the profile know.
        changed: Changes the profile's text.
        shop: The shop, when it is a special one.
    """
    one = shop or Shop()
    with reserved_port() as port:
        one.flaws, one.places, one.clock = flaws or Flaws(), told_places(folder, names, port), folder / "clock"
        return await _run_single_check(name, one, target.parse(_profile(folder, one.places, changed)))


async def _run_single_check(name: str, sender: Shop, profile: Profile) -> tuple[dict[str, Verdict], EventLog]:
    chosen_check = next(check for check in load_checks() if check.id == name)
    lane_check = chosen_check.bind_to("algorand") if chosen_check.lane == "each" else chosen_check
    table, log = Names(), EventLog()
    client = Client(sender, log, name, table, Counter())
    session = Session(profile, client, table, 1)
    session.payers.checkout_payers["algorand"] = Telling(sender)
    session.payers.open_payers["gateway algorand"] = Below()  # type: ignore[assignment]
    await session.open()
    await session.receive()
    session.inbox.wait = partial(_heard_out, sender, session.inbox)  # type: ignore[method-assign]
    sender.unanswered = lambda body: _is_unanswered(session.inbox, body)
    case = Case(lane_check, profile, client, log, random.Random(1), session)
    verdicts: defaultdict[str, list[Verdict]] = defaultdict(list)
    try:
        await lane_check.function(case)
    except Inconclusive as reason:
        log.add("note", check=name, text=str(reason))
        for row in lane_check.rows:
            verdicts[row].append(Verdict.INCONCLUSIVE)
    finally:
        for task in list(sender.tasks):
            task.cancel()
        await asyncio.gather(*sender.tasks, return_exceptions=True)
        await session.close()
    for event in log.of("judgement"):
        verdicts[event["row"]].append(Verdict(event["verdict"]))
    return {row: verdict for row, many in verdicts.items() if (verdict := worst(many)) is not None}, log


async def _heard_out(
    shop: Shop, inbox: Inbox, matches: Callable[[Received], bool], *, seconds: float, count: int = 1
) -> tuple[Received, ...]:
    """Wait as an inbox does, but no longer than the shop has something to tell."""
    wait_task = asyncio.create_task(Inbox.wait(inbox, matches, seconds=seconds, count=count))
    while shop.is_busy and not wait_task.done():
        await asyncio.wait([wait_task], timeout=_LOOK_SECONDS)
    wait_task.cancel()
    return tuple(filter(matches, inbox.deliveries))


def _is_unanswered(inbox: Inbox, body: bytes) -> bool:
    """Return whether a delivery came whose sender waits for an answer that it will not get."""
    return any(
        one.arrival.body == body and one.arrival.reply == SILENCE and one.arrival.left_at is None
        for one in inbox.deliveries
    )


def _profile(folder: Path, places: Sequence[Place], change_text: Callable[[str], str]) -> str:
    text = PROFILE.format(defaults="reference", payout=PAYOUT).replace(
        'surfaces = ["gateway"]', 'surfaces = ["gateway", "webhooks"]'
    )
    text = text.replace("paid = 0.2", f"paid = {_PATIENCE}")
    texts = "".join(
        _DESTINATION.format(name=one.name, url=one.url, tenant=one.tenant, file=folder / one.name) for one in places
    )
    hooks = _WEBHOOKS.format(clock=folder / "clock", timeout=_TIMEOUT, pause=_PAUSE, destinations=texts)
    return change_text(text + hooks)
