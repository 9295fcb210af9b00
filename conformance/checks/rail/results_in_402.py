"""RAIL-402-17: a 402 contains nothing of the result that the same request gets when it is paid."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from conformance.discovery.rail import Operation, screen_other_addresses, variations
from conformance.discovery.body_probe import probe_body
from conformance.engine.check import Case, check
from conformance.engine.concurrency import run_concurrently
from conformance.http.client import Answer
from conformance.outcome import Inconclusive
from conformance.surfaces.rail.challenges import TERMS, objects
from conformance.surfaces.rail.paid_answers import result_of
from conformance.surfaces.rail.purchase import purchase

_ROW: Final = "RAIL-402-17"
_EXPECTED = "nothing of the service's result"
# Objects of one answer, by place.
_Additions = Mapping[str, Mapping[str, Any]]


@check(
    _ROW,
    surface="rail",
    fix="Run a service only after its payment is confirmed. Never put a part of its result into a 402.",
)
async def no_402_holds_what_its_request_is_paid_for(case: Case) -> None:
    """The 402 of a request contains nothing of the result that the same request gets when it is paid for.

    Sends each known request of each paid operation without payment, one of them twice. Looks in the 402s for members
    that are the same for the same request, differ for another request, and are in neither request. If there are any,
    buys both requests on one lane. Expects no object with all members of the result and one of these members with the
    result's value. This holds also where x402 has examples, since an example is the same for every client.
    """
    await run_concurrently(_early(case, operation) for operation in case.session.catalog.operations)


async def _early(case: Case, operation: Operation) -> None:
    guessed = (*screen_other_addresses(operation), *variations(operation.body)) if operation.is_guess else ()
    others = [one for one in guessed or operation.other_bodies if one != operation.body]
    bodies = [operation.body, operation.body, *others]
    first, again, *rest = [await case.client.call("POST", operation.url, json_body=body) for body in bodies]
    held: list[str] = []
    for body, other in zip(others, rest, strict=True):
        followed = _followed(
            _additions(first), _additions(again), _additions(other), json.dumps([operation.body, body])
        )
        if not followed or (guessed and await probe_body(case.client, replace(operation, body=body)) is not None):
            continue
        try:
            mine, theirs = [await _result(case, operation, one) for one in (operation.body, body)]
        except Inconclusive as reason:
            if guessed:
                continue
            case.mark_not_applicable(_ROW, f"no result could be bought to compare with a 402: {reason}")
            return
        held = [
            place
            for place, names in followed.items()
            if _holds(_additions(first)[place], mine, names) and _holds(_additions(other)[place], theirs, names)
        ]
        break
    found = held or "nothing"
    case.expect(_ROW, not held, _EXPECTED, found, exchange=first, where={"operation": operation.path})


def _additions(answer: Answer) -> _Additions:
    """Return the objects of a 402 other than its payment terms, by place."""
    body = {name: member for name, member in answer.object().items() if name not in TERMS}
    return dict(objects(body, "body")) if answer.status == 402 else {}


def _followed(first: _Additions, again: _Additions, other: _Additions, requests: str) -> dict[str, set[str]]:
    """Return by place the members that depend on the request and are not copied from it."""
    # A time or a token differs between two equal requests, and an echo is in the request itself. What remains was
    # computed from the request, so the service may have run before the payment.
    found: dict[str, set[str]] = {}
    for place in first.keys() & again.keys() & other.keys():
        mine, repeated, theirs = first[place], again[place], other[place]
        names = {name for name in mine.keys() & theirs.keys() if mine[name] == repeated.get(name) != theirs[name]}
        own = {name for name in names if not any(_text(one[name]) in requests for one in (mine, theirs))}
        if own:
            found[place] = own
    return found


def _text(value: Any) -> str:
    return json.dumps(value).strip('"')


async def _result(case: Case, operation: Operation, body: Any) -> Any:
    """Return the result of a paid request.

    Raises:
        Inconclusive: It was not served, or the profile claims no lane.
    """
    lanes = case.profile.claims.lanes
    if not lanes:
        raise Inconclusive("no lane is claimed")
    sold = operation if body == operation.body else replace(operation, is_accepted=True)
    return result_of(case, (await purchase(case, sold, lanes[0], body=body)).answer)


def _holds(additions: Mapping[str, Any], result: Any, names: set[str]) -> bool:
    """Return whether an object has every member of a result, and one of the named members with the result's value."""
    if not isinstance(result, Mapping) or not result.keys() <= additions.keys():
        return False
    return any(name in result and result[name] == additions[name] for name in names)
