"""The largest request that an operation accepts: a long text, objects with members, a query.

Two faults in one request decide nothing. So an addition is kept only if the unpaid call is still quoted a price, and a
proof without a payment is refused for the payment, not for the request.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice
from typing import Any

from conformance.attacks.nearby_requests import LONG_QUERY, add_nested_members, lengthen_texts
from conformance.discovery.rail import Operation
from conformance.engine.check import Case
from conformance.http.refusal_details import describe_refused_body
from conformance.lanes.descriptor import SignsUnfunded
from conformance.outcome import Inconclusive
from conformance.surfaces.rail.purchase import Challenge, challenge, lane_of, name_live_values, present
from conformance.vocabulary.lanes.registry import FACTS

# Each try costs two calls, and most operations accept the first or second addition.
_MOST_TRIES = 6


async def find_full_request(case: Case, operation: Operation) -> Operation:
    """Return the operation with a full body and a query, as far as it accepts them; determined once in a run."""
    name = f"a full request of {operation.path}"
    operation_with_all: Operation = await case.session.find_once(name, lambda: _build_full_request(case, operation))
    return operation_with_all


async def _build_full_request(case: Case, operation: Operation) -> Operation:
    full = operation
    add_members = _member_adder(operation)
    for bodies in (add_members, add_nested_members, lengthen_texts):
        full = await _choose_first_accepted(case, full, bodies)
    with_query = full.with_query(LONG_QUERY)
    return with_query if await _is_accepted(case, with_query) else full


def _member_adder(operation: Operation) -> Callable[[Any], Iterator[Any]]:
    """Return a generator of bodies with every optional member that the operation describes, then with one each."""

    def bodies(body: Any) -> Iterator[Any]:
        if not isinstance(body, dict):
            return
        members: dict[str, Any] = {}
        for varied_body in operation.varied_bodies or ():
            for name, value in varied_body.items():
                if body.get(name) in (None, {}, []) and value != body.get(name):
                    members.setdefault(name, value)
        if members:
            yield {**body, **members}
        if len(members) > 1:
            yield from ({**body, name: value} for name, value in members.items())

    return bodies


async def _choose_first_accepted(case: Case, full: Operation, bodies: Callable[[Any], Iterator[Any]]) -> Operation:
    for body in islice(bodies(full.body), _MOST_TRIES):
        candidate = replace(full, body=body)
        if await _is_accepted(case, candidate):
            return candidate
    return full


async def _is_accepted(case: Case, operation: Operation) -> bool:
    """Return whether a request is quoted a price, and refused only for the lack of a payment."""
    try:
        # A rail may quote a price and still report a fault of the body in the same answer, so the quote alone proves
        # nothing.
        quote = await challenge(case, operation)
        if describe_refused_body(quote.answer) is not None:
            return False
        proof = await _make_worthless_proof(case, quote)
    except Inconclusive:
        return False
    name_live_values(case, proof)
    return (await present(case, operation, proof)).status == 402


async def _make_worthless_proof(case: Case, quote: Challenge) -> dict[str, Any]:
    """Return a proof without a payment for a challenge, on any lane that it offers.

    Raises:
        Inconclusive: Every such proof would cost money.
    """
    offered_lanes = {lane_of(entry) for entry in quote.accepts}
    # A well-formed id that no transaction has costs nothing, so these lanes are tried before a signature is made.
    for lane, facts in FACTS.items():
        if lane in offered_lanes and facts.no_transaction is not None:
            return {"tx_id": facts.no_transaction, "payment_reference": quote.reference(lane)}
    payer = await case.session.payers.for_rail(case.lane)
    if not isinstance(payer, SignsUnfunded):
        raise Inconclusive("the suite knows no proof without a payment for these lanes")
    return await payer.sign_unfunded(quote.entry(case.lane))
