"""The largest request that an operation accepts: a long text, objects with members, a query.

Two faults in one request decide nothing. So an addition is kept only if the unpaid call is still quoted a price, and a
proof without a payment is refused for the payment, not for the request.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice
from typing import Any

from conformance.attacks.fine_changes import LONG_QUERY, longer, nested
from conformance.discovery.rail import Operation
from conformance.engine.check import Case
from conformance.http.refusals import describe_refused_body
from conformance.lanes.descriptor import SignsUnfunded
from conformance.outcome import Inconclusive
from conformance.surfaces.rail.purchase import Challenge, challenge, lane_of, name_live_values, present
from conformance.vocabulary.lanes.registry import FACTS

_MOST_TRIES = 6


async def full_request(case: Case, operation: Operation) -> Operation:
    """Return the operation with a full body and a query, as far as it accepts them; determined once in a run."""
    name = f"a full request of {operation.path}"
    found: Operation = await case.session.find_once(name, lambda: _found(case, operation))
    return found


async def _found(case: Case, operation: Operation) -> Operation:
    full = operation
    more = _added(operation)
    for bodies in (more, nested, longer):
        full = await _first_taken(case, full, bodies)
    asked = full.with_query(LONG_QUERY)
    return asked if await _is_taken(case, asked) else full


def _added(operation: Operation) -> Callable[[Any], Iterator[Any]]:
    """Return a generator of bodies with every optional member that the operation describes, then with one each."""

    def bodies(body: Any) -> Iterator[Any]:
        if not isinstance(body, dict):
            return
        single: dict[str, Any] = {}
        for drawn in operation.varied_bodies or ():
            for name, value in drawn.items():
                if body.get(name) in (None, {}, []) and value != body.get(name):
                    single.setdefault(name, value)
        if single:
            yield {**body, **single}
        if len(single) > 1:
            yield from ({**body, name: value} for name, value in single.items())

    return bodies


async def _first_taken(case: Case, full: Operation, bodies: Callable[[Any], Iterator[Any]]) -> Operation:
    for body in islice(bodies(full.body), _MOST_TRIES):
        asked = replace(full, body=body)
        if await _is_taken(case, asked):
            return asked
    return full


async def _is_taken(case: Case, asked: Operation) -> bool:
    """Return whether a request is quoted a price, and refused only for the lack of a payment."""
    try:
        quote = await challenge(case, asked)
        if describe_refused_body(quote.answer) is not None:
            return False
        proof = await _worthless(case, quote)
    except Inconclusive:
        return False
    name_live_values(case, proof)
    return (await present(case, asked, proof)).status == 402


async def _worthless(case: Case, quote: Challenge) -> dict[str, Any]:
    """Return a proof without a payment for a challenge, on any lane that it offers.

    Raises:
        Inconclusive: Every such proof would cost money.
    """
    offered = {lane_of(entry) for entry in quote.accepts}
    for lane, facts in FACTS.items():
        if lane in offered and facts.no_transaction is not None:
            return {"tx_id": facts.no_transaction, "payment_reference": quote.reference(lane)}
    payer = await case.session.payers.for_rail(case.lane)
    if not isinstance(payer, SignsUnfunded):
        raise Inconclusive("the suite knows no proof without a payment for these lanes")
    return await payer.unfunded(quote.entry(case.lane))
