"""The status of a link that is paid, where the target claims to follow specification 3.5."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from conformance.engine.check import Case
from conformance.http.client import Answer
from conformance.surfaces.gateway.calls import CHECKOUT, brief
from conformance.surfaces.gateway.orders import OpenedLink

_ROW: Final = "GW-CHK-19"
ATTESTED: Final = ("settlement_attestation", "settlement_attestation_jws")
"""Members of a paid link's status: the attestation as an object, and as a compact JWS."""

_MEMBERS: Final = ("status", "tx_id", *ATTESTED)
_ON_ITS_WAY: Final = b"tx_not_confirmed"
REPLICA_SECONDS: Final = 3.0
"""How long what is read may be behind: a replica, or an attestation that is signed a moment after the payment."""

_LOOK_SECONDS = 0.2


async def paid_status(case: Case, link: OpenedLink) -> Answer | None:
    """Return the status of a link whose page says Paid, as soon as it is paid and attested, or as it is in the end.

    Returns:
        None where the target does not claim to have such a call.
    """
    if "gateway.checkout" not in case.profile.claims.options:
        return None
    loop = asyncio.get_running_loop()
    ends = loop.time() + REPLICA_SECONDS
    while True:
        answer = await case.client.call("GET", f"{case.session.gateway}{CHECKOUT}{link.order.token}/status")
        if (_is_paid(answer) and all(map(answer.object().get, ATTESTED))) or loop.time() > ends:
            return answer
        await asyncio.sleep(_LOOK_SECONDS)


async def status_at_end(case: Case, status: Callable[[], Awaitable[Answer]]) -> Answer:
    """Read a link's status until it is not active any more, or the budget is spent."""
    loop = asyncio.get_running_loop()
    ends = loop.time() + case.profile.budgets.paid
    while True:
        answer = await status()
        if answer.object().get("status") != "active" or loop.time() > ends:
            return answer
        await asyncio.sleep(_LOOK_SECONDS)


async def judge_same_status(case: Case, link: OpenedLink, before: Answer | None, where: Mapping[str, str]) -> None:
    """Judge that the status of a paid link is as it was: its transaction and attestation, too."""
    if before is None:
        case.mark_not_applicable(_ROW, "the profile does not claim the option gateway.checkout")
        return
    if not _is_paid(before):
        case.mark_inconclusive(_ROW, "the page of a link says Paid, and its status does not", exchange=before)
        return
    after = await case.client.call("GET", f"{case.session.gateway}{CHECKOUT}{link.order.token}/status")
    first, second = before.object(), after.object()
    changed = [name for name in _MEMBERS if first.get(name) != second.get(name)]
    found = f"{after.status}, differing in {', '.join(changed) or 'nothing'}"
    held = after.status == before.status and not changed
    case.expect(_ROW, held, "the same as before", found, exchange=after, where=where)


async def judge_abandoned(case: Case, link: OpenedLink, tx_id: str) -> None:
    """Judge that a payer's word calls no link off whose payment is on its way (P-CK-07).

    What a target sees of a node's pool is its own affair: it is judged where it says itself that it knows the payment,
    and of a transaction that is nowhere something else.
    """
    if "gateway.checkout" not in case.profile.claims.options:
        case.mark_not_applicable(_ROW, "the profile does not claim the option gateway.checkout")
        return
    case.client.names.name(tx_id, "TX_ID")
    url = f"{case.session.gateway}{CHECKOUT}{link.order.token}"
    nowhere = tx_id[:10] + tx_id[30:9:-1] + tx_id[31:]
    case.client.names.name(nowhere, "TX_ID_OF_NOTHING")
    other, shown = [
        await case.client.call("POST", f"{url}/verify", json_body={"tx_id": one}) for one in (nowhere, tx_id)
    ]
    if _ON_ITS_WAY not in shown.body or _ON_ITS_WAY in other.body:
        case.mark_not_applicable(_ROW, "the target does not know of a payment that is in no block yet")
        return
    called = await case.client.call("POST", f"{url}/abandon", json_body={})
    status = await case.client.call("GET", f"{url}/status")
    held = 400 <= called.status < 500 and status.object().get("status") == "active"
    found, where = f"{called.status}, then {brief(status)}", {"call": "abandon", "payment": "on its way"}
    case.expect(_ROW, held, "a client error, still active", found, exchange=called, where=where)


def _is_paid(answer: Answer) -> bool:
    return answer.status == 200 and answer.object().get("status") == "paid"
