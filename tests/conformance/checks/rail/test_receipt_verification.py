"""Judgement of paid receipt verification: strict services, lenient ones, and ones of another form."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from conformance.checks.rail.receipt_verification import find_receipt_member, list_changes
from conformance.outcome import Verdict
from tests.conformance.checks.rail.scripted_rail import PROFILE, Call, Rail, Reply, run_check
from tests.conformance.checks.trial import find_broken_rows

CHECK = "receipts_are_verified"
NOT_JUDGED = dict.fromkeys(("RAIL-SVC-01", "RAIL-RCPT-09"), Verdict.NOT_APPLICABLE)
FOREIGN = PROFILE.replace('"reference"', '"none"') + (
    '[rail.services]\nreceipt-verify = "/pay/v1/verify/receipt"\n'
    '[rail.bodies.receipt-verify]\njws = "e30.e30.AA"\n[rail]\nresult_at = "body:result"\n'
)


def make_rail(decode: Callable[[str], bytes], *faults: str, has_document: bool = False) -> Rail:
    """Return a rail whose paid service verifies receipts, the signature decoded so.

    Args:
        decode: From the third segment to the signature.
        faults: What it does wrong: `alg`, `key set`, `header key`, `payment`.
        has_document: Whether its document names the members of the request.
    """

    def change_reply(call: Call, reply: Reply) -> Reply:
        if has_document and call.path == "/openapi.json":
            operation = reply.document["paths"]["/pay/v1/verify/receipt"]["post"]
            schema: Any = {"properties": {name: {} for name in ("jws", "jwks", "expected_payment_hash")}}
            operation["requestBody"] = {"content": {"application/json": {"schema": schema}}}
        if reply.status == 200 and call.path == "/pay/v1/verify/receipt":
            reply.document["result"] = {"verified": holds(json.loads(call.body))}
        return reply

    def holds(receipt: Any) -> bool:
        token = receipt["jws"]
        if token.count(".") != 2:
            return False
        signing_input, _, signature = token.rpartition(".")
        header = json.loads(base64.urlsafe_b64decode(signing_input.partition(".")[0] + "=="))
        if header.get("alg") == "none" and "alg" in faults:
            return True
        jwk = header["jwk"] if "jwk" in header and "header key" in faults else rail.jwk
        if "jwks" in receipt and "key set" not in faults:
            jwk = receipt["jwks"]["keys"][0]
        if "expected_payment_hash" in receipt and "payment" not in faults:
            return False
        try:
            Ed25519PublicKey.from_public_bytes(strict(jwk["x"])).verify(decode(signature), signing_input.encode())
        except (InvalidSignature, ValueError):
            return False
        return bool(header.get("alg") == "EdDSA")

    rail = Rail(change_reply)
    return rail


def strict(text: str) -> bytes:
    """Return the bytes of the one spelling."""
    raw = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    if base64.urlsafe_b64encode(raw).decode().rstrip("=") != text:
        raise ValueError(text)
    return raw


def any_spare_bits(text: str) -> bytes:
    """Return the bytes of any of sixteen spellings."""
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def padded_or_not(text: str) -> bytes:
    """Return the bytes with padding or without."""
    return strict(text.rstrip("="))


async def test_a_strict_verification_passes_both_rows() -> None:
    """The genuine receipt is verified, no changed one is."""
    verdicts = await run_check(CHECK, make_rail(strict))
    assert verdicts == dict.fromkeys(("RAIL-SVC-01", "RAIL-RCPT-09"), Verdict.PASS)


@pytest.mark.parametrize("fault", ["alg", "key set", "header key", "payment"])
async def test_a_forged_receipt_that_is_verified_is_told(fault: str) -> None:
    """Whatever rule is left out, the row of the service breaks."""
    assert await run_check(CHECK, make_rail(strict, fault)) == {
        "RAIL-SVC-01": Verdict.FAIL,
        "RAIL-RCPT-09": Verdict.PASS,
    }


@pytest.mark.parametrize(
    ("fault", "found"),
    [
        ("alg", Verdict.FAIL),
        ("header key", Verdict.FAIL),
        ("key set", Verdict.FAIL),
        ("payment", Verdict.WARN),
        ("none of them", Verdict.PASS),
    ],
)
async def test_members_are_tried_elsewhere_where_the_document_names_them(fault: str, found: Verdict) -> None:
    """A key set then decides; what else a receipt is compared with is left open, and warns."""
    rail = make_rail(strict, fault, has_document=True)
    assert (await run_check(CHECK, rail, FOREIGN))["RAIL-SVC-01"] is found
    silent = make_rail(strict, fault)
    other_verdict = Verdict.PASS if fault in {"key set", "payment"} else found
    assert (await run_check(CHECK, silent, FOREIGN))["RAIL-SVC-01"] is other_verdict


async def test_a_payment_that_is_refused_says_nothing_of_a_receipt() -> None:
    """A payment in progress says nothing about the receipt."""
    clean = make_rail(strict)

    def at_work(call: Call, reply: Reply) -> Reply:
        receipt = call.body.startswith(b"{") and json.loads(call.body).get("jws", "")
        assert clean.change is not None
        return (
            Reply(409, {}) if receipt and receipt.endswith("=") and reply.status == 200 else clean.change(call, reply)
        )

    rail = Rail(at_work)
    found = await run_check(CHECK, rail)
    assert found == {"RAIL-SVC-01": Verdict.PASS, "RAIL-RCPT-09": Verdict.INCONCLUSIVE}


async def test_a_verification_that_passes_everything_is_told() -> None:
    """Forged receipts break the row of the service, other spellings that of the encoding."""

    def change_reply(call: Call, reply: Reply) -> Reply:
        if reply.status == 200 and call.path == "/pay/v1/verify/receipt":
            reply.document["result"] = {"verified": True}
        return reply

    assert find_broken_rows(await run_check(CHECK, Rail(change_reply))) == {"RAIL-SVC-01", "RAIL-RCPT-09"}


@pytest.mark.parametrize("decoded", [any_spare_bits, padded_or_not])
async def test_a_reader_that_takes_two_spellings_is_told(decoded: Callable[[str], bytes]) -> None:
    """A receipt that was changed and is verified all the same breaks the row."""
    assert find_broken_rows(await run_check(CHECK, make_rail(decoded))) == {"RAIL-RCPT-09"}


async def test_a_crash_over_a_receipt_is_told() -> None:
    """Who pays for a verification and gets a server error has no verification."""
    clean = make_rail(strict)

    def crash(call: Call, reply: Reply) -> Reply:
        short = len(json.loads(call.body or b"{}").get("jws", "").rpartition(".")[2]) % 4 == 1
        assert clean.change is not None
        return Reply(500, {}) if short and reply.status == 200 else clean.change(call, reply)

    rail = Rail(crash)
    assert find_broken_rows(await run_check(CHECK, rail)) == {"RAIL-RCPT-09"}


async def test_a_verification_that_finds_nothing_sound_is_told() -> None:
    """The reference must verify its own receipt. Another rail may verify only other receipts, and is not judged."""

    def never(_: str) -> bytes:
        raise ValueError

    unsound = {"RAIL-SVC-01": Verdict.FAIL, "RAIL-RCPT-09": Verdict.INCONCLUSIVE}
    assert await run_check(CHECK, make_rail(never)) == unsound
    assert await run_check(CHECK, make_rail(never), FOREIGN) == NOT_JUDGED


@pytest.mark.parametrize("profile", [PROFILE, FOREIGN])
async def test_a_result_in_words_of_its_own_judges_nothing(profile: str) -> None:
    """If it is not bound what the service says of a receipt, nothing is concluded."""
    assert await run_check(CHECK, Rail(), profile) == NOT_JUDGED


async def test_what_is_refused_before_it_is_paid_for_is_refused() -> None:
    """A service may reject a malformed receipt without payment."""
    clean = make_rail(strict)

    def early(call: Call, reply: Reply) -> Reply:
        assert clean.change is not None
        receipt = call.body.startswith(b"{") and json.loads(call.body).get("jws", "")
        return Reply(422, {"detail": []}) if receipt and receipt.endswith("=") else clean.change(call, reply)

    assert find_broken_rows(await run_check(CHECK, Rail(early))) == set()


def test_each_change_is_another_text() -> None:
    """Four changes, each of which decodes to something else than it was, or to the same by another spelling."""
    token = Rail().sign({"kind": "x"})
    texts = dict(list_changes(token))
    assert len(texts) == len({token, *texts.values()}) - 1
    spare = texts["spare bits set"].rpartition(".")[2]
    assert any_spare_bits(spare) == strict(token.rpartition(".")[2])
    assert len(texts["its last character left out"].rpartition(".")[2]) % 4 == 1


@pytest.mark.parametrize(
    ("member", "body"),
    [
        ("jws", {"jws": "a.b.c"}),
        ("receipt", {"receipt": "a.b.c", "strict": True, "version": "1.0"}),
        (None, {"a": "a.b.c", "b": "d.e.f"}),
        (None, {"a": "1"}),
        (None, ["a.b.c"]),
        (None, None),
    ],
)
def test_the_member_that_takes_a_receipt_is_the_one_that_looks_like_one(member: str | None, body: Any) -> None:
    """One text of three segments is it; none or several are not."""
    assert find_receipt_member(body) == member
