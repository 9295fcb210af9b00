"""Bodies: whether they are JSON, fit the schema of their operation, and contain a message or a compact JWS."""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any, Final

from jsonschema import Draft202012Validator

from tools.requests_parsed import messages, plain_json
from tools.requests_parsed.http1 import Request

_SURFACES: Final = ("rail", "gateway", "agent", "control_plane", "federation_validator", "zkp_receipt", "atb_verifier")
_MESSAGES: Final = {"/verify/rfc9421": True, "/pay/v1/verify/rfc9421": True, "/verify/rfc9421/explain": False}


def deviations(request: Request, now: float) -> tuple[set[str], str]:
    """Return the faults of a body, and how far it was looked into: `json`, `schema`, `message` or `jws`."""
    value, faults = plain_json.read(request.body)
    fault_set = {f"body: {fault}" for fault in faults}
    kinds = [one.decode("latin-1").partition(";")[0].strip().lower() for one in request.values("content-type")]
    if kinds != ["application/json"]:
        fault_set.add("content-type")
    if request.values("content-encoding"):
        fault_set.add("content-encoding")
    if value is None and faults:
        return fault_set, "json"
    schema = _schema(request.method, request.path)
    if schema is None:
        return fault_set, "json"
    wrong = {f"schema: {_fault_place(fault)}" for fault in schema.iter_errors(value)}
    if "schema: no object" in wrong:
        wrong = {"schema: no object"}
    if wrong:
        return fault_set | wrong, "schema"
    if request.path in _MESSAGES:
        wrong = messages.deviations(value, now, key_needed=_MESSAGES[request.path])
        is_unsigned_allowed = _on_sale(request) and wrong == {"message: unsigned"}
        return fault_set | ({"(message: unsigned)"} if is_unsigned_allowed else wrong), "message"

    token = value.get("jws") if isinstance(value, dict) else None
    if not isinstance(token, str):
        return fault_set, "schema"
    wrong = jws_form(token)
    return fault_set | ({f"({one})" for one in wrong} if _on_sale(request) else wrong), "jws"


def _on_sale(request: Request) -> bool:
    """Return whether the verdict itself is sold: "this receipt is void" is a paid answer as well."""
    return request.path.startswith("/pay/")


def _fault_place(fault: Any) -> str:
    """Return where a body breaks its schema: one place is one fault, whatever it breaks there."""
    place = "/".join("*" if isinstance(one, int) else str(one)[:40] for one in fault.absolute_path)
    return place or ("no object" if fault.validator == "type" else "members")


@cache
def _documents() -> list[tuple[re.Pattern[str], str, Draft202012Validator]]:
    documents = []
    for surface in _SURFACES:
        document = json.loads(files("openapi").joinpath(f"{surface}.json").read_text("utf-8"))
        for path, operations in document["paths"].items():
            for method, operation in operations.items():
                content = operation.get("requestBody", {}).get("content", {}) if isinstance(operation, dict) else {}
                schema = content.get("application/json", {}).get("schema")
                if schema is not None:
                    pattern = re.compile(re.sub(r"\\\{[^}]*\\\}", "[^/]+", re.escape(path)))
                    whole = {**schema, "components": document.get("components", {})}
                    documents.append((pattern, method.upper(), Draft202012Validator(whole)))
    return documents


@cache
def _schema(method: str, path: str) -> Draft202012Validator | None:
    return next((one for pattern, verb, one in _documents() if verb == method and pattern.fullmatch(path)), None)


def jws_form(token: str) -> set[str]:
    """Return what of a text is not a compact EdDSA JWS of JSON (RFC 7515); its signature is not looked at."""
    parts = token.split(".")
    if len(parts) != 3 or not all(parts):
        return {"jws: not three parts"}
    fault_set, read = set[str](), []
    for part in parts:
        try:
            raw = base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))
        except (binascii.Error, ValueError):
            return fault_set | {"jws: not base64url"}
        if base64.urlsafe_b64encode(raw).rstrip(b"=").decode() != part:
            fault_set.add("jws: not canonical base64url")
        read.append(raw)
    header, faults = plain_json.read(read[0])
    if faults or not isinstance(header, Mapping):
        return fault_set | {"jws: header no JSON object"}
    if header.get("alg") != "EdDSA":
        fault_set.add("jws: alg")
    fault_set |= {f"jws: {name}" for name in ("crit", "b64", "jwk", "jku", "x5u", "x5c") if name in header}
    claims, faults = plain_json.read(read[1])
    if faults or not isinstance(claims, dict):
        fault_set.add("jws: claims no JSON object")
    if len(read[2]) != 64:
        fault_set.add("jws: signature not 64 bytes")
    return fault_set
