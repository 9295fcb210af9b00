"""What the check of an agent's rate limit makes of the reference with the usual limit and with others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest

from conformance.outcome import Verdict
from conformance.surfaces.agent import VERIFY
from reference.agent.runtime import open_agent
from reference.agent.settings import AgentSettings
from tests.conformance.checks.agent.test_claimed_members import BASE, PROFILE
from tests.conformance.checks.changed_reference import Change, ChangedReference
from tests.conformance.checks.trial import run_one_check

ROW = "AGENT-RATE-01"
CHECK = "calls_of_an_agent_are_limited"


async def judge(folder: Path, rate: int, change: Change | None = None) -> Verdict:
    """Return the verdict on an agent with a limit of so many calls a minute."""
    offset_file = folder / "offset"
    offset_file.write_text("0", "ascii")
    profile = f'{PROFILE}\n[limited.agent]\nurl = "{BASE}"\noffset_file = "{offset_file}"\n'
    settings = AgentSettings(mode="test", agent_public_url=BASE, agent_rate=rate, clock_offset_file=offset_file)
    async with open_agent(settings) as app:
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url=BASE, trust_env=False) as client:
            return (await run_one_check(CHECK, ChangedReference(client, change), profile))[ROW]


@pytest.mark.parametrize(("rate", "verdict"), [(60, Verdict.PASS), (120, Verdict.FAIL), (6000, Verdict.FAIL)])
async def test_only_the_usual_limit_passes(tmp_path: Path, rate: int, verdict: Verdict) -> None:
    """Twice as many calls come back in ten seconds, or a hundred are served at once."""
    assert await judge(tmp_path, rate) is verdict


async def test_a_refusal_has_a_text(tmp_path: Path) -> None:
    """A 429 whose detail is an array is not that of 6.1."""

    def change(path: str, status: int, document: Any) -> tuple[int, Any]:
        return status, document if path == VERIFY else {"detail": []}

    assert await judge(tmp_path, 60, change) is Verdict.FAIL


async def test_without_a_separate_agent_it_is_documented() -> None:
    """No limit of the agent that other checks use is exhausted."""
    async with httpx.AsyncClient(base_url=BASE) as client:
        assert (await run_one_check(CHECK, ChangedReference(client, None), PROFILE))[ROW] is Verdict.DOCUMENTED
