"""Each check of receipts is held to an honest verifier under any names, and to verifiers with one flaw each."""

from __future__ import annotations

import base64
import itertools
import json
from collections.abc import Mapping
from typing import Any

import pytest

from conformance.log.events import EventLog
from conformance.oracles.forging import Signer
from conformance.oracles.jose import JwsFault, parse
from conformance.oracles.receipts import STEPS, ReceiptFault, verify_receipt
from conformance.outcome import Verdict
from conformance.receipts.live_mutations import PROFILE_PAYLOAD, keys
from tests.conformance.checks.gateway.scripted_verifier import (
    PLATFORM,
    UNBOUND_SCREEN,
    Hosted,
    Judge,
    honest,
    run_check,
)
from tests.conformance.checks.trial import find_broken_rows

VECTORS = "receipt_vectors"
ALL_CHECKS = (
    VECTORS,
    "eight_codes",
    "platform_receipt",
    "published_keys",
    "verification_is_stateless",
    "body_without_a_receipt",
    "screening_emits_a_receipt",
)
DIFF = "X-DIFF-02"


@pytest.mark.parametrize("name", ALL_CHECKS)
async def test_honest_verifier_passes(name: str) -> None:
    """A verifier that keeps the rules breaks no row."""
    verdicts = await run_check(name, Hosted())
    assert set(verdicts.values()) == {Verdict.PASS}, verdicts


@pytest.mark.parametrize("name", ALL_CHECKS)
async def test_honest_verifier_of_other_names_passes(name: str) -> None:
    """Where nothing is bound, member, key path and codes are found, and structure is the target's own."""
    renamed_verifier = Hosted(member="receipt", jwks_path="/jwks.json", code=lambda code: code.lower(), told="ok")
    verdicts = await run_check(name, renamed_verifier, defaults="none", profile=UNBOUND_SCREEN)
    assert set(verdicts.values()) == {Verdict.PASS}, verdicts


@pytest.mark.parametrize("name", [one for one in ALL_CHECKS if one != "body_without_a_receipt"])
async def test_nothing_is_decided_without_a_receipt_to_start_from(name: str) -> None:
    """Where no body can be screened and nothing of ours passes, every row is inconclusive."""

    def of_another_shape(token: Any, key_set: Any, expected_hash: Any) -> dict[str, Any]:
        if "their_own" not in honest(token, key_set, expected_hash):
            raise ReceiptFault("SHAPE", "not one of ours")
        return {}

    verdicts = await run_check(name, Hosted(judge=of_another_shape), defaults="none")
    assert set(verdicts.values()) <= {Verdict.INCONCLUSIVE, Verdict.PASS}
    assert Verdict.INCONCLUSIVE in verdicts.values()


def accept_faults(*codes: str) -> Judge:
    """A verifier that lets faults of some steps pass."""

    def judge(token: Any, key_set: Any, expected_hash: Any) -> dict[str, Any]:
        try:
            return honest(token, key_set, expected_hash)
        except ReceiptFault as fault:
            if fault.code in codes:
                return {}
            raise

    return judge


def _platform_too(token: Any, key_set: Any, expected_hash: Any) -> dict[str, Any]:
    try:
        return honest(token, key_set, expected_hash)
    except ReceiptFault:
        return honest(token, None, expected_hash)


def _any_key(token: Any, key_set: Any, expected_hash: Any) -> dict[str, Any]:
    key_list = keys(PLATFORM) if key_set is None else key_set
    if not isinstance(key_list, dict) or not isinstance(key_list.get("keys"), list) or not key_list["keys"]:
        return honest(token, key_set, expected_hash)
    for one in key_list["keys"][:-1]:
        try:
            return verify_receipt(token, {"keys": [one]}, expected_payment_hash=expected_hash)
        except ReceiptFault:
            continue
    return verify_receipt(token, {"keys": key_list["keys"][-1:]}, expected_payment_hash=expected_hash)


def _first_key(token: Any, key_set: Any, expected_hash: Any) -> dict[str, Any]:
    if isinstance(key_set, dict) and isinstance(key_set.get("keys"), list) and key_set["keys"]:
        return honest(token, {"keys": key_set["keys"][:1]}, expected_hash)
    return honest(token, key_set, expected_hash)


def _last_key_without_a_match(token: Any, key_set: Any, expected_hash: Any) -> dict[str, Any]:
    if isinstance(key_set, dict) and isinstance(key_set.get("keys"), list) and len(key_set["keys"]) > 1:
        kid = json.loads(base64.urlsafe_b64decode(str(token).split(".")[0] + "==")).get("kid")
        if kid not in [one.get("kid") for one in key_set["keys"]]:
            return honest(token, {"keys": key_set["keys"][::-1]}, expected_hash)
    return honest(token, key_set, expected_hash)


def _own_keys_only(token: Any, key_set: Any, expected_hash: Any) -> dict[str, Any]:
    del key_set
    return honest(token, None, expected_hash)


def _closed_header(token: Any, key_set: Any, expected_hash: Any) -> dict[str, Any]:
    claims = honest(token, key_set, expected_hash)
    if "urn:example:issuer" in parse(token).header:
        raise ReceiptFault("INVALID_JWS_FORMAT", "the header has a member too many")
    return claims


def _closed_keys(token: Any, key_set: Any, expected_hash: Any) -> dict[str, Any]:
    key_list = key_set.get("keys") if isinstance(key_set, dict) else None
    if isinstance(key_list, list) and any("alg" in one for one in key_list if isinstance(one, dict)):
        raise ReceiptFault("INVALID_JWS_FORMAT", "a key has a member too many")
    return honest(token, key_set, expected_hash)


def _case_blind_names(token: Any, key_set: Any, expected_hash: Any) -> dict[str, Any]:
    try:
        return honest(token, key_set, expected_hash)
    except ReceiptFault as fault:
        if fault.code != "UNSUPPORTED_ALG" or parse(token).header.get("alg") not in ("eddsa", "EDDSA"):
            raise
        return {}


def _case_blind_kids(token: Any, key_set: Any, expected_hash: Any) -> dict[str, Any]:
    try:
        kid = str(parse(token).header.get("kid")).lower()
    except JwsFault:
        return honest(token, key_set, expected_hash)
    key_list = key_set.get("keys") if isinstance(key_set, dict) else None
    alike = [one for one in key_list or () if isinstance(one, dict) and str(one.get("kid")).lower() == kid]
    if len(alike) > 1:
        return verify_receipt(token, {"keys": [alike[0]]}, expected_payment_hash=expected_hash)
    return honest(token, key_set, expected_hash)


def _trusting_payments(token: Any, key_set: Any, expected_hash: Any) -> dict[str, Any]:
    return honest(token, key_set, expected_hash or None)


FLAWS: dict[str, tuple[Judge, set[str]]] = {
    "platform keys beside supplied ones": (_platform_too, {"GW-RCPT-08", "GW-RCPT-29", DIFF}),
    "every key is tried": (_any_key, {"GW-RCPT-11", "GW-RCPT-12", "GW-RCPT-13", DIFF}),
    "always the first key": (_first_key, {"GW-RCPT-09", "GW-RCPT-13", DIFF}),
    "the last key without a match": (_last_key_without_a_match, {"GW-RCPT-10", "GW-RCPT-11", "GW-RCPT-12", DIFF}),
    "a header's further members refused": (_closed_header, {"GW-RCPT-06", DIFF}),
    "a key's further members refused": (_closed_keys, {"GW-RCPT-06", DIFF}),
    "structure ignored": (
        accept_faults("INVALID_PAYLOAD", "UNSUPPORTED_CANON_VERSION", "NON_CANONICAL_PAYLOAD", "MISSING_FIELD"),
        {"GW-RCPT-19", DIFF},
    ),
    "names of algorithms in any letters": (_case_blind_names, {"GW-RCPT-18", DIFF}),
    "kids in any letters": (_case_blind_kids, {"GW-RCPT-09", DIFF}),
    "an empty payment expected": (_trusting_payments, {"GW-RCPT-19", DIFF}),
    "the expected payment ignored": (accept_faults("PAYMENT_HASH_MISMATCH"), {"GW-RCPT-19", DIFF}),
}


@pytest.mark.parametrize("flaw", FLAWS)
async def test_flawed_verifier_is_caught(flaw: str) -> None:
    """Each rule of key choice and structure is missed when it is dropped, and nothing else is."""
    judge, rows = FLAWS[flaw]
    assert find_broken_rows(await run_check(VECTORS, Hosted(judge=judge))) == rows


async def test_signature_that_does_not_matter_is_caught() -> None:
    """A verifier that believes every signature breaks all rows of tampering."""
    breached_rows = find_broken_rows(await run_check(VECTORS, Hosted(judge=accept_faults("TAMPERED_SIGNATURE"))))
    assert {"GW-RCPT-02", "GW-RCPT-03", "GW-RCPT-04", "GW-RCPT-07", "GW-RCPT-25", DIFF} <= breached_rows


async def test_algorithm_that_does_not_matter_is_caught() -> None:
    """A verifier that believes every algorithm breaks the rows of none, HMAC and other keys."""
    breached_rows = find_broken_rows(await run_check(VECTORS, Hosted(judge=accept_faults("UNSUPPORTED_ALG"))))
    assert {"GW-RCPT-16", "GW-RCPT-17", "GW-RCPT-18"} <= breached_rows


async def test_form_that_does_not_matter_is_caught() -> None:
    """A verifier that believes every form breaks the rows of form, encoding, critical members and key sets."""
    breached_rows = find_broken_rows(await run_check(VECTORS, Hosted(judge=accept_faults("INVALID_JWS_FORMAT"))))
    assert {"GW-RCPT-23", "GW-RCPT-24", "GW-RCPT-26", "GW-RCPT-29"} <= breached_rows


async def test_verifier_that_refuses_everything_is_caught() -> None:
    """Refusing what is true is a breach as well, where a receipt of the platform shows what is true."""
    refusing_verifier, log = Hosted(judge=lambda *_: verify_receipt("", None)), EventLog()
    breached_rows = find_broken_rows(await run_check(VECTORS, refusing_verifier, log=log))
    assert {"GW-RCPT-06", "GW-RCPT-09", "GW-RCPT-10", "GW-RCPT-12", DIFF} <= breached_rows
    hints = [str(one["hint"]) for one in log.of("judgement") if one["row"] == "GW-RCPT-06" and one["verdict"] != "pass"]
    # An unread member is likelier than a verifier that accepts nothing.
    assert hints
    assert all("[gateway] receipt_member" in hint for hint in hints)


async def test_reports_that_tell_nothing_are_caught() -> None:
    """Codes that are all the same, ten and more, or missing, and a status that is not 422, are reported."""
    assert find_broken_rows(await run_check("eight_codes", Hosted(code=lambda _: "INVALID_PAYLOAD"))) == {"GW-RCPT-22"}
    numbers = itertools.count()
    many = await run_check(
        VECTORS, Hosted(code=lambda code: f"{code}_{next(numbers) % 20}"), defaults="none", profile=UNBOUND_SCREEN
    )
    assert find_broken_rows(many) == {"GW-RCPT-21"}
    codeless_verifier = Hosted(code=lambda code: None if code == "UNSUPPORTED_ALG" else code)
    assert find_broken_rows(await run_check(VECTORS, codeless_verifier)) == {"GW-RCPT-20"}
    assert find_broken_rows(await run_check(VECTORS, Hosted(code=lambda _: None))) == {"GW-RCPT-20"}
    assert "GW-RCPT-02" in find_broken_rows(await run_check(VECTORS, Hosted(fail_status=401)))


async def test_verdict_that_changes_is_caught() -> None:
    """A verifier that answers differently the second time is detected."""
    seen_tokens: set[str] = set()

    def fickle(token: Any, key_set: Any, expected_hash: Any) -> dict[str, Any]:
        if token in seen_tokens:
            return honest(token, key_set, expected_hash)
        seen_tokens.add(token)
        raise ReceiptFault("MISSING_FIELD", "not yet")

    assert find_broken_rows(await run_check("verification_is_stateless", Hosted(judge=fickle))) == {"GW-RCPT-27"}


async def test_keys_that_are_remembered_are_caught() -> None:
    """A verifier that stores a key set it was sent once is detected, since its keys were never seen before."""
    known_keys: list[dict[str, Any]] = [PLATFORM.jwk]

    def remember_keys(token: Any, key_set: Any, expected_hash: Any) -> dict[str, Any]:
        if key_set is None:
            for key in known_keys[:-1]:
                try:
                    return verify_receipt(token, {"keys": [key]}, expected_payment_hash=expected_hash)
                except ReceiptFault:
                    continue
            return verify_receipt(token, {"keys": known_keys[-1:]}, expected_payment_hash=expected_hash)
        claims = honest(token, key_set, expected_hash)
        known_keys.extend(key_set["keys"])
        return claims

    assert find_broken_rows(await run_check("verification_is_stateless", Hosted(judge=remember_keys))) == {"GW-RCPT-27"}


async def test_key_documents_are_judged() -> None:
    """A private member, and a document of a different key, are reported."""
    private_keys = {"keys": [{**PLATFORM.jwk, "d": "AAAA"}]}
    assert find_broken_rows(await run_check("published_keys", Hosted(jwks=private_keys))) == {"GW-RCPT-15"}
    other_keys = keys(Signer(b"\x07" * 32, "other"))
    assert find_broken_rows(await run_check("published_keys", Hosted(jwks=other_keys))) == {"GW-RCPT-14"}


async def test_platform_receipt_that_fails_is_caught() -> None:
    """Without a key set the platform's own receipt must pass."""

    def demand_key_set(token: Any, key_set: Any, expected_hash: Any) -> dict[str, Any]:
        if key_set is None:
            raise ReceiptFault("INVALID_JWS_FORMAT", "jwks is required")
        return honest(token, key_set, expected_hash)

    breached_rows = find_broken_rows(await run_check("platform_receipt", Hosted(judge=demand_key_set)))
    assert breached_rows == {"GW-RCPT-01", "GW-RCPT-30"}


def emit_receipts(signer: Signer, **header: str) -> Hosted:
    return Hosted(emitted=lambda: signer.sign({"alg": "EdDSA", "kid": PLATFORM.kid, **header}, PROFILE_PAYLOAD))


async def test_screening_is_judged() -> None:
    """No receipt, one of an unpublished key, and one at another path only, are reported."""
    check_name = "screening_emits_a_receipt"
    assert "GW-SCR-01" in find_broken_rows(await run_check(check_name, Hosted(emitted=lambda: "none")))
    stranger = emit_receipts(Signer(b"\x09" * 32, PLATFORM.kid))
    assert find_broken_rows(await run_check(check_name, stranger)) == {"GW-SCR-03", "GW-SCR-04"}
    assert "GW-SCR-05" in find_broken_rows(await run_check(check_name, Hosted(screen_path="/v1/compliance/screen")))
    assert "GW-SCR-05" in find_broken_rows(await run_check(check_name, Hosted(screened_elsewhere=True)))
    assert "GW-SCR-02" in find_broken_rows(await run_check(check_name, emit_receipts(PLATFORM, alg="ES256")))


CODES = f"receipt_codes = {json.dumps(list(STEPS))}"


def bound_under(member: str) -> Hosted:
    """Return an honest verifier that reads under another name which payment the caller expects."""

    class Named(Hosted):
        def _report(self, request: Mapping[str, Any]) -> tuple[int, Any]:
            expected_hash = request.get(member)
            kept = {name: value for name, value in request.items() if name != "expected_payment_hash"}
            return super()._report(kept if expected_hash is None else {**kept, "expected_payment_hash": expected_hash})

    return Named()


@pytest.mark.parametrize("name", [VECTORS, "eight_codes"])
async def test_which_payment_is_expected_may_be_told_under_any_name(name: str) -> None:
    """With the codes bound and that member not, nothing is held against a gateway; with both, everything passes."""
    unbound = await run_check(name, bound_under("for_payment"), defaults="none", profile=f"{UNBOUND_SCREEN}{CODES}\n")
    assert find_broken_rows(unbound) == set()
    binding = f'{UNBOUND_SCREEN}{CODES}\nreceipt_hash_member = "for_payment"\n'
    breached_rows = await run_check(name, bound_under("for_payment"), defaults="none", profile=binding)
    assert set(breached_rows.values()) == {Verdict.PASS}


async def test_a_member_that_is_bound_is_held_to() -> None:
    """A verifier that compares nothing is reported once a binding says where the payment would be."""
    binding = f'{UNBOUND_SCREEN}{CODES}\nreceipt_hash_member = "for_payment"\n'
    breached_rows = find_broken_rows(await run_check(VECTORS, bound_under("never"), defaults="none", profile=binding))
    assert "GW-RCPT-19" in breached_rows


async def test_what_was_not_asked_for_want_of_a_key_names_the_key() -> None:
    """A reader who learns that the codes are undecided also learns what to bind."""
    log = EventLog()
    verifier = Hosted(code=lambda _: "INVALID_PAYLOAD")
    verdicts = await run_check("eight_codes", verifier, defaults="none", profile=UNBOUND_SCREEN, log=log)
    assert verdicts == {"GW-RCPT-22": Verdict.INCONCLUSIVE}
    assert "receipt_codes and receipt_hash_member" in [*log.of("judgement")][-1]["expected"]
