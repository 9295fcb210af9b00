"""RAIL-PAY on Base: valid authorizations are served for one price, and wrong ones are refused.

A Base proof is a signed authorization (EIP-3009), and the rail itself settles it. So a rail can do two kinds of harm:
it serves without money, or it takes the money and does not serve. `FundedChallenges` follows both: each challenge has
an account with a known balance, and `audit` compares the balances at the end.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from typing import Any

import base58

from conformance.assertions.rail.base.funded_challenges import FundedChallenge, FundedChallenges, get_base_payer
from conformance.assertions.rail.refusals import assert_control_is_served, require_honest_payment_served
from conformance.assertions.rail.served_calls import judge_operations_served
from conformance.discovery.rail import Operation
from conformance.engine.check import Case, check
from conformance.engine.concurrent_check_steps import run_concurrently
from conformance.engine.quick_policy import sample
from conformance.lanes.base.authorization import Authorization, nonce_of
from conformance.oracles.nearly_equal_values import list_near_texts
from conformance.outcome import Inconclusive
from conformance.surfaces.rail.base.spellings import DUE, Spelling, spellings
from conformance.surfaces.rail.purchase import challenge, lane_of
from conformance.target import LANES

Change = Callable[[Authorization], Authorization]

_ADDRESS_DIGITS = 40


@check(
    "RAIL-PAY-01",
    "RAIL-PAY-04",
    "RAIL-PAY-05",
    "RAIL-PAY-16",
    surface="rail",
    lane="base",
    fix="Read X-PAYMENT as base64 of {authorization, signature, challenge_token}, and settle the authorization on the "
    "chain. Answer 200 with the result, the signed payable receipt and Cache-Control: private, no-store.",
    quick=sample("operations"),
)
async def welded_base_payment_is_served(case: Case) -> None:
    """On Base the proof is authorization, signature and challenge_token, and a valid one is served 200.

    Signs one authorization for each operation, with keccak256 of the token as its nonce, and presents it as base64
    JSON. Expects 200, a signed compact JWS in the answer, and that shared caches must not store it.
    """
    await judge_operations_served(case, ("RAIL-PAY-01", "RAIL-PAY-04"))


@check(
    "RAIL-PAY-07",
    surface="rail",
    lane="base",
    fix="Answer 200 only after the settlement is in a block, for exactly the price, from the payer to payTo.",
    quick=sample("operations"),
)
async def served_call_is_paid(case: Case) -> None:
    """When a call is served, its authorization is used on the chain and exactly one price has moved.

    Presents one welded authorization for each operation, from an account that holds three prices. Expects that at the
    time of the 200 the token's contract reports the authorization as used, and the account holds two prices.
    """
    payer = await get_base_payer(case)
    stakes = FundedChallenges(case, payer)

    async def judge_operation(operation: Operation) -> None:
        stake = await stakes.open_challenge(operation, prices=3)
        authorization = await stake.sign()
        answer = await stake.redeem(case, authorization)
        assert_control_is_served(answer)
        # Read at once after the answer: a rail that serves first and settles later may lose the settlement.
        is_used, moved_amount = (
            await stake.token.is_used(authorization.sender, authorization.nonce),
            await stake.measure_loss(),
        )
        case.expect(
            "RAIL-PAY-07",
            is_used and moved_amount == stake.price,
            "the authorization used, one price moved",
            f"{'used' if is_used else 'not used'}, {moved_amount} of {stake.price} moved",
            exchange=answer,
            where={"operation": operation.path},
        )

    await run_concurrently(map(judge_operation, case.sample(case.session.catalog.operations)))


@check(
    "RAIL-PAY-04",
    surface="rail",
    lane="base",
    fix="Read numbers and hexadecimal by their value, not by their spelling, and numbers with all 256 bits.",
)
async def other_spellings_of_an_authorization(case: Case) -> None:
    """An authorization in another spelling is served for one price, or refused and not settled.

    Presents honest authorizations with the recovery byte 0 or 1, numbers as JSON integers, addresses in lower case,
    hexadecimal in upper case, windows that end beyond 64 bits, and a member that names the network. All mean the same
    authorization. A target may choose which spellings it accepts, and the report notes it. A target that refuses
    integers, or hexadecimal in another case (5.5, P-NW-04), gets a warning.
    """
    payer = await get_base_payer(case)
    stakes = FundedChallenges(case, payer)
    operation = case.session.catalog.operations[0]
    await require_honest_payment_served(case, operation)

    async def attempt(description: str, spell: Spelling, **changes: Any) -> None:
        stake = await stakes.open_challenge(operation)
        await stakes.judge_free_or_paid(
            "RAIL-PAY-04", stake, spell(await stake.sign(**changes)), description, due=DUE.get(description)
        )

    await run_concurrently(
        (
            *(attempt(description, spell) for description, spell in spellings(payer.caip2).items()),
            attempt("validBefore at the end of time", Authorization.proof, valid_before=2**256 - 1),
            attempt("validBefore beyond 64 bits", Authorization.proof, valid_before=2**64),
        )
    )
    await stakes.audit()


@check(
    "RAIL-PAY-08",
    "RAIL-PAY-09",
    "RAIL-PAY-14",
    surface="rail",
    lane="base",
    fix="Compare the authorization's recipient with payTo and its value with the price before you submit anything.",
)
async def authorization_of_other_terms(case: Case) -> None:
    """An authorization to another recipient or of another value than the challenge's is not redeemed.

    Signs authorizations with the right nonce and one fault: the recipient (another account, the payer itself, the
    token, an address that differs from the payee's in one digit), or the value (nothing, one unit short, half, one unit
    over, twice, a million times). Expects that none is served, and that none is cashed. For a value above the price a
    breach only warns, since the interface does not mention it.
    """
    payer = await get_base_payer(case)
    stakes = FundedChallenges(case, payer)
    operation = case.session.catalog.operations[0]
    await require_honest_payment_served(case, operation)
    stranger = (await payer.new_account()).address

    async def pay_elsewhere(description: str, choose_recipient: Callable[[FundedChallenge], str]) -> None:
        stake = await stakes.open_challenge(operation)
        authorization = await stake.sign(to=choose_recipient(stake))
        await stakes.judge_buys_nothing(("RAIL-PAY-08", "RAIL-PAY-14"), stake, authorization, description)

    async def pay_look_alike(place: str) -> None:
        stake = await stakes.open_challenge(operation)
        near_payee = "0x" + list_near_texts(stake.pay_to[2:].lower())[place]
        authorization = await stake.sign(to=near_payee)
        description = f"to the payee's address with {place}"
        await stakes.judge_buys_nothing(("RAIL-PAY-08", "RAIL-PAY-14"), stake, authorization, description)

    async def pay_other_value(
        rows: tuple[str, ...], description: str, change_price: Callable[[int], int], beyond: str | None = None
    ) -> None:
        stake = await stakes.open_challenge(operation, prices=3)
        authorization = await stake.sign(value=change_price(stake.price))
        await stakes.judge_buys_nothing(rows, stake, authorization, description, beyond=beyond)

    recipients: dict[str, Callable[[FundedChallenge], str]] = {
        "to another account": lambda _: stranger,
        "to the payer itself": lambda stake: stake.account.address,
        # USDC rejects a transfer to its own contract, so the rail's settlement would fail after it served.
        "to the token's own contract": lambda stake: stake.token.address,
    }
    lower_values: dict[str, Callable[[int], int]] = {
        "nothing": lambda _: 0,
        # One unit short finds a comparison in floating point or after rounding.
        "one unit short": lambda price: price - 1,
        "half": lambda price: price // 2,
    }
    higher_values: dict[str, Callable[[int], int]] = {
        "one unit over": lambda price: price + 1,
        "twice the price": lambda price: price * 2,
        # The account cannot cover this amount. A rail that compares only "at least the price" finds out at the
        # settlement.
        "a million times the price": lambda price: price * 10**6,
    }
    await run_concurrently(
        (
            *(pay_elsewhere(description, choose_recipient) for description, choose_recipient in recipients.items()),
            *map(pay_look_alike, list_near_texts("0" * _ADDRESS_DIGITS)),
            *(
                pay_other_value(("RAIL-PAY-09", "RAIL-PAY-14"), description, change_price)
                for description, change_price in lower_values.items()
            ),
            *(
                pay_other_value(
                    ("RAIL-PAY-14",),
                    description,
                    change_price,
                    "the interface leaves open whether more than the price pays",
                )
                for description, change_price in higher_values.items()
            ),
        )
    )
    await stakes.audit()


@check(
    "RAIL-PAY-13",
    surface="rail",
    lane="base",
    fix="Compare validAfter and validBefore with the time, both strictly, before you submit anything.",
)
async def authorization_outside_its_window(case: Case) -> None:
    """An authorization outside its validity window is not redeemed.

    Presents welded authorizations that expired (a second ago, an hour ago, in 1970), that are not yet valid (in an
    hour, at the end of time), or whose window ends before it begins. Expects that none is served. One that expires
    within seconds may be refused, or served for its price.
    """
    payer = await get_base_payer(case)
    stakes = FundedChallenges(case, payer)
    operation = case.session.catalog.operations[0]
    await require_honest_payment_served(case, operation)
    # The token's contract compares the window with the block's time, which differs from the clock on a simulated
    # chain.
    now = await payer.block_time()
    windows = {
        "expired a second ago": {"valid_before": now - 1},
        "expired an hour ago": {"valid_before": now - 3600},
        "expired in 1970": {"valid_before": 1},
        "never valid": {"valid_before": 0},
        "valid in an hour": {"valid_after": now + 3600},
        "valid at the end of time": {"valid_after": 2**256 - 2, "valid_before": 2**256 - 1},
        # The window is empty, so no time satisfies it. A rail that checks only one end accepts it.
        "valid after it expires": {"valid_after": now + 600, "valid_before": now + 300},
    }

    async def present_outside(description: str, window: Mapping[str, int]) -> None:
        stake = await stakes.open_challenge(operation)
        await stakes.judge_buys_nothing("RAIL-PAY-13", stake, await stake.sign(**window), description)

    async def present_expiring() -> None:
        stake = await stakes.open_challenge(operation)
        # Six blocks of two seconds: whether the settlement still fits is the rail's risk. It must not serve without
        # the price.
        authorization = await stake.sign(valid_before=await payer.block_time() + 12)
        await stakes.judge_free_or_paid("RAIL-PAY-13", stake, authorization, "about to expire")

    await run_concurrently(
        (*(present_outside(description, window) for description, window in windows.items()), present_expiring())
    )
    await stakes.audit()


@check(
    "RAIL-PAY-11",
    surface="rail",
    lane="base",
    fix="Serve only after the settlement succeeded. An authorization that the token refuses has paid nothing.",
)
async def authorization_that_cannot_be_settled(case: Case) -> None:
    """An authorization whose settlement fails is not redeemed.

    Presents welded authorizations of an empty account, of an account that lacks one unit of the price, and of a payer
    that cancelled it. Also presents one whose use by a third party failed in a block. Expects that none is served.
    """
    payer = await get_base_payer(case)
    stakes = FundedChallenges(case, payer)
    operation = case.session.catalog.operations[0]
    await require_honest_payment_served(case, operation)

    async def present_poor(description: str, missing_units: int | None) -> None:
        stake = await stakes.open_challenge(
            operation, prices=0 if missing_units is None else 1, short=missing_units or 0
        )
        await stakes.judge_buys_nothing("RAIL-PAY-11", stake, await stake.sign(), description)

    async def present_cancelled() -> None:
        stake = await stakes.open_challenge(operation)
        authorization = await stake.sign()
        await payer.cancel(stake.account, authorization)
        await stakes.judge_buys_nothing("RAIL-PAY-11", stake, authorization, "cancelled by the payer")

    async def present_failed() -> None:
        stake = await stakes.open_challenge(operation, prices=0)
        authorization = await stake.sign()
        # The gas is fixed, because an estimate would fail before the transaction is sent.
        tx_id = await payer.use(authorization, gas=200_000, wait=False)
        if (await payer.node.wait_for_block(tx_id)).get("status") != 0:
            raise Inconclusive("the chain accepted the payment of an empty account")
        await stakes.judge_buys_nothing("RAIL-PAY-11", stake, authorization, "its settlement failed in a block")

    await run_concurrently(
        (
            present_poor("the payer holds nothing", None),
            present_poor("the payer lacks a unit", 1),
            present_cancelled(),
            present_failed(),
        )
    )
    await stakes.audit()


@check(
    "RAIL-PAY-06",
    "RAIL-PAY-15",
    surface="rail",
    lane="base",
    fix="Take the lane from the token, and refuse a proof that does not have that lane's form.",
)
async def base_proof_of_another_lane(case: Case) -> None:
    """An Algorand- or Solana-shaped proof for a Base challenge is not redeemed, nor a Base proof for their challenges.

    Presents a Base token with ids of transactions that were never sent, on Base and on the other chains. Presents Base
    authorizations with the tokens of the other lanes that the challenge offers, and nonces from them. Expects that none
    is served, and that none is cashed.
    """
    payer = await get_base_payer(case)
    stakes = FundedChallenges(case, payer)
    operation = case.session.catalog.operations[0]
    await require_honest_payment_served(case, operation)
    random_bytes = case.rng.randbytes(32)

    async def present_shape(description: str, make_proof: Callable[[str], Mapping[str, Any]]) -> None:
        stake = await stakes.open_challenge(operation)
        proof = make_proof(stake.quote.reference(case.lane))
        await stakes.judge_buys_nothing(("RAIL-PAY-06", "RAIL-PAY-15"), stake, proof, description)

    async def present_other_token(lane: str) -> None:
        stake = await stakes.open_challenge(operation)
        token = stake.quote.reference(lane)
        authorization = await stake.sign(token=token, nonce=nonce_of(token))
        await stakes.judge_buys_nothing(
            "RAIL-PAY-15", stake, authorization, f"an authorization with the token of the lane {lane}"
        )

    shapes: dict[str, Callable[[str], Mapping[str, Any]]] = {
        # The other lanes' proofs are an id and a token. On Base an id proves nothing, since anyone can read it from
        # the chain.
        "a transaction id of Base": lambda token: {"tx_id": "0x" + random_bytes.hex(), "payment_reference": token},
        "a transaction id of Algorand": lambda token: {
            "tx_id": base64.b32encode(random_bytes).decode().rstrip("="),
            "payment_reference": token,
        },
        "a transaction id of Solana": lambda token: {
            "tx_id": base58.b58encode(random_bytes * 2).decode(),
            "payment_reference": token,
        },
    }
    # Only lanes that the challenge offers: their tokens are live, and nothing but the form of the proof is wrong.
    lanes = sorted({str(lane_of(one)) for one in (await challenge(case, operation)).accepts} & set(LANES) - {case.lane})
    await run_concurrently(
        (
            *(present_shape(description, make_proof) for description, make_proof in shapes.items()),
            *(present_other_token(lane) for lane in lanes),
        )
    )
    await stakes.audit()
