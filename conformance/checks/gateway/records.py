"""GW-LINK-25 and GW-RES-03 to -05: links and resources with every member, if the target claims 3.4 and 3.8.

The interface leaves these members free. A target that claims the option `gateway.records` has clients that read them.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Mapping
from typing import Any

from conformance.engine.check import Case, check
from conformance.engine.concurrency import run_concurrently
from conformance.engine.tenant_credentials import Credentials
from conformance.http.client import Answer
from conformance.lanes.checkout_request import USDC
from conformance.outcome import Inconclusive
from conformance.surfaces.gateway.calls import (
    RESOURCES,
    Creation,
    brief,
    fresh,
    is_refused,
    link,
    post,
    short,
    target_of,
)
from conformance.text.times import utc_time

_SECRET = re.compile(r"[A-Za-z0-9_-]{43}")
# One label of plain letters, and one beyond ASCII with a zero-width joiner, which a cleaning server would drop.
_LABELS = ("Order 7, two of three", "Größe 7 · 👩\u200d💻")
_LEAST = {"resource_id": "weldproof", "amount_microunits": 250_000}
# The network of a resource that names none (3.8).
_DEFAULT_NETWORK = "algorand_mainnet"
_PRICE_MICROALGOS = 1_000_000
_WIDEST_ID = 128


@check(
    "GW-LINK-25",
    surface="gateway",
    fix="Answer each of the members of specification 3.4, from the link that was stored.",
)
async def a_link_is_answered_whole(case: Case) -> None:
    """The answer to a created link also has id, created_at, asset_id, label and cancel_secret (specification 3.4).

    Creates two links, one with a label beyond ASCII. Expects of each an id that is a UUID, the time of its creation in
    UTC, its network's USDC as asset_id, the label as it was sent, and a cancel_secret of 43 base64url characters.
    Expects that the two links share neither id nor secret.
    """
    tenant = case.session.tenants.get()
    made = await run_concurrently(link(case, tenant, label=label) for label in _LABELS)
    usdc = case.profile.usdc_of(tenant.networks[0]) if tenant.networks else None
    for label, answer in zip(_LABELS, made, strict=True):
        members = answer.object()
        case.client.names.secret(str(members.get("cancel_secret")), "CANCEL_SECRET")
        wanted: dict[str, Any] = {"label": label}
        wanted |= {} if usdc is None else {"asset_id": usdc}
        faults = [*_formless(members), *_other(members, wanted)]
        secret = members.get("cancel_secret")
        faults += [] if isinstance(secret, str) and _SECRET.fullmatch(secret) else ["cancel_secret"]
        found = f"wrong or absent: {', '.join(faults)}"
        case.expect("GW-LINK-25", not faults, "each member of a link", found, exchange=answer)
    for name in ("id", "cancel_secret"):
        values = [answer.object().get(name) for answer in made]
        found = "two alike" if values[0] == values[1] else "two that differ"
        case.expect("GW-LINK-25", values[0] != values[1], f"a different {name} for each link", found, exchange=made[-1])


@check(
    "GW-RES-03",
    surface="gateway",
    fix="Return the whole record: the members that were sent, the defaults of the others, and the members that the "
    "server adds.",
)
async def a_resource_is_answered_whole(case: Case) -> None:
    """The answer to a created resource has each of its members: as sent, else with its default (specification 3.8).

    Creates one resource with the two required members, and one with all members, each with another value than its
    default. Expects every member as sent or with its default, an id that is a UUID, is_active, price_microalgos and the
    time of its creation.
    """
    tenant = case.session.tenants.get()
    offered = [one for one in tenant.networks if one != _DEFAULT_NETWORK]
    least = {**_LEAST, "resource_id": fresh(case, "resource")}
    first = await _made(case, least)
    defaults = {
        "payment_network": _DEFAULT_NETWORK,
        "networks": [_DEFAULT_NETWORK],
        "asset_id": USDC[_DEFAULT_NETWORK],
        "access_ttl_secs": 3600,
        "requirement_ttl_secs": 300,
        "note_binding_required": True,
        "price_fiat_cents": None,
        "price_fiat_currency": None,
    }
    _judge(case, first, {**defaults, **least}, "the required members alone")
    if not offered:
        case.note("no network except the default is known to be offered: give [tenants.NAME] networks")
        return
    whole = {
        "resource_id": fresh(case, "resource"),
        "amount_microunits": 1,
        "payment_network": offered[0],
        "networks": offered[:2],
        "asset_id": "7",
        "access_ttl_secs": 60,
        "requirement_ttl_secs": 61,
        "note_binding_required": False,
        "price_fiat_cents": 125,
        "price_fiat_currency": "EUR",
    }
    _judge(case, await _made(case, whole), whole, "every member")
    other = await _made(case, {**_LEAST, "resource_id": fresh(case, "resource"), "payment_network": offered[-1]})
    usdc = case.profile.usdc_of(offered[-1])
    wanted = {"networks": [offered[-1]], **({} if usdc is None else {"asset_id": usdc})}
    _judge(case, other, wanted, "another network")


async def _made(case: Case, body: Mapping[str, Any]) -> Answer:
    answer = await post(target_of(case), Creation(RESOURCES, body, case.session.tenants.get()))
    network = str(body.get("payment_network", _DEFAULT_NETWORK))
    if is_refused(answer) and network not in case.session.tenants.get().networks:
        raise Inconclusive(
            f"a resource on {network}, which the tenant need not be offered, was answered {short(answer)}"
        )
    if not 200 <= answer.status < 300:
        case.expect("GW-RES-03", False, "a created resource", brief(answer), exchange=answer)
        raise Inconclusive("no resource was created")
    return answer


def _judge(case: Case, answer: Answer, wanted: Mapping[str, Any], what: str) -> None:
    members = answer.object()
    # Members that the server adds, with fixed values (3.8).
    added = {"is_active": True, "price_microalgos": _PRICE_MICROALGOS}
    faults = [*_formless(members), *_other(members, {**wanted, **added})]
    found = f"wrong or absent: {', '.join(faults)}"
    case.expect("GW-RES-03", not faults, "the whole record", found, exchange=answer, where={"sent": what})


def _other(members: Mapping[str, Any], wanted: Mapping[str, Any]) -> list[str]:
    """Return the names of members that are absent or of another value or type."""
    return [name for name, value in wanted.items() if name not in members or not _same(members[name], value)]


def _same(one: Any, two: Any) -> bool:
    """Return whether two values are equal and of one type: in Python True equals 1, and 1 equals 1.0."""
    return type(one) is type(two) and bool(one == two)


def _formless(members: Mapping[str, Any]) -> list[str]:
    """Return which of id and created_at is malformed."""
    forms = {"id": _is_uuid(members.get("id")), "created_at": utc_time(members.get("created_at")) is not None}
    return [name for name, held in forms.items() if not held]


def _is_uuid(value: object) -> bool:
    try:
        return isinstance(value, str) and str(uuid.UUID(value)) == value.lower()
    except ValueError:
        return False


@check(
    "GW-RES-04",
    surface="gateway",
    fix="Refuse a value outside the limits of specification 3.8 with 422, and accept the limits themselves.",
)
async def resources_keep_their_limits(case: Case) -> None:
    """A resource outside of its limits is refused, and one at them is created (specification 3.8).

    Creates resources with amount_microunits 0 and 1, access_ttl_secs 0, 1, 31536000 and one more, requirement_ttl_secs
    0, 1, 86400 and one more. Also with ids of 0, 1, 128 and 129 characters and of characters that are not allowed, an
    amount that is no integer, and an unknown network. Expects a client error outside the limits, and a resource at
    them.
    """
    tenant = case.session.tenants.get()
    inside: list[Mapping[str, Any]] = [
        {"amount_microunits": 1},
        *({"access_ttl_secs": seconds} for seconds in (1, 31_536_000)),
        *({"requirement_ttl_secs": seconds} for seconds in (1, 86_400)),
        {"resource_id": fresh(case, "resource").ljust(_WIDEST_ID, "x")},
        {"resource_id": f"{fresh(case, 'resource')}._:-"},
    ]
    outside: list[Mapping[str, Any]] = [
        *({"amount_microunits": amount} for amount in (0, -1, 1.5, "1", True, None)),
        *({"access_ttl_secs": seconds} for seconds in (0, -1, 31_536_001, "60")),
        *({"requirement_ttl_secs": seconds} for seconds in (0, -1, 86_401, 60.5)),
        *({"resource_id": text} for text in ("", "a b", "a/b", fresh(case, "resource").ljust(_WIDEST_ID + 1, "x"))),
        {"payment_network": "atlantis_mainnet"},
        {"networks": [*tenant.networks[:1], "atlantis_mainnet"]},
        {"note_binding_required": "yes"},
    ]

    def body(changed: Mapping[str, Any]) -> dict[str, Any]:
        return {**_least(case), **changed}

    for one in inside:
        await _tried(case, tenant, body(one), one, taken=True)
    await run_concurrently(_tried(case, tenant, body(one), one, taken=False) for one in outside)


def _least(case: Case) -> dict[str, Any]:
    """Return a body of the required members, on a network that the tenant is offered."""
    networks = case.session.tenants.get().networks
    network = {"payment_network": networks[0]} if networks else {}
    return {**_LEAST, **network, "resource_id": fresh(case, "resource")}


async def _tried(
    case: Case, tenant: Credentials, body: Mapping[str, Any], changed: Mapping[str, Any], *, taken: bool
) -> None:
    answer = await post(target_of(case), Creation(RESOURCES, body, tenant))
    held = 200 <= answer.status < 300 if taken else is_refused(answer)
    expected, found = "a resource" if taken else "a client error", brief(answer)
    where = {name: repr(value)[:40] for name, value in changed.items()}
    case.expect("GW-RES-04", held, expected, found, exchange=answer, where=where)


@check(
    "GW-RES-05",
    surface="gateway",
    fix="Look a resource up by tenant and resource_id, and answer the record as it was created.",
)
async def a_resource_is_its_tenants(case: Case) -> None:
    """GET of a resource answers its record to its tenant; another tenant's is not found (specification 3.8).

    Creates a resource and reads it with its tenant's credentials, with another tenant's, with its tenant's id alone,
    and with that id and the other tenant's key. Creates a resource of the same id again, and one of the same id for the
    other tenant.

    Expects:

    * 200 with the record for its tenant,
    * 404 for the other tenant and for an unknown id,
    * a client error without the tenant's key, and for the second creation,
    * a separate resource for the other tenant.
    """
    mine, theirs = case.session.tenants.get(), case.session.tenants.get("second")
    body = _least(case)
    call = target_of(case)
    created = await post(call, Creation(RESOURCES, body, mine))
    if not 200 <= created.status < 300:
        raise Inconclusive(f"no resource was created, which GW-RES-03 judges: {created.status}")
    path, nobodys = f"{RESOURCES}/{body['resource_id']}", f"{RESOURCES}/{fresh(case, 'resource')}"
    # 404 and not 403 for the other tenant: a different answer would reveal that the id exists.
    for who, where, status in ((mine, path, 200), (theirs, path, 404), (mine, nobodys, 404)):
        answer = await call("GET", where, headers=who.headers)
        held = answer.status == status and (status == 404 or answer.object() == created.object())
        told = {"tenant": who.name, "resource": "its own" if where == path else "unknown"}
        expected = f"{status}{' with the record' if status == 200 else ''}"
        case.expect("GW-RES-05", held, expected, brief(answer), exchange=answer, where=told)
    nobody, both = {"X-Tenant-Id": mine.id}, {**theirs.headers, "X-Tenant-Id": mine.id}
    for what, headers in (("a tenant id alone", nobody), ("the key of another tenant", both)):
        answer = await call("GET", path, headers=headers)
        held, found = 400 <= answer.status < 500, brief(answer)
        case.expect("GW-RES-05", held, "a client error", found, exchange=answer, where={"credentials": what})
    twice = await post(call, Creation(RESOURCES, body, mine))
    case.expect("GW-RES-05", is_refused(twice), "a client error", twice.status, exchange=twice, where={"id": "taken"})
    other = await post(call, Creation(RESOURCES, body, theirs))
    held = 200 <= other.status < 300
    case.expect("GW-RES-05", held, "a separate resource", other.status, exchange=other, where={"tenant": "second"})
