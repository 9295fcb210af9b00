"""Receipts that are refused before their proof is examined, and receipts with an unknown proof system."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from typing import Any, Final

from conformance.oracles.ed25519_keys import encode_base64url
from conformance.oracles.hash_recipes import jcs_bytes
from tools.vectors_builder.drafting import Draft, seed
from tools.vectors_builder.falcon_envelopes.making import base64_text
from tools.vectors_builder.zk_receipts.making import (
    ADDON,
    BENCH,
    DIDS,
    END,
    SIGNER,
    draft_refused_receipt,
    proven,
    receipt,
    trust_set,
    without,
)

_TYPE: Final = ("P-AD-08",)
_FORM: Final = ("P-AD-06",)
_SPELLING: Final = ("P-CV-06",)


def drafts() -> Iterator[Draft]:
    """Yield them, stage by stage."""
    yield from _decode()
    yield from _confusions()
    yield from _members()
    yield from _texts()
    yield from _keys()
    yield from _times()
    yield from _signatures()
    yield from _systems()


def _decode() -> Iterator[Draft]:
    text = receipt(proven())
    raw = base64.urlsafe_b64decode(text + "==")
    yield draft_refused_receipt(
        "envelope_decode/alphabet",
        "full_stop",
        text[:60] + "." + text[60:],
        "A full stop stands in the text, as in a JWS.",
        "The text is base64url and nothing else.",
    )
    yield draft_refused_receipt(
        "envelope_decode/json",
        "cut_off",
        encode_base64url(raw[:-1]),
        "The JSON's last brace is missing.",
        "JSON is whole or none.",
    )
    twice = raw.replace(b'"threshold_milliunits":700', b'"threshold_milliunits":1000,"threshold_milliunits":700')
    yield draft_refused_receipt(
        "envelope_decode/duplicate",
        "threshold",
        encode_base64url(twice),
        "The payload has the member threshold_milliunits twice.",
        "One reader verifies the last threshold, another shows the first.",
        pins=("P-CV-02",),
    )


def _confusions() -> Iterator[Draft]:
    why = (
        "Whoever signs several things must not have one taken for another: the type is looked at before anything else."
    )
    types = {
        "missing": (None, "The payload has no type."),
        "federation_token": ("federation_token", "The payload says that it is a federation token."),
        "capitals": ("ZKP_RECEIPT", "The type is written in capitals."),
    }
    for variant, (kind, fault) in types.items():
        payload = proven(f"type {variant}", type=kind)
        yield draft_refused_receipt("envelope_shape/type", variant, receipt(payload), fault, why, pins=_TYPE)
    certificate = {
        "atb_cert_version": "2",
        "bench_issuer": DIDS[BENCH],
        "bench_kid": SIGNER.kid(ADDON),
        "score": 0.912,
        "passed": True,
        "methodology_version": "atb-core-v2.1",
        "issued_at": "2026-07-01T11:31:00Z",
        "expires_at": "2026-07-31T11:31:00Z",
    }
    fault = "A certificate is shown as a receipt."
    yield draft_refused_receipt(
        "envelope_shape/certificate", "as_a_receipt", receipt(certificate), fault, why, pins=_TYPE
    )


def _members() -> Iterator[Draft]:
    why = "The members of a receipt are all required, each of its type."
    for name in ("commitment_b64", "proof_b64", "threshold_milliunits"):
        payload = without(proven(), {name: None})
        fault = f"The member {name} is missing."
        yield draft_refused_receipt("envelope_shape/proof_member_missing", name, receipt(payload), fault, why)
    for name in ("payment_id", "tx_id", "bench_issuer"):
        absent_member: dict[str, Any] = {name: None}
        payload = proven(f"without {name}", **absent_member)
        fault = f"The member {name} is missing."
        yield draft_refused_receipt("envelope_shape/member_missing", name, receipt(payload), fault, why)
    thresholds = {"above_1000": (1001, 1001), "below_zero": (0, -1), "true": (1, True)}
    for variant, (score, threshold) in thresholds.items():
        payload = proven(f"threshold {variant}", score, threshold)
        fault = f"The threshold is {json.dumps(threshold)}."
        why = "A threshold is a whole number from 0 to 1000, as a score is."
        yield draft_refused_receipt("envelope_shape/threshold", variant, receipt(payload), fault, why)
    amounts: dict[str, tuple[Any, str]] = {
        "text": ("50000", "The amount is a text."),
        "fraction": (50_000.5, "The amount is no whole number."),
        "below_zero": (-1, "The amount is less than nothing."),
    }
    for variant, (amount, fault) in amounts.items():
        payload = proven(f"amount {variant}", amount_microusd=amount)
        yield draft_refused_receipt(
            "envelope_shape/amount", variant, receipt(payload), fault, "An amount is a whole number."
        )
    fixed_members: dict[str, dict[str, Any]] = {
        "version": {"version": "2"},
        "atb_cert_version": {"atb_cert_version": "1"},
        "number": {"version": 1},
    }
    for variant, changes in fixed_members.items():
        payload = proven(f"fixed {variant}", **changes)
        name, value = next(iter(changes.items()))
        fault = f"The member {name} is {json.dumps(value)}."
        why = "Another version may mean another thing by the same members."
        yield draft_refused_receipt("envelope_shape/fixed_member", variant, receipt(payload), fault, why)


def _texts() -> Iterator[Draft]:
    payload = proven()
    commitment = base64.b64decode(payload["commitment_b64"])
    for variant, data in (("one_byte_short", commitment[:-1]), ("one_byte_long", commitment + b"\0")):
        changed_payload = {**payload, "commitment_b64": base64_text(data)}
        fault = f"The commitment is {len(data)} bytes."
        why = "A point is 32 bytes; with another length nothing is committed to."
        yield draft_refused_receipt("envelope_shape/commitment_length", variant, receipt(changed_payload), fault, why)
    text_with_letters = _with_letters_of_its_own()
    spelt: dict[str, tuple[dict[str, Any], Callable[[str], str], str]] = {
        "unpadded": (payload, lambda text: text.rstrip("="), "has no padding"),
        "spare_bits": (payload, _with_spare_bits, "has spare bits that are not zero"),
        "base64url": (text_with_letters, _in_url_letters, "is in base64url"),
    }
    for variant, (whole, change, fault) in spelt.items():
        changed_payload = {**whole, "commitment_b64": change(whole["commitment_b64"])}
        why = "The transcript has the text: a second one for the same point is another statement or none."
        fault_sentence = f"The text of the commitment {fault}."
        yield draft_refused_receipt(
            "envelope_shape/commitment_text", variant, receipt(changed_payload), fault_sentence, why, pins=_SPELLING
        )
    proofs = {
        "line_break": (payload["proof_b64"][:76] + "\n" + payload["proof_b64"][76:], "has a line break"),
        "base64url": (_in_url_letters(payload["proof_b64"]), "is in base64url"),
    }
    for variant, (text, words) in proofs.items():
        changed_payload = {**payload, "proof_b64": text}
        fault = f"The text of the proof {words}."
        why = "A proof has one text, or it has several receipts."
        yield draft_refused_receipt(
            "envelope_shape/proof_text", variant, receipt(changed_payload), fault, why, pins=_SPELLING
        )
    long = {**payload, "proof_b64": base64_text(bytes(12_291))}
    fault = "The text of the proof is 16388 letters."
    why = "More than 16384 are not even decoded: nobody may be made to compute over them."
    yield draft_refused_receipt("envelope_shape/proof_too_long", "by_four", receipt(long), fault, why)


def _with_spare_bits(text: str) -> str:
    """Return a text of 32 bytes whose last letter, which counts for four bits, has a further one."""
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    return text[:-2] + alphabet[alphabet.index(text[-2]) + 1] + "="


def _in_url_letters(text: str) -> str:
    return text.replace("+", "-").replace("/", "_")


def _with_letters_of_its_own() -> dict[str, Any]:
    """Return a payload whose commitment has a letter that differs in base64url."""
    for number in range(20):
        payload = proven(f"letters {number}")
        if set(payload["commitment_b64"]) & {"+", "/"}:
            return payload
    raise AssertionError("twenty commitments without such a letter")


def _keys() -> Iterator[Draft]:
    payload = proven()
    why = "The trust set holds Falcon-1024 keys only."
    for variant, alg in (("ml_dsa_65", "ML-DSA-65"), ("ed25519", "Ed25519")):
        fault = f"The envelope names the algorithm {alg}."
        yield draft_refused_receipt(
            "unsupported_alg/another", variant, receipt(payload, alg=alg), fault, why, pins=_FORM
        )
    rows = ("CP-ADDON-07", "CP-ISSUER-11")
    unknown = {
        "empty_set": (receipt(payload), {}, "The trust set is empty."),
        "another_key": (receipt(payload), trust_set(BENCH), "The trust set holds the key of bench_issuer only."),
        "kid_of_nobody": (
            receipt(payload, BENCH, kid="0123456789abcdef"),
            trust_set(ADDON, BENCH),
            "bench_issuer's own key has signed, and the kid is nobody's.",
        ),
    }
    for variant, (text, trusted_keys, fault) in unknown.items():
        why = "The kid alone chooses the key; bench_issuer is data and chooses none."
        yield draft_refused_receipt(
            "no_public_key/unknown", variant, text, fault, why, trusted_keys=trusted_keys, rows=rows
        )


def _times() -> Iterator[Draft]:
    why = "A time that cannot be read must not count as one that never comes."
    ends = {
        "no_zone": ("2026-07-31T11:31:00", "The expiry has no zone."),
        "no_such_hour": ("2026-07-31T25:31:00Z", "The expiry is at the 25th hour."),
    }
    for variant, (end, fault) in ends.items():
        text = receipt(proven(f"end {variant}", expires_at=end))
        yield draft_refused_receipt("timestamp_parse/expires_at", variant, text, fault, why, pins=("P-CV-04",))
    usual = receipt(proven())
    fault = "It ended 61 seconds ago, and clocks may differ by 60."
    yield draft_refused_receipt(
        "expired/beyond_the_skew",
        "by_one",
        usual,
        fault,
        "The first second beyond the skew.",
        now=END + 61,
        pins=("P-CV-09",),
    )
    yield draft_refused_receipt(
        "expired/long_ago", "a_year", usual, "It ended a year ago.", "Over is over.", now=END + 31_536_000
    )


def _signatures() -> Iterator[Draft]:
    first, second = proven(), proven("by one", 701)
    stolen_signature = encode_base64url(SIGNER.sign(ADDON, jcs_bytes(first)))
    why = "The proof is right and the receipt nobody's: what is unsigned shows nothing of who was told the score."
    original = SIGNER.sign(ADDON, jcs_bytes(first))
    wrong = {
        "another_receipt/signature": (
            receipt(second, sig=stolen_signature),
            "The signature is that of another receipt.",
        ),
        "another_key/kid": (receipt(first, BENCH, kid=SIGNER.kid(ADDON)), "Another key has signed than the kid names."),
        "salt/first_bit": (
            receipt(first, sig=encode_base64url(original[:1] + bytes([original[1] ^ 0x80]) + original[2:])),
            "The first bit of the signature's salt is turned.",
        ),
        "without_the_proof/payload": (
            receipt(first, sig=encode_base64url(SIGNER.sign(ADDON, jcs_bytes(without(first, {"proof_b64": None}))))),
            "The signature is over the payload without its proof, as the transcript is.",
        ),
    }
    for name, (text, fault) in wrong.items():
        kind, variant = name.split("/")
        trusted_keys = trust_set(ADDON, BENCH)
        yield draft_refused_receipt(f"sig_invalid/{kind}", variant, text, fault, why, trusted_keys=trusted_keys)
    zero = receipt(first, sig=encode_base64url(original + b"\0"))
    fault = "A zero byte follows the signature."
    why = "One signature has one text."
    yield draft_refused_receipt("sig_invalid/zeros_after_the_end", "one", zero, fault, why, pins=("P-KY-09",))


def _systems() -> Iterator[Draft]:
    why = "A proof of another system is not judged by this one's rules, and nothing is said about it."
    deployed_proof = b"".join(seed("zk_receipts", f"deployed {number}") for number in range(7))[:200]
    unnamed_system = proven("unnamed", proof_system=None)
    missing_member = {
        "of_200_bytes": (
            {**unnamed_system, "proof_b64": base64_text(deployed_proof)},
            "The proof is 200 bytes of a system without a name.",
        ),
        "ours_unnamed": (unnamed_system, "The proof is of our system, and the payload does not say so."),
    }
    for variant, (payload, fault) in missing_member.items():
        yield draft_refused_receipt("unknown_proof_system/missing", variant, receipt(payload), fault, why)
    names = {
        "next_version": "bulletproofs-ed25519/2",
        "capitals": "Bulletproofs-Ed25519/1",
        "another_curve": "bulletproofs-ristretto/1",
    }
    for variant, name in names.items():
        payload = proven(f"system {variant}", proof_system=name)
        fault = f"The proof system is {name}."
        yield draft_refused_receipt("unknown_proof_system/another", variant, receipt(payload), fault, why)
