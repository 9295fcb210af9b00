"""Proofs of which every part is well-formed, and that show nothing: changed, bound to something else, or forged."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from conformance.oracles.hash_recipes import jcs_bytes
from conformance.oracles.range_proof import curve
from conformance.oracles.range_proof.curve import L
from conformance.oracles.range_proof.making import Forgery
from conformance.oracles.range_proof.system import NAME, Transcript, generator
from tools.vectors_builder.drafting import Draft
from tools.vectors_builder.falcon_envelopes.making import base64_text
from tools.vectors_builder.zk_receipts.elements import change_payload, with_proof
from tools.vectors_builder.zk_receipts.making import (
    LOW,
    draft_refused_receipt,
    element,
    place_elements,
    proof_bytes,
    proven,
    receipt,
)

POLYNOMIAL, INNER_PRODUCT = "polynomial", "inner_product"


def drafts() -> Iterator[Draft]:
    """Yield them."""
    yield from _replaced_drafts()
    yield from _swapped_drafts()
    yield from _binding_drafts()
    yield from _commitment_drafts()
    yield from _transcripts()
    yield from _forgery_drafts()


def _plus_base(data: bytes) -> bytes:
    return curve.encode(curve.add(curve.decode(data), curve.BASE))


def _plus_one(data: bytes) -> bytes:
    return ((int.from_bytes(data, "little") + 1) % L).to_bytes(32, "little")


def _replaced_drafts() -> Iterator[Draft]:
    """Another element in the place of each."""
    proof = proof_bytes(proven())
    why = "Every element is in an equation, and every one but a and b is in the transcript."
    points: dict[str, tuple[tuple[str, ...], str]] = {
        "first_point": (("A", "S"), POLYNOMIAL),
        "polynomial_point": (("T1", "T2"), POLYNOMIAL),
    }
    points["side"] = (("L_1", "R_6", "L_3"), INNER_PRODUCT)
    for kind, (places, code) in points.items():
        for place in places:
            text = with_proof(place_elements(proof, **{place: _plus_base(element(proof, place))}))
            fault = f"{place} has the base point added to it."
            yield draft_refused_receipt(f"proof_invalid/other_{kind}", place.lower(), text, fault, why, code=code)
    scalars: dict[str, tuple[tuple[str, ...], str]] = {
        "polynomial_scalar": (("tau_x", "t"), POLYNOMIAL),
        "blinding": (("mu",), INNER_PRODUCT),
    }
    scalars["end"] = (("a", "b"), INNER_PRODUCT)
    for kind, (places, code) in scalars.items():
        for place in places:
            text = with_proof(place_elements(proof, **{place: _plus_one(element(proof, place))}))
            fault = f"{place} is one more than it was."
            yield draft_refused_receipt(f"proof_invalid/other_{kind}", place, text, fault, why, code=code)
    yield draft_refused_receipt(
        "proof_invalid/zero_scalar",
        "a",
        with_proof(place_elements(proof, a=bytes(32))),
        "a is zero.",
        "Zero is a canonical scalar, which some libraries refuse to multiply by: the verdict is the equation's.",
        code=INNER_PRODUCT,
    )
    yield draft_refused_receipt(
        "proof_invalid/zero_scalar",
        "t_and_tau_x",
        with_proof(place_elements(proof, t=bytes(32), tau_x=bytes(32))),
        "t and tau_x are zero.",
        "One side of the polynomial's equation is then the identity.",
        code=POLYNOMIAL,
    )


def _swapped_drafts() -> Iterator[Draft]:
    proof = proof_bytes(proven())
    why = "All elements are there and well-formed: only their places tell that the proof is none."
    pairs = {
        "sides_of_a_round": (("L_1", "R_1"), ("L_6", "R_6")),
        "rounds": (("L_2", "L_3"), ("R_4", "R_5")),
        "ends": (("a", "b"),),
        "first_points": (("A", "S"),),
        "polynomial_points": (("T1", "T2"),),
    }
    for kind, element_pairs in pairs.items():
        code = POLYNOMIAL if kind.endswith("points") else INNER_PRODUCT
        for first_element, second_element in element_pairs:
            text = with_proof(
                place_elements(
                    proof,
                    **{first_element: element(proof, second_element), second_element: element(proof, first_element)},
                )
            )
            variant, fault = (
                f"{first_element}-{second_element}".lower(),
                f"{first_element} and {second_element} have changed places.",
            )
            yield draft_refused_receipt(f"proof_invalid/swapped_{kind}", variant, text, fault, why, code=code)


def _binding_drafts() -> Iterator[Draft]:
    """The proof is whole and the signature holds, over a payload that the proof was not made for."""
    usual = proven()
    why = "A proof is bound to its whole payload, so that none can be used for a second receipt."
    changes: dict[str, dict[str, Any]] = {
        "payment/payment_id": {"payment_id": "payment-20260701-0043"},
        "payment/tx_id": {"tx_id": "A" * 52},
        "payment/amount": {"amount_microusd": 50_001},
        "recipient/recipient": {"recipient": "A" * 58},
        "recipient/chain": {"chain": "algorand_testnet"},
        "issuer/bench_issuer": {"bench_issuer": "did:web:other.example"},
        "time/expires_at": {"expires_at": "2026-08-31T11:31:00Z"},
        "time/issued_at": {"issued_at": "2026-07-01T11:32:00Z"},
        "time/settled_at": {"settled_at": "2026-07-01T11:29:00Z"},
        "threshold/lower": {"threshold_milliunits": 699},
        "threshold/higher": {"threshold_milliunits": 701},
        "threshold/above_the_score": {"threshold_milliunits": 1000},
    }
    for name, change in changes.items():
        kind, variant = name.split("/")
        fault = f"The proof was made for a payload with another {next(iter(change))}."
        text = change_payload(usual, **change)
        yield draft_refused_receipt(
            f"proof_invalid/bound_to_another_{kind}", variant, text, fault, why, code=POLYNOMIAL
        )
    fault = "A member that the profile does not name was added after the proof was made."
    text = change_payload(usual, note="added later")
    yield draft_refused_receipt("proof_invalid/bound_to_another_member", "added", text, fault, why, code=POLYNOMIAL)
    further = dict(proven("further members", counters={"runs": [480, 3]}, note="über 700"))
    further.pop("note")
    fault = "A member that the profile does not name was taken out after the proof was made."
    yield draft_refused_receipt(
        "proof_invalid/bound_to_another_member", "gone", receipt(further), fault, why, code=POLYNOMIAL
    )


def _commitment_drafts() -> Iterator[Draft]:
    usual = proven()
    point = curve.decode(base64.b64decode(usual["commitment_b64"]))
    why = "The proof is of one commitment; another one, whatever it holds, was not shown to hold enough."
    other_proofs = {
        "one_more": (
            curve.add(point, curve.BASE),
            "The commitment has the base point added to it: a score of one more.",
        ),
        "negated": (curve.negate(point), "The commitment is negated."),
        "blinded_again": (
            curve.add(point, generator("H")),
            "The commitment is blinded once more, with the same score.",
        ),
    }
    for variant, (other_text, fault) in other_proofs.items():
        text = change_payload(usual, commitment_b64=base64_text(curve.encode(other_text)))
        yield draft_refused_receipt("proof_invalid/another_commitment", variant, text, fault, why, code=POLYNOMIAL)
    theirs = proven("by one", 701)["commitment_b64"]
    text = change_payload(usual, commitment_b64=theirs)
    fault = "The commitment is that of another receipt."
    yield draft_refused_receipt("proof_invalid/commitment_of_another", "receipt", text, fault, why, code=POLYNOMIAL)
    less = curve.encode(curve.add(point, curve.negate(curve.BASE)))
    yield draft_refused_receipt(
        "proof_invalid/commitment_of_another",
        "moved_with_the_threshold",
        change_payload(usual, commitment_b64=base64_text(less), threshold_milliunits=699),
        "Commitment and threshold are both one less, so that their difference is what it was.",
        "The equations hold: only the transcript, which has both, tells that the proof was made for others.",
        code=POLYNOMIAL,
    )
    theirs = proven("by one", 701)["proof_b64"]
    fault = "The proof is that of another receipt over the same payment."
    text = change_payload(usual, proof_b64=theirs)
    yield draft_refused_receipt("proof_invalid/proof_of_another", "receipt", text, fault, why, code=POLYNOMIAL)


class _Said(Transcript):
    """A transcript with another beginning."""

    def __init__(self, *items: tuple[str, bytes]) -> None:
        self._items = b""
        for label, value in items:
            self.item(label, value)


class _BigEndian(Transcript):
    """A transcript whose lengths are in network order."""

    def item(self, label: str, value: bytes) -> None:
        """Add an item."""
        for part in (label.encode(), value):
            self._items += len(part).to_bytes(4, "big") + part


def _proven(payload: Mapping[str, Any]) -> bytes:
    return jcs_bytes({name: value for name, value in payload.items() if name != "proof_b64"})


_SYSTEM: Final = ("system", NAME.encode())
_TRANSCRIPT_STARTS: Final[dict[str, tuple[Callable[[Mapping[str, Any]], Transcript], str]]] = {
    "start/another_system": (
        lambda payload: _Said(("system", b"bulletproofs-ed25519/2"), ("payload", _proven(payload))),
        "The transcript begins with the name of another system.",
    ),
    "start/without_the_payload": (
        lambda _: _Said(_SYSTEM),
        "The transcript does not have the payload, so that the proof would do for any with that commitment.",
    ),
    "start/commitment_only": (
        lambda payload: _Said(_SYSTEM, ("payload", base64.b64decode(str(payload["commitment_b64"])))),
        "The transcript has the commitment in the payload's place.",
    ),
    "label/another": (
        lambda payload: _Said(_SYSTEM, ("receipt", _proven(payload))),
        "The payload stands in the transcript under another label.",
    ),
    "label/lengths_in_network_order": (_BigEndian, "The lengths in the transcript have their highest byte first."),
}


def _transcripts() -> Iterator[Draft]:
    """Proofs whose maker had a different transcript."""
    why = "A prover who leaves something out of the transcript may choose it afterwards."
    for name, (start_transcript, fault) in _TRANSCRIPT_STARTS.items():
        kind, variant = name.split("/")
        payload = proven(f"transcript {variant}", start_transcript=start_transcript)
        yield draft_refused_receipt(
            f"proof_invalid/transcript_{kind}", variant, receipt(payload), fault, why, code=POLYNOMIAL
        )


def _forgery_drafts() -> Iterator[Draft]:
    forgeries = {
        Forgery.W: ("w", "without w, which binds t to the inner product", INNER_PRODUCT),
        Forgery.POLYNOMIAL: ("polynomial_equation", "for a verifier that does not check the polynomial", POLYNOMIAL),
        Forgery.INNER_PRODUCT: ("inner_product", "for a verifier that does not check the inner product", INNER_PRODUCT),
    }
    scores = {"far_below": (LOW, 700), "just_below": (699, 700), "lowest_for_highest": (0, 1000)}
    for forgery, (name, words, code) in forgeries.items():
        for variant, (score, threshold) in scores.items():
            payload = proven(f"forged {forgery.name.lower()} {variant}", score, threshold, forgery=forgery)
            yield draft_refused_receipt(
                f"proof_invalid/forged_without_{name}",
                variant,
                receipt(payload),
                f"The score is {score} and the threshold {threshold}; the proof was forged {words}.",
                "Everything else about it is right, so that a verifier with that one hole takes it.",
                code=code,
            )
