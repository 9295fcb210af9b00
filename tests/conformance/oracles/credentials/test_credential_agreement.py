"""The suite's reading of credentials and the reference's agree, whatever an envelope contains."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from conformance.oracles.credentials import envelope, judging, payload_kinds
from conformance.oracles.credentials.judging import Judgement
from conformance.oracles.ed25519_keys import encode_base64url
from reference.addons.falcon_library import find_library
from reference.protocol import credentials, federation_token, zk_receipts
from reference.protocol.issuer_key_documents import keys_of_trust_set
from reference.protocol.time_text import unix_of
from tools.vectors_builder.falcon_envelopes import making
from tools.vectors_builder.zk_receipts import making as receipts

VALUES: list[Any] = [
    *(None, True, False, 0, -0.0, 1, -1, 0.5, 1.0, 2**53 - 1, 2**53, -(2**53), 1e300, 10**420),
    *("", " ", "1", "2", "x-v1.0", "é", "\ud800", "\U0001f511", "2026-07-01T12:00:00Z", "2026-07-01T14:00:00.5+02:00"),
    *(
        "2026-07-01t12:00:00z",
        "2026-07-01T24:00:00Z",
        "2026-07-01T12:00:60Z",
        "0000-01-01T00:00:00Z",
        "sha256:" + "0" * 64,
    ),
    *("did:web:bench.example", "did:web:nobody.example", "federation_token", "zkp_receipt", "AA==", "AB==", "A" * 44),
    *([], [""], ["a"], [1], {}, {"a": {"b": [1.5]}}, {"\ufb33": 1, "\U0001f511": 2}, "٣", "sha256:" + "٣" * 64),
]
EXTRA = ["type", "passport_id", "atb_cert_version", "score", "agent_did", "issuer_did", "proof_system", "x"]
KEYS = making.trust_set(making.BENCH, making.REGISTRY, making.VALIDATOR)


def by_the_suite(kind: str, text: str, now: int) -> Judgement:
    judges: dict[str, Callable[[str, judging.Question], Judgement]] = {
        "credential": judging.judge_credential,
        "token": judging.judge_token,
        "receipt": judging.judge_receipt,
    }
    return judges[kind](text, judging.Question(KEYS, now, making.DIDS[making.VALIDATOR] if kind == "token" else None))


def by_the_reference(kind: str, text: str, now: int) -> str | None:
    keys, question, library = keys_of_trust_set(KEYS), credentials.Question(now, 60), find_library()
    if kind == "credential":
        return credentials.judge(text, question, keys, library).reason
    if kind == "receipt":
        return zk_receipts.judge_receipt(text, question, keys, library, own_keys=[]).judgement.reason
    issuer = making.DIDS[making.VALIDATOR]
    return federation_token.judge_token(text, question, keys, library, issuer=issuer, own_keys=[], audience=None).reason


def change_member(rng: random.Random, members: dict[str, Any]) -> dict[str, Any]:
    """Return members of which one or two were changed, taken out, or added."""
    changed_members = dict(members)
    for _ in range(rng.choice((1, 1, 2))):
        name = rng.choice([*changed_members, *EXTRA]) if changed_members else "x"
        if rng.random() < 0.2:
            changed_members.pop(name, None)
        else:
            changed_members[name] = rng.choice(VALUES)
    return changed_members


def text_of(rng: random.Random, envelope_members: dict[str, Any]) -> str:
    """Return an envelope's text, which is changed itself in one of five."""
    data = json.dumps(envelope_members, ensure_ascii=rng.random() < 0.5).encode("utf-8", "surrogatepass")
    text = encode_base64url(data)
    if rng.random() < 0.2:
        at = rng.randrange(len(text))
        text = text[:at] + rng.choice(["", "=", "A", "+", ".", "\n", "é"]) + text[at + rng.randrange(2) :]
    return text


def compare(rng: random.Random, rounds: int) -> Counter[str | None]:
    """Let both judge that many changed envelopes; return how often each reason was reported."""
    usual = {
        "credential": [making.members(making.certificate()), making.members(making.passport())],
        "token": [making.members(making.token())],
        "receipt": [json.loads(json.dumps({**making.members(making.certificate()), "payload": receipts.proven()}))],
    }
    outcomes: Counter[str | None] = Counter()
    for _ in range(rounds):
        kind = rng.choice(sorted(usual))
        original = rng.choice(usual[kind])
        part = rng.random()
        original = (
            {**original, "payload": change_member(rng, original["payload"])}
            if part < 0.7
            else change_member(rng, original)
        )
        text, now = text_of(rng, original), making.NOW + rng.choice((0, 10**8))
        judgement = by_the_suite(kind, text, now)
        assert by_the_reference(kind, text, now) == judgement.reason, (kind, text, now)
        outcomes[judgement.reason] += 1
    return outcomes


def test_changed_envelopes_are_judged_alike() -> None:
    """Two thousand of them: the same reason, and more than one of them often."""
    outcomes = compare(random.Random(8), 2000)
    assert {"envelope_decode", "envelope_shape", "unsupported_alg", "kid_mismatch", "sig_invalid"} <= set(outcomes)
    assert {"no_public_key", "wrong_issuer", "timestamp_parse"} <= set(outcomes)


def test_a_suite_that_takes_too_much_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: where one of them takes any text for a methodology, they disagree."""
    rules = {**payload_kinds.MEMBERS[payload_kinds.Kind.CERTIFICATE], "methodology_version": lambda _: True}
    monkeypatch.setitem(payload_kinds.MEMBERS, payload_kinds.Kind.CERTIFICATE, rules)
    with pytest.raises(AssertionError):
        compare(random.Random(8), 2000)


@pytest.mark.parametrize("text", [one for one in VALUES if isinstance(one, str)])
def test_instants_are_read_alike(text: str) -> None:
    """The same second, or none for both."""
    try:
        reference_time: int | None = unix_of(text)
    except ValueError:
        reference_time = None
    try:
        oracle_time: int | None = envelope.unix_of(text)
    except ValueError:
        oracle_time = None
    assert reference_time == oracle_time


def test_a_trust_set_is_read_alike() -> None:
    """Entries that hold no key are left out."""
    key = making.SIGNER.public_text(making.BENCH)
    texts = [
        key,
        key[:-1],
        key + "=",
        key.replace("+", "-"),
        "",
        "é",
        making.base64_text(b"\x09" + bytes(1792)),
        key + "\n",
    ]
    document = {f"did:web:{number}.example": text for number, text in enumerate(texts)}
    assert keys_of_trust_set(document) == judging.read_trust_set(document)
    assert len(judging.read_trust_set(document)) == 1
