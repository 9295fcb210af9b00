"""Mutants of payments over the rail's A2A door; payments by REST stay as they are (P-RA-07 to P-RA-10)."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

from reference.protocol import proof
from reference.protocol.redemption import State
from reference.protocol.refusals import PaymentRefused
from reference.rail.challenges import Call
from reference.rail.conversation import Conversation
from reference.rail.orders import Order
from reference.rail.paid_endpoint import PaidEndpoint
from reference.rail.redemption import Redeemer, Served
from reference.rail.services import Service
from reference.store.redemption_rows import Redemption
from reference.variants.mutants.mutant import Mutant
from reference.variants.mutants.redemptions import row_of
from reference.variants.seams import replace

_MOMENT = 0.3


class _OtherDoor:
    """The door as the conversation sees it, with another redemption; REST keeps its own."""

    def __init__(self, door: PaidEndpoint, redeem: Callable[..., Any]) -> None:
        self._clean = door
        self._redeem = redeem

    def __getattr__(self, name: str) -> Any:
        return getattr(self._clean, name)

    async def redeem(self, service: Service, proofs: Sequence[str], order: Callable[[], Order]) -> Served:
        """Redeem otherwise."""
        redeemer = self._clean._redeemer  # noqa: SLF001 - what is mutated is how the clean one is used
        presented = await redeemer.present(proof.decode(proofs))
        asked = order()
        call = Call.of(service, asked.body, asked.query)
        served: Served = await self._redeem(redeemer, presented, call, service.accepts(asked.body))
        return served


def _redeeming(redeem: Callable[..., Any]) -> Callable[[], None]:
    """Return what redeems payments over A2A otherwise."""

    def apply() -> None:
        def opened(init: Callable[..., None]) -> Callable[..., None]:
            def other(self: Conversation, door: PaidEndpoint, *args: Any, **kwargs: Any) -> None:
                init(self, _OtherDoor(door, redeem), *args, **kwargs)

            return other

        replace(Conversation, "__init__", opened)

    return apply


async def _run(self: Redeemer, presented: Any, call: Call, request: Any) -> Served:
    """Look at the chain and serve, without a word to the ledger."""
    row = row_of(self, presented, call, "")
    payment = await self._collector(presented).collect(presented, row)
    return _answered(self, dataclasses.replace(row, payer=payment.payer, tx_id=payment.tx_id), call, request)


def _answered(self: Redeemer, row: Redemption, call: Call, request: Any) -> Served:
    answer = self.signer.answer(row, call.service, request)
    return Served(answer.body, answer.payment_response, replayed=False)


async def _spent(self: Redeemer, presented: Any) -> bool:
    rows = await self._ledger.involved(presented.token.text, presented.payment_key)
    return any(row.state is State.SPENT for row in rows)


def _own_ledger() -> Callable[..., Any]:
    used: dict[tuple[str, str], Served] = {}

    async def redeem(self: Redeemer, presented: Any, call: Call, request: Any) -> Served:
        self.eligibility.refuse_other_request(presented, call)
        self.eligibility.refuse_expired(presented)
        key = (presented.payment_key, call.request_hash)
        if key not in used:
            used[key] = await _run(self, presented, call, request)
        return used[key]

    return redeem


async def _unwritten(self: Redeemer, presented: Any, call: Call, request: Any) -> Served:
    """What REST burnt is dead here; what is burnt here is not written down."""
    if await _spent(self, presented):
        return await self.redeem(presented, call, request)
    self.eligibility.refuse_other_request(presented, call)
    self.eligibility.refuse_expired(presented)
    return await _run(self, presented, call, request)


async def _any_order(self: Redeemer, presented: Any, call: Call, request: Any) -> Served:
    """A payment that bought something by REST buys whatever a task orders."""
    rows = await self._ledger.involved(presented.token.text, presented.payment_key)
    if any(row.state is State.SPENT and row.request_hash != call.request_hash for row in rows):
        return await _run(self, presented, call, request)
    return await self.redeem(presented, call, request)


async def _runs_again(self: Redeemer, presented: Any, call: Call, request: Any) -> Served:
    """The identical request runs once more, with a receipt of its own."""
    served = await self.redeem(presented, call, request)
    return await _run(self, presented, call, request) if served.replayed else served


async def _races(self: Redeemer, presented: Any, call: Call, request: Any) -> Served:
    """Whether the payment bought something is looked up first, and acted on later."""
    free = not await _spent(self, presented)
    if free:
        await asyncio.sleep(_MOMENT)
    served = await self.redeem(presented, call, request)
    return await _run(self, presented, call, request) if free and served.replayed else served


async def _unwelded(self: Redeemer, presented: Any, call: Call, request: Any) -> Served:
    """A transfer of the price to the payee is a payment, whatever its note."""
    try:
        return await self.redeem(presented, call, request)
    except PaymentRefused as refusal:
        if refusal.code != "weld_mismatch":
            raise
        return _answered(self, row_of(self, presented, call, presented.terms.pay_to), call, request)


async def _unseen(self: Redeemer, presented: Any, call: Call, request: Any) -> Served:
    """A transaction that the chain does not show yet will come."""
    try:
        return await self.redeem(presented, call, request)
    except PaymentRefused as refusal:
        if refusal.code != "tx_not_found":
            raise
        return _answered(self, row_of(self, presented, call, presented.terms.pay_to), call, request)


MUTANTS = (
    Mutant("a2a-own-ledger", "REST and A2A share one ledger (P-ST-02, P-RA-10)", _redeeming(_own_ledger())),
    Mutant("a2a-unwritten", "what is burnt over A2A is dead by REST (P-RA-10)", _redeeming(_unwritten)),
    Mutant("a2a-any-order", "what is burnt by REST buys no other order over A2A (P-RA-10)", _redeeming(_any_order)),
    Mutant("a2a-runs-again", "the same request and proof get the stored answer (P-RA-10)", _redeeming(_runs_again)),
    Mutant("a2a-races", "one statement decides between the doors (14b, P-ST-02)", _redeeming(_races)),
    Mutant("a2a-unwelded", "a payment over A2A is welded, too (5.5, P-RA-07)", _redeeming(_unwelded)),
    Mutant("a2a-unknown-transaction", "the chain shows a payment over A2A, too (step 14)", _redeeming(_unseen)),
)
