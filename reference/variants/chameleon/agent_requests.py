"""Variants of the agent's request bodies: each form is translated into the service's form before it is read."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Mapping
from typing import Any

from reference.protocol.message_signatures.signing import PRIVATE_KEY_MEMBERS
from reference.variants.chameleon.variant_shape import Shape

SIGN = "sign-demo"
_KEYS = ("public_key_hex", "did_key")
_TARGET = ("authority", "scheme", "path", "query")
_WORDS: Mapping[str, str] = {
    "verb": "method",
    "host": "authority",
    "target": "path",
    "proto": "scheme",
    "content_b64": "body_b64",
    "fields": "headers",
    "signer": "public_key_hex",
}
_COVERS: Mapping[str, tuple[str, ...]] = {
    "target": ("@method", "@target-uri"),
    "turned": ("@path", "@query", "@authority", "@method", "@scheme"),
}


def own(body: Any, skill: str, shape: Shape) -> Any:
    """Return a body in the service's form; a body that is not an object stays as it is."""
    if not isinstance(body, dict):
        return body
    if skill == SIGN and shape.sign_body == "inside":
        body = _from_inside(body)
    forms: Mapping[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
        "url": _by_url,
        "envelope": _in_envelope,
        "members": _with_members,
        "words": lambda told: _in_words(told, explains="explain" in skill),
    }
    # Unknown members stay in the body, because the interface wants them tolerated. The service then ignores them.
    members = forms[shape.agent_request](body) if shape.agent_request in forms else dict(body)
    return _to_sign(members, shape) if skill == SIGN else members


def translate_place(place: list[Any], shape: Shape) -> list[Any]:
    """Return the place of a fault by the names that the caller knows."""
    names = {own_name: name for name, own_name in _WORDS.items()} if shape.agent_request == "words" else {}
    new_place = [names.get(one, one) if isinstance(one, str) else one for one in place]
    if shape.agent_request == "url":
        return ["url" if one in _TARGET else one for one in new_place]
    if shape.agent_request == "envelope" and len(new_place) > 1 and new_place[1] not in _KEYS:
        return [new_place[0], "envelope", *new_place[1:]]
    return new_place


def _by_url(body: Mapping[str, Any]) -> dict[str, Any]:
    other_members = {name: value for name, value in body.items() if name not in _TARGET}
    url = other_members.pop("url", None)
    scheme, mark, address = url.partition("://") if isinstance(url, str) else ("", "", "")
    if not mark:
        return other_members
    ends = min((at for at in (address.find("/"), address.find("?")) if at >= 0), default=len(address))
    return {**other_members, "scheme": scheme, "authority": address[:ends], "path": address[ends:] or "/"}


def _with_members(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return a body with the signature from separate members; fields of those names among the headers are dropped."""
    names = {"signature_input": "Signature-Input", "signature": "Signature"}
    request = {name: value for name, value in body.items() if name not in names}
    headers = request.get("headers")
    if isinstance(headers, dict):
        other_headers = {name: value for name, value in headers.items() if name.lower().replace("-", "_") not in names}
        request["headers"] = other_headers | {field: body[name] for name, field in names.items() if name in body}
    return request


def _in_envelope(body: Mapping[str, Any]) -> dict[str, Any]:
    inner = body.get("envelope")
    # Private keys are passed on wherever they are, so that the service refuses them (6.5).
    keys = {name: body[name] for name in (*_KEYS, *PRIVATE_KEY_MEMBERS) if name in body}
    inner_members = inner if isinstance(inner, dict) else {}
    return {**{name: value for name, value in inner_members.items() if name not in _KEYS}, **keys}


def _in_words(body: Mapping[str, Any], *, explains: bool) -> dict[str, Any]:
    own_names = {**_WORDS, **({name: name for name in _KEYS} if explains else {})}
    unknown_names = {*_WORDS.values(), *_KEYS, *_TARGET} - own_names.keys()
    request = {own_names.get(name, name): value for name, value in body.items() if name not in unknown_names}
    if "headers" in request:
        request["headers"] = _of_pairs(request["headers"])
    if "signer" in body and not explains:
        request["public_key_hex"] = _of_jwk(body["signer"])
    return request


def _of_pairs(pairs: Any) -> Any:
    """Return an object from a list of pairs; any other value is returned unchanged, and the service refuses it."""
    if not isinstance(pairs, list):
        return [pairs]
    headers: dict[str, Any] = {}
    for pair in pairs:
        if not (isinstance(pair, list) and len(pair) == 2 and all(isinstance(one, str) for one in pair)):
            return pairs
        headers[pair[0]] = [*headers[pair[0]], pair[1]] if pair[0] in headers else [pair[1]]
    return headers


def _of_jwk(signer: Any) -> Any:
    jwk = signer.get("jwk") if isinstance(signer, dict) else None
    x = jwk.get("x") if isinstance(jwk, dict) else None
    try:
        return base64.urlsafe_b64decode(f"{x}=").hex() if isinstance(x, str) else signer
    except (binascii.Error, ValueError):
        return x


def _from_inside(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the request inside a body of sign, and any private keys that the caller sent next to it."""
    inner = body.get("to_sign")
    keys = {name: body[name] for name in PRIVATE_KEY_MEMBERS if name in body}
    return {**(inner if isinstance(inner, dict) else {}), **keys}


def _to_sign(body: dict[str, Any], shape: Shape) -> dict[str, Any]:
    """Return a request of sign with the variant's components, label and parameters if the caller gives none."""
    if shape.sign_offered_keys == "ignored":
        body = {name: value for name, value in body.items() if name not in PRIVATE_KEY_MEMBERS}
    usual: dict[str, Any] = {}
    if shape.sign_cover in _COVERS:
        usual["covered_components"] = [*_COVERS[shape.sign_cover]]
    elif shape.sign_cover == "fields too":
        headers = body.get("headers")
        fields = sorted(name.lower() for name in headers) if isinstance(headers, dict) else []
        query = ["@query"] if "?" in str(body.get("path")) else []
        usual["covered_components"] = [*fields, "@method", "@authority", "@path", *query]
    if shape.sign_label is not None:
        usual["label"] = shape.sign_label
    if shape.sign_parameters == "all":
        usual |= {"nonce": "n-of-the-agent", "tag": "demo", "keyid": "demo-key-1"}
    return {**usual, **body}
