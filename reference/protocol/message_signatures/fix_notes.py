"""What to do about each fault, and the clause of the standard it rests on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

_RFC_9421 = "https://www.rfc-editor.org/rfc/rfc9421#section-"
_RFC_9530 = "https://www.rfc-editor.org/rfc/rfc9530#section-"
_RFC_8032 = "https://www.rfc-editor.org/rfc/rfc8032#section-"


class FixNote(NamedTuple):
    """One piece of advice.

    Attributes:
        advice: What the signer or the caller can do.
        clause: Address of the clause.
    """

    advice: str
    clause: str


FIX_NOTES: Mapping[str, FixNote] = {
    "missing_signature_input": FixNote(
        "Send the Signature-Input field: a label and what its signature covers.", _RFC_9421 + "4.1"
    ),
    "missing_signature": FixNote("Send the Signature field: the signature under the same label.", _RFC_9421 + "4.2"),
    "malformed_signature_input": FixNote(
        'Write Signature-Input as a structured dictionary, like sig=("@method" "@path");created=1618884473: components'
        " are strings in an inner list, created and expires integers, alg, keyid, nonce and tag strings.",
        _RFC_9421 + "4.1",
    ),
    "malformed_signature": FixNote(
        "Write Signature as a structured dictionary of byte sequences, like sig=:BASE64=:.", _RFC_9421 + "4.2"
    ),
    "label_mismatch": FixNote(
        "Use the same labels in Signature-Input and Signature, and ask for one of them.", _RFC_9421 + "4.2"
    ),
    "multiple_labels": FixNote("Say in member label which of the signatures is meant.", _RFC_9421 + "4.3"),
    "empty_components": FixNote(
        "Cover what the request means, at least @method, @authority and @path.", _RFC_9421 + "7.2.1"
    ),
    "duplicate_component": FixNote("Cover each component once, whatever the order of its parameters.", _RFC_9421 + "2"),
    "unsupported_component": FixNote(
        "Cover components of a request by their lower-case names, with the parameters sf, key or bs where they apply;"
        " cover a value that is not one line of ASCII with bs.",
        _RFC_9421 + "2",
    ),
    "missing_component": FixNote(
        "Send what the signature covers, or leave it out of the covered components; something on the way may have"
        " removed it.",
        _RFC_9421 + "2.5",
    ),
    "required_component_missing": FixNote("Let the signature cover every required component.", _RFC_9421 + "7.2.1"),
    "alg_not_allowed": FixNote(
        "Sign with ed25519 and either say so in alg or leave alg out; the caller's allowed_algorithms must name it.",
        _RFC_9421 + "3.3.6",
    ),
    "tag_mismatch": FixNote("Sign with the tag that the application expects.", _RFC_9421 + "2.3"),
    "created_in_future": FixNote(
        "Set the signer's clock: created lies further ahead than clocks may differ.", _RFC_9421 + "2.3"
    ),
    "expired": FixNote("Sign again; expires has passed.", _RFC_9421 + "2.3"),
    "too_old": FixNote("Sign again, with created; the caller limits the age by max_age_seconds.", _RFC_9421 + "2.3"),
    "key_rejected": FixNote(
        "Use a key that was made as RFC 8032 says: these 32 bytes are no point of the curve, not its canonical form, or"
        " a point that would accept signatures of anybody.",
        _RFC_8032 + "5.1.3",
    ),
    "content_digest_missing": FixNote(
        "Send Content-Digest of the body and cover it, or set require_content_digest to false to leave the body out.",
        _RFC_9421 + "7.2.8",
    ),
    "content_digest_not_covered": FixNote(
        'Add "content-digest" to the covered components; otherwise body and digest can be replaced together.',
        _RFC_9421 + "7.2.8",
    ),
    "content_digest_malformed": FixNote(
        "Write Content-Digest as a structured dictionary of byte sequences in canonical base64, each algorithm once,"
        " like sha-256=:BASE64=:.",
        _RFC_9530 + "2",
    ),
    "content_digest_unsupported": FixNote("Send a sha-256 or sha-512 digest.", _RFC_9530 + "5"),
    "content_digest_mismatch": FixNote(
        "Compute Content-Digest over the content as it is sent, after content coding, and keep the body unchanged.",
        _RFC_9530 + "2",
    ),
    "signature_mismatch": FixNote(
        "Compare the signing base below with the one that was signed, byte by byte, and check that the expected key is"
        " the signer's.",
        _RFC_9421 + "3.2",
    ),
}
