"""GW-TEN: the limits of a tenant on trial and after it, if the target claims to follow specification 3.9 and 3.10.

The interface states the terms and leaves open how they are enforced. A target that claims the option `gateway.tenants`
enforces them when a link is created, by the key's mode, the decision about the tenant and the sum of its paid links.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from conformance.assertions.gateway.refusals import ROW as CODE_ROW
from conformance.assertions.gateway.refusals import Refusal, Request, judge_refusal
from conformance.engine.check import Case, check
from conformance.engine.tenant_credentials import Credentials
from conformance.http.client import Answer
from conformance.lanes.payers import open_checkout_payer
from conformance.outcome import Inconclusive, NodeCannotShow
from conformance.surfaces.gateway.administration import Administrator, administrator
from conformance.surfaces.gateway.calls import (
    LINKS,
    RECEIPT_VERIFY,
    RESOURCES,
    SCREEN,
    Creation,
    brief,
    link_body,
    name_live_values,
    post,
    receipt_body,
    resource_body,
    target_of,
)
from conformance.surfaces.gateway.orders import (
    OpenedLink,
    memo_carrier,
    odd_amount,
    open_link,
    pay_rightly,
    payer,
    wait_for_paid,
)
from conformance.vocabulary.network import LOCAL_ENDING
from conformance.vocabulary.profile_claims import SPECIFICATION

_MILLIONTHS = 1_000_000
# The least amount that shows that the allowance is used up; the trial's links are as small.
_CENT = 0.01
_CREATION: Final[Request] = ("POST", LINKS, None, {})
_NOT_APPROVED: Final = "kyb_required_for_mainnet"


@check(
    "GW-TEN-01",
    "GW-TEN-02",
    "GW-TEN-03",
    CODE_ROW,
    surface="gateway",
    lane="each",
    fix="Check at the creation of a link, in this order: the decision about the tenant, and the mode of the key. Then "
    "check, for tenants of the plan trial, the total of their paid mainnet links and the new link.",
    pays_rail=True,
)
async def a_tenant_pays_its_way(case: Case) -> None:
    """An unapproved tenant has test networks only; an approved one has mainnet with a live key, up to the allowance.

    Creates a tenant. Requests links on a test network and on mainnet, and a live key. With the tenant's own key
    requests its approval and a live key. Approves it with the plan trial, and requests links with either key. Pays a
    link on the test network, if possible. Then pays one mainnet link, and requests a link of the whole allowance before
    and after, and as another tenant. Finally takes the approval back, and pays a mainnet link from before.

    Expects:

    * while it is not approved: client errors for mainnet, for a live key, and for its own requests of approval and key,
    * while it is approved: the test network with the test key only, and mainnet with the live key only,
    * a link of the whole allowance only as long as the tenant has paid nothing on mainnet,
    * of a target that claims the specification, the code and the context members of 3.2 for each refusal, and without
      the approval still the payment of an existing link, resources, screenings and verifications.
    """
    admin, networks = administrator(case), _test_and_main(case)
    test_network, main_network = networks
    # The payout addresses of existing tenants, because the suite can pay there.
    payout = {name: case.session.tenants.find_first_on(name).payout[name] for name in networks}
    tenant = await admin.create_tenant("Weldproof trial", payout)
    await _judge_link_request(case, "GW-TEN-01", tenant, test_network, is_allowed=True, stage="on trial")
    await _judge_link_request(
        case, "GW-TEN-01", tenant, main_network, is_allowed=False, stage="on trial", refusal=_not_approved(main_network)
    )
    # Live keys reach mainnet (P-TR-04), so even the administrator must not create one before the approval.
    live_key_answer = await admin.call("POST", tenant.id, "api-keys", body={"mode": "live"})
    case.expect(
        "GW-TEN-01",
        _is_client_error(live_key_answer),
        "a client error for a live key",
        live_key_answer.status,
        exchange=live_key_answer,
    )
    judge_refusal(
        case, Refusal("a live key on trial", ("POST", "api-keys", None, {}), 422, _NOT_APPROVED), live_key_answer
    )
    await _judge_self_approval(case, tenant, main_network)
    live_key = await _approve_tenant(admin, tenant)
    for key, network, is_allowed in (
        (tenant, test_network, True),
        (tenant, main_network, False),
        (live_key, test_network, False),
        (live_key, main_network, True),
    ):
        mode = "test" if key is tenant else "live"
        members = {"key_mode": mode, "network": network}
        refusal = Refusal(f"a {mode} key on {network}", _CREATION, 403, "key_mode_mismatch", members)
        await _judge_link_request(
            case,
            "GW-TEN-02",
            key,
            network,
            is_allowed=is_allowed,
            stage=f"approved, with the {mode} key",
            refusal=refusal,
        )
    await _pay_on_test_network(case, tenant)
    # The allowance counts paid links only, so it is asked for in full before and after one payment.
    await _judge_allowance(case, live_key, main_network)
    existing = await open_link(case, microunits=odd_amount(case), network=main_network, tenant=live_key)
    await admin.call_successfully("POST", tenant.id, "kyc", body={"status": "rejected"})
    await _judge_link_request(
        case,
        "GW-TEN-01",
        live_key,
        main_network,
        is_allowed=False,
        stage="not approved any more",
        refusal=_not_approved(main_network),
    )
    if case.profile.claims.includes(SPECIFICATION):
        # Where the rules are checked is left open by the interface (3.10).
        await _judge_unaffected_calls(case, live_key)
        await _judge_existing_link(case, existing, main_network)


def _not_approved(network: str) -> Refusal:
    return Refusal("a mainnet network before the approval", _CREATION, 422, _NOT_APPROVED, {"network": network})


async def _judge_self_approval(case: Case, tenant: Credentials, network: str) -> None:
    """Make the administrator's calls with the tenant's own key; judge that they are refused and do not approve it."""
    calls = {"kyc": {"status": "approved", "plan": "trial"}, "api-keys": {"mode": "live"}}
    for path, body in calls.items():
        answer = await Administrator(case, tenant.key).call("POST", tenant.id, path, body=body)
        where, expected = {"call": path, "key": "the tenant's own"}, "a client error"
        case.expect("GW-TEN-01", _is_client_error(answer), expected, answer.status, exchange=answer, where=where)
        judge_refusal(
            case,
            Refusal(f"{path} with the tenant's own key", ("POST", path, None, {}), 401, "invalid_api_key"),
            answer,
        )
    await _judge_link_request(
        case, "GW-TEN-01", tenant, network, is_allowed=False, stage="on trial, though it approved itself"
    )


def _test_and_main(case: Case) -> tuple[str, str]:
    """Return the lane's test network, on which links are paid, and its mainnet, which is the rail's.

    Raises:
        Inconclusive: The profile has no node for either, or both are one network.
        NodeCannotShow: The node serves a private network, which has no mainnet.
    """
    profile = case.profile
    chains = (profile.gateway_chains.of(case.lane), profile.chains.of(case.lane))
    names = [profile.own_network(one.network) for one in chains if one is not None]
    private = next((name for name in names if profile.usual_network(name).endswith(LOCAL_ENDING)), None)
    if private is not None:
        # A private network is a property of the node, so this is not the target's or the profile's fault.
        raise NodeCannotShow(
            f"the {case.lane} node serves the private network {private} and no mainnet, so a gateway on it offers test "
            "networks alone"
        )
    if len(set(names)) < len(chains) or not profile.usual_network(names[1]).endswith("mainnet"):
        raise Inconclusive(f"needs a node of a test network and one of mainnet: give [gateway.chains.{case.lane}], too")
    return names[0], names[1]


async def _approve_tenant(admin: Administrator, tenant: Credentials) -> Credentials:
    await admin.approve(tenant)
    return await admin.add_key(tenant, "live")


async def _request_link(case: Case, tenant: Credentials, network: str, amount: float = _CENT) -> Answer:
    body = link_body(case, tenant, preferred_network=network, amount=amount)
    return name_live_values(case, await post(target_of(case), Creation(LINKS, body, tenant)))


async def _judge_link_request(
    case: Case,
    row: str,
    tenant: Credentials,
    network: str,
    *,
    is_allowed: bool,
    stage: str,
    refusal: Refusal | None = None,
) -> None:
    """Request a link, and judge whether it is created or refused; a refusal also by its row of 3.2."""
    answer = await _request_link(case, tenant, network)
    holds = 200 <= answer.status < 300 if is_allowed else _is_client_error(answer)
    requirement = "a link" if is_allowed else "a client error"
    where = {"network": network, "tenant": stage}
    case.expect(row, holds, requirement, brief(answer), exchange=answer, where=where)
    if not is_allowed and refusal is not None:
        judge_refusal(case, refusal, answer)


def _is_client_error(answer: Answer) -> bool:
    return 400 <= answer.status < 500


async def _pay_on_test_network(case: Case, tenant: Credentials) -> None:
    """Pay a link on the test network, which must use up nothing of the allowance (P-TR-06)."""
    try:
        link = await open_link(case, microunits=odd_amount(case), tenant=tenant)
        await pay_rightly(case, await payer(case), link)
    except Inconclusive as reason:
        case.note(f"no link was paid on the test network, so whether it counts was not tried: {reason}")


async def _judge_allowance(case: Case, tenant: Credentials, network: str) -> None:
    allowance = (case.profile.gateway_bindings.trial or {}).get("allowance_microunits")
    if allowance is None:
        raise Inconclusive("unbound: the allowance is not known; bind [gateway] trial allowance_microunits")
    # The profile has micro-units, and links have units of the currency.
    whole_allowance = allowance / _MILLIONTHS
    used = {"allowance_microunits": allowance, "used_microunits": 0}
    await _judge_share(case, tenant, network, whole_allowance, is_allowed=True, used=used)
    await _judge_share(case, tenant, network, whole_allowance + _CENT, is_allowed=False, used=used)
    link = await open_link(case, microunits=odd_amount(case), network=network, tenant=tenant)
    await pay_rightly(case, open_checkout_payer(await case.session.payers.for_rail(case.lane)), link)
    used = {**used, "used_microunits": link.order.microunits}
    await _judge_share(case, tenant, network, whole_allowance, is_allowed=False, used=used)
    await _judge_share(case, tenant, network, _CENT, is_allowed=True, used=used)
    # Each tenant has an allowance of its own, so what the first one has paid counts for no other.
    other = await _create_approved(case, network)
    await _judge_share(case, other, network, whole_allowance, is_allowed=True, used={"used_microunits": 0})


async def _judge_existing_link(case: Case, link: OpenedLink, network: str) -> None:
    """Pay a mainnet link of a tenant that is not approved any more, and judge that it turns to Paid (3.10)."""
    wallet = open_checkout_payer(await case.session.payers.for_rail(case.lane))
    tx_id = await wallet.settle(link.bill, memo_carrier(case))
    case.client.names.name(tx_id, "TX_ID")
    is_paid = await wait_for_paid(case, link) is not None
    where = {"network": network, "link": "created before the approval was taken back"}
    case.expect("GW-TEN-01", is_paid, "Paid", "Paid" if is_paid else "not Paid", exchange=link.page, where=where)


async def _create_approved(case: Case, network: str) -> Credentials:
    """Create another approved tenant, and return it with a live key."""
    admin = administrator(case)
    payout = {network: case.session.tenants.find_first_on(network).payout[network]}
    return await _approve_tenant(admin, await admin.create_tenant("Weldproof neighbour on trial", payout))


async def _judge_unaffected_calls(case: Case, tenant: Credentials) -> None:
    """Judge that a tenant that may have no link on mainnet has resources, screening and verification (3.10)."""
    call, rest = target_of(case), dict[str, Answer]()
    if case.profile.gateway_bindings.resource_body is not None:
        rest["a resource"] = await post(call, Creation(RESOURCES, resource_body(case), tenant))
    screening = {"recipient_address": "screen-allow", "network": tenant.networks[-1]}
    rest["a screening"] = await call("POST", SCREEN, json_body=screening, headers=tenant.headers)
    receipt = await receipt_body(case, headers=tenant.headers)
    rest["a verification"] = await call("POST", RECEIPT_VERIFY, json_body=receipt, headers=tenant.headers)
    for name, answer in rest.items():
        where = {"call": name, "tenant": "not approved any more"}
        holds = 200 <= answer.status < 300
        case.expect("GW-TEN-01", holds, "no refusal by the trial", brief(answer), exchange=answer, where=where)


async def _judge_share(
    case: Case, tenant: Credentials, network: str, amount: float, *, is_allowed: bool, used: Mapping[str, Any]
) -> None:
    """Request a mainnet link of an amount, and judge whether the allowance still has room for it."""
    answer = await _request_link(case, tenant, network, amount)
    holds = 200 <= answer.status < 300 if is_allowed else _is_client_error(answer)
    finding = brief(answer)
    where = {"asked for": f"{amount:g}", "paid": f"{used['used_microunits']} micro-units"}
    case.expect("GW-TEN-03", holds, "a link" if is_allowed else "a client error", finding, exchange=answer, where=where)
    if not is_allowed:
        refusal = Refusal("beyond the allowance", _CREATION, 403, "mainnet_allowance_exhausted", used)
        judge_refusal(case, refusal, answer)
