"""The open points of the verifiable-comms agent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reference.protocol.message_signatures.fix_notes import FIX_NOTES
from reference.variants.chameleon import agent_sign_points
from reference.variants.chameleon.agent_sign_points import BY_URL, FLAT, WORDS
from reference.variants.chameleon.points import Choice, Point

_KEYS: Mapping[str, Any] = {"public_key_hex": "{public_key_hex}", "did_key": "{did_key}"}


def _at(name: str, place: str) -> dict[str, Any]:
    return {f"agent.{name}": place}


def _codes(place: str) -> dict[str, Any]:
    """Return the bindings of error codes: their place, and each code under its name."""
    return {"agent.codes_at": place, "agent.error_codes": {code: code for code in FIX_NOTES}}


POINTS = (
    Point(
        # 6.2 names only the two keys; all other names in the bodies are open. The envelope stays a JSON object,
        # which is required.
        "agent.request",
        ("6",),
        "names in the bodies of verify, explain and sign, in addition to the two that are stated",
        (
            Choice("method, authority, path", may_bind={"agent.verify_body": {**FLAT, **_KEYS}}),
            Choice("a URL", {"agent_request": "url"}, may_bind={"agent.verify_body": {**BY_URL, **_KEYS}}),
            Choice(
                "in an envelope",
                {"agent_request": "envelope"},
                may_bind={"agent.verify_body": {"envelope": FLAT, **_KEYS}},
            ),
            Choice(
                "the signature in members of its own",
                {"agent_request": "members"},
                binds={
                    "agent.verify_body": {
                        **FLAT,
                        "signature_input": "{signature_input}",
                        "signature": "{signature}",
                        **_KEYS,
                    },
                    "agent.sign_body": FLAT,
                },
            ),
            Choice(
                "other words, pairs and a JWK",
                {"agent_request": "words"},
                binds={
                    "agent.verify_body": {**WORDS, "signer": {"jwk": "{key_jwk}"}},
                    "agent.explain_body": {**WORDS, **_KEYS},
                    "agent.sign_body": WORDS,
                },
            ),
        ),
    ),
    Point(
        # The result must say whether the message is valid, in no particular words (6.3). The suite finds usual
        # words by itself; a word of the target must be bound.
        "agent.validity",
        ("7",),
        "how a result says whether the message is valid",
        (
            Choice("valid", may_bind=_at("validity_at", "valid")),
            Choice("verified", {"agent_validity": "verified"}, may_bind=_at("validity_at", "verified")),
            Choice("a word in outcome", {"agent_validity": "word"}, may_bind=_at("validity_at", "outcome")),
            Choice(
                "a word of its own in outcome",
                {"agent_validity": "own word"},
                binds={"agent.validity_words": {"accepted": True, "refused": False}},
                may_bind=_at("validity_at", "outcome"),
            ),
            Choice(
                "deep inside", {"agent_validity": "deep"}, may_bind=_at("validity_at", "assessment.signature.holds")
            ),
        ),
    ),
    Point(
        # The result must contain a list of errors. What an error is, a text or an object, is open (6.3).
        "agent.errors",
        ("7",),
        "the list of errors, and what is in it",
        (
            Choice("errors, of sentences", may_bind={**_at("errors_at", "errors"), **_codes("error_codes")}),
            Choice("problems, of objects", {"agent_errors": "objects"}, may_bind=_at("errors_at", "problems")),
            Choice(
                "report.errors, of codes",
                {"agent_errors": "codes"},
                may_bind={**_at("errors_at", "report.errors"), **_codes("report.errors")},
            ),
            Choice("findings, of objects", {"agent_errors": "findings"}, may_bind=_at("errors_at", "findings")),
        ),
    ),
    Point(
        # Explain must contain pass or fail. A validity that agrees with verify is such a statement, so the last
        # choice is valid as well.
        "agent.word",
        ("7",),
        "what an explanation says of pass and fail",
        (
            Choice("a verdict beside the validity"),
            Choice("a verdict in capitals", {"agent_word": "capitals"}),
            Choice("valid or invalid as its result, without the validity", {"agent_word": "result"}),
            Choice("the validity alone", {"agent_word": "none"}),
        ),
    ),
    Point(
        # The base must be exact, byte for byte. Its encoding in JSON is open: a list of lines and base64 carry the
        # same bytes.
        "agent.base",
        ("7",),
        "the place of the signature base",
        (
            Choice("signature_base and signing_base", may_bind=_at("signing_base_at", "signature_base")),
            Choice(
                "canonical_signing_base",
                {"agent_base": "canonical"},
                may_bind=_at("signing_base_at", "canonical_signing_base"),
            ),
            Choice("a list of lines", {"agent_base": "lines"}, may_bind=_at("signing_base_at", "base.lines")),
            Choice("signed.octets", {"agent_base": "unusual"}, may_bind=_at("signing_base_at", "signed.octets")),
            Choice("in base64", {"agent_base": "base64"}, may_bind=_at("signing_base_at", "signing_base_b64")),
        ),
    ),
    Point(
        # The recomputation must be present. Its form is open, and a target may show every algorithm it knows.
        "agent.digest",
        ("7",),
        "how the recomputed digest is shown",
        (
            Choice("content_digest.computed", may_bind=_at("digest_at", "content_digest.computed")),
            Choice("as the field's value", {"agent_digest": "field"}, may_bind=_at("digest_at", "recomputed")),
            Choice("in a list", {"agent_digest": "list"}, may_bind=_at("digest_at", "digests.0.value")),
            Choice("by every algorithm", {"agent_digest": "every"}),
        ),
    ),
    Point(
        # A failing message must come with at least one note. The member and its structure are open.
        "agent.notes",
        ("7",),
        "the place of the fix notes, and their form",
        (
            Choice("a list of sentences", may_bind=_at("notes_at", "fix_notes")),
            Choice("one text", {"agent_notes": "text"}, may_bind=_at("notes_at", "advice")),
            Choice("a list of objects", {"agent_notes": "objects"}, may_bind=_at("notes_at", "hints")),
            Choice("what_to_do", {"agent_notes": "unusual"}, binds=_at("notes_at", "what_to_do")),
        ),
    ),
    Point(
        # The order must be that of the signature. Quotation marks are notation.
        "agent.components",
        ("7",),
        "how the covered components are listed",
        (
            Choice("identifiers with their quotes"),
            Choice("names", {"agent_components": "plain"}),
            Choice("objects", {"agent_components": "objects"}),
            Choice("the inner list as text", {"agent_components": "text"}),
        ),
    ),
    Point(
        # Explain must contain the parameters. Whether they are an object, a list or a text is open (7).
        "agent.parameters",
        ("7",),
        "how the signature parameters are shown",
        (
            Choice("an object"),
            Choice("an object inside another", {"agent_parameters": "deep"}),
            Choice("a list of names and values", {"agent_parameters": "list"}),
            Choice("one text", {"agent_parameters": "text"}),
        ),
    ),
    Point(
        "agent.members",
        ("7",),
        "members of results in addition to those that are stated",
        (Choice("some"), Choice("none", {"agent_members": "few"}), Choice("more", {"agent_members": "more"})),
    ),
    Point(
        # An item needs `loc`, `msg` and `type` with the right types. Their words are those of a validator, and
        # validators differ.
        "agent.detail",
        ("6",),
        "words, places and further members of the items of a 422",
        (
            Choice("one item a fault"),
            Choice("other types", {"agent_detail": "old words"}),
            Choice("further members", {"agent_detail": "more members"}),
            Choice("one item, placed by number", {"agent_detail": "one item"}),
        ),
    ),
    Point(
        # Limits of sizes are open (23).
        "agent.body-limit",
        ("23",),
        "the largest body that is taken",
        (
            Choice("262144"),
            Choice("65536", settings={"WP_AGENT_BODY_LIMIT": "65536"}),
            Choice("40000", settings={"WP_AGENT_BODY_LIMIT": "40000"}),
        ),
    ),
    Point(
        # Only the 422 has a stated form, HTTPValidationError. Other errors are open (21).
        "agent.refusals",
        ("21",),
        "bodies of errors beyond 422",
        (
            Choice("detail"),
            Choice("error and message", {"agent_refusals": "error and message"}),
            Choice("problem details", {"agent_refusals": "problem"}),
        ),
    ),
    Point(
        # C-08: whether such a message is a malformed request can be read either way.
        "agent.unparsable-headers",
        ("C-08",),
        "the answer to signature headers that cannot be parsed",
        (Choice("200, not valid"), Choice("422", {"agent_unparsable": 422})),
    ),
    Point(
        # RFC 9421, 3.2.1: an application may require that signatures are fresh.
        "agent.max-age",
        ("6",),
        "how old a signature may be where the caller says nothing of it",
        (Choice("as old as it likes"), Choice("five minutes", {"agent_max_age": 300})),
    ),
    *agent_sign_points.POINTS,
    Point(
        # Open point 30: the document must exist, and its address is not stated.
        "agent.openapi-path",
        ("30",),
        "address of the OpenAPI document",
        (
            Choice("/openapi.json", may_bind=_at("openapi_path", "/openapi.json")),
            Choice(
                "/.well-known/openapi.json",
                {"agent_openapi_path": "/.well-known/openapi.json"},
                may_bind=_at("openapi_path", "/.well-known/openapi.json"),
            ),
            Choice(
                "/docs/agent.json",
                {"agent_openapi_path": "/docs/agent.json"},
                binds=_at("openapi_path", "/docs/agent.json"),
            ),
        ),
    ),
    Point(
        # No operation may declare a security requirement. An absent and an empty list both say so.
        "agent.openapi",
        ("30",),
        "content of the OpenAPI document in addition to operations and versions",
        (
            Choice("schemas and servers"),
            Choice("nothing", {"agent_openapi": "bare"}),
            Choice("that there is no security", {"agent_openapi": "explicit"}),
        ),
    ),
    Point(
        # A2A 0.3 requires some members of a card and allows further ones, signatures and unknown extensions among
        # them.
        "agent.card",
        ("10",),
        "members of the card beyond those that A2A demands",
        (Choice("some"), Choice("none", {"agent_card": "few"}), Choice("more", {"agent_card": "more"})),
    ),
    Point(
        # The two cards should name the same agent (6.1), which an older form does as well.
        "agent.legacy-card",
        ("10",),
        "the card at the older address",
        (Choice("the same"), Choice("of an older form", {"agent_legacy_card": "older"})),
    ),
    Point(
        # Health must be a JSON object with members of the agent's choice, so an empty object is valid (6.1).
        "agent.health",
        ("28",),
        "the health document",
        (
            Choice("status, service, version"),
            Choice("an empty object", {"agent_health": "empty"}),
            Choice("checks", {"agent_health": "checks"}),
        ),
    ),
    Point(
        # The landing document must be JSON. The rest is open (10).
        "agent.landing",
        ("10",),
        "the landing document",
        (
            Choice("links"),
            Choice("a name", {"agent_landing": "name"}),
            Choice("a list of operations", {"agent_landing": "operations"}),
        ),
    ),
    Point(
        # GET /a2a must be a JSON hint and not a bare 405. Its members are open.
        "agent.hint",
        ("10",),
        "how GET /a2a points to the transport",
        (
            Choice("hint, method, url"),
            Choice("an object of the transport", {"agent_hint": "transport"}),
            Choice("a sentence", {"agent_hint": "sentence"}),
        ),
    ),
    Point(
        # A2A 0.3 lets `message/send` answer with a task or with a message.
        "agent.a2a",
        ("10",),
        "what message/send answers",
        (
            Choice("a task"),
            Choice("a message", {"agent_a2a": "message"}),
            Choice("a task in a member", {"agent_a2a": "wrapped"}),
        ),
    ),
    Point(
        # JSON-RPC 2.0 fixes the codes. The message is for people and `data` is optional.
        "agent.rpc-errors",
        ("10",),
        "text and data of JSON-RPC errors",
        (
            Choice("a sentence"),
            Choice("a word and data", {"agent_rpc_errors": "data"}),
            Choice("an empty text", {"agent_rpc_errors": "empty"}),
        ),
    ),
)
