"""Strangers who claim a payment before its owner presents it.

A transaction is public on the chain before its owner presents it, and its note may contain the token as well. Any
reader can present them first. The reader must get nothing for it (RAIL-WELD), and the owner must lose nothing. The rows
judge that a valid proof is served 200, because any refusal, of whatever status, makes the owner pay again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from conformance.discovery.rail import Operation, variations
from conformance.engine.check import Case
from conformance.engine.concurrency import run_concurrently
from conformance.http.client import Answer
from conformance.judging.rail.refusals import honest_payment_is_served
from conformance.surfaces.rail.forgeries import forge_tokens
from conformance.surfaces.rail.paid_answers import brief
from conformance.surfaces.rail.purchase import Challenge, challenge, name_live_values, pay, present

FIX = (
    "Let a claim bind only after the chain has shown that it pays. Until then do not refuse other claims on the same "
    "transaction or the same token, however many there are."
)
# Wrong claims of each kind, a hundred in all: invented transactions, the tokens of other challenges, forged tokens, and
# the right pair on other requests.
_INVENTED, _FOREIGN, _FORGED, _ELSEWHERE = 50, 24, 16, 10


async def owner_is_served(case: Case, row: str, invent: Callable[[bytes], str], size: int) -> None:
    """Judge whether the owner of a payment is served after a hundred wrong claims of strangers.

    Args:
        case: The case, of a lane whose payer sends the transaction.
        row: The row to judge.
        invent: Spells a transaction id from random bytes.
        size: Bytes of a transaction id.
    """
    operation = case.session.catalog.operations[0]
    await honest_payment_is_served(case, operation)
    quote = await challenge(case, operation)
    strangers = [(await challenge(case, operation)).reference(case.lane) for _ in range(_FOREIGN // 3)]
    proof = await pay(case, quote, case.lane)
    tx_id, token = proof["tx_id"], proof["payment_reference"]
    invented = [invent(case.rng.randbytes(size)) for _ in range(_INVENTED)]
    forged = [text for _, text in forge_tokens(case, quote)]
    wrong = [
        *({"tx_id": other, "payment_reference": token} for other in invented),
        *({"tx_id": tx_id, "payment_reference": text} for text in _taken(strangers, _FOREIGN)),
        *({"tx_id": tx_id, "payment_reference": text} for text in _taken(forged, _FORGED)),
    ]
    claims = [*((operation, quote.body, claim) for claim in wrong), *_elsewhere(case, quote, proof)]
    answers = await run_concurrently(_claim(case, *claim) for claim in claims)
    answer = await present(case, operation, proof, body=quote.body)
    served = [claim for claim in answers if claim.status == 200]
    if served:
        case.mark_inconclusive(
            row, f"{len(served)} wrong claims were served, so the payment is spent", exchange=served[0]
        )
        return
    where = {"payment": f"after {len(claims)} wrong claims"}
    case.expect(row, answer.status == 200, "200", brief(answer), exchange=answer, where=where)


def _taken(texts: list[str], number: int) -> list[str]:
    """Return `number` of the texts in their order, from the start again when they are used up."""
    return [texts[place % len(texts)] for place in range(number)]


def _elsewhere(
    case: Case, quote: Challenge, proof: Mapping[str, Any]
) -> list[tuple[Operation, Any, Mapping[str, Any]]]:
    """Return the right pair on requests that it was not quoted for."""
    operation = quote.operation
    others = [(one, one.body) for one in case.session.catalog.operations if one.path != operation.path]
    bodies = [
        (operation, body) for body in (*operation.other_bodies, *variations(operation.body)) if body != quote.body
    ]
    requests = [*others, *bodies]
    return [(*requests[place % len(requests)], proof) for place in range(_ELSEWHERE)] if requests else []


async def _claim(case: Case, operation: Operation, body: Any, claim: Mapping[str, Any]) -> Answer:
    name_live_values(case, claim)
    return await present(case, operation, dict(claim), body=body)
