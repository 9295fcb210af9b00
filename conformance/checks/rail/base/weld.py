"""RAIL-WELD on Base: an authorization whose nonce is not keccak256 of this live challenge's token is refused.

On Base the weld is the nonce: it must be keccak256 of the challenge's token. The payer signs it with the amount and the
recipient, so no other client can move the payment to another challenge.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import partial
from typing import Any

from conformance.assertions.rail.base.funded_challenges import FundedChallenge, FundedChallenges, get_base_payer
from conformance.assertions.rail.chain_outage import judge_under_fault, list_node_faults
from conformance.assertions.rail.paid_tasks import MakePayment, judge_wrong_payments
from conformance.assertions.rail.recovery_after_refusal import judge_fresh_terms, judge_recovery
from conformance.assertions.rail.refusals import (
    assert_control_is_served,
    require_honest_payment_served,
)
from conformance.discovery.rail import Operation
from conformance.engine.check import Case, check
from conformance.engine.concurrent_check_steps import run_concurrently
from conformance.engine.exclusive import Exclusive
from conformance.engine.quick_policy import sample
from conformance.lanes.base.authorization import Authorization, nonce_of
from conformance.oracles.keccak import keccak256 as keccak
from conformance.oracles.nearly_equal_values import list_near_bytes
from conformance.surfaces.rail.forged_challenge_tokens import forge_tokens
from conformance.surfaces.rail.paid_answers import brief
from conformance.surfaces.rail.purchase import Challenge, challenge, header_value, pay, present, redeem


def make_wrong_nonces(token: str, random_nonce: bytes) -> dict[str, bytes]:
    """Return 32-byte nonces that are not keccak256 of the token, by description; `random_nonce` is 32 random bytes."""
    raw = token.encode()
    right_nonce = nonce_of(token)
    return {
        # EIP-3009 nonces are free 32-byte values. Hash functions with the same length and similar names are confused
        # most easily.
        "random, as stock x402 clients make it": random_nonce,
        "zero": bytes(32),
        "SHA-256 of the token": hashlib.sha256(raw).digest(),
        "SHA3-256 of the token": hashlib.sha3_256(raw).digest(),
        "the token's first 32 bytes": raw[:32],
        "the token's last 32 bytes": raw[-32:],
        "keccak256 of the token and a newline": bytes(keccak(raw + b"\n")),
        "keccak256 of the token without its last character": bytes(keccak(raw[:-1])),
        "keccak256 of the token in upper case": bytes(keccak(token.upper().encode())),
        "keccak256 of the token in quotes": bytes(keccak(b'"' + raw + b'"')),
        "keccak256 of keccak256 of the token": bytes(keccak(right_nonce)),
        "keccak256 of nothing": bytes(keccak(b"")),
        **{f"the right one with {name}": near for name, near in list_near_bytes(right_nonce).items()},
        "the right one backwards": right_nonce[::-1],
    }


@check(
    "RAIL-WELD-03",
    surface="rail",
    lane="base",
    fix="Compute keccak256 of the token's bytes and compare all 32 bytes with the authorization's nonce.",
)
async def nonce_that_is_not_the_tokens(case: Case) -> None:
    """A nonce other than keccak256 of the challenge token is not redeemed.

    Signs right authorizations except that the nonce is random (as stock x402 clients make it), another digest of the
    token, a digest of a changed token, or a changed right nonce. Pays a few tasks over A2A in the same way. Expects
    that none is served, and that none is cashed.
    """
    payer = await get_base_payer(case)
    stakes = FundedChallenges(case, payer)
    operation = case.session.catalog.operations[0]
    await require_honest_payment_served(case, operation)
    random_nonce = case.rng.randbytes(32)

    async def attempt(description: str) -> None:
        stake = await stakes.open_challenge(operation)
        nonce = make_wrong_nonces(stake.quote.reference(case.lane), random_nonce)[description]
        await stakes.judge_buys_nothing("RAIL-WELD-03", stake, await stake.sign(nonce=nonce), f"nonce: {description}")

    def for_task(description: str) -> MakePayment:
        async def make_proof(quote: Challenge) -> Mapping[str, Any]:
            stake = await stakes.fund_challenge(quote)
            stake.judged_rows.append(("RAIL-WELD-03", f"nonce: {description}, over A2A"))
            nonce = make_wrong_nonces(quote.reference(case.lane), random_nonce)[description]
            return (await stake.sign(nonce=nonce)).proof()

        return make_proof

    descriptions = list(make_wrong_nonces("x", random_nonce))
    await run_concurrently(map(attempt, descriptions))
    await judge_wrong_payments(
        case, "RAIL-WELD-03", operation, {f"nonce: {one}": for_task(one) for one in descriptions}
    )
    await stakes.audit()


@check(
    "RAIL-WELD-03",
    "RAIL-WELD-15",
    surface="rail",
    lane="base",
    fix="Compare the nonce with the token that is presented with it, not with any token that is live.",
    quick=sample("operations"),
)
async def nonce_of_another_challenges_token(case: Case) -> None:
    """An authorization and the challenge token that is presented with it must belong together.

    Signs authorizations for two challenges of one payer. Presents each with the other's token and with the other's
    signature. Expects that no mixed pair is served or cashed, and that a right pair is served.
    """
    payer = await get_base_payer(case)

    async def judge_operation(operation: Operation) -> None:
        stakes = FundedChallenges(case, payer)
        first = await stakes.open_challenge(operation, prices=2)
        second = await stakes.open_challenge(operation, account=first.account)
        first_authorization, second_authorization = await first.sign(), await second.sign()
        mixed_pairs = {
            "another live challenge's nonce": second_authorization.with_changes(token=first_authorization.token),
            "another live challenge's token": first_authorization.with_changes(token=second_authorization.token),
            # The signature covers the nonce, so it must fail together with the other challenge's nonce.
            "another live challenge's signature": first_authorization.with_changes(
                signature=second_authorization.signature
            ),
        }
        for description, pair in mixed_pairs.items():
            await stakes.judge_buys_nothing(("RAIL-WELD-03", "RAIL-WELD-15"), first, pair, description)
        await stakes.audit()
        assert_control_is_served(await first.redeem(case, first_authorization), "the right pair")

    await run_concurrently(map(judge_operation, case.sample(case.session.catalog.operations)))


@check(
    "RAIL-WELD-05",
    surface="rail",
    lane="base",
    fix="Redeem nothing without the weld, however well recipient and amount of a transfer on the chain fit.",
    quick=sample("operations"),
)
async def stray_base_transfer(case: Case) -> None:
    """A stray inbound transfer cannot be redeemed.

    Sends one price to the payee by a plain transfer, once before a challenge is requested and once after. Presents the
    transfer's id with the live token, and the welded authorization of the account, which is empty then. Expects that
    none is served.
    """
    payer = await get_base_payer(case)
    stakes = FundedChallenges(case, payer)

    async def judge_operation(operation: Operation, *, before: bool) -> None:
        # The account pays its own gas for the plain transfer, so it needs native coin.
        early = await stakes.open_challenge(operation, coin=True)
        stake = early if not before else None
        tx_id = await payer.transfer(early.token.address, early.pay_to, early.price, sender=early.account)
        stake = stake or await stakes.open_challenge(operation, account=early.account)
        await stake.accept_balance()
        when = "before" if before else "after"
        token = stake.quote.reference(case.lane)
        for description, proof in (
            # The transfer is public. If its id paid a call, any observer could use it.
            (f"the id of a stray transfer made {when} the challenge", {"tx_id": tx_id, "payment_reference": token}),
            (f"an authorization with a stray transfer made {when} the challenge", (await stake.sign()).proof()),
        ):
            await stakes.judge_buys_nothing("RAIL-WELD-05", stake, proof, description)

    await require_honest_payment_served(case, case.session.catalog.operations[0])
    await run_concurrently(
        judge_operation(operation, before=before)
        for operation in case.sample(case.session.catalog.operations)
        for before in (True, False)
    )
    await stakes.audit()


@check(
    "RAIL-WELD-07",
    surface="rail",
    lane="base",
    fix="Authenticate the token before you look at the payment: by a MAC over all that it means, or by a stored row.",
)
async def base_token_the_rail_never_issued(case: Case) -> None:
    """An authorization welded to a token that the rail never issued is not redeemed.

    Signs authorizations whose nonces are keccak256 of invented tokens and of real ones with one part changed, and
    presents each with that same token. Expects that none is served, and that none is cashed.
    """
    payer = await get_base_payer(case)
    stakes = FundedChallenges(case, payer)
    operation = case.session.catalog.operations[0]
    await require_honest_payment_served(case, operation)
    forged_tokens = forge_tokens(case, await challenge(case, operation))

    async def attempt(name: str, token: str) -> None:
        stake = await stakes.open_challenge(operation)
        authorization = await stake.sign(token=token, nonce=nonce_of(token))
        await stakes.judge_buys_nothing("RAIL-WELD-07", stake, authorization, f"token: {name}")

    await run_concurrently(attempt(*each) for each in forged_tokens)
    await stakes.audit()


def make_stock_payloads(stake: FundedChallenge, authorization: Authorization) -> list[dict[str, Any]]:
    """Return the payloads of ordinary x402 clients, versions 2 and 1, which do not know the weld."""
    proof = authorization.proof()
    payload = {"signature": proof["signature"], "authorization": proof["authorization"]}
    # x402 version 2 calls the amount `amount`. A stock client repeats the entry that it understood.
    accepted_entry = {name: value for name, value in stake.entry.items() if name != "maxAmountRequired"}
    network = "base" if str(stake.entry.get("network")) == "eip155:8453" else "base-sepolia"
    return [
        {
            "x402Version": 2,
            "resource": {"url": stake.quote.operation.url},
            "accepted": accepted_entry,
            "payload": payload,
        },
        {"x402Version": 1, "scheme": "exact", "network": network, "payload": payload},
    ]


@check(
    "RAIL-WELD-14",
    surface="rail",
    lane="base",
    fix="Answer an ordinary x402 payload with 402, and do not settle its authorization: it has no weld.",
)
async def ordinary_x402_client_on_base(case: Case) -> None:
    """A payment built by an ordinary x402 client is not redeemed: not served, and not settled either.

    Signs a real authorization with a random nonce, as the stock client does. Presents it in X-PAYMENT and in
    PAYMENT-SIGNATURE, as version 2 and as version 1. Expects that none is served, and that none is cashed.
    """
    # A rail that settles it takes the money of a client that it will never serve.
    payer = await get_base_payer(case)
    stakes = FundedChallenges(case, payer)
    operation = case.session.catalog.operations[0]
    await require_honest_payment_served(case, operation)
    nonces = [case.rng.randbytes(32) for _ in range(4)]

    async def attempt(header: str, version: int, nonce: bytes) -> None:
        stake = await stakes.open_challenge(operation)
        payload = make_stock_payloads(stake, await stake.sign(nonce=nonce))[2 - version]
        value = header_value(payload)
        case.client.names.name(value, "STOCK_PAYMENT")
        answer = await case.client.call("POST", operation.url, json_body=stake.quote.body, headers={header: value})
        description = f"{header}, version {version}"
        stake.judged_rows.append(("RAIL-WELD-14", description))
        where = {"payment": description}
        case.expect("RAIL-WELD-14", answer.status >= 300, "not served", brief(answer), exchange=answer, where=where)

    # x402 version 2 moved the payment from X-PAYMENT to PAYMENT-SIGNATURE. Clients of either version may call the
    # rail.
    presentations = [(header, version) for header in ("X-PAYMENT", "PAYMENT-SIGNATURE") for version in (2, 1)]
    await run_concurrently(attempt(*way, nonce) for way, nonce in zip(presentations, nonces, strict=True))
    await stakes.audit()


@check(
    "RAIL-WELD-16",
    surface="rail",
    lane="base",
    fix="Answer a refused payment with 402 and fresh accepts. Use 409 only for a payment that already bought something "
    "or is in progress, and 503 only while the chain is unreachable.",
)
async def base_refusal_lets_the_client_recover(case: Case) -> None:
    """A refused authorization answers 402 with a fresh accepts array, so that the client can recover.

    Provokes one refusal of each kind that needs no clock: wrong nonce, value, recipient and signature, expired, no
    money, a forged token, and an authorization without members. Presents a payment that already bought something with
    another token and on another operation. Then pays the terms of a refusal. Expects 402 with new tokens in accepts,
    and that the later payment is served. A payment that already bought something may also be answered 409.
    """
    payer = await get_base_payer(case)
    operation = case.session.catalog.operations[0]
    paid_quote = await challenge(case, operation)
    spent_proof = await pay(case, paid_quote, case.lane)
    assert_control_is_served(await redeem(case, operation, spent_proof))
    stakes = FundedChallenges(case, payer)
    refusals = await _make_refused_proofs(case, stakes, operation)
    token = (await challenge(case, operation)).reference(case.lane)
    # Every token of an earlier answer counts as old. A refusal that repeats one gives the client nothing that it could
    # pay.
    known_tokens = {token, paid_quote.reference(case.lane)}
    for description, proof in refusals.items():
        known_tokens.add(str(proof["challenge_token"]))
        judge_recovery(case, await present(case, operation, proof), known_tokens, (402,), description)
    await judge_fresh_terms(case, operation)
    spent_status = case.profile.rail_bindings.spent_status
    repetition = await present(case, operation, {**spent_proof, "challenge_token": token})
    judge_recovery(case, repetition, known_tokens, spent_status, "a payment that bought something, another token")
    for other_operation in case.session.catalog.operations[1:2]:
        judge_recovery(
            case, await present(case, other_operation, spent_proof), known_tokens, spent_status, "on another operation"
        )


async def _make_refused_proofs(
    case: Case, stakes: FundedChallenges, operation: Operation
) -> Mapping[str, dict[str, Any]]:
    """Return one refused proof of each kind, by description; each has a separate challenge and account."""
    stranger, forged_token = (
        (await stakes.payer.new_account()).address,
        forge_tokens(case, await challenge(case, operation))[0][1],
    )
    changes: dict[str, dict[str, Any]] = {
        "a wrong nonce": {"nonce": bytes(32)},
        # One unit is a valid transfer, so only the comparison with the price can refuse it.
        "too little": {"value": 1},
        "to another account": {"to": stranger},
        "expired": {"valid_before": 1},
        "a token that was never issued": {"token": forged_token, "nonce": nonce_of(forged_token)},
    }
    proofs = {
        description: (await (await stakes.open_challenge(operation)).sign(**changes_of_one)).proof()
        for description, changes_of_one in changes.items()
    }
    poor_authorization = await (await stakes.open_challenge(operation, prices=0)).sign()
    noise_authorization = (await (await stakes.open_challenge(operation)).sign()).with_changes(
        signature=bytes(64) + b"\x1b"
    )
    bare_proof = (await (await stakes.open_challenge(operation)).sign()).proof()
    return {
        **proofs,
        "a payer without money": poor_authorization.proof(),
        "a signature that is noise": noise_authorization.proof(),
        "an authorization without members": {**bare_proof, "authorization": {}},
    }


@check(
    "RAIL-WELD-13",
    "RAIL-WELD-16",
    surface="rail",
    lane="base",
    exclusive=Exclusive.CHAIN,
    fix="Serve a call only after the node has returned the settlement. Serve no call after another answer or no "
    "answer.",
)
async def base_chain_that_cannot_be_asked(case: Case) -> None:
    """When the chain cannot be consulted the call is not served.

    Signs an authorization for each fault that the node can simulate. Switches the fault on, presents the authorization
    and one of an empty account, and switches the fault off. Expects that nothing is served during the fault, and that
    the honest one has paid at most one price afterwards.
    """
    payer = await get_base_payer(case)
    # Each fault of the node needs a separate payment, since the rail may have settled one before the next fault
    # begins.
    names = await list_node_faults(case, payer)
    if not names:
        return
    operation = case.session.catalog.operations[0]
    await require_honest_payment_served(case, operation)
    stakes = FundedChallenges(case, payer)

    async def prepare() -> tuple[FundedChallenge, Authorization, Authorization]:
        # Three prices: a rail that settles again after a fault would find the money for it.
        stake, poor = await stakes.open_challenge(operation, prices=3), await stakes.open_challenge(operation, prices=0)
        return stake, await stake.sign(), await poor.sign()

    prepared_payments = await run_concurrently(prepare() for _ in names)
    for name, (_, honest, empty) in zip(names, prepared_payments, strict=True):
        payments = {"an honest payment": honest, "one of a payer that holds nothing": empty}
        presentations = {
            description: partial(present, case, operation, authorization.proof())
            for description, authorization in payments.items()
        }
        await judge_under_fault(case, payer, name, presentations)
    await run_concurrently(
        _judge_after_fault(case, name, stake, honest)
        for name, (stake, honest, _) in zip(names, prepared_payments, strict=True)
    )


async def _judge_after_fault(case: Case, name: str, stake: FundedChallenge, honest: Authorization) -> None:
    answer = await stake.redeem(case, honest)
    moved_amount = await stake.measure_loss()
    where = {"fault": name, "payment": "an honest payment, after the faults"}
    expectation, finding = "one price moved at most", f"{brief(answer)} and {moved_amount} of {stake.price} moved"
    case.expect("RAIL-WELD-13", moved_amount <= stake.price, expectation, finding, exchange=answer, where=where)
    if answer.status != 200:
        case.note(f"after the fault {name} ended, the payment was answered {brief(answer)}, {moved_amount} moved")
