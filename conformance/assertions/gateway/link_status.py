"""The status of a paid or pending link, if the target claims to follow specification 3.5."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from conformance.assertions.gateway.refusals import Refusal, Request, judge_refusal
from conformance.engine.check import Case
from conformance.http.client import Answer
from conformance.surfaces.gateway.calls import CHECKOUT, brief
from conformance.surfaces.gateway.orders import OpenedLink

_ROW: Final = "GW-CHK-19"
_PENDING_ROW: Final = "GW-CHK-12"
ATTESTATION_MEMBERS: Final = ("settlement_attestation", "settlement_attestation_jws")
"""Members of a paid link's status: the attestation as an object, and as a compact JWS."""

_MEMBERS: Final = ("status", "tx_id", *ATTESTATION_MEMBERS)
_VERIFY: Final[Request] = ("POST", "/verify", None, {})
_PENDING_REASON: Final = b"tx_not_confirmed"
REPLICA_SECONDS: Final = 3.0
"""Seconds by which an answer may lag: it is from a replica, or the attestation is signed after the payment."""

_LOOK_SECONDS = 0.2


async def read_paid_status(case: Case, link: OpenedLink) -> Answer | None:
    """Return the status of a link whose page shows Paid, as soon as it is paid and attested, else the last one read.

    Returns:
        None if the target does not claim such a call.
    """
    if not case.profile.claims.includes("gateway.checkout"):
        return None
    loop = asyncio.get_running_loop()
    deadline = loop.time() + REPLICA_SECONDS
    while True:
        answer = await case.client.call("GET", f"{case.session.gateway}{CHECKOUT}{link.order.token}/status")
        if (_is_paid(answer) and all(map(answer.read_object().get, ATTESTATION_MEMBERS))) or loop.time() > deadline:
            return answer
        await asyncio.sleep(_LOOK_SECONDS)


async def read_final_status(case: Case, status: Callable[[], Awaitable[Answer]]) -> Answer:
    """Read a link's status until it is no longer active, or the budget is spent."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + case.profile.budgets.paid
    while True:
        answer = await status()
        if answer.read_object().get("status") != "active" or loop.time() > deadline:
            return answer
        await asyncio.sleep(_LOOK_SECONDS)


async def judge_same_status(
    case: Case, link: OpenedLink, status_before: Answer | None, where: Mapping[str, str]
) -> None:
    """Judge that the status of a paid link is unchanged, with its transaction and attestation."""
    if status_before is None:
        case.mark_not_applicable(_ROW, "the profile does not claim the option gateway.checkout")
        return
    if not _is_paid(status_before):
        case.mark_inconclusive(_ROW, "the page of a link says Paid, and its status does not", exchange=status_before)
        return
    status_after = await case.client.call("GET", f"{case.session.gateway}{CHECKOUT}{link.order.token}/status")
    # Both are compared as sent, because a second payment must not replace the transaction or its attestation.
    first_members, second_members = status_before.read_object(), status_after.read_object()
    changed_names = [name for name in _MEMBERS if first_members.get(name) != second_members.get(name)]
    finding = f"{status_after.status}, differing in {', '.join(changed_names) or 'nothing'}"
    holds = status_after.status == status_before.status and not changed_names
    case.expect(_ROW, holds, "the same as before", finding, exchange=status_after, where=where)


async def judge_abandoned(case: Case, link: OpenedLink, tx_id: str) -> None:
    """Judge that a pending payment, when shown, pays no link, and that its link cannot be abandoned (P-CK-07).

    Targets differ in how much of a node's pool they see. So abandoning is judged only if the target itself says that it
    knows the payment, and says something else about a transaction that does not exist.
    """
    if not case.profile.claims.includes("gateway.checkout"):
        case.mark_not_applicable(_ROW, "the profile does not claim the option gateway.checkout")
        return
    case.client.names.name(tx_id, "TX_ID")
    url = f"{case.session.gateway}{CHECKOUT}{link.order.token}"
    # A well-formed id that no transaction has: part of the real one, reversed.
    unknown_id = tx_id[:10] + tx_id[30:9:-1] + tx_id[31:]
    case.client.names.name(unknown_id, "TX_ID_OF_NOTHING")
    other_answer, verify_answer = [
        await case.client.call("POST", f"{url}/verify", json_body={"tx_id": one}) for one in (unknown_id, tx_id)
    ]
    status = await case.client.call("GET", f"{url}/status")
    where = {"payment": "submitted, in no block, and shown to the gateway"}
    is_early = _is_paid(verify_answer) or _is_paid(status)
    finding = f"{brief(verify_answer)}, then {brief(status)}"
    if not case.expect(_PENDING_ROW, not is_early, "not paid", finding, exchange=verify_answer, where=where):
        case.mark_not_applicable(_ROW, "the target takes a payment that is in no block for final")
        return
    if _PENDING_REASON not in verify_answer.body or _PENDING_REASON in other_answer.body:
        case.mark_not_applicable(_ROW, "the target does not know of a payment that is in no block yet")
        return
    not_confirmed = Refusal("a pending payment", _VERIFY, 422, "payment_not_verified", {"reason": "tx_not_confirmed"})
    judge_refusal(case, not_confirmed, verify_answer)
    abandon_answer = await case.client.call("POST", f"{url}/abandon", json_body={})
    status = await case.client.call("GET", f"{url}/status")
    holds = 400 <= abandon_answer.status < 500 and status.read_object().get("status") == "active"
    finding, where = f"{abandon_answer.status}, then {brief(status)}", {"call": "abandon", "payment": "on its way"}
    case.expect(_ROW, holds, "a client error, still active", finding, exchange=abandon_answer, where=where)
    pending = Refusal("abandon with a pending payment", _VERIFY, 409, "payment_pending", {"tx_id": tx_id})
    judge_refusal(case, pending, abandon_answer)


def _is_paid(answer: Answer) -> bool:
    return answer.status == 200 and answer.read_object().get("status") == "paid"
