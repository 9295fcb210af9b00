"""Ed25519 keys and their published forms (JWK, JWKS, did:key, did:web), and the `kid` of a Falcon key (2.1)."""

from __future__ import annotations

import hashlib
import ipaddress
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit

import base58
import nacl.bindings
import pybase64
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from pydantic import ConfigDict, TypeAdapter
from solders.pubkey import Pubkey
from solders.signature import Signature

KEY_BYTES = 32
SIGNATURE_BYTES = 64
FALCON_KEY_BYTES = 1793
FALCON_KEY_HEADER = 0x0A
GROUP_ORDER = 2**252 + 27742317777372353535851937790883648493
# Constants of edwards25519 (RFC 8032 5.1).
_FIELD_PRIME = 2**255 - 19
_EDWARDS_D = -121665 * pow(121666, -1, _FIELD_PRIME) % _FIELD_PRIME
# y of the points whose order divides 8: the identity, order 2, the two of order 4, the four of order 8.
_ORDER_8_Y = 0x7A03AC9277FDC74EC6CC392CFA53202A0F67100D760B3CBA4FD84D3D706A17C7
_SMALL_ORDER_Y = frozenset({1, _FIELD_PRIME - 1, 0, _ORDER_8_Y, _FIELD_PRIME - _ORDER_8_Y})
# By the number of characters after whole groups of four: the last characters that set no spare bit, and the padding of
# base64. A token with other spare bits would be a second text of the same bytes, so it is refused (2.4).
_LAST_OF = {1: "", 2: "AQgw", 3: "AEIMQUYcgkosw048"}
_PADDING = ("", "", "==", "=")
# pydantic's reader of base64 in a JSON string takes a third of binascii's time over the payload of a receipt.
_read_base64 = TypeAdapter(bytes, config=ConfigDict(val_json_bytes="base64")).validator.validate_json
_MULTICODEC_ED25519 = b"\xed\x01"


class KeyRejected(ValueError):
    """The bytes are not an acceptable Ed25519 public key: wrong length, non-canonical, off the curve or small order."""


def base64url(data: bytes) -> str:
    """Return base64url without padding (P-CV-06)."""
    return pybase64.urlsafe_b64encode(data).rstrip(b"=").decode()


def from_base64url(text: str) -> bytes:
    """Return the bytes of canonical base64url without padding (P-CV-06).

    Raises:
        ValueError: Padding, another alphabet, an impossible length, or spare bits that are not zero.
    """
    if "+" in text or "/" in text or "=" in text:
        raise ValueError("not canonical base64url without padding")
    return _canonical(text)


def from_base64(text: str) -> bytes:
    """Return the bytes of canonical standard base64 with padding.

    Raises:
        ValueError: Padding that is missing or too much, another alphabet, or spare bits that are not zero.
    """
    bare = text.rstrip("=")
    if "-" in bare or "_" in bare or text != bare + _PADDING[len(bare) % 4]:
        raise ValueError("not canonical base64 with padding")
    return _canonical(bare)


def _canonical(bare: str) -> bytes:
    """Return the bytes of base64 in one alphabet, its padding taken off.

    Raises:
        ValueError: Neither alphabet, an impossible length, or spare bits that are not zero.
    """
    over = len(bare) % 4
    # The reader knows JSON's escapes, too, so a backslash is refused first. A quotation mark ends the JSON string and
    # makes the reader fail.
    if "\\" not in bare and (not over or bare[-1] in _LAST_OF[over]):
        try:
            return _read_base64(f'"{bare}{_PADDING[over]}"')  # type: ignore[no-any-return]
        except ValueError:
            pass  # what it says repeats the text
    raise ValueError("not canonical base64")


@lru_cache(maxsize=4096)
def _check_key(raw: bytes) -> None:
    # Step 4 of 2.4 refuses these keys. With a key of small order a signature holds over every message, so anyone
    # could have signed the receipt.
    if len(raw) != KEY_BYTES:
        raise KeyRejected("an Ed25519 public key has 32 bytes")
    if int.from_bytes(raw, "little") & (2**255 - 1) >= _FIELD_PRIME:
        raise KeyRejected("the key's encoding is not canonical")
    if not nacl.bindings.crypto_core_ed25519_is_valid_point(raw):
        _accept_mixed_order(raw)


def _accept_mixed_order(raw: bytes) -> None:
    """Accept a key of mixed order; refuse a key that is off the curve or of small order.

    Raises:
        KeyRejected: It is off the curve or of small order.
    """
    # libsodium refuses every point outside the prime-order subgroup. RFC 8032 does not: a point of mixed order is
    # an unusual but sound key. So the two reasons for a refusal are tested here.
    y = int.from_bytes(raw, "little") & (2**255 - 1)
    square = (y * y - 1) * pow(_EDWARDS_D * y * y + 1, -1, _FIELD_PRIME) % _FIELD_PRIME
    if square and pow(square, (_FIELD_PRIME - 1) // 2, _FIELD_PRIME) != 1:
        raise KeyRejected("the key is not a point of the curve")
    if y in _SMALL_ORDER_Y:
        raise KeyRejected("the key is of small order")


@lru_cache(maxsize=4096)
def _kid(raw: bytes) -> str:
    return hashlib.sha256(raw).hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class PublicKey:
    """An Ed25519 public key of 32 raw bytes, checked once: canonical, on the curve, not of small order.

    Raises:
        KeyRejected: The bytes are not such a key.
    """

    raw: bytes
    # The key in the form of the checking library, parsed once. Parsing it costs a part of each check (decision
    # 0033).
    _point: Pubkey = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        _check_key(self.raw)
        object.__setattr__(self, "_point", Pubkey(self.raw))

    @property
    def kid(self) -> str:
        """First 32 hex digits of SHA-256 over the raw key (P-KY-02)."""
        return _kid(self.raw)

    @property
    def x(self) -> str:
        """Member `x` of its JWK."""
        return base64url(self.raw)

    @property
    def did_key(self) -> str:
        """Its did:key text (P-KY-10)."""
        return "did:key:z" + base58.b58encode(_MULTICODEC_ED25519 + self.raw).decode()

    def jwk(self) -> dict[str, str]:
        """Return its JWK: no `alg`, never `d` (P-KY-03)."""
        return {"kty": "OKP", "crv": "Ed25519", "x": self.x, "kid": self.kid, "use": "sig"}

    def verify(self, message: bytes, signature: bytes) -> bool:
        """Return whether `signature` is this key's over `message`: the equation of RFC 8032 without the cofactor."""
        # The check is dalek's `verify_strict`: S is below the group order, and R is not of small order. It accepts
        # what libsodium accepts and costs a fifth to a quarter less. It keeps the interpreter's lock (decision
        # 0030).
        return len(signature) == SIGNATURE_BYTES and Signature(signature).verify(self._point, message)


@dataclass(frozen=True, slots=True, repr=False)
class SigningKey:
    """An Ed25519 private key by its 32-byte seed. Its representation does not contain the seed."""

    _seed: bytes

    @classmethod
    def from_seed(cls, seed: bytes) -> SigningKey:
        """Return the key of a 32-byte seed.

        Raises:
            ValueError: The seed has another length.
        """
        if len(seed) != KEY_BYTES:
            raise ValueError("an Ed25519 seed has 32 bytes")
        return cls(seed)

    @classmethod
    def from_pem(cls, pem: bytes) -> SigningKey:
        """Read an unencrypted PKCS#8 PEM.

        Raises:
            ValueError: It holds no Ed25519 private key.
        """
        try:
            key = serialization.load_pem_private_key(pem, password=None)
        except (TypeError, ValueError) as fault:
            raise ValueError("not an unencrypted PKCS#8 PEM") from fault
        if not isinstance(key, Ed25519PrivateKey):
            raise ValueError("the PEM holds no Ed25519 key")  # noqa: TRY004 - a fault of the content
        return cls(key.private_bytes_raw())

    def to_pem(self) -> bytes:
        """Return PKCS#8 PEM."""
        return Ed25519PrivateKey.from_private_bytes(self._seed).private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )

    @property
    def public(self) -> PublicKey:
        """The public half."""
        return _public(self._seed)

    def sign(self, message: bytes) -> bytes:
        """Return the 64-byte signature over `message`."""
        # The bindings themselves: PyNaCl's functions around them copy the message two more times.
        signed_message: bytes = nacl.bindings.crypto_sign(message, _keypair(self._seed)[1])
        return signed_message[:SIGNATURE_BYTES]


@lru_cache(maxsize=64)
def _keypair(seed: bytes) -> tuple[bytes, bytes]:
    """Return the public key of a seed, and seed and public key as libsodium signs with them."""
    public, secret = nacl.bindings.crypto_sign_seed_keypair(seed)
    return public, secret


@lru_cache(maxsize=64)
def _public(seed: bytes) -> PublicKey:
    return PublicKey(_keypair(seed)[0])


@lru_cache(maxsize=4096)
def _raw_of(x: str) -> bytes:
    return from_base64url(x)


@lru_cache(maxsize=4096)
def public_key(raw: bytes) -> PublicKey:
    """Return the key of 32 raw bytes, which is checked when it is first seen.

    Raises:
        KeyRejected: It is not acceptable.
    """
    return PublicKey(raw)


class KeyTypeUnsupported(ValueError):
    """The JWK is of another type than OKP, or on another curve than Ed25519."""


def raw_key_of_jwk(jwk: Mapping[str, object]) -> bytes:
    """Return the 32 raw bytes that a public JWK holds (RFC 8037); `PublicKey` then judges them.

    Only `kty`, `crv` and `x` are read.

    Raises:
        KeyTypeUnsupported: `kty` is not OKP or `crv` is not Ed25519.
        ValueError: `x` is not 32 bytes in canonical base64url.
    """
    if jwk.get("kty") != "OKP" or jwk.get("crv") != "Ed25519":
        raise KeyTypeUnsupported("the key is not of type OKP on curve Ed25519")
    x = jwk.get("x")
    raw = _raw_of(x) if isinstance(x, str) else b""
    if len(raw) != KEY_BYTES:
        raise ValueError("member x is not 32 bytes in base64url without padding")
    return raw


def public_key_from_did_key(text: str) -> PublicKey:
    """Return the key that a did:key text holds.

    Raises:
        ValueError: It is not a did:key of an Ed25519 key; `KeyRejected` if the key itself is not acceptable.
    """
    prefix = "did:key:z"
    # A did:key of Ed25519 has 56 characters. The bound keeps base58, whose cost grows with the square of the
    # length, from long texts.
    if not text.startswith(prefix) or not text.isascii() or len(text) > 100:
        raise ValueError("not a did:key text")
    raw = base58.b58decode(text[len(prefix) :])  # raises ValueError
    if not raw.startswith(_MULTICODEC_ED25519) or base58.b58encode(raw).decode() != text[len(prefix) :]:
        raise ValueError("the did:key holds no Ed25519 key")
    return PublicKey(raw[len(_MULTICODEC_ED25519) :])


def falcon_kid(public_key: bytes) -> str:
    """Return the `kid` of a Falcon-1024 public key: first 16 hex digits of SHA-256 over all its bytes (P-KY-09).

    Raises:
        ValueError: It is not 1793 bytes with 0x0a first.
    """
    if len(public_key) != FALCON_KEY_BYTES or public_key[0] != FALCON_KEY_HEADER:
        raise ValueError("a Falcon-1024 public key is 1793 bytes, the first 0x0a")
    return hashlib.sha256(public_key).hexdigest()[:16]


def jwks(keys: Sequence[PublicKey]) -> dict[str, list[dict[str, str]]]:
    """Return the JWKS document of `keys`, the active one first (P-KY-04)."""
    return {"keys": [key.jwk() for key in keys]}


def did_web(public_url: str) -> str:
    """Return the did:web of a public address; the port's colon is `%3A` (P-KY-06).

    Raises:
        ValueError: The address names no host, or names it by an IP address, which did:web forbids.
    """
    parts = urlsplit(public_url)
    if not parts.hostname:
        raise ValueError("a public address names its host, like http://localhost:8402")
    if _is_ip_address(parts.hostname):
        raise ValueError("did:web forbids IP addresses; give the public address by a name, like http://localhost:8402")
    port = "" if parts.port is None else f"%3A{parts.port}"
    return f"did:web:{parts.hostname}{port}"


def _is_ip_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def did_document(did: str, keys: Sequence[PublicKey], services: Sequence[Mapping[str, str]]) -> dict[str, Any]:
    """Return the DID document of `did` (P-KY-07).

    Args:
        did: The did:web identifier.
        keys: Published keys, the active one first.
        services: Entries of `service`, each with `id` (absolute), `type` and `serviceEndpoint`; none leaves it out.
    """
    # Only the active key authenticates and asserts. Retired keys stay listed so that old receipts can be verified
    # (P-KY-04, P-KY-07).
    active = f"{did}#{keys[0].kid}"
    document: dict[str, Any] = {
        "@context": ["https://www.w3.org/ns/did/v1", "https://w3id.org/security/suites/jws-2020/v1"],
        "id": did,
        "alsoKnownAs": [keys[0].did_key],
        "verificationMethod": [
            {"id": f"{did}#{key.kid}", "type": "JsonWebKey2020", "controller": did, "publicKeyJwk": key.jwk()}
            for key in keys
        ],
        "authentication": [active],
        "assertionMethod": [active],
    }
    return document | {"service": [dict(service) for service in services]} if services else document
