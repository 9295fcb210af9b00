"""Compact JWS, read and verified by the suite's own means (joserfc for the format, the key oracle for the equation)."""

from __future__ import annotations

import base64
import json
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from conformance.oracles.ed25519_keys import Ed25519Key, KeyFault, decode_base64url, encode_base64url
from conformance.oracles.ed25519_keys import verify as verify_signature
from conformance.oracles.json_acceptance import by_value, refuse_constant, unique_members

ALGORITHMS = ("EdDSA", "Ed25519")
# A hostile answer may be nested without end.
_SEARCH_DEPTH = 32
_TOKEN = re.compile(r"[A-Za-z0-9_-]{4,}\.[A-Za-z0-9_-]{2,}\.[A-Za-z0-9_-]{10,}")


class JwsFault(Exception):
    """A token that does not verify, or is malformed; the text says why."""


@dataclass(frozen=True, slots=True)
class CompactJws:
    """A compact JWS by its parts."""

    header: Mapping[str, Any]
    payload: bytes
    signature: bytes
    text: str

    @property
    def signing_input(self) -> bytes:
        """What the signature covers."""
        return self.text.rpartition(".")[0].encode("ascii")

    def claims(self) -> dict[str, Any]:
        """Return the payload as a JSON object.

        Raises:
            JwsFault: It is not a JSON object.
        """
        return _object(self.payload, "payload")


def _object(data: bytes, part_name: str) -> dict[str, Any]:
    try:
        value = json.loads(
            data.decode("utf-8"),
            object_pairs_hook=unique_members,
            parse_constant=refuse_constant,
            parse_float=by_value,
        )
    except (ValueError, RecursionError) as fault:
        raise JwsFault(f"the {part_name} is not JSON") from fault
    if not isinstance(value, dict):
        raise JwsFault(f"the {part_name} is no object")
    return value


def parse(text: str) -> CompactJws:
    """Parse a compact JWS: three segments of canonical base64url, a JSON object as header.

    Raises:
        JwsFault: It is not a compact JWS.
    """
    parts = text.split(".")
    if len(parts) != 3 or not all(parts):
        raise JwsFault("not three segments")
    try:
        header, payload, signature = (decode_base64url(part) for part in parts)
    except KeyFault as fault:
        raise JwsFault(f"a segment is {fault}") from fault
    return CompactJws(_object(header, "header"), payload, signature, text)


def verify(text: str, keys: Sequence[Ed25519Key]) -> dict[str, Any]:
    """Return the claims of a token that verifies under the key its `kid` names, or the first one when none matches.

    Two unrelated verifiers must agree: the equation by our own key check, the token by joserfc.

    Raises:
        JwsFault: It does not verify.
    """
    token = parse(text)
    if token.header.get("alg") not in ALGORITHMS:
        raise JwsFault(f"the algorithm is {token.header.get('alg')!r}, not EdDSA")
    # RFC 7515, 4.1.11: a verifier must reject critical members that it does not understand.
    # The suite understands none.
    if "crit" in token.header or token.header.get("b64", True) is not True:
        raise JwsFault("the header has critical members, or a payload that is not base64url")
    if not keys:
        raise JwsFault("there is no key to verify with")
    key = _choose_key(keys, token.header.get("kid"))
    # Two unrelated implementations verify each token, so that a fault of one does not become a
    # verdict.
    if not verify_signature(key, token.signing_input, token.signature):
        raise JwsFault("the signature does not verify")
    _agree(text, key, str(token.header["alg"]))
    return token.claims()


def fault_of(text: str, keys: Sequence[Ed25519Key]) -> str | None:
    """Return why a token does not verify, or None when it does; see `verify`."""
    try:
        verify(text, keys)
    except JwsFault as fault:
        return str(fault)
    return None


def _choose_key(keys: Sequence[Ed25519Key], kid: Any) -> Ed25519Key:
    """Return the first key the header's `kid` names, by itself or as the fragment of a DID URL; else the first key."""
    # A `kid` may be the bare name of a key or a DID URL whose fragment is that name.
    names = {kid, kid.rpartition("#")[2]} if isinstance(kid, str) else set()
    return next((one for one in keys if one.kid is not None and one.kid in names), keys[0])


def _agree(text: str, key: Ed25519Key, algorithm: str) -> None:
    # joserfc takes a quarter of a second to import, which who only reads tokens need not wait for.
    from joserfc import jws  # noqa: PLC0415 - see above
    from joserfc.errors import JoseError, SecurityWarning  # noqa: PLC0415 - same
    from joserfc.jwk import OKPKey  # noqa: PLC0415 - same

    x = encode_base64url(key.raw)
    registry = jws.JWSRegistry(algorithms=[algorithm], strict_check_header=False)
    # joserfc refuses a header over 512 bytes; the standard sets no limit, so the library's is no breach.
    registry.max_header_length = registry.max_payload_length = len(text)
    try:
        with warnings.catch_warnings():
            # The name EdDSA is deprecated by RFC 9864 and still the one that receipts bear.
            warnings.simplefilter("ignore", SecurityWarning)
            jws.deserialize_compact(
                text, OKPKey.import_key({"kty": "OKP", "crv": "Ed25519", "x": x}), registry=registry
            )
    except (JoseError, ValueError) as fault:
        raise JwsFault(f"joserfc does not verify it: {fault}") from fault


def tokens_in(body: Any, headers: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return every compact JWS in a body and headers, as (place, token).

    A place reads `body:receipt.jws`, `body:receipts[0]`, `header:X-Receipt`, or `header:PAYMENT-RESPONSE:receipt` for
    a member of a header that holds base64 of a JSON object.
    """
    tokens = list(_tokens(body, "body:", _SEARCH_DEPTH))
    for name, value in headers.items():
        if _is_token(value):
            tokens.append((f"header:{name}", value))
        else:
            tokens += _tokens(_encoded_object(value), f"header:{name}:", _SEARCH_DEPTH)
    return tokens


def _tokens(value: Any, place: str, depth: int) -> Iterator[tuple[str, str]]:
    if isinstance(value, str) and _is_token(value):
        yield place, value
    elif depth and isinstance(value, dict):
        for name, member in value.items():
            yield from _tokens(member, place + ("" if place.endswith(":") else ".") + name, depth - 1)
    elif depth and isinstance(value, list):
        for number, member in enumerate(value):
            yield from _tokens(member, f"{place}[{number}]", depth - 1)


def _encoded_object(text: str) -> dict[str, Any] | None:
    """Return the JSON object whose standard base64 a header's value is, or None."""
    try:
        # A compact JSON object begins with "ey" in base64, so other values need no decoding.
        return _object(base64.b64decode(text, validate=True), "header") if text.startswith("ey") else None
    except (JwsFault, ValueError):
        return None


def _is_token(text: str) -> bool:
    if _TOKEN.fullmatch(text) is None:
        return False
    try:
        return "alg" in parse(text).header
    except JwsFault:
        return False
