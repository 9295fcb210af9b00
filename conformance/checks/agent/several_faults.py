"""AGENT-RESULT-01: messages with several faults at once, if the target claims the specification (6.3)."""

from __future__ import annotations

import itertools
import time
from collections.abc import Mapping
from typing import Any, Final

from conformance.assertions.agent.result_members import RESULT_ROW, judge_result_members
from conformance.engine.check import Case, check
from conformance.engine.concurrent_check_steps import run_concurrently
from conformance.http.client import Answer
from conformance.oracles.agent_results import find_lacking_clauses, find_misplaced_codes
from conformance.surfaces.agent import EXPLAIN, VERIFY, Agent, agent_of, signer
from conformance.surfaces.agent import subject as signed
from conformance.surfaces.agent.subjects import raw_public

_AT_ONCE: Final = 8
_DAY: Final = 86_400


@check(
    RESULT_ROW,
    surface="agent",
    fix="Collect every fault after the headers. Give each error its code at the same place, and its clause in links.",
)
async def several_faults_are_listed_together(case: Case) -> None:
    """Each of several faults of a message is listed with its code and its clause.

    Sends two messages with each of five faults alone, with each two of them, and with all. Expects each member of both
    answers as the suite computes it. Expects each sentence with the code that it has alone, and the links of a lone
    fault next to others as well.
    """
    agent = await agent_of(case)
    if not agent.has_specified_names:
        case.mark_not_applicable(RESULT_ROW, "the profile binds other names than those of 6.2")
        return
    documents: dict[str, list[Mapping[str, Any]]] = {VERIFY: [], EXPLAIN: []}
    for target in ("/orders/7?page=2", "/orders/8"):
        bodies = _list_bodies(case, agent, target)
        for path, answers in documents.items():
            received = await run_concurrently(
                (_send(case, agent, path, *one) for one in bodies.items()), at_once=_AT_ONCE
            )
            answers += [one.read_object() for one in received if one.status == 200]
    for path, answers in documents.items():
        misplaced = find_misplaced_codes(answers)
        requirement, where = "each code at the place of its error", {"operation": path}
        case.expect(RESULT_ROW, not misplaced, requirement, misplaced[:3] or "so", where=where)
    lacking = find_lacking_clauses(documents[EXPLAIN])
    case.expect(RESULT_ROW, not lacking, "the clause of each fault among the links", lacking[:5] or "so")


async def _send(case: Case, agent: Agent, path: str, name: str, body: Mapping[str, Any]) -> Answer:
    answer = await agent.call("POST", path, json_body=dict(body))
    judge_result_members(case, agent, body, answer, {"faults": name}, is_explanation=path == EXPLAIN)
    return answer


def _list_bodies(case: Case, agent: Agent, target: str) -> dict[str, dict[str, Any]]:
    """Return a message with each fault alone, with each two, and with all, by the names of the faults."""
    subject = signed(case, target=target)
    members = agent.verify_body(subject)
    now = int(time.time()) + _DAY
    case.client.names.name(str(now), "NOW")
    faults: dict[str, dict[str, Any]] = {
        "too old": {"now": now, "max_age_seconds": 60},
        "another tag": {"expected_tag": "another"},
        "an uncovered component": {"required_components": ["date"]},
        "another content": {"body_b64": "e30="},
        "another key": {"public_key_hex": raw_public(signer(case)).hex()},
    }
    chosen = [*((one,) for one in faults), *itertools.combinations(faults, 2), tuple(faults)]
    return {
        ", ".join(names): {**members, **{name: value for one in names for name, value in faults[one].items()}}
        for names in chosen
    }
