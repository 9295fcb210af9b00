"""The open points of the agent's demo signatures, and the forms of a message that all bodies share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reference.variants.chameleon.points import Choice, Point
from reference.variants.chameleon.variant_shape import Shape

FLAT: Mapping[str, Any] = {
    "method": "{method}",
    "authority": "{authority}",
    "scheme": "{scheme}",
    "path": "{path}",
    "headers": "{headers}",
    "body_b64": "{body_b64}",
}
BY_URL: Mapping[str, Any] = {"method": "{method}", "url": "{url}", "headers": "{headers}", "body_b64": "{body_b64}"}
WORDS: Mapping[str, Any] = {
    "verb": "{method}",
    "host": "{authority}",
    "proto": "{scheme}",
    "target": "{path}",
    "fields": "{header_list}",
    "content_b64": "{body_b64}",
}
_TO_SIGN: Mapping[str, Mapping[str, Any]] = {
    "flat": FLAT,
    "url": BY_URL,
    "envelope": {"envelope": FLAT},
    "members": FLAT,
    "words": WORDS,
}


def _at(name: str, place: str) -> dict[str, Any]:
    return {f"agent.{name}": place}


def _inside(shape: Shape) -> dict[str, Any]:
    """Return the body of sign with the request inside, in the form of the variant."""
    return {"to_sign": _TO_SIGN[shape.agent_request]}


POINTS = (
    Point(
        # The parts of a request are demanded (6.5), and the nesting is open (6).
        "agent.sign-body",
        ("6",),
        "the body of sign, compared with that of verify",
        (
            Choice("the same members"),
            Choice("the request inside", {"sign_body": "inside"}, binds={"agent.sign_body": _inside}),
        ),
    ),
    Point(
        # Open point 7. A client needs the three fields that signing adds, wherever they are.
        "agent.sign-request",
        ("7",),
        "the place of the signed request in an answer of sign",
        (
            Choice("the whole answer"),
            Choice("signed_request, with pairs", {"sign_request": "pairs"}),
            Choice("request, with objects", {"sign_request": "objects"}),
            Choice("request, with names in lower case", {"sign_request": "lower case"}),
            Choice("a text as it is sent", {"sign_request": "text"}),
            Choice("what signing adds, in members", {"sign_request": "members"}),
            Choice(
                "what signing adds, under short names",
                {"sign_request": "short names"},
                binds={
                    "agent.signed_fields": {
                        "signature-input": "added.input",
                        "signature": "added.sig",
                        "content-digest": "added.digest",
                    }
                },
            ),
        ),
    ),
    Point(
        # Any of these forms carries the 32 bytes of the key (7, 15).
        "agent.sign-key",
        ("7", "15"),
        "form of the demo key",
        (
            Choice("hex and did:key", may_bind=_at("demo_key_at", "public_key_hex")),
            Choice("did:key", {"sign_key": "did:key"}, may_bind=_at("demo_key_at", "demo_key")),
            Choice("a JWK", {"sign_key": "JWK"}, may_bind=_at("demo_key_at", "verification.key")),
            Choice("multibase", {"sign_key": "multibase"}),
            Choice("PEM", {"sign_key": "PEM"}, may_bind=_at("demo_key_at", "public_key_pem")),
            Choice("base64", {"sign_key": "base64"}, binds=_at("demo_key_at", "demo_public_key")),
        ),
    ),
    Point(
        # RFC 9421, 1.4: the application decides which components a signature must cover.
        "agent.sign-cover",
        ("RFC 9421",),
        "components that a demo signature covers in addition to the digest",
        (
            Choice("method, authority, path, query"),
            Choice("method and target URI", {"sign_cover": "target"}),
            Choice("fields too", {"sign_cover": "fields too"}),
            Choice("path, query, authority, method, scheme", {"sign_cover": "turned"}),
        ),
    ),
    Point(
        # RFC 9421, 2.3: every parameter is optional. The suite verifies with the returned key, so `keyid` may be
        # any text.
        "agent.sign-parameters",
        ("RFC 9421",),
        "parameters of a demo signature",
        (
            Choice("created, expires, keyid, alg"),
            Choice("created alone", {"sign_parameters": "few"}),
            Choice("nonce and tag too, and a word as keyid", {"sign_parameters": "all"}),
        ),
    ),
    Point(
        # RFC 9421, 4.1: the label is chosen by the signer and has no meaning.
        "agent.sign-label",
        ("RFC 9421",),
        "label of a demo signature",
        (Choice("sig"), Choice("sig1", {"sign_label": "sig1"}), Choice("demo-1", {"sign_label": "demo-1"})),
    ),
    Point(
        # RFC 9530, section 5: sha-256 and sha-512 are the active algorithms, and a field may contain both.
        "agent.sign-digest",
        ("RFC 9530",),
        "algorithms of a demo request's digest",
        (
            Choice("sha-256"),
            Choice("sha-512", {"sign_digest": "sha-512"}),
            Choice("both", {"sign_digest": "both"}),
        ),
    ),
    Point(
        # A private key must not be used and not be echoed. Refusing it and ignoring it both keep that (6.5).
        "agent.sign-offered-keys",
        ("6",),
        "the answer to a private key that the caller offers",
        (Choice("422"), Choice("another key signs", {"sign_offered_keys": "ignored"})),
    ),
)
