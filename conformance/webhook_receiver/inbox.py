"""Inbox of a run: the deliveries that arrive at the profile's webhook destinations, each with its event-log number."""

from __future__ import annotations

import asyncio
import re
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any
from urllib.parse import urlsplit

from conformance.http.client import Client, Names
from conformance.oracles.strict_json import JsonTextFault, strict_json
from conformance.oracles.webhook_signature import SignatureHeader, read
from conformance.outcome import Inconclusive
from conformance.target import Destination, Profile, clock_file
from conformance.webhook_receiver.raw_receiver import Arrival, CannotListen, Receiver, Reply, bind_sockets

CONFIRMED_TYPE = "payment.confirmed"
_NOWHERE = Reply(404)
_HTTP_PORT = 80


@dataclass(frozen=True, slots=True)
class Place:
    """A destination at which the suite receives.

    Attributes:
        name: Its name in the profile.
        destination: Its table in the profile.
        secret: The secret with which its deliveries are signed; the log contains only its name.
        host: Host to which the suite's socket is bound.
        port: Port to which the suite's socket is bound.
        path: Path of its URL.
    """

    name: str
    destination: Destination
    secret: str = field(repr=False)
    host: str
    port: int
    path: str


@dataclass(frozen=True)
class Received:
    """One request that the target sent to a destination.

    Attributes:
        n: Its number in the event log.
        place: The destination; None if no destination has the path of the request.
        arrival: The request.
        now: The target's time at its arrival, in unix seconds.
    """

    n: int
    place: Place | None
    arrival: Arrival
    now: float

    @cached_property
    def fault(self) -> str | None:
        """Why the body is not a JSON object; None if it is one."""
        try:
            value = strict_json(self.arrival.body)
        except JsonTextFault as fault:
            return str(fault)
        return None if isinstance(value, dict) else f"the body is JSON and no object: {type(value).__name__}"

    @cached_property
    def event(self) -> Mapping[str, Any]:
        """The event; empty if the body is not a JSON object."""
        return {} if self.fault is not None else strict_json(self.arrival.body)

    @property
    def data(self) -> Mapping[str, Any]:
        """The event's `data`; empty if it has none."""
        members = self.event.get("data")
        return members if isinstance(members, dict) else {}

    @property
    def id(self) -> object:
        """The event's id, of any type."""
        return self.event.get("id")

    @property
    def at_its_url(self) -> bool:
        """Whether it has path and query of its destination's URL, or the operator's proxy may have changed them."""
        if self.place is None:
            return False
        parts = urlsplit(self.place.destination.url)
        url = self.place.path + (f"?{parts.query}" if parts.query else "")
        # A destination with `listen` is behind the operator's proxy, which may rewrite path and
        # query.
        return self.arrival.target == url or self.place.destination.listen is not None

    @property
    def confirms(self) -> bool:
        """Whether its type says that a payment is confirmed."""
        return self.event.get("type") == CONFIRMED_TYPE

    def mentions(self, words: Sequence[str]) -> bool:
        """Return whether one of the words is in a string of the event, or in its bytes if it is not JSON."""
        # Most events do not match. One search in all texts together rejects them faster than a pattern for each text.
        return any(word.lower() in self._lower and any(_has(text, word) for text in self._texts) for word in words)

    @cached_property
    def _lower(self) -> str:
        """All texts joined, in lower case."""
        return "\n".join(self._texts).lower()

    @cached_property
    def _texts(self) -> tuple[str, ...]:
        """The texts in which words are searched."""
        return tuple(_texts(self.event)) if self.fault is None else (self.arrival.body.decode("utf-8", "replace"),)

    def signature(self, header: str) -> SignatureHeader | None:
        """Return its parsed signature header; None if it has none or several."""
        values = self.arrival.values(header)
        return read(values[0]) if len(values) == 1 else None


def _has(text: str, word: str) -> bool:
    """Return whether a text contains a word by itself, in any case; it may be the beginning of another word."""
    return _by_itself(word).search(text) is not None


@lru_cache(maxsize=4096)
def _by_itself(word: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![a-z0-9]){re.escape(word)}(?![a-z0-9])", re.IGNORECASE)


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, member in value.items():
            yield str(name)
            yield from _texts(member)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)


class Inbox:
    """Receives at all destinations of the profile; opened once in a run with rows about webhooks. It judges nothing.

    If the suite cannot receive at a place, the reason becomes the reason of the rows that need it.
    """

    def __init__(self, profile: Profile, client: Client, names: Names) -> None:
        """Store the profile with the destinations, the client that records deliveries, and the names of secrets."""
        self._profile = profile
        self._client = client
        self._names = names
        self._places: dict[str, Place] = {}
        self._trouble: dict[str, str] = {}
        self._receivers: list[Receiver] = []
        self._received: list[Received] = []
        self._scripts: dict[tuple[str, str], list[Reply]] = defaultdict(list)
        self._changed = asyncio.Event()

    async def open(self) -> None:
        """Start to receive at every destination of the profile whose address can be bound."""
        places_by_address: dict[tuple[str, int], list[Place]] = defaultdict(list)
        for name, destination in self._profile.webhook.destinations.items():
            secret = destination.secret.read()
            # Before anything is received, so that no log line can contain the secret.
            self._names.secret(secret, f"WEBHOOK_{name.upper()}_SECRET")
            try:
                host, port = listening_address(destination)
            except ValueError as fault:
                self._trouble[name] = f"[webhook.destinations.{name}] {fault}"
                continue
            places_by_address[host, port].append(
                Place(name, destination, secret, host, port, urlsplit(destination.url).path or "/")
            )
        for places in places_by_address.values():
            await self._open(places)

    async def _open(self, places: Sequence[Place]) -> None:
        host, port = places[0].host, places[0].port
        try:
            # Destinations with the same host and port share one socket.
            receiver = await Receiver(lambda arrival: self._reply(places, arrival)).start(bind_sockets(host, port))
        except CannotListen as fault:
            for place in places:
                self._trouble[place.name] = (
                    f"[webhook.destinations.{place.name}] {fault}: end what listens there, or give listen = "
                    '"HOST:PORT", an address of this machine that deliveries are forwarded to'
                )
            return
        receiver.listen(lambda arrival: self._take(places, arrival))
        self._receivers.append(receiver)
        self._places |= {place.name: place for place in places}

    async def close(self) -> None:
        """Free every address."""
        for receiver in self._receivers:
            await receiver.close()

    @property
    def deliveries(self) -> tuple[Received, ...]:
        """All requests so far, in order."""
        return tuple(self._received)

    def of_tenant(self, tenant: str) -> tuple[Place, ...]:
        """Return the destinations that receive the payments of a tenant.

        Raises:
            Inconclusive: There is no such destination, or the suite cannot receive at one of them.
        """
        names = [
            name
            for name, destination in self._profile.webhook.destinations.items()
            if destination.tenant == tenant and CONFIRMED_TYPE in destination.events
        ]
        trouble = [self._trouble[name] for name in names if name in self._trouble]
        if trouble:
            raise Inconclusive("; ".join(trouble))
        if not names:
            raise Inconclusive(
                f"no destination of the tenant {tenant} is known: configure one at the target and give "
                "[webhook.destinations.NAME] with its url and secret"
            )
        return tuple(self._places[name] for name in names)

    def script(self, word: str, place: Place, replies: Sequence[Reply]) -> None:
        """Answer the next deliveries at a place that contain a word with these replies, one each.

        Events of types other than payment.confirmed are accepted and use none of the replies.
        """
        # Scripts are found by a word of the event, because several checks share one
        # destination.
        self._scripts[place.name, word] = list(replies)

    async def wait(
        self, matches: Callable[[Received], bool], *, seconds: float, count: int = 1
    ) -> tuple[Received, ...]:
        """Return the matching deliveries as soon as there are `count` or the time is over."""
        ends = time.monotonic() + seconds
        while True:
            self._changed.clear()
            # The event is cleared before the deliveries are read, so that none is missed in
            # between.
            deliveries = tuple(filter(matches, self._received))
            seconds_left = ends - time.monotonic()
            if len(deliveries) >= count or seconds_left <= 0:
                return deliveries
            try:
                async with asyncio.timeout(seconds_left):
                    await self._changed.wait()
            except TimeoutError:
                continue

    def _reply(self, places: Sequence[Place], arrival: Arrival) -> Reply:
        place = _place(places, arrival)
        if place is None:
            return _NOWHERE
        for (name, word), replies in self._scripts.items():
            if name == place.name and replies and _has(arrival.body.decode("utf-8", "replace"), word):
                # Other event types are the target's choice. They must not use up the replies of the event under test.
                return Reply() if _is_of_another_type(arrival.body) else replies.pop(0)
        return Reply()

    def _take(self, places: Sequence[Place], arrival: Arrival) -> None:
        reply = arrival.reply or Reply()
        place = _place(places, arrival)
        n = self._client.record_delivery(
            "no destination" if place is None else place.name,
            (
                arrival.method,
                f"http://{places[0].host}:{places[0].port}{arrival.target}",
                arrival.headers,
                arrival.body,
            ),
            reply.description if reply.ending != "answer" else (reply.status, reply.headers, reply.body),
        )
        self._received.append(Received(n, place, arrival, arrival.at + self._clock_offset()))
        self._changed.set()

    def _clock_offset(self) -> float:
        """Return the offset of the target's test clock."""
        file = self._profile.clock.offset_file
        try:
            return 0.0 if file is None else clock_file.offset_of(file)
        except Inconclusive:
            return 0.0


def _is_of_another_type(body: bytes) -> bool:
    try:
        event = strict_json(body)
    except JsonTextFault:
        return False
    type_ = event.get("type") if isinstance(event, dict) else None
    return isinstance(type_, str) and type_ != CONFIRMED_TYPE


def _place(places: Sequence[Place], arrival: Arrival) -> Place | None:
    """Return the destination of a request by its path, or None."""
    # The operator's proxy may change the path. If a socket serves only one such destination, the
    # request is for it.
    only = places[0] if len(places) == 1 and places[0].destination.listen is not None else None
    return next((one for one in places if one.path == arrival.path), only)


def listening_address(destination: Destination) -> tuple[str, int]:
    """Return the host and port that the suite binds for a destination.

    Raises:
        ValueError: They are unknown; the text says what to give.
    """
    if destination.listen is not None:
        host, colon, port = destination.listen.rpartition(":")
        if not (colon and host and port.isdecimal() and int(port) < 65_536):
            raise ValueError(f"listen = {destination.listen!r} is no HOST:PORT")
        return host.strip("[]"), int(port)
    parts = urlsplit(destination.url)
    if parts.scheme != "http" or parts.hostname is None:
        raise ValueError(
            "the suite receives plain HTTP: end TLS in front of it and give listen, the HOST:PORT that the deliveries "
            "are forwarded to"
        )
    return parts.hostname, parts.port or _HTTP_PORT
