"""GW-HTTP: media types and request ids, on successes and on errors alike."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from conformance.engine.check import Case, check
from conformance.engine.concurrent_check_steps import run_concurrently
from conformance.http.client import Answer
from conformance.outcome import Inconclusive
from conformance.surfaces.gateway.calls import (
    CHECKOUT,
    LINKS,
    RECEIPT_VERIFY,
    REQUEST_ID,
    RESOURCES,
    SCREEN,
    bodies,
    brief,
    create_link,
    envelope_fault,
    is_created,
    link_body,
    new_text,
    receipt_body,
    resource_body,
    target_of,
    token_of,
)
from conformance.surfaces.gateway.invalid_calls import OF_THE_FRONT, provoke_faults, provoke_size_refusals

# Some contain the letters `json`. A comparison by prefix, suffix or substring accepts those.
OTHER_MEDIA_TYPES = (
    "text/plain",
    "text/json",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
    "application/xml",
    "application/octet-stream",
    "application/json-patch+json",
    "application/jsonp",
    "application/vnd.api+json",
)
# The defaults of browsers, scripts and other clients. A framework often refuses them before the service sees them, and
# so without the envelope.
USUAL_MEDIA_TYPES = (
    "text/plain",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
    "application/xml",
)
JSON_WITH_CHARSET = ("application/json; charset=utf-8", "application/json;charset=UTF-8")
# The answers to a path, or to a method of it, that is not served. Advice about media types would not help there.
_UNKNOWN_STATUSES = frozenset({404, 405})
_MANY = 12
_FIX = "Answer 415 to every request content type but application/json, before the body is parsed."
_EVERY = "Set X-Request-Id in one place for every answer, including framework errors and the checkout page."


async def _judge_media_types(case: Case, row: str, path: str, body: Mapping[str, Any], headers: Any) -> None:
    text = json.dumps(body).encode()

    async def send(media_type: str) -> None:
        # A new Idempotency-Key each, so that a server which answers by key first cannot return an earlier answer.
        key_header = {"Idempotency-Key": new_text(case)} if path in {LINKS, RESOURCES} else {}
        answer = await target_of(case)(
            "POST", path, body=text, headers={"content-type": media_type, **headers, **key_header}
        )
        where = {"Content-Type": media_type}
        hint = f"Serve POST {path}: it was answered {answer.status}." if answer.status in _UNKNOWN_STATUSES else None
        case.expect(row, answer.status == 415, "415", answer.status, exchange=answer, where=where, hint=hint)

    await run_concurrently(map(send, OTHER_MEDIA_TYPES))


@check("GW-HTTP-01", surface="gateway", fix=_FIX)
async def links_want_json(case: Case) -> None:
    """POST /v1/payment-links with a Content-Type other than application/json answers 415.

    Sends a good body with good credentials under other media types, some of which look like JSON. Expects 415.
    """
    tenant = case.session.tenants.get()
    await _judge_media_types(case, "GW-HTTP-01", LINKS, link_body(case, tenant), tenant.headers)


@check("GW-HTTP-02", surface="gateway", fix=_FIX)
async def resources_want_json(case: Case) -> None:
    """POST /v1/resources with a Content-Type other than application/json answers 415.

    Sends a good body with good credentials under other media types, some of which look like JSON. Expects 415.
    """
    tenant = case.session.tenants.get()
    await _judge_media_types(case, "GW-HTTP-02", RESOURCES, resource_body(case), tenant.headers)


@check("GW-HTTP-03", surface="gateway", fix=_FIX)
async def receipt_verification_wants_json(case: Case) -> None:
    """POST /v1/receipt/verify with a Content-Type other than application/json answers 415.

    Sends a good body under other media types, some of which look like JSON. Expects 415.
    """
    body = await receipt_body(case)
    await _judge_media_types(case, "GW-HTTP-03", RECEIPT_VERIFY, body, case.session.tenants.headers())


@check("GW-HTTP-04", surface="gateway", fix=_FIX)
async def screening_wants_json(case: Case) -> None:
    """POST /compliance/screen with a Content-Type other than application/json answers 415.

    Sends a body under other media types, some of which look like JSON. Expects 415.
    """
    body = case.profile.gateway_bindings.screen_body or {}
    await _judge_media_types(case, "GW-HTTP-04", SCREEN, body, case.session.tenants.headers())


@check(
    "GW-HTTP-05",
    surface="gateway",
    fix="Compare the media type without its parameters, and without regard to case.",
)
async def json_may_name_its_charset(case: Case) -> None:
    """`application/json` with a charset parameter is still accepted as JSON.

    Creates a link under `application/json` with a charset, in two spellings. Expects it to be created each time.
    """
    tenant = case.session.tenants.get()
    await create_link(case, tenant)
    for media_type in JSON_WITH_CHARSET:
        text = json.dumps(link_body(case, tenant)).encode()
        headers = {"content-type": media_type, **tenant.headers}
        answer = await target_of(case)("POST", LINKS, body=text, headers=headers)
        where = {"Content-Type": media_type}
        case.expect("GW-HTTP-05", is_created(case, answer), "a link", brief(answer), exchange=answer, where=where)


@check("GW-HTTP-06", surface="gateway", fix="Let the answer 415 go through the same place as every other error.")
async def a_wrong_media_type_gets_the_envelope(case: Case) -> None:
    """A 415 response uses the gateway error envelope.

    Sends plain text, forms of both kinds and XML to all four POST endpoints, with credentials where there are any.
    Expects `error` and `message` in the body of each 415.
    """
    # All four endpoints, because a framework may refuse a media type on one route before the code of another sees it.
    requests = [(path, media) for path in (LINKS, RESOURCES, RECEIPT_VERIFY, SCREEN) for media in USUAL_MEDIA_TYPES]
    answers = await run_concurrently(
        target_of(case)("POST", path, body=b"{}", headers={"content-type": media, **case.session.tenants.headers()})
        for path, media in requests
    )
    refusals = [(place, answer) for place, answer in zip(requests, answers, strict=True) if answer.status == 415]
    for (path, media), answer in refusals:
        fault, where = envelope_fault(answer), {"path": path, "Content-Type": media}
        requirement = "the envelope with error and message"
        case.expect("GW-HTTP-06", fault is None, requirement, fault, exchange=answer, where=where)
    if not refusals:
        raise Inconclusive("no call was answered 415, which GW-HTTP-01 to -04 judge")


@check("GW-HTTP-07", "GW-HTTP-09", "GW-HTTP-10", surface="gateway", fix=_EVERY)
async def successes_have_a_request_id(case: Case) -> None:
    """Every successful answer, including the checkout page, carries X-Request-Id, with a new value each time.

    Creates links and a resource, screens, verifies, opens the page, and reads the key document and the OpenAPI
    document. Also reads the resources and the links' statuses if the target claims them. Repeats many of these calls,
    some concurrently. Expects a request id on all, and no id twice.
    """
    answers = await _collect_successes(case)
    successes = [(name, answer) for name, answer in answers if 200 <= answer.status < 300]
    if not successes:
        raise Inconclusive("no call succeeded: give [tenants.first], or what the other endpoints need in [gateway]")
    for name, answer in successes:
        row = "GW-HTTP-09" if name == CHECKOUT else "GW-HTTP-07"
        has_id = bool(answer.headers.get(REQUEST_ID, "").strip())
        case.expect(row, has_id, "X-Request-Id", "one" if has_id else "none", exchange=answer, where={"path": name})
    if not any(name == CHECKOUT for name, _ in successes):
        page_status = next((answer.status for name, answer in answers if name == CHECKOUT), None)
        no_page = "no link was created: give [tenants.first]"
        if page_status is not None:
            no_page = f"the checkout page was answered {page_status}, so there is nothing to read"
        case.mark_inconclusive("GW-HTTP-09", no_page)
    _judge_request_ids(case, [answer for _, answer in successes], "GW-HTTP-07")


async def _collect_successes(case: Case) -> list[tuple[str, Answer]]:
    call, headers = target_of(case), case.session.tenants.headers()
    bindings = case.profile.gateway_bindings
    posts: list[tuple[str, Mapping[str, Any]]] = [(RECEIPT_VERIFY, await receipt_body(case))]
    if bindings.screen_body is not None:
        posts.append((SCREEN, bindings.screen_body))
    if headers:
        tenant = case.session.tenants.get()
        # Many at once: ids drawn from a clock or a counter without a lock collide only under concurrency.
        posts += [entry for _ in range(_MANY) for entry in bodies(case, tenant).items()]
    replies = await run_concurrently(call("POST", path, json_body=dict(body), headers=headers) for path, body in posts)
    answers = [(path, answer) for (path, _), answer in zip(posts, replies, strict=True)]
    tokens = [token for path, answer in answers if path == LINKS and (token := token_of(answer)) is not None]
    for token in tokens:
        case.client.names.name(token, "TOKEN")
    pages = await run_concurrently(call("GET", CHECKOUT + token) for token in tokens[:3])
    return [*answers, *((CHECKOUT, page) for page in pages), *await _read_claimed(case, tokens, posts)]


async def _read_claimed(
    case: Case, tokens: Sequence[str], posts: Sequence[tuple[str, Mapping[str, Any]]]
) -> list[tuple[str, Answer]]:
    """Return the answers of the reading calls: the bound documents, and the records that the target claims to serve."""
    call, bindings, claims = target_of(case), case.profile.gateway_bindings, case.profile.claims
    documents = [path for path in (bindings.jwks_path, bindings.openapi_path) if path]
    answers = [(path, await call("GET", path)) for path in documents]
    if claims.includes("gateway.checkout"):
        answers += [(f"{CHECKOUT}{{token}}/status", await call("GET", f"{CHECKOUT}{one}/status")) for one in tokens[:2]]
    if claims.includes("gateway.records"):
        ids = [body.get("resource_id") for path, body in posts if path == RESOURCES]
        headers = case.session.tenants.headers()
        answers += [(RESOURCES, await call("GET", f"{RESOURCES}/{one}", headers=headers)) for one in ids[:2] if one]
    return answers


def _judge_request_ids(case: Case, answers: list[Answer], presence_row: str) -> None:
    ids = [value for answer in answers if (value := answer.headers.get(REQUEST_ID, "").strip())]
    # One id cannot repeat, so the row about different ids needs two answers.
    if len(ids) < 2:
        case.mark_inconclusive("GW-HTTP-10", f"fewer than two answers had a request id, which {presence_row} judges")
        return
    finding = f"{len(set(ids))} different ones in {len(ids)} answers"
    case.expect("GW-HTTP-10", len(set(ids)) == len(ids), "a different request id for each answer", finding)


@check("GW-HTTP-08", "GW-HTTP-10", surface="gateway", fix=_EVERY)
async def errors_have_a_request_id(case: Case) -> None:
    """Every error answer carries X-Request-Id, with a new value each time.

    Provokes 404, 405, 415, 400, 422, 401 and 403, on several endpoints, each twice. Expects a request id on every
    error, and no id twice. (The limit checks cover 429.) Also sends large bodies, a long path and a long header field:
    a refusal as too large (413, 414, 431) without an id only warns.
    """
    answers = [one for _ in range(2) for one in await provoke_faults(case)]
    large = [(*one, OF_THE_FRONT) for one in await provoke_size_refusals(case)]
    for fault_name, answer, beyond in [*((*one, None) for one in answers), *large]:
        has_id = bool(answer.headers.get(REQUEST_ID, "").strip())
        where, finding = {"fault": fault_name, "status": str(answer.status)}, "one" if has_id else "none"
        case.expect("GW-HTTP-08", has_id, "X-Request-Id", finding, exchange=answer, where=where, beyond=beyond)
    _judge_request_ids(case, [answer for _, answer in answers], "GW-HTTP-08")
