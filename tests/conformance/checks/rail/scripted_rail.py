"""A rail in memory behind the recording client, honest unless a test changes an answer, and a runner of one check."""

from __future__ import annotations

import base64
import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from algosdk import account
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from multidict import CIMultiDict, CIMultiDictProxy

from conformance.engine.session import Session
from conformance.log.events import EventLog
from conformance.oracles.hash_recipes import jcs_bytes, sha256_hex
from conformance.outcome import Verdict
from tests.conformance.checks.trial import run_one_check

PATHS = {
    "/pay/v1/compliance/receipt": "compliance-receipt",
    "/pay/v1/verify/receipt": "receipt-verify",
    "/pay/v1/verify/rfc9421": "rfc9421-verify",
}
BASE = "http://rail.test"
NETWORK = "algorand:wGHE2Pwdvd7S12BL5FaOP20EGYesN73k"
PROFILE = f"""
[target]
defaults = "reference"
[surfaces.rail]
url = "{BASE}"
[claims]
surfaces = ["rail"]
lanes = ["algorand"]
"""
_PAYEE = account.generate_account()[1]


@dataclass
class Call:
    """One request as the rail sees it."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes
    lines: Sequence[tuple[str, str]]
    query: str = ""

    @property
    def proof(self) -> Any:
        """The proof it carries, None if it is missing or cannot be read."""
        values = [value for name, value in self.lines if name.lower() == "x-payment"]
        try:
            return json.loads(base64.b64decode(values[0], validate=True)) if len(values) == 1 else None
        except (ValueError, RecursionError):
            return None


@dataclass
class Reply:
    """One answer."""

    status: int
    document: Any
    headers: Mapping[str, str] = field(default_factory=dict)


Change = Callable[[Call, Reply], Reply]


class Rail:
    """Answers as a transport; `change` may put a fault into any answer."""

    def __init__(self, change: Change | None = None) -> None:
        self.change = change
        self.key = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
        self.paid: set[str] = set()
        self.calls: list[Call] = []
        self._tokens = itertools.count(1)

    async def send(
        self, method: str, url: str, headers: Sequence[tuple[str, str]], body: bytes | None
    ) -> tuple[int, CIMultiDictProxy[str], bytes]:
        """Answer one request."""
        parts = urlsplit(url)
        call = Call(method, parts.path, CIMultiDict(headers), body or b"", headers, parts.query)
        self.calls.append(call)
        reply = self._answer(call)
        if self.change is not None:
            reply = self.change(call, reply)
        content = reply.document if isinstance(reply.document, bytes) else json.dumps(reply.document).encode()
        return reply.status, CIMultiDictProxy(CIMultiDict(reply.headers)), content

    def _answer(self, call: Call) -> Reply:
        if call.path in PATHS:
            return self._paid_call(call)
        document = {
            "/openapi.json": self._openapi,
            "/.well-known/x402": lambda: {"resources": [BASE + path for path in PATHS]},
            "/discovery/resources": lambda: {"items": [{"resource": BASE + path} for path in PATHS]},
            "/pay/v1/index": lambda: {"services": [{"url": BASE + path} for path in PATHS]},
            "/.well-known/jwks.json": lambda: {"keys": [self.jwk]},
            "/.well-known/did.json": self._did,
        }.get(call.path)
        return Reply(404, {"detail": "Not Found"}) if document is None else Reply(200, document())

    def _paid_call(self, call: Call) -> Reply:
        proof = call.proof
        has_tx_id = isinstance(proof, dict) and isinstance(proof.get("tx_id"), str)
        if not has_tx_id or proof["tx_id"] not in self.paid:
            return self.challenge(call)
        result = {"verdict": "ALLOW", "served": True}
        claims = {
            "kind": "weldproof/payable-svc-receipt/1",
            "request_hash": self.request_hash(call),
            "response_hash": _reference(jcs_bytes(result)),
            "settled_payment_ref": _reference(f"weldproof-payable-core:{proof['tx_id']}:algorand_mainnet".encode()),
        }
        document = {
            "result": result,
            "payable_receipt": self.sign(claims),
            "compliance_receipt": self.sign({"screen_result": "ALLOW"}),
        }
        return Reply(200, document, {"Cache-Control": "private, no-store"})

    def challenge(self, call: Call) -> Reply:
        """Return a 402 with a fresh token."""
        entry = {
            "scheme": "exact",
            "network": NETWORK,
            "asset": "31566704",
            "payTo": _PAYEE,
            "maxAmountRequired": "10000",
            "maxTimeoutSeconds": 1800,
            "extra": {
                "payment_reference": f"1795240615:{next(self._tokens):016x}:{'ab' * 32}",
                "service_id": PATHS[call.path],
            },
        }
        document = {"x402Version": 2, "resource": {"url": BASE + call.path}, "accepts": [entry]}
        return Reply(402, document, {"Cache-Control": "no-store"})

    @staticmethod
    def request_hash(call: Call) -> str:
        """Return the hash that binds a call."""
        envelope = {"body": json.loads(call.body), "method": call.method, "path": call.path, "query": call.query}
        return _reference(jcs_bytes({**envelope, "service_id": PATHS[call.path]}))

    @property
    def jwk(self) -> dict[str, str]:
        """The published key."""
        raw = self.key.public_key().public_bytes_raw()
        return {"kty": "OKP", "crv": "Ed25519", "x": _base64url(raw), "kid": "k1"}

    def sign(self, claims: Mapping[str, Any]) -> str:
        """Return a compact JWS."""
        text = f"{_base64url(jcs_bytes({'alg': 'EdDSA', 'kid': 'k1'}))}.{_base64url(jcs_bytes(claims))}"
        return f"{text}.{_base64url(self.key.sign(text.encode()))}"

    def _did(self) -> Any:
        did = "did:web:rail.test"
        method = {"id": f"{did}#k1", "type": "JsonWebKey2020", "controller": did, "publicKeyJwk": self.jwk}
        return {"id": did, "verificationMethod": [method], "assertionMethod": [f"{did}#k1"]}

    @staticmethod
    def _openapi() -> Any:
        operation = {
            "x-payment-info": {"price": "0.01"},
            "responses": {"200": {"description": "served"}, "402": {"description": "payment required"}},
        }
        paths = {path: {"post": operation} for path in PATHS}
        return {"openapi": "3.1.0", "info": {"title": "t", "version": "1"}, "paths": paths}


class Payer:
    """Pays in the rail's own books; the chain is not what these tests are about."""

    lane = "algorand"
    network_key = "algorand_mainnet"
    caip2 = NETWORK
    has_control = False
    address = "PAYER"

    def __init__(self, rail: Rail) -> None:
        self._rail = rail
        self._ids = itertools.count(1)

    async def close(self) -> None:
        """Do nothing, since no connection is open."""

    async def block_time(self) -> int:
        """Return no time: nothing here waits for a block."""
        return 0

    async def lacks(self, verb: str) -> bool:
        """Return that the verb does not exist."""
        del verb
        return True

    async def pay(self, entry: Mapping[str, Any]) -> dict[str, Any]:
        """Enter a payment into the rail's books."""
        tx_id = base64.b32encode(next(self._ids).to_bytes(32)).decode().rstrip("=")
        self._rail.paid.add(tx_id)
        return {"tx_id": tx_id, "payment_reference": entry["extra"]["payment_reference"]}


async def run_check(name: str, rail: Rail, profile: str = PROFILE, log: EventLog | None = None) -> dict[str, Verdict]:
    """Run one check against a rail and return the verdict of each row it judged."""

    def ready(session: Session) -> None:
        session.payers.open_payers["algorand"] = Payer(rail)
        rail.calls.clear()

    return await run_one_check(name, rail, profile, ready=ready, log=log)


def _reference(data: bytes) -> str:
    return "sha256:" + sha256_hex(data)


def _base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")
