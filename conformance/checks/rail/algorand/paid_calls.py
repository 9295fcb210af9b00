"""RAIL-PAY on Algorand: valid payments are served with a receipt, in every form that a client may choose."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from conformance.assertions.rail.refusals import require_honest_payment_served
from conformance.assertions.rail.served_calls import judge_operations_served
from conformance.engine.check import Case, check
from conformance.engine.concurrent_check_steps import run_concurrently
from conformance.engine.quick_policy import sample
from conformance.lanes.algorand.group_shapes import GROUPS
from conformance.outcome import OpenPoint
from conformance.surfaces.rail.algorand.payments import algorand_payer, price_of
from conformance.surfaces.rail.paid_answers import brief
from conformance.surfaces.rail.proofs import encode_base64
from conformance.surfaces.rail.purchase import challenge, name_live_values, pay, redeem

SPELLINGS = ("other order", "white space", "escapes", "header in lower case")


@check(
    "RAIL-PAY-01",
    "RAIL-PAY-02",
    "RAIL-PAY-05",
    "RAIL-PAY-16",
    surface="rail",
    lane="algorand",
    fix="Read X-PAYMENT as base64 of {tx_id, payment_reference}, and find the transaction on the chain. Answer a "
    "welded one with 200, the result, the signed payable receipt and Cache-Control: private, no-store.",
    quick=sample("operations"),
)
async def welded_algorand_payment_is_served(case: Case) -> None:
    """On Algorand the proof is tx_id plus payment_reference, and a valid one is served 200 with the payable receipt.

    Pays each operation once, welded by the note, waits for the block, and presents the proof as base64 JSON. Expects
    200, a signed compact JWS in the answer, and that shared caches must not store it.
    """
    await judge_operations_served(case, ("RAIL-PAY-01", "RAIL-PAY-02"))


@check(
    "RAIL-PAY-02",
    surface="rail",
    lane="algorand",
    fix="Judge the transfer itself. The other transactions of its group, and which of them pays the fees, do not "
    "change the payee's credit.",
)
async def algorand_payment_in_a_group_is_served(case: Case) -> None:
    """A welded payment that is in a group of transactions is served.

    Pays in a group whose other transaction pays both fees, and in a group after an opt-in. Expects 200. The interface
    leaves open whether such a payment is valid, so a refusal only warns.
    """
    payer, operation = await algorand_payer(case), case.session.catalog.operations[0]
    await require_honest_payment_served(case, operation)

    async def attempt(shape: str) -> None:
        quote = await challenge(case, operation)
        entry, token = quote.entry(case.lane), quote.reference(case.lane)
        # The draft gets its group id only later, and its own id changes with that. So the proof is made after the
        # group.
        draft = await payer.draft(
            asset=payer.asset_id(entry), receiver=str(entry["payTo"]), amount=price_of(entry), note=token.encode()
        )
        proof = {"tx_id": await GROUPS[shape](payer, draft), "payment_reference": token}
        name_live_values(case, proof)
        answer = await redeem(case, operation, proof, body=quote.body)
        where = {"operation": operation.path, "payment": shape}
        # Wallets and fee sponsors make such groups, and the payee has the money. So a refusal costs the payer a call.
        open_point = OpenPoint("whether a transfer in a group of transactions pays a call is open", "P-LN-09")
        is_served = answer.status == 200
        case.expect("RAIL-PAY-02", is_served, "200", brief(answer), exchange=answer, where=where, beyond=open_point)

    await run_concurrently(map(attempt, GROUPS))


@check(
    "RAIL-PAY-01",
    surface="rail",
    lane="algorand",
    fix="Parse the decoded proof with a JSON parser, and find the header in any case.",
)
async def proof_is_read_as_json(case: Case) -> None:
    """X-PAYMENT is read as base64-encoded JSON, in every spelling that JSON allows.

    Pays one call for each spelling: members in the other order, white space between them, letters as escapes, and the
    header's name in lower case. Expects 200 each time.
    """
    operation = case.session.catalog.operations[0]

    async def attempt(spelling: str) -> None:
        quote = await challenge(case, operation)
        proof: dict[str, Any] = await pay(case, quote, case.lane)
        value = encode_base64(spell_proof(proof, spelling).encode())
        case.client.names.name(value, "X_PAYMENT")
        # HTTP field names are case-insensitive (RFC 9110, 5.1), and HTTP/2 sends them in lower case.
        name = "x-payment" if spelling == "header in lower case" else "X-PAYMENT"
        answer = await case.client.call("POST", operation.url, json_body=operation.body, headers={name: value})
        where = {"operation": operation.path, "spelling": spelling}
        case.expect("RAIL-PAY-01", answer.status == 200, "200", brief(answer), exchange=answer, where=where)

    await run_concurrently(map(attempt, SPELLINGS))


def spell_proof(proof: Mapping[str, Any], spelling: str) -> str:
    """Return a proof's JSON text in one of `SPELLINGS`."""
    if spelling == "other order":
        return json.dumps(dict(reversed(list(proof.items()))))
    if spelling == "white space":
        return json.dumps(proof, indent=2) + "\n"
    # `\u0074` is the letter t: a JSON parser reads the same member name, a text search does not.
    text = json.dumps(proof, separators=(",", ":"))
    return text.replace("tx_id", "\\u0074x_id") if spelling == "escapes" else text
