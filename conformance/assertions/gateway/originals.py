"""Whether two answers of a creating call are about the same link or resource."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from conformance.engine.check import Case
from conformance.http.client import Answer
from conformance.surfaces.gateway.calls import LINKS, REQUEST_ID, Creation, brief, is_created, is_refused


def judge_original(
    case: Case,
    row: str,
    creation: Creation,
    original: Answer,
    answer: Answer,
    where: Mapping[str, str] | None = None,
    *,
    beyond: str | None = None,
) -> None:
    """Judge that an answer is the original creation; `beyond` is a point that the interface leaves open."""
    first_members, repeated_members = (read_whole(creation.path, one, creation.body) for one in (original, answer))
    differing = find_differences(first_members, repeated_members)
    holds = is_created(case, answer) and not differing
    finding = f"{answer.status}, differing in {', '.join(differing) or 'nothing'}"
    case.expect(
        row, holds, f"the original: {', '.join(first_members)}", finding, exchange=answer, where=where, beyond=beyond
    )


def judge_nothing_second(
    case: Case, row: str, creation: Creation, original: Answer, answer: Answer, where: Mapping[str, str]
) -> bool:
    """Judge that another body under a creation's key created nothing, and return whether it was refused.

    Args:
        case: The check that judges.
        row: The row it judges.
        creation: The first call of the key.
        original: The answer to it.
        answer: The answer to the other body.
        where: The labels of this trial.
    """
    first_identity, second_identity = (read_identity(creation.path, one, creation.body) for one in (original, answer))
    conflict_statuses = case.profile.gateway_bindings.idempotency_conflict
    is_refusal = is_refused(answer) if conflict_statuses is None else answer.status in conflict_statuses
    is_original = is_created(case, answer) and not find_differences(first_identity, second_identity)
    finding = brief(answer)
    case.expect(row, is_refusal or is_original, "a refusal or the original", finding, exchange=answer, where=where)
    return is_refusal


_LINK_IDENTITY = ("token", "checkout_url")


# The terms of a link must not change in a repeat either: the payer has seen them.
_LINK_TERMS = ("amount_microunits", "expires_at", "chain")


# Names that end like an identifier: `id`, `resource_id`, `resourceId`, `checkout_url`.
_NAME_OF_ID = re.compile(r"(^|[._])(id|uuid|token|key|ref|reference|url|uri|slug)$|Id$")


# Deep enough for every record of the interface, and a bound for answers that nest without end.
_DEPTH = 4


def read_whole(path: str, answer: Answer, request_body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the members that a repeated creation must return again: its identity, and a link's terms."""
    members = answer.read_object()
    terms = {name: members.get(name) for name in _LINK_TERMS} if path == LINKS else {}
    return {**read_identity(path, answer, request_body), **terms}


def read_identity(path: str, answer: Answer, request_body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the members of a creation's answer that identify what was created.

    A link is identified by its token and address. A resource has no fixed members. So those count that have the name or
    form of an identifier and are not from the request. Without any, all members count that are not from the
    request. The answer's own request id never counts.
    """
    members = dict(_leaves("", answer.read_object(), 0))
    if path == LINKS:
        return {name: members.get(name) for name in _LINK_IDENTITY}
    # Values that the request sent identify nothing: a server echoes them for a new resource as well.
    sent_values = {repr(value) for _, value in _leaves("", request_body, 0)}
    own_id = answer.headers.get(REQUEST_ID)
    new_members = {name: value for name, value in members.items() if repr(value) not in sent_values and value != own_id}
    new_members = {name: value for name, value in new_members.items() if "request_id" not in name.lower()}
    identifiers = {name: value for name, value in new_members.items() if _is_identifier(name, value)}
    return identifiers or new_members


def _is_identifier(name: str, value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, str | int) or value == "":
        return False
    # `asset_id` identifies the currency, and is the same for every link of a network.
    return _NAME_OF_ID.search(name) is not None and not name.endswith("asset_id")


def _leaves(prefix: str, value: Any, depth: int) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping) and depth < _DEPTH:
        for name, member in value.items():
            yield from _leaves(f"{prefix}.{name}" if prefix else str(name), member, depth + 1)
    else:
        yield prefix, value


def find_differences(first: Mapping[str, Any], second: Mapping[str, Any]) -> list[str]:
    """Return the names of the members in which two identities differ."""
    return sorted(name for name in {*first, *second} if first.get(name) != second.get(name))
