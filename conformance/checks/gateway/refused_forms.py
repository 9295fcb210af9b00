"""GW-ERR-08: requests outside of the forms and limits of chapter 3, if the target claims to follow it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from conformance.assertions.gateway.refusals import REPORT_CODE, Refusal, Request, judge_claimed_refusals
from conformance.engine.check import Case, check
from conformance.engine.tenant_credentials import Credentials
from conformance.surfaces.gateway.calls import (
    CHECKOUT,
    LINKS,
    RECEIPT_VERIFY,
    RESOURCES,
    SCREEN,
    link_body,
    resource_body,
)

ROW: Final = "GW-ERR-08"
_JSON: Final = {"content-type": "application/json"}
_UNKNOWN_TOKEN: Final = "A" * 22
_MISSING: Final = "MISSING_ENVELOPE"
# Characters that a label may not have: the first and the last control character, and each that turns the direction of
# text (3.4).
_CONTROL_CHARACTERS: Final = "\u0000\u0007\n\u001f\u007f"
_DIRECTION_CHARACTERS: Final = "\u061c\u200e\u200f\u202a\u202e\u2066\u2069"


@check(
    ROW,
    surface="gateway",
    fix="Refuse each request outside of the forms and limits of chapter 3 with the status and the code of 3.2.",
)
async def requests_outside_of_the_forms_are_refused(case: Case) -> None:
    """Each request outside of the forms and limits of chapter 3 has the status, the code and the members of 3.2.

    Sends other spellings of each path, requests beyond the sizes of P-CV-16, other media types, receipts that are
    absent or invalid, and malformed idempotency keys. Creates links whose currency, label, lifetime, redirect_url or
    amount is just outside of its limits. Expects the row of 3.2 for each.
    """
    tenant = case.session.tenants.get()
    refusals = [
        *_list_other_paths(tenant),
        *_list_size_refusals(),
        *_list_receipt_refusals(case),
        *_list_form_refusals(case, tenant),
        *_list_link_refusals(case, tenant),
    ]
    await judge_claimed_refusals(case, ROW, refusals, "fault")


def _list_other_paths(tenant: Credentials) -> Iterator[Refusal]:
    """Yield calls of unknown links, and of paths that differ from those of 3.1 by a slash, a prefix or case."""
    for below in ("", "/status", "/qr", "/events"):
        path = f"{CHECKOUT}{_UNKNOWN_TOKEN}{below}"
        yield Refusal(f"the unknown link {path}", ("GET", path, None, {}), 404, "not_found")
    headers = {**_JSON, **tenant.headers}
    for path in (LINKS, RESOURCES, RECEIPT_VERIFY, SCREEN):
        unversioned = path.removeprefix("/v1")
        version = f"/v1{path}" if path == unversioned else unversioned
        for other in (f"{path}/", f"/{path}", version, f"/api{path}", path.upper(), path.replace("/", "//", 2)[1:]):
            yield Refusal(f"the path {other}", ("POST", other, b"{}", headers), 404, "not_found")


def _list_size_refusals() -> Iterator[Refusal]:
    """Yield requests that are larger than P-CV-16 allows."""
    large_path, large_fields = "/health?" + "x" * 10_000, {"X-Weldproof": "x" * 20_000}
    large_body = _encode({"jws": "x" * 100_000})
    calls: tuple[tuple[str, Request, int, str, int], ...] = (
        ("a body", ("POST", RECEIPT_VERIFY, large_body, _JSON), 413, "payload_too_large", 65_536),
        ("a request line", ("GET", large_path, None, {}), 414, "uri_too_long", 8_192),
        ("the header fields", ("GET", "/health", None, large_fields), 431, "headers_too_large", 16_384),
    )
    for name, call, status, code, limit in calls:
        yield Refusal(f"{name} of more than {limit} bytes", call, status, code, {"limit": limit})


def _list_receipt_refusals(case: Case) -> Iterator[Refusal]:
    """Yield verifications of receipts that are absent or invalid (P-GR-02, P-GR-03)."""
    bindings = case.profile.gateway_bindings
    member, codes = bindings.receipt_member or "jws", bindings.receipt_codes
    missing = {"error_code": _MISSING if codes is None or _MISSING in codes else str}

    def verify(**members: Any) -> Request:
        return "POST", RECEIPT_VERIFY, _encode(members), _JSON

    for name, value in (("a number", 5), ("a list", []), ("an object", {}), ("a boolean", True)):
        yield Refusal(f"{name} as receipt", verify(**{member: value}), 422, "validation_error")
    for name, empty in (("null", None), ("a text of no characters", "")):
        expected = {**missing, "detail": None}
        yield Refusal(f"{name} as receipt", verify(**{member: empty}), 422, REPORT_CODE, expected)
    item = {"type": "missing", "loc": ["body", member]}
    yield Refusal("no receipt", verify(), 422, REPORT_CODE, missing, {}, item)
    invalid = {"error_code": str, "error_message": str, "detail": None}
    yield Refusal("an invalid receipt", verify(**{member: "e30.e30.AA"}), 422, REPORT_CODE, invalid)


def _list_form_refusals(case: Case, tenant: Credentials) -> Iterator[Refusal]:
    """Yield creations with other media types, without a body, and with malformed keys (P-GW-01, P-ID-01)."""
    headers, bodies = {**_JSON, **tenant.headers}, {LINKS: _encode(link_body(case, tenant))}
    if case.profile.gateway_bindings.resource_body is not None:
        bodies[RESOURCES] = _encode(resource_body(case))
    for path, body in bodies.items():
        for media in ("text/plain", "application/json; charset=iso-8859-1", "application/jsonl", None):
            fields = {**tenant.headers, **({} if media is None else {"content-type": media})}
            call: Request = ("POST", path, body, fields)
            yield Refusal(f"the media type {media} at {path}", call, 415, "unsupported_media_type")
        for fields, kind in ((headers, "with"), (dict(tenant.headers), "without")):
            name = f"an empty body {kind} a media type at {path}"
            yield Refusal(name, ("POST", path, b"", fields), 400, "invalid_request")
        for name, key in (("256 characters", "k" * 256), ("no characters", ""), ("a space", "a b"), ("a tab", "a\tb")):
            call = ("POST", path, body, {**headers, "Idempotency-Key": key})
            yield Refusal(f"an Idempotency-Key with {name} at {path}", call, 400, "invalid_request")


def _list_link_refusals(case: Case, tenant: Credentials) -> Iterator[Refusal]:
    """Yield links whose members are just outside of the limits of 3.4."""
    headers = {**_JSON, **tenant.headers}

    def post_link(**members: Any) -> Request:
        return "POST", LINKS, _encode(link_body(case, tenant, **members)), headers

    for name, members in (
        ("an amount as text", {"amount": "1.25"}),
        ("a negative amount", {"amount": -1}),
        ("an amount that is 0 in micro-units", {"amount": 0.0000004}),
        ("an amount above 10^15 micro-units", {"amount": 1_000_000_001}),
        ("a currency of 2 letters", {"currency": "US"}),
        ("a currency of 9 letters", {"currency": "USDCUSDCU"}),
        ("a currency with a digit", {"currency": "USD1"}),
        ("a label of no characters", {"label": ""}),
        ("a label of 256 characters", {"label": "\u00e9" * 256}),
        ("a lifetime of 59 seconds", {"expires_in_seconds": 59}),
        ("a lifetime of 86401 seconds", {"expires_in_seconds": 86_401}),
        ("a lifetime as text", {"expires_in_seconds": "60"}),
        ("a way back by ftp", {"redirect_url": "ftp://shop.example/back"}),
        ("a way back by script", {"redirect_url": "javascript:alert(1)"}),
        ("a way back without a host", {"redirect_url": "/back"}),
        ("a way back by http", {"redirect_url": "http://shop.example/back"}),
        ("a way back of 2049 characters", {"redirect_url": "https://shop.example/" + "x" * 2_028}),
    ):
        yield Refusal(name, post_link(**members), 422, "validation_error")
    for characters, kind in ((_CONTROL_CHARACTERS, "label_form"), (_DIRECTION_CHARACTERS, "label_direction")):
        for character in characters:
            call = post_link(label=f"a{character}b")
            name = f"a label with U+{ord(character):04X}"
            yield Refusal(name, call, 422, "validation_error", {}, {}, {"loc": ["body", "label"], "type": kind})


def _encode(body: Mapping[str, Any]) -> bytes:
    return json.dumps(body).encode()
