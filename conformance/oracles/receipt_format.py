"""The form of a receipt that a service emits: its header, its signing key, and both parts in JCS (2.2)."""

from __future__ import annotations

from collections.abc import Sequence

from conformance.oracles import jose
from conformance.oracles.ed25519_keys import Ed25519Key, encode_base64url
from conformance.oracles.hash_recipes import jcs_bytes


def find_form_faults(token: str, keys: Sequence[Ed25519Key]) -> list[str]:
    """Return what of a JWS is not as 2.2 and P-KY-04 say: signed with the active key, header and payload in JCS.

    Args:
        token: A compact JWS.
        keys: The published keys, the active one first.

    Raises:
        JwsFault: The token is not a compact JWS.
    """
    if not keys:
        return ["there is no published key"]
    jws = jose.parse(token)
    header = {"alg": "EdDSA", "kid": keys[0].kid, "typ": "JWT"}
    faults = [] if dict(jws.header) == header else [f"the header {dict(jws.header)}, not {header}"]
    segments = (encode_base64url(jcs_bytes(one)) for one in (dict(jws.header), jws.claims()))
    return faults + ([] if token.startswith(".".join(segments) + ".") else ["header or payload is not in JCS"])
