"""RAIL-PAY-09 on Algorand: transfers that move more than they credit to the payee.

An Algorand asset transfer has a plain amount, and may also close the account out or claw an asset back. Only the plain
amount of an ordinary transfer is credited to its receiver.
"""

from __future__ import annotations

from conformance.assertions.rail.refusals import judge_refused, require_honest_payment_served
from conformance.engine.check import Case, check
from conformance.surfaces.rail.algorand.payments import algorand_payer, pay_welded, price_of
from conformance.surfaces.rail.purchase import challenge

_FIX = "Count only the amount that a plain transfer credits to the payee, not a close-out, a clawback or a balance."


@check("RAIL-PAY-09", surface="rail", lane="algorand", fix=_FIX)
async def close_out_whose_amount_is_too_small(case: Case) -> None:
    """A transfer whose plain amount is less than the price is not redeemed, whatever its close-out moves.

    Sends welded transfers of nothing and of one unit to the payee that close the account out to another account of the
    payer. Far more than the price moves then, but not to the payee. Expects that none is served.
    """
    payer = await algorand_payer(case)
    operation = case.session.catalog.operations[0]
    await require_honest_payment_served(case, operation)
    asset = payer.asset_id((await challenge(case, operation)).entry(case.lane))
    rest_account = await payer.new_account(assets=[asset])
    # A rail that checks only that a transfer to the payee exists, or that the sender's balance fell, accepts these.
    for amount in (0, 1):
        quote = await challenge(case, operation)
        price = price_of(quote.entry(case.lane))
        closing_account = await payer.new_account(assets=[asset])
        await payer.transfer(asset=asset, receiver=closing_account.address, amount=2 * price)
        proof = await pay_welded(payer, quote, sender=closing_account, amount=amount, close_to=rest_account.address)
        await judge_refused(case, "RAIL-PAY-09", quote, proof, f"{amount} to the payee, the rest closed out elsewhere")


@check("RAIL-PAY-09", surface="rail", lane="algorand", fix=_FIX)
async def clawback_that_brings_nothing(case: Case) -> None:
    """A clawback that moves what the payee holds already is not redeemed.

    Makes the asset's issuer claw the price back from the payee to the payee, with the challenge token as its note.
    Expects that it is not served, since the payee gained nothing. Only the issuer can do that, so the check needs a
    simulated node.
    """
    payer = await algorand_payer(case)
    operation = case.session.catalog.operations[0]
    await require_honest_payment_served(case, operation)
    quote = await challenge(case, operation)
    payee, price = str(quote.entry(case.lane)["payTo"]), str(price_of(quote.entry(case.lane)))
    token = quote.reference(case.lane)
    # A clawback is an asset transfer with the payee as receiver and the right amount. Only its sender differs from its
    # source.
    clawback = await payer.control("clawback", address=payee, receiver=payee, amount=price, note=token)
    proof = {"tx_id": str(clawback["tx_id"]), "payment_reference": token}
    await judge_refused(case, "RAIL-PAY-09", quote, proof, "a clawback from the payee to the payee")
