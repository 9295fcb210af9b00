"""Keys in the forms in which people hold them, and the six algorithms; OpenSSL's and PyCryptodome's answers beside."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from Crypto.Hash import HMAC, SHA256, SHA384
from Crypto.PublicKey import ECC, RSA
from Crypto.Signature import DSS, eddsa, pkcs1_15
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import dsa, ec, ed25519, rsa
from joserfc.jwk import ECKey, OKPKey, RSAKey

from conformance.oracles.ed25519_keys import KeyFault
from conformance.oracles.message_signatures import keys
from conformance.oracles.message_signatures.algorithms import ALGORITHMS, SigningKey

SEED = bytes(range(32))
RAW = bytes.fromhex("03a107bff3ce10be1d70dd18e74bc09967e4d6309ba50d5f1ddc8664125531b8")
DID = "did:key:z6MkehRgf7yJbgaGfYsdoAsKdBPE3dj2CYhowQdcjqSJgvVd"
ED25519 = ed25519.Ed25519PrivateKey.from_private_bytes(SEED)
RSA_KEY = rsa.generate_private_key(65537, 2048)
CURVES: dict[str, ec.EllipticCurvePrivateKey] = {
    "P-256": ec.derive_private_key(12345, ec.SECP256R1()),
    "P-384": ec.derive_private_key(12345, ec.SECP384R1()),
}
BASE = b'"@method": GET\n"@signature-params": ("@method")'


def private_pem(key: Any) -> bytes:
    return bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )


def public_pem(key: Any) -> bytes:
    return bytes(
        key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    )


def jwk(key: Any, *, private: bool) -> bytes:
    kind: Any = {"Ed": OKPKey, "EC": ECKey, "El": ECKey, "RS": RSAKey}[type(key).__name__[:2]]
    return json.dumps(kind.import_key(private_pem(key)).as_dict(private=private)).encode()


def test_the_worked_example_reads_the_same_from_every_form() -> None:
    """Hex in any case, did:key, did URL, raw bytes, PEM, JWK, public or private: one key."""
    forms = [
        RAW.hex().encode() + b"\n",
        RAW.hex().upper().encode(),
        DID.encode(),
        RAW,
        public_pem(ED25519),
        private_pem(ED25519),
        jwk(ED25519, private=False),
        jwk(ED25519, private=True),
    ]
    assert {RAW} == {keys.read_public(form).material for form in forms}
    assert RAW == keys.of_hex(RAW.hex()).material == keys.of_did_key(DID).material
    assert keys.of_did_key(f"{DID}#{DID[8:]}").material == RAW
    assert keys.did_key(RAW) == DID


@pytest.mark.parametrize("form", [private_pem(ED25519), jwk(ED25519, private=True), SEED])
def test_private_forms_of_the_example_sign_alike(form: bytes) -> None:
    """PEM, JWK and the 32 bytes of the seed are one signing key."""
    assert ED25519.sign(BASE) == keys.read_private(form).sign("ed25519", BASE)


@pytest.mark.parametrize("name", ["P-256", "P-384", "RSA"])
def test_other_keys_read_the_same_from_pem_and_jwk(name: str) -> None:
    """What one form signs, the other verifies."""
    key: Any = RSA_KEY if name == "RSA" else CURVES[name]
    for secret in (private_pem(key), jwk(key, private=True)):
        signing = keys.read_private(secret)
        for algorithm in signing.algorithms:
            signature = signing.sign(algorithm, BASE)
            for public in (public_pem(key), jwk(key, private=False), secret):
                assert keys.read_public(public).verify(algorithm, signature, BASE)
                assert not keys.read_public(public).verify(algorithm, signature, BASE + b"\n")


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"\x00" * 31,
        b"\xff" * 33,
        b"zz" * 32,
        b"ab" * 31,
        b"did:key:z6Mk",
        b"did:key:zQ3shokFTS3brHcDQrn82RUDfCZESWL1ZdCEJwekUDPQiYBme",
        b"did:web:example.org",
        b"-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n",
        b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
        b"{",
        b"{}",
        b'{"keys":[]}',
        b'{"kty":"OKP","crv":"X25519","x":"AAAA"}',
        b'{"kty":"OKP","crv":"Ed25519","x":"AAAA"}',
        b'{"kty":"OKP","crv":"Ed25519"}',
        b'{"kty":"EC","crv":"P-521","x":"AAAA","y":"AAAA"}',
        b'{"kty":"EC","crv":"P-256","x":"AAAA","y":"AAAA"}',
        b'{"kty":"RSA","n":"AQAB"}',
        b'{"kty":"RSA","n":"AQAB","e":"AQ"}',
        b'{"kty":"oct","k":""}',
        b'{"kty":"what"}',
        b'{"kty":"what","d":"AAAA"}',
        b'{"kty":"OKP","crv":"Ed25519","d":"AAAA"}',
        pytest.param(b'{"kty":"OKP","x":' + b"[" * 100_000, id="nested deeply"),
    ],
)
def test_what_is_no_key_is_refused_in_a_sentence(text: bytes) -> None:
    """Every odd file gives a KeyFault, nothing else."""
    for read in (keys.read_public, keys.read_private):
        with pytest.raises(KeyFault, match=r"\w"):
            read(text)


def test_keys_that_rfc_9421_does_not_use_are_refused() -> None:
    """DSA and other curves have no algorithm; an encrypted PEM says so."""
    unused_keys: list[Any] = [dsa.generate_private_key(2048), ec.derive_private_key(5, ec.SECP521R1())]
    for key in unused_keys:
        for read, text in ((keys.read_public, public_pem(key)), (keys.read_private, private_pem(key))):
            with pytest.raises(KeyFault, match="Ed25519, RSA, P-256 and P-384"):
                read(text)
    locked_key = ED25519.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.BestAvailableEncryption(b"x")
    )
    with pytest.raises(KeyFault, match=r"encrypted|password"):
        keys.read_private(locked_key)


def test_a_secret_is_base64_and_not_empty() -> None:
    """As the RFC writes its own."""
    assert keys.decode_secret(" AQID\n") == b"\x01\x02\x03"
    for text in ("A", "!", "AQ ID", "é", "\ufffd"):
        with pytest.raises(KeyFault):
            keys.decode_secret(text)
    with pytest.raises(KeyFault):
        keys.shared_secret(b"")


def test_pycryptodome_verifies_what_every_deterministic_algorithm_makes() -> None:
    """Another library's answers on Ed25519, both ECDSA curves, PKCS#1 v1.5 and HMAC; a changed base is the control."""
    eddsa_key = eddsa.import_public_key(RAW)
    eddsa.new(eddsa_key, "rfc8032").verify(BASE, keys.read_private(SEED).sign("ed25519", BASE))
    for name, digest in (("P-256", SHA256), ("P-384", SHA384)):
        key = CURVES[name]
        signing = keys.read_private(private_pem(key))
        verifier = DSS.new(ECC.import_key(public_pem(key)), "fips-186-3", encoding="binary")
        signature = signing.sign(signing.algorithms[0], BASE)
        verifier.verify(digest.new(BASE), signature)
        with pytest.raises(ValueError, match="authentic"):
            verifier.verify(digest.new(BASE + b"x"), signature)
    signature = keys.read_private(private_pem(RSA_KEY)).sign("rsa-v1_5-sha256", BASE)
    pkcs1_15.new(RSA.import_key(public_pem(RSA_KEY))).verify(SHA256.new(BASE), signature)
    code = keys.shared_secret(b"k").sign("hmac-sha256", BASE)
    assert HMAC.new(b"k", BASE, SHA256).digest() == code


def test_a_key_is_used_with_its_own_algorithms_only() -> None:
    """An RSA key has two; asking another is refused on signing and false on verifying."""
    for signing in (keys.read_private(SEED), keys.shared_secret(b"k"), keys.read_private(private_pem(RSA_KEY))):
        for algorithm in set(ALGORITHMS) - set(signing.algorithms):
            with pytest.raises(ValueError, match="not"):
                signing.sign(algorithm, BASE)
            assert not signing.public.verify(algorithm, bytes(64), BASE)
    assert len(keys.read_private(private_pem(RSA_KEY)).algorithms) == 2


def test_ecdsa_signatures_are_r_and_s_of_fixed_size_and_the_same_each_time() -> None:
    """RFC 9421 3.3.4 and 3.3.5; RFC 6979 makes them repeatable."""
    for name, size in (("P-256", 64), ("P-384", 96)):
        signing = keys.read_private(private_pem(CURVES[name]))
        first_signature, two = (signing.sign(signing.algorithms[0], BASE) for _ in range(2))
        assert (len(first_signature), first_signature) == (size, two)
        for wrong in (
            first_signature[:-1],
            first_signature + b"\x00",
            bytes(size),
            b"",
            first_signature[size // 2 :] + first_signature[: size // 2],
        ):
            assert not signing.public.verify(signing.algorithms[0], wrong, BASE)


def test_a_fresh_key_is_fresh() -> None:
    """Two calls, two keys, each sound."""
    first_key, two = keys.generate(), keys.generate()
    assert first_key.public.material != two.public.material
    assert first_key.public.rejection is None
    assert isinstance(first_key, SigningKey)


def test_a_jwk_shared_secret_is_the_key_of_both_sides() -> None:
    """Kty oct."""
    text = json.dumps({"kty": "oct", "k": base64.urlsafe_b64encode(b"secret").decode().rstrip("=")}).encode()
    code = keys.read_private(text).sign("hmac-sha256", BASE)
    assert keys.read_public(text).verify("hmac-sha256", code, BASE)
