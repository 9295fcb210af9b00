"""Members that a receipt's kind demands, absent or of a wrong value; and payments that it is not bound to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from conformance.oracles.receipt_kinds import HASHES, MEMBERS
from tools.vectors_builder.drafting import Draft
from tools.vectors_builder.receipts.material import (
    ATTESTATION,
    COMPLIANCE,
    KINDS,
    OTHER_HASH,
    PAID_COMPLIANCE,
    PAYABLE,
    SETTLED_REF,
    draft_refusal,
    receipt,
    without,
)

_ROW: Final = "GW-RCPT-19"
_ABSENT: Final = ("profile 2.4 step 8",)
_VALUES: Final = ("profile 2.4 step 8b", "P-RV-04")
_PAYMENT: Final = ("profile 2.4 step 9",)
# Without the first a receipt is of another kind, without the second of another canonical form.
_DECIDED_BEFORE: Final = ("kind", "canon_version")
_DEMANDED_MEMBERS: Final[Mapping[str, tuple[str, ...]]] = {
    "compliance": MEMBERS["compliance"],
    "payable": MEMBERS["payable"],
    "attestation": MEMBERS["settlement_attestation"],
}


def drafts() -> Iterator[Draft]:
    """Yield them."""
    yield from _absent()
    yield from _results()
    yield from _hashes()
    yield from _payments()


def _absent() -> Iterator[Draft]:
    for kind, members in _DEMANDED_MEMBERS.items():
        for name in (one for one in members if one not in _DECIDED_BEFORE):
            why = f"{name} is demanded of this kind of receipt (profile 2.3)"
            for variant, claims in (("absent", without(KINDS[kind], name)), ("null", {**KINDS[kind], name: None})):
                fault = f"{name} is {variant}"
                token, values = receipt(claims), {"error_field": name}
                yield draft_refusal(
                    *(f"fields/{kind}.{name}", variant, token, fault, why, _ROW), pins=_ABSENT, values=values
                )


def _wrong(kind: str, name: str, group: str, spellings: Mapping[str, Any], why: str) -> Iterator[Draft]:
    for variant, value in spellings.items():
        token = receipt({**KINDS[kind], name: value})
        fault = f"{name} has a value outside its set"
        values = {"error_field": name}
        stage = f"values/{kind}.{name}{group}"
        yield draft_refusal(stage, variant, token, fault, why, _ROW, pins=_VALUES, values=values)


def _results() -> Iterator[Draft]:
    why = "a result is one of three words"
    words = {"another": "PERHAPS", "empty": "", "of_the_other_kind": "SETTLED"}
    yield from _wrong("compliance", "screen_result", "", words, why)
    words = {"another": "FAILED", "empty": "", "of_the_other_kind": "ALLOW"}
    yield from _wrong("attestation", "settlement_result", "", words, why)
    why = "words are compared letter by letter"
    words = {"lower_case": "allow", "space_after": "ALLOW ", "line_end_after": "ALLOW\n"}
    yield from _wrong("compliance", "screen_result", "_spelling", words, why)
    words = {"lower_case": "settled", "space": "PENDING FINALITY", "line_end_after": "SETTLED\n"}
    yield from _wrong("attestation", "settlement_result", "_spelling", words, why)
    why = "a result is a text"
    yield from _wrong("compliance", "screen_result", "_type", {"true": True, "array": ["ALLOW"], "zero": 0}, why)
    objects = {"false": False, "array": ["SETTLED"], "object": {"SETTLED": True}}
    yield from _wrong("attestation", "settlement_result", "_type", objects, why)


def _hashes() -> Iterator[Draft]:
    why = "a hash reference is sha256: and 64 lower-case hex digits (P-CV-06)"
    for name in HASHES:
        digest = str(PAYABLE[name])[7:]
        spellings = {
            "upper_case": f"sha256:{digest.upper()}",
            "no_prefix": digest,
            "other_algorithm": f"sha512:{digest}",
        }
        yield from _wrong("payable", name, "", spellings, why)
    digest = str(PAYABLE["request_hash"])[7:]
    lengths = {"short": f"sha256:{digest[:-1]}", "long": f"sha256:{digest}0", "empty": "sha256:"}
    yield from _wrong("payable", "request_hash", "_length", lengths, why)
    ends = {"line_end_after": f"sha256:{digest}\n", "space_before": f" sha256:{digest}", "no_hex": "sha256:" + "g" * 64}
    yield from _wrong("payable", "response_hash", "_letters", ends, why)
    types = {"number": 1, "array": [SETTLED_REF], "empty": ""}
    yield from _wrong("payable", "settled_payment_ref", "_type", types, why)


def _payments() -> Iterator[Draft]:
    why = "the receipt of another payment is no receipt of this one"
    bare = SETTLED_REF.removeprefix("sha256:")
    for kind, claims in {"compliance": PAID_COMPLIANCE, "payable": PAYABLE, "attestation": ATTESTATION}.items():
        rows = ("RAIL-RCPT-06",) if kind == "payable" else (_ROW,)
        for variant, expected_hash in (("other", OTHER_HASH), ("upper_case", SETTLED_REF.upper()), ("no_prefix", bare)):
            fault = "the expected payment is another text than the receipt's"
            stage = f"payment_hash/{kind}"
            token = receipt(claims)
            yield draft_refusal(
                stage, variant, token, fault, why, *rows, pins=_PAYMENT, expected_payment_hash=expected_hash
            )
    why = "a receipt that names no payment is bound to none"
    for variant, claims, expected_hash in (
        ("absent", COMPLIANCE, SETTLED_REF),
        ("null", {**COMPLIANCE, "payment_hash": None}, SETTLED_REF),
        ("absent_and_empty", COMPLIANCE, ""),
    ):
        fault = "a payment is expected, and the receipt names none"
        draft_members: dict[str, Any] = {"pins": _PAYMENT, "expected_payment_hash": expected_hash}
        yield draft_refusal("payment_hash/names_none", variant, receipt(claims), fault, why, _ROW, **draft_members)
    why = "an empty text is expected, not nothing"
    draft_members = {"pins": _PAYMENT, "expected_payment_hash": ""}
    for kind, claims in {"compliance": PAID_COMPLIANCE, "payable": PAYABLE}.items():
        fault = "an empty text is expected, and the receipt names a payment"
        yield draft_refusal("payment_hash/empty_expected", kind, receipt(claims), fault, why, _ROW, **draft_members)
    why = "each kind is bound by its own member"
    draft_members = {"pins": _PAYMENT, "expected_payment_hash": SETTLED_REF}
    other_hashes = {"settled_payment_ref": OTHER_HASH, "payment_hash": SETTLED_REF}
    fault = "the expected payment stands in payment_hash, which binds no receipt of this kind"
    for kind in ("payable", "attestation"):
        token = receipt({**KINDS[kind], **other_hashes})
        yield draft_refusal("payment_hash/in_another_member", kind, token, fault, why, _ROW, **draft_members)
    token = receipt({**COMPLIANCE, "settled_payment_ref": SETTLED_REF})
    fault = "the expected payment stands in settled_payment_ref, which binds no compliance receipt"
    yield draft_refusal("payment_hash/in_another_member", "compliance", token, fault, why, _ROW, **draft_members)
    token = receipt({**COMPLIANCE, "payment_hash": [SETTLED_REF]})
    fault = "the receipt's payment_hash is a list with the expected text"
    yield draft_refusal(
        "payment_hash/no_text", "array", token, fault, "texts are compared, not lists", _ROW, **draft_members
    )
