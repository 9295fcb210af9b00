"""Published Ed25519 keys: reading them from documents, and verifying with them, with a check for bad points."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit

import base58
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

KEY_BYTES = 32
SIGNATURE_BYTES = 64
_P = 2**255 - 19
_L = 2**252 + 27742317777372353535851937790883648493
_D = (-121665 * pow(121666, _P - 2, _P)) % _P
_PRIVATE_JWK = frozenset({"d", "p", "q", "dp", "dq", "qi", "k", "oth"})
_JWK_MARKS = frozenset({"kty", "crv", "x"})
_PRIVATE_PEM = "PRIVATE KEY-----"
_BASE64URL = re.compile(r"[A-Za-z0-9_-]+")


class KeyFault(Exception):
    """A document or key that cannot be used; the text says why."""


@dataclass(frozen=True, slots=True)
class Ed25519Key:
    """A published Ed25519 public key."""

    raw: bytes
    kid: str | None


def decode_base64url(text: str) -> bytes:
    """Return the bytes of base64url without padding, in its one canonical spelling.

    Raises:
        KeyFault: It is not canonical base64url.
    """
    if not _BASE64URL.fullmatch(text):
        raise KeyFault("not base64url without padding")
    try:
        raw = base64.b64decode(text.replace("-", "+").replace("_", "/") + "=" * (-len(text) % 4))
    except ValueError as fault:
        raise KeyFault("not base64url") from fault
    # Base64 has spare bits at its end. If they may be set, one key has several spellings, and
    # comparisons of texts fail.
    if encode_base64url(raw) != text:
        raise KeyFault("base64url with non-zero spare bits")
    return raw


def encode_base64url(data: bytes) -> str:
    """Return base64url without padding."""
    return base64.urlsafe_b64encode(data).decode("ascii").rstrip("=")


def ed25519_jwk(raw: bytes) -> dict[str, str]:
    """Return the JWK of a public key's bytes (RFC 8037)."""
    return {"kty": "OKP", "crv": "Ed25519", "x": encode_base64url(raw)}


def key_of_jwk(jwk: Any) -> Ed25519Key:
    """Return the key of one JWK.

    Raises:
        KeyFault: It is no OKP/Ed25519 public key.
    """
    if not isinstance(jwk, dict) or jwk.get("kty") != "OKP" or jwk.get("crv") != "Ed25519":
        raise KeyFault("not an OKP key on Ed25519")
    x = jwk.get("x")
    raw = decode_base64url(x) if isinstance(x, str) else b""
    if len(raw) != KEY_BYTES:
        raise KeyFault("member x does not hold 32 bytes")
    kid = jwk.get("kid")
    return Ed25519Key(raw, kid if isinstance(kid, str) else None)


def keys_of_jwks(document: Any) -> list[Ed25519Key]:
    """Return the Ed25519 signing keys of a JWKS document, in order; keys of other kinds and uses are left out."""
    entries = document.get("keys") if isinstance(document, dict) else None
    jwks = [one for one in entries if isinstance(one, dict)] if isinstance(entries, list) else []
    # A key set may contain keys of other kinds, which are no fault (RFC 7517, 5).
    return list(_usable([one for one in jwks if one.get("use") != "enc"]))


def keys_of_did(document: Any) -> list[Ed25519Key]:
    """Return the Ed25519 keys of a DID document that may assert something, in order.

    Those are the methods that `assertionMethod` names or holds; all methods when the document has no such member. A
    key without a `kid` gets the fragment of its method's id.
    """
    if not isinstance(document, dict):
        return []
    entries = document.get("verificationMethod")
    methods = [one for one in entries if isinstance(one, dict)] if isinstance(entries, list) else []
    assertion_methods = document.get("assertionMethod")
    # DID Core (5.3.2): only these methods may verify claims. A document without the member
    # states no restriction.
    if isinstance(assertion_methods, list):
        references = {_absolute(document, one) for one in assertion_methods if isinstance(one, str)}
        methods = [one for one in methods if _absolute(document, one.get("id")) in references]
        methods += [one for one in assertion_methods if isinstance(one, dict)]
    return list(_usable([_jwk_of_method(one) for one in methods]))


def _absolute(document: dict[str, Any], url: Any) -> str:
    """Return a DID URL in full; DID Core allows `#fragment` inside the document it belongs to."""
    text = url if isinstance(url, str) else ""
    return f"{document.get('id', '')}{text}" if text.startswith("#") else text


def _jwk_of_method(method: dict[str, Any]) -> Any:
    jwk = method.get("publicKeyJwk")
    multibase, plain = method.get("publicKeyMultibase"), method.get("publicKeyBase58")
    if isinstance(plain, str) and multibase is None:  # Ed25519VerificationKey2018
        multibase = f"z{plain}"
    if not isinstance(jwk, dict):
        jwk = _jwk_of_multibase(multibase) if isinstance(multibase, str) else None
    fragment = str(method.get("id", "")).rpartition("#")[2]
    return {"kid": fragment, **jwk} if jwk is not None and fragment else jwk


def _jwk_of_multibase(text: str) -> dict[str, Any] | None:
    try:
        raw = base58.b58decode(text[1:]) if text.startswith("z") else b""
    except ValueError:
        return None
    # The two bytes are the multicodec prefix of Ed25519. Older documents leave it out.
    raw = raw[2:] if raw.startswith(b"\xed\x01") else raw
    return ed25519_jwk(raw)


def _usable(jwks: Sequence[Any]) -> Iterator[Ed25519Key]:
    for jwk in jwks:
        try:
            yield key_of_jwk(jwk)
        except KeyFault:
            continue


def private_members(document: Any, place: str = "") -> list[str]:
    """Return the places in a document where private key members stand."""
    places: list[str] = []
    if isinstance(document, dict):
        for name, member in document.items():
            member_place = f"{place}.{name}".lstrip(".")
            if _is_private(name, member, document):
                places.append(member_place)
            places += private_members(member, member_place)
    elif isinstance(document, list):
        for number, member in enumerate(document):
            places += private_members(member, f"{place}[{number}]")
    return places


def _is_private(name: str, member: Any, holder: dict[str, Any]) -> bool:
    if isinstance(member, str) and _PRIVATE_PEM in member:
        return True
    # Members such as `d` are private only in an object that is a key: elsewhere the name may
    # mean anything.
    return name.startswith("privateKey") or (name in _PRIVATE_JWK and not _JWK_MARKS.isdisjoint(holder))


def did_web_of(url: str) -> str:
    """Return the did:web identifier that a host's address must have.

    Raises:
        KeyFault: The text is no address with a host.
    """
    parts = urlsplit(url)
    try:
        host, number = parts.hostname, parts.port
    except ValueError as fault:
        raise KeyFault(f"{url} is no address: {fault}") from fault
    if not host:
        raise KeyFault(f"{url} names no host")
    # did:web writes the colon before a port percent-encoded, because a colon separates path
    # segments.
    port = f"%3A{number}" if number is not None else ""
    path = ":".join(part for part in parts.path.split("/") if part)
    return f"did:web:{host.replace(':', '%3A')}{port}" + (f":{path}" if path else "")


@lru_cache(maxsize=1024)
def is_sound_point(raw: bytes) -> bool:
    """Return whether 32 bytes are a canonical point of the curve that is not of small order (RFC 8032)."""
    if len(raw) != KEY_BYTES:
        return False
    number = int.from_bytes(raw, "little")
    # RFC 8032, 5.1.3: the top bit is the sign of x, and y must be below the prime.
    y, sign = number & ((1 << 255) - 1), number >> 255
    if y >= _P:
        return False
    x = _recover_x(y, sign)
    # A point of small order becomes neutral when it is multiplied by eight. Under such a key,
    # one signature fits many messages.
    return x is not None and _times_eight(x, y) != (0, 1)


def _recover_x(y: int, sign: int) -> int | None:
    square = (y * y - 1) * pow(_D * y * y + 1, _P - 2, _P) % _P
    root = pow(square, (_P + 3) // 8, _P)
    if (root * root - square) % _P:
        root = root * pow(2, (_P - 1) // 4, _P) % _P
    if (root * root - square) % _P:
        return None
    # x = 0 has no sign, so the encoding with a sign is a second spelling of the same point.
    if root == 0 and sign:
        return None
    return _P - root if root % 2 != sign else root


def _times_eight(x: int, y: int) -> tuple[int, int]:
    for _ in range(3):
        product = _D * x * x * y * y % _P
        x, y = (
            2 * x * y * pow(1 + product, _P - 2, _P) % _P,
            (y * y + x * x) * pow(1 - product, _P - 2, _P) % _P,
        )
    return x, y


def verify(key: Ed25519Key, message: bytes, signature: bytes) -> bool:
    """Return whether a signature holds under a sound key, with S below the group order."""
    # RFC 8032, 5.1.7 demands S below the order. The check does not rely on the library.
    if len(signature) != SIGNATURE_BYTES or int.from_bytes(signature[32:], "little") >= _L:
        return False
    if not is_sound_point(key.raw):
        return False
    try:
        Ed25519PublicKey.from_public_bytes(key.raw).verify(signature, message)
    except InvalidSignature:
        return False
    return True
