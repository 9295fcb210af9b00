"""Algorithms other than EdDSA on Ed25519; each token is truly signed by what it names, or could be taken to name."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature

from conformance.oracles import forging
from conformance.oracles.ed25519_keys import decode_base64url, encode_base64url
from conformance.oracles.hash_recipes import jcs_bytes
from conformance.oracles.jose import parse
from tools.vectors_builder.drafting import Draft, seed
from tools.vectors_builder.family import BuildFault
from tools.vectors_builder.receipts import recording_command
from tools.vectors_builder.receipts.material import (
    COMPLIANCE,
    FAMILY,
    FIRST_KEY,
    draft_refusal,
    header,
    receipt,
    without,
)


def drafts() -> Iterator[Draft]:
    """Yield them."""
    yield from _names()
    yield from _macs()
    yield from _other_algorithm_drafts()


def _body() -> bytes:
    return jcs_bytes(dict(COMPLIANCE))


def _names() -> Iterator[Draft]:
    row = "GW-RCPT-16"
    why = "none is no algorithm, however it is spelled and whatever stands as the signature"
    for name, alg in (("lower_case", "none"), ("capital", "None"), ("upper_case", "NONE")):
        fault = f"alg is {alg}, beside a signature that is true"
        yield draft_refusal("algorithm/none", name, receipt(alg=alg), fault, why, row)
    row, why = "GW-RCPT-18", "names of algorithms are compared letter by letter (RFC 7515 section 4.1.1)"
    for name, alg in (("lower_case", "eddsa"), ("upper_case", "EDDSA"), ("ed25519", "ed25519")):
        fault = f"alg is {alg}, which is no name of the algorithm"
        yield draft_refusal("algorithm/spelling", name, receipt(alg=alg), fault, why, row)
    why = "the name must be that of what signed"
    for name, alg in (("es256", "ES256"), ("hs256", "HS256"), ("ed25519ph", "Ed25519ph")):
        fault = f"alg is {alg}, and an Ed25519 key signed"
        yield draft_refusal("algorithm/name_of_another", name, receipt(alg=alg), fault, why, row)
    why = "alg must be there and say something (RFC 7515 section 4.1.1)"
    bare = FIRST_KEY.sign(without(header(), "alg"), _body())
    yield draft_refusal("algorithm/no_name", "absent", bare, "there is no alg", why, row)
    yield draft_refusal("algorithm/no_name", "empty", receipt(alg=""), "alg is an empty text", why, row)
    yield draft_refusal(
        "algorithm/no_name", "space_after", receipt(alg="EdDSA "), "alg is followed by a space", why, row
    )


def _macs() -> Iterator[Draft]:
    row, why = "GW-RCPT-17", "a public key is no secret: whoever verifies a MAC with it believes everybody"
    for alg in ("HS256", "HS384", "HS512"):
        token = forging.mac(header(alg=alg), _body(), FIRST_KEY.raw)
        fault = f"{alg}, keyed with the bytes of the public key"
        yield draft_refusal("algorithm/mac_with_key_bytes", alg.lower(), token, fault, why, row)
    texts = {
        "x": FIRST_KEY.jwk["x"].encode(),
        "pem": FIRST_KEY.pem(),
        "jwk": json.dumps(FIRST_KEY.jwk, separators=(",", ":")).encode(),
    }
    for name, secret in texts.items():
        token = forging.mac(header(alg="HS256"), _body(), secret)
        fault = f"HS256, keyed with the public key as {name}"
        yield draft_refusal("algorithm/mac_with_key_text", name, token, fault, why, row)
    der = Ed25519PublicKey.from_public_bytes(FIRST_KEY.raw).public_bytes(
        serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    for name, secret in (("der", der), ("kid", FIRST_KEY.kid.encode()), ("nothing", b"")):
        token = forging.mac(header(alg="HS256"), _body(), secret)
        fault = f"HS256, keyed with {name}"
        yield draft_refusal("algorithm/mac_with_what_is_known", name, token, fault, why, row)
    why = "a MAC proves nothing to a third party, even with its secret supplied"
    for alg, length in (("HS256", 32), ("HS384", 48), ("HS512", 64)):
        secret = (seed(FAMILY, "secret") * 2)[:length]
        octets = {"kty": "oct", "k": encode_base64url(secret), "kid": FIRST_KEY.kid}
        token = forging.mac(header(alg=alg), _body(), secret)
        fault = f"{alg}, with its secret in the key set"
        yield draft_refusal(
            "algorithm/mac_with_its_key", alg.lower(), token, fault, why, "GW-RCPT-18", keys={"keys": [octets]}
        )


def _other_algorithm_drafts() -> Iterator[Draft]:
    row, why = "GW-RCPT-18", "a true signature of another algorithm, its key supplied, is no receipt's"
    for name in ("es256", "rs256", "ps256"):
        token, jwk = _read_recorded(name)
        fault = f"signed by {name.upper()}"
        yield draft_refusal("algorithm/another", name, token, fault, why, row, keys={"keys": [jwk]})
    why = "the name EdDSA is no word about the key: the key's own type counts"
    for name in ("es256_as_eddsa", "rs256_as_eddsa", "es256_as_ed25519"):
        token, jwk = _read_recorded(name)
        fault = f"signed by {name[:5].upper()} under the name of EdDSA"
        yield draft_refusal("algorithm/another_under_our_name", name, token, fault, why, row, keys={"keys": [jwk]})
    why = "EdDSA on Ed448 is EdDSA, and no receipt's"
    for name, alg in (("under_its_name", "Ed448"), ("as_eddsa", "EdDSA"), ("as_ed25519", "Ed25519")):
        token, jwk = forging.ed448(header(alg=alg), _body(), seed(FAMILY, "Ed448"), FIRST_KEY.kid)
        fault = f"signed on Ed448, alg is {alg}"
        yield draft_refusal("algorithm/ed448", name, token, fault, why, row, keys={"keys": [jwk]})


@cache
def _tokens() -> dict[str, Any]:
    recorded_tokens: dict[str, Any] = json.loads(recording_command.RECORDED_FILE.read_text("ascii"))
    return recorded_tokens


def _read_recorded(name: str) -> tuple[str, dict[str, Any]]:
    """Return a recorded token with its key.

    Raises:
        BuildFault: Its header or payload is not what is meant, or its signature does not hold.
    """
    token, jwk = str(_tokens()[name]["token"]), dict(_tokens()[name]["jwk"])
    read = parse(token)
    alg, sign_token = recording_command.TOKENS[name]
    if dict(read.header) != recording_command.header(alg) or read.payload != _body():
        raise BuildFault(f"the recorded token {name} says something else than the vector; record it again")
    try:
        _verify(sign_token, jwk, read.signing_input, read.signature)
    except InvalidSignature as fault:
        raise BuildFault(f"the recorded signature of {name} does not hold") from fault
    return token, jwk


def _verify(alg: str, jwk: dict[str, Any], message: bytes, signature: bytes) -> None:
    number = {name: int.from_bytes(decode_base64url(jwk[name]), "big") for name in ("x", "y", "n", "e") if name in jwk}
    if alg == "ES256":
        public = ec.EllipticCurvePublicNumbers(number["x"], number["y"], ec.SECP256R1()).public_key()
        r, s = (int.from_bytes(half, "big") for half in (signature[:32], signature[32:]))
        public.verify(encode_dss_signature(r, s), message, ec.ECDSA(hashes.SHA256()))
        return
    key = rsa.RSAPublicNumbers(number["e"], number["n"]).public_key()
    pss = padding.PSS(padding.MGF1(hashes.SHA256()), hashes.SHA256.digest_size)
    key.verify(signature, message, padding.PKCS1v15() if alg == "RS256" else pss, hashes.SHA256())
