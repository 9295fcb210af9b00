"""Variants of published keys and of the protected headers of signatures."""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from reference.protocol import jws, keys
from reference.protocol.canonical_json import canonicalise
from reference.protocol.keys import PublicKey, SigningKey, base64url
from reference.variants.chameleon.answer_rewriter import Answer
from reference.variants.chameleon.variant_shape import Shape
from reference.variants.seams import replace

# A point of P-256 (the example of RFC 7517, appendix A.1), so that a key set may hold a key that signs no receipt.
_P256 = {
    "kty": "EC",
    "crv": "P-256",
    "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
    "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
    "use": "sig",
    "kid": "p256-1",
}
_DOCUMENTS = ("/.well-known/did.json", "/.well-known/jwks.json")


def install(shape: Shape, surface: str) -> None:
    """Install the variant of keys and signatures in the service."""
    did = keys.did_web(os.environ.get(f"WP_{surface.upper()}_PUBLIC_URL") or "http://localhost")
    name_key = _namer(shape.kid, did)
    replace(jws, "_protected_header", lambda _: lambda kid: _header(shape, name_key(kid)))
    replace(keys, "jwks", lambda _: lambda public_keys: {"keys": _key_set(shape, name_key, public_keys)})
    replace(keys, "did_document", lambda made: _did(shape, name_key, made))


def _namer(form: str, did: str) -> Callable[[str], str | None]:
    forms: Mapping[str, Callable[[str], str | None]] = {
        "labelled": lambda kid: f"key-{kid[:12]}",
        "did-url": lambda kid: f"{did}#{kid}",
        "not in the header": lambda kid: kid,
        "nowhere": lambda _: None,
    }
    return forms.get(form, lambda kid: kid)


def _header(shape: Shape, kid: str | None) -> str:
    members: dict[str, Any] = {"alg": "EdDSA", "typ": "JWT", **shape.jws_header}
    if kid is not None and shape.kid != "not in the header":
        members["kid"] = kid
    return base64url(canonicalise({name: value for name, value in members.items() if value is not None}))


def _jwk(shape: Shape, kid: str | None, key: PublicKey) -> dict[str, Any]:
    jwk: dict[str, Any] = {"kty": "OKP", "crv": "Ed25519", "x": key.x}
    if kid is not None:
        jwk["kid"] = kid
    further: Mapping[str, Mapping[str, Any]] = {
        "use": {"use": "sig"},
        "alg": {"alg": "EdDSA", "use": "sig"},
        "key_ops": {"key_ops": ["verify"], "alg": "Ed25519", "ext": True},
    }
    return {**jwk, **further.get(shape.jwk_members, {})}


def other_key(shape: Shape, label: str) -> PublicKey:
    """Return a further public key of a variant; its private half is never used."""
    return SigningKey.from_seed(hashlib.sha256(f"chameleon:{shape.seed}:{label}".encode()).digest()).public


def _key_set(
    shape: Shape, name_key: Callable[[str], str | None], public_keys: Sequence[PublicKey]
) -> list[dict[str, Any]]:
    own = [_jwk(shape, name_key(key.kid), key) for key in public_keys]
    other_keys = [_jwk(shape, name_key(key.kid) or "retired-1", key) for key in (other_key(shape, "retired"),)]
    if shape.jwks == "others after":
        return [*own, *other_keys, dict(_P256)]
    return [dict(_P256), *other_keys, *own] if shape.jwks == "others before" else own


def _did(shape: Shape, name_key: Callable[[str], str | None], original: Callable[..., Any]) -> Callable[..., Any]:
    def document(did: str, public_keys: Sequence[PublicKey], services: Sequence[Mapping[str, str]]) -> dict[str, Any]:
        value: dict[str, Any] = original(did, public_keys, services)
        fragments = [(name_key(key.kid) or "key-1").rpartition("#")[2] for key in public_keys]
        methods = [_method(shape, did, *one) for one in zip(fragments, public_keys, strict=True)]
        active = methods[0]["id"]
        value |= {"verificationMethod": methods, "authentication": [active], "assertionMethod": [active]}
        if shape.did_document == "embedded":
            # The signing key is inside assertionMethod only. The key in verificationMethod authenticates and never
            # signs receipts, so a verifier that takes the first listed key fails.
            login_key = _method(shape, did, "login", other_key(shape, "login"))
            value |= {
                "verificationMethod": [login_key],
                "authentication": [login_key["id"]],
                "assertionMethod": methods[:1],
            }
        if shape.did_document == "embedded alone":
            del value["verificationMethod"], value["authentication"]
            value["assertionMethod"] = methods
        if shape.did_document == "bare":
            del value["assertionMethod"], value["authentication"]
        return value

    return document


def _method(shape: Shape, did: str, fragment: str, key: PublicKey) -> dict[str, Any]:
    identifier = f"#{fragment}" if shape.did_document == "relative" else f"{did}#{fragment}"
    method: dict[str, Any] = {"id": identifier, "controller": did}
    if shape.did_document in {"multikey", "bare"}:
        kind = "Multikey" if shape.did_document == "multikey" else "Ed25519VerificationKey2020"
        return {**method, "type": kind, "publicKeyMultibase": key.did_key.removeprefix("did:key:")}
    jwk = {"kty": "OKP", "crv": "Ed25519", "x": base64.urlsafe_b64encode(key.raw).decode().rstrip("=")}
    return {**method, "type": "JsonWebKey2020", "publicKeyJwk": jwk}


def documents_edit(answer: Answer, shape: Shape) -> None:
    """Send key documents as plain JSON if the variant says so."""
    if (
        shape.key_media_type == "json"
        and answer.status == 200
        and answer.request.path in {*_DOCUMENTS, shape.jwks_path}
    ):
        answer.set_header("Content-Type", "application/json")
