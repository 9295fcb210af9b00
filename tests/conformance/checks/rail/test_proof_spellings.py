"""Judgement of rails that take a transaction id or a network in another spelling."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from dataclasses import replace

import pytest

from conformance.outcome import Verdict
from tests.conformance.checks.rail.scripted_rail import NETWORK, PROFILE, Call, Rail, Reply, run_check
from tests.conformance.checks.trial import find_broken_rows

CHECK, ROW = "proofs_in_other_spellings", "RAIL-PAY-17"
CLAIMING_PROFILE = PROFILE + 'specification = "1"\n'


class LaxRail(Rail):
    """A rail that changes the proof before it looks for the payment."""

    def __init__(self, read_id: Callable[[str], str], read_network: Callable[[str], str]) -> None:
        """Take what is made of the id and of the network."""
        super().__init__()
        self._read_id, self._read_network = read_id, read_network

    def _paid_call(self, call: Call) -> Reply:
        """Serve a proof whose id and network are right after the change."""
        if isinstance(call.proof, dict):
            if self._read_network(call.proof.get("network", NETWORK)) != NETWORK:
                return self.challenge(call)
            proof = {**call.proof, "tx_id": self._read_id(call.proof["tx_id"])}
            header = base64.b64encode(json.dumps(proof).encode()).decode()
            call = replace(call, lines=[("X-PAYMENT", header)])
        return super()._paid_call(call)


def keep(text: str) -> str:
    """Return the text as it is."""
    return text


async def test_a_rail_that_compares_exactly_passes() -> None:
    """It serves the honest proof with its network named."""
    assert await run_check(CHECK, LaxRail(keep, keep), profile=CLAIMING_PROFILE) == {ROW: Verdict.PASS}


@pytest.mark.parametrize(
    ("read_id", "read_network"),
    [(str.upper, keep), (str.strip, keep), (keep, lambda _: NETWORK), (keep, str.strip)],
    ids=["any case", "trimmed", "any network", "a trimmed network"],
)
async def test_a_rail_that_reads_generously_breaks_the_row(
    read_id: Callable[[str], str], read_network: Callable[[str], str]
) -> None:
    """Whichever of the two is changed."""
    assert find_broken_rows(await run_check(CHECK, LaxRail(read_id, read_network), profile=CLAIMING_PROFILE)) == {ROW}
