"""A proof presented on requests that differ in little from the one that it was quoted for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from conformance.attacks.nearby_requests import list_equivalent_queries, list_fine_changes, list_fine_queries
from conformance.discovery.rail import Operation
from conformance.engine.check import Case
from conformance.http.client import Answer
from conformance.outcome import Inconclusive, OpenPoint
from conformance.surfaces.rail.paid_answers import extract_receipts
from conformance.surfaces.rail.purchase import Purchase, present, purchase
from conformance.surfaces.rail.receipts import claims_of

_SAME_BY_RECEIPTS = "the target's own receipts do not distinguish the two requests, so it may read both as the same"
_EQUIVALENT = "the two queries are equivalent by RFC 3986, so the target may bind one normal form of them"
_STORED_ANSWER = OpenPoint("nothing is bought again, but any client that sees the payment gets its answer", "5.7")


async def present_fine_changes(
    case: Case, operation: Operation, proof: Mapping[str, Any], usual_body: Any, original_answer: Answer | None = None
) -> None:
    """Judge that a proof buys none of the requests that differ in little from its own.

    If a target may read the two requests as the same, it is a breach only if its own receipts distinguish them.

    Args:
        case: The check's case, of the rows RAIL-WELD-09 and -10.
        operation: The request that was quoted, with its query in its address.
        proof: The proof that pays it.
        usual_body: The operation's usual body.
        original_answer: The answer to its own request, if it was redeemed already.
    """
    # An unspent proof could buy the other request outright. A spent one could fetch the stored answer for it.
    state = "unspent" if original_answer is None else "spent"
    for change in list_fine_changes(operation.body, usual_body):
        answer = await present(case, replace(operation, body=change.body), proof)
        where = {"operation": operation.path, "axis": f"{change.name}, {state}"}
        await _judge(
            case, "RAIL-WELD-09", answer, where, original_answer, None if change.sure else (operation, change.body)
        )
    queryless = replace(operation, url=operation.url.partition("?")[0])
    for change_name, query in (list_fine_queries(operation.query) if operation.query else {}).items():
        answer = await present(case, queryless, proof, query=query)
        where = {"operation": operation.path, "axis": f"query with {change_name}, {state}"}
        await _judge(case, "RAIL-WELD-10", answer, where, original_answer)
    # The specification's recipe is over the raw query (P-RH-01); the interface alone leaves a normal form open.
    beyond = None if case.profile.is_reference else _EQUIVALENT
    for change_name, query in (list_equivalent_queries(operation.query) if operation.query else {}).items():
        answer = await present(case, queryless, proof, query=query)
        where = {"operation": operation.path, "axis": f"query with {change_name}, {state}"}
        await _judge(case, "RAIL-WELD-10", answer, where, original_answer, beyond=beyond)


async def _judge(
    case: Case,
    row: str,
    answer: Answer,
    where: Mapping[str, str],
    original_answer: Answer | None,
    ambiguous_pair: tuple[Operation, Any] | None = None,
    *,
    beyond: str | None = None,
) -> None:
    served_receipts = extract_receipts(answer) if answer.status == 200 else frozenset()
    is_stored_answer = (
        bool(served_receipts) and original_answer is not None and served_receipts == extract_receipts(original_answer)
    )
    # The same receipts for both: the target reads the two requests as the same, and sold nothing a second time.
    if is_stored_answer and ambiguous_pair is not None:
        return
    beyond = _STORED_ANSWER if is_stored_answer else beyond
    if served_receipts and ambiguous_pair is not None and not await _receipts_differ(case, *ambiguous_pair):
        beyond = _SAME_BY_RECEIPTS
    case.expect(row, not served_receipts, "not served", answer.status, exchange=answer, where=where, beyond=beyond)


async def _receipts_differ(case: Case, operation: Operation, other_body: Any) -> bool:
    """Return whether the receipts of the two requests, each paid for, name different requests."""
    try:
        # Both requests are paid for honestly, so this costs two prices, and only happens after a suspicious answer.
        hashes = [
            _request_hash(await purchase(case, operation, case.lane, body=body))
            for body in (operation.body, other_body)
        ]
    except Inconclusive:
        return False
    return None not in hashes and hashes[0] != hashes[1]


def _request_hash(sale: Purchase) -> str | None:
    claims = (claims_of(token).get("request_hash") for token in sorted(extract_receipts(sale.answer)))
    return next((one for one in claims if isinstance(one, str)), None)
