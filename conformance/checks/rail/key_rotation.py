"""RAIL-RCPT-11: a rotation of the rail's key, if it claims the specification (P-KY-04, P-KY-08, P-ST-04)."""

from __future__ import annotations

from typing import Final

from conformance.engine.check import Case, check
from conformance.engine.exclusive import Exclusive
from conformance.engine.quick_policy import OWN_PROCESSES
from conformance.http.client import Answer
from conformance.oracles import jose
from conformance.oracles.ed25519_keys import keys_of_jwks
from conformance.oracles.key_documents import find_key_set_faults
from conformance.oracles.receipt_format import find_form_faults
from conformance.outcome import Inconclusive
from conformance.surfaces.rail.keys import JWKS, document
from conformance.surfaces.rail.paid_answers import brief
from conformance.surfaces.rail.purchase import Purchase, challenge, pay, present, purchase, redeem
from conformance.surfaces.rail.receipts import receipt_of
from conformance.surfaces.restarts import leave_without_restart, start_again

ROW: Final = "RAIL-RCPT-11"


@check(
    ROW,
    surface="rail",
    exclusive=Exclusive.RESTART,
    fix="Publish the new key first and the retired ones behind it, newest first. Keep the token secret and every "
    "stored answer as they are.",
    quick=OWN_PROCESSES,
)
async def a_rotation_keeps_sales(case: Case) -> None:
    """After a rotation the new key signs, older receipts verify, and what was quoted and stored stays as it was.

    Buys a call, and pays for another. Rotates the rail's key by the profile's command. Expects the new key in front of
    those from before. Presents the first proof again. Expects the stored answer with the same bytes, whose receipt
    verifies with the published set. Presents the second proof. Expects that the call is served, with a receipt that the
    new key signed.
    """
    words, lanes = case.profile.surfaces["rail"].rotate_key, case.profile.claims.lanes
    if words is None:
        leave_without_restart(case, "rail", "rotate_key")
        return
    if not lanes:
        raise Inconclusive("the profile claims no lane to pay on")
    operation = case.session.catalog.operations[0]
    sale = await purchase(case, operation, lanes[0])
    quote = await challenge(case, operation)
    proof = await pay(case, quote, lanes[0])
    _, jwks_before = await document(case, JWKS)
    await start_again(case, words, case.session.rail + JWKS)
    answer, jwks = await document(case, JWKS)
    keys, keys_before = keys_of_jwks(jwks), keys_of_jwks(jwks_before)
    faults = find_key_set_faults(jwks)
    faults += [] if [key.raw for key in keys[1:]] == [key.raw for key in keys_before] else ["other keys behind it"]
    faults += ["no new key in front"] if not keys or keys[0].raw in {key.raw for key in keys_before} else []
    _expect(case, answer, faults, "the key set")
    repeated = await present(case, operation, dict(sale.proof), body=sale.challenge.body)
    faults = [] if repeated.status == 200 and repeated.body == sale.answer.body else [brief(repeated)]
    fault = jose.fault_of(receipt_of(case, sale)[1], keys)
    _expect(case, repeated, [*faults, *([] if fault is None else [fault])], "the answer from before")
    served = await redeem(case, operation, dict(proof), body=quote.body)
    faults = [brief(served)] if served.status != 200 else []
    if not faults:
        faults = find_form_faults(receipt_of(case, Purchase(quote, lanes[0], proof, served))[1], keys)
    _expect(case, served, faults, "a call that was quoted before")


def _expect(case: Case, answer: Answer, faults: list[str], subject: str) -> None:
    expectation, where = "as P-KY-04 and P-KY-08 say", {"after a rotation": subject}
    case.expect(ROW, not faults, expectation, "; ".join(faults) or "so", exchange=answer, where=where)
