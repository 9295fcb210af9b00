"""Federation tokens: a validator's statement about credentials that are active (8.3)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from uuid import UUID

from reference.protocol import falcon
from reference.protocol.credentials import (
    Judgement,
    Keys,
    Question,
    Rule,
    find_inability,
    fits,
    is_list_of_texts,
    is_text,
    signature_faults,
)
from reference.protocol.envelope import SHAPE, Envelope, EnvelopeFault, open_envelope
from reference.protocol.hashes import hash_reference
from reference.protocol.keys import falcon_kid
from reference.protocol.service_word import ServiceWord
from reference.protocol.time_text import utc_text

TYPE = "federation_token"
VERSION = "1"
# A token stays valid if an issuer of its credentials is revoked meanwhile. Five minutes bound that (8.3).
TOKEN_SECONDS = 300
MAX_CREDENTIALS = 16
_HASH = re.compile(r"sha256:[0-9a-f]{64}")


def issuer_did(word: ServiceWord) -> str:
    """Return the DID of every federation validator of a service word."""
    return f"did:{word.lower}:federation-validator"


def token_payload(
    credentials: Sequence[Envelope], *, issuer: str, audience: str | None, now: int, jti: str
) -> dict[str, Any]:
    """Return the payload of a token over active credentials.

    Args:
        credentials: The credentials, in the order in which they came.
        issuer: The validator's DID.
        audience: The service that the token is for, or None.
        now: Unix seconds.
        jti: A fresh UUID.
    """
    # The subjects are the agents that the credentials name, each once. A certificate without `agent_did` names
    # none.
    agents = [one.payload.get("agent_did") for one in credentials]
    return {
        "type": TYPE,
        "version": VERSION,
        "issuer_did": issuer,
        "subject_dids": list(dict.fromkeys(agent for agent in agents if is_text(agent))),
        "audience": audience,
        "credential_hashes": [hash_reference(one.signed_bytes) for one in credentials],
        "issued_at": utc_text(now),
        "expires_at": utc_text(now + TOKEN_SECONDS),
        "jti": jti,
    }


def judge_token(
    text: str,
    question: Question,
    keys: Keys,
    library: falcon.Library | None,
    *,
    issuer: str,
    own_keys: Sequence[bytes],
    audience: str | None,
) -> Judgement:
    """Return the verdict on a token, by the checks and the order of specification 8.2 and then by its audience.

    Args:
        text: The token.
        question: When it must hold; its expected issuer is `issuer`.
        keys: The trust set, which may contain a further validator of the same word.
        library: The implementation of Falcon, or None.
        issuer: The validators' DID.
        own_keys: Published keys of this validator.
        audience: The audience that the token must be for; None accepts every audience.
    """
    if (inability := find_inability(keys, library)) is not None or keys is None or library is None:
        return Judgement(inability)
    try:
        envelope = open_envelope(text)
    except EnvelopeFault as fault:
        return Judgement(fault.reason)
    # P-AD-08: the type is checked first, so that no credential passes for a token.
    if envelope.payload.get("type") != TYPE or not fits(envelope.payload, _MEMBERS):
        return Judgement(SHAPE, envelope)
    # The key of the validators' DID in the trust set lets other validators take this one's tokens. No other key of
    # the trust set may sign tokens (8.3).
    key_by_kid = {falcon_kid(key): key for key in (*([keys[issuer]] if issuer in keys else []), *own_keys)}
    faults = _faults(envelope, question, key_by_kid, library, issuer=issuer, audience=audience)
    return Judgement(next(faults, None), envelope, TYPE, envelope.payload["issuer_did"])


def _faults(
    envelope: Envelope,
    question: Question,
    key_by_kid: Mapping[str, bytes],
    library: falcon.Library,
    *,
    issuer: str,
    audience: str | None,
) -> Iterator[str]:
    if envelope.alg != falcon.ALGORITHM:
        yield "unsupported_alg"
    if envelope.payload["issuer_did"] != issuer:
        yield "wrong_issuer"
    if not key_by_kid:
        yield "no_public_key"
        return
    key = key_by_kid.get(envelope.kid)
    if key is None:
        yield "kid_mismatch"
        return
    yield from signature_faults(envelope, key, (envelope.kid,), library, question)
    # The audience goes last, so that a token that was altered is reported as altered at every audience (8.3).
    if audience not in {None, envelope.payload["audience"]}:
        yield "wrong_audience"


def _is_audience(value: object) -> bool:
    return value is None or is_text(value)


def _are_hashes(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) and _HASH.fullmatch(one) for one in value)


def _is_uuid(value: object) -> bool:
    try:
        return isinstance(value, str) and str(UUID(value)) == value
    except ValueError:
        return False


def _is_version(value: object) -> bool:
    return value == VERSION


_MEMBERS: Mapping[str, Rule] = {
    "version": _is_version,
    "issuer_did": is_text,
    "subject_dids": is_list_of_texts,
    "audience": _is_audience,
    "credential_hashes": _are_hashes,
    "issued_at": is_text,
    "expires_at": is_text,
    "jti": _is_uuid,
}
