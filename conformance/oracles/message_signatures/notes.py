"""Fix notes: what a person can do about each fault that was found."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from conformance.oracles.message_signatures.algorithms import VerifyingKey
from conformance.oracles.message_signatures.digests import digest_value
from conformance.oracles.message_signatures.faults import Code, Fault
from conformance.oracles.message_signatures.judgement import Judgement
from conformance.oracles.message_signatures.message import Message
from conformance.oracles.message_signatures.mismatch_hypotheses import find_hypotheses

CITATION: Final = "RFC 9421, section 3.2; RFC 9530, section 2"
LINKS: Final = ("https://www.rfc-editor.org/rfc/rfc9421", "https://www.rfc-editor.org/rfc/rfc9530")

_ADVICE: Final[dict[Code, Callable[[Fault, Message], str]]] = {
    Code.MISSING_SIGNATURE_INPUT: lambda _, __: (
        "send both fields, Signature-Input and Signature; some proxies drop fields that they do not know"
    ),
    Code.MISSING_SIGNATURE: lambda _, __: (
        "send both fields, Signature-Input and Signature; some proxies drop fields that they do not know"
    ),
    Code.MALFORMED_SIGNATURE_INPUT: lambda _, __: (
        'write Signature-Input as label=("@method" "@authority" …);created=1700000000;keyid="…": components in double '
        "quotes apart by one space, created and expires as bare integers, all other parameters in double quotes"
    ),
    Code.MALFORMED_SIGNATURE: lambda _, __: "write Signature as label=:BASE64:, standard base64 between two colons",
    Code.LABEL_MISMATCH: lambda _, __: "use the same label in Signature-Input and Signature, and ask for one of these",
    Code.MULTIPLE_LABELS: lambda _, __: "say which signature you mean: --label, or the member label",
    Code.EMPTY_COMPONENTS: lambda _, __: 'cover at least "@method", "@authority" and "@path"',
    Code.DUPLICATE_COMPONENT: lambda fault, _: f"name {fault.component} once",
    Code.UNSUPPORTED_COMPONENT: lambda fault, _: f"leave {fault.component} out, or write it as RFC 9421, 2 has it",
    Code.MISSING_COMPONENT: lambda fault, _: (
        f"send what {fault.component} names, or do not cover it; a field that was there when it was signed was removed "
        "on the way"
    ),
    Code.REQUIRED_COMPONENT_MISSING: lambda fault, _: f"add {fault.component} to the covered components and sign again",
    Code.ALG_NOT_ALLOWED: lambda _, __: (
        "leave alg out, or give the registered name of the key's algorithm (ed25519, not EdDSA)"
    ),
    Code.TAG_MISMATCH: lambda _, __: "sign with the tag that the verifier asks for",
    Code.CREATED_IN_FUTURE: lambda _, __: (
        "compare both clocks (NTP); created is Unix seconds in UTC, not milliseconds and not local time"
    ),
    Code.EXPIRED: lambda _, __: "sign again and send at once, or choose a later expires; compare both clocks",
    Code.TOO_OLD: lambda _, __: "sign again and send at once, with created; or allow a greater age",
    Code.KEY_REJECTED: lambda _, __: "make a new key pair and give the 32 bytes of its public key as they are",
    Code.CONTENT_DIGEST_MISSING: lambda _, message: (
        f"add the field Content-Digest: {digest_value(message.body)} and cover it"
    ),
    Code.CONTENT_DIGEST_NOT_COVERED: lambda _, __: 'add "content-digest" to the covered components and sign again',
    Code.CONTENT_DIGEST_MALFORMED: lambda _, message: f"write it as Content-Digest: {digest_value(message.body)}",
    Code.CONTENT_DIGEST_UNSUPPORTED: lambda _, message: (
        f"use sha-256 or sha-512: Content-Digest: {digest_value(message.body)}"
    ),
    Code.CONTENT_DIGEST_MISMATCH: lambda _, message: (
        f"the content was changed after signing, or the digest is of other bytes (before compression, of a string "
        f"instead of bytes, of re-written JSON): for these {len(message.body)} bytes it is {digest_value(message.body)}"
    ),
}
_NO_CLUE: Final = (
    "compare the signature base line by line with the one that the signer had; if all are equal, another key signed "
    "(the private half of the wrong pair, or hex and did:key of different keys)"
)


def fix_notes(message: Message, key: VerifyingKey | None, judgement: Judgement) -> list[str]:
    """Return sentences of what to do, at least one unless the message holds."""
    notes = []
    for fault in judgement.faults:
        # A failed equation has no visible cause, so hypotheses are tried.
        if fault.code is Code.SIGNATURE_MISMATCH:
            notes += _mismatch(message, key, judgement)
        else:
            notes.append(f"{fault.text}: {_ADVICE[fault.code](fault, message)}")
    if judgement.base is not None and judgement.base.substituted_names:
        names = " and ".join(judgement.base.substituted_names)
        notes.append(
            f"{names} covered by name is no component of RFC 9421; it is accepted for older signers. Leave it out: "
            "parameters are signed anyway"
        )
    if key is None:
        notes.append("no key was given, so nothing was verified: give the key that you expect the signer to hold")
    return list(dict.fromkeys(notes))


def _mismatch(message: Message, key: VerifyingKey | None, judgement: Judgement) -> list[str]:
    if key is None or judgement.signature is None or judgement.algorithm is None:
        return [_NO_CLUE]
    notes = find_hypotheses(message, judgement.signature, key, judgement.algorithm)
    base = None if judgement.base is None else judgement.base.text
    for other_algorithm in key.algorithms:
        if base is not None and key.verify(other_algorithm, judgement.signature.signature, base.encode("ascii")):
            notes.append(f"the key was used with {other_algorithm}: say so by --algorithm, or by the parameter alg")
    sizes = {"ed25519": 64, "ecdsa-p256-sha256": 64, "ecdsa-p384-sha384": 96, "hmac-sha256": 32}
    expected_bytes, byte_count = sizes.get(judgement.algorithm), len(judgement.signature.signature)
    if expected_bytes is not None and expected_bytes != byte_count:
        notes.append(
            f"a signature of {judgement.algorithm} has {expected_bytes} bytes, this has {byte_count} (no DER, "
            "no hex inside)"
        )
    return [f"it would hold so: {one}" if "expected key" not in one else one for one in notes] or [_NO_CLUE]
