"""RAIL-PAY-03 on Solana: other clients' claims to a transaction do not lock out its payer."""

from __future__ import annotations

from conformance.assertions.rail.claim_squatting import FIX, judge_owner_served
from conformance.assertions.rail.refusals import QUICK
from conformance.engine.check import Case, check
from conformance.lanes.solana.transaction_ids import invented_id


@check("RAIL-PAY-03", surface="rail", lane="solana", fix=FIX, quick=QUICK)
async def owner_of_a_solana_payment_is_not_locked_out(case: Case) -> None:
    """A valid payment is served, however often other clients claimed its transaction and its token before.

    Pays a challenge. Before it presents the payment, makes a hundred wrong claims: invented transactions with its
    token, its transaction with other live and forged tokens, and the right pair on other requests. Then presents the
    payment. Expects 200.
    """
    # Transactions are public as soon as they are sent, so any observer can make such claims (P-ST-08).
    await judge_owner_served(case, "RAIL-PAY-03", invented_id, 64)
