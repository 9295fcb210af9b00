"""The signature algorithms of RFC 9421 section 3.3, by their names in its registry; the agent uses Ed25519."""

from __future__ import annotations

import hmac
from collections.abc import Callable, Mapping
from functools import lru_cache
from hashlib import sha256
from typing import NamedTuple

from Crypto.Hash import SHA256, SHA384, SHA512
from Crypto.PublicKey import ECC, RSA
from Crypto.Signature import DSS, pkcs1_15, pss

from reference.protocol.keys import KeyRejected, public_key

ED25519 = "ed25519"
# Smaller RSA keys can be factored. RFC 9421 3.3.1 fixes the salt of RSA-PSS at 64 bytes.
_LEAST_RSA_BITS = 2048
_PSS_SALT_BYTES = 64


class ExpectedKey(NamedTuple):
    """The key that the caller expects the signer to hold, with its algorithm.

    Attributes:
        algorithm: A name of `ALGORITHMS`.
        material: Ed25519: the 32 raw bytes. RSA and ECDSA: SubjectPublicKeyInfo, DER or PEM. HMAC: the shared secret.
    """

    # The algorithm belongs to the key and never to the message (P-AG-04). A message that chooses it could have an RSA
    # public key used as the secret of an HMAC.

    algorithm: str
    material: bytes

    def verify(self, message: bytes, signature: bytes) -> bool:
        """Return whether `signature` is this key's over `message`.

        Raises:
            KeyRejected: The key is not acceptable for its algorithm.
        """
        return ALGORITHMS[self.algorithm](self.material, message, signature)


def _ed25519(key: bytes, message: bytes, signature: bytes) -> bool:
    return public_key(key).verify(message, signature)


def _rsa_pss_sha512(key: bytes, message: bytes, signature: bytes) -> bool:
    return _holds(pss.new(_rsa(key), salt_bytes=_PSS_SALT_BYTES).verify, SHA512.new(message), signature)


def _rsa_v1_5_sha256(key: bytes, message: bytes, signature: bytes) -> bool:
    return _holds(pkcs1_15.new(_rsa(key)).verify, SHA256.new(message), signature)


def _ecdsa_p256_sha256(key: bytes, message: bytes, signature: bytes) -> bool:
    return _holds(DSS.new(_ecc(key, "NIST P-256"), "fips-186-3").verify, SHA256.new(message), signature)


def _ecdsa_p384_sha384(key: bytes, message: bytes, signature: bytes) -> bool:
    return _holds(DSS.new(_ecc(key, "NIST P-384"), "fips-186-3").verify, SHA384.new(message), signature)


def _hmac_sha256(key: bytes, message: bytes, signature: bytes) -> bool:
    # An HMAC under the empty key can be computed by anyone.
    if not key:
        raise KeyRejected("a shared secret is not empty")
    return hmac.compare_digest(hmac.digest(key, message, sha256), signature)


# Each function takes key material, signature base and signature, and returns whether they agree. It raises
# `KeyRejected` for a key that is not acceptable.
ALGORITHMS: Mapping[str, Callable[[bytes, bytes, bytes], bool]] = {
    ED25519: _ed25519,
    "rsa-pss-sha512": _rsa_pss_sha512,
    "rsa-v1_5-sha256": _rsa_v1_5_sha256,
    "ecdsa-p256-sha256": _ecdsa_p256_sha256,
    "ecdsa-p384-sha384": _ecdsa_p384_sha384,
    "hmac-sha256": _hmac_sha256,
}


def _holds(verify: Callable[..., object], digest: object, signature: bytes) -> bool:
    try:
        verify(digest, signature)
    except ValueError:
        return False
    return True


@lru_cache(maxsize=256)
def _rsa(key: bytes) -> RSA.RsaKey:
    try:
        rsa_key = RSA.import_key(key)
    except (ValueError, IndexError, TypeError) as fault:
        raise KeyRejected("no RSA public key") from fault
    if rsa_key.has_private():
        raise KeyRejected("a private key must stay with its owner; give the public one")
    if rsa_key.size_in_bits() < _LEAST_RSA_BITS:
        raise KeyRejected(f"an RSA key of less than {_LEAST_RSA_BITS} bits")
    return rsa_key


@lru_cache(maxsize=256)
def _ecc(key: bytes, curve: str) -> ECC.EccKey:
    try:
        ecc_key = ECC.import_key(key)
    except (ValueError, IndexError, TypeError) as fault:
        raise KeyRejected("no ECDSA public key, or its point is not on the curve") from fault
    if ecc_key.has_private():
        raise KeyRejected("a private key must stay with its owner; give the public one")
    if ecc_key.curve != curve:
        raise KeyRejected(f"the key is not on curve {curve}")
    return ecc_key
