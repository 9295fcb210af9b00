"""RAIL-PAY on Solana: what strangers do with somebody's transaction does not take it from its owner."""

from __future__ import annotations

from conformance.engine.check import Case, check
from conformance.judging.rail.claim_squatting import FIX, owner_is_served
from conformance.judging.rail.refusals import QUICK
from conformance.lanes.solana.transaction_ids import invented_id


@check("RAIL-PAY-03", surface="rail", lane="solana", fix=FIX, quick=QUICK)
async def owner_of_a_solana_payment_is_not_locked_out(case: Case) -> None:
    """A valid payment is served, however often strangers have claimed its transaction and its token before.

    Pays a challenge, and before the payment is presented makes a hundred wrong claims: invented transactions with its
    token; its transaction with tokens of strangers, live and forged; and the right pair on other requests. Then
    presents the payment. Expects 200.
    """
    await owner_is_served(case, "RAIL-PAY-03", invented_id, 64)
