"""What a credential of the suite is turned into: it names a trusted issuer and its key, and is not what that signed."""

from __future__ import annotations

import base64
import json
import random
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from conformance.check import Case
from conformance.hub.credentials import Issued
from conformance.oracles import falcon_making
from conformance.oracles.hashing import jcs_bytes


def passed_off(case: Case, label: str, known: Issued) -> Issued:
    """Return a credential that names an issuer and its key, and is signed with a key that nobody registered."""
    envelope = _envelope(known)
    rng = random.Random(case.rng.random())  # noqa: S311 - the suite's choice
    stranger = falcon_making.signed(jcs_bytes(envelope["payload"]), rng)
    return _with(case, label, known, {**envelope, "sig": _url(stranger.signature)})


def altered(case: Case, label: str, known: Issued) -> Issued:
    """Return a credential of which a member was changed after it was signed."""
    envelope = _envelope(known)
    payload = {**envelope["payload"], "scopes": ["pay", "refund"]}
    return _with(case, label, known, {**envelope, "payload": payload})


def _envelope(known: Issued) -> dict[str, Any]:
    text = known.text + "=" * (-len(known.text) % 4)
    envelope: dict[str, Any] = json.loads(base64.urlsafe_b64decode(text))
    return envelope


def _with(case: Case, label: str, known: Issued, envelope: Mapping[str, Any]) -> Issued:
    text = _url(json.dumps(envelope).encode())
    case.client.names.secret(text, f"{label.upper()}_CREDENTIAL")
    return replace(known, text=text)


def _url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")
