"""GW-PAY-02: checkouts while their chain cannot be consulted, if the target claims to follow specification 3.5."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping
from typing import Any, Final

from conformance.assertions.gateway.link_status import read_final_status
from conformance.assertions.gateway.refusals import ROW as CODE_ROW
from conformance.assertions.gateway.refusals import Refusal, judge_refusal
from conformance.engine.check import Case, check
from conformance.engine.exclusive import Exclusive
from conformance.http.client import Answer
from conformance.lanes.node_control import Controlled
from conformance.outcome import Inconclusive
from conformance.surfaces.gateway.calls import CHECKOUT, LINKS, Creation, brief, create, link_body, token_of
from conformance.surfaces.gateway.orders import memo_carrier, network_of, on_first_lane, open_link, payer, wait_for_paid
from conformance.surfaces.gateway.rate_limited_gateway import LimitedGateway, limited_gateway

ROW: Final = "GW-PAY-02"
_AWAY: Final = "unavailable"
# Calls of the node that the fault affects: more than a gateway makes during the check.
_NODE_CALLS: Final = 1_000_000
# The least lifetime of a link, and seconds that pass. A gateway looks for the end of a link every few seconds.
_LIFETIME: Final = 60
_OVER: Final = 3600.0
_SEVERAL_ROUNDS: Final = 5.0


@check(
    ROW,
    CODE_ROW,
    surface="gateway",
    exclusive=Exclusive.CHAIN_AND_CLOCK,
    fix="Decide nothing about a payment while the chain cannot be asked: answer 503 chain_unavailable, and end a link "
    "only after one more look at its chain.",
)
async def nothing_is_decided_without_the_chain(case: Case) -> None:
    """While a chain cannot be consulted, no payment is refused, no link abandoned, and none ended by its time.

    Makes the node of a lane unavailable. Shows a transaction to a link, and abandons it. If a separate service has a
    clock that the check may move, lets the time of a link pass there. Then makes the node available.

    Expects:

    * 503 for both calls; of a target that claims the specification, `chain_unavailable` with Retry-After: 5,
    * the status `active` of both links meanwhile, and a page without address for the link whose time is over,
    * then that this link is expired, and that a payment turns the other to Paid.
    """
    lane_case = await on_first_lane(case)
    node = await case.session.payers.for_gateway(lane_case.lane)
    if not isinstance(node, Controlled) or _AWAY not in await node.fault_names():
        for row in (ROW, CODE_ROW):
            case.mark_documented(row, "this node has no control verb that makes it unavailable")
        return
    link = await open_link(lane_case)
    url = f"{case.session.gateway}{CHECKOUT}{link.order.token}"
    async with contextlib.AsyncExitStack() as exits:
        service = await _enter_service(case, exits)
        ending = None if service is None else await _create_link(lane_case, service)
        async with node.fault(_AWAY, seed=1, count=_NODE_CALLS):
            calls: Mapping[str, Mapping[str, Any]] = {"verify": {"tx_id": "A" * 52}, "abandon": {}}
            for name, body in calls.items():
                answer = await case.client.call("POST", f"{url}/{name}", json_body=body)
                where = {"call": name}
                case.expect(ROW, answer.status == 503, "503", brief(answer), exchange=answer, where=where)
                request, fields = ("POST", f"/{name}", None, dict[str, str]()), {"Retry-After": "5"}
                refusal = Refusal(f"{name} without the chain", request, 503, "chain_unavailable", {}, fields)
                judge_refusal(case, refusal, answer)
            status = await case.client.call("GET", f"{url}/status")
            _judge_status(case, status, "active", "that was shown a transaction")
            if service is not None and ending is not None:
                await service.advance(_OVER)
                await asyncio.sleep(_SEVERAL_ROUNDS)
                await _judge_undecided_end(lane_case, service, ending)
        if service is not None and ending is not None:
            path = f"{CHECKOUT}{token_of(ending)}/status"
            status = await read_final_status(case, lambda: service.call("GET", path))
            _judge_status(case, status, "expired", "whose time was over, when the chain is back")
    wallet = await payer(lane_case)
    case.client.names.name(await wallet.settle(link.bill, memo_carrier(lane_case)), "TX_ID")
    is_paid = await wait_for_paid(lane_case, link) is not None
    case.expect(ROW, is_paid, "Paid when the chain is back", "Paid" if is_paid else "not Paid", exchange=link.page)


async def _enter_service(case: Case, exits: contextlib.AsyncExitStack) -> LimitedGateway | None:
    """Return a separate service whose clock the check may move, or None."""
    try:
        service = await exits.enter_async_context(limited_gateway(case))
    except Inconclusive as reason:
        case.note(f"no time passes while the chain is away: {reason}")
        return None
    return service if service.is_separate else None


async def _create_link(case: Case, service: LimitedGateway) -> Answer:
    tenant = service.tenant("first")
    body = link_body(case, tenant, preferred_network=network_of(case), expires_in_seconds=_LIFETIME)
    return await create(case, Creation(LINKS, body, tenant), service.call)


async def _judge_undecided_end(case: Case, service: LimitedGateway, ending: Answer) -> None:
    """Judge that a link whose time ended without the chain is active still, and shows no address."""
    path = f"{CHECKOUT}{token_of(ending)}"
    _judge_status(case, await service.call("GET", f"{path}/status"), "active", "whose time is over")
    page = await service.call("GET", path, headers={"accept": "text/html"})
    address = service.tenant("first").payout[network_of(case)]
    holds = page.status == 200 and address.lower().encode() not in page.body.lower()
    finding, where = f"{page.status}, with the address", {"link": "whose time is over"}
    case.expect(ROW, holds, "200 without the address", finding, exchange=page, where=where)


def _judge_status(case: Case, status: Answer, expected: str, link: str) -> None:
    holds = status.status == 200 and status.read_object().get("status") == expected
    case.expect(ROW, holds, expected, brief(status), exchange=status, where={"link": link})
