"""GW-LINK-25 and GW-RES-03 to -05: links and resources with every member, if the target claims 3.4 and 3.8.

The interface leaves these members free. A target that claims the option `gateway.records` has clients that read them.
"""

from __future__ import annotations

import datetime as dt
import re
import uuid
from collections.abc import Mapping
from typing import Any, Final

from conformance.engine.check import Case, check
from conformance.engine.concurrent_check_steps import run_concurrently
from conformance.engine.tenant_credentials import Credentials
from conformance.http.client import Answer
from conformance.lanes.checkout_request import USDC
from conformance.outcome import Inconclusive, OpenPoint
from conformance.surfaces.gateway.calls import (
    LINKS,
    RESOURCES,
    Creation,
    brief,
    create_link,
    is_refused,
    link_body,
    name_live_values,
    new_text,
    post,
    short,
    target_of,
)
from conformance.text.times import utc_time

# 32 random bytes in base64url without padding.
_SECRET = re.compile(r"[A-Za-z0-9_-]{43}")
# One label of plain letters, and one beyond ASCII with a zero-width joiner, which a cleaning server would drop.
_LABELS = ("Order 7, two of three", "Größe 7 · 👩\u200d💻")
_LEAST = {"resource_id": "weldproof", "amount_microunits": 250_000}
# The network of a resource that names none (3.8).
_DEFAULT_NETWORK = "algorand_mainnet"
_PRICE_MICROALGOS = 1_000_000
_WIDEST_ID = 128
# 16 random bytes in base64url without padding.
_TOKEN: Final = re.compile(r"[A-Za-z0-9_-]{22}")
_DAY: Final = 86_400
_LONGEST_RETURN: Final = 2048
_RETURN_URL: Final = "https://shop.example/"
_LIMITS: Final = OpenPoint("the limits of the members of a link, and its defaults", "3.4")
_STATUS: Final = OpenPoint("the success status of a creating call", "3.1")


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

    Also creates links at the limits of lifetime, label, redirect_url and amount. Of a target that claims the
    specification, expects the status 201, a token of 22 characters, and an expires_at by the lifetime, a day unless one
    is sent.
    """
    tenant = case.session.tenants.get()
    answers = await run_concurrently(create_link(case, tenant, label=label) for label in _LABELS)
    usdc = case.profile.usdc_of(tenant.networks[0]) if tenant.networks else None
    for label, answer in zip(_LABELS, answers, strict=True):
        members = answer.read_object()
        case.client.names.secret(str(members.get("cancel_secret")), "CANCEL_SECRET")
        wanted_members: dict[str, Any] = {"label": label}
        wanted_members |= {} if usdc is None else {"asset_id": usdc}
        faults = [*_malformed_names(members), *_differing_names(members, wanted_members)]
        secret = members.get("cancel_secret")
        faults += [] if isinstance(secret, str) and _SECRET.fullmatch(secret) else ["cancel_secret"]
        finding = f"wrong or absent: {', '.join(faults)}"
        case.expect("GW-LINK-25", not faults, "each member of a link", finding, exchange=answer)
    for name in ("id", "cancel_secret"):
        values = [answer.read_object().get(name) for answer in answers]
        finding = "two alike" if values[0] == values[1] else "two that differ"
        case.expect(
            "GW-LINK-25", values[0] != values[1], f"a different {name} for each link", finding, exchange=answers[-1]
        )
    await _judge_limits(case, tenant)


async def _judge_limits(case: Case, tenant: Credentials) -> None:
    """Create links whose members have the least and the greatest values of 3.4, and judge what each shows of them."""
    longest = case.profile.gateway_bindings.longest_label or 255
    bodies: dict[str, dict[str, Any]] = {
        "no lifetime": {},
        "a lifetime of 60 seconds": {"expires_in_seconds": 60},
        "a lifetime of 86400 seconds": {"expires_in_seconds": _DAY},
        "null as lifetime": {"expires_in_seconds": None},
        "null as redirect_url": {"redirect_url": None},
        "a redirect_url of 2048 characters": {"redirect_url": _RETURN_URL.ljust(_LONGEST_RETURN, "x")},
        f"a label of {longest} code points": {"label": "\U0001f600" * longest},
        "a label of one code point": {"label": "x"},
        "the greatest amount": {"amount": 1_000_000_000},
    }
    for name, members in bodies.items():
        # A link body that the profile binds may have a lifetime, too.
        body = {**link_body(case, tenant), **members}
        answer = name_live_values(case, await post(target_of(case), Creation(LINKS, body, tenant)))
        record = answer.read_object()
        lifetime = body.get("expires_in_seconds") or _DAY
        times = utc_time(record.get("created_at")), utc_time(record.get("expires_at"))
        faults = [] if 200 <= answer.status < 300 else [f"status {answer.status}"]
        faults += [] if record.get("label") == body["label"] else ["label"]
        is_timed = times[0] is not None and times[1] is not None
        is_timed = is_timed and times[1] - times[0] == dt.timedelta(seconds=lifetime)  # type: ignore[operator]
        faults += [] if is_timed else ["expires_at"]
        faults += [] if _TOKEN.fullmatch(str(record.get("token"))) else ["token"]
        finding = f"wrong or absent: {', '.join(faults)}"
        where = {"body": name}
        case.expect("GW-LINK-25", not faults, "the link", finding, exchange=answer, where=where, beyond=_LIMITS)
        _judge_status(case, "GW-LINK-25", answer)


def _judge_status(case: Case, row: str, answer: Answer) -> None:
    """Judge that a creating call is answered 201, or with a status that the profile binds."""
    statuses = case.profile.gateway_bindings.create_status or (201,)
    holds = answer.status in statuses
    expectation = " or ".join(map(str, statuses))
    case.expect(row, holds, expectation, answer.status, exchange=answer, beyond=_STATUS)


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
    other_networks = [one for one in tenant.networks if one != _DEFAULT_NETWORK]
    least_members = {**_LEAST, "resource_id": new_text(case, "resource")}
    first_record = await _create_resource(case, least_members)
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
    _judge(case, first_record, {**defaults, **least_members}, "the required members alone")
    if not other_networks:
        case.note("no network except the default is known to be offered: give [tenants.NAME] networks")
        return
    whole_body = {
        "resource_id": new_text(case, "resource"),
        "amount_microunits": 1,
        "payment_network": other_networks[0],
        "networks": other_networks[:2],
        "asset_id": "7",
        "access_ttl_secs": 60,
        "requirement_ttl_secs": 61,
        "note_binding_required": False,
        "price_fiat_cents": 125,
        "price_fiat_currency": "EUR",
    }
    _judge(case, await _create_resource(case, whole_body), whole_body, "every member")
    network_record = await _create_resource(
        case, {**_LEAST, "resource_id": new_text(case, "resource"), "payment_network": other_networks[-1]}
    )
    usdc = case.profile.usdc_of(other_networks[-1])
    wanted_members = {"networks": [other_networks[-1]], **({} if usdc is None else {"asset_id": usdc})}
    _judge(case, network_record, wanted_members, "another network")


async def _create_resource(case: Case, body: Mapping[str, Any]) -> Answer:
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


def _judge(case: Case, answer: Answer, wanted_members: Mapping[str, Any], body_name: str) -> None:
    members = answer.read_object()
    # Members that the server adds, with fixed values (3.8).
    server_members = {"is_active": True, "price_microalgos": _PRICE_MICROALGOS}
    faults = [*_malformed_names(members), *_differing_names(members, {**wanted_members, **server_members})]
    finding = f"wrong or absent: {', '.join(faults)}"
    case.expect("GW-RES-03", not faults, "the whole record", finding, exchange=answer, where={"sent": body_name})
    _judge_status(case, "GW-RES-03", answer)


def _differing_names(members: Mapping[str, Any], wanted_members: Mapping[str, Any]) -> list[str]:
    """Return the names of members that are absent or of another value or type."""
    return [name for name, value in wanted_members.items() if name not in members or not _is_same(members[name], value)]


def _is_same(first: Any, second: Any) -> bool:
    """Return whether two values are equal and of one type: in Python True equals 1, and 1 equals 1.0."""
    return type(first) is type(second) and bool(first == second)


def _malformed_names(members: Mapping[str, Any]) -> list[str]:
    """Return which of id and created_at is malformed."""
    is_formed = {"id": _is_uuid(members.get("id")), "created_at": utc_time(members.get("created_at")) is not None}
    return [name for name, held in is_formed.items() if not held]


def _is_uuid(value: object) -> bool:
    try:
        # Python's parser also accepts braces, URNs and missing hyphens, so the text is compared with the canonical
        # form.
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
        {"resource_id": new_text(case, "resource").ljust(_WIDEST_ID, "x")},
        {"resource_id": f"{new_text(case, 'resource')}._:-"},
    ]
    # Values at each limit and one beyond it, and values of other types that a loose schema would convert.
    outside: list[Mapping[str, Any]] = [
        *({"amount_microunits": amount} for amount in (0, -1, 1.5, "1", True, None)),
        *({"access_ttl_secs": seconds} for seconds in (0, -1, 31_536_001, "60")),
        *({"requirement_ttl_secs": seconds} for seconds in (0, -1, 86_401, 60.5)),
        *({"resource_id": text} for text in ("", "a b", "a/b", new_text(case, "resource").ljust(_WIDEST_ID + 1, "x"))),
        {"payment_network": "atlantis_mainnet"},
        {"networks": [*tenant.networks[:1], "atlantis_mainnet"]},
        {"note_binding_required": "yes"},
    ]

    def body(changed_members: Mapping[str, Any]) -> dict[str, Any]:
        return {**_least_body(case), **changed_members}

    for changed_members in inside:
        await _judge_limit(case, tenant, body(changed_members), changed_members, is_accepted=True)
    await run_concurrently(
        _judge_limit(case, tenant, body(changed_members), changed_members, is_accepted=False)
        for changed_members in outside
    )


def _least_body(case: Case) -> dict[str, Any]:
    """Return a body of the required members, on a network that the tenant is offered."""
    networks = case.session.tenants.get().networks
    network = {"payment_network": networks[0]} if networks else {}
    return {**_LEAST, **network, "resource_id": new_text(case, "resource")}


async def _judge_limit(
    case: Case, tenant: Credentials, body: Mapping[str, Any], changed_members: Mapping[str, Any], *, is_accepted: bool
) -> None:
    answer = await post(target_of(case), Creation(RESOURCES, body, tenant))
    holds = 200 <= answer.status < 300 if is_accepted else is_refused(answer)
    requirement, finding = "a resource" if is_accepted else "a client error", brief(answer)
    where = {name: repr(value)[:40] for name, value in changed_members.items()}
    case.expect("GW-RES-04", holds, requirement, finding, exchange=answer, where=where)


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
    own_tenant, other_tenant = case.session.tenants.get(), case.session.tenants.get("second")
    body = _least_body(case)
    call = target_of(case)
    creation_answer = await post(call, Creation(RESOURCES, body, own_tenant))
    if not 200 <= creation_answer.status < 300:
        raise Inconclusive(f"no resource was created, which GW-RES-03 judges: {creation_answer.status}")
    path, unknown_path = f"{RESOURCES}/{body['resource_id']}", f"{RESOURCES}/{new_text(case, 'resource')}"
    # 404 and not 403 for the other tenant: a different answer would reveal that the id exists.
    for reader, where, status in ((own_tenant, path, 200), (other_tenant, path, 404), (own_tenant, unknown_path, 404)):
        answer = await call("GET", where, headers=reader.headers)
        holds = answer.status == status and (status == 404 or answer.read_object() == creation_answer.read_object())
        circumstances = {"tenant": reader.name, "resource": "its own" if where == path else "unknown"}
        requirement = f"{status}{' with the record' if status == 200 else ''}"
        case.expect("GW-RES-05", holds, requirement, brief(answer), exchange=answer, where=circumstances)
    id_alone, mixed_headers = {"X-Tenant-Id": own_tenant.id}, {**other_tenant.headers, "X-Tenant-Id": own_tenant.id}
    for credential_kind, headers in (("a tenant id alone", id_alone), ("the key of another tenant", mixed_headers)):
        answer = await call("GET", path, headers=headers)
        holds, finding = 400 <= answer.status < 500, brief(answer)
        case.expect(
            "GW-RES-05", holds, "a client error", finding, exchange=answer, where={"credentials": credential_kind}
        )
    second_answer = await post(call, Creation(RESOURCES, body, own_tenant))
    case.expect(
        "GW-RES-05",
        is_refused(second_answer),
        "a client error",
        second_answer.status,
        exchange=second_answer,
        where={"id": "taken"},
    )
    other_answer = await post(call, Creation(RESOURCES, body, other_tenant))
    holds = 200 <= other_answer.status < 300
    case.expect(
        "GW-RES-05",
        holds,
        "a separate resource",
        other_answer.status,
        exchange=other_answer,
        where={"tenant": "second"},
    )
