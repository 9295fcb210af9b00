"""AGENT-RESULT-01: the members of results of verify and explain, where the target claims the specification (6.3)."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, Final

from conformance.engine.check import Case
from conformance.http.client import Answer
from conformance.oracles.agent_results import find_explanation_faults, find_result_faults
from conformance.oracles.message_signatures.judgement import judge
from conformance.oracles.message_signatures.verify_request_members import key_of, message_of, policy_of
from conformance.surfaces.agent import Agent

RESULT_ROW: Final = "AGENT-RESULT-01"
_OK: Final = 200


def judge_result_members(
    case: Case,
    agent: Agent,
    request: Mapping[str, Any],
    answer: Answer,
    where: Mapping[str, str],
    *,
    is_explanation: bool,
) -> None:
    """Judge each member of a result under AGENT-RESULT-01; nothing if the target binds other names.

    An answer whose validity or codes are wrong is left to the rows about these.

    Args:
        case: The case.
        agent: The agent.
        request: The body that was sent.
        answer: The answer.
        where: The message, for the report.
        is_explanation: Whether it is an answer of explain.
    """
    if not agent.has_specified_names or answer.status != _OK:
        return
    message, key = message_of(request), key_of(request)
    now = request.get("now")
    judgement = judge(message, key, policy_of(request), now=int(time.time()) if now is None else int(now))
    document = answer.read_object()
    codes = document.get("error_codes")
    if key is not None and (
        agent.validity(answer) is not judgement.is_valid
        or not isinstance(codes, list)
        or {str(one) for one in codes} != {str(one) for one in judgement.codes}
    ):
        return
    faults = find_result_faults(document, judgement)
    if is_explanation:
        faults += find_explanation_faults(document, message, judgement)
    case.expect(
        RESULT_ROW, not faults, "the members of 6.3", "; ".join(faults)[:1500] or "so", exchange=answer, where=where
    )
