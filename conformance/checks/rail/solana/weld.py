"""RAIL-WELD on Solana: a payment that is not welded to this live challenge is refused.

On Solana the weld is an account: the transfer instruction must name the reference account that the rail derives from
the challenge's token. A transaction has many instructions and account lists, and only the paying transfer's own list
counts.
"""

from __future__ import annotations

import base64
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any

from solders.instruction import Instruction
from solders.pubkey import Pubkey
from solders.system_program import TransferParams
from solders.system_program import transfer as transfer_coin
from solders.transaction import VersionedTransaction

from conformance.assertions.rail.chain_outage import judge_nothing_served
from conformance.assertions.rail.refusals import require_honest_payment_served
from conformance.assertions.rail.solana.challenge_payments import Quoted, derive_reference, get_solana_payer
from conformance.assertions.rail.weld_attacks import (
    judge_mixed_pairs,
    judge_near_misses,
    judge_ordinary_client,
    judge_recovery_from_refusals,
    judge_stray_transfers,
)
from conformance.engine.check import Case, check
from conformance.engine.concurrent_check_steps import run_concurrently
from conformance.engine.exclusive import Exclusive
from conformance.engine.quick_policy import sample
from conformance.lanes.solana.instructions import TokenTransfer, memo, with_accounts
from conformance.lanes.solana.payer import Refused, UnknownBlockhash
from conformance.lanes.solana.relay_program import call_through
from conformance.surfaces.rail.forged_challenge_tokens import forge_tokens
from conformance.surfaces.rail.paid_answers import brief
from conformance.surfaces.rail.unpaid_answers import let_lapse

Send = Callable[[Quoted], Awaitable[str]]


@check(
    "RAIL-WELD-04",
    surface="rail",
    lane="solana",
    fix="Look for the token's reference account only among the accounts of the transfer that pays. Do not look in the "
    "whole transaction, in another instruction or in a memo.",
)
async def transfer_without_the_reference(case: Case) -> None:
    """A transfer without the derived reference account is not redeemed.

    Sends transfers of the price to the right account. The reference is missing, is another key, differs in one bit, or
    is somewhere else in the same transaction: in a memo, in a transfer of native coin, or in a token transfer of one
    unit to the payer or to the payee. Also sends one that loads the reference from an address lookup table and names it
    only in another instruction. Pays a few tasks over A2A in the same way. Expects that none is served.
    """
    payer = await get_solana_payer(case)
    await require_honest_payment_served(case, case.session.catalog.operations[0])
    misses = _list_misplaced_references(payer.main.key, Pubkey(case.rng.randbytes(32)))
    await judge_near_misses(case, Quoted, "RAIL-WELD-04", misses)


def _transfer_coin_with_reference(quote: Quoted, transfer: TokenTransfer) -> Instruction:
    """Return a transfer of native coin to the payer itself that names the reference account."""
    coin_transfer = transfer_coin(TransferParams(from_pubkey=transfer.owner, to_pubkey=transfer.owner, lamports=1))
    return with_accounts(coin_transfer, [quote.order.reference])


async def _load_for_other_instruction(quote: Quoted) -> str:
    """Pay with the reference loaded from a table, but named only by a transfer of native coin."""
    transfer = await quote.transfer(references=())
    # The loaded accounts follow the static ones. A rail that searches the whole list finds the reference there.
    table = await quote.payer.address_table([transfer.mint, quote.order.reference])
    return await quote.payer.send(
        [transfer.instruction(), _transfer_coin_with_reference(quote, transfer)], tables=[table]
    )


def _list_misplaced_references(own_key: Pubkey, stray_key: Pubkey) -> Mapping[str, Send]:
    """Return functions that pay without the reference in the transfer, by the place where it is instead."""

    def one_bit_off(quote: Quoted) -> Pubkey:
        raw = bytearray(bytes(quote.order.reference))
        raw[-1] ^= 1
        return Pubkey(bytes(raw))

    def add_instruction(extra: Callable[[Quoted, TokenTransfer], Instruction], *, first: bool = False) -> Send:
        async def send(quote: Quoted) -> str:
            def make_instructions(transfer: TokenTransfer) -> list[Instruction]:
                instructions = [transfer.instruction(), extra(quote, transfer)]
                return instructions[::-1] if first else instructions

            return await quote.send(make_instructions, references=())

        return send

    def to_self(quote: Quoted, transfer: TokenTransfer) -> Instruction:
        return transfer.with_changes(
            amount=1, destination=transfer.source, references=(quote.order.reference,)
        ).instruction()

    def to_payee(quote: Quoted, transfer: TokenTransfer) -> Instruction:
        return transfer.with_changes(amount=1, references=(quote.order.reference,)).instruction()

    def nothing_to_payee(quote: Quoted, transfer: TokenTransfer) -> Instruction:
        return transfer.with_changes(amount=0, references=(quote.order.reference,)).instruction()

    return {
        "no reference": lambda quote: quote.send(references=()),
        "no reference, no mint named": lambda quote: quote.send(references=(), decimals=None),
        "another key": lambda quote: quote.send(references=(stray_key,)),
        # The payer's key is in every transfer as its owner. A rail that checks only that some further account exists
        # accepts it.
        "the payer's own key": lambda quote: quote.send(references=(own_key,)),
        "one bit off": lambda quote: quote.send(references=(one_bit_off(quote),)),
        # Each place is one where a careless search of the whole transaction finds the reference.
        "as text in a memo": add_instruction(lambda quote, _: memo(own_key, str(quote.order.reference).encode())),
        "the token in a memo": add_instruction(lambda quote, _: memo(own_key, quote.order.text.encode())),
        "in a transfer of native coin": add_instruction(_transfer_coin_with_reference),
        "in a transfer of native coin, from an address table": _load_for_other_instruction,
        "in a token transfer of one unit to the payer": add_instruction(to_self),
        "in a token transfer of one unit to the payer, before": add_instruction(to_self, first=True),
        # Two transfers to the payee, one with the price and one with the reference: the rail must not combine them.
        "in a token transfer of one unit to the payee": add_instruction(to_payee),
        "in a token transfer of one unit to the payee, before": add_instruction(to_payee, first=True),
        "in a token transfer of nothing to the payee": add_instruction(nothing_to_payee),
    }


@check(
    "RAIL-WELD-04",
    surface="rail",
    lane="solana",
    fix="Accept only transfers in the transaction itself. The accounts of a program call do not weld a transfer inside "
    "that call. Only the accounts of that transfer could.",
)
async def transfer_inside_a_program_call(case: Case) -> None:
    """A transfer inside a program call, with the reference in the call around it, is not redeemed.

    Deploys a program that forwards its instruction, and pays through it. The call names the reference, and the transfer
    that the program makes does not. Expects that it is not served. If the inner transfer itself names the reference,
    the answer is only noted.
    """
    payer, operation = await get_solana_payer(case), case.session.catalog.operations[0]
    await require_honest_payment_served(case, operation)
    try:
        # Inner instructions are in the transaction's metadata. A rail that reads them must not mix them with the outer
        # accounts.
        relay = await payer.relay()
    except Refused as refusal:
        case.mark_documented("RAIL-WELD-04", f"this node takes no program of the suite's: {refusal}")
        return
    quote = await Quoted.ask(case, operation)

    def around(transfer: TokenTransfer) -> list[Instruction]:
        bare = transfer.with_changes(references=()).instruction()
        # The outer instruction lists the reference for itself only. The token program never sees it.
        return [call_through(relay, bare, outer_only=(quote.order.reference,))]

    description = "inside a program call, the reference in the call around it"
    await quote.judge_buys_nothing("RAIL-WELD-04", await quote.send(around), description)
    inner = await Quoted.ask(case, operation)
    answer = await inner.present(await inner.send(lambda transfer: [call_through(relay, transfer.instruction())]))
    case.note(f"a transfer inside a program call that itself names the reference was answered {brief(answer)}")


@check(
    "RAIL-WELD-04",
    "RAIL-WELD-15",
    surface="rail",
    lane="solana",
    fix="Derive the reference from the presented token, and look for exactly that account.",
    quick=sample("operations"),
)
async def reference_of_another_challenge(case: Case) -> None:
    """A transfer with another live challenge's reference is not redeemed for this one; the two belong together.

    Requests two challenges, pays both, and presents each payment with the other's token. Expects that no mixed pair is
    served, and that the right pair is.
    """
    await judge_mixed_pairs(case, Quoted, "RAIL-WELD-04", "another live challenge's reference")


@check(
    "RAIL-WELD-05",
    surface="rail",
    lane="solana",
    fix="Redeem nothing without the weld, however well recipient and amount fit.",
    quick=sample("operations"),
)
async def stray_solana_transfer(case: Case) -> None:
    """A stray inbound transfer cannot be redeemed.

    Sends the right amount to the right account without a reference, once before a challenge is requested and once
    after. Presents both with live tokens, twice. Expects that none is served.
    """
    await judge_stray_transfers(case, Quoted)


@check(
    "RAIL-WELD-06",
    surface="rail",
    lane="solana",
    exclusive=Exclusive.CLOCK,
    fix="Compare the payment's block time with the end of the challenge's lifetime, even if its id was presented "
    "before.",
)
async def solana_payment_named_in_time_and_sent_late(case: Case) -> None:
    """A payment whose id was presented in time but which was made after the challenge expired is not redeemed.

    Signs a welded payment, presents its id, lets the challenge lapse, and only then sends it. Expects that it is not
    served, before or after, and that a fresh one is. A challenge may outlive the validity of a signed transaction. Then
    the payment cannot be sent that late, and its id must still pay no call.
    """
    operation = case.session.catalog.operations[0]
    await require_honest_payment_served(case, operation)
    quote = await Quoted.ask(case, operation)
    draft = await quote.payer.draft([(await quote.transfer()).instruction()])
    tx_id = str(draft.signatures[0])
    await quote.judge_buys_nothing("RAIL-WELD-06", tx_id, "named and not sent")
    await let_lapse(case)
    try:
        await quote.payer.submit(draft)
    # A signed Solana transaction names a recent blockhash and is valid for about a minute.
    except UnknownBlockhash:
        case.note("the chain no longer accepts the transaction: its blockhash lapsed before the challenge did")
    await quote.judge_buys_nothing("RAIL-WELD-06", tx_id, "named in time, sent late")
    await require_honest_payment_served(case, operation)


@check(
    "RAIL-WELD-07",
    surface="rail",
    lane="solana",
    fix="Authenticate the token before you look at the payment: by a MAC over all that it means, or by a stored row.",
)
async def solana_token_the_rail_never_issued(case: Case) -> None:
    """A payment welded to a token that the rail never issued is not redeemed.

    Presents invented tokens, and real ones with one part changed. Each comes with a payment that names a live token's
    reference. If the target's derivation is known, the payment also names the forged token's reference. Expects that
    none is served.
    """
    operation = case.session.catalog.operations[0]
    await require_honest_payment_served(case, operation)
    first = await Quoted.ask(case, operation)
    forged_tokens = forge_tokens(case, first.quote)
    quotes = [first, *[await Quoted.ask(case, operation) for _ in forged_tokens[1:]]]

    async def attempt(quote: Quoted, name: str, text: str) -> None:
        reference = derive_reference(case, quote, text)
        # The forged token's reference is first, because a rail may look only at the first one.
        references = (*(() if reference is None else (reference,)), quote.order.reference)
        tx_id = await quote.send(references=references)
        await quote.judge_buys_nothing("RAIL-WELD-07", tx_id, f"token: {name}", text=text)

    await run_concurrently(attempt(quote, *each) for quote, each in zip(quotes, forged_tokens, strict=True))


@check(
    "RAIL-WELD-13",
    "RAIL-WELD-16",
    surface="rail",
    lane="solana",
    exclusive=Exclusive.CHAIN,
    fix="Serve a call only after the node has returned the payment. Serve no call after another answer or no answer.",
)
async def solana_chain_that_cannot_be_asked(case: Case) -> None:
    """When the chain cannot be consulted the call is not served.

    Pays a challenge for each fault that the node can simulate. Switches the fault on, presents the proof and an
    invented one, and switches the fault off. Expects that nothing is served during the fault.
    """
    await judge_nothing_served(case, Quoted, await get_solana_payer(case))


@check(
    "RAIL-WELD-14",
    surface="rail",
    lane="solana",
    fix="Answer an ordinary x402 payload with 402: it contains no weld, even if it belongs to a real payment.",
)
async def ordinary_solana_x402_client(case: Case) -> None:
    """A payment built by an ordinary x402 client is not redeemed.

    Signs a transfer without the reference and presents the transaction as an ordinary client does: in X-PAYMENT and in
    PAYMENT-SIGNATURE, as version 2 and as version 1. Then sends it and presents it again. Expects that none is served.
    """
    operation = case.session.catalog.operations[0]
    await require_honest_payment_served(case, operation)
    quote = await Quoted.ask(case, operation)
    transfer = (await quote.transfer(references=())).instruction()
    draft = await quote.payer.draft([transfer])
    payloads = make_stock_payloads(quote, draft)
    await judge_ordinary_client(case, quote.quote, payloads, payment="signed and not sent")
    if await quote.payer.node.status(str(draft.signatures[0])) is not None:
        case.note("the target sent an ordinary client's transaction to the chain, and so took money without serving")
        return
    sent_transaction = await quote.payer.deliver(draft, partial(quote.payer.draft, [transfer]))
    if sent_transaction != draft:
        # The answers above took longer than a blockhash is valid, so another transaction was sent.
        payloads = make_stock_payloads(quote, sent_transaction)
    await judge_ordinary_client(case, quote.quote, payloads, payment="sent")


def make_stock_payloads(quote: Quoted, draft: VersionedTransaction) -> list[dict[str, Any]]:
    """Return the payloads of ordinary x402 clients, versions 2 and 1: a transaction for the rail to submit."""
    entry = quote.quote.entry(quote.payer.lane)
    accepted_entry = {name: value for name, value in entry.items() if name != "maxAmountRequired"}
    # The stock scheme sends the signed transaction itself. The weld cannot be added to it afterwards.
    payload = {"transaction": base64.b64encode(bytes(draft)).decode()}
    resource = {"url": quote.quote.operation.url}
    return [
        {"x402Version": 2, "resource": resource, "accepted": accepted_entry, "payload": payload},
        {"x402Version": 1, "scheme": "exact", "network": "solana", "payload": payload},
    ]


@check(
    "RAIL-WELD-16",
    surface="rail",
    lane="solana",
    fix="Answer a refused payment with 402 and fresh accepts. Use 409 only for a payment that already bought something "
    "or is in progress, and 503 only while the chain is unreachable.",
)
async def solana_refusal_lets_the_client_recover(case: Case) -> None:
    """A refused payment answers 402 with a fresh accepts array, so that the client can recover.

    Provokes one refusal of each kind that needs no clock: unknown transaction, no reference, wrong amount, another
    recipient, another operation, an unreadable proof, a token that was never issued, and a payment that already bought
    something. Then pays the terms of a refusal. Expects 402 with new tokens in accepts, and that the later payment is
    served. A payment that already bought something may also be answered 409.
    """
    await judge_recovery_from_refusals(case, Quoted, _pay_wrongly)


async def _pay_wrongly(quote: Quoted) -> Mapping[str, str]:
    own_account = await quote.payer.token_account(quote.order.mint, quote.payer.main.key)
    bare_id, little_id, elsewhere_id = await run_concurrently(
        (quote.send(references=()), quote.send(amount=1), quote.send(destination=own_account))
    )
    return {"no reference": bare_id, "too little": little_id, "another recipient": elsewhere_id}
