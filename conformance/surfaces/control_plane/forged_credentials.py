"""False credentials: they name a trusted issuer and its key, and that key has not signed them."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from conformance.engine.check import Case
from conformance.oracles import falcon_making
from conformance.oracles.ed25519_keys import decode_base64url, encode_base64url
from conformance.oracles.hash_recipes import jcs_bytes
from conformance.surfaces.control_plane.issued_credentials import IssuedCredential


def sign_with_other_key(case: Case, label: str, genuine: IssuedCredential) -> IssuedCredential:
    """Return a credential that names an issuer and its key, and is signed with an unregistered key."""
    envelope = _envelope(genuine)
    rng = random.Random(case.rng.random())  # noqa: S311 - the suite's choice
    stranger = falcon_making.sign_once(jcs_bytes(envelope["payload"]), rng)
    return _with_envelope(case, label, genuine, {**envelope, "sig": encode_base64url(stranger.signature)})


def alter_payload(case: Case, label: str, genuine: IssuedCredential) -> IssuedCredential:
    """Return a credential with a member that was changed after signing."""
    envelope = _envelope(genuine)
    payload = {**envelope["payload"], "scopes": ["pay", "refund"]}
    return _with_envelope(case, label, genuine, {**envelope, "payload": payload})


def _envelope(genuine: IssuedCredential) -> dict[str, Any]:
    envelope: dict[str, Any] = json.loads(decode_base64url(genuine.text))
    return envelope


def _with_envelope(case: Case, label: str, genuine: IssuedCredential, envelope: Mapping[str, Any]) -> IssuedCredential:
    text = encode_base64url(json.dumps(envelope).encode())
    case.client.names.secret(text, f"{label.upper()}_CREDENTIAL")
    return replace(genuine, text=text)
