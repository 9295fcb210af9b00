"""The six algorithms of RFC 9421, section 3.3, over cryptography."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature, encode_dss_signature
from cryptography.hazmat.primitives.hmac import HMAC

from conformance.oracles import ed25519_keys as sound

ED25519: Final = "ed25519"
RSA_PSS: Final = "rsa-pss-sha512"
RSA_V1_5: Final = "rsa-v1_5-sha256"
ECDSA_P256: Final = "ecdsa-p256-sha256"
ECDSA_P384: Final = "ecdsa-p384-sha384"
HMAC_SHA256: Final = "hmac-sha256"

PublicKey = bytes | rsa.RSAPublicKey | ec.EllipticCurvePublicKey
PrivateKey = bytes | rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey


@dataclass(frozen=True, slots=True)
class VerifyingKey:
    """A key a caller expects the signer to hold.

    Attributes:
        algorithms: What the key can be used with; a first RSA key fits two.
        material: The 32 bytes of an Ed25519 key, a shared secret, or a key of cryptography's.
    """

    algorithms: tuple[str, ...]
    material: PublicKey

    @property
    def rejection(self) -> str | None:
        """Why an Ed25519 key must not be used; None if it may be used."""
        if self.algorithms != (ED25519,) or not isinstance(self.material, bytes):
            return None
        if sound.is_sound_point(self.material):
            return None
        return "the key is not a canonical Ed25519 point of large order: anyone could sign under it, or no one could"

    def verify(self, algorithm: str, signature: bytes, base: bytes) -> bool:
        """Return whether a signature over a base holds under this key by one of its algorithms."""
        return algorithm in self.algorithms and _SCHEMES[algorithm].verify(self.material, signature, base)


@dataclass(frozen=True, slots=True)
class SigningKey:
    """A key to sign with.

    Attributes:
        algorithms: What the key can be used with.
        material: A shared secret, or a private key of cryptography's.
    """

    algorithms: tuple[str, ...]
    material: PrivateKey

    def sign(self, algorithm: str, base: bytes) -> bytes:
        """Return the signature over a base; ECDSA by RFC 6979, so that only RSA-PSS is random.

        Raises:
            ValueError: The key does not go with the algorithm.
        """
        if algorithm not in self.algorithms:
            raise ValueError(f"this key signs {' or '.join(self.algorithms)}, not {algorithm}")
        return _SCHEMES[algorithm].sign(self.material, base)

    @property
    def public(self) -> VerifyingKey:
        """The key that verifies what this one signs; of a shared secret, itself."""
        if isinstance(self.material, bytes):
            return VerifyingKey(self.algorithms, self.material)
        if isinstance(self.material, ed25519.Ed25519PrivateKey):
            return VerifyingKey(self.algorithms, self.material.public_key().public_bytes_raw())
        return VerifyingKey(self.algorithms, self.material.public_key())


@dataclass(frozen=True, slots=True)
class _Scheme:
    sign: Callable[[Any, bytes], bytes]
    verify: Callable[[Any, bytes, bytes], bool]


def _holds(check: Callable[[], None]) -> bool:
    try:
        check()
    except (InvalidSignature, ValueError):
        return False
    return True


def _ed25519_verify(raw: bytes, signature: bytes, base: bytes) -> bool:
    return sound.verify(sound.Ed25519Key(raw, None), base, signature)


def _pss() -> padding.PSS:
    # RFC 9421, 3.3.1: the salt has 64 bytes.
    return padding.PSS(mgf=padding.MGF1(hashes.SHA512()), salt_length=64)


def _rsa(pad: Callable[[], Any], digest: Callable[[], hashes.HashAlgorithm]) -> _Scheme:
    def verify(key: rsa.RSAPublicKey, signature: bytes, base: bytes) -> bool:
        return _holds(lambda: key.verify(signature, base, pad(), digest()))

    return _Scheme(lambda key, base: bytes(key.sign(base, pad(), digest())), verify)


def _ecdsa(digest: Callable[[], hashes.HashAlgorithm], size: int) -> _Scheme:
    def sign(key: ec.EllipticCurvePrivateKey, base: bytes) -> bytes:
        # RFC 9421, 3.3.4 concatenates r and s. The library writes DER.
        der = key.sign(base, ec.ECDSA(digest(), deterministic_signing=True))
        return b"".join(number.to_bytes(size, "big") for number in decode_dss_signature(der))

    def verify(key: ec.EllipticCurvePublicKey, signature: bytes, base: bytes) -> bool:
        # A DER signature has another length, and must not be accepted as raw numbers.
        if len(signature) != 2 * size:
            return False
        r, s = (int.from_bytes(half, "big") for half in (signature[:size], signature[size:]))
        return _holds(lambda: key.verify(encode_dss_signature(r, s), base, ec.ECDSA(digest())))

    return _Scheme(sign, verify)


def _mac(key: bytes, base: bytes) -> HMAC:
    code = HMAC(key, hashes.SHA256())
    code.update(base)
    return code


# The algorithms of RFC 9421, 3.3. The digest belongs to the algorithm: a signer cannot choose another for the same
# name.
_SCHEMES: Final = {
    ED25519: _Scheme(lambda key, base: bytes(key.sign(base)), _ed25519_verify),
    RSA_PSS: _rsa(_pss, hashes.SHA512),
    RSA_V1_5: _rsa(padding.PKCS1v15, hashes.SHA256),
    ECDSA_P256: _ecdsa(hashes.SHA256, 32),
    ECDSA_P384: _ecdsa(hashes.SHA384, 48),
    HMAC_SHA256: _Scheme(
        lambda key, base: _mac(key, base).finalize(),
        lambda key, signature, base: _holds(lambda: _mac(key, base).verify(signature)),
    ),
}
ALGORITHMS: Final = tuple(_SCHEMES)
