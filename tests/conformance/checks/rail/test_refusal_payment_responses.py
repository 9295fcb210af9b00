"""What the check of settlement responses makes of rails that tell of each refused payment, and of others."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any

import pytest

from conformance.outcome import Verdict
from tests.conformance.checks.rail.scripted_rail import NETWORK, PROFILE, Call, Rail, Reply, run_check
from tests.conformance.checks.trial import find_broken_rows

CHECK, ROW = "refused_payment_is_told_of", "RAIL-402-22"
RESPONSE_PROFILE = PROFILE.replace('lanes = ["algorand"]', 'lanes = ["algorand"]\noptions = ["rail.payment_response"]')
HONEST_RESPONSE: dict[str, Any] = {"success": False, "errorReason": "refused", "transaction": "", "network": NETWORK}


def encode_response(response: Any) -> str:
    """Return the value of the header."""
    return base64.b64encode(json.dumps(response).encode()).decode()


def make_rail(value: Callable[[Call], str | None]) -> Rail:
    """Return a rail whose 402 to a presented payment carries a value."""

    def change_reply(call: Call, reply: Reply) -> Reply:
        payment_headers = {"x-payment", "payment-signature"} & {name.lower() for name, _ in call.lines}
        header = value(call) if payment_headers and reply.status == 402 else None
        return reply if header is None else Reply(402, reply.document, {**reply.headers, "PAYMENT-RESPONSE": header})

    return Rail(change_reply)


async def test_a_rail_that_tells_of_each_refusal_passes() -> None:
    """Further members are allowed."""
    verdicts = await run_check(
        CHECK, make_rail(lambda _: encode_response({**HONEST_RESPONSE, "payer": "x"})), profile=RESPONSE_PROFILE
    )
    assert verdicts == {ROW: Verdict.PASS}


@pytest.mark.parametrize(
    "response",
    [
        {**HONEST_RESPONSE, "network": ""},
        {**HONEST_RESPONSE, "network": "eip155:1"},
        {**HONEST_RESPONSE, "success": True},
        {**HONEST_RESPONSE, "errorReason": ""},
        {name: HONEST_RESPONSE[name] for name in ("success", "errorReason", "network")},
        [],
    ],
)
async def test_a_response_that_says_less_breaks_the_row(response: Any) -> None:
    """Each member is needed, and so is an object."""
    assert find_broken_rows(
        await run_check(CHECK, make_rail(lambda _: encode_response(response)), profile=RESPONSE_PROFILE)
    ) == {ROW}


@pytest.mark.parametrize(
    "value",
    [
        lambda _: None,
        lambda _: "%",
        lambda call: (
            None if isinstance(call.proof, dict) and "x402Version" in call.proof else encode_response(HONEST_RESPONSE)
        ),
    ],
)
async def test_a_refusal_without_a_response_breaks_the_row(value: Callable[[Call], str | None]) -> None:
    """On any of them."""
    assert find_broken_rows(await run_check(CHECK, make_rail(value), profile=RESPONSE_PROFILE)) == {ROW}


BASE_NETWORK = "eip155:8453"


class TwoLanes(Rail):
    """A rail with two entries, whose refusals name a network by `network_of` the presented proof."""

    def __init__(self, network_of: Callable[[Any], str]) -> None:
        super().__init__(self._add_response)
        self._network_of = network_of

    def challenge(self, call: Call) -> Reply:
        """Return a 402 with an entry for each lane; a token begins with its lane."""
        reply = super().challenge(call)
        (entry,) = reply.document["accepts"]
        second = {**entry, "network": BASE_NETWORK, "extra": {**entry["extra"]}}
        for accepts_entry in (entry, second):
            accepts_entry["extra"]["payment_reference"] = (
                f"{accepts_entry['network']} {accepts_entry['extra']['payment_reference']}"
            )
        reply.document["accepts"] = [entry, second]
        return reply

    def _add_response(self, call: Call, reply: Reply) -> Reply:
        payment_headers = {"x-payment", "payment-signature"} & {name.lower() for name, _ in call.lines}
        if not payment_headers or reply.status != 402:
            return reply
        encoded = encode_response({**HONEST_RESPONSE, "network": self._network_of(call.proof)})
        return Reply(402, reply.document, {**reply.headers, "PAYMENT-RESPONSE": encoded})


def lane_of_proof(proof: Any) -> str:
    """Return the network of a proof's token or of its payload, the first one if it names none."""
    proof = proof if isinstance(proof, dict) else {}
    token = proof.get("payment_reference", proof.get("challenge_token", ""))
    network = token.partition(" ")[0] if " " in token else proof.get("accepted", {}).get("network")
    return network if network in {NETWORK, BASE_NETWORK} else NETWORK


def only_by_token(proof: Any) -> str:
    """Return the network of a proof's token, the first one for an ordinary payload."""
    return lane_of_proof({} if isinstance(proof, dict) and "accepted" in proof else proof)


def only_by_payload(proof: Any) -> str:
    """Return the network of an ordinary payload, the first one for a token."""
    return lane_of_proof(proof if isinstance(proof, dict) and "accepted" in proof else {})


async def test_the_network_is_that_of_the_payment() -> None:
    """The lane of the token counts, and for an ordinary payload the network that it accepted."""
    assert await run_check(CHECK, TwoLanes(lane_of_proof), profile=RESPONSE_PROFILE) == {ROW: Verdict.PASS}


@pytest.mark.parametrize("network_of", [lambda _: NETWORK, only_by_token, only_by_payload])
async def test_the_network_of_another_lane_breaks_the_row(network_of: Callable[[Any], str]) -> None:
    """The first entry of accepts is not the lane of each payment."""
    assert find_broken_rows(await run_check(CHECK, TwoLanes(network_of), profile=RESPONSE_PROFILE)) == {ROW}
