"""GW-IDEM-03 and -04 beyond the plain repeat: by other clients, in other spellings, and after the link has ended."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping

from conformance.assertions.gateway.originals import judge_original
from conformance.engine.check import Case, check
from conformance.http.client import Answer
from conformance.oracles.json_encodings import same_value_spellings
from conformance.outcome import Inconclusive
from conformance.surfaces.gateway.administration import create_tenant_with_two_keys
from conformance.surfaces.gateway.calls import (
    CHECKOUT,
    LINKS,
    RESOURCES,
    Creation,
    bodies,
    create,
    follows_records,
    is_created,
    is_refused,
    link_body,
    name_live_values,
    new_text,
    post,
    target_of,
)
from conformance.surfaces.gateway.orders import (
    look,
    network_of,
    on_first_lane,
    pay_rightly,
    payer,
    read_opened_link,
    read_order,
)

# Characters: the longest key by P-ID-01, whose length is the suite's own default. So a refusal passes.
_LONGEST = 255
_SAME_BODY_IS_OPEN = "which spellings of a JSON are the same body is this suite's default (P-ID-03)"
_OTHER_CLIENT = "order-service/2.0 (retry)"


@check(
    "GW-IDEM-03",
    surface="gateway",
    fix="Find the stored answer by the tenant and the whole Idempotency-Key, independent of the tenant's key and "
    "client address.",
)
async def a_repeat_by_another_client_returns_the_original(case: Case) -> None:
    """A repeat returns the original link to every client of the tenant, and under a key of any length.

    Creates a link with a key and repeats the call with another User-Agent, with the tenant's id in capitals, and with
    another API key of the tenant, if an administrator may create one. Creates a link with a key of 255 characters and
    repeats it. Expects the original each time. A target may refuse the id in capitals and the long key.
    """
    tenant = case.session.tenants.get()
    creation = Creation(LINKS, link_body(case, tenant), tenant, new_text(case))
    original = await create(case, creation)
    answer = await _send_changed(case, creation, {"User-Agent": _OTHER_CLIENT})
    judge_original(case, "GW-IDEM-03", creation, original, answer, {"repeat": "with another User-Agent"})
    # A UUID in capitals is the same id. A server that hashes the header's text would take it for another tenant.
    answer = await _send_changed(case, creation, {"X-Tenant-Id": tenant.id.upper()})
    if is_created(case, answer):
        judge_original(case, "GW-IDEM-03", creation, original, answer, {"repeat": "with the tenant's id in capitals"})
    long_creation = Creation(LINKS, link_body(case, tenant), tenant, _long_key(case))
    first_answer = name_live_values(case, await post(target_of(case), long_creation))
    if is_created(case, first_answer):
        answer = name_live_values(case, await post(target_of(case), long_creation))
        judge_original(
            case, "GW-IDEM-03", long_creation, first_answer, answer, {"Idempotency-Key": f"of {_LONGEST} characters"}
        )
    try:
        keys = await create_tenant_with_two_keys(case, "Weldproof repeat")
    except Inconclusive as reason:
        case.note(f"no call is repeated with another API key: {reason}")
        return
    if keys is not None:
        creation = Creation(LINKS, link_body(case, keys.first), keys.first, new_text(case))
        original = await create(case, creation)
        answer = await _send_changed(case, creation, keys.second.headers)
        judge_original(case, "GW-IDEM-03", creation, original, answer, {"repeat": "with another API key of the tenant"})


async def _send_changed(case: Case, creation: Creation, headers: Mapping[str, str]) -> Answer:
    """Send a creation with some of its header fields changed."""
    call = target_of(case)
    fields = {**creation.headers, **headers}
    return name_live_values(case, await call("POST", creation.path, json_body=dict(creation.body), headers=fields))


def _long_key(case: Case) -> str:
    key = new_text(case).ljust(_LONGEST, "x")
    case.client.names.name(key, "KEY")
    return key


@check(
    "GW-IDEM-03",
    "GW-IDEM-04",
    surface="gateway",
    fix="Hash the RFC 8785 form of a body and not its bytes: clients may write the same JSON differently in a repeat.",
)
async def a_repeat_in_another_spelling_returns_the_original(case: Case) -> None:
    """A repeat whose body is the same JSON returns the original, in whatever spelling (P-ID-03).

    Creates a link and a resource with a key and repeats the calls with the same JSON in other bytes: with spaces, with
    its members in reverse order, with its texts in escapes, with one more zero at the end of a fraction. Expects the
    originals, and never a new link or resource. The interface leaves open which bodies are the same. So a refusal of
    such a repeat is a breach only if the target claims the records of links and resources, and else a warning.
    """
    tenant = case.session.tenants.get()
    creation_bodies = bodies(case, tenant)
    if RESOURCES not in creation_bodies:
        case.mark_inconclusive("GW-IDEM-04", "unbound: no body creates a resource; give [gateway] resource_body")
    for path, body in creation_bodies.items():
        row = "GW-IDEM-03" if path == LINKS else "GW-IDEM-04"
        creation = Creation(path, body, tenant, new_text(case))
        original = await create(case, creation)
        for spelling, content in same_value_spellings(body).items():
            headers = {"Content-Type": "application/json", **creation.headers}
            answer = name_live_values(case, await target_of(case)("POST", path, body=content, headers=headers))
            beyond = None if follows_records(case) or not is_refused(answer) else _SAME_BODY_IS_OPEN
            judge_original(case, row, creation, original, answer, {"spelling": spelling}, beyond=beyond)


@check(
    "GW-IDEM-03",
    surface="gateway",
    fix="Keep the answer under an Idempotency-Key for 24 hours, whatever the state of the link. A client that repeats "
    "the call for a paid order must not get a second link to pay.",
)
async def a_repeat_returns_a_link_that_has_ended(case: Case) -> None:
    """A repeat returns the original link also if that is paid or cancelled by then.

    Creates links with a key. Pays one on the first lane that can be paid. If the target claims the calls of a checkout,
    cancels one. Repeats both calls. Expects the originals.
    """
    tenant = case.session.tenants.get()
    creation = Creation(LINKS, link_body(case, tenant), tenant, new_text(case))
    original = await create(case, creation)
    answer = name_live_values(case, await post(target_of(case), creation))
    judge_original(case, "GW-IDEM-03", creation, original, answer, {"link": "active"})
    async for state, ended_creation, first in _ended_links(case, creation, original):
        answer = name_live_values(case, await post(target_of(case), ended_creation))
        judge_original(case, "GW-IDEM-03", ended_creation, first, answer, {"link": state})


async def _ended_links(case: Case, creation: Creation, original: Answer) -> AsyncIterator[tuple[str, Creation, Answer]]:
    """Yield links that have ended, with the state; none if nothing here can end a link."""
    secret = original.read_object().get("cancel_secret")
    if case.profile.claims.includes("gateway.checkout") and isinstance(secret, str):
        case.client.names.secret(secret, "CANCEL_SECRET")
        url = f"{CHECKOUT}{original.read_object().get('token')}/cancel"
        answer = await target_of(case)("POST", url, json_body={"cancel_secret": secret})
        if answer.status < 300:
            yield "cancelled", creation, original
    try:
        lane_case = await on_first_lane(case)
        network = network_of(lane_case)
        tenant = lane_case.session.tenants.find_first_on(network)
        body = link_body(case, tenant, preferred_network=network)
        paid_creation = Creation(LINKS, body, tenant, new_text(case))
        first_answer = await create(case, paid_creation)
        link_order = read_order(lane_case, first_answer, tenant, network)
        await pay_rightly(
            lane_case,
            await payer(lane_case),
            read_opened_link(lane_case, link_order, *await look(lane_case, link_order)),
        )
    except Inconclusive as reason:
        case.note(f"no link is paid before its call is repeated: {reason}")
        return
    yield "paid", paid_creation, first_answer
