"""What the check of settlement responses makes of rails that tell of each refused payment, and of others."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any

import pytest

from conformance.outcome import Verdict
from tests.conformance.checks.rail.scripted_rail import NETWORK, PROFILE, Call, Rail, Reply, judged
from tests.conformance.checks.trial import breached

CHECK, ROW = "refused_payment_is_told_of", "RAIL-402-22"
CLAIMED = PROFILE.replace('lanes = ["algorand"]', 'lanes = ["algorand"]\noptions = ["rail.payment_response"]')
TOLD: dict[str, Any] = {"success": False, "errorReason": "refused", "transaction": "", "network": NETWORK}


def encoded(told: Any) -> str:
    """Return the value of the header."""
    return base64.b64encode(json.dumps(told).encode()).decode()


def telling(value: Callable[[Call], str | None]) -> Rail:
    """Return a rail whose 402 to a presented payment carries a value."""

    def changed(call: Call, reply: Reply) -> Reply:
        presented = {"x-payment", "payment-signature"} & {name.lower() for name, _ in call.lines}
        told = value(call) if presented and reply.status == 402 else None
        return reply if told is None else Reply(402, reply.document, {**reply.headers, "PAYMENT-RESPONSE": told})

    return Rail(changed)


async def test_a_rail_that_tells_of_each_refusal_passes() -> None:
    """Further members are allowed."""
    verdicts = await judged(CHECK, telling(lambda _: encoded({**TOLD, "payer": "x"})), profile=CLAIMED)
    assert verdicts == {ROW: Verdict.PASS}


@pytest.mark.parametrize(
    "told",
    [
        {**TOLD, "network": ""},
        {**TOLD, "network": "eip155:1"},
        {**TOLD, "success": True},
        {**TOLD, "errorReason": ""},
        {name: TOLD[name] for name in ("success", "errorReason", "network")},
        [],
    ],
)
async def test_a_response_that_says_less_breaks_the_row(told: Any) -> None:
    """Each member is needed, and so is an object."""
    assert breached(await judged(CHECK, telling(lambda _: encoded(told)), profile=CLAIMED)) == {ROW}


@pytest.mark.parametrize(
    "value",
    [
        lambda _: None,
        lambda _: "%",
        lambda call: None if isinstance(call.proof, dict) and "x402Version" in call.proof else encoded(TOLD),
    ],
)
async def test_a_refusal_without_a_response_breaks_the_row(value: Callable[[Call], str | None]) -> None:
    """On any of them."""
    assert breached(await judged(CHECK, telling(value), profile=CLAIMED)) == {ROW}


BASE_NETWORK = "eip155:8453"


class TwoLanes(Rail):
    """A rail with two entries, whose refusals name a network by `network_of` the presented proof."""

    def __init__(self, network_of: Callable[[Any], str]) -> None:
        super().__init__(self._told)
        self._network_of = network_of

    def challenge(self, call: Call) -> Reply:
        """Return a 402 with an entry for each lane; a token begins with its lane."""
        reply = super().challenge(call)
        (entry,) = reply.document["accepts"]
        second = {**entry, "network": BASE_NETWORK, "extra": {**entry["extra"]}}
        for one in (entry, second):
            one["extra"]["payment_reference"] = f"{one['network']} {one['extra']['payment_reference']}"
        reply.document["accepts"] = [entry, second]
        return reply

    def _told(self, call: Call, reply: Reply) -> Reply:
        presented = {"x-payment", "payment-signature"} & {name.lower() for name, _ in call.lines}
        if not presented or reply.status != 402:
            return reply
        told = encoded({**TOLD, "network": self._network_of(call.proof)})
        return Reply(402, reply.document, {**reply.headers, "PAYMENT-RESPONSE": told})


def lane_of_proof(proof: Any) -> str:
    """Return the network of a proof's token or of its payload, the first one if it names none."""
    proof = proof if isinstance(proof, dict) else {}
    token = proof.get("payment_reference", proof.get("challenge_token", ""))
    named = token.partition(" ")[0] if " " in token else proof.get("accepted", {}).get("network")
    return named if named in {NETWORK, BASE_NETWORK} else NETWORK


def only_by_token(proof: Any) -> str:
    """Return the network of a proof's token, the first one for an ordinary payload."""
    return lane_of_proof({} if isinstance(proof, dict) and "accepted" in proof else proof)


def only_by_payload(proof: Any) -> str:
    """Return the network of an ordinary payload, the first one for a token."""
    return lane_of_proof(proof if isinstance(proof, dict) and "accepted" in proof else {})


async def test_the_network_is_that_of_the_payment() -> None:
    """The lane of the token counts, and for an ordinary payload the network that it accepted."""
    assert await judged(CHECK, TwoLanes(lane_of_proof), profile=CLAIMED) == {ROW: Verdict.PASS}


@pytest.mark.parametrize("network_of", [lambda _: NETWORK, only_by_token, only_by_payload])
async def test_the_network_of_another_lane_breaks_the_row(network_of: Callable[[Any], str]) -> None:
    """The first entry of accepts is not the lane of each payment."""
    assert breached(await judged(CHECK, TwoLanes(network_of), profile=CLAIMED)) == {ROW}
