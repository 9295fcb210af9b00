"""RAIL-PAY and RAIL-WELD on Base: events on the chain that look like a settlement but did not pay.

An authorization that was used already pays only by the Transfer that the token's contract emitted directly after its
AuthorizationUsed (P-LN-03, P-LN-10). The checks put other transfers, tokens and authorizations around it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from conformance.assertions.rail.base.funded_challenges import FundedChallenge, FundedChallenges, get_base_payer
from conformance.assertions.rail.refusals import require_honest_payment_served
from conformance.discovery.rail import Operation
from conformance.engine.check import Case, check
from conformance.engine.concurrent_check_steps import run_concurrently
from conformance.lanes.base.authorization import Authorization
from conformance.lanes.base.payer import BasePayer
from conformance.lanes.base.token import WHOLE, encode_own_call
from conformance.outcome import Inconclusive
from conformance.surfaces.rail.paid_answers import brief

Call = tuple[str, bytes]


@check(
    "RAIL-PAY-10",
    surface="rail",
    lane="base",
    fix="Check the contract that emitted an event, not only its topics.",
)
async def token_that_looks_like_the_asset(case: Case) -> None:
    """A token contract that looks like the asset and emits the same events pays nothing.

    Deploys a contract with the asset's names, decimals, functions and events. It emits the events of a used
    authorization and of a transfer of the price: for an empty account, for a payer that cancelled the authorization,
    and in one transaction with a real use that moved the money to the payer itself. Also signs an authorization for the
    look-alike's own domain. Expects that none is served, and that none is cashed.
    """
    payer = await get_base_payer(case)
    stakes = FundedChallenges(case, payer)
    operation = case.session.catalog.operations[0]
    await require_honest_payment_served(case, operation)
    # The look-alike copies the EIP-712 name and version of the asset, so that signatures differ only by the contract.
    terms = (await stakes.open_challenge(operation, prices=0)).entry
    domain = payer.domain(terms)
    fake_token = await payer.deploy("CopycatToken", domain.name, domain.version)

    def make_fake_use(authorization: Authorization) -> Call:
        return fake_token, payer.token(terms).use_call(authorization, overload=WHOLE)

    async def use_at_fake_token(description: str, *, prices: int, cancel: bool = False) -> None:
        stake = await stakes.open_challenge(operation, prices=prices)
        authorization = await stake.sign()
        if cancel:
            await payer.cancel(stake.account, authorization)
        await payer.send(*make_fake_use(authorization))
        await stakes.judge_buys_nothing("RAIL-PAY-10", stake, authorization, description)

    async def use_next_to_real_one(description: str, order: Callable[[Call, Call, Call], Sequence[Call]]) -> None:
        stake = await stakes.open_challenge(operation)
        self_payment = await stake.sign(to=stake.account.address)
        # The real use emits AuthorizationUsed for the payer, and the look-alike emits the Transfer to the payee next
        # to it.
        real = (stake.token.address, stake.token.use_call(self_payment))
        authorization = await stake.sign()
        lie = (
            fake_token,
            encode_own_call("CopycatToken", "pretend", authorization.sender, authorization.to, authorization.value),
        )
        await payer.batch(order(real, lie, make_fake_use(authorization)))
        await stakes.judge_buys_nothing("RAIL-PAY-10", stake, authorization, description)

    await run_concurrently(
        (
            use_at_fake_token("used at a look-alike by a payer that holds nothing", prices=0),
            use_at_fake_token("used at a look-alike, cancelled at the asset", prices=1, cancel=True),
            use_next_to_real_one("a look-alike's Transfer directly after a real use", lambda real, lie, _: (real, lie)),
            use_next_to_real_one(
                "a look-alike's Transfer directly before a real use", lambda real, lie, _: (lie, real)
            ),
            use_next_to_real_one("a look-alike's use after a real one to the payer", lambda real, _, use: (real, use)),
            _sign_for_fake_token(fake_token, payer, stakes, operation),
        )
    )
    await stakes.audit()


async def _sign_for_fake_token(
    fake_token: str, payer: BasePayer, stakes: FundedChallenges, operation: Operation
) -> None:
    """Present an authorization that was signed for the look-alike's domain and used there."""
    stake = await stakes.open_challenge(operation)
    authorization = await payer.authorize({**stake.entry, "asset": fake_token}, stake.account)
    await payer.use(authorization)
    await stakes.judge_buys_nothing("RAIL-PAY-10", stake, authorization, "signed for the look-alike and used there")


@check(
    "RAIL-PAY-08",
    "RAIL-PAY-09",
    surface="rail",
    lane="base",
    fix="If an authorization is used already, read the transfer of its use. Refuse unless it moved the price to payTo.",
)
async def authorization_used_for_something_else(case: Case) -> None:
    """A right authorization is not redeemed if its nonce was used for another recipient or a smaller value.

    Signs one nonce twice: once as the challenge asks, and once to another account, to the payer itself, or for less.
    Uses the second on the chain and presents the first. Expects that it is not served.
    """
    # The contract reports only that the nonce was used. What moved is in the Transfer event of that use.
    payer = await get_base_payer(case)
    stakes = FundedChallenges(case, payer)
    operation = case.session.catalog.operations[0]
    await require_honest_payment_served(case, operation)
    stranger = (await payer.new_account()).address

    async def attempt(row: str, description: str, change: Callable[[FundedChallenge], dict[str, object]]) -> None:
        stake = await stakes.open_challenge(operation)
        await payer.use(await stake.sign(**change(stake)))
        await stake.accept_balance()
        await stakes.judge_buys_nothing(row, stake, await stake.sign(), f"its nonce was used {description}")

    await run_concurrently(
        (
            attempt("RAIL-PAY-08", "to pay another account", lambda _: {"to": stranger}),
            attempt("RAIL-PAY-08", "to pay the payer itself", lambda stake: {"to": stake.account.address}),
            # The nonce is the same in both signatures, so for the contract both are the same authorization: the first
            # one wins.
            attempt("RAIL-PAY-09", "for nothing", lambda _: {"value": 0}),
            attempt("RAIL-PAY-09", "for one unit", lambda _: {"value": 1}),
            attempt("RAIL-PAY-09", "for one unit short of the price", lambda stake: {"value": stake.price - 1}),
        )
    )
    await stakes.audit()


@check(
    "RAIL-WELD-05",
    surface="rail",
    lane="base",
    fix="Count only the Transfer that the asset's contract emitted directly after the AuthorizationUsed of this nonce.",
)
async def transfer_of_something_else_in_the_same_transaction(case: Case) -> None:
    """The transfer of one authorization is not counted for another in the same transaction.

    Signs the welded nonce to the payer itself. Uses it in one transaction that also contains a transfer of the price
    from the payer to the payee: a plain one or one by another nonce, before it, after it, or after a use for nothing.
    Presents the welded authorization to the payee. Expects that it is not served (`base-self-authorization`).
    """
    payer = await get_base_payer(case)
    stakes = FundedChallenges(case, payer)
    operation = case.session.catalog.operations[0]
    await require_honest_payment_served(case, operation)
    # One transaction for all calls, so that the events are in one receipt and next to each other.
    batcher = await payer.batcher()
    nonces = [case.rng.randbytes(32) for _ in range(2)]

    async def attempt(
        description: str,
        make_other_call: Callable[[FundedChallenge], Awaitable[Call]],
        *,
        first: bool,
        moves_nothing: bool = False,
    ) -> None:
        stake = await stakes.open_challenge(operation, prices=2, coin=True)
        stray = await make_other_call(stake)
        used_authorization = await (stake.sign(value=0) if moves_nothing else stake.sign(to=stake.account.address))
        use = (stake.token.address, stake.token.use_call(used_authorization))
        await payer.batch((stray, use) if first else (use, stray))
        await stake.accept_balance()
        await stakes.judge_buys_nothing("RAIL-WELD-05", stake, await stake.sign(), description)

    async def make_plain_transfer(stake: FundedChallenge) -> Call:
        token, owner = stake.token, stake.account
        await payer.send(token.address, token.call("approve(address,uint256)", batcher, stake.price), sender=owner)
        pull = token.call("transferFrom(address,address,uint256)", owner.address, stake.pay_to, stake.price)
        return token.address, pull

    def make_authorized_transfer(nonce: bytes) -> Callable[[FundedChallenge], Awaitable[Call]]:
        async def call(stake: FundedChallenge) -> Call:
            return stake.token.address, stake.token.use_call(await stake.sign(nonce=nonce))

        return call

    await run_concurrently(
        (
            # A rail that searches the receipt for any Transfer of the price, instead of the one after the use, counts
            # a stray one.
            attempt("a plain transfer of the price after its own use", make_plain_transfer, first=False),
            attempt("a plain transfer of the price before its own use", make_plain_transfer, first=True),
            attempt(
                "a plain transfer of the price after its use for nothing",
                make_plain_transfer,
                first=False,
                moves_nothing=True,
            ),
            attempt("another nonce's transfer after its own use", make_authorized_transfer(nonces[0]), first=False),
            attempt("another nonce's transfer before its own use", make_authorized_transfer(nonces[1]), first=True),
        )
    )
    await stakes.audit()


@check(
    "RAIL-WELD-05",
    surface="rail",
    lane="base",
    fix="Make (network, transaction, log index of the Transfer) unique among the payments that bought something.",
)
async def one_transfer_for_many_nonces(case: Case) -> None:
    """Of several welded authorizations that one transaction used, no more are served than prices were moved.

    Signs authorizations for several challenges and uses all in one transaction. Only one moves the price to the payee,
    the others move it to the payer itself. Presents the welded proof of each, and the one that paid last. Expects that
    those which moved nothing are not served (`base-batched-authorizations`), and none if the only transfer is a plain
    one.
    """
    payer = await get_base_payer(case)
    await require_honest_payment_served(case, case.session.catalog.operations[0])
    await run_concurrently(_judge_batch(case, payer, paying) for paying in (0, 1, 2, None))


async def _judge_batch(case: Case, payer: BasePayer, paying_place: int | None) -> None:
    stakes, operation = FundedChallenges(case, payer), case.session.catalog.operations[0]
    first = await stakes.open_challenge(operation, prices=3, coin=True)
    # All from one account: the sender of the only Transfer fits every one of the authorizations.
    challenges = [first, *[await stakes.open_challenge(operation, account=first.account) for _ in range(2)]]
    authorizations = [
        await (one.sign() if place == paying_place else one.sign(to=first.account.address))
        for place, one in enumerate(challenges)
    ]
    calls: list[Call] = [(first.token.address, first.token.use_call(one)) for one in authorizations]
    if paying_place is None:
        approve = first.token.call("approve(address,uint256)", await payer.batcher(), first.price)
        await payer.send(first.token.address, approve, sender=first.account)
        pull = first.token.call(
            "transferFrom(address,address,uint256)", first.account.address, first.pay_to, first.price
        )
        calls.append((first.token.address, pull))
    await payer.batch(calls)
    for stake in challenges:
        await stake.accept_balance()
    description = (
        "the one transfer is a plain one" if paying_place is None else f"only nonce {paying_place + 1} of three paid"
    )
    for place, stake in enumerate(challenges):
        if place != paying_place:
            await stakes.judge_buys_nothing(
                "RAIL-WELD-05", stake, await stake.sign(), f"{description}, this is nonce {place + 1}"
            )
    await stakes.audit()
    if paying_place is not None:
        await _present_paid_one(case, challenges[paying_place], authorizations[paying_place], description)


async def _present_paid_one(case: Case, stake: FundedChallenge, authorization: Authorization, description: str) -> None:
    """Present the authorization that paid. The interface leaves open whether a rail accepts a foreign settlement."""
    answer = await stake.redeem(case, authorization)
    if answer.status >= 500:
        raise Inconclusive(f"the authorization that did pay was answered {brief(answer)}")
    if answer.status != 200:
        case.note(f"{description}: presented, it was answered {brief(answer)}, although its money has moved")
