"""Whether a refusal of the gateway has the status, the code and the members of its row in 3.2."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from conformance.engine.check import Case
from conformance.engine.concurrent_check_steps import run_concurrently
from conformance.http.client import Answer
from conformance.surfaces.gateway.calls import target_of
from conformance.vocabulary.profile_claims import SPECIFICATION

ROW: Final = "GW-ERR-06"
REPORT_CODE: Final = "receipt_verification_failed"
"""The code of a refusal that is also the report of a receipt verification (P-GR-02)."""
_LOCATIONS: Final = ("body", "query", "path", "header")

# Method, path, body and header fields of a request.
Request: TypeAlias = tuple[str, str, bytes | None, Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class Refusal:
    """One call and its expected refusal.

    Attributes:
        description: The fault, for the reader.
        call: Method, path, body and header fields.
        status: Expected status.
        code: Expected member `error`.
        members: Expected context members; a type stands for any value of it.
        headers: Expected header fields, in their exact spelling.
        detail: Members that the first item of `detail` must have; it is judged only if there are any.
    """

    description: str
    call: Request
    status: int
    code: str
    members: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    detail: Mapping[str, Any] = field(default_factory=dict)


async def send_call(case: Case, refusal: Refusal) -> Answer:
    """Send the call of a refusal, and return the answer."""
    method, path, body, headers = refusal.call
    return await target_of(case)(method, path, body=body, headers=headers)


async def judge_claimed_refusals(case: Case, row: str, refusals: Sequence[Refusal], place: str) -> None:
    """Send the calls at the same time, and judge a row of targets that claim the specification by each answer.

    Args:
        case: The case.
        row: The row.
        refusals: The calls and their refusals.
        place: Name of the description in the report.
    """
    answers = await run_concurrently(send_call(case, refusal) for refusal in refusals)
    for refusal, answer in zip(refusals, answers, strict=True):
        faults = find_faults(refusal, answer)
        expectation, where = f"{refusal.status} {refusal.code}", {place: refusal.description}
        case.expect(row, not faults, expectation, ", ".join(faults), exchange=answer, where=where)


def judge_refusal(case: Case, refusal: Refusal, answer: Answer) -> None:
    """Judge GW-ERR-06 by one refusal, if the target claims the specification."""
    if not case.profile.claims.includes(SPECIFICATION):
        case.mark_not_applicable(ROW, "the profile does not claim the specification")
        return
    faults = find_faults(refusal, answer)
    expectation = f"{refusal.status} {refusal.code}" + "".join(f", {name}" for name in refusal.members)
    where = {"fault": refusal.description}
    case.expect(ROW, not faults, expectation, ", ".join(faults), exchange=answer, where=where)


def find_faults(refusal: Refusal, answer: Answer) -> list[str]:
    """Return what is wrong with an answer that should be a refusal, in words; empty if nothing is."""
    body = answer.read_object()
    faults = [] if answer.status == refusal.status else [f"status {answer.status}"]
    faults += [] if body.get("error") == refusal.code else [f"error {body.get('error')!r}"]
    request_id = answer.headers.get("X-Request-Id")
    faults += [] if request_id and body.get("request_id") == request_id else ["request_id is not X-Request-Id"]
    faults += [name for name, expected in refusal.members.items() if not _fits(body.get(name), expected)]
    faults += [name for name, value in refusal.headers.items() if answer.headers.get(name) != value]
    if refusal.code == "validation_error":
        faults += _find_detail_faults(body.get("detail"))
    if refusal.detail:
        items = body.get("detail")
        first = items[0] if isinstance(items, list) and items and isinstance(items[0], dict) else {}
        faults += [f"detail.{name}" for name, value in refusal.detail.items() if first.get(name) != value]
    if refusal.code == REPORT_CODE:
        faults += [] if body.get("verified") is False else ["verified is not false"]
        is_repeated = isinstance(body.get("message"), str) and body.get("message") == body.get("error_message")
        faults += [] if is_repeated else ["message is not error_message"]
    return faults


def _fits(value: Any, expected: Any) -> bool:
    if isinstance(expected, type):
        return isinstance(value, expected)
    if isinstance(value, str) and isinstance(expected, str) and expected.startswith("0x"):
        # Hexadecimal ids of transactions mean the same in either case.
        return value.lower() == expected.lower()
    return bool(value == expected)


def _find_detail_faults(detail: Any) -> list[str]:
    """Return what `detail` of a 422 lacks: items with loc, msg and type, without what was sent (P-GW-02)."""
    if not isinstance(detail, list) or not detail:
        return ["no detail"]
    faults = []
    for item in detail:
        members = item if isinstance(item, dict) else {}
        location = members.get("loc")
        if not isinstance(location, list) or not location or location[0] not in _LOCATIONS:
            faults.append("detail.loc")
        faults += [f"detail.{name}" for name in ("msg", "type") if not isinstance(members.get(name), str)]
        faults += ["detail.input"] if "input" in members else []
    return faults
