"""Simulating a group: what would become of it, without a signature if the caller allows that."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgpack

from sim.algorand.chain import Chain
from sim.algorand.encoding import Malformed, canonical
from sim.algorand.evaluator import Applied
from sim.algorand.http_replies import Refused
from sim.algorand.state import State
from sim.algorand.stateless_checks import MAX_GROUP, Invalid, Rejected, Signed, Unverified
from sim.algorand.views import pending_json

_VERSION = 2
_NOT_READ = "failed to decode object: json decode error [pos 1]: only encoded map or array can be decoded into a struct"


def simulate(chain: Chain, body: bytes) -> dict[str, Any]:
    """Return the node's answer about one group; the body is msgpack, as SDKs send it.

    Raises:
        Refused: The body is not read, or the group as a whole is not valid.
    """
    request = _read(body)
    may_be_unsigned = request.get("allow-empty-signatures") is True
    try:
        group = [Signed.of(canonical(raw)) for raw in _only_group(request)]
        answer = _of_group(chain, group, may_be_unsigned=may_be_unsigned)
    except (Malformed, Unverified) as fault:
        raise Refused(400, str(fault)) from fault
    overrides = {"eval-overrides": {"allow-empty-signatures": True}} if may_be_unsigned else {}
    return {"last-round": chain.round, "txn-groups": [answer], "version": _VERSION, **overrides}


def _read(body: bytes) -> Mapping[str, Any]:
    try:
        request = msgpack.unpackb(body, raw=False, strict_map_key=True)
    except Exception as fault:  # the library raises many kinds: bad bytes, odd keys, depth
        raise Refused(400, _NOT_READ) from fault
    if not isinstance(request, dict):
        raise Refused(400, _NOT_READ)
    return request


def _only_group(request: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the signed transactions of the one group of a request."""
    groups = request.get("txn-groups", [])
    lists = [group.get("txns") for group in groups if isinstance(group, dict)] if isinstance(groups, list) else []
    for maps in lists:
        if not isinstance(maps, list) or not maps or not all(isinstance(one, dict) for one in maps):
            raise Refused(400, "empty txgroup")
        if len(maps) > MAX_GROUP:
            raise Refused(400, f"transaction group size {len(maps)} exceeds protocol max {MAX_GROUP}")
    if len(lists) != 1:
        raise Refused(400, f"expected 1 transaction group, got {len(lists)}")
    return list(lists[0] or ())


def _of_group(chain: Chain, group: list[Signed], *, may_be_unsigned: bool) -> dict[str, Any]:
    evaluator, trial = chain.evaluator, State(chain.state)
    effects: dict[int, Applied] = {}
    failure: dict[str, Any] = {}
    try:
        evaluator.check_group(group, may_be_unsigned=may_be_unsigned)
        for place, transaction in enumerate(group):
            effects[place] = evaluator.apply_one(trial, transaction, chain.round + 1)
        evaluator.check_fees(group)
    except Unverified:
        raise
    except Rejected as reason:
        place = min(len(effects), len(group) - 1)  # fees are judged with the last of a group
        failure = {
            "failed-at": [place],
            "failure-message": reason.message if isinstance(reason, Invalid) else str(reason),
        }
    results = [_result(transaction, effects.get(place)) for place, transaction in enumerate(group)]
    total_fee = sum(transaction.integer("fee") for transaction in group)
    fees = {"group-fees-paid": total_fee} if total_fee else {}
    return {**failure, **fees, "group-usage": evaluator.usage(group), "txn-results": results}


def _result(transaction: Signed, effect: Applied | None) -> dict[str, Any]:
    fee = transaction.integer("fee")
    record = {**pending_json(transaction), **(effect.details if effect else {})}
    return {**({"fees-paid": fee} if fee else {}), "txn-result": record}
