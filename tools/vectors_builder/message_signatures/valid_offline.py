"""Messages that hold and that an agent's request has no room for: related requests, trailers, other algorithms."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from typing import Any

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from conformance.oracles.message_signatures.algorithms import (
    ECDSA_P256,
    ECDSA_P384,
    HMAC_SHA256,
    RSA_V1_5,
    SigningKey,
)
from conformance.oracles.message_signatures.keys import read_private
from tools.vectors_builder.drafting import Draft
from tools.vectors_builder.message_signatures import rfc_keys
from tools.vectors_builder.message_signatures.drafting import (
    OFFLINE,
    SEED,
    Members,
    get,
    holds,
    post,
    sign,
    with_headers,
)


def answer(**changes: Any) -> Members:
    """Return a response with the request that it answers."""
    response = {**get(), "status": 200, "headers": {"Content-Type": "text/plain"}, "related_request": post()}
    return {**response, **changes}


def curve_key(algorithm: str) -> tuple[SigningKey, dict[str, str]]:
    """Return an ECDSA key made from the seed, with its public members."""
    curve = ec.SECP256R1() if algorithm == ECDSA_P256 else ec.SECP384R1()
    secret = int.from_bytes(hashlib.sha256(f"{SEED}: {algorithm}".encode()).digest(), "big") >> 2
    key = ec.derive_private_key(secret, curve)
    pem = key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    return SigningKey((algorithm,), key), {"algorithm": algorithm, "public_key_pem": pem.decode("ascii")}


def secret_key() -> tuple[SigningKey, dict[str, str]]:
    """Return a shared secret made from the seed, with its members."""
    secret = hashlib.sha256(f"{SEED}: secret".encode()).digest()
    return SigningKey((HMAC_SHA256,), secret), {
        "algorithm": HMAC_SHA256,
        "secret_b64": base64.b64encode(secret).decode("ascii"),
    }


def rsa_key() -> tuple[SigningKey, dict[str, str]]:
    """Return the RFC's RSA key for PKCS#1 v1.5, with its public members."""
    key = SigningKey((RSA_V1_5,), read_private(rfc_keys.RSA_PRIVATE.encode()).material)
    return key, {"algorithm": RSA_V1_5, "public_key_pem": rfc_keys.RSA_PUBLIC}


def drafts() -> Iterator[Draft]:
    """Yield them."""
    yield from _related_drafts()
    yield from _trailers()
    yield from _algorithms()


def _related_drafts() -> Iterator[Draft]:
    def yes(variant: str, message: Members, components: str, why: str) -> Draft:
        return holds("req", variant, sign(message, components), why, doors=OFFLINE)

    derived_components = '"@status" "@method";req "@authority";req "@path";req "@target-uri";req'
    yield yes("derived", answer(), derived_components, "a response bound to its request's target")
    fields = '"@status" "content-digest";req "content-type" "content-type";req'
    yield yes("fields", answer(), fields, "the same field of both messages")
    signed_request = sign(get(), '"@method"', label="ask")
    signature_components = '"signature";req;key="ask" "@status" "@query-param";req;name="page"'
    yield yes(
        "a-signature",
        answer(related_request=signed_request),
        signature_components,
        "a response to that very signed request",
    )


def _trailers() -> Iterator[Draft]:
    def yes(variant: str, message: Members, components: str, why: str) -> Draft:
        return holds("tr", variant, sign(message, components), why, doors=OFFLINE)

    trailers = {"Expires": "Wed, 9 Nov 2022 07:28:00 GMT"}
    message = with_headers(answer(trailers=trailers), trailer="Expires")
    yield yes("rfc-example", message, '"@status" "trailer" "expires";tr', "RFC 9421 2.1.4")
    with_both = with_headers(answer(trailers={"X-Sum": ["1", "2"]}), x_sum="0")
    yield yes("beside-a-header", with_both, '"x-sum" "x-sum";tr', "header and trailer of one name are never joined")
    late = answer(trailers={"Priority": "u=2,  i"})
    yield yes("strict", late, '"priority";tr;sf "priority";key="u";tr', "trailers take the other parameters too")


def _algorithms() -> Iterator[Draft]:
    components = '"@method" "@authority" "@path"'
    for algorithm, (key, members) in {
        ECDSA_P256: curve_key(ECDSA_P256),
        ECDSA_P384: curve_key(ECDSA_P384),
        HMAC_SHA256: secret_key(),
        RSA_V1_5: rsa_key(),
    }.items():
        policy = {"allowed_algorithms": [algorithm]}
        for variant, more in (("", ""), ("-stated", f';alg="{algorithm}"')):
            message = sign(get(), components, f';created=1735689600;keyid="other"{more}', by=key)
            yield holds(
                f"algorithm-{algorithm}",
                f"plain{variant}",
                message,
                "RFC 9421 3.3",
                key=members,
                policy=policy,
                doors=OFFLINE,
            )
