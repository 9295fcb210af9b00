"""The walk over every route, on the agent of the reference and on answers that differ."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from conformance.checks.shared.conventions import list_malformed_bodies
from conformance.outcome import Verdict
from reference.agent.runtime import open_agent
from reference.agent.settings import AgentSettings
from reference.protocol.canonical_json import NotJson, parse
from tests.conformance.checks.changed_reference import Change, ChangedReference
from tests.conformance.checks.trial import run_one_check

BASE = "http://agent.test"
PROFILE = f"""
[target]
defaults = "reference"
[surfaces.agent]
url = "{BASE}"
[claims]
surfaces = ["agent"]
specification = "1"
[pace]
requests_per_second = 0.0
"""


async def judge(change: Change | None = None) -> Verdict:
    """Return the verdict of the walk over the agent of the reference."""
    async with open_agent(AgentSettings(agent_public_url=BASE, agent_rate=1_000_000)) as app:
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url=BASE, trust_env=False) as client:
            verdicts = await run_one_check("conventions_of_the_agent", ChangedReference(client, change), PROFILE)
    return verdicts["X-HTTP-01"]


async def test_the_agent_of_the_reference_passes() -> None:
    """Every route answers as 1.1 says."""
    assert await judge() is Verdict.PASS


def take_any_method(path: str, status: int, document: Any) -> tuple[int, Any]:
    """Answer 404 to a wrong method."""
    del path
    return (404 if status == 405 else status), document


def refuse_without_detail(path: str, status: int, document: Any) -> tuple[int, Any]:
    """Answer 422 without a detail."""
    del path
    return status, ({} if status == 422 else document)


def name_times_with_fractions(path: str, status: int, document: Any) -> tuple[int, Any]:
    """Add a time with a fraction of a second."""
    del path
    return status, {**document, "at": "2026-01-01T00:00:00.250Z"} if isinstance(document, dict) else document


@pytest.mark.parametrize("change", [take_any_method, refuse_without_detail, name_times_with_fractions])
async def test_an_answer_that_differs_fails(change: Change) -> None:
    """A wrong status, an empty refusal and a time of another form are each noticed."""
    assert await judge(change) is Verdict.FAIL


def test_no_malformed_body_is_json() -> None:
    """The reference, which reads strictly, refuses each, and reads the good body."""
    assert parse(b'{"a":1}') == {"a": 1}
    for name, body in list_malformed_bodies({"a": 1}).items():
        with pytest.raises(NotJson):
            parse(body)
        assert name
