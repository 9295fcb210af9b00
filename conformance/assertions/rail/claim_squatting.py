"""Strangers who claim a payment before its owner presents it.

A transaction is public on the chain before its owner presents it, and its note may contain the token as well. Any
reader can present them first. The reader must get nothing for it (RAIL-WELD), and the owner must lose nothing. The rows
judge that a valid proof is served 200, because any refusal, of whatever status, makes the owner pay again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from conformance.assertions.rail.refusals import require_honest_payment_served
from conformance.discovery.rail import Operation, variations
from conformance.engine.check import Case
from conformance.engine.concurrent_check_steps import run_concurrently
from conformance.http.client import Answer
from conformance.surfaces.rail.forged_challenge_tokens import forge_tokens
from conformance.surfaces.rail.paid_answers import brief
from conformance.surfaces.rail.purchase import Challenge, challenge, name_live_values, pay, present

FIX = (
    "Let a claim bind only after the chain has shown that it pays. Until then do not refuse other claims on the same "
    "transaction or the same token, however many there are."
)
# Wrong claims of each kind, a hundred in all: invented transactions, the tokens of other challenges, forged tokens, and
# the right pair on other requests.
_INVENTED_COUNT, _FOREIGN_COUNT, _FORGED_COUNT, _OTHER_REQUEST_COUNT = 50, 24, 16, 10


async def judge_owner_served(case: Case, row: str, invent: Callable[[bytes], str], size: int) -> None:
    """Judge whether the owner of a payment is served after a hundred wrong claims of strangers.

    Args:
        case: The case, of a lane whose payer sends the transaction.
        row: The row to judge.
        invent: Spells a transaction id from random bytes.
        size: Bytes of a transaction id.
    """
    operation = case.session.catalog.operations[0]
    await require_honest_payment_served(case, operation)
    quote = await challenge(case, operation)
    foreign_tokens = [(await challenge(case, operation)).reference(case.lane) for _ in range(_FOREIGN_COUNT // 3)]
    proof = await pay(case, quote, case.lane)
    tx_id, token = proof["tx_id"], proof["payment_reference"]
    invented_ids = [invent(case.rng.randbytes(size)) for _ in range(_INVENTED_COUNT)]
    forged_tokens = [text for _, text in forge_tokens(case, quote)]
    wrong_proofs = [
        *({"tx_id": other, "payment_reference": token} for other in invented_ids),
        *({"tx_id": tx_id, "payment_reference": text} for text in _repeat_texts(foreign_tokens, _FOREIGN_COUNT)),
        *({"tx_id": tx_id, "payment_reference": text} for text in _repeat_texts(forged_tokens, _FORGED_COUNT)),
    ]
    claims = [*((operation, quote.body, claim) for claim in wrong_proofs), *_claim_other_requests(case, quote, proof)]
    # All claims before the owner's: a claim that wrongly binds the payment is then in place when the owner presents it.
    answers = await run_concurrently(_present_claim(case, *claim) for claim in claims)
    answer = await present(case, operation, proof, body=quote.body)
    # A wrong claim that is served spends the payment, which is a breach of other rows.
    served_claims = [claim for claim in answers if claim.status == 200]
    if served_claims:
        case.mark_inconclusive(
            row, f"{len(served_claims)} wrong claims were served, so the payment is spent", exchange=served_claims[0]
        )
        return
    where = {"payment": f"after {len(claims)} wrong claims"}
    case.expect(row, answer.status == 200, "200", brief(answer), exchange=answer, where=where)


def _repeat_texts(texts: list[str], number: int) -> list[str]:
    """Return `number` of the texts in their order, from the start again when they are used up."""
    return [texts[place % len(texts)] for place in range(number)]


def _claim_other_requests(
    case: Case, quote: Challenge, proof: Mapping[str, Any]
) -> list[tuple[Operation, Any, Mapping[str, Any]]]:
    """Return the right pair on requests that it was not quoted for."""
    operation = quote.operation
    other_requests = [(one, one.body) for one in case.session.catalog.operations if one.path != operation.path]
    changed_requests = [
        (operation, body) for body in (*operation.other_bodies, *variations(operation.body)) if body != quote.body
    ]
    requests = [*other_requests, *changed_requests]
    return [(*requests[place % len(requests)], proof) for place in range(_OTHER_REQUEST_COUNT)] if requests else []


async def _present_claim(case: Case, operation: Operation, body: Any, claim: Mapping[str, Any]) -> Answer:
    name_live_values(case, claim)
    return await present(case, operation, dict(claim), body=body)
