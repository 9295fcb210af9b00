"""Templates of request bodies, filled from a message (see `conformance.target.agent`)."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from typing import Any, Final, Literal

from conformance.oracles.ed25519_keys import ed25519_jwk
from conformance.oracles.message_signatures import keys
from conformance.oracles.message_signatures.message import Message
from conformance.oracles.message_signatures.verify_request_members import headers_of
from conformance.target.agent import KEYS, MESSAGE

KeyForm = Literal["hex", "did", "none"]
_PLACE = re.compile(r"\{([a-z_0-9]+)\}")

# Bodies that are tried if the profile binds none: the family's own, and variations with other usual names.
_BY_URL: Final[Mapping[str, Any]] = {
    "method": "{method}",
    "url": "{url}",
    "headers": "{headers}",
    "body": "{body}",
    "body_b64": "{body_b64}",
}
# The first candidate is the family's own. Most agents of the family are found with one request.
CANDIDATES: Final[tuple[Mapping[str, Any], ...]] = (
    {**MESSAGE, **KEYS},
    {**MESSAGE, **_BY_URL, **KEYS},
    {**_BY_URL, **KEYS},
    *({name: {**MESSAGE, **_BY_URL}, **KEYS} for name in ("message", "envelope", "request", "signed_message")),
)

_OF_SIGNED: Final = frozenset({"public_key_hex", "did_key", "public_key", "expected_key", "status"})


def without_key(template: Mapping[str, Any]) -> dict[str, Any]:
    """Return a body that asks for a signature: the body about a signed message without key and status."""
    return {name: value for name, value in template.items() if name not in _OF_SIGNED}


def values_of(message: Message, key: bytes | None, form: KeyForm = "hex") -> dict[str, Any]:
    """Return the value of each placeholder, or None if the message has no such value.

    Args:
        message: The message.
        key: The 32 bytes of the expected key, None for no key.
        form: Which of `{public_key_hex}` and `{did_key}` has a value.
    """
    # A caller may name the key in one form only, and the other placeholder stays empty.
    raw = None if form == "none" else key
    url = f"{message.scheme}://{message.authority}{message.target}"
    return {
        "method": message.method,
        "authority": message.authority,
        "scheme": message.scheme,
        "path": message.target,
        "url": url,
        "status": message.status,
        "headers": headers_of(message.headers),
        "header_list": [[name, value] for name, value in message.headers],
        "signature_input": message.field("signature-input"),
        "signature": message.field("signature"),
        "content_digest": message.field("content-digest"),
        "body": message.body.decode("utf-8", "replace"),
        "body_b64": base64.b64encode(message.body).decode(),
        "public_key_hex": raw.hex() if raw is not None and form == "hex" else None,
        "did_key": keys.did_key(raw) if raw is not None and form == "did" else None,
        "key_hex": None if raw is None else raw.hex(),
        "key_b64": None if raw is None else base64.b64encode(raw).decode(),
        "key_jwk": None if raw is None else ed25519_jwk(raw),
    }


def find_lost_part(template: Any, message: Message) -> str | None:
    """Return the part of a message that a body of this template cannot carry, in words, or None."""
    names = _places(template)
    # A JSON text cannot carry content that is not UTF-8. It would arrive as other content, and its
    # digest would not match.
    if "body" in names and "body_b64" not in names:
        try:
            message.body.decode("utf-8")
        except UnicodeDecodeError:
            return "content that is no text: give it as {body_b64}"
    return None


def _places(template: Any) -> set[str]:
    if isinstance(template, str):
        return set(_PLACE.findall(template))
    inner = (
        template.values() if isinstance(template, Mapping) else template if isinstance(template, list | tuple) else ()
    )
    return {name for one in inner for name in _places(one)}


def fill_template(template: Any, values: Mapping[str, Any]) -> Any:
    """Return a template with its placeholders filled; members without a value are left out."""
    if isinstance(template, str):
        # A placeholder that is the whole text keeps the type of its value, such as an object of
        # header fields.
        whole = _PLACE.fullmatch(template)
        if whole is not None and whole[1] in values:
            return values[whole[1]]
        return _PLACE.sub(lambda one: str(values[one[1]]) if values.get(one[1]) is not None else one[0], template)
    if isinstance(template, Mapping):
        members = {name: fill_template(value, values) for name, value in template.items()}
        return {name: value for name, value in members.items() if value is not None}
    if isinstance(template, list | tuple):
        return [fill_template(value, values) for value in template]
    return template
