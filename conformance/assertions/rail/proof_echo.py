"""Whether a rail echoes a proof that pays: when it is served, when it is repeated, and on another request."""

from __future__ import annotations

from conformance.engine.check import Case
from conformance.http.echoes import find_echoes
from conformance.outcome import Inconclusive
from conformance.surfaces.rail.purchase import header_value, present, purchase


async def judge_paid_proofs(case: Case, row: str) -> None:
    """Judge that no answer contains the proof: when it pays, after it was redeemed, and on another request."""
    lanes, operations = case.profile.claims.lanes, case.session.catalog.operations
    try:
        if not lanes or not operations:
            raise Inconclusive("nothing can be bought with this profile")
        sale = await purchase(case, operations[0], lanes[0])
    except Inconclusive as reason:
        case.mark_documented(row, f"no answer to a proof that pays was seen: {reason}")
        return
    body, other_operation = sale.challenge.body, operations[-1]
    # A valid other request: a fault in it would be reported before the proof is looked at.
    other_body = (
        other_operation.body
        if other_operation != sale.operation
        else next(iter(other_operation.other_bodies), {"another": "request"})
    )
    second_answer = await present(case, sale.operation, dict(sale.proof), body=body)
    refusal = await present(case, other_operation, dict(sale.proof), body=other_body)
    # The header as it was sent. An echo in another encoding is found as well, and reported by its form.
    sent_fields = [("X-PAYMENT", header_value(sale.proof))]
    for proof_name, answer in (("that pays", sale.answer), ("again", second_answer), ("on another request", refusal)):
        echo = next(find_echoes(sent_fields, answer.headers, answer.body, case.client.names), None)
        shape, beyond = (None, None) if echo is None else (echo.shape, echo.beyond)
        where = {
            "operation": other_operation.path if answer is refusal else sale.operation.path,
            "secret": f"a proof {proof_name}",
        }
        requirement = "the proof nowhere in the answer"
        case.expect(row, echo is None, requirement, shape, exchange=answer, where=where, beyond=beyond)
