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
        served = await purchase(case, operations[0], lanes[0])
    except Inconclusive as reason:
        case.mark_documented(row, f"no answer to a proof that pays was seen: {reason}")
        return
    body, other = served.challenge.body, operations[-1]
    # A valid other request: a fault in it would be reported before the proof is looked at.
    changed = other.body if other != served.operation else next(iter(other.other_bodies), {"another": "request"})
    again = await present(case, served.operation, dict(served.proof), body=body)
    refused = await present(case, other, dict(served.proof), body=changed)
    sent = [("X-PAYMENT", header_value(served.proof))]
    for what, answer in (("that pays", served.answer), ("again", again), ("on another request", refused)):
        found = next(find_echoes(sent, answer.headers, answer.body, case.client.names), None)
        told, beyond = (None, None) if found is None else (found.shape, found.beyond)
        where = {"operation": other.path if answer is refused else served.operation.path, "secret": f"a proof {what}"}
        expected = "the proof nowhere in the answer"
        case.expect(row, found is None, expected, told, exchange=answer, where=where, beyond=beyond)
