"""The check of header sizes passes short 402s, and fails one whose fields together are too long."""

from __future__ import annotations

import pytest

from conformance.outcome import Verdict
from tests.conformance.checks.rail.scripted_rail import PROFILE, Call, Rail, Reply, run_check
from tests.conformance.checks.trial import find_broken_rows

CHECK, ROW = "fields_of_a_402_fit_stock_proxies", "RAIL-402-23"
SHORT_PROFILE = PROFILE.replace('lanes = ["algorand"]', 'lanes = ["algorand"]\noptions = ["rail.short_headers"]')


def make_rail(padding: int, *, has_proof: bool) -> Rail:
    """Return a rail whose 402 has a field of so many bytes more, to calls with a proof or to those without one."""

    def change_reply(call: Call, reply: Reply) -> Reply:
        is_presented = any(name.lower() == "x-payment" for name, _ in call.lines)
        if reply.status != 402 or is_presented is not has_proof:
            return reply
        return Reply(402, reply.document, {**reply.headers, "X-Padding": "x" * padding})

    return Rail(change_reply)


@pytest.mark.parametrize("has_proof", [False, True])
async def test_the_fields_together_decide(*, has_proof: bool) -> None:
    """A 402 with 3,000 bytes more passes; with 4,000 it fails, also if only a refused proof gets it."""
    assert await run_check(CHECK, make_rail(3_000, has_proof=has_proof), profile=SHORT_PROFILE) == {ROW: Verdict.PASS}
    assert find_broken_rows(await run_check(CHECK, make_rail(4_000, has_proof=has_proof), profile=SHORT_PROFILE)) == {
        ROW
    }
