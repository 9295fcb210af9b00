"""The meaning of each member of a receipt's protected header, and of its value, in a sentence (2.2, 2.4)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from conformance.oracles.jose import ALGORITHMS
from conformance.receipts.offline.value_wording import value_text

Sentence = Callable[[Any, Mapping[str, Any]], str]
_KID = re.compile(r"[0-9a-f]{32}")


def _alg(value: Any, _: Mapping[str, Any]) -> str:
    if value in ALGORITHMS:
        return "Signed with Ed25519, the one algorithm that receipts may use."
    if value == "none":
        return "Claims to need no signature at all; every verifier must refuse that."
    return f"Claims the algorithm {value_text(value)}; receipts are signed with Ed25519 (EdDSA), so it is refused."


def _kid(value: Any, _: Mapping[str, Any]) -> str:
    if not isinstance(value, str):
        return "The key's name must be a text; this receipt is refused."
    if value.startswith("did:"):
        did, _hash, fragment = value.partition("#")
        return f"Signed with the key {fragment or 'of no name'} of {did}, it says. It is a hint for choosing, no proof."
    if _KID.fullmatch(value):
        form = "Its form is that of the first 32 hex digits of SHA-256 over the public key. "
    else:
        form = "Its form is the issuer's own. "
    return f"Names the key in the issuer's key set. {form}It is not a DID, so it does not show who holds the key."


def _typ(value: Any, _: Mapping[str, Any]) -> str:
    if value == "JWT":
        return "The usual media type of receipts. Verifiers ignore it."
    return f"Calls the whole {value_text(value)}. Verifiers do not look at it."


def _crit(value: Any, _: Mapping[str, Any]) -> str:
    return f"Demands that verifiers understand {value_text(value)}; receipts know no such extension and are refused."


def _b64(value: Any, _: Mapping[str, Any]) -> str:
    if value is True:
        return "The payload is base64url, as always."
    return "Says that the payload is not base64url; such a receipt is refused."


def _ignored_member(subject: str) -> Sentence:
    return lambda _value, _header: f"{subject} A receipt cannot vouch for its own key: verifiers ignore it."


def _cty(value: Any, _: Mapping[str, Any]) -> str:
    return f"Calls the payload {value_text(value)}. Verifiers do not look at it."


# Each known member with its sentence and the clause that defines it. Members that carry or fetch a key are explained as
# ignored: a receipt cannot vouch for its own key (P-RV-03).
HEADER: Mapping[str, tuple[Sentence, str]] = {
    "alg": (_alg, "specification 2.4 step 3"),
    "kid": (_kid, "P-KY-02, P-RV-01"),
    "typ": (_typ, "P-RV-03"),
    "crit": (_crit, "specification 2.4 step 2, RFC 7515 section 4.1.11"),
    "b64": (_b64, "specification 2.4 step 2, RFC 7797"),
    "cty": (_cty, "RFC 7515 section 4.1.10"),
    "jwk": (_ignored_member("A public key, chosen by the author of the receipt."), "P-RV-03"),
    "jku": (
        _ignored_member("An address of a key set, chosen by the author of the receipt; it is not fetched."),
        "P-RV-03",
    ),
    "x5c": (_ignored_member("A certificate chain, chosen by the author of the receipt."), "P-RV-03"),
    "x5u": (
        _ignored_member("An address of certificates, chosen by the author of the receipt; it is not fetched."),
        "P-RV-03",
    ),
}
