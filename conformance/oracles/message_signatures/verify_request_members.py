"""The members of a verify or explain request (6.2), read as message, key and policy."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any

from conformance.oracles.message_signatures import keys
from conformance.oracles.message_signatures.algorithms import ED25519, VerifyingKey
from conformance.oracles.message_signatures.components import read_component
from conformance.oracles.message_signatures.judgement import Policy
from conformance.oracles.message_signatures.message import Fields, Message


def message_of(members: Mapping[str, Any]) -> Message:
    """Return the message that the members of a verify request describe.

    Beyond specification 6.2, `trailers` (an object like `headers`) and `related_request` (an object too) are read; no
    such member means that the carrier has no place for it.

    Raises:
        KeyError: A required member is missing.
        ValueError: `body_b64` is no base64.
    """
    target = str(members["path"])
    # The query may be part of `path` or a separate member (6.2).
    if "?" not in target and members.get("query") is not None:
        target = f"{target}?{members['query']}"
    related_request = members.get("related_request")
    trailers = members.get("trailers")
    return Message(
        method=str(members["method"]),
        authority=str(members["authority"]),
        scheme="https" if members.get("scheme") is None else str(members["scheme"]),
        target=target,
        headers=_fields(members["headers"]),
        trailers=None if trailers is None else _fields(trailers),
        body=base64.b64decode(members.get("body_b64") or "", validate=True),
        status=members.get("status"),
        request=None if related_request is None else message_of(related_request),
    )


def _fields(headers: Mapping[str, str | Sequence[str]]) -> Fields:
    pairs = ((name, [value] if isinstance(value, str) else value) for name, value in headers.items())
    return tuple((name, line) for name, lines in pairs for line in lines)


def members_of(message: Message) -> dict[str, Any]:
    """Return the members that describe a message, those of its related request among them."""
    members: dict[str, Any] = {
        "method": message.method,
        "authority": message.authority,
        "path": message.target,
        "scheme": message.scheme,
        "headers": headers_of(message.headers),
        "body_b64": base64.b64encode(message.body).decode("ascii"),
    }
    if message.status is not None:
        members["status"] = message.status
    if message.trailers:
        members["trailers"] = headers_of(message.trailers)
    if message.request is not None:
        members["related_request"] = members_of(message.request)
    return members


def headers_of(fields: Fields) -> dict[str, str | list[str]]:
    """Return field lines as the member `headers`: a string for one line, an array for several."""
    headers: dict[str, str | list[str]] = {}
    names: dict[str, str] = {}
    for sent_name, value in fields:
        # Field names are case-insensitive, and the first spelling is kept.
        name = names.setdefault(sent_name.lower(), sent_name)
        before = headers.get(name)
        headers[name] = value if before is None else [*([before] if isinstance(before, str) else before), value]
    return headers


def key_of(members: Mapping[str, Any]) -> VerifyingKey | None:
    """Return the expected key; None where no member holds one.

    Beyond specification 6.2, `public_key_pem` and `secret_b64` with `algorithm` hold keys of the other algorithms.

    Raises:
        KeyFault: A member holds no key.
    """
    if members.get("public_key_hex") is not None:
        return keys.of_hex(str(members["public_key_hex"]))
    if members.get("did_key") is not None:
        return keys.of_did_key(str(members["did_key"]))
    if members.get("public_key_pem") is not None:
        key = keys.read_public(str(members["public_key_pem"]).encode())
        algorithm = members.get("algorithm")
        # A named algorithm restricts a key that fits several.
        return VerifyingKey((str(algorithm),), key.material) if algorithm in key.algorithms else key
    if members.get("secret_b64") is not None:
        return keys.shared_secret(keys.decode_secret(str(members["secret_b64"]))).public
    return None


def policy_of(members: Mapping[str, Any], *, algorithms: tuple[str, ...] = (ED25519,)) -> Policy:
    """Return the policy; `now` is for the judge and not among it.

    Args:
        members: The members.
        algorithms: What is allowed where `allowed_algorithms` does not say.

    Raises:
        Malformed: An item of `required_components` is no identifier.
    """
    allowed_algorithms = members.get("allowed_algorithms")
    required_components = members.get("required_components") or ()
    return Policy(
        label=members.get("label"),
        algorithms=algorithms if allowed_algorithms is None else tuple(allowed_algorithms),
        tag=members.get("expected_tag"),
        max_age=members.get("max_age_seconds"),
        required_components=tuple(read_component(text) for text in required_components),
        require_digest=members.get("require_content_digest", True),
        allow_empty=members.get("allow_empty_components", False),
    )
