"""Federation tokens (8.3)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from reference.protocol.credentials import Judgement, Question
from reference.protocol.envelope import open_envelope
from reference.protocol.federation_token import issuer_did, judge_token, token_payload
from reference.protocol.hashes import hash_reference
from reference.protocol.service_word import ServiceWord
from reference.protocol.time_text import unix_of
from tests.reference.falcon_issuer import DURING_VALIDITY, FALCON, Issuer, seal

DID = issuer_did(ServiceWord("Acme"))
VALIDATOR, SIBLING, BENCH = Issuer(DID, 1), Issuer(DID, 2), Issuer("did:web:bench.example", 3)
NOW = unix_of(DURING_VALIDITY)
JTI = "0b1e2a4c-8f6d-4a57-9f0e-1c2d3e4f5a6b"


def payload(audience: str | None = "did:web:shop.example", **changes: Any) -> dict[str, Any]:
    credentials = [open_envelope(BENCH.issue(BENCH.passport())), open_envelope(BENCH.issue(BENCH.certificate()))]
    return {**token_payload(credentials, issuer=DID, audience=audience, now=NOW, jti=JTI), **changes}


def judge_text(
    text: str,
    *,
    audience: str | None = None,
    now: int = NOW,
    trusted_keys: dict[str, bytes] | None = None,
    own: tuple[bytes, ...] = (VALIDATOR.public,),
) -> Judgement:
    keys = {BENCH.did: BENCH.public} if trusted_keys is None else trusted_keys
    return judge_token(text, Question(now, 60), keys, FALCON, issuer=DID, own_keys=own, audience=audience)


def test_what_a_token_says() -> None:
    """The agents that the credentials name, each once, and hashes of the payloads; five minutes."""
    token_payload = payload()
    assert token_payload == {
        "type": "federation_token",
        "version": "1",
        "issuer_did": "did:acme:federation-validator",
        "subject_dids": ["did:web:agent.example"],
        "audience": "did:web:shop.example",
        "credential_hashes": [
            hash_reference(open_envelope(BENCH.issue(credential)).signed_bytes)
            for credential in (BENCH.passport(), BENCH.certificate())
        ],
        "issued_at": "2026-06-01T00:00:00Z",
        "expires_at": "2026-06-01T00:05:00Z",
        "jti": JTI,
    }


def test_a_token_holds() -> None:
    """For a question without an audience, or with its audience; by this validator's key, or one of the trust set."""
    token = VALIDATOR.issue(payload())
    assert judge_text(token).verified_payload == payload()
    assert judge_text(token, audience="did:web:shop.example").valid
    assert judge_text(VALIDATOR.issue(payload(None))).valid
    assert judge_text(SIBLING.issue(payload()), trusted_keys={DID: SIBLING.public}).valid
    assert judge_text(SIBLING.issue(payload()), trusted_keys={DID: SIBLING.public}, own=()).valid


@pytest.mark.parametrize(
    ("reason", "text", "question"),
    [
        ("envelope_decode", lambda: "*", {}),
        ("envelope_shape", lambda: seal({}), {}),
        ("envelope_shape", lambda: BENCH.issue(BENCH.certificate()), {}),
        ("envelope_shape", lambda: VALIDATOR.issue(payload(type="zkp_receipt")), {}),
        ("envelope_shape", lambda: VALIDATOR.issue(payload(version="2")), {}),
        ("envelope_shape", lambda: VALIDATOR.issue(payload(jti="1")), {}),
        ("envelope_shape", lambda: VALIDATOR.issue(payload(credential_hashes=["ab"])), {}),
        ("envelope_shape", lambda: VALIDATOR.issue(payload(subject_dids="x")), {}),
        ("envelope_shape", lambda: VALIDATOR.issue({**payload(), "audience": 5}), {}),
        ("unsupported_alg", lambda: VALIDATOR.issue(payload(), alg="EdDSA"), {}),
        ("wrong_issuer", lambda: VALIDATOR.issue(payload(issuer_did="did:other:federation-validator")), {}),
        ("wrong_issuer", lambda: BENCH.issue(payload(issuer_did=BENCH.did)), {}),
        ("kid_mismatch", lambda: BENCH.issue(payload()), {}),
        ("kid_mismatch", lambda: SIBLING.issue(payload()), {}),
        ("no_public_key", lambda: VALIDATOR.issue(payload()), {"own": ()}),
        ("timestamp_parse", lambda: VALIDATOR.issue(payload(expires_at="soon")), {}),
        ("sig_invalid", lambda: SIBLING.issue(payload(), kid=VALIDATOR.kid), {}),
        ("sig_invalid", lambda: seal({**VALIDATOR.envelope(payload()), "payload": payload("did:web:x")}), {}),
        ("expired", lambda: VALIDATOR.issue(payload()), {"now": NOW + 361}),
        ("wrong_audience", lambda: VALIDATOR.issue(payload()), {"audience": "did:web:other.example"}),
        ("wrong_audience", lambda: VALIDATOR.issue(payload(None)), {"audience": "did:web:shop.example"}),
        ("expired", lambda: VALIDATOR.issue(payload()), {"now": NOW + 361, "audience": "did:web:other.example"}),
    ],
)
def test_each_reason(reason: str, text: Callable[[], str], question: dict[str, Any]) -> None:
    """One fault, one reason; no credential passes for a token (P-AD-08)."""
    judgement = judge_text(text(), **question)
    assert (judgement.valid, judgement.reason) == (False, reason)
    assert (judgement.verified_payload is not None) == (reason in {"expired", "wrong_audience"})


def test_without_a_library_or_a_trust_set() -> None:
    """P-AD-04, P-AD-05."""
    token, question = VALIDATOR.issue(payload()), Question(NOW, 60)
    arguments: dict[str, Any] = {"issuer": DID, "own_keys": [VALIDATOR.public], "audience": None}
    assert judge_token(token, question, {}, None, **arguments).reason == "no_backend"
    assert judge_token(token, question, None, FALCON, **arguments).reason == "no_trust_set"
