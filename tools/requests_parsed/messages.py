"""Signed messages (RFC 9421, RFC 9530) that are sent to be verified: every fault of one, found from the RFCs' text."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import parse_qsl, quote

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from tools.requests_parsed import structured_fields
from tools.requests_parsed.solana import unbase58

_SKEW: Final = 60
_HASHES: Final = {"sha-256": hashlib.sha256, "sha-512": hashlib.sha512}
_DERIVED_COMPONENTS: Final = (
    "method",
    "authority",
    "scheme",
    "target-uri",
    "request-target",
    "path",
    "query",
    "query-param",
    "status",
)
_P: Final = 2**255 - 19
# y of the points of small order on edwards25519, in any encoding.
_SMALL: Final = {
    0, 1, _P - 1, _P, _P + 1,
    2707385501144840649318225287225658788936804267575313519463743609750303021022,
    55188659117513257062467267217118295137698188065244968500265048394206261417927,
}  # fmt: skip
_MEMBERS: Final = {"method": str, "authority": str, "path": str, "headers": dict}


def deviations(body: Mapping[str, Any], now: float, *, key_needed: bool) -> set[str]:
    """Return the faults of a message in the body of a verify or explain request, sent at `now` (unix seconds)."""
    wrong = {f"message: {name}" for name, kind in _MEMBERS.items() if not isinstance(body.get(name), kind)}
    try:
        content = base64.b64decode(body.get("body_b64") or "", validate=True)
        key = key_of(body)
    except (ValueError, TypeError, AttributeError):
        return wrong | {"message: body or key unreadable"}
    if wrong:
        return wrong
    if key is None and key_needed:
        return {"message: no key"}
    headers = _headers(body["headers"])
    if headers is None:
        return {"message: headers"}
    faults = _of_signature(body, headers, key, now)
    of_digest = digest_faults(headers, content, body)
    # What follows from another fault is not its own.
    if {"message: unsigned", "no signature-input", "signature-input malformed"} & faults:
        of_digest -= {"digest not covered", "digest missing"}
    return faults | (of_digest - {"digest missing"} if "component missing" in faults else of_digest)


def _headers(header_members: Mapping[str, Any]) -> dict[str, list[str]] | None:
    headers: dict[str, list[str]] = {}
    for name, value in header_members.items():
        values = value if isinstance(value, list) else [value]
        if not all(isinstance(one, str) for one in values):
            return None
        headers.setdefault(name.lower(), []).extend(values)
    return headers


def key_of(body: Mapping[str, Any]) -> bytes | None:
    """Return the key of a body.

    Raises:
        ValueError: It is no Ed25519 key, or there are two.
    """
    keys = []
    if body.get("public_key_hex") is not None:
        keys.append(bytes.fromhex(body["public_key_hex"]))
    if body.get("did_key") is not None:
        text = body["did_key"].partition("#")[0].removeprefix("did:key:z")
        raw = unbase58(text, 34)
        if raw[:2] != b"\xed\x01":
            raise ValueError("another kind of key")
        keys.append(raw[2:])
    if any(len(one) != 32 for one in keys) or len(set(keys)) > 1:
        raise ValueError("a key of another length, or two keys")
    return keys[0] if keys else None


def _of_signature(body: Mapping[str, Any], headers: Mapping[str, list[str]], key: bytes | None, now: float) -> set[str]:
    absent = {f"no {name}" for name in ("signature-input", "signature") if name not in headers}
    if absent:
        return absent if len(absent) == 1 else {"message: unsigned"}
    fault_set, read = set[str](), []
    for name in ("signature-input", "signature"):
        try:
            read.append(structured_fields.dictionary(", ".join(headers[name])))
        except structured_fields.Malformed:
            fault_set.add(f"{name} malformed")
    if fault_set:
        return fault_set
    label, fault = _label(read[0], read[1], body.get("label"))
    if fault:
        return {fault}
    inner_list, signature = read[0][label], read[1][label].value
    if not isinstance(inner_list.value, tuple) or not all(isinstance(one.value, str) for one in inner_list.value):
        return {"signature-input malformed"}
    if not isinstance(signature, bytes):
        return {"signature malformed"}
    base, faults = _base(inner_list, body, headers)
    fault_set |= parameter_faults(inner_list.parameters, body, now) | (
        set() if inner_list.value else {"nothing covered"}
    )
    if key is not None and int.from_bytes(key, "little") % 2**255 in _SMALL:
        faults.add("key of small order")
    if not faults and key is not None and not _verifies(key, signature, base):
        fault_set.add("signature")
    return fault_set | faults


def _base(
    inner_list: structured_fields.Item, body: Mapping[str, Any], headers: Mapping[str, list[str]]
) -> tuple[str, set[str]]:
    """Return the signature base, or why it cannot be built."""
    lines, faults = [], set()
    for item in inner_list.value:
        value, fault = component(item, body, headers, inner_list.parameters)
        lines.append(f"{item.text}: {value}")
        faults |= {fault} if fault else set()
    names = [(item.value, tuple(sorted(item.parameters.items(), key=str))) for item in inner_list.value]
    if len(set(names)) < len(names):
        faults.add("component twice")
    required_components = body.get("required_components")
    texts = {item.value for item in inner_list.value} | {item.text for item in inner_list.value}
    if isinstance(required_components, list) and not set(required_components) <= texts:
        faults.add("required component not covered")
    return "\n".join([*lines, f'"@signature-params": {inner_list.text}']), faults


def _label(inputs: Mapping[str, Any], signatures: Mapping[str, Any], wanted_label: Any) -> tuple[str, str | None]:
    if isinstance(wanted_label, str):
        return wanted_label, None if wanted_label in inputs and wanted_label in signatures else "labels differ"
    common_labels = inputs.keys() & signatures.keys()
    if not common_labels:
        return "", "labels differ" if inputs and signatures else "no label"
    return next(iter(common_labels)), "several labels" if len(inputs) > 1 else None


def parameter_faults(parameters: Mapping[str, Any], body: Mapping[str, Any], now: float) -> set[str]:
    """Return what of a signature's parameters does not hold at `now`, or not by the policy of the body."""
    faults = set()
    given_now = body.get("now")
    at = given_now if isinstance(given_now, int) and not isinstance(given_now, bool) else now
    for name, kind in (("created", int), ("expires", int), ("nonce", str), ("alg", str), ("keyid", str), ("tag", str)):
        if name in parameters and type(parameters[name]) is not kind:
            return {"signature-input malformed"}
    if parameters.get("alg", "ed25519") not in (body.get("allowed_algorithms") or ["ed25519"]):
        faults.add("alg")
    if body.get("expected_tag") is not None and parameters.get("tag") != body["expected_tag"]:
        faults.add("tag")
    created, expires, age = parameters.get("created"), parameters.get("expires"), body.get("max_age_seconds")
    if created is not None and created > at + _SKEW:
        faults.add("created in the future")
    if expires is not None and expires + _SKEW < at:
        faults.add("expired")
    if isinstance(age, int) and (created is None or created + age < at - _SKEW):
        faults.add("too old")
    return faults


def component(
    item: structured_fields.Item,
    body: Mapping[str, Any],
    headers: Mapping[str, list[str]],
    parameters: Mapping[str, Any],
) -> tuple[str, str | None]:
    """Return the value of a covered component, and why it has none."""
    name, options = item.value, item.parameters
    if set(options) - {"sf", "bs", "key", "name"} or name != name.lower():
        return "", "component unknown"
    if name.startswith("@"):
        return _derive_component(name[1:], options, body)
    if name not in headers:
        # The deployed form of a covered parameter (P-AG-07).
        return (
            (str(parameters[name]), None)
            if name in ("created", "expires") and name in parameters
            else ("", "component missing")
        )
    values = [re.sub(r"[ \t]*\r?\n[ \t]+", " ", one).strip(" \t") for one in headers[name]]
    if "bs" in options:
        return ", ".join(f":{base64.b64encode(one.encode('latin-1')).decode()}:" for one in values), None
    joined_value = ", ".join(values)
    if "key" in options:
        try:
            member = structured_fields.dictionary(joined_value).get(options["key"])
        except structured_fields.Malformed:
            return "", "component missing"
        return (member.text, None) if member is not None else ("", "component missing")
    return joined_value, None


def _derive_component(name: str, options: Mapping[str, Any], body: Mapping[str, Any]) -> tuple[str, str | None]:
    path, mark, query = body["path"].partition("?")
    query = query if mark else body.get("query") or ""
    scheme = (body.get("scheme") or "https").lower()
    authority = re.sub(r":443$" if scheme == "https" else r":80$", "", body["authority"].lower())
    target = (path or "/") + (f"?{query}" if query or mark else "")
    if name not in _DERIVED_COMPONENTS or (set(options) - {"name"}) or ("name" in options) != (name == "query-param"):
        return "", "component unknown"
    if name == "query-param":
        pairs = [(quote(one, safe="*-._"), value) for one, value in parse_qsl(query, keep_blank_values=True)]
        matching_values = [quote(value, safe="*-._") for one, value in pairs if one == options["name"]]
        return (matching_values[0], None) if len(matching_values) == 1 else ("", "component missing")
    if name == "status":
        return (str(body["status"]), None) if isinstance(body.get("status"), int) else ("", "component missing")
    values = {
        "method": body["method"],
        "authority": authority,
        "scheme": scheme,
        "target-uri": f"{scheme}://{authority}{target}",
        "request-target": target,
        "path": path or "/",
        "query": f"?{query}",
    }
    return values[name], None


def digest_faults(headers: Mapping[str, list[str]], content: bytes, body: Mapping[str, Any]) -> set[str]:
    """Return what is wrong with the digest of a message's content."""
    is_needed = body.get("require_content_digest", True) and bool(content)
    if "content-digest" not in headers:
        return {"digest missing"} if is_needed else set()
    try:
        members = structured_fields.dictionary(", ".join(headers["content-digest"]))
    except structured_fields.Malformed:
        return {"digest malformed"}
    known_digests = {name: one.value for name, one in members.items() if name in _HASHES}
    if not known_digests:
        return {"digest of an unknown kind"}
    faults = (
        {"digest"} if any(_HASHES[name](content).digest() != value for name, value in known_digests.items()) else set()
    )
    is_covered = re.search(r'\([^)]*"content-digest"', ", ".join(headers.get("signature-input", [])))
    return faults | ({"digest not covered"} if is_needed and not is_covered else set())


def _verifies(key: bytes, signature: bytes, base: str) -> bool:
    try:
        Ed25519PublicKey.from_public_bytes(key).verify(signature, base.encode("utf-8", "surrogatepass"))
    except (InvalidSignature, ValueError):
        return False
    return True
