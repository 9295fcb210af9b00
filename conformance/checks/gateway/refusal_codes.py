"""GW-ERR-06: each refusal has the status, the code and the context members of specification 3.2."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from conformance.assertions.gateway.refusals import Refusal, Request, judge_refusal, send_call
from conformance.engine.check import Case, check
from conformance.engine.concurrent_check_steps import run_concurrently
from conformance.engine.tenant_credentials import Credentials
from conformance.outcome import Inconclusive
from conformance.surfaces.gateway.calls import (
    CHECKOUT,
    LINKS,
    RECEIPT_VERIFY,
    RESOURCES,
    SCREEN,
    link_body,
    resource_body,
    target_of,
)

_JSON: Final = {"content-type": "application/json"}
_UNKNOWN_ID: Final = "00000000-0000-4000-8000-000000000000"
_UNKNOWN_TOKEN: Final = "A" * 22


@check(
    "GW-ERR-06",
    surface="gateway",
    fix="Take status, code and context members of each refusal from the table in 3.2, from one place in the code. "
    "Repeat X-Request-Id as request_id.",
)
async def refusals_have_their_codes(case: Case) -> None:
    """Each refusal has the status, the code and the context members of 3.2, and repeats its X-Request-Id.

    Calls without and with wrong credentials, with other media types, with bodies that are not JSON or do not fit the
    schema, with unknown paths, methods, networks and currencies, and with malformed idempotency keys. Repeats an
    idempotency key with another body, and a resource id. Cancels a link with a wrong secret, then with its own, and
    calls each of its endpoints again. Expects the row of 3.2 for each.
    """
    if not case.session.tenants.headers():
        raise Inconclusive("the profile names no tenant, so most refusals cannot be provoked")
    tenant = case.session.tenants.get()
    refusals = [*_list_open_refusals(), *_list_credential_refusals(tenant), *_list_body_refusals(case, tenant)]
    answers = await run_concurrently(send_call(case, refusal) for refusal in refusals)
    for refusal, answer in zip(refusals, answers, strict=True):
        judge_refusal(case, refusal, answer)
    for refusal in (*await _list_repeated_creations(case, tenant), *await _list_link_refusals(case, tenant)):
        judge_refusal(case, refusal, await send_call(case, refusal))


def _list_open_refusals() -> Iterator[Refusal]:
    """Yield the refusals that need no tenant."""
    for path in ("/v1/no-such-thing", "/no-such-thing-either", f"{LINKS}/", f"{CHECKOUT}{_UNKNOWN_TOKEN}/status"):
        yield Refusal(f"the unknown path {path}", ("GET", path, None, {}), 404, "not_found")
    for method, path in (("GET", RECEIPT_VERIFY), ("DELETE", SCREEN), ("PUT", LINKS)):
        yield Refusal(f"{method} {path}", (method, path, None, {}), 405, "method_not_allowed", {"allowed": list}, {})
    screening: dict[str, Any] = {"recipient_address": "screen-allow", "network": "atlantis_testnet"}
    call: Request = ("POST", SCREEN, _encode(screening), _JSON)
    yield Refusal("a screening on an unknown network", call, 400, "unsupported_network", {"network": str})
    for media in ("text/plain", "application/json; charset=utf-16", None):
        headers = {} if media is None else {"content-type": media}
        for path in (RECEIPT_VERIFY, SCREEN):
            call = ("POST", path, b"{}", headers)
            yield Refusal(f"the media type {media} at {path}", call, 415, "unsupported_media_type")
    for path in (RECEIPT_VERIFY, SCREEN):
        yield Refusal(f"no JSON at {path}", ("POST", path, b'{"a":', _JSON), 400, "invalid_request")
        yield Refusal(f"an empty body at {path}", ("POST", path, b"", _JSON), 400, "invalid_request")
    for name, body in (("a number as jws", {"jws": 5}), ("a list as jws", {"jws": []})):
        yield Refusal(name, ("POST", RECEIPT_VERIFY, _encode(body), _JSON), 422, "validation_error")


def _list_credential_refusals(tenant: Credentials) -> Iterator[Refusal]:
    """Yield the refusals of credentials, each with one fault (P-AU-01)."""
    own = dict(tenant.headers)
    bearer = {"WWW-Authenticate": "Bearer"}
    without_key = {name: value for name, value in own.items() if name != "Authorization"}
    without_tenant = {name: value for name, value in own.items() if name != "X-Tenant-Id"}
    for path in (LINKS, RESOURCES):
        keys = {
            "no Authorization": without_key,
            "another scheme": {**without_key, "Authorization": "Basic " + own["Authorization"].removeprefix("Bearer ")},
            "an unknown key": {**own, "Authorization": "Bearer " + "A" * 48},
        }
        for name, headers in keys.items():
            call = ("POST", path, b"{}", {**_JSON, **headers})
            yield Refusal(f"{name} at {path}", call, 401, "invalid_api_key", {}, bearer)
        tenants = {
            "no X-Tenant-Id": without_tenant,
            "a text as X-Tenant-Id": {**own, "X-Tenant-Id": "tenant"},
            "an unknown X-Tenant-Id": {**own, "X-Tenant-Id": _UNKNOWN_ID},
        }
        for name, headers in tenants.items():
            yield Refusal(f"{name} at {path}", ("POST", path, b"{}", {**_JSON, **headers}), 403, "tenant_id_mismatch")


def _list_body_refusals(case: Case, tenant: Credentials) -> Iterator[Refusal]:
    """Yield the refusals of bodies and idempotency keys."""
    headers = {**_JSON, **tenant.headers}

    def post_link(**members: Any) -> Request:
        return "POST", LINKS, _encode(link_body(case, tenant, **members)), headers

    for name, members in (
        ("an amount as text", {"amount": "1.25"}),
        ("a negative amount", {"amount": -1}),
        ("a label of no characters", {"label": ""}),
        ("a label of 256 characters", {"label": "x" * 256}),
        ("a label with a control character", {"label": "a\u0007b"}),
        ("a label that turns the direction of text", {"label": "a\u202eb"}),
        ("a lifetime of 59 seconds", {"expires_in_seconds": 59}),
        ("a lifetime of 86401 seconds", {"expires_in_seconds": 86_401}),
        ("a way back that is not https", {"redirect_url": "ftp://shop.example/back"}),
        ("a way back of 2049 characters", {"redirect_url": "https://shop.example/" + "x" * 2_028}),
    ):
        yield Refusal(name, post_link(**members), 422, "validation_error")
    unknown = post_link(preferred_network="atlantis_testnet")
    yield Refusal("an unknown network", unknown, 400, "unsupported_network", {"network": "atlantis_testnet"})
    yield Refusal("an unknown currency", post_link(currency="XQX"), 400, "unsupported_currency", {"currency": "XQX"})
    for path in (LINKS, RESOURCES):
        yield Refusal(f"half an object at {path}", ("POST", path, b'{"a":', headers), 400, "invalid_request")
        yield Refusal(f"an empty body at {path}", ("POST", path, b"", headers), 400, "invalid_request")
        yield Refusal(f"an array at {path}", ("POST", path, b"[]", headers), 422, "validation_error")
    for name, key in (("256 characters", "k" * 256), ("a space", "a b")):
        method, path, body, _ = post_link()
        call = (method, path, body, {**headers, "Idempotency-Key": key})
        yield Refusal(f"an Idempotency-Key with {name}", call, 400, "invalid_request")


async def _list_repeated_creations(case: Case, tenant: Credentials) -> list[Refusal]:
    """Create a link and a resource, and return the refusals of what was created before."""
    key = f"weldproof-{case.rng.getrandbits(64):016x}"
    headers = {**_JSON, **tenant.headers, "Idempotency-Key": key}
    post = target_of(case)
    await post("POST", LINKS, body=_encode(link_body(case, tenant)), headers=headers)
    other = ("POST", LINKS, _encode(link_body(case, tenant, label="Weldproof, another label")), headers)
    refusals = [Refusal("an Idempotency-Key with another body", other, 409, "idempotency_conflict")]
    body = resource_body(case)
    resource_id = body.get("resource_id")
    if resource_id is not None:
        again = ("POST", RESOURCES, _encode(body), {**_JSON, **tenant.headers})
        await post("POST", RESOURCES, body=again[2], headers=again[3])
        members = {"resource_id": resource_id}
        refusals.append(Refusal("a resource id twice", again, 409, "resource_exists", members))
    return refusals


async def _list_link_refusals(case: Case, tenant: Credentials) -> list[Refusal]:
    """Create a link and cancel it; return the refusals of its endpoints before and after, which the caller sends."""
    headers = {**_JSON, **tenant.headers}
    post = target_of(case)
    answers = [await post("POST", LINKS, body=_encode(link_body(case, tenant)), headers=headers) for _ in range(2)]
    tokens = [str(answer.read_object().get("token")) for answer in answers]
    cancel_secret = str(answers[1].read_object().get("cancel_secret"))
    case.client.names.secret(cancel_secret, "CANCEL_SECRET")
    wrong = _encode({"cancel_secret": "A" * 43})
    cancelled = f"{CHECKOUT}{tokens[1]}"
    await post("POST", f"{cancelled}/cancel", body=_encode({"cancel_secret": cancel_secret}), headers=_JSON)
    unknown_transaction = _encode({"tx_id": "A" * 52})
    verify = ("POST", f"{CHECKOUT}{tokens[0]}/verify", unknown_transaction, _JSON)
    return [
        Refusal(
            "a wrong cancel secret",
            ("POST", f"{CHECKOUT}{tokens[0]}/cancel", wrong, _JSON),
            403,
            "invalid_cancel_secret",
        ),
        Refusal("a transaction that does not exist", verify, 422, "payment_not_verified", {"reason": "tx_not_found"}),
        Refusal(
            "verify of a cancelled link",
            ("POST", f"{cancelled}/verify", unknown_transaction, _JSON),
            410,
            "payment_link_cancelled",
        ),
        Refusal(
            "verify of an unknown link",
            ("POST", f"{CHECKOUT}{_UNKNOWN_TOKEN}/verify", unknown_transaction, _JSON),
            404,
            "not_found",
        ),
    ]


def _encode(body: Mapping[str, Any]) -> bytes:
    return json.dumps(body).encode()
