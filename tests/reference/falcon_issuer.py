"""An issuer with a real Falcon-1024 key, and the credentials that it issues."""

from __future__ import annotations

import base64
import hashlib
import importlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, cast

import rfc8785

from reference.protocol.falcon import Library

FALCON = cast("Library", importlib.import_module("pqcrypto.sign.falcon_1024"))
_generate_keypair = FALCON.generate_keypair  # a test may put these pairs in its place
ISSUED_AT, EXPIRES, DURING_VALIDITY = "2026-01-01T00:00:00Z", "2027-01-01T00:00:00Z", "2026-06-01T00:00:00Z"


def seal(value: Any) -> str:
    """Return a value as base64url of JSON, as an envelope is written."""
    text = value if isinstance(value, bytes) else json.dumps(value).encode()
    return base64.urlsafe_b64encode(text).rstrip(b"=").decode()


@cache
def key_pair(number: int) -> tuple[bytes, bytes]:  # noqa: ARG001 - the cache knows them by it
    """Return one of this run's key pairs."""
    public, secret = _generate_keypair()
    return bytes(public), bytes(secret)


@dataclass(frozen=True)
class Issuer:
    """An issuer of credentials."""

    did: str = "did:web:bench.example"
    number: int = 1
    public: bytes = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "public", key_pair(self.number)[0])

    @property
    def kid(self) -> str:
        """What names its key."""
        return hashlib.sha256(self.public).hexdigest()[:16]

    @property
    def public_key_b64(self) -> str:
        """Its key as the trust set has it."""
        return base64.b64encode(self.public).decode()

    def certificate(self, **changes: Any) -> dict[str, Any]:
        """Return the payload of an ATB certificate; a member that is changed to None is left out."""
        return _change_members(
            {
                "atb_cert_version": "2",
                "bench_issuer": self.did,
                "bench_kid": self.kid,
                "score": 0.91,
                "passed": True,
                "methodology_version": "atb-v2.1",
                "issued_at": ISSUED_AT,
                "expires_at": EXPIRES,
                "tasks_total": 120,
            },
            changes,
        )

    def passport(self, **changes: Any) -> dict[str, Any]:
        """Return the payload of an agent passport."""
        return _change_members(
            {
                "passport_id": "pp_1",
                "agent_did": "did:web:agent.example",
                "issuer_did": self.did,
                "scopes": ["pay", "screen"],
                "spend_limit_microusd": 5_000_000,
                "spend_window": "day",
                "issued_at": ISSUED_AT,
                "expires_at": EXPIRES,
            },
            changes,
        )

    def sign(self, payload: Mapping[str, Any]) -> bytes:
        """Return a signature over a payload's RFC 8785 form."""
        return bytes(FALCON.sign(key_pair(self.number)[1], rfc8785.dumps(dict(payload))))

    def envelope(self, payload: Mapping[str, Any], **changes: Any) -> dict[str, Any]:
        """Return the members of a payload's envelope."""
        sig = base64.urlsafe_b64encode(self.sign(payload)).rstrip(b"=").decode()
        return _change_members({"payload": payload, "alg": "Falcon-1024", "kid": self.kid, "sig": sig}, changes)

    def issue(self, payload: Mapping[str, Any], **changes: Any) -> str:
        """Return a credential."""
        return seal(self.envelope(payload, **changes))

    def key_entry(self, **changes: Any) -> dict[str, Any]:
        """Return its entry in a key document."""
        entry = {
            "did": self.did,
            "kid": self.kid,
            "alg": "Falcon-1024",
            "fips": "206",
            "use": "sig",
            "public_key_b64": self.public_key_b64,
            "public_key_pqclean_b64": self.public_key_b64,
            "status": "active",
        }
        return _change_members(entry, changes)


def _change_members(members: dict[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in {**members, **changes}.items() if value is not None}
