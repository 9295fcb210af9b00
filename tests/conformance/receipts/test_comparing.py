"""Two receipts compared claim by claim."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from conformance.oracles.receipt_kinds import MEMBERS, Kind
from conformance.receipts.offline.comparing import Circumstances, ClaimComparison, Grade, compare
from conformance.receipts.offline.comparison_rules import RULES, is_required
from conformance.receipts.offline.parsing import UnreadableReceipt, parse_receipt
from tests.conformance.receipts.written_receipts import (
    ATTESTATION,
    COMPLIANCE,
    HEADER,
    PAYABLE,
    change_claims,
    receipt,
    segment,
    token,
)

SAME, EXPECTED, MATTERS = Grade.SAME, Grade.EXPECTED, Grade.MATTERS
OTHER_HASH = "sha256:" + "f" * 64
WHOLE = {"payable": PAYABLE, "compliance": COMPLIANCE, "settlement_attestation": ATTESTATION}
_DEEP = b'{"a":' * 40 + b"1" + b"}" * 40
OTHER_DID = "did:web:acme.example"

# Kind, claim, its value on the right, and what the difference comes to.
DIFFERENCES = (
    ("payable", "kind", "acme/payable-svc-receipt/1", EXPECTED),
    ("payable", "kind", "weldproof/payable-svc-receipt/2", MATTERS),
    ("payable", "kind", "payable", MATTERS),
    ("payable", "canon_version", "jcs-rfc8785-v2", MATTERS),
    ("payable", "iss", OTHER_DID, EXPECTED),
    ("payable", "iss", 7, MATTERS),
    ("payable", "provider_did", OTHER_DID, EXPECTED),
    ("payable", "iat", 1_790_000_009, EXPECTED),
    ("payable", "iat", 1_790_000_009_000, MATTERS),
    ("payable", "iat", "1790000009", MATTERS),
    ("payable", "iat", 1, MATTERS),
    ("payable", "issued_at_ms", 1_790_000_009_000, EXPECTED),
    ("payable", "issued_at_ms", 1_790_000_009_000.5, MATTERS),
    ("payable", "service_id", "verify", MATTERS),
    ("payable", "request_hash", OTHER_HASH, MATTERS),
    ("payable", "response_hash", OTHER_HASH, EXPECTED),
    ("payable", "response_hash", "f" * 64, MATTERS),
    ("payable", "settled_payment_ref", OTHER_HASH, EXPECTED),
    ("payable", "settled_payment_ref", "0x" + "f" * 64, MATTERS),
    ("payable", "payment_reference_hash", OTHER_HASH, EXPECTED),
    ("payable", "network", "eip155:8453", MATTERS),
    ("payable", "asset", "0", MATTERS),
    ("payable", "pay_to", "B" * 58, EXPECTED),
    ("payable", "amount_microunits", "10001", MATTERS),
    ("payable", "amount_microunits", 10_000, MATTERS),
    ("compliance", "canon_version", "jcs-rfc8785-v2", MATTERS),
    ("compliance", "payer_ref", OTHER_HASH, MATTERS),
    ("compliance", "screen_result", "DENY", MATTERS),
    ("compliance", "screen_timestamp_ms", 1_790_000_000_999, EXPECTED),
    ("compliance", "screen_provider_did", OTHER_DID, EXPECTED),
    ("compliance", "jurisdiction_flags", ["EU", "UK"], EXPECTED),
    ("compliance", "jurisdiction_flags", "UK EU", MATTERS),
    ("compliance", "payment_hash", OTHER_HASH, EXPECTED),
    ("settlement_attestation", "canon_version", "jcs-rfc8785-v2", MATTERS),
    ("settlement_attestation", "settlement_result", "PENDING_FINALITY", MATTERS),
    ("settlement_attestation", "settlement_chain", "algorand_testnet", MATTERS),
    ("settlement_attestation", "settlement_amount", "10000", MATTERS),
    ("settlement_attestation", "settled_payment_ref", OTHER_HASH, EXPECTED),
    ("settlement_attestation", "jurisdiction_flags", ["UK"], EXPECTED),
    ("settlement_attestation", "settlement_provider_did", OTHER_DID, EXPECTED),
    ("settlement_attestation", "settlement_timestamp_ms", 1_790_000_000_999, EXPECTED),
)


def claim(
    name: str, left_claims: Mapping[str, Any], right: Mapping[str, Any], circumstances: Circumstances | None = None
) -> ClaimComparison:
    """Compare two payloads and return what became of one claim, the only one that is not the same."""
    comparison = compare(receipt(left_claims), receipt(right), circumstances)
    assert [one.name for one in comparison.claims if one.grade is not SAME] in ([name], [])
    return next(one for one in comparison.claims if one.part == "payload" and one.name == name)


@pytest.mark.parametrize(("kind", "name", "value", "grade"), DIFFERENCES)
def test_a_differing_claim_gets_its_grade_by_what_it_follows_from(
    kind: Kind, name: str, value: Any, grade: Grade
) -> None:
    """One claim differs; it, and it alone, is graded, from either side, with a sentence that says why."""
    left_claims, right = WHOLE[kind], change_claims(WHOLE[kind], **{name: value})
    for first_claims, second_claims in ((left_claims, right), (right, left_claims)):
        claim_line = claim(name, first_claims, second_claims)
        assert claim_line.grade is grade
        assert claim_line.why.endswith(".")


@pytest.mark.parametrize("kind", list(RULES))
def test_every_claim_of_a_kind_is_compared_with_a_difference_of_its_own(kind: Kind) -> None:
    """The table of differences above has each claim of the profile's tables, and the same receipt twice has none."""
    claim_names = {name for its, name, _, _ in DIFFERENCES if its is kind}
    assert claim_names == {path[0] for path in RULES[kind]}
    comparison = compare(receipt(WHOLE[kind]), receipt(WHOLE[kind]))
    assert comparison.grade is SAME
    assert {one.name for one in comparison.claims if one.part == "payload"} >= claim_names - {"settlement_amount"}


@pytest.mark.parametrize("kind", list(RULES))
def test_the_rules_know_what_a_verifier_demands(kind: Kind) -> None:
    """Each member that step 8 of verification demands has a rule of its own, and only those count as required."""
    assert set(MEMBERS[kind]) == {path[0] for path in RULES[kind] if is_required(path, kind)}


@pytest.mark.parametrize(
    ("kind", "name"), [(kind, path[0]) for kind, rules in RULES.items() for path in rules if not path[1:]]
)
def test_a_claim_of_one_side_matters_where_a_verifier_demands_it(kind: Kind, name: str) -> None:
    """A claim that only one receipt has matters when it is required, is informational otherwise; both sides alike."""
    whole, without = WHOLE[kind], change_claims(WHOLE[kind], **{name: None})
    for first_claims, second_claims, side in ((whole, without, "left"), (without, whole, "right")):
        claim_line = next(
            line for line in compare(receipt(first_claims), receipt(second_claims)).claims if line.name == name
        )
        assert claim_line.grade is (MATTERS if name in MEMBERS[kind] else EXPECTED)
        assert f"Only the {side} one has it." in claim_line.why
        assert [claim_line.left is None, claim_line.right is None] == [side == "right", side == "left"]


def test_a_claim_that_the_profile_does_not_know_is_informational() -> None:
    """An unknown claim of one side, or with two values, is shown and does not matter; of two types it does."""
    assert claim("extra", PAYABLE, change_claims(PAYABLE, extra=1)).grade is EXPECTED
    assert claim("extra", change_claims(PAYABLE, extra=2), change_claims(PAYABLE, extra=1)).grade is EXPECTED
    assert claim("extra", change_claims(PAYABLE, extra=True), change_claims(PAYABLE, extra=1)).grade is MATTERS
    assert claim("extra", change_claims(PAYABLE, extra=[1]), change_claims(PAYABLE, extra={"a": 1})).grade is MATTERS
    assert claim("extra", change_claims(PAYABLE, extra=[True]), change_claims(PAYABLE, extra=[1])).grade is EXPECTED


def test_members_of_objects_are_compared_one_by_one() -> None:
    """Of a nested amount only the member that differs is reported, by its dotted name."""
    amount = {"amount_minor": "10001", "asset_id": "31566704"}
    claim_line = claim(
        "settlement_amount.amount_minor", ATTESTATION, change_claims(ATTESTATION, settlement_amount=amount)
    )
    assert (claim_line.grade, claim_line.left, claim_line.right) == (MATTERS, '"10000"', '"10001"')
    claim_line = claim(
        "settlement_amount.asset_id",
        ATTESTATION,
        change_claims(ATTESTATION, settlement_amount={"amount_minor": "10000"}),
    )
    assert (claim_line.grade, claim_line.right) == (MATTERS, None)


@pytest.mark.parametrize(
    ("recipes", "paths", "grade"),
    [
        (None, None, MATTERS),
        (("jcs-envelope", "jcs-envelope"), None, MATTERS),
        (("jcs-envelope", "jcs-envelope"), ("/pay/v1/a", "/pay/v1/a"), MATTERS),
        (("jcs-envelope", "jcs-envelope"), ("/pay/v1/a", "/pay/v1/b"), EXPECTED),
        (("jcs-body", "jcs-body"), ("/pay/v1/a", "/pay/v1/b"), MATTERS),
        (("jcs-envelope", "raw-body"), ("/pay/v1/a", "/pay/v1/a"), EXPECTED),
    ],
)
def test_two_hashes_of_one_request_matter_unless_recipes_explain_them(
    recipes: tuple[str, str] | None, paths: tuple[str, str] | None, grade: Grade
) -> None:
    """Two request hashes are excused by two stated recipes, or by two paths that the recipe is over; else not."""
    other_claims = change_claims(PAYABLE, request_hash=OTHER_HASH)
    assert claim("request_hash", PAYABLE, other_claims, Circumstances(recipes=recipes, paths=paths)).grade is grade


def test_a_request_that_is_bound_elsewhere_is_told_where() -> None:
    """A missing request hash matters, and where the other claim is known that binds the request, it is named."""
    without = change_claims(PAYABLE, request_hash=None)
    circumstances = Circumstances(request_at=("request_hash", "binds.request[0]"))
    claim_line = next(
        one for one in compare(receipt(PAYABLE), receipt(without), circumstances).claims if one.name == "request_hash"
    )
    assert (claim_line.grade, claim_line.right) == (MATTERS, None)
    assert claim_line.why.endswith("The right one binds the request in binds.request[0].")
    mirrored_circumstances = Circumstances(request_at=("binds.request[0]", "request_hash"))
    mirrored_line = next(
        one for one in compare(receipt(without), receipt(PAYABLE), mirrored_circumstances).claims if one.left is None
    )
    assert mirrored_line.why.endswith("The left one binds the request in binds.request[0].")


@pytest.mark.parametrize(
    ("name", "value", "grade"),
    [
        ("settled_payment_ref", OTHER_HASH, MATTERS),
        ("payment_reference_hash", OTHER_HASH, MATTERS),
        ("response_hash", OTHER_HASH, MATTERS),
        ("pay_to", "B" * 58, MATTERS),
        ("iss", OTHER_DID, MATTERS),
        ("issued_at_ms", 1_790_000_000_999, EXPECTED),
        ("kind", "acme/payable-svc-receipt/1", EXPECTED),
    ],
)
def test_what_one_payment_bought_is_bound_to_it(name: str, value: Any, grade: Grade) -> None:
    """Of two receipts for one payment, what follows from it must be equal; when they were issued need not be."""
    other_claims = change_claims(PAYABLE, **{name: value})
    assert claim(name, PAYABLE, other_claims, Circumstances(payments="one")).grade is grade
    assert claim(name, PAYABLE, other_claims).grade is EXPECTED


def test_two_payments_with_one_reference_matter() -> None:
    """Receipts of two payments that name the same one matter; of one payment, or of who knows which, they do not."""
    known_grades = ((Circumstances("two"), MATTERS), (Circumstances("one"), SAME), (Circumstances(), SAME))
    for circumstances, grade in known_grades:
        comparison = compare(receipt(PAYABLE), receipt(PAYABLE), circumstances)
        lines = {one.name: one.grade for one in comparison.claims}
        assert (grade, grade) == (lines["settled_payment_ref"], lines["payment_reference_hash"])
        assert lines["response_hash"] is SAME


@pytest.mark.parametrize(
    ("name", "left_value", "right", "grade"),
    [
        ("alg", "EdDSA", "Ed25519", EXPECTED),
        ("alg", "EdDSA", "ES256", MATTERS),
        ("alg", "EdDSA", None, MATTERS),
        ("kid", "one", "another", EXPECTED),
        ("kid", "one", 1, MATTERS),
        ("kid", None, "another", EXPECTED),
        ("typ", "JWT", "application/jwt", EXPECTED),
        ("typ", "JWT", "receipt+jws", MATTERS),
        ("typ", "JWT", None, EXPECTED),
        ("crit", None, ["exp"], MATTERS),
        ("b64", None, False, MATTERS),
        ("jku", None, "https://keys.example", EXPECTED),
        ("cty", None, "json", EXPECTED),
    ],
)
def test_a_header_member_gets_its_grade_by_what_verifiers_read(
    name: str, left_value: Any, right: Any, grade: Grade
) -> None:
    """What a verifier reads of the header matters where it differs; what it ignores does not."""
    first_receipt, second_receipt = (
        receipt(PAYABLE, change_claims({**HEADER, name: value})) for value in (left_value, right)
    )
    for comparison in (compare(first_receipt, second_receipt), compare(second_receipt, first_receipt)):
        assert [(name, grade)] == [(line.name, line.grade) for line in comparison.claims if line.grade is not SAME]


def test_a_payload_that_is_not_canonical_matters_beside_one_that_is() -> None:
    """Bytes in another form are reported once, with the side that a verifier refuses; two of them are alike."""
    right, wrong = receipt(PAYABLE), receipt(PAYABLE, canonical=False)
    comparison = compare(right, wrong)
    assert [(one.name, one.grade) for one in comparison.mattering_claims] == [("canonical form", MATTERS)]
    assert "refuses the right one" in comparison.mattering_claims[0].why
    assert "refuses the left one" in compare(wrong, right).mattering_claims[0].why
    assert compare(wrong, wrong).grade is SAME


def test_receipts_of_two_kinds_are_not_held_to_each_others_claims() -> None:
    """Two kinds matter once; what goes with one kind only is no missing claim."""
    comparison = compare(receipt(PAYABLE), receipt(COMPLIANCE))
    assert [(one.part, one.name) for one in comparison.mattering_claims] == [("receipt", "kind of receipt")]


def test_a_payable_receipt_whose_kind_is_written_otherwise_is_still_compared_as_one() -> None:
    """Without a known `kind` the hashes tell a payable receipt; the missing claim is what matters."""
    comparison = compare(receipt(PAYABLE), receipt(change_claims(PAYABLE, kind=None)))
    assert [(one.part, one.name) for one in comparison.mattering_claims] == [("payload", "kind")]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a.b",
        "..",
        "e30=.e30.AA",
        f"{segment(b'[]')}.e30.AA",
        f"e30.{segment(b'[]')}.AA",
        f"e30.{segment(b'nonsense')}.AA",
        f"e30.{segment(b'[' * 5000)}.AA",
        f"e30.{segment(_DEEP)}.AA",
    ],
)
def test_what_holds_no_claims_is_told_and_not_compared(text: str) -> None:
    """A text that is no compact JWS with two JSON objects of bearable depth is refused with a reason."""
    with pytest.raises(UnreadableReceipt, match=r"\w"):
        parse_receipt(text)


def test_numbers_that_no_receipt_should_hold_are_compared_all_the_same() -> None:
    """Infinite, huge and fractional numbers as a time give a verdict, not a fault."""
    payloads = [
        f'{{"iat":{number}}}'.encode() for number in ("1e999", "1" + "0" * 5000, "0.5", "1790000000", "-1", "0")
    ]
    receipts = [parse_receipt(f"e30.{segment(payload)}.AA") for payload in payloads]
    grades = [compare(one, other).grade for one in receipts for other in receipts]
    assert {SAME, MATTERS} <= set(grades)


def test_the_text_of_a_token_is_kept() -> None:
    """A receipt taken apart has its text, so that a report can show it."""
    assert token(PAYABLE) == receipt(PAYABLE).text


@pytest.mark.parametrize(
    ("other_time", "why"),
    [(1, "decades apart"), (1_790_000_009_000, "the other counts milliseconds"), (1_700_000_000, "")],
)
def test_only_a_ratio_of_a_thousand_is_called_milliseconds(other_time: int, why: str) -> None:
    """1 against 1790000000 is a wrong time, not a time in another unit."""
    left_receipt, right = receipt(PAYABLE), receipt({**PAYABLE, "iat": other_time})
    (iat,) = (one for one in compare(left_receipt, right).claims if one.name == "iat")
    assert why in iat.why
    assert ("milliseconds" in iat.why) is (other_time > 10**12)
