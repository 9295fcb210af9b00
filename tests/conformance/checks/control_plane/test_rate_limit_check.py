"""What the check of a control plane's rate limit makes of the reference with the usual limit and with another one."""

from __future__ import annotations

import sys

import pytest

from conformance.http.transport import HttpTransport
from conformance.outcome import Verdict
from tests.conformance.checks.trial import run_one_check

ROW = "CP-RATE-01"
PROFILE = f"""
[target]
[claims]
surfaces = ["control_plane"]
specification = "1"
[pace]
requests_per_second = 0
[hub]
command = ["{sys.executable}", "-m", "reference.control_plane"]
environment = {{S2CP_PORT = "{{port}}", WP_MODE = "test", S2CP_RATE = "A-LIMIT"}}
"""


@pytest.mark.parametrize(("rate", "verdict"), [("120", Verdict.PASS), ("6000", Verdict.FAIL)])
async def test_only_the_usual_limit_passes(rate: str, verdict: Verdict) -> None:
    """A bucket of a hundred calls lets more guesses through than P-RL-07 allows."""
    async with HttpTransport(seconds=30, requests_per_second=0, connections=32) as transport:
        verdicts = await run_one_check("guesses_are_limited", transport, PROFILE.replace("A-LIMIT", rate))
    assert verdicts == {ROW: verdict}


async def test_nothing_is_started_without_the_claim() -> None:
    """The limit is this suite's default, so other control planes are not judged by it."""
    profile = PROFILE.replace('specification = "1"', "")
    async with HttpTransport(seconds=30, requests_per_second=0, connections=32) as transport:
        verdicts = await run_one_check("guesses_are_limited", transport, profile)
    assert verdicts == {ROW: Verdict.NOT_APPLICABLE}
