"""The rows of an agent that claims the specification, judged on the reference and on answers that differ."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx
import pytest

from conformance.outcome import Verdict
from reference.agent.runtime import open_agent
from reference.agent.settings import AgentSettings
from tests.conformance.checks.changed_reference import Change, ChangedReference
from tests.conformance.checks.trial import find_broken_rows, run_one_check

BASE = "http://agent.test"
PROFILE = f"""
[target]
[surfaces.agent]
url = "{BASE}"
[claims]
surfaces = ["agent"]
specification = "1"
[pace]
requests_per_second = 0.0
"""
CHECKS = {
    "AGENT-BODY-01": "members_of_requests_are_taken_by_their_rules",
    "AGENT-DEMO-01": "members_of_demo_answers",
    "AGENT-DOC-01": "documents_and_errors_have_each_member",
    "AGENT-NOTE-01": "notes_name_what_was_tried",
    "AGENT-RESULT-01": "explanations_need_no_key",
    "AGENT-TASK-01": "skills_are_served_as_tasks",
}
SEVERAL_FAULTS = "several_faults_are_listed_together"


async def judge(check: str, change: Change | None = None, profile: str = PROFILE) -> dict[str, Verdict]:
    """Return the verdicts of a check of the reference."""
    async with open_agent(AgentSettings(rate_limits=False, agent_public_url=BASE)) as app:
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url=BASE, trust_env=False) as client:
            return await run_one_check(check, ChangedReference(client, change), profile)


def change_member(path: str, name: str, value: Any) -> Change:
    """Return the change that gives a member of the answers of one path another value."""

    def change(called_path: str, status: int, document: Any) -> tuple[int, Any]:
        has_member = called_path == path and isinstance(document, dict) and name in document
        return status, {**document, name: value} if has_member else document

    return change


def accept_malformed(path: str, status: int, document: Any) -> tuple[int, Any]:
    """Answer 200 to a request that verify refuses."""
    return (200, {"valid": False}) if (path, status) == ("/verify/rfc9421", 422) else (status, document)


@pytest.mark.parametrize(("row", "check"), CHECKS.items())
async def test_the_reference_keeps_each_row(row: str, check: str) -> None:
    """No row of the check is broken, and the row is judged."""
    verdicts = await judge(check)
    assert (find_broken_rows(verdicts), verdicts[row]) == (set(), Verdict.PASS)


@pytest.mark.parametrize(
    ("row", "change"),
    [
        ("AGENT-BODY-01", accept_malformed),
        ("AGENT-DEMO-01", change_member("/verify/rfc9421/sign", "ephemeral", None)),
        ("AGENT-DOC-01", change_member("/health", "service", "weldproof-rail")),
        ("AGENT-NOTE-01", change_member("/verify/rfc9421/explain", "fix_notes", ["sign the query without the path"])),
        ("AGENT-RESULT-01", change_member("/verify/rfc9421/explain", "verdict", "fail")),
        ("AGENT-TASK-01", change_member("/a2a", "result", {"kind": "message", "parts": []})),
    ],
)
async def test_an_answer_that_differs_breaks_its_row(row: str, change: Change) -> None:
    """The row of the member fails, because the target claims the specification."""
    verdicts = await judge(CHECKS[row], change)
    assert verdicts[row] is Verdict.FAIL


@pytest.mark.parametrize(
    "change_result",
    [
        lambda document: {"error_codes": document["error_codes"][::-1]},
        lambda document: {"links": dict(list(document["links"].items())[:3])} if "links" in document else {},
        lambda document: {"signing_base": document["signing_base"] + "\n"},
        lambda document: {"checked": {**document["checked"], "created": "skipped"}},
    ],
)
async def test_each_of_several_faults_is_judged(change_result: Callable[[Any], dict[str, Any]]) -> None:
    """Codes in another order, lost clauses, a base of two spellings and a check that was left out break the row."""

    def change(path: str, status: int, document: Any) -> tuple[int, Any]:
        del path
        is_result = isinstance(document, dict) and "error_codes" in document
        return status, {**document, **change_result(document)} if is_result else document

    assert find_broken_rows(await judge(SEVERAL_FAULTS)) == set()
    assert find_broken_rows(await judge(SEVERAL_FAULTS, change)) == {"AGENT-RESULT-01"}
