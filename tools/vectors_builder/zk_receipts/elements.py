"""Proofs with one invalid encoding: the length, the commitment, one of the 16 points or of the 5 scalars."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any, Final

from conformance.oracles.range_proof import curve
from conformance.oracles.range_proof.curve import L, P
from conformance.oracles.range_proof.making import Forgery
from tools.vectors_builder.drafting import Draft
from tools.vectors_builder.falcon_envelopes.making import base64_text
from tools.vectors_builder.zk_receipts.making import (
    draft_refused_receipt,
    element,
    place_elements,
    proof_bytes,
    proven,
    receipt,
)

Change = Callable[[bytes], bytes]

# A point of order eight.
SMALL: Final = bytes.fromhex("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05")
IDENTITY: Final = (1).to_bytes(32, "little")


def with_proof(proof: bytes) -> str:
    """Return the usual receipt with another proof, signed."""
    return receipt({**proven(), "proof_b64": base64_text(proof)})


def drafts() -> Iterator[Draft]:
    """Yield them."""
    yield from _lengths()
    yield from _commitments()
    yield from _points()
    yield from _scalars()


def _lengths() -> Iterator[Draft]:
    proof = proof_bytes(proven())
    why = "A proof is 672 bytes: what is shorter lacks something, and what follows is covered by nothing."
    lengths = {
        "length/one_byte_short": proof[:-1],
        "length/one_byte_long": proof + b"\0",
        "length/nothing": b"",
        "length_in_elements/without_b": proof[:-32],
        "length_in_elements/one_more": proof + proof[-32:],
        "length_in_elements/without_a_round": proof[: 32 * 17] + proof[-64:],
    }
    for name, data in lengths.items():
        kind, variant = name.split("/")
        fault = f"The proof is {len(data)} bytes."
        yield draft_refused_receipt(f"proof_invalid/{kind}", variant, with_proof(data), fault, why, code="length")


def not_canonical() -> Iterator[bytes]:
    """Yield encodings with a y beyond the prime, of points that are on the curve."""
    for y in range(19):
        try:
            curve.decode(y.to_bytes(32, "little"))
        except curve.NoPoint:
            continue
        yield (P + y).to_bytes(32, "little")


def off_the_curve() -> Iterator[bytes]:
    """Yield 32 bytes that no point has."""
    for y in count(2):
        try:
            curve.decode(y.to_bytes(32, "little"))
        except curve.NoPoint:
            yield y.to_bytes(32, "little")


def twist_point(data: bytes) -> bytes:
    """Return a point with a point of order eight added to it."""
    return curve.encode(curve.add(curve.decode(data), curve.decode(SMALL)))


# Points outside the group, and why no verifier may accept them.
WRONG: Final[dict[str, tuple[Change, str, str]]] = {
    "identity": (
        lambda _: IDENTITY,
        "is the identity",
        "The identity commits to nothing; the profile has it for no element of the group.",
    ),
    "small_order": (
        lambda _: SMALL,
        "is of order eight",
        "Such a point vanishes wherever a scalar is a multiple of eight.",
    ),
    "not_canonical": (
        lambda _: next(not_canonical()),
        "has a y that is not below the prime",
        "A second encoding of a point is a second proof, or a second commitment, for the same thing.",
    ),
    "off_the_curve": (
        lambda _: next(off_the_curve()),
        "is no point of the curve",
        "No x belongs to this y; arithmetic that goes on all the same is on another curve.",
    ),
    "out_of_the_subgroup": (
        twist_point,
        "has a point of order eight added to it",
        "Plain addition takes it, and whether the equations then hold is a matter of luck.",
    ),
    "sign_of_zero": (
        lambda _: (1 | 1 << 255).to_bytes(32, "little"),
        "is the identity with the sign of less",
        "x is zero and has no sign; libraries differ on whether that is an encoding.",
    ),
}
# Each of the sixteen points is in one row at least.
_ROWS: Final[dict[str, tuple[str, ...]]] = {
    "identity": ("A", "T1", "L_1"),
    "small_order": ("S", "R_3", "L_6"),
    "not_canonical": ("T2", "R_1", "L_4"),
    "off_the_curve": ("R_4", "R_2", "L_5"),
    "out_of_the_subgroup": ("L_2", "R_6", "L_3"),
    "sign_of_zero": ("R_5",),
}


def _commitments() -> Iterator[Draft]:
    for name, (change, fault, why) in WRONG.items():
        payload = proven()
        data = change(base64.b64decode(payload["commitment_b64"]))
        text = receipt({**payload, "commitment_b64": base64_text(data)})
        kind = f"proof_invalid/commitment_{name}"
        yield draft_refused_receipt(kind, "commitment", text, f"The commitment {fault}.", why, code="commitment")
    payload = proven("forged subgroup", forgery=Forgery.SUBGROUP)
    yield draft_refused_receipt(
        "proof_invalid/forged_without_subgroup_check",
        "commitment",
        receipt(payload),
        "The commitment lies outside the prime-order subgroup, and the proof was made so that both equations hold.",
        "Who leaves the subgroup check of the commitment out takes it.",
        code="commitment",
    )
    yield draft_refused_receipt(
        "proof_invalid/forged_without_subgroup_check",
        "commitment_moved",
        receipt(proven("forged moved", forgery=Forgery.SUBGROUP_OTHER_SIDE)),
        "The commitment lies outside the prime-order subgroup; both equations hold with it on their other side.",
        "Who leaves its subgroup check out and multiplies it by less z^2 takes it.",
        code="commitment",
    )


def _points() -> Iterator[Draft]:
    proof = proof_bytes(proven())
    for name, places in _ROWS.items():
        change, fault, why = WRONG[name]
        for place in places:
            text = with_proof(place_elements(proof, **{place: change(element(proof, place))}))
            kind = f"proof_invalid/point_{name}"
            yield draft_refused_receipt(kind, place.lower(), text, f"The point {place} {fault}.", why, code="point")
    yield draft_refused_receipt(
        "proof_invalid/forged_without_subgroup_check",
        "points",
        receipt(proven("forged points", forgery=Forgery.POINTS)),
        "The point S lies outside the prime-order subgroup, and the proof was made so that both equations hold.",
        "Who leaves the subgroup check of the proof's points out takes it.",
        code="point",
    )
    of_two = {
        "t1_and_t2": (Forgery.VALUES, "T1 and T2 each have"),
        "a_round": (Forgery.ROUNDS, "Both sides of one round have"),
    }
    for variant, (forgery, words) in of_two.items():
        yield draft_refused_receipt(
            "proof_invalid/forged_by_order_two",
            variant,
            receipt(proven(f"forged {forgery.name.lower()}", forgery=forgery)),
            f"{words} the point of order two added; the proof was made so that both equations hold.",
            "Libsodium before 2026 took such a point for an element (CVE-2025-69277).",
            code="point",
        )


def _scalars() -> Iterator[Draft]:
    proof = proof_bytes(proven())
    folded_reason = "Neither a nor b is in the transcript: who reduces it has a second proof for every proof."
    sent_reason = "It is reduced to the scalar that was sent, but has other bytes."
    changes: dict[str, tuple[Callable[[int], int], str]] = {
        "order_added": (lambda value: value + L, "has the group's order added to it"),
        "order_itself": (lambda _: L, "is the group's order, which is zero again"),
        "highest": (lambda _: 2**256 - 1, "is 2^256 - 1"),
    }
    rows = {"order_added": ("a", "b", "tau_x"), "order_itself": ("mu",), "highest": ("t",)}
    for name, places in rows.items():
        change, fault = changes[name]
        for place in places:
            value = change(int.from_bytes(element(proof, place), "little"))
            text = with_proof(place_elements(proof, **{place: value.to_bytes(32, "little")}))
            why = (
                folded_reason
                if place in {"a", "b"}
                else sent_reason
                if name == "order_added"
                else "A scalar is below the order."
            )
            kind = f"proof_invalid/scalar_{name}"
            yield draft_refused_receipt(kind, place, text, f"The scalar {place} {fault}.", why, code="scalar")


def change_payload(payload: dict[str, Any], **changes: Any) -> str:
    """Return a receipt whose payload was changed after its proof was made, and signed then."""
    return receipt({**payload, **changes})
