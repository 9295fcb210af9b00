"""The log of a run for observers: exchanges with their parts, deliveries and judgements."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

from conformance.discovery.rail import INDEX, PAID_PREFIX
from conformance.log.events import Event
from conformance.oracles import jose

PAID_STATUS = 200
UNPAID = 402
_OF_THE_AGENT = "/verify/rfc9421"
_PLAYED_HUB = "the suite's hub"
_NAMED_SURFACES = {"$HUB_ADDRESS": "control_plane", "$ADDON_ADDRESS": "addon"}


@dataclass(frozen=True)
class Exchange:
    """One answered exchange."""

    event: Event = field(repr=False)
    surface: str

    @property
    def method(self) -> str:
        """The method."""
        return str(self.event["request"]["method"])

    @cached_property
    def path(self) -> str:
        """The path without its query."""
        return str(self.event["request"]["path"]).partition("?")[0]

    @property
    def status(self) -> int:
        """The status."""
        return int(self.event["response"]["status"])

    @property
    def text(self) -> str:
        """The answer's body."""
        return str(self.event["response"]["body"])

    @cached_property
    def headers(self) -> Mapping[str, str]:
        """The answer's header fields, by name in lower case."""
        return {name.lower(): value for name, value in self.event["response"]["headers"]}

    @cached_property
    def header_spellings(self) -> Mapping[str, str]:
        """The spelling of the answer's header names, by name in lower case."""
        return {name.lower(): name for name, _ in self.event["response"]["headers"]}

    @cached_property
    def request_headers(self) -> Mapping[str, str]:
        """The request's header fields, by name in lower case."""
        return {name.lower(): value for name, value in self.event["request"]["headers"]}

    @cached_property
    def document(self) -> Any:
        """The answer's body as JSON; None if it is not JSON."""
        return _json(self.text)

    @property
    def object(self) -> dict[str, Any]:
        """The answer's body as a JSON object, or an empty one."""
        return self.document if isinstance(self.document, dict) else {}

    @cached_property
    def request_body(self) -> dict[str, Any]:
        """The request's body as a JSON object, or an empty one."""
        value = _json(self.event["request"]["body"] or "")
        return value if isinstance(value, dict) else {}

    @property
    def is_paid_operation(self) -> bool:
        """Whether it called a paid operation."""
        return self.surface == "rail" and self.path.startswith(PAID_PREFIX) and self.path != INDEX

    @property
    def is_served(self) -> bool:
        """Whether it is a paid answer."""
        return self.is_paid_operation and self.status == PAID_STATUS and self.method == "POST"

    @cached_property
    def entries(self) -> list[dict[str, Any]]:
        """The entries of a challenge."""
        accepts = self.object.get("accepts") if self.status == UNPAID else None
        return [exchange for exchange in accepts if isinstance(exchange, dict)] if isinstance(accepts, list) else []

    @cached_property
    def tokens(self) -> list[tuple[str, str]]:
        """The signed tokens of the answer, as (place, token)."""
        return jose.tokens_in(self.document, dict(self.event["response"]["headers"]))


@dataclass(frozen=True)
class Delivery:
    """One request that the target sent to a webhook destination."""

    event: Event = field(repr=False)

    @property
    def text(self) -> str:
        """The body."""
        return str(self.event["request"]["body"])

    @property
    def was_taken(self) -> bool:
        """Whether it was answered with 2xx."""
        response = self.event["response"]
        return response is not None and 200 <= int(response["status"]) < 300

    @cached_property
    def headers(self) -> Mapping[str, str]:
        """Its header fields, by name in lower case."""
        return {name.lower(): value for name, value in self.event["request"]["headers"]}

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of its header fields as they were spelled."""
        return tuple(name for name, _ in self.event["request"]["headers"])

    @cached_property
    def object(self) -> dict[str, Any]:
        """The event, or an empty object."""
        value = _json(self.text)
        return value if isinstance(value, dict) else {}

    @property
    def data(self) -> dict[str, Any]:
        """Its `data`, or an empty object."""
        value = self.object.get("data")
        return value if isinstance(value, dict) else {}

    @property
    def signature(self) -> tuple[str, str]:
        """Name and value of its signature's header, empty without one."""
        found = [name for name in self.names if name.lower().startswith("x-") and name.lower().endswith("-signature")]
        return (found[0], self.headers[found[0].lower()]) if found else ("", "")


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):  # what hostile bodies nest is no JSON to a reader
        return None


class Wire:
    """What a run sent, got and judged."""

    def __init__(self, events: Sequence[Event]) -> None:
        targets = [exchange["target"] for exchange in events if exchange["event"] == "run.started"]
        addresses = targets[0]["surfaces"] if targets else {}
        self.judgements = [exchange for exchange in events if exchange["event"] == "judgement"]
        self.notes = [exchange["text"] for exchange in events if exchange["event"] == "note"]
        self.finished = {exchange["check"] for exchange in events if exchange["event"] == "check.finished"}
        self.exchanges = [
            Exchange(exchange, _surface_of(exchange["request"], addresses))
            for exchange in events
            if exchange["event"] == "exchange" and exchange["response"] is not None
        ]
        arrivals = [Delivery(exchange) for exchange in events if exchange["event"] == "arrival"]
        # Addons call the control plane that the suite simulates, which is not a destination of events.
        self.hub_calls = [exchange for exchange in arrivals if exchange.event["destination"] == _PLAYED_HUB]
        self.deliveries = [exchange for exchange in arrivals if exchange.event["destination"] != _PLAYED_HUB]
        self.profile_values = {
            str(item["key"]): item["value"]
            for exchange in events
            if exchange["event"] == "run.started"
            for item in exchange.get("non_defaults", ())
        }

    def of(self, surface: str) -> Iterator[Exchange]:
        """Return the exchanges of a surface."""
        return (exchange for exchange in self.exchanges if exchange.surface == surface)

    @cached_property
    def challenges(self) -> list[Exchange]:
        """The exchanges that were answered with a challenge."""
        return [exchange for exchange in self.exchanges if exchange.is_paid_operation and exchange.entries]

    @cached_property
    def served_exchanges(self) -> list[Exchange]:
        """The paid answers."""
        return [exchange for exchange in self.exchanges if exchange.is_served]

    @cached_property
    def receipts(self) -> list[tuple[str, dict[str, Any]]]:
        """The payable receipts, as (place, claims)."""
        return [
            (place, claims)
            for exchange in self.served_exchanges
            for place, token in exchange.tokens
            if (claims := _read_payable(token))
        ]

    def documents(self, surface: str, path: str) -> Iterator[Exchange]:
        """Return the exchanges in which a document was fetched."""
        return (
            exchange
            for exchange in self.of(surface)
            if exchange.path == path and exchange.status == PAID_STATUS and exchange.method == "GET"
        )

    def list_judgements(self, row: str, expectation: str = "") -> Iterator[Event]:
        """Return the judgements of a row whose expectation begins with a text."""
        return (
            exchange
            for exchange in self.judgements
            if exchange["row"] == row and str(exchange["expected"]).startswith(expectation)
        )


def _surface_of(request: Mapping[str, Any], addresses: Mapping[str, str]) -> str:
    """Return the surface of a request."""
    surface_name = next(
        (surface for name, surface in _NAMED_SURFACES.items() if request["url"].startswith(f"http://{name}")), None
    )
    if surface_name is not None:
        return surface_name
    # The agent without a network and the limited gateway have other addresses than the profile's surfaces, so the
    # path decides for the first, and the default is the gateway.
    if str(request["path"]).startswith(_OF_THE_AGENT):
        return "agent"
    mine = (
        name
        for name in ("rail", "agent", "control_plane")
        if addresses.get(name) and request["url"].startswith(addresses[name])
    )
    return next(mine, "gateway")


def read_head(token: str) -> dict[str, Any]:
    """Return the protected header of a token."""
    try:
        return dict(jose.parse(token).header)
    except jose.JwsFault:
        return {}


def read_claims(token: str) -> dict[str, Any]:
    """Return the claims of a token without verification."""
    try:
        # Not verified: an observer describes what a server sends, and the checks judge it.
        return jose.parse(token).claims()
    except jose.JwsFault:
        return {}


def _read_payable(token: str) -> dict[str, Any]:
    claims = read_claims(token)
    is_payable = "payable" in str(claims.get("kind")) or "response_hash" in claims or {"req", "res"} <= claims.keys()
    return claims if is_payable else {}


Observer: TypeAlias = Callable[[Wire], Iterable[str]]
ExchangeReader: TypeAlias = Callable[[Exchange], str | None]


def observe_each(tell: ExchangeReader, surface: str | None = None) -> Observer:
    """Return an observer of every exchange, or of those of one surface."""

    def observe(wire: Wire) -> Iterator[str]:
        for exchange in wire.exchanges:
            if surface in {None, exchange.surface} and (value := tell(exchange)) is not None:
                yield value

    return observe


def join_names(value: Iterable[str]) -> str:
    """Return names in a fixed order, as one text."""
    return ", ".join(sorted(value))
