"""GW-ERR-07: which of two faults of one call a gateway answers, if the target claims specification 3.1."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from conformance.assertions.gateway.refusals import Refusal, Request, judge_claimed_refusals
from conformance.engine.check import Case, check
from conformance.engine.tenant_credentials import Credentials
from conformance.surfaces.gateway.calls import LINKS, RESOURCES, create_link, link_body, new_text

ROW: Final = "GW-ERR-07"
_JSON: Final = {"content-type": "application/json"}
_TEXT: Final = {"content-type": "text/plain"}
_UNKNOWN_ID: Final = "00000000-0000-4000-8000-000000000000"
# Larger than the largest body, request line and header fields (P-CV-16).
_LARGE_BODY: Final = b'{"a":"' + b"x" * 70_000 + b'"}'
_LARGE_PATH: Final = "/v1/" + "x" * 10_000
_LARGE_FIELDS: Final = {"X-Weldproof": "x" * 20_000}
_MALFORMED_KEY: Final = {"Idempotency-Key": "a b"}


@check(
    ROW,
    surface="gateway",
    fix="Check each call in the order of specification 3.1, and answer the first check that fails.",
)
async def the_first_failing_check_answers(case: Case) -> None:
    """A call with two faults is answered by the check that comes first in 3.1.

    Sends calls with two faults each: a fault of one check, and one of a later check. Expects the status and the code of
    the first. The limits of rates are not exhausted here.
    """
    tenant = case.session.tenants.get()
    key = new_text(case)
    await create_link(case, tenant, key=key)
    refusals = [*_list_pairs(tenant), *_list_creation_pairs(case, tenant, key)]
    await judge_claimed_refusals(case, ROW, refusals, "faults")


def _list_pairs(tenant: Credentials) -> Iterator[Refusal]:
    """Yield calls with faults of two checks before the schema."""
    own = dict(tenant.headers)
    other_tenant = {**own, "X-Tenant-Id": _UNKNOWN_ID}
    unknown_key = {**other_tenant, "Authorization": "Bearer " + "A" * 48}
    pairs: dict[str, tuple[Request, int, str]] = {
        "route, method": (("DELETE", "/v1/no-such-thing", None, {}), 404, "not_found"),
        "route, size": (("POST", "/v1/no-such-thing", _LARGE_BODY, _JSON), 404, "not_found"),
        "request line, route": (("GET", _LARGE_PATH, None, {}), 414, "uri_too_long"),
        "header fields, route": (("GET", "/v1/no-such-thing", None, _LARGE_FIELDS), 431, "headers_too_large"),
    }
    for path in (LINKS, RESOURCES):
        pairs |= {
            f"method, size at {path}": (("PUT", path, _LARGE_BODY, _JSON), 405, "method_not_allowed"),
            f"method, credential at {path}": (("DELETE", path, None, {}), 405, "method_not_allowed"),
            f"size, credential at {path}": (("POST", path, _LARGE_BODY, _JSON), 413, "payload_too_large"),
            f"size, media type at {path}": (("POST", path, _LARGE_BODY, {**own, **_TEXT}), 413, "payload_too_large"),
            f"key, tenant at {path}": (("POST", path, b"{}", {**_JSON, **unknown_key}), 401, "invalid_api_key"),
            f"key, media type at {path}": (("POST", path, b"{", _TEXT), 401, "invalid_api_key"),
            f"key, JSON at {path}": (("POST", path, b"{", _JSON), 401, "invalid_api_key"),
            f"tenant, media type at {path}": (
                ("POST", path, b"{}", {**_TEXT, **other_tenant}),
                403,
                "tenant_id_mismatch",
            ),
            f"tenant, schema at {path}": (("POST", path, b"[]", {**_JSON, **other_tenant}), 403, "tenant_id_mismatch"),
            f"media type, JSON at {path}": (("POST", path, b"{", {**_TEXT, **own}), 415, "unsupported_media_type"),
            f"media type, empty body at {path}": (("POST", path, b"", {**_TEXT, **own}), 415, "unsupported_media_type"),
            f"JSON, Idempotency-Key at {path}": (
                ("POST", path, b"{", {**_JSON, **own, **_MALFORMED_KEY}),
                400,
                "invalid_request",
            ),
            f"schema, Idempotency-Key at {path}": (
                ("POST", path, b"[]", {**_JSON, **own, **_MALFORMED_KEY}),
                422,
                "validation_error",
            ),
        }
    yield from (Refusal(name, call, status, code) for name, (call, status, code) in pairs.items())


def _list_creation_pairs(case: Case, tenant: Credentials, used_key: str) -> Iterator[Refusal]:
    """Yield creations of links with faults of idempotency and of the operation's rules."""

    def create_with(headers: Mapping[str, str], **members: Any) -> Request:
        body = json.dumps(link_body(case, tenant, **members)).encode()
        return "POST", LINKS, body, {**_JSON, **tenant.headers, **headers}

    used = {"Idempotency-Key": used_key}
    rules: dict[str, dict[str, Any]] = {
        "network": {"preferred_network": "atlantis_testnet"},
        "currency": {"currency": "XQX"},
    }
    for rule, members in rules.items():
        malformed = create_with(_MALFORMED_KEY, **members)
        yield Refusal(f"malformed Idempotency-Key, {rule}", malformed, 400, "invalid_request")
        yield Refusal(f"used Idempotency-Key, {rule}", create_with(used, **members), 409, "idempotency_conflict")
    yield Refusal("schema, used Idempotency-Key", create_with(used, label=5), 422, "validation_error")
