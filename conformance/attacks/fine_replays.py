"""A proof presented on requests that differ in little from the one that it was quoted for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from conformance.attacks.engine import receipts
from conformance.attacks.fine_changes import equivalent_queries, fine_changes, fine_queries
from conformance.discovery.rail import Operation
from conformance.engine.check import Case
from conformance.http.client import Answer
from conformance.outcome import Inconclusive
from conformance.surfaces.rail.purchase import Purchase, present, purchase
from conformance.surfaces.rail.receipts import claims_of

_ONE = "the target's own receipts do not distinguish the two requests, so it may read both as the same"
_EQUIVALENT = "the two queries are equivalent by RFC 3986, so the target may bind one normal form of them"
_STORED = "nothing is bought again, but any client that sees the payment gets its payer's answer"


async def present_fine_changes(
    case: Case, asked: Operation, proof: Mapping[str, Any], known: Any, bought: Answer | None = None
) -> None:
    """Judge that a proof buys none of the requests that differ in little from its own.

    If a target may read the two requests as the same, it is a breach only if its own receipts distinguish them.

    Args:
        case: The check's case, of the rows RAIL-WELD-09 and -10.
        asked: The request that was quoted, with its query in its address.
        proof: The proof that pays it.
        known: The operation's usual body.
        bought: The answer to its own request, if it was redeemed already.
    """
    state = "unspent" if bought is None else "spent"
    for change in fine_changes(asked.body, known):
        answer = await present(case, replace(asked, body=change.body), proof)
        where = {"operation": asked.path, "axis": f"{change.name}, {state}"}
        await _judge(case, "RAIL-WELD-09", answer, where, bought, None if change.sure else (asked, change.body))
    bare = replace(asked, url=asked.url.partition("?")[0])
    for what, query in (fine_queries(asked.query) if asked.query else {}).items():
        answer = await present(case, bare, proof, query=query)
        where = {"operation": asked.path, "axis": f"query with {what}, {state}"}
        await _judge(case, "RAIL-WELD-10", answer, where, bought)
    # The specification's recipe is over the raw query (P-RH-01); the interface alone leaves a normal form open.
    beyond = None if case.profile.is_reference else _EQUIVALENT
    for what, query in (equivalent_queries(asked.query) if asked.query else {}).items():
        answer = await present(case, bare, proof, query=query)
        where = {"operation": asked.path, "axis": f"query with {what}, {state}"}
        await _judge(case, "RAIL-WELD-10", answer, where, bought, beyond=beyond)


async def _judge(
    case: Case,
    row: str,
    answer: Answer,
    where: Mapping[str, str],
    bought: Answer | None,
    either: tuple[Operation, Any] | None = None,
    *,
    beyond: str | None = None,
) -> None:
    served = receipts(answer) if answer.status == 200 else frozenset()
    stored = bool(served) and bought is not None and served == receipts(bought)
    # The same receipts for both: the target reads the two requests as the same, and sold nothing a second time.
    if stored and either is not None:
        return
    beyond = _STORED if stored else beyond
    if served and either is not None and not await _receipts_differ(case, *either):
        beyond = _ONE
    case.expect(row, not served, "not served", answer.status, exchange=answer, where=where, beyond=beyond)


async def _receipts_differ(case: Case, asked: Operation, other: Any) -> bool:
    """Return whether the receipts of the two requests, each paid for, name different requests."""
    try:
        hashes = [_request_hash(await purchase(case, asked, case.lane, body=body)) for body in (asked.body, other)]
    except Inconclusive:
        return False
    return None not in hashes and hashes[0] != hashes[1]


def _request_hash(bought: Purchase) -> str | None:
    claims = (claims_of(token).get("request_hash") for token in sorted(receipts(bought.answer)))
    return next((one for one in claims if isinstance(one, str)), None)
