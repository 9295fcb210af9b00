"""Whether a payment that counts for no link is in the list of its tenant (P-CK-10)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from conformance.engine.check import Case
from conformance.http.client import Answer, JsonFault
from conformance.lanes.checkout_request import CheckoutRequest
from conformance.surfaces.gateway.administration import Administrator
from conformance.surfaces.gateway.calls import brief

ROW: Final = "GW-PAY-01"
# Far longer than the time that the watcher of a gateway takes for a look at the chain.
_LISTED_SECONDS: Final = 40.0
_LOOK_SECONDS: Final = 0.3


@dataclass(frozen=True, slots=True)
class Uncounted:
    """A payment that counts for no link.

    Attributes:
        state: Its state in the list.
        reason: Its reason.
        tx_id: Its transaction.
        bill: What was paid: the asset is that of the link.
        answer: The answer that created its link.
        surplus: The part above the amount of the link, if the payment paid it.
    """

    state: str
    reason: str
    tx_id: str
    bill: CheckoutRequest
    answer: Answer
    surplus: int | None = None


async def read_payments(admin: Administrator, tenant_id: str, state: str) -> tuple[Answer, Sequence[Mapping[str, Any]]]:
    """Return the answer with the payments of a state, and the payments: the body, or its member `payments`."""
    answer = await admin.call("GET", tenant_id, "payments", query={"state": state})
    try:
        body = answer.parse_json()
    except JsonFault:
        body = None
    listed = body.get("payments") if isinstance(body, dict) else body
    return answer, [entry for entry in listed if isinstance(entry, dict)] if isinstance(listed, list) else []


async def judge_listed(case: Case, admin: Administrator, tenant_id: str, entry: Uncounted) -> None:
    """Wait until a payment is in the list of its state, and judge its members."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + max(_LISTED_SECONDS, case.profile.budgets.paid)
    while True:
        answer, payments = await read_payments(admin, tenant_id, entry.state)
        found = next((one for one in payments if _fold(one.get("tx_id")) == _fold(entry.tx_id)), None)
        if found is not None or loop.time() >= deadline:
            break
        await asyncio.sleep(_LOOK_SECONDS)
    where = {"state": entry.state, "reason": entry.reason}
    if found is None:
        finding = f"{answer.status}, {len(payments)} others" if payments else brief(answer)
        case.expect(ROW, False, "the payment in the list", finding, exchange=answer, where=where)
        return
    faults = _find_faults(found, entry)
    finding = f"wrong or absent: {', '.join(faults)}"
    case.expect(ROW, not faults, "each member of the entry", finding, exchange=answer, where=where)


def _find_faults(found: Mapping[str, Any], entry: Uncounted) -> list[str]:
    record = entry.answer.read_object()
    values = {_fold(value) for value in found.values()}
    is_other = entry.state == "other_asset"
    expectations = {
        "state": found.get("state") == entry.state,
        "reason": found.get("reason") == entry.reason,
        "amount": str(found.get("amount")) == str(entry.bill.amount),
        # Which other asset was moved is not known here, only that it is not that of the link.
        "asset_id": "asset_id" in found and (_fold(found["asset_id"]) == _fold(entry.bill.asset)) != is_other,
        "surplus": entry.surplus is None or str(found.get("surplus")) == str(entry.surplus),
        "payer": isinstance(found.get("payer"), str) and _fold(found["payer"]) != _fold(entry.bill.address),
        "the link": bool(values & {_fold(record.get(name)) for name in ("id", "token", "checkout_url")}),
    }
    return [name for name, holds in expectations.items() if not holds]


def _fold(value: object) -> str:
    """Return a value as text; hexadecimal texts mean the same in either case."""
    text = str(value)
    return text.lower() if text.startswith("0x") else text
