"""Receipts that are true, and receipts that are forged in one thing: keys, headers, signatures. Pure.

Keys come from 32-byte seeds that the caller draws, so that a run can be repeated.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateNumbers
from cryptography.hazmat.primitives.asymmetric.ed448 import Ed448PrivateKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

from conformance.oracles.ed25519_keys import decode_base64url, ed25519_jwk, encode_base64url

# The order of the prime subgroup of edwards25519 (RFC 8032, 5.1).
ORDER = 2**252 + 27742317777372353535851937790883648493
_P = 2**255 - 19
# The identity, and the point of order 2: for the first every equation holds, for the second every other one.
IDENTITY = (1).to_bytes(32, "little")
ORDER_TWO = (_P - 1).to_bytes(32, "little")
# y = 0, where x is a root of -1: of order 4.
ORDER_FOUR = bytes(32)
# One of the four points of order 8.
ORDER_EIGHT = bytes.fromhex("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05")
# Points again, in encodings that are not the canonical ones: y not below the prime, and a sign for x = 0.
NON_CANONICAL_IDENTITY = (_P + 1).to_bytes(32, "little")
NON_CANONICAL_ORDER_FOUR = _P.to_bytes(32, "little")
NEGATIVE_IDENTITY = (1 + (1 << 255)).to_bytes(32, "little")
# A point A of order n makes hA the neutral element for every n-th h, so a forger has to try n
# times on average.
_ORDERS = {ORDER_TWO: 2, ORDER_FOUR: 4, NON_CANONICAL_ORDER_FOUR: 4, ORDER_EIGHT: 8}
_ED448_SEED = 57
# The second is that of wallets on EVM chains (RFC 8812).
_CURVES: Mapping[str, tuple[str, ec.EllipticCurve]] = {
    "ES256": ("P-256", ec.SECP256R1()),
    "ES256K": ("secp256k1", ec.SECP256K1()),
}


def compact(header: object, payload: bytes, signature: bytes = b"") -> str:
    """Return three segments; a header that is no text is written as JSON."""
    return f"{signing_input(header, payload)}.{encode_base64url(signature)}"


def signing_input(header: object, payload: bytes) -> str:
    """Return the first two segments."""
    text = header if isinstance(header, str) else json.dumps(header, separators=(",", ":"), sort_keys=True)
    return f"{encode_base64url(text.encode())}.{encode_base64url(payload)}"


@dataclass(frozen=True)
class Signer:
    """An Ed25519 key of a third party."""

    seed: bytes
    kid: str

    @cached_property
    def _key(self) -> Ed25519PrivateKey:
        return Ed25519PrivateKey.from_private_bytes(self.seed)

    @property
    def raw(self) -> bytes:
        """The 32 public bytes."""
        return self._key.public_key().public_bytes_raw()

    @property
    def jwk(self) -> dict[str, str]:
        """The public JWK."""
        return {**ed25519_jwk(self.raw), "kid": self.kid, "use": "sig"}

    def sign(self, header: object, payload: bytes) -> str:
        """Return a compact JWS, truly signed whatever the header says."""
        return compact(header, payload, self._key.sign(signing_input(header, payload).encode()))

    def sign_segments(self, header: str, payload: str) -> str:
        """Return a compact JWS of two segments as they are given, whatever they hold, truly signed."""
        text = f"{header}.{payload}"
        return f"{text}.{encode_base64url(self.sign_bytes(text.encode()))}"

    def sign_bytes(self, message: bytes) -> bytes:
        """Return the 64 bytes of a signature."""
        return self._key.sign(message)

    def pem(self) -> bytes:
        """Return the public key as PEM, which confused verifiers take for an HMAC key."""
        return self._key.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )


def mac(header: Mapping[str, Any], payload: bytes, key: bytes) -> str:
    """Return a compact JWS whose signature is an HMAC by the header's `alg` (HS256, HS384, HS512)."""
    # The classical confusion of algorithms: a verifier that takes the header's word uses the
    # public key as an HMAC secret.
    digest = f"sha{str(header['alg'])[2:]}"
    return compact(header, payload, hmac.new(key, signing_input(header, payload).encode(), digest).digest())


def without_its_signature(token: str) -> tuple[str, bytes]:
    """Return a compact JWS as (first two segments, signature).

    Raises:
        KeyFault: Its last segment is no base64url.
    """
    first, _, last = token.rpartition(".")
    return first, decode_base64url(last)


def with_signature(token: str, signature: bytes) -> str:
    """Return a compact JWS with another signature."""
    return f"{token.rpartition('.')[0]}.{encode_base64url(signature)}"


def plus_order(token: str, times: int = 1) -> str:
    """Return a token whose S is larger by the group order: the equation still holds, the encoding does not.

    Args:
        token: A true one.
        times: How often the order is added; 14 times fits any S into its bytes.
    """
    _, signature = without_its_signature(token)
    # RFC 8032 demands S below the order. A verifier that does not check it accepts two
    # spellings of one signature.
    larger_scalar = int.from_bytes(signature[32:], "little") + times * ORDER
    return with_signature(token, signature[:32] + larger_scalar.to_bytes(32, "little"))


def under_small_order_key(header: object, payload: bytes, key: bytes, seed: bytes) -> str:
    """Return a token whose equation holds for a public key of small order, without any private key.

    With such a key A the term hA is the identity for every h that A's order divides. Then only R = S·B must hold, and S
    may be any scalar.
    """
    text = signing_input(header, payload).encode()
    for count in range(256):
        draw_seed = hashlib.sha256(seed + bytes([count])).digest()
        scalar = _scalar(draw_seed)
        point = Ed25519PrivateKey.from_private_bytes(draw_seed).public_key().public_bytes_raw()
        h = int.from_bytes(hashlib.sha512(point + key + text).digest(), "little") % ORDER
        if h % _ORDERS.get(key, 1) == 0:
            return compact(header, payload, point + (scalar % ORDER).to_bytes(32, "little"))
    raise ValueError("no scalar fits")  # pragma: no cover - 256 draws of one in eight never all miss


def _scalar(seed: bytes) -> int:
    """Return the scalar that Ed25519 makes of a seed (RFC 8032, 5.1.5)."""
    half = bytearray(hashlib.sha512(seed).digest()[:32])
    # The bits that RFC 8032 clears and sets in every secret scalar.
    half[0] &= 248
    half[31] = half[31] & 127 | 64
    return int.from_bytes(half, "little")


def signed_by_others(header: Mapping[str, Any], payload: bytes, seed: bytes) -> dict[str, tuple[str, dict[str, Any]]]:
    """Return tokens that are truly signed with keys of other kinds, each with the public JWK, by algorithm."""
    kid = str(header.get("kid", "other"))
    return {
        "ES256": ecdsa({**header, "alg": "ES256"}, payload, seed, kid),
        "ES256K": ecdsa({**header, "alg": "ES256K"}, payload, seed, kid),
        "RS256": _rs256({**header, "alg": "RS256"}, payload, kid),
        "Ed448": ed448({**header, "alg": "Ed448"}, payload, seed, kid),
        "Ed448 named EdDSA": ed448({**header, "alg": "EdDSA"}, payload, seed, kid),
    }


def ecdsa(header: Mapping[str, Any], payload: bytes, seed: bytes, kid: str) -> tuple[str, dict[str, Any]]:
    """Return a token that is truly signed on the curve of the header's `alg`, ES256 or ES256K, with the public JWK."""
    name, curve = _CURVES[str(header["alg"])]
    # Shifted by one bit, the number is always below the order of both curves.
    number = int.from_bytes(hashlib.sha256(b"es256" + seed).digest(), "big") >> 1
    key = ec.derive_private_key(number or 1, curve)
    numbers: EllipticCurvePrivateNumbers = key.private_numbers()
    public = numbers.public_numbers
    signature = key.sign(signing_input(header, payload).encode(), ec.ECDSA(hashes.SHA256()))
    r, s = decode_dss_signature(signature)
    jwk = {"kty": "EC", "crv": name, "kid": kid}
    jwk |= {name: encode_base64url(value.to_bytes(32, "big")) for name, value in (("x", public.x), ("y", public.y))}
    return compact(header, payload, r.to_bytes(32, "big") + s.to_bytes(32, "big")), jwk


def _rs256(header: Mapping[str, Any], payload: bytes, kid: str) -> tuple[str, dict[str, Any]]:
    # An RSA key cannot be made from a seed here, so this one differs from run to run.
    key = rsa.generate_private_key(public_exponent=65_537, key_size=2048)
    public = key.public_key().public_numbers()
    signature = key.sign(signing_input(header, payload).encode(), PKCS1v15(), hashes.SHA256())
    jwk = {"kty": "RSA", "n": encode_base64url(public.n.to_bytes(256, "big")), "e": "AQAB", "kid": kid}
    return compact(header, payload, signature), jwk


def ed448(header: Mapping[str, Any], payload: bytes, seed: bytes, kid: str) -> tuple[str, dict[str, Any]]:
    """Return a token that is truly signed on Ed448, with the public JWK."""
    key = Ed448PrivateKey.from_private_bytes(hashlib.shake_256(seed).digest(_ED448_SEED))
    x = encode_base64url(key.public_key().public_bytes_raw())
    signature = key.sign(signing_input(header, payload).encode())
    return compact(header, payload, signature), {"kty": "OKP", "crv": "Ed448", "x": x, "kid": kid}
