"""What a credential of the suite is turned into: it names a trusted issuer and its key, and is not what that signed."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from conformance.engine.check import Case
from conformance.oracles import falcon_making
from conformance.oracles.hashing import jcs_bytes
from conformance.oracles.keys import decode_base64url, encode_base64url
from conformance.surfaces.control_plane.credentials import Issued


def passed_off(case: Case, label: str, known: Issued) -> Issued:
    """Return a credential that names an issuer and its key, and is signed with a key that nobody registered."""
    envelope = _envelope(known)
    rng = random.Random(case.rng.random())  # noqa: S311 - the suite's choice
    stranger = falcon_making.signed(jcs_bytes(envelope["payload"]), rng)
    return _with(case, label, known, {**envelope, "sig": encode_base64url(stranger.signature)})


def altered(case: Case, label: str, known: Issued) -> Issued:
    """Return a credential of which a member was changed after it was signed."""
    envelope = _envelope(known)
    payload = {**envelope["payload"], "scopes": ["pay", "refund"]}
    return _with(case, label, known, {**envelope, "payload": payload})


def _envelope(known: Issued) -> dict[str, Any]:
    envelope: dict[str, Any] = json.loads(decode_base64url(known.text))
    return envelope


def _with(case: Case, label: str, known: Issued, envelope: Mapping[str, Any]) -> Issued:
    text = encode_base64url(json.dumps(envelope).encode())
    case.client.names.secret(text, f"{label.upper()}_CREDENTIAL")
    return replace(known, text=text)
