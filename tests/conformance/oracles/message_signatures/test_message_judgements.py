"""The judge of signed messages: steps, what is collected, policy, digests, keys."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from conformance.oracles.message_signatures import signing
from conformance.oracles.message_signatures.algorithms import SigningKey, VerifyingKey
from conformance.oracles.message_signatures.components import Component
from conformance.oracles.message_signatures.digests import digest_value
from conformance.oracles.message_signatures.faults import Code, Step
from conformance.oracles.message_signatures.judgement import Judgement, Policy, judge
from conformance.oracles.message_signatures.message import Message

NOW = 1_700_000_000
KEY = SigningKey(("ed25519",), Ed25519PrivateKey.from_private_bytes(bytes(range(32))))
OTHER_KEY = SigningKey(("ed25519",), Ed25519PrivateKey.from_private_bytes(bytes(32)))
PLAIN = Message(
    method="POST", authority="example.org", target="/a?b", headers=(("Content-Type", "text/plain"),), body=b"hello"
)


def sign_message(message: Message = PLAIN, *names: str, **parameters: Any) -> Message:
    full = signing.with_digest(message)
    components = [Component(name) for name in names] or signing.default_components(full)
    return signing.sign(full, KEY, components, {"created": NOW, **parameters}).message


def verdict(message: Message, key: VerifyingKey | None = KEY.public, now: int = NOW, **policy: Any) -> Judgement:
    return judge(message, key, Policy(**policy), now=now)


def test_a_signed_message_holds_with_every_step_told() -> None:
    """Signature, digest and times pass; what is not there is skipped."""
    judgement = verdict(sign_message(expires=NOW + 60))
    assert (judgement.is_valid, judgement.faults, judgement.algorithm) == (True, (), "ed25519")
    assert judgement.outcomes == {"signature": "pass", "content_digest": "pass", "created": "pass", "expires": "pass"}
    bare = verdict(sign_message(replace(PLAIN, body=b""), "@method"))
    assert bare.is_valid is True
    assert bare.outcomes["content_digest"] == bare.outcomes["expires"] == "skipped"


def test_without_a_key_nothing_is_verified_and_everything_else_is_told() -> None:
    """There is no verdict, whatever the result."""
    judgement = verdict(sign_message(), None)
    assert (judgement.is_valid, judgement.faults, judgement.outcomes["signature"]) == (None, (), "skipped")
    assert judgement.base is not None
    late = verdict(sign_message(expires=NOW - 100), None)
    assert (late.is_valid, late.codes) == (None, (Code.EXPIRED,))
    assert verdict(PLAIN, None).is_valid is None


def test_faults_of_the_headers_stop_the_work_and_later_ones_are_collected() -> None:
    """Specification 6.3: parsing first and alone; then coverage, parameters, key, digest, equation in their order."""
    message = sign_message(PLAIN, "@method", "content-digest", created=NOW + 100, tag="a", expires=NOW - 100)
    worst = replace(message, body=b"other", method="PUT")
    judgement = verdict(worst, required_components=(Component("@path"),), tag="b", algorithms=("hmac-sha256",))
    assert judgement.codes == (
        Code.REQUIRED_COMPONENT_MISSING,
        Code.ALG_NOT_ALLOWED,
        Code.TAG_MISMATCH,
        Code.CREATED_IN_FUTURE,
        Code.EXPIRED,
        Code.CONTENT_DIGEST_MISMATCH,
        Code.SIGNATURE_MISMATCH,
    )
    steps = [code.step for code in judgement.codes]
    assert steps == sorted(steps, key=list(Step).index)
    broken = replace(worst, headers=tuple(pair for pair in worst.headers if pair[0] != "Signature"))
    assert verdict(broken, tag="b").codes == (Code.MISSING_SIGNATURE,)


def test_every_code_has_a_step() -> None:
    """No fault is outside the table of the profile."""
    assert {Step.HEADERS, Step.COVERAGE, Step.PARAMETERS, Step.KEY, Step.DIGEST, Step.EQUATION} == {
        code.step for code in Code
    }


def test_another_key_or_another_message_does_not_verify() -> None:
    """The equation holds for the key that signed and for what was signed."""
    message = sign_message()
    assert verdict(message, OTHER_KEY.public).codes == (Code.SIGNATURE_MISMATCH,)
    for changed_message in (
        replace(message, method="PUT"),
        replace(message, target="/a?c"),
        replace(message, authority="b.org"),
    ):
        assert verdict(changed_message).codes == (Code.SIGNATURE_MISMATCH,)
    assert verdict(replace(message, headers=(*message.headers, ("Via", "x")))).is_valid is True


@pytest.mark.parametrize(
    ("created_time", "now", "code"),
    [(NOW + 60, NOW, None), (NOW + 61, NOW, Code.CREATED_IN_FUTURE), (NOW - 10**9, NOW, None)],
)
def test_created_may_be_a_minute_ahead(created_time: int, now: int, code: Code | None) -> None:
    """P-AG-05."""
    assert verdict(sign_message(created=created_time), now=now).codes == (() if code is None else (code,))


@pytest.mark.parametrize(("late", "code"), [(60, None), (61, Code.EXPIRED)])
def test_expires_may_be_a_minute_past(late: int, code: Code | None) -> None:
    """P-AG-05; the skew can be set."""
    message = sign_message(expires=NOW)
    assert verdict(message, now=NOW + late).codes == (() if code is None else (code,))
    assert verdict(message, now=NOW + 1, skew=0).codes == (Code.EXPIRED,)


def test_age_is_looked_at_only_when_asked() -> None:
    """A signature without created cannot show its age."""
    message = sign_message()
    assert verdict(message, now=NOW + 10**8).is_valid is True
    assert verdict(message, now=NOW + 100, max_age=100).is_valid is True
    assert verdict(message, now=NOW + 101, max_age=100).codes == (Code.TOO_OLD,)
    full = signing.with_digest(PLAIN)
    bare = signing.sign(full, KEY, signing.default_components(full), {}).message
    assert verdict(bare).is_valid is True
    assert verdict(bare, max_age=100).codes == (Code.TOO_OLD,)


def test_algorithms_must_agree_and_be_allowed() -> None:
    """RFC 9421 3.2: what alg says, what the key is and what the caller allows are one."""
    for name in ("rsa-pss-sha512", "EdDSA", ""):
        assert verdict(sign_message(alg=name)).codes == (Code.ALG_NOT_ALLOWED,)
    assert verdict(sign_message(alg="ed25519"), algorithms=("ed25519",)).is_valid is True
    assert verdict(sign_message(), algorithms=("hmac-sha256",)).codes == (Code.ALG_NOT_ALLOWED,)
    assert verdict(sign_message(), algorithms=()).codes == (Code.ALG_NOT_ALLOWED,)
    assert verdict(sign_message(alg="hmac-sha256"), None, algorithms=("ed25519",)).codes == (Code.ALG_NOT_ALLOWED,)


def test_a_signature_over_nothing_is_refused_unless_allowed() -> None:
    """It would fit any message; the RFC's own B.2.1 is one."""
    message = signing.sign(PLAIN, KEY, (), {}).message
    assert verdict(message, require_digest=False).codes == (Code.EMPTY_COMPONENTS,)
    assert verdict(message, require_digest=False, allow_empty=True).is_valid is True


def test_an_unsound_key_is_refused_before_the_equation() -> None:
    """Under the identity one signature fits every message."""
    identity = (1).to_bytes(32, "little")
    forged_message = signing.attach(
        signing.with_digest(PLAIN), "s", '("@method" "content-digest")', identity + bytes(32)
    )
    judgement = verdict(forged_message, VerifyingKey(("ed25519",), identity))
    assert (judgement.codes, judgement.outcomes["signature"]) == ((Code.KEY_REJECTED,), "skipped")


@pytest.mark.parametrize(
    ("field", "code"),
    [
        (digest_value(b"hello"), None),
        (digest_value(b"hello", "sha-512"), None),
        (f"{digest_value(b'hello')}, {digest_value(b'hello', 'sha-512')}", None),
        (f"md5=:AAAA:, {digest_value(b'hello')}", None),
        (f"md5=:AR:, {digest_value(b'hello')}", None),
        (digest_value(b"hell"), Code.CONTENT_DIGEST_MISMATCH),
        (f"{digest_value(b'hello')}, {digest_value(b'x', 'sha-512')}", Code.CONTENT_DIGEST_MISMATCH),
        ("sha-256=:AAAA:", Code.CONTENT_DIGEST_MISMATCH),
        ("md5=:AAAA:", Code.CONTENT_DIGEST_UNSUPPORTED),
        ("", Code.CONTENT_DIGEST_UNSUPPORTED),
        ("sha-256=abc", Code.CONTENT_DIGEST_MALFORMED),
        ("sha-256", Code.CONTENT_DIGEST_MALFORMED),
        ("SHA-256=:AAAA:", Code.CONTENT_DIGEST_MALFORMED),
        (digest_value(b"hello").replace("=:", ":"), Code.CONTENT_DIGEST_MALFORMED),
        (f"{digest_value(b'hello')}, {digest_value(b'hello')}", Code.CONTENT_DIGEST_MALFORMED),
    ],
)
def test_content_digests(field: str, code: Code | None) -> None:
    """RFC 9530 and P-AG-06: every known digest matches, at least one is known, one spelling."""
    message = sign_message(replace(PLAIN, headers=(("Content-Digest", field),)))
    assert verdict(message).codes == (() if code is None else (code,))


def test_content_needs_a_covered_digest_unless_the_caller_says_otherwise() -> None:
    """A digest that is there is compared all the same."""
    bare = signing.sign(PLAIN, KEY, [Component("@method")], {}).message
    assert verdict(bare).codes == (Code.CONTENT_DIGEST_MISSING,)
    assert verdict(bare, require_digest=False).is_valid is True
    uncovered_message = sign_message(PLAIN, "@method")
    assert verdict(uncovered_message).codes == (Code.CONTENT_DIGEST_NOT_COVERED,)
    assert verdict(uncovered_message, require_digest=False).is_valid is True
    wrong = replace(uncovered_message, body=b"other")
    assert verdict(wrong, require_digest=False).codes == (Code.CONTENT_DIGEST_MISMATCH,)
    assert verdict(wrong).codes == (Code.CONTENT_DIGEST_MISMATCH, Code.CONTENT_DIGEST_NOT_COVERED)


def test_the_digest_report_computes_even_where_there_is_none() -> None:
    """sha-256 of the content, in base64."""
    digest_report = verdict(signing.sign(PLAIN, KEY, [Component("@method")], {}).message).digest
    assert digest_report is not None
    assert (digest_report.is_present, digest_report.is_covered, digest_report.field_digest, digest_report.match) == (
        False,
        False,
        None,
        None,
    )
    assert digest_report.content_digest == "LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ="


def test_one_of_several_signatures_is_chosen_by_its_label() -> None:
    """Without a label several are a fault; a label that is not there is one too."""
    once = signing.with_digest(PLAIN)
    components = signing.default_components(once)
    two = signing.sign(signing.sign(once, KEY, components, {}, label="a").message, OTHER_KEY, components, {}, label="b")
    assert verdict(two.message).codes == (Code.MULTIPLE_LABELS,)
    assert verdict(two.message, label="a").is_valid is True
    assert verdict(two.message, OTHER_KEY.public, label="b").is_valid is True
    assert verdict(two.message, label="b").codes == (Code.SIGNATURE_MISMATCH,)
    assert verdict(two.message, label="c").codes == (Code.LABEL_MISMATCH,)


def test_what_cannot_be_signed_is_said_before_anything_is_made() -> None:
    """A missing component, a label that is taken or no key, a key for something else."""
    for names, label, algorithm in (
        (["x-none"], "a", None),
        (["@method"], "A b", None),
        (["@method"], "a", "hmac-sha256"),
    ):
        with pytest.raises(signing.CannotSign):
            signing.sign(PLAIN, KEY, [Component(name) for name in names], {}, label=label, algorithm=algorithm)
    once = signing.sign(PLAIN, KEY, [Component("@method")], {}, label="a").message
    with pytest.raises(signing.CannotSign, match="already"):
        signing.sign(once, KEY, [Component("@method")], {}, label="a")
