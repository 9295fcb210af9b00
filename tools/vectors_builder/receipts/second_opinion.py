"""Libraries that share no code with the suite's judge of receipts, asked about the same tokens.

PyCryptodome and libsodium check the equation of every vector that has one; PyJWT and joserfc read whole tokens under
the key that P-RV-01 selects; orjson says what is JSON, `rfc8785` what is canonical and what hashes are over. The
judge itself uses none of them, but `cryptography`, `jcs` and its own reading of base64url and JSON.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import base58
import orjson
import rfc8785
from Crypto.Hash import HMAC, SHA256, SHA384, SHA512
from Crypto.PublicKey import ECC, RSA
from Crypto.Signature import DSS, eddsa, pkcs1_15, pss
from nacl.exceptions import CryptoError
from nacl.signing import VerifyKey

from conformance.vectors.judges.receipts import STAGES
from tools.vectors_builder.drafting import Draft
from tools.vectors_builder.receipts.material import FIRST_KEY

# Faults of form that leave nothing to verify; all others of that stage are truly signed: only the form is wrong.
UNSIGNED_CODES: Final = frozenset(
    {
        *("too_few_segments", "too_many_segments", "empty_segment", "unsecured", "json_serialisation", "no_payload"),
        *("foreign_letter", "line_end", "beyond_ascii", "impossible_length"),
        *("key_x_absent", "key_x_length"),
    }
)
_ED25519: Final = {"kty": "OKP", "crv": "Ed25519"}


def complaints(draft: Draft) -> Iterator[str]:
    """Yield where unrelated libraries disagree with a draft: a sentence each, that begins with the library's name."""
    token = draft.input.get("jws")
    if not isinstance(token, str) or not token:
        return
    yield from _equations(draft, token)
    yield from _whole_tokens(draft, token)
    if _reaches(draft, "payload"):
        yield from _payload(draft, _decode_base64(token.split(".")[1]))


def _reaches(draft: Draft, stage: str) -> bool:
    return draft.valid or STAGES.index(draft.stage) >= STAGES.index(stage)


def _equations(draft: Draft, token: str) -> Iterator[str]:
    if draft.stage == "format" and draft.fault_name in UNSIGNED_CODES:
        return
    if draft.stage == "algorithm":
        if not _signed_somehow(draft.input["jwks"], token):
            yield "PyCryptodome: it is not signed, so more than its algorithm is wrong"
        return
    jwk = select_key(draft.input["jwks"], token) or dict(FIRST_KEY.jwk)
    raw = _octets(jwk.get("x"))
    for library, holds in (("PyCryptodome", _pycryptodome), ("libsodium", _libsodium)):
        actual = holds(raw, *_split_signature(token))
        if actual == (draft.stage == "signature"):
            yield f"{library}: the equation {'holds' if actual else 'does not hold'}"


def _split_signature(token: str) -> tuple[bytes, bytes]:
    text, _, tail = token.strip().rpartition(".")
    return text.encode(), _decode_base64(tail)


def _decode_base64(segment: str) -> bytes:
    """Return the bytes of base64 in any alphabet, with padding or without."""
    text = "".join(segment.split()).rstrip("=").replace("-", "+").replace("_", "/")
    return base64.b64decode(text + "=" * (-len(text) % 4))


def _octets(text: Any) -> bytes:
    return _decode_base64(text) if isinstance(text, str) else b""


def select_key(document: Any, token: str) -> dict[str, Any] | None:
    """Return the key that a token's header selects from a key set (P-RV-01); None if there is no such key."""
    keys = document.get("keys") if isinstance(document, Mapping) else None
    key_list = [one for one in keys if isinstance(one, Mapping)] if isinstance(keys, list) else []
    kid = _header(token).get("kid")
    keys_with_kid = [one for one in key_list if kid is not None and one.get("kid") == kid]
    ed25519_keys = [one for one in keys_with_kid if (one.get("kty"), one.get("crv")) == ("OKP", "Ed25519")]
    return dict([*ed25519_keys, *keys_with_kid, *key_list][0]) if key_list else None


def _header(token: str) -> dict[str, Any]:
    try:
        value = json.loads(_decode_base64(token.split(".", maxsplit=1)[0]).decode("utf-8-sig"))
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _pycryptodome(raw: bytes, message: bytes, signature: bytes) -> bool:
    try:
        eddsa.new(eddsa.import_public_key(raw), "rfc8032").verify(message, signature)
    except ValueError:
        return False
    return True


def _libsodium(raw: bytes, message: bytes, signature: bytes) -> bool:
    try:
        VerifyKey(raw).verify(message, signature)
    except (CryptoError, ValueError):
        return False
    return True


def _signed_somehow(document: Any, token: str) -> bool:
    """Return whether a token is truly signed by what its key set holds, or by a secret that can be read off it."""
    message, signature = _split_signature(token)
    alg = str(_header(token).get("alg"))
    keys = [one for one in document["keys"] if isinstance(one, Mapping)]
    return any(_holds(dict(jwk), alg, message, signature) for jwk in keys)


def _holds(jwk: dict[str, Any], alg: str, message: bytes, signature: bytes) -> bool:
    try:
        return any(equation(jwk, alg, message, signature) for equation in _EQUATIONS)
    except ValueError:
        return False


def _by_ed25519(jwk: Mapping[str, Any], alg: str, message: bytes, signature: bytes) -> bool:
    del alg
    return "x" in jwk and _pycryptodome(_octets(jwk["x"]), message, signature)


def _by_ed448(jwk: Mapping[str, Any], alg: str, message: bytes, signature: bytes) -> bool:
    del alg
    return jwk.get("crv") == "Ed448" and _pycryptodome(_octets(jwk["x"]), message, signature)


def _by_ecdsa(jwk: Mapping[str, Any], alg: str, message: bytes, signature: bytes) -> bool:
    del alg
    if jwk.get("kty") != "EC" or "y" not in jwk:
        return False
    x, y = (int.from_bytes(_octets(jwk[name]), "big") for name in ("x", "y"))
    key = ECC.construct(curve=jwk["crv"], point_x=x, point_y=y)
    return _raises_nothing(lambda: DSS.new(key, "fips-186-3").verify(SHA256.new(message), signature))


def _by_rsa(jwk: Mapping[str, Any], alg: str, message: bytes, signature: bytes) -> bool:
    if jwk.get("kty") != "RSA":
        return False
    n, e = (int.from_bytes(_octets(jwk[name]), "big") for name in ("n", "e"))
    key = RSA.construct((n, e))
    scheme: Any = pss.new(key) if alg.startswith("PS") else pkcs1_15.new(key)
    return _raises_nothing(lambda: scheme.verify(SHA256.new(message), signature))


def _by_hmac(jwk: Mapping[str, Any], alg: str, message: bytes, signature: bytes) -> bool:
    digest = {"HS256": SHA256, "HS384": SHA384, "HS512": SHA512}.get(alg)
    macs = [HMAC.new(secret, message, digest).digest() for secret in _secrets(jwk)] if digest else []
    return signature in macs


def _secrets(jwk: Mapping[str, Any]) -> Iterator[bytes]:
    """Yield everything public that a confused verifier takes for a secret."""
    yield b""
    yield str(jwk.get("kid")).encode()
    yield _octets(jwk.get("k"))
    if jwk.get("crv") == "Ed25519":
        yield _octets(jwk["x"])
        yield str(jwk["x"]).encode()
        yield json.dumps(dict(jwk), separators=(",", ":")).encode()
        key = eddsa.import_public_key(_octets(jwk["x"]))
        yield f"{key.export_key(format='PEM')}\n".encode()
        yield key.export_key(format="DER")


def _raises_nothing(verify: Callable[[], Any]) -> bool:
    try:
        verify()
    except ValueError:
        return False
    return True


_EQUATIONS: Final = (_by_ed25519, _by_ed448, _by_ecdsa, _by_rsa, _by_hmac)


def _whole_tokens(draft: Draft, token: str) -> Iterator[str]:
    intended = _reaches(draft, "payload")
    jwk = select_key(draft.input["jwks"], token)
    for library, accepts in (("PyJWT", _pyjwt), ("joserfc", _joserfc)):
        actual = jwk is not None and accepts(jwk, token)
        if actual is not None and actual != intended:
            yield f"{library}: the token {'holds' if actual else 'does not hold'}"


def _pyjwt(jwk: dict[str, Any], token: str) -> bool | None:
    """Return what PyJWT says of a token; None of the name Ed25519, which it does not know."""
    import jwt  # noqa: PLC0415 - of the extra `dev`

    if _header(token).get("alg") == "Ed25519":
        return None
    try:
        key = jwt.PyJWK.from_dict(jwk)
        jwt.PyJWS().decode(token, key, algorithms=["EdDSA"])
    except (jwt.PyJWTError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return False
    return True


def _joserfc(jwk: dict[str, Any], token: str) -> bool:
    from joserfc import jws  # noqa: PLC0415 - takes long to import
    from joserfc.errors import JoseError, SecurityWarning  # noqa: PLC0415 - same
    from joserfc.jwk import JWKRegistry  # noqa: PLC0415 - same

    registry = jws.JWSRegistry(algorithms=["EdDSA", "Ed25519"], strict_check_header=False)
    # It refuses a header over 512 bytes; the standard sets no limit.
    registry.max_header_length = registry.max_payload_length = len(token)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SecurityWarning)  # RFC 9864 deprecates the name EdDSA
            jws.deserialize_compact(token, JWKRegistry.import_key(jwk), registry=registry)
    except (JoseError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return False
    return True


def _payload(draft: Draft, payload: bytes) -> Iterator[str]:
    try:
        is_object = isinstance(orjson.loads(payload), dict)
    except orjson.JSONDecodeError:
        is_object = False
    if is_object == (draft.stage == "payload"):
        yield f"orjson: the payload is {'an' if is_object else 'no'} object"
    if not is_object or not _reaches(draft, "canon_version"):
        return
    if _is_canonical(payload) == (draft.stage == "canonical"):
        yield f"rfc8785: the payload is {'not ' if draft.stage != 'canonical' else ''}its canonical form"
    elif _reaches(draft, "bindings"):
        differences = sorted(_list_differences(json.loads(payload), draft.input))
        if differences != sorted(draft.expected_codes):
            yield f"rfc8785: over what was given, {differences or 'nothing'} differs"


def _is_canonical(payload: bytes) -> bool:
    try:
        return rfc8785.dumps(json.loads(payload)) == payload
    except (rfc8785.CanonicalizationError, UnicodeEncodeError):
        return False


def _list_differences(claims: Mapping[str, Any], vector_input: Mapping[str, Any]) -> Iterator[str]:
    """Yield the codes of what does not fit, recomputed from the sentences of profile 2.3 and 2.5."""
    compliance = claims.get("kind") is None and "settlement_result" not in claims
    for member, claim, recipe in (
        ("request", "request_hash", _request),
        ("response", "response_hash", lambda value: rfc8785.dumps(value["result"])),
        ("settlement", "payment_hash" if compliance else "settled_payment_ref", _settlement),
        ("payment_reference", "payment_reference_hash", lambda value: value.encode()),
        ("payer", "payer_ref", _payer),
    ):
        if member in vector_input:
            code = "settled_payment_ref" if member == "settlement" else claim
            text = recipe(vector_input[member])
            if text is None or claims.get(claim) != f"sha256:{hashlib.sha256(text).hexdigest()}":
                yield f"{code}_differs"


def _request(value: Mapping[str, Any]) -> bytes:
    return rfc8785.dumps({name: value[name] for name in ("body", "method", "path", "query", "service_id")})


def _settlement(value: Mapping[str, Any]) -> bytes | None:
    tx, network = value["tx_id"], value["network"]
    if network.startswith("base"):
        tx = tx.lower()
    elif network.startswith("solana"):
        tx = base58.b58encode(base58.b58decode(tx)).decode()
        if tx != value["tx_id"]:
            return None
    elif base64.b32encode(base64.b32decode(tx + "====")).decode().rstrip("=") != tx:
        return None
    return f"{value.get('service', 'weldproof')}-payable-core:{tx}:{network}".encode()


def _payer(value: Mapping[str, Any]) -> bytes:
    address = value["address"]
    if re.fullmatch("0x[0-9A-Fa-f]{40}", address):
        address = address.lower()
    return rfc8785.dumps({"address": address, "network": value["network"]})
