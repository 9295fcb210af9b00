"""Played control plane for addons: it answers the operations of the interface, and records every call."""

from __future__ import annotations

import hashlib
import json
import secrets
import time
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from conformance.engine.check import Case
from conformance.oracles.strict_json import JsonTextFault, strict_json
from conformance.surfaces.control_plane import document_reader
from conformance.surfaces.control_plane.access import ATB_KEYS, PKS, POSTURE, SERVICES
from conformance.surfaces.control_plane.played_service_sockets import start_receiver
from conformance.surfaces.control_plane.services import HEALTH
from conformance.webhook_receiver.raw_receiver import Arrival, Receiver, Reply

_JSON = (("Content-Type", "application/json"),)
# RFC 9110, 11.6.1: a 401 names the scheme.
_UNAUTHORIZED_REPLY = Reply(401, (*_JSON, ("WWW-Authenticate", "Bearer")), b'{"detail":"Unauthorized"}')


@dataclass
class PlayedHub:
    """A control plane on a separate socket.

    Attributes:
        case: The case of the check that plays it.
        url: Its address as the target reaches it, without a slash at its end.
        token: Its admin token, made for this check.
        trust_set: The trust set that it serves: public keys in base64 by DID.
        atb_keys: The keys in atb-keys.json, if they differ.
        key_entries: Further entries of atb-keys.json, as they are.
    """

    case: Case
    url: str
    token: str = field(repr=False)
    receiver: Receiver
    trust_set: dict[str, str] = field(default_factory=dict)
    atb_keys: dict[str, str] | None = None
    key_entries: list[dict[str, Any]] = field(default_factory=list)
    _numbers: dict[int, int] = field(default_factory=dict)

    def answer(self, arrival: Arrival) -> Reply:
        """Answer a call as the interface says."""
        # HEAD is answered like GET; the server underneath leaves out the body.
        request = (arrival.method.replace("HEAD", "GET"), arrival.path)
        if request == ("GET", PKS):
            return _json_reply(self.trust_set)
        if request == ("GET", ATB_KEYS):
            keys = self.trust_set if self.atb_keys is None else self.atb_keys
            entries = [make_key_entry(did, key) for did, key in keys.items()]
            return _json_reply(_key_document([*entries, *self.key_entries]))
        if request == ("GET", HEALTH):
            return _json_reply({"status": "ok", "issuers": len(self.trust_set), "services": len(self.registrations)})
        if request == ("GET", POSTURE):
            return _json_reply({"services": [body for _, body in self.registrations]})
        if request == ("POST", SERVICES):
            return self._register(arrival)
        return Reply(404, _JSON, b'{"detail":"Not Found"}')

    def _register(self, arrival: Arrival) -> Reply:
        body = _body(arrival)
        # The token comes first: a call without it learns nothing about its body.
        if not self.is_authorised(arrival):
            return _UNAUTHORIZED_REPLY
        if not isinstance(body, dict):
            return Reply(422, _JSON, b'{"detail":[]}')
        return _json_reply({**body, "registered_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}, 201)

    def is_authorised(self, arrival: Arrival) -> bool:
        """Return whether a call has the admin token, with the scheme's name in any case."""
        return any(
            value.partition(" ")[0].lower() == "bearer" and value.partition(" ")[2].strip() == self.token
            for value in arrival.values("Authorization")
        )

    @property
    def registrations(self) -> list[tuple[Arrival, Any]]:
        """Every registration with the token, with its body."""
        return [
            (arrival, _body(arrival))
            for arrival in self.receiver.arrivals
            if (arrival.method, arrival.path) == ("POST", SERVICES) and self.is_authorised(arrival)
        ]

    def calls(self, path: str, method: str = "GET", *, after: int = 0) -> list[Arrival]:
        """Return the calls of a path after an arrival's number, in order."""
        return [
            arrival
            for arrival in self.receiver.arrivals
            if arrival.number > after and (arrival.method, arrival.path.rstrip("/")) == (method, path)
        ]

    async def is_pulled_again(self, paths: Collection[str], *, seconds: float, after: int) -> bool:
        """Return whether one of some documents is read again within some seconds, after an arrival's number."""

        def again(arrival: Arrival) -> bool:
            path = arrival.path.rstrip("/")
            if arrival.method != "GET" or path not in paths:
                return False
            # The first reading of a document belongs to the addon's start, and may arrive late from
            # a slow addon.
            return any(earlier.number < arrival.number for earlier in self.calls(path))

        return bool(await self.receiver.next(again, seconds=seconds, after=after))

    async def wait_for_call(self, path: str, method: str = "GET", *, seconds: float, after: int = 0) -> Arrival | None:
        """Return the first such call, or None if none arrives in time."""
        arrivals = await self.receiver.next(
            lambda one: (one.method, one.path.rstrip("/")) == (method, path), seconds=seconds, after=after
        )
        return next(iter(arrivals), None)

    @property
    def last(self) -> int:
        """Number of the latest arrival; 0 without arrivals."""
        return max((one.number for one in self.receiver.arrivals), default=0)

    def record_call(self, arrival: Arrival) -> RecordedCall:
        """Write a call into the event log once, and return the record that a judgement cites."""
        if arrival.number not in self._numbers:
            request = (arrival.method, self.url + arrival.target, arrival.headers, arrival.body)
            reply = arrival.reply or Reply(404)
            self._numbers[arrival.number] = self.case.client.record_delivery(
                "the suite's hub", request, (reply.status, reply.headers, reply.body)
            )
        return RecordedCall(self._numbers[arrival.number])


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """A call with its place in the event log."""

    n: int


def _json_reply(value: Any, status: int = 200) -> Reply:
    return Reply(status, _JSON, json.dumps(value).encode())


def _body(arrival: Arrival) -> Any:
    try:
        return strict_json(arrival.body)
    except JsonTextFault:
        return None


def _key_document(entries: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the document that credential verifiers resolve, in the family's form."""
    updated_at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    return {"issuer": "did:web:hub.example", "updated_at": updated_at, "keys": entries}


def make_key_entry(did: str, key: str) -> dict[str, Any]:
    """Return the entry of an issuer's key in base64 in that document."""
    return {
        "did": did,
        "kid": kid_of(key),
        "alg": "Falcon-1024",
        "fips": "206",
        "use": "sig",
        "public_key_b64": key,
        "public_key_pqclean_b64": key,
        "status": "active",
    }


def kid_of(key: str) -> str:
    """Return the family's name of a key in base64: the first 16 hex digits of SHA-256 over its bytes (P-KY-09)."""
    return hashlib.sha256(document_reader.decode_base64(key) or b"").hexdigest()[:16]


@asynccontextmanager
async def played_hub(case: Case) -> AsyncIterator[PlayedHub]:
    """Play a control plane with a new token and an empty trust set.

    Raises:
        Inconclusive: The suite cannot listen.
    """
    receiver, host = await start_receiver(case, "the control plane")
    token = secrets.token_urlsafe(32)
    case.client.names.secret(token, "ADMIN_TOKEN")
    # The port changes from run to run.
    case.client.names.secret(host, "HUB_ADDRESS")
    hub = PlayedHub(case, f"http://{host}", token, receiver)
    receiver.plan = hub.answer
    try:
        yield hub
    finally:
        await receiver.close()
