"""GW-AUTH: an authenticated call needs a key and the id of the key's tenant.

Every refused creation has an Idempotency-Key. Afterwards the tenant sends a valid creation of another amount with that
key. If the refused call had created or stored anything, the gateway would return it now, or report a conflict.
"""

from __future__ import annotations

import asyncio
import base64
import time
from collections.abc import Iterator, Mapping

from conformance.assertions.gateway.nothing_created import REFUSED_AMOUNT, judge_nothing_created
from conformance.engine.check import Case, check
from conformance.engine.concurrent_check_steps import run_concurrently
from conformance.engine.tenant_credentials import Credentials
from conformance.http.client import Answer
from conformance.surfaces.gateway.administration import create_tenant_with_two_keys
from conformance.surfaces.gateway.calls import (
    LINKS,
    RESOURCES,
    Creation,
    bodies,
    brief,
    create,
    envelope_fault,
    expect_created,
    is_created,
    is_rejected,
    link_body,
    name_live_values,
    new_text,
    payable,
    post,
    resource_body,
    send_plain_link,
    short,
    target_of,
)

# A server may cache a key that it has looked up, so a deleted key gets three seconds to stop working.
_FORGOTTEN_SECONDS, _LOOK_SECONDS = 3.0, 0.2
_FIX = (
    "On POST /v1/payment-links and /v1/resources demand `Authorization: Bearer <key>` and an X-Tenant-Id that is the "
    "key's own tenant, before anything is read or stored."
)
_GRANTING_MEMBERS = frozenset({"token", "checkout_url", "cancel_secret"})


async def judge_rejected(
    case: Case, row: str, path: str, headers: Mapping[str, str], owner: Credentials, how: str, *, envelope: str = ""
) -> None:
    """Send a good creation with wrong credentials, and judge that it is rejected and creates nothing.

    Args:
        case: The check's case.
        row: The row to judge.
        path: Creating endpoint.
        headers: The credentials to send.
        owner: Tenant for whom nothing may have been created.
        how: What is wrong, for the reader.
        envelope: A row that wants the error envelope, too.
    """
    call, where = target_of(case), {"path": path, "credentials": how}
    body = (
        link_body(case, owner, amount=payable(case.profile.gateway_bindings, REFUSED_AMOUNT))
        if path == LINKS
        else resource_body(case)
    )
    key = new_text(case)
    answer = await call("POST", path, json_body=body, headers={"Idempotency-Key": key, **headers})
    # A status 4xx is not enough: a server that checks too late may still return the token of the link that it created.
    granted_names = sorted(_GRANTING_MEMBERS.intersection(answer.read_object()))
    holds = is_rejected(answer) and not granted_names
    case.expect(
        row, holds, "rejected, nothing handed out", _describe(answer, granted_names), exchange=answer, where=where
    )
    if envelope and not is_created(case, answer):
        fault = envelope_fault(answer)
        case.expect(envelope, fault is None, "the envelope", fault, exchange=answer, where=where)
    if holds:
        await judge_nothing_created(case, row, Creation(path, body, owner, key), where)


def _describe(answer: Answer, granted_names: list[str]) -> str:
    return f"{answer.status}" + (f" with {', '.join(granted_names)}" if granted_names else f" {short(answer)}")


def list_wrong_keys(key: str) -> Iterator[tuple[str, str]]:
    """Yield (what, value) of invalid Bearer values, most of them similar to a valid one."""
    yield "an unknown key", "nobody-has-this-key-0123456789abcdef"
    yield "the key without its last character", key[:-1]
    yield "the key with one more character", key + "A"
    yield "the key with another last character", key[:-1] + ("A" if key[-1] != "A" else "B")
    yield "the key with another first character", ("A" if key[0] != "A" else "B") + key[1:]
    # A database with a case-insensitive collation finds the key in either case.
    yield "the key in upper case", key.upper() if key.upper() != key else key.lower()
    # A comparison of prefixes accepts any text that begins with the key.
    yield "the key twice", key + key
    yield "the key and a word behind it", f"{key} more"
    yield "the key and a comma with a word behind it", f"{key},more"
    yield "the key up to its middle", key[: len(key) // 2]
    yield "a wildcard", "*"
    yield "a word of SQL", "' OR '1'='1"


def list_wrong_ids(own: str) -> Iterator[tuple[str, str]]:
    """Yield (what, value) of X-Tenant-Id values that are similar to a tenant's id and belong to no tenant."""
    yield "the id with another last character", own[:-1] + ("0" if own[-1] != "0" else "1")
    # Index 17 lies behind the UUID's version digit, so the result is still a well-formed UUID of the same version.
    yield "the id with another character in its middle", f"{own[:17]}{'0' if own[17:18] != '0' else '1'}{own[18:]}"
    yield "the id with another first character", ("0" if own[0] != "0" else "1") + own[1:]
    yield "the id up to its first hyphen", own.partition("-")[0]
    yield "the id with one more character", own + "0"
    yield "a wildcard", "*"


def list_wrong_schemes(key: str, tenant: str) -> Iterator[tuple[str, str]]:
    """Yield (what, value) of Authorization fields that hold the key, but not under the scheme Bearer."""
    # HTTP Basic encodes user and password, and some frameworks decode it for every scheme.
    pair = base64.b64encode(f"{tenant}:{key}".encode()).decode()
    alone = base64.b64encode(f"{key}:".encode()).decode()
    yield "Basic with tenant and key", f"Basic {pair}"
    yield "Basic with the key as user", f"Basic {alone}"
    yield "Basic with the key as it is", f"Basic {key}"
    yield "the scheme Token", f"Token {key}"
    yield "the scheme ApiKey", f"ApiKey {key}"
    yield "the scheme Digest", f"Digest {key}"
    yield "a scheme that begins with Bearer", f"Bearers {key}"
    yield "no scheme at all", key


async def _list_usable_paths(case: Case, tenant: Credentials) -> list[str]:
    """Return the creating endpoints on which this tenant's valid call succeeds.

    Raises:
        Inconclusive: A plain creation fails, which other rows judge.
    """
    creation_bodies = bodies(case, tenant)
    for path, body in creation_bodies.items():
        await create(case, Creation(path, body, tenant))
    return list(creation_bodies)


@check("GW-AUTH-01", "GW-AUTH-08", surface="gateway", fix=_FIX)
async def a_call_without_authorization_is_rejected(case: Case) -> None:
    """An authenticated endpoint rejects a call without the Authorization header and creates nothing.

    Sends a good creation with X-Tenant-Id alone, and one without either header. Expects a client error in the envelope,
    and that the call's Idempotency-Key is still free for the tenant.
    """
    # A profile may name no tenant, but the refusal of a call without credentials can be judged all the same.
    if not case.session.tenants.headers():
        await _judge_without_tenant(case)
        return
    tenant = case.session.tenants.get()
    for path in await _list_usable_paths(case, tenant):
        for how, headers in (("a tenant id alone", {"X-Tenant-Id": tenant.id}), ("none", dict[str, str]())):
            await judge_rejected(case, "GW-AUTH-01", path, headers, tenant, how, envelope="GW-AUTH-08")


async def _judge_without_tenant(case: Case) -> None:
    """Judge what can be judged without a tenant's credentials: the rejection and its envelope."""
    body = {"amount": 1.25, "currency": case.profile.gateway_bindings.currency, "label": "x"}
    for path in (LINKS, RESOURCES):
        answer = await target_of(case)("POST", path, json_body=body)
        where = {"path": path, "credentials": "none"}
        case.expect("GW-AUTH-01", is_rejected(answer), "rejected", answer.status, exchange=answer, where=where)
        fault = envelope_fault(answer)
        case.expect("GW-AUTH-08", fault is None, "the envelope", fault, exchange=answer, where=where)


@check("GW-AUTH-02", "GW-AUTH-08", surface="gateway", fix=_FIX)
async def a_call_without_a_tenant_id_is_rejected(case: Case) -> None:
    """An authenticated endpoint rejects a call without X-Tenant-Id and creates nothing.

    Sends good creations with the right key alone, and with an X-Tenant-Id that is empty. Expects a client error in the
    envelope, and that their Idempotency-Keys are still free.
    """
    tenant = case.session.tenants.get()
    headers = {"Authorization": f"Bearer {tenant.key}"}
    for path in await _list_usable_paths(case, tenant):
        await judge_rejected(case, "GW-AUTH-02", path, headers, tenant, "the key alone", envelope="GW-AUTH-08")
        empty = {**headers, "X-Tenant-Id": ""}
        await judge_rejected(case, "GW-AUTH-02", path, empty, tenant, "the key and an empty id", envelope="GW-AUTH-08")
    _leave_envelope_row(case)


@check("GW-AUTH-03", "GW-AUTH-08", surface="gateway", fix=_FIX)
async def a_wrong_key_is_rejected(case: Case) -> None:
    """An authenticated endpoint rejects a Bearer value that is not a valid key.

    Sends a good creation with unknown keys, most of them one character away from the tenant's key. Expects a client
    error in the envelope, and that nothing was created.
    """
    tenant = case.session.tenants.get()
    for path in await _list_usable_paths(case, tenant):
        await run_concurrently(
            judge_rejected(
                case, "GW-AUTH-03", path, _build_headers(tenant, f"Bearer {value}"), tenant, how, envelope="GW-AUTH-08"
            )
            for how, value in list_wrong_keys(tenant.key)
        )


@check(
    "GW-AUTH-03",
    surface="gateway",
    fix="Look a key up at every call, or clear its cache entry when it is deleted.",
)
async def a_deleted_key_is_rejected(case: Case) -> None:
    """A deleted key is invalid, whatever its state was before, and the tenant's other keys stay valid.

    Requires an administrator's key. Creates a tenant with two keys, makes a link with one of them, and deletes that
    key. Then rotates a further key, and deletes it while it still works next to its successor. Expects a client error
    for each deleted key within three seconds, and a link for the remaining key and for the successor.
    """
    keys = await create_tenant_with_two_keys(case, "Weldproof keys")
    if keys is None:
        case.mark_not_applicable("GW-AUTH-03", "the profile names no administrator of a gateway with that option")
        return
    await create(case, Creation(LINKS, link_body(case, keys.second), keys.second))
    answer = await keys.request_deletion(keys.key_id)
    await _judge_deleted(case, keys.second, "deleted", answer)
    await _judge_valid(case, keys.first, "the other one of its tenant")
    rotated_keys = await keys.rotate_further_key()
    await create(case, Creation(LINKS, link_body(case, rotated_keys.old), rotated_keys.old))
    # A rotated key stays valid for days (P-AU-04). Deleting it has to end that period, too.
    answer = await keys.request_deletion(rotated_keys.old_id)
    await _judge_deleted(case, rotated_keys.old, "deleted after it was rotated", answer)
    await _judge_valid(case, rotated_keys.successor, "the successor of a rotated key that was deleted")


async def _judge_deleted(case: Case, tenant: Credentials, state: str, deletion: Answer) -> None:
    """Judge that a key is rejected within the time for which a server may cache it.

    A deletion that is refused is judged in the same way: the key works on, and its owner has no way to end it.
    """
    deadline = time.monotonic() + _FORGOTTEN_SECONDS
    answer = await send_plain_link(case, tenant)
    while not is_rejected(answer) and time.monotonic() < deadline:
        await asyncio.sleep(_LOOK_SECONDS)
        answer = await send_plain_link(case, tenant)
    finding = f"{brief(answer)}; its deletion was answered {deletion.status}"
    where = {"key": state}
    case.expect("GW-AUTH-03", is_rejected(answer), "a client error", finding, exchange=answer, where=where)


async def _judge_valid(case: Case, tenant: Credentials, state: str) -> None:
    """Judge that a key is accepted."""
    answer = await send_plain_link(case, tenant)
    where = {"key": state}
    case.expect("GW-AUTH-03", is_created(case, answer), "a link", answer.status, exchange=answer, where=where)


@check("GW-AUTH-04", "GW-AUTH-08", surface="gateway", fix=_FIX)
async def another_scheme_is_rejected(case: Case) -> None:
    """An authenticated endpoint rejects an Authorization scheme other than Bearer.

    Sends a good creation with the right key under other schemes and under none. Expects a client error in the envelope,
    and that nothing was created.
    """
    tenant = case.session.tenants.get()
    for path in await _list_usable_paths(case, tenant):
        await run_concurrently(
            judge_rejected(case, "GW-AUTH-04", path, _build_headers(tenant, value), tenant, how, envelope="GW-AUTH-08")
            for how, value in list_wrong_schemes(tenant.key, tenant.id)
        )
    _leave_envelope_row(case)


def _leave_envelope_row(case: Case) -> None:
    """Leave GW-AUTH-08 to other checks if this check met no refusal that could have the envelope."""
    if "GW-AUTH-08" not in case.judged_rows:
        case.mark_not_applicable("GW-AUTH-08", "no call was refused here, so there is no envelope to judge")


def _build_headers(tenant: Credentials, authorization: str) -> dict[str, str]:
    return {"Authorization": authorization, "X-Tenant-Id": tenant.id}


@check("GW-AUTH-05", "GW-AUTH-08", surface="gateway", fix=_FIX)
async def a_key_opens_its_own_tenant_only(case: Case) -> None:
    """A key of tenant A together with the X-Tenant-Id of tenant B is rejected.

    Sends good creations with each tenant's key and the other's id, and with unknown ids, most of them similar to the
    tenant's id. Expects a client error in the envelope, and that nothing was created for either.
    """
    first, second = case.session.tenants.get("first"), case.session.tenants.get("second")
    for key_of, id_of in ((first, second), (second, first)):
        for path in await _list_usable_paths(case, key_of):
            headers = {"Authorization": f"Bearer {key_of.key}", "X-Tenant-Id": id_of.id}
            how = f"key of {key_of.name}, id of {id_of.name}"
            # Either tenant could own what was created by mistake, so the Idempotency-Key is tried for both.
            for owner in (key_of, id_of):
                await judge_rejected(case, "GW-AUTH-05", path, headers, owner, how, envelope="GW-AUTH-08")
            headers = {**headers, "X-Tenant-Id": "7f5b2c1e-0000-4000-8000-000000000000"}
            how = "an unknown id"
            await judge_rejected(case, "GW-AUTH-05", path, headers, key_of, how, envelope="GW-AUTH-08")
    await run_concurrently(
        judge_rejected(case, "GW-AUTH-05", LINKS, {**first.headers, "X-Tenant-Id": value}, first, how)
        for how, value in list_wrong_ids(first.id)
    )
    _leave_envelope_row(case)


@check("GW-AUTH-06", "GW-AUTH-07", surface="gateway", fix=_FIX)
async def a_key_with_its_tenant_is_accepted(case: Case) -> None:
    """A valid key plus the matching tenant id is accepted on both creating endpoints.

    Creates a link and a resource as each tenant that the profile knows. Expects success each time.
    """
    tenants = [case.session.tenants.get(name) for name in case.profile.tenants] or [case.session.tenants.get()]
    if case.profile.gateway_bindings.resource_body is None:
        case.mark_inconclusive("GW-AUTH-07", "unbound: no body creates a resource; give [gateway] resource_body")
    posts = [(tenant, path, body) for tenant in tenants for path, body in bodies(case, tenant).items()]
    answers = await run_concurrently(
        post(target_of(case), Creation(path, body, tenant)) for tenant, path, body in posts
    )
    for (tenant, path, _), answer in zip(posts, answers, strict=True):
        row = "GW-AUTH-06" if path == LINKS else "GW-AUTH-07"
        where = {"path": path, "tenant": tenant.name}
        expect_created(case, row, path, name_live_values(case, answer), "accepted", where)
