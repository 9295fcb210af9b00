"""What is made of a rail's own paid verification of signed messages."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from conformance.outcome import Verdict
from tests.conformance.checks.rail.scripted_rail import PROFILE, Call, Rail, Reply, judged

CHECK = "sound_messages_are_verified"
FOREIGN = PROFILE.replace('"reference"', '"none"') + (
    '[rail]\nresult_at = "body:result"\n[rail.services]\nrfc9421-verify = "/pay/v1/verify/rfc9421"\n'
    "[rail.bodies.rfc9421-verify]\n"
)
FAMILY = 'method = "GET"\nauthority = "b"\npath = "/"\nheaders = {}\npublic_key_hex = ""\n'


def saying(valid: Callable[[Mapping[str, Any]], Any]) -> Rail:
    """Return a rail that says this of a message."""

    def answered(call: Call, reply: Reply) -> Reply:
        if reply.status == 200 and call.path.endswith("rfc9421"):
            reply.document["result"] = {"valid": valid(json.loads(call.body))}
        return reply

    return Rail(answered)


def honest(body: Mapping[str, Any]) -> bool:
    """Return what an honest rail says of the messages of this check."""
    return body["path"] != "/elsewhere" and bool(body.get("public_key_hex") or body.get("did_key"))


@pytest.mark.parametrize("profile", [PROFILE, FOREIGN + FAMILY])
async def test_an_honest_rail_passes(profile: str) -> None:
    """The same message twice, its key given in two ways."""
    assert await judged(CHECK, saying(honest), profile) == {"RAIL-SVC-02": Verdict.PASS}


@pytest.mark.parametrize(
    "valid",
    [
        lambda _: False,
        lambda _: None,
        lambda body: honest(body) and "public_key_hex" in body,
        lambda body: honest(body) and "did_key" in body,
    ],
)
async def test_another_verdict_is_told(valid: Callable[[Mapping[str, Any]], Any]) -> None:
    """It fails where the reference's names hold, and warns elsewhere."""
    assert await judged(CHECK, saying(valid)) == {"RAIL-SVC-02": Verdict.FAIL}
    assert await judged(CHECK, saying(valid), FOREIGN + FAMILY) == {"RAIL-SVC-02": Verdict.WARN}


async def test_a_service_with_names_of_its_own_is_not_judged() -> None:
    """Nobody knows how it is asked."""
    assert await judged(CHECK, saying(lambda _: False), FOREIGN + 'verb = "GET"\n') == {
        "RAIL-SVC-02": Verdict.NOT_APPLICABLE
    }
