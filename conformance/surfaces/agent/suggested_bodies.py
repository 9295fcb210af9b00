"""Bodies of verify that an agent's OpenAPI document suggests by the names of its members."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any, Final

from conformance.discovery.openapi_bodies import body_schema, members
from conformance.surfaces.agent.paths import VERIFY

# The placeholder for a member, by its name in lower case without underscores and hyphens.
_BY_NAME: Final[Mapping[str, str]] = {
    name: "{" + placeholder + "}"
    for placeholder, names in {
        "method": ("method", "httpmethod", "requestmethod"),
        "authority": ("authority", "host"),
        "scheme": ("scheme",),
        "path": ("path", "pathandquery", "target", "requesttarget"),
        "url": ("url", "uri", "targeturi", "targeturl", "requesturi", "requesturl"),
        "status": ("status", "statuscode"),
        "headers": ("headers", "header", "headerfields", "fields"),
        "header_list": ("headerlist", "fieldlist"),
        "signature_input": ("signatureinput",),
        "signature": ("signature",),
        "content_digest": ("contentdigest",),
        "body_b64": ("bodyb64", "bodybase64", "contentb64", "contentbase64", "payloadb64", "payloadbase64"),
        "public_key_hex": ("publickeyhex", "expectedkeyhex"),
        "did_key": ("didkey",),
        "key_hex": ("keyhex",),
        "key_b64": ("keyb64", "keybase64", "publickeyb64", "publickeybase64"),
        "key_jwk": ("jwk", "keyjwk", "publickeyjwk"),
    }.items()
    for name in names
}
_CONTENT: Final = frozenset({"body", "content", "payload", "data", "rawbody", "bodybytes"})
_KEY: Final = frozenset({"key", "publickey", "expectedkey", "signerkey", "verificationkey"})
_AS_CONTENT: Final = ("{body_b64}", "{body}")
_AS_KEY: Final = ("{key_hex}", "{key_b64}", "{did_key}")
_USUAL_CONTENT: Final = ("content", "content_b64", "body_base64", "payload", "payload_b64", "data")
_MAX_DEPTH: Final = 4
_MAX_MEMBERS: Final = 12


def suggest_bodies(document: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield bodies of the described members whose names say which value they take.

    A key or a content whose encoding is unknown is tried in each encoding.
    """
    schema = body_schema(document, VERIFY)
    templates: list[Mapping[str, Any]] = []
    for key, content in product(_AS_KEY, _AS_CONTENT):
        template = _template(document, schema, key, content, _MAX_DEPTH)
        # A body without header fields cannot carry a signature, so it cannot be a body of
        # verify.
        if template not in templates and _holder(template) is not None:
            templates.append(template)
            yield template


def _template(document: Mapping[str, Any], schema: Any, key: str, content: str, depth: int) -> dict[str, Any]:
    body: dict[str, Any] = {}
    for name, member in members(document, schema).items():
        plain = _plain(name)
        if plain in _BY_NAME:
            # Some agents take header fields as an object, others as a list of pairs. The schema
            # says which.
            is_list = _BY_NAME[plain] == "{headers}" and member.get("type") == "array"
            body[name] = "{header_list}" if is_list else _BY_NAME[plain]
        elif plain in _CONTENT:
            body[name] = content
        elif plain in _KEY:
            body[name] = "{key_jwk}" if member.get("type") == "object" else key
        elif depth and (inner := _template(document, member, key, content, depth - 1)):
            body[name] = inner
    return body


def _plain(name: str) -> str:
    return name.lower().replace("_", "").replace("-", "")


def with_content_members(template: Mapping[str, Any], document: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the body with the content in each member that may take it, next to the header fields of the message.

    Described members with unknown names come first, then usual names.
    """
    holder = _holder(template)
    if holder is None:
        return
    schema: Any = body_schema(document, VERIFY)
    for name in holder:
        schema = members(document, schema).get(name, {})
    unknown = [name for name in members(document, schema) if _plain(name) not in _BY_NAME][:_MAX_MEMBERS]
    for name, value in product(dict.fromkeys((*unknown, *_USUAL_CONTENT)), _AS_CONTENT):
        yield _replace_content(template, holder, name, value)


def _holder(template: Mapping[str, Any]) -> tuple[str, ...] | None:
    """Return the names that lead to the object with the header fields, or None."""
    if any(value in ("{headers}", "{header_list}") for value in template.values()):
        return ()
    for name, value in template.items():
        inner = _holder(value) if isinstance(value, Mapping) else None
        if inner is not None:
            return (name, *inner)
    return None


def _replace_content(template: Mapping[str, Any], holder: tuple[str, ...], name: str, value: str) -> dict[str, Any]:
    """Return the body in which one member of the object at a place has the content, and no other member."""
    if holder:
        return {**template, holder[0]: _replace_content(template[holder[0]], holder[1:], name, value)}
    return {other: one for other, one in template.items() if one not in _AS_CONTENT} | {name: value}
