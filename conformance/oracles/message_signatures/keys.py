"""Keys from the forms in which people hold them: hex, did:key, JWK, PEM, raw bytes, a shared secret."""

from __future__ import annotations

import base64
import json
import re
from typing import Any, Final

import base58
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes, PublicKeyTypes

from conformance.oracles.ed25519_keys import KEY_BYTES, KeyFault, decode_base64url
from conformance.oracles.message_signatures.algorithms import (
    ECDSA_P256,
    ECDSA_P384,
    ED25519,
    HMAC_SHA256,
    RSA_PSS,
    RSA_V1_5,
    SigningKey,
    VerifyingKey,
)

_DID_KEY: Final = "did:key:z"
# The multicodec prefix of an Ed25519 public key: 0xed as an unsigned varint.
_ED25519_CODE: Final = b"\xed\x01"
_HEX_KEY = re.compile(r"[0-9A-Fa-f]{64}")
_CURVES: Final = {"secp256r1": ECDSA_P256, "secp384r1": ECDSA_P384}
_JWK_CURVES: Final = {"P-256": (ec.SECP256R1(), 32), "P-384": (ec.SECP384R1(), 48)}


def of_hex(text: str) -> VerifyingKey:
    """Return the Ed25519 key of 64 hex digits; whether it is a sound point is for the judge to say.

    Raises:
        KeyFault: The text is something else.
    """
    if not _HEX_KEY.fullmatch(text):
        raise KeyFault("a public key in hex has 64 hex digits (32 bytes of Ed25519)")
    return VerifyingKey((ED25519,), bytes.fromhex(text))


def of_did_key(text: str) -> VerifyingKey:
    """Return the Ed25519 key of a did:key, also where a DID URL names it by its fragment (P-KY-10).

    Raises:
        KeyFault: The text is something else.
    """
    did = text.partition("#")[0]
    if not did.startswith(_DID_KEY):
        raise KeyFault("a did:key of Ed25519 begins with did:key:z6Mk")
    try:
        raw = base58.b58decode(did.removeprefix(_DID_KEY))
    except ValueError as fault:
        raise KeyFault("the did:key is not base58") from fault
    if raw[:2] != _ED25519_CODE or len(raw) != len(_ED25519_CODE) + KEY_BYTES:
        raise KeyFault("the did:key holds no Ed25519 key: it begins with did:key:z6Mk and holds 32 bytes")
    return VerifyingKey((ED25519,), raw[2:])


def did_key(raw: bytes, code: bytes = _ED25519_CODE) -> str:
    """Return the did:key of a public key, of Ed25519 unless another type's code is given (P-KY-10)."""
    return _DID_KEY + base58.b58encode(code + raw).decode("ascii")


def shared_secret(secret: bytes) -> SigningKey:
    """Return the key that a shared secret is, for both sides.

    Raises:
        KeyFault: It is empty.
    """
    if not secret:
        raise KeyFault("the shared secret is empty")
    return SigningKey((HMAC_SHA256,), secret)


def read_public(data: bytes) -> VerifyingKey:
    """Return the verifying key in a file: PEM, JWK, hex, did:key, or 32 raw bytes; a private key gives its public half.

    Raises:
        KeyFault: The file holds none of these.
    """
    private = _private(data)
    if private is not None:
        return private.public
    text = _text(data)
    if text.startswith("-----BEGIN"):
        return _of_public_object(_load_pem(text, public=True))
    if text.startswith("{"):
        return _of_jwk(_json(text)).public if _is_secret_jwk(_json(text)) else _of_public_jwk(_json(text))
    if text.startswith("did:"):
        return of_did_key(text)
    if _HEX_KEY.fullmatch(text):
        return of_hex(text)
    # Raw bytes are tried last: 32 bytes of text could also be a key in another form.
    if len(data) == KEY_BYTES:
        return VerifyingKey((ED25519,), data)
    raise KeyFault("not a key: give PEM, a JWK, 64 hex digits, a did:key or 32 raw bytes")


def read_private(data: bytes) -> SigningKey:
    """Return the signing key in a file: PEM, private JWK, or 32 raw bytes as the seed of an Ed25519 key.

    Raises:
        KeyFault: The file holds none of these.
    """
    private = _private(data)
    if private is not None:
        return private
    if len(data) == KEY_BYTES:
        return SigningKey((ED25519,), ed25519.Ed25519PrivateKey.from_private_bytes(data))
    raise KeyFault("not a private key: give PEM, a private JWK, or the 32 raw bytes of an Ed25519 seed")


def generate() -> SigningKey:
    """Return a fresh Ed25519 key."""
    return SigningKey((ED25519,), ed25519.Ed25519PrivateKey.generate())


def _private(data: bytes) -> SigningKey | None:
    text = _text(data)
    if text.startswith("-----BEGIN") and "PRIVATE KEY-----" in text:
        return _of_private_object(_load_pem(text, public=False))
    if text.startswith("{") and _is_secret_jwk(_json(text)):
        return _of_jwk(_json(text))
    return None


def _text(data: bytes) -> str:
    try:
        return data.decode("ascii").strip()
    except UnicodeDecodeError:
        return ""


def _json(text: str) -> dict[str, Any]:
    try:
        jwk = json.loads(text)
    except (ValueError, RecursionError) as fault:
        raise KeyFault(f"the JWK is no JSON: {fault}") from fault
    if not isinstance(jwk, dict) or "kty" not in jwk:
        raise KeyFault("the JSON is no JWK: it has no member kty (of a key set, give one key)")
    return jwk


def _is_secret_jwk(jwk: dict[str, Any]) -> bool:
    return "d" in jwk or jwk.get("kty") == "oct"


def _load_pem(text: str, *, public: bool) -> Any:
    try:
        if public:
            return serialization.load_pem_public_key(text.encode())
        return serialization.load_pem_private_key(text.encode(), password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as fault:
        raise KeyFault(f"the PEM cannot be read: {fault}") from fault


def _of_public_object(key: PublicKeyTypes) -> VerifyingKey:
    if isinstance(key, ed25519.Ed25519PublicKey):
        return VerifyingKey((ED25519,), key.public_bytes_raw())
    if isinstance(key, rsa.RSAPublicKey):
        # An RSA key says nothing about its padding, so it fits both schemes, PSS first.
        return VerifyingKey((RSA_PSS, RSA_V1_5), key)
    if isinstance(key, ec.EllipticCurvePublicKey) and key.curve.name in _CURVES:
        return VerifyingKey((_CURVES[key.curve.name],), key)
    raise KeyFault("no algorithm of RFC 9421 uses a key of this kind: Ed25519, RSA, P-256 and P-384 do")


def _of_private_object(key: PrivateKeyTypes) -> SigningKey:
    if isinstance(key, ed25519.Ed25519PrivateKey):
        return SigningKey((ED25519,), key)
    if isinstance(key, rsa.RSAPrivateKey):
        return SigningKey((RSA_PSS, RSA_V1_5), key)
    if isinstance(key, ec.EllipticCurvePrivateKey) and key.curve.name in _CURVES:
        return SigningKey((_CURVES[key.curve.name],), key)
    raise KeyFault("no algorithm of RFC 9421 uses a key of this kind: Ed25519, RSA, P-256 and P-384 do")


def _of_jwk(jwk: dict[str, Any]) -> SigningKey:
    if jwk["kty"] == "oct":
        return shared_secret(_octets(jwk, "k"))
    try:
        return _of_private_object(_private_object(jwk))
    except (ValueError, TypeError) as fault:
        raise KeyFault(f"the JWK's numbers make no key: {fault}") from fault


def _private_object(jwk: dict[str, Any]) -> PrivateKeyTypes:
    if jwk["kty"] == "OKP" and jwk.get("crv") == "Ed25519":
        return ed25519.Ed25519PrivateKey.from_private_bytes(_octets(jwk, "d"))
    if jwk["kty"] == "EC":
        numbers = _ec_numbers(jwk).public_numbers()
        return ec.EllipticCurvePrivateNumbers(_number(jwk, "d"), numbers).private_key()
    if jwk["kty"] == "RSA":
        p, q, d, dp, dq, qi = (_number(jwk, name) for name in ("p", "q", "d", "dp", "dq", "qi"))
        return rsa.RSAPrivateNumbers(p, q, d, dp, dq, qi, _rsa_numbers(jwk)).private_key()
    raise KeyFault(f"a JWK of kty {jwk['kty']!r} is not one of OKP, EC, RSA, oct")


def _of_public_jwk(jwk: dict[str, Any]) -> VerifyingKey:
    try:
        if jwk["kty"] == "OKP" and jwk.get("crv") == "Ed25519":
            raw = _octets(jwk, "x")
            if len(raw) != KEY_BYTES:
                raise KeyFault("member x does not hold 32 bytes")
            return VerifyingKey((ED25519,), raw)
        if jwk["kty"] == "EC":
            return _of_public_object(_ec_numbers(jwk))
        if jwk["kty"] == "RSA":
            return _of_public_object(_rsa_numbers(jwk).public_key())
    except (ValueError, TypeError) as fault:
        raise KeyFault(f"the JWK's numbers make no key: {fault}") from fault
    raise KeyFault(f"a JWK of kty {jwk['kty']!r} and crv {jwk.get('crv')!r} is not used by RFC 9421")


def _ec_numbers(jwk: dict[str, Any]) -> ec.EllipticCurvePublicKey:
    curve, size = _JWK_CURVES.get(str(jwk.get("crv")), (None, 0))
    if curve is None:
        raise KeyFault(f"curve {jwk.get('crv')!r} is neither P-256 nor P-384")
    x, y = (_octets(jwk, name) for name in ("x", "y"))
    # RFC 7518, 6.2.1.2: coordinates have the full length of the field, with leading zeros.
    if len(x) != size or len(y) != size:
        raise KeyFault(f"x and y of {jwk['crv']} have {size} bytes each")
    return ec.EllipticCurvePublicNumbers(int.from_bytes(x, "big"), int.from_bytes(y, "big"), curve).public_key()


def _rsa_numbers(jwk: dict[str, Any]) -> rsa.RSAPublicNumbers:
    return rsa.RSAPublicNumbers(_number(jwk, "e"), _number(jwk, "n"))


def _number(jwk: dict[str, Any], name: str) -> int:
    return int.from_bytes(_octets(jwk, name), "big")


def _octets(jwk: dict[str, Any], name: str) -> bytes:
    value = jwk.get(name)
    if not isinstance(value, str):
        raise KeyFault(f"the JWK has no member {name}")
    return decode_base64url(value)


def decode_secret(text: str) -> bytes:
    """Return the bytes of a secret written in standard base64.

    Raises:
        KeyFault: It is not base64.
    """
    try:
        return base64.b64decode(text.strip(), validate=True)
    except ValueError as fault:  # also for a text that is not ASCII
        raise KeyFault("the secret is not standard base64") from fault
