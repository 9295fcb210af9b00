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
    first, again = (whole(creation.path, one, creation.body) for one in (original, answer))
    apart = differences(first, again)
    holds = is_created(case, answer) and not apart
    found = f"{answer.status}, differing in {', '.join(apart) or 'nothing'}"
    case.expect(row, holds, f"the original: {', '.join(first)}", found, exchange=answer, where=where, beyond=beyond)


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
    first, again = (identity(creation.path, one, creation.body) for one in (original, answer))
    bound = case.profile.gateway_bindings.idempotency_conflict
    refused = is_refused(answer) if bound is None else answer.status in bound
    same = is_created(case, answer) and not differences(first, again)
    found = brief(answer)
    case.expect(row, refused or same, "a refusal or the original", found, exchange=answer, where=where)
    return refused


_LINK = ("token", "checkout_url")


_LINK_TERMS = ("amount_microunits", "expires_at", "chain")


# Names that end like an identifier: `id`, `resource_id`, `resourceId`, `checkout_url`.
_NAME_OF_ID = re.compile(r"(^|[._])(id|uuid|token|key|ref|reference|url|uri|slug)$|Id$")


_DEPTH = 4


def whole(path: str, answer: Answer, sent: Mapping[str, Any]) -> dict[str, Any]:
    """Return the members that a repeated creation must return again: its identity, and a link's terms."""
    members = answer.read_object()
    terms = {name: members.get(name) for name in _LINK_TERMS} if path == LINKS else {}
    return {**identity(path, answer, sent), **terms}


def identity(path: str, answer: Answer, sent: Mapping[str, Any]) -> dict[str, Any]:
    """Return the members of a creation's answer that identify what was created.

    A link is identified by its token and address. A resource has no fixed members. So those count that have the name or
    form of an identifier and are not from the request. Without any, all members count that are not from the
    request. The answer's own request id never counts.
    """
    members = dict(_leaves("", answer.read_object(), 0))
    if path == LINKS:
        return {name: members.get(name) for name in _LINK}
    brought = {repr(value) for _, value in _leaves("", sent, 0)}
    own = answer.headers.get(REQUEST_ID)
    new = {name: value for name, value in members.items() if repr(value) not in brought and value != own}
    new = {name: value for name, value in new.items() if "request_id" not in name.lower()}
    named = {name: value for name, value in new.items() if _is_identifier(name, value)}
    return named or new


def _is_identifier(name: str, value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, str | int) or value == "":
        return False
    return _NAME_OF_ID.search(name) is not None and not name.endswith("asset_id")


def _leaves(prefix: str, value: Any, depth: int) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping) and depth < _DEPTH:
        for name, member in value.items():
            yield from _leaves(f"{prefix}.{name}" if prefix else str(name), member, depth + 1)
    else:
        yield prefix, value


def differences(first: Mapping[str, Any], second: Mapping[str, Any]) -> list[str]:
    """Return the names of the members in which two identities differ."""
    return sorted(name for name in {*first, *second} if first.get(name) != second.get(name))
