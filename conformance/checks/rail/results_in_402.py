"""RAIL-402-17: a 402 contains nothing of the result that the same request gets when it is paid."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from conformance.discovery.body_probe import probe_body
from conformance.discovery.rail import Operation, screen_other_addresses, variations
from conformance.engine.check import Case, check
from conformance.engine.concurrent_check_steps import run_concurrently
from conformance.http.client import Answer
from conformance.outcome import Inconclusive
from conformance.surfaces.rail.paid_answers import result_of
from conformance.surfaces.rail.purchase import purchase
from conformance.surfaces.rail.unpaid_answers import TERMS, objects

_ROW: Final = "RAIL-402-17"
_EXPECTATION = "nothing of the service's result"
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
    await run_concurrently(_judge_operation(case, operation) for operation in case.session.catalog.operations)


async def _judge_operation(case: Case, operation: Operation) -> None:
    drawn_bodies = (*screen_other_addresses(operation), *variations(operation.body)) if operation.is_guess else ()
    other_bodies = [one for one in drawn_bodies or operation.other_bodies if one != operation.body]
    bodies = [operation.body, operation.body, *other_bodies]
    # The first request is sent twice, to tell members that depend on the request from members that change by
    # themselves.
    first, first_again, *other_answers = [
        await case.client.call("POST", operation.url, json_body=body) for body in bodies
    ]
    places: list[str] = []
    for body, other_answer in zip(other_bodies, other_answers, strict=True):
        dependent_members = _find_dependent_members(
            _list_additions(first),
            _list_additions(first_again),
            _list_additions(other_answer),
            json.dumps([operation.body, body]),
        )
        if not dependent_members or (
            drawn_bodies and await probe_body(case.client, replace(operation, body=body)) is not None
        ):
            continue
        try:
            first_result, other_result = [await _buy_result(case, operation, one) for one in (operation.body, body)]
        except Inconclusive as reason:
            if drawn_bodies:
                continue
            case.mark_not_applicable(_ROW, f"no result could be bought to compare with a 402: {reason}")
            return
        places = [
            place
            for place, names in dependent_members.items()
            if _contains_result(_list_additions(first)[place], first_result, names)
            and _contains_result(_list_additions(other_answer)[place], other_result, names)
        ]
        break
    finding = places or "nothing"
    case.expect(_ROW, not places, _EXPECTATION, finding, exchange=first, where={"operation": operation.path})


def _list_additions(answer: Answer) -> _Additions:
    """Return the objects of a 402 other than its payment terms, by place."""
    # The payment terms are in every 402 and differ by request for good reasons: tokens, resource, description.
    body = {name: member for name, member in answer.read_object().items() if name not in TERMS}
    return dict(objects(body, "body")) if answer.status == 402 else {}


def _find_dependent_members(
    first: _Additions, first_again: _Additions, other_objects: _Additions, requests: str
) -> dict[str, set[str]]:
    """Return by place the members that depend on the request and are not copied from it."""
    # A time or a token differs between two equal requests, and an echo is in the request itself. What remains was
    # computed from the request, so the service may have run before the payment.
    dependent_members: dict[str, set[str]] = {}
    for place in first.keys() & first_again.keys() & other_objects.keys():
        first_object, same_object, other_object = first[place], first_again[place], other_objects[place]
        names = {
            name
            for name in first_object.keys() & other_object.keys()
            if first_object[name] == same_object.get(name) != other_object[name]
        }
        own_names = {
            name for name in names if not any(_text(one[name]) in requests for one in (first_object, other_object))
        }
        if own_names:
            dependent_members[place] = own_names
    return dependent_members


def _text(value: Any) -> str:
    return json.dumps(value).strip('"')


async def _buy_result(case: Case, operation: Operation, body: Any) -> Any:
    """Return the result of a paid request.

    Raises:
        Inconclusive: It was not served, or the profile claims no lane.
    """
    lanes = case.profile.claims.lanes
    if not lanes:
        raise Inconclusive("no lane is claimed")
    operation_sure = operation if body == operation.body else replace(operation, is_accepted=True)
    return result_of(case, (await purchase(case, operation_sure, lanes[0], body=body)).answer)


def _contains_result(additions: Mapping[str, Any], result: Any, names: set[str]) -> bool:
    """Return whether an object has every member of a result, and one of the named members with the result's value."""
    # All members must be there: single names such as `status` also occur in harmless objects.
    if not isinstance(result, Mapping) or not result.keys() <= additions.keys():
        return False
    return any(name in result and result[name] == additions[name] for name in names)
