"""PAYER-PAY-02 on Base: the nonce of an authorization is the hash of the offer's token (5.5)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from conformance.engine.check import Case, check
from conformance.surfaces.payer.scenes import NEEDS_MORE, Scene, Stage, cite_last_call, perform, require_honest_call


@check(
    "PAYER-PAY-02",
    surface="payer",
    lane="base",
    fix="Compute the weld from the token, as 5.5 says. What else the offer says of it is a help for readers.",
    needs_more=NEEDS_MORE,
)
async def welds_to_the_token(case: Case) -> None:
    """An offer whose nonce belongs to another token is refused, or paid with the nonce of its own token.

    Offers the call with the `authorization_nonce` of another token. Expects that nothing is paid, or that the payment
    is welded to the token of the offer. On Solana the reference account depends on the service word, which a payer need
    not know.
    """
    if case.profile.payer.stock:
        case.mark_not_applicable("PAYER-PAY-02", "x402 has no nonce in its offers, so a stock client chooses its own")
        return
    await require_honest_call(case)

    async def offer_other_weld(stage: Stage) -> None:
        rail = stage.rail
        binding = await stage.host.describe_binding(rail.terms.asset, rail.desk.issue(rail.terms).token)
        nonce = binding["authorization_nonce"]

        def change(entry: dict[str, Any]) -> dict[str, Any]:
            return {**entry, "extra": {**entry["extra"], "authorization_nonce": nonce}}

        rail.script = replace(rail.script, entry=change)

    outcome = await perform(case, Scene(prepare=offer_other_weld))
    is_welded = all(one.tx_id is not None or one.is_pending for one in outcome.presentations)
    is_lost = bool(outcome.spent) and not outcome.presentations
    case.expect(
        "PAYER-PAY-02",
        is_welded and not is_lost and (outcome.is_served or outcome.is_refused),
        "nothing is paid, or the payment is welded to the token of the offer",
        outcome.story,
        exchange=cite_last_call(outcome),
    )
