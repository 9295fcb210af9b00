"""Whether a rail repeats a proof that pays: when it is served, when it comes again, and for another request."""

from __future__ import annotations

from conformance.engine.check import Case
from conformance.http.echoes import echoes
from conformance.outcome import Inconclusive
from conformance.surfaces.rail.purchase import header_value, present, purchase


async def judge_paid_proofs(case: Case, row: str) -> None:
    """Judge the answers to a proof that pays, that was redeemed, and that is for another request."""
    lanes, operations = case.profile.claims.lanes, case.session.catalog.operations
    try:
        if not lanes or not operations:
            raise Inconclusive("nothing can be bought by this profile")
        served = await purchase(case, operations[0], lanes[0])
    except Inconclusive as reason:
        case.mark_documented(row, f"no answer to a proof that pays was seen: {reason}")
        return
    body, other = served.challenge.body, operations[-1]
    # A request of its own that is in order, for a fault in it would be told before what is wrong with the proof.
    changed = other.body if other != served.operation else next(iter(other.other_bodies), {"another": "request"})
    again = await present(case, served.operation, dict(served.proof), body=body)
    refused = await present(case, other, dict(served.proof), body=changed)
    sent = [("X-PAYMENT", header_value(served.proof))]
    for what, answer in (("that pays", served.answer), ("again", again), ("on another request", refused)):
        found = next(echoes(sent, answer.headers, answer.body, case.client.names), None)
        told, beyond = (None, None) if found is None else (found.shape, found.beyond)
        where = {"operation": other.path if answer is refused else served.operation.path, "secret": f"a proof {what}"}
        expected = "the proof nowhere in the answer"
        case.expect(row, found is None, expected, told, exchange=answer, where=where, beyond=beyond)
