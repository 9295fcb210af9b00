"""Variants of the agent's results: names, places and notation of what the interface demands."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from reference.protocol.keys import base64url
from reference.variants.chameleon.variant_shape import Shape

Place = tuple[str, Any]
_RENAMED_MEMBERS = frozenset(
    {
        *("valid", "errors", "error_codes", "verdict", "signature_base", "signing_base", "covered_components"),
        *("parameters", "content_digest", "fix_notes", "diagnosis"),
    }
)
_MORE: Mapping[str, Any] = {
    "ok": True,
    "took_ms": 2,
    "engine": {"name": "verifier", "version": [1, 2]},
    "warnings": [],
    "policy": {"max_age": None, "seconds_of_skew": 60},
}
_ADDED_MEMBERS = {"Signature-Input": "signature_input", "Signature": "signature", "Content-Digest": "content_digest"}
_SHORT = {"Signature-Input": "input", "Signature": "sig", "Content-Digest": "digest"}
# The constant head of a SubjectPublicKeyInfo of an Ed25519 key (RFC 8410, section 10.1): 32 bytes of key follow.
_SPKI = bytes.fromhex("302a300506032b6570032100")
_OWN_WORDS = {True: "accepted", False: "refused", None: "unverified"}
_WORDS = {True: "pass", False: "fail", None: "unverified"}


def set_at(document: dict[str, Any], place: str, value: Any) -> None:
    """Set the value at a dotted place."""
    *outer, name = place.split(".")
    for outer_name in outer:
        document = document.setdefault(outer_name, {})
    document[name] = value


def reshape_verdict(result: Mapping[str, Any], shape: Shape, content: bytes) -> dict[str, Any]:
    """Return a result of verify or explain in the form of the variant.

    Args:
        result: The service's result.
        shape: The variant's shape.
        content: The message's content.
    """
    explains = "verdict" in result
    answer: dict[str, Any] = {}
    for place, value in _list_places(result, shape, content, explains=explains):
        set_at(answer, place, value)
    if shape.agent_members == "few":
        return answer
    other_members = {name: value for name, value in result.items() if name not in _RENAMED_MEMBERS}
    more = _MORE if shape.agent_members == "more" else {}
    return {**other_members, **answer, **{name: value for name, value in more.items() if name not in answer}}


def _list_places(result: Mapping[str, Any], shape: Shape, content: bytes, *, explains: bool) -> Iterator[Place]:
    if not explains or shape.agent_word != "result":
        yield from _validity(result["valid"], shape)
    yield from _errors(result, shape)
    if not explains and shape.agent_members == "few":
        return
    yield from base(result["signature_base"], shape)
    yield from _components(result["covered_components"], shape)
    yield from _parameters(result["parameters"], shape)
    if explains:
        yield from _word(result["valid"], shape)
        yield from _digest(result["content_digest"], shape, content)
        yield from _notes(result["fix_notes"], shape)


def _validity(valid: bool | None, shape: Shape) -> Iterator[Place]:
    forms: Mapping[str, Place] = {
        "valid": ("valid", valid),
        "verified": ("verified", valid),
        "word": ("outcome", _WORDS[valid]),
        "own word": ("outcome", _OWN_WORDS[valid]),
        "deep": ("assessment.signature.holds", valid),
    }
    yield forms[shape.agent_validity]


def _word(valid: bool | None, shape: Shape) -> Iterator[Place]:
    if shape.agent_word == "verdict":
        yield "verdict", _WORDS[valid]
    elif shape.agent_word == "capitals":
        yield "verdict", _WORDS[valid].upper()
    elif shape.agent_word == "result":
        yield "result", {True: "valid", False: "invalid", None: "not asked"}[valid]


def _errors(result: Mapping[str, Any], shape: Shape) -> Iterator[Place]:
    pairs = list(zip(result["error_codes"], result["errors"], strict=True))
    if shape.agent_errors == "texts":
        yield from (("errors", result["errors"]), ("error_codes", result["error_codes"]))
    elif shape.agent_errors == "objects":
        yield "problems", [{"code": code.upper(), "message": text} for code, text in pairs]
    elif shape.agent_errors == "codes":
        yield "report.errors", [code for code, _ in pairs]
    else:
        yield "findings", [{"id": code.replace("_", "-"), "text": text} for code, text in pairs]


def base(text: str, shape: Shape) -> Iterator[Place]:
    """Yield the places of the signature base with its values."""
    forms: Mapping[str, Sequence[Place]] = {
        "text": (("signature_base", text), ("signing_base", text)),
        "canonical": (("canonical_signing_base", text),),
        "lines": (("base.lines", text.split("\n")),),
        "unusual": (("signed.octets", text),),
        "base64": (("signing_base_b64", base64.b64encode(text.encode()).decode()),),
    }
    yield from forms[shape.agent_base]


def _identifier(plain: str) -> str:
    name, mark, parameters = plain.partition(";")
    return f'"{name}"{mark}{parameters}'


def _components(names: Sequence[str], shape: Shape) -> Iterator[Place]:
    identifiers = [_identifier(one) for one in names]
    objects = [{"name": one.partition(";")[0], "parameters": one.partition(";")[2]} for one in names]
    forms: Mapping[str, Place] = {
        "identifiers": ("covered_components", identifiers),
        "plain": ("components", list(names)),
        "objects": ("covered", objects),
        "text": ("covers", f"({' '.join(identifiers)})"),
    }
    yield forms[shape.agent_components]


def _write_parameter(name: str, value: Any) -> str:
    return f"{name}={value}" if isinstance(value, int) else f'{name}="{value}"'


def _parameters(parameters: Mapping[str, Any] | None, shape: Shape) -> Iterator[Place]:
    members = parameters or {}
    forms: Mapping[str, Place] = {
        "object": ("parameters", parameters),
        "deep": ("input.params", dict(members)),
        "list": ("signature_parameters", [{"name": name, "value": value} for name, value in members.items()]),
        "text": ("signature_params", ";".join(_write_parameter(name, value) for name, value in members.items())),
    }
    yield forms[shape.agent_parameters]


def _digest(digest_result: Mapping[str, Any], shape: Shape, content: bytes) -> Iterator[Place]:
    algorithm = digest_result["algorithm"] or "sha-256"
    every = {
        name: base64.b64encode(hashlib.new(name.replace("-", ""), content).digest()).decode()
        for name in ("sha-256", "sha-512")
    }
    forms: Mapping[str, Sequence[Place]] = {
        "object": (("content_digest", dict(digest_result)),),
        "field": (
            ("recomputed", f"{algorithm}=:{digest_result['computed']}:"),
            ("digest_matches", digest_result["match"]),
        ),
        "list": (
            (
                "digests",
                [{"algorithm": algorithm, "value": digest_result["computed"], "given": digest_result["provided"]}],
            ),
        ),
        "every": (("body_digest", every),),
    }
    yield from forms[shape.agent_digest]


def _notes(notes: Sequence[str], shape: Shape) -> Iterator[Place]:
    forms: Mapping[str, Sequence[Place]] = {
        "list": (("fix_notes", list(notes)), ("diagnosis", list(notes))),
        "text": (("advice", "\n".join(notes)),),
        "objects": (("hints", [{"step": at, "detail": note} for at, note in enumerate(notes, 1)]),),
        "unusual": (("what_to_do", list(notes)),),
    }
    yield from forms[shape.agent_notes]


# Demo signatures.


def reshape_signed(result: Mapping[str, Any], shape: Shape) -> dict[str, Any]:
    """Return a result of sign in the form of the variant."""
    answer: dict[str, Any] = {}
    for place, value in (
        *_signed_request(result, shape),
        *_demo_key(result, shape),
        *base(result["signature_base"], shape),
    ):
        set_at(answer, place, value)
    if shape.agent_members == "few":
        return answer
    for place, value in (*_components(result["covered_components"], shape), *_parameters(result["parameters"], shape)):
        set_at(answer, place, value)
    other_members = {name: result[name] for name in ("label", "ephemeral", "note")}
    return {
        **other_members,
        **answer,
        **({"ok": True, "took_ms": 1, "warnings": []} if shape.agent_members == "more" else {}),
    }


def _signed_request(result: Mapping[str, Any], shape: Shape) -> Iterator[Place]:
    names = ("method", "authority", "path", "scheme", "headers", "body_b64")
    fields: Mapping[str, Any] = result["headers"]
    # Signing must return a correctly signed request and not a certain JSON form of one, so the same request is
    # written in seven ways.
    url = f"{result['scheme']}://{result['authority']}{result['path']}"
    pairs = [[name, line] for name, value in fields.items() for line in (value if isinstance(value, list) else [value])]
    request = {"method": result["method"], "url": url, "body_b64": result["body_b64"]}
    forms: Mapping[str, Callable[[], Sequence[Place]]] = {
        "flat": lambda: [(name, result[name]) for name in names],
        "pairs": lambda: [("signed_request", {**request, "headers": pairs})],
        "objects": lambda: [
            ("request", {**request, "header_fields": [{"name": name, "value": line} for name, line in pairs]})
        ],
        "lower case": lambda: [("request", {**request, "headers": {name.lower(): line for name, line in pairs}})],
        "text": lambda: [("http", _as_sent(result, pairs))],
        "members": lambda: [
            *((name, value) for name, value in request.items()),
            *((_ADDED_MEMBERS[name], line) for name, line in pairs if name in _ADDED_MEMBERS),
        ],
        "short names": lambda: [
            *((name, value) for name, value in request.items()),
            ("added", {_SHORT[name]: line for name, line in pairs if name in _SHORT}),
        ],
    }
    yield from forms[shape.sign_request]()


def _as_sent(result: Mapping[str, Any], pairs: Sequence[Sequence[str]]) -> str:
    """Return the signed request as it would be sent."""
    lines = [f"{result['method']} {result['path']} HTTP/1.1", f"Host: {result['authority']}"]
    body = base64.b64decode(result["body_b64"]).decode("utf-8", "replace")
    return "\r\n".join([*lines, *(f"{name}: {line}" for name, line in pairs), "", body])


def _demo_key(result: Mapping[str, Any], shape: Shape) -> Iterator[Place]:
    raw = bytes.fromhex(result["public_key_hex"])
    forms: Mapping[str, Sequence[Place]] = {
        "hex and did:key": (("public_key_hex", result["public_key_hex"]), ("did_key", result["did_key"])),
        "did:key": (("demo_key", result["did_key"]),),
        "JWK": (("verification.key", {"kty": "OKP", "crv": "Ed25519", "x": base64url(raw)}),),
        "multibase": (("verification_method", {"publicKeyMultibase": result["did_key"].removeprefix("did:key:")}),),
        "PEM": (("public_key_pem", _pem(raw)),),
        "base64": (("demo_public_key", base64.b64encode(raw).decode()),),
    }
    yield from forms[shape.sign_key]


def _pem(raw: bytes) -> str:
    """Return the SubjectPublicKeyInfo of an Ed25519 key (RFC 8410) in PEM."""
    text = base64.b64encode(_SPKI + raw).decode()
    return f"-----BEGIN PUBLIC KEY-----\n{text}\n-----END PUBLIC KEY-----\n"
