"""GW-ERR: the error envelope."""

from __future__ import annotations

import json
import re
from dataclasses import replace

from conformance.engine.check import Case, check
from conformance.http.client import Answer
from conformance.oracles.strict_json import is_json_type
from conformance.outcome import Inconclusive
from conformance.surfaces.gateway.calls import envelope_fault
from conformance.surfaces.gateway.invalid_calls import OF_THE_FRONT, provoke_faults, provoke_size_refusals

_FIX = "Answer every error, also those of the framework, with {error: code, message: text} and a JSON Content-Type."
# Wider than the form in 3.2 (lower case, digits and underscores): the interface asks only for a token without spaces.
_CODE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:/-]{0,79}")
_REPEATS = 3


def get_text(answer: Answer, name: str) -> str | None:
    """Return a text member of an error body, or None if it is missing or no text."""
    value = answer.read_object().get(name)
    return value if isinstance(value, str) else None


def is_code(text: str) -> bool:
    """Return whether a text can be a code: one short token without spaces."""
    return _CODE.fullmatch(text) is not None


@check("GW-ERR-01", "GW-ERR-02", "GW-ERR-05", "X-JSON-01", surface="gateway", fix=_FIX)
async def errors_use_the_envelope(case: Case) -> None:
    """Each error body is a JSON object with a code in `error` and a sentence for people in `message`.

    Provokes 404, 405, 415, 400, 422, 401 and 403 on several endpoints. Expects a text `error` that is one token, and a
    text `message`, in the body of each. Expects a JSON Content-Type if the body is an object.

    Also sends large bodies, a long path and a long header field. Expects the same of a refusal as too large (413, 414,
    431), where a fault only warns.
    """
    # A server in front of the gateway often refuses large requests before the gateway sees them, so these only warn.
    large = [(*one, OF_THE_FRONT) for one in await provoke_size_refusals(case)]
    for fault_name, answer, beyond in [*((*one, None) for one in await provoke_faults(case)), *large]:
        where = {"fault": fault_name, "status": str(answer.status)}
        code, message = get_text(answer, "error"), get_text(answer, "message")
        finding = answer.body[:160].decode("utf-8", "replace")
        has_message = bool(message and message.strip())
        case.expect("GW-ERR-01", bool(code), "a text in error", finding, exchange=answer, where=where, beyond=beyond)
        case.expect("GW-ERR-02", has_message, "a text in message", finding, exchange=answer, where=where, beyond=beyond)
        if answer.read_object():
            media = answer.headers.get("Content-Type")
            has_json_type, requirement = is_json_type(media), "a JSON Content-Type"
            case.expect(
                "X-JSON-01", has_json_type, requirement, media or "none", exchange=answer, where=where, beyond=beyond
            )
        if code:
            case.expect("GW-ERR-05", is_code(code), "one token without spaces", code, exchange=answer, where=where)


@check("GW-ERR-03", surface="gateway", fix=_FIX)
async def errors_may_tell_more(case: Case) -> None:
    """Context members in addition to `error` and `message` are allowed.

    Takes every error body that the other faults provoke, and adds members of every type to those that the gateway
    itself adds. Expects that each is still an envelope. This holds the suite's own reader to the rule.
    """
    context_members = {
        "request_id": "x",
        "detail": [{"loc": ["body"]}],
        "retry_after": 1,
        "context": {},
        "nothing": None,
    }
    envelope_count = 0
    for fault_name, answer in await provoke_faults(case):
        if envelope_fault(answer) is not None:
            continue
        envelope_count += 1
        fuller_answer = replace(answer, body=json.dumps({**context_members, **answer.read_object()}).encode())
        fault = envelope_fault(fuller_answer)
        case.expect(
            "GW-ERR-03", fault is None, "still an envelope", fault, exchange=answer, where={"fault": fault_name}
        )
    if not envelope_count:
        raise Inconclusive("no error had the envelope, which GW-ERR-01 and -02 judge")


@check(
    "GW-ERR-04",
    surface="gateway",
    fix="Give each kind of fault one constant code. Put details of the call into message or context.",
)
async def a_fault_keeps_its_code(case: Case) -> None:
    """The same fault gives the same `error` code on repeat.

    Provokes every fault three times. Expects one code a fault.
    """
    # Whole rounds, so that other faults lie between two provocations of the same fault.
    rounds = [dict(await provoke_faults(case)) for _ in range(_REPEATS)]
    for fault_name in rounds[0]:
        answers = [one[fault_name] for one in rounds if fault_name in one]
        codes = {get_text(answer, "error") for answer in answers}
        finding = sorted(str(code) for code in codes)
        case.expect(
            "GW-ERR-04", len(codes) == 1, "one code", finding, exchange=answers[-1], where={"fault": fault_name}
        )
