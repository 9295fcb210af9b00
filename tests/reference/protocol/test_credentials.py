"""Judging credentials: each reason, its status, and the order in which reasons are looked for (8.2)."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable
from typing import Any

import pytest
import rfc8785

from reference.protocol.credentials import REASONS, Judgement, Question, judge
from reference.protocol.time_text import unix_of
from tests.reference.falcon_issuer import DURING_VALIDITY, EXPIRES, FALCON, Issuer, seal

ISSUER, OTHER_ISSUER = Issuer(), Issuer("did:web:other.example", 2)
KEYS = {ISSUER.did: ISSUER.public}
NOW = unix_of(DURING_VALIDITY)


def judge_text(text: str, *, now: int = NOW, skew: int = 60, **question: Any) -> Judgement:
    return judge(text, Question(now, skew, **question), KEYS, FALCON)


class Failing:
    """A library that raises."""

    generate_keypair = staticmethod(FALCON.generate_keypair)
    sign = staticmethod(FALCON.sign)

    def verify(self, public_key: bytes, message: bytes, signature: bytes) -> bool:  # noqa: ARG002 - by its protocol
        raise RuntimeError("broken")


@pytest.mark.parametrize(
    ("payload", "kind"), [(ISSUER.certificate(), "atb_certificate"), (ISSUER.passport(), "agent_passport")]
)
def test_an_active_credential(payload: dict[str, Any], kind: str) -> None:
    """Its payload, its hash and its issuer are returned."""
    judgement = judge_text(ISSUER.issue(payload), expected_issuer=ISSUER.did)
    assert (judgement.valid, judgement.status, judgement.reason, judgement.kind, judgement.issuer) == (
        True,
        "active",
        None,
        kind,
        ISSUER.did,
    )
    assert judgement.verified_payload == payload
    assert judgement.content_hash == hashlib.sha256(rfc8785.dumps(payload)).hexdigest()


def test_the_signature_is_over_jcs() -> None:
    """A credential that spells its payload in another way is the same credential."""
    payload = ISSUER.certificate()
    reversed_payload = dict(reversed(list(payload.items())))
    assert judge_text(seal({**ISSUER.envelope(payload), "payload": reversed_payload})).valid


CERTIFICATE, PASSPORT = ISSUER.certificate(), ISSUER.passport()
FAULTS: list[tuple[str, Callable[[], str], dict[str, Any]]] = [
    ("envelope_decode", lambda: "*", {}),
    ("envelope_shape", lambda: seal([]), {}),
    ("unsupported_alg", lambda: ISSUER.issue(CERTIFICATE, alg="ML-DSA-65"), {}),
    ("unsupported_alg", lambda: ISSUER.issue(CERTIFICATE, alg="falcon-1024"), {}),
    ("wrong_issuer", lambda: ISSUER.issue(CERTIFICATE), {"expected_issuer": OTHER_ISSUER.did}),
    ("wrong_issuer", lambda: ISSUER.issue(PASSPORT), {"expected_issuer": ""}),
    ("no_public_key", lambda: OTHER_ISSUER.issue(OTHER_ISSUER.certificate()), {}),
    ("kid_mismatch", lambda: ISSUER.issue(CERTIFICATE, kid="0" * 16), {}),
    ("kid_mismatch", lambda: ISSUER.issue(ISSUER.certificate(bench_kid="0" * 16)), {}),
    ("kid_mismatch", lambda: ISSUER.issue(PASSPORT, kid=ISSUER.kid.upper()), {}),
    ("timestamp_parse", lambda: ISSUER.issue(ISSUER.certificate(expires_at="tomorrow")), {}),
    ("timestamp_parse", lambda: ISSUER.issue(ISSUER.passport(issued_at="2026-01-01T00:00:00")), {}),
    ("timestamp_parse", lambda: ISSUER.issue(ISSUER.certificate(expires_at="2026-13-01T00:00:00Z")), {}),
    ("sig_invalid", lambda: seal({**ISSUER.envelope(CERTIFICATE), "payload": {**CERTIFICATE, "score": 0.92}}), {}),
    ("sig_invalid", lambda: ISSUER.issue(CERTIFICATE, sig=""), {}),
    ("sig_invalid", lambda: ISSUER.issue(CERTIFICATE, sig=OTHER_ISSUER.envelope(CERTIFICATE)["sig"]), {}),
    ("expired", lambda: ISSUER.issue(CERTIFICATE), {"now": unix_of(EXPIRES) + 61}),
    ("score_too_low", lambda: ISSUER.issue(CERTIFICATE), {"min_score": 0.911}),
    ("score_too_low", lambda: ISSUER.issue(PASSPORT), {"min_score": 0.0}),
    ("not_passed", lambda: ISSUER.issue(ISSUER.certificate(passed=False)), {"min_score": 0.5}),
]


@pytest.mark.parametrize(("reason", "text", "question"), FAULTS, ids=[f"{n}-{one[0]}" for n, one in enumerate(FAULTS)])
def test_each_reason(reason: str, text: Callable[[], str], question: dict[str, Any]) -> None:
    """One fault, one reason; an unsigned payload is not returned as a signed one."""
    judgement = judge_text(text(), **question)
    status = {"no_public_key": "unverifiable", "expired": "expired"}.get(reason, "invalid")
    assert (judgement.valid, judgement.reason, judgement.status) == (False, reason, status)
    assert (judgement.verified_payload is not None) == (reason in {"expired", "score_too_low", "not_passed"})


def test_a_library_that_fails() -> None:
    """Nothing was verified, so it must not count as valid."""
    judgement = judge(ISSUER.issue(CERTIFICATE), Question(NOW, 60), KEYS, Failing())
    assert (judgement.reason, judgement.status, judgement.verified_payload) == ("sig_verify_error", "invalid", None)


@pytest.mark.parametrize("text", [lambda: ISSUER.issue(CERTIFICATE), lambda: "*"], ids=["active", "none"])
def test_without_a_library_or_a_trust_set_nothing_is_verified(text: Callable[[], str]) -> None:
    """P-AD-04, P-AD-05: every verification, whatever the credential."""
    for keys, library, reason in (
        (KEYS, None, "no_backend"),
        (None, FALCON, "no_trust_set"),
        (None, None, "no_backend"),
    ):
        judgement = judge(text(), Question(NOW, 60), keys, library)
        assert (judgement.valid, judgement.status, judgement.reason, judgement.verified_payload) == (
            False,
            "unverifiable",
            reason,
            None,
        )


OF_TOKENS_AND_RECEIPTS = ("wrong_audience", "unknown_proof_system", "proof_invalid")


def test_reasons_are_looked_for_in_the_pinned_order() -> None:
    """For a credential with every fault from one on, that first one is reported."""
    late = {"score": 0.1, "passed": False, "expires_at": "2026-01-02T00:00:00Z"}
    hopeless: dict[str, Any] = {"min_score": 0.5, "expected_issuer": ISSUER.did}
    bad_signature = {"sig": "AAEC"}
    apart = {**late, "issued_at": "x"}
    steps = [
        ("envelope_decode", "*" + ISSUER.issue(CERTIFICATE)),
        (
            "envelope_shape",
            ISSUER.issue(OTHER_ISSUER.certificate(**apart, type="x"), alg="x", kid="0", **bad_signature),
        ),
        (
            "unsupported_alg",
            ISSUER.issue(OTHER_ISSUER.certificate(**apart), alg="x", kid="0", **bad_signature),
        ),
        ("wrong_issuer", ISSUER.issue(OTHER_ISSUER.certificate(**apart), kid="0", **bad_signature)),
        ("kid_mismatch", ISSUER.issue(ISSUER.certificate(**apart), kid="0", **bad_signature)),
        ("timestamp_parse", ISSUER.issue(ISSUER.certificate(**apart), **bad_signature)),
        ("sig_invalid", ISSUER.issue(ISSUER.certificate(**late), **bad_signature)),
        ("expired", ISSUER.issue(ISSUER.certificate(**late))),
        ("score_too_low", ISSUER.issue(ISSUER.certificate(score=0.1, passed=False))),
        ("not_passed", ISSUER.issue(ISSUER.certificate(passed=False))),
    ]
    assert [judge_text(text, **hopeless).reason for _, text in steps] == [reason for reason, _ in steps]
    assert (
        judge_text(ISSUER.issue(OTHER_ISSUER.certificate(**apart), kid="0", **bad_signature)).reason == "no_public_key"
    )
    order = [
        name for name in REASONS if name not in {"no_backend", "no_trust_set", "no_public_key", "sig_verify_error"}
    ]
    assert order == [*(reason for reason, _ in steps), *OF_TOKENS_AND_RECEIPTS]


METHODOLOGIES = ("atb", "v2.1", "atb-v2", "atb-v2.x", "-v1.0", "a b-v1.0")
TEXTS = ("atb_cert_version", "bench_issuer", "bench_kid", "issued_at", "expires_at")


@pytest.mark.parametrize(
    "payload",
    [
        *(ISSUER.certificate(**{name: None}) for name in CERTIFICATE if name != "tasks_total"),
        *(ISSUER.passport(**{name: None}) for name in PASSPORT),
        ISSUER.certificate(type="atb_certificate"),
        ISSUER.certificate(type="zkp_receipt"),
        ISSUER.passport(type=""),
        {**CERTIFICATE, **PASSPORT},
        *(ISSUER.certificate(score=score) for score in (-0.1, 1.1, "0.9", True)),
        *(ISSUER.certificate(passed=passed) for passed in (1, "true")),
        *(
            ISSUER.certificate(methodology_version=text)
            for text in ("atb", "v2.1", "atb-v2", "atb-v2.x", "-v1.0", "a b-v1.0")
        ),
        *(
            ISSUER.certificate(**{name: 5})
            for name in ("atb_cert_version", "bench_issuer", "bench_kid", "issued_at", "expires_at")
        ),
        *(ISSUER.passport(scopes=scopes) for scopes in ("pay", [1], [""])),
        *(ISSUER.passport(spend_limit_microusd=limit) for limit in (-1, 1.5, "5", True)),
    ],
)
def test_what_is_no_credential(payload: dict[str, Any]) -> None:
    """A member missing, of another type or out of bounds; a payload with a type, or of two kinds (P-AD-08)."""
    judgement = judge_text(ISSUER.issue(payload))
    assert (judgement.reason, judgement.status, judgement.verified_payload) == ("envelope_shape", "invalid", None)


def test_bounds_are_inclusive() -> None:
    """A score as high as asked for is enough, and 0 and 1 are scores; skew counts for the holder."""
    assert judge_text(ISSUER.issue(ISSUER.certificate(score=0.91)), min_score=0.91).valid
    assert judge_text(ISSUER.issue(ISSUER.certificate(score=1)), min_score=1.0).valid
    assert judge_text(ISSUER.issue(ISSUER.certificate(score=0)), min_score=0.0).valid
    assert judge_text(ISSUER.issue(ISSUER.certificate(passed=False))).valid
    assert judge_text(ISSUER.issue(CERTIFICATE), now=unix_of(EXPIRES) + 60).valid
    assert judge_text(ISSUER.issue(CERTIFICATE), now=unix_of(EXPIRES), skew=0).valid
    assert judge_text(ISSUER.issue(CERTIFICATE), now=unix_of(EXPIRES) + 1, skew=0).reason == "expired"


@pytest.mark.parametrize("text", ["2026-06-01T00:00:00Z", "2026-06-01T02:00:00+02:00", "2026-06-01T00:00:00.999Z"])
def test_instants(text: str) -> None:
    """With a fraction or an offset it is the same second."""
    assert unix_of(text) == NOW


NO_INSTANTS = (
    *("", "2026-06-01", "2026-06-01 00:00:00Z", "2026-06-01T00:00:00", "2026-02-30T00:00:00Z"),
    *("2026-06-01T00:00:00z", "2026-06-01T24:00:00Z", "٢٠٢٦-06-01T00:00:00Z", "0001-01-01T00:00:00+23:60"),
)


@pytest.mark.parametrize("text", NO_INSTANTS)
def test_what_is_no_instant(text: str) -> None:
    """A date, a time without an offset, a day that never was."""
    with pytest.raises(ValueError):  # noqa: PT011 - whichever reader refuses it
        unix_of(text)


def test_no_altered_credential_is_valid() -> None:
    """Over hundreds of changes of one character, one bit or one member: nothing but what was signed is active."""
    draws, payload = random.Random(5), ISSUER.certificate()
    text, members = ISSUER.issue(payload), ISSUER.envelope(payload)
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_=+/. "
    altered_texts = [
        text[:place] + draws.choice(alphabet) + text[place + 1 :] for place in draws.sample(range(len(text)), 200)
    ]
    altered_texts += [text[: draws.randrange(len(text))] for _ in range(50)]
    values: list[Any] = [None, 0, 1, 0.5, True, False, "", "x", [], {}, ISSUER.did, EXPIRES, {"a": 2**53}]
    for _ in range(200):
        changed_members = {draws.choice(list(payload)): draws.choice(values)}
        altered_texts.append(seal({**members, "payload": {**payload, **changed_members}}))
    assert judge_text(text).valid
    for altered_text in altered_texts:
        judgement = judge_text(altered_text)
        assert not judgement.valid or (
            judgement.verified_payload == payload and type(judgement.verified_payload["score"]) is float
        ), altered_text
        assert judgement.reason is None or judgement.reason in REASONS
