"""Judgement of paid message verification: honest services, and services that skip a step."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from conformance.oracles.message_signatures import judgement, keys, verify_request_members
from conformance.outcome import Verdict
from tests.conformance.checks.rail.scripted_rail import PROFILE, Call, Rail, Reply, run_check

CHECK = "sold_messages_are_verified"
FOREIGN = PROFILE.replace('"reference"', '"none"') + (
    '[rail]\nresult_at = "body:result"\n[rail.services]\nrfc9421-verify = "/pay/v1/verify/rfc9421"\n'
    "[rail.bodies.rfc9421-verify]\n"
)
FAMILY = 'method = "GET"\nauthority = "b"\npath = "/"\nheaders = {}\npublic_key_hex = ""\n'
_REQUEST_MEMBERS = {
    "method",
    "authority",
    "scheme",
    "path",
    "status",
    "headers",
    "body_b64",
    "public_key_hex",
    "did_key",
}


def make_rail(valid: Callable[[Mapping[str, Any]], Any]) -> Rail:
    """Return a rail that says this of a message."""

    def change_reply(call: Call, reply: Reply) -> Reply:
        if reply.status == 200 and call.path.endswith("rfc9421"):
            reply.document["result"] = {"valid": valid(json.loads(call.body))}
        return reply

    return Rail(change_reply)


def codes(body: Mapping[str, Any], *, skew: int = 60) -> set[str]:
    """Return what is wrong with a message, by the suite's own oracle."""
    known_members = {name: value for name, value in body.items() if name in _REQUEST_MEMBERS}
    message, key, policy = (
        verify_request_members.message_of(known_members),
        verify_request_members.key_of(known_members),
        replace(verify_request_members.policy_of(known_members), skew=skew),
    )
    return {fault.code for fault in judgement.judge(message, key, policy, now=int(time.time())).faults}


def honest(body: Mapping[str, Any]) -> bool:
    """Return what an honest rail says of a message."""
    return not codes(body)


def accept_faults(*codes_: str) -> Callable[[Mapping[str, Any]], bool]:
    """Return what a rail says that does not look at some faults."""
    return lambda body: codes(body) <= {*codes_}


def trusts_keyid(body: Mapping[str, Any]) -> bool:
    """Return what a rail says that takes the key from the message."""
    key_id = next(iter(body["headers"].get("Signature-Input", "").split('keyid="')[1:]), "").partition('"')[0]
    if not key_id.startswith("did:key:"):
        return honest(body)
    raw = keys.of_did_key(key_id).material
    assert isinstance(raw, bytes)
    return honest({**{name: value for name, value in body.items() if name != "did_key"}, "public_key_hex": raw.hex()})


@pytest.mark.parametrize("profile", [PROFILE, FOREIGN + FAMILY, FOREIGN + FAMILY + 'body_b64 = ""\n'])
async def test_an_honest_rail_passes(profile: str) -> None:
    """Sound messages are valid, by either spelling of the key, and no forged one is."""
    row_verdicts = await run_check(CHECK, make_rail(honest), profile)
    assert row_verdicts == {"RAIL-SVC-02": Verdict.PASS}


@pytest.mark.parametrize(
    "valid",
    [
        lambda _: True,
        trusts_keyid,
        accept_faults("content_digest_mismatch"),
        accept_faults("signature_mismatch"),
        accept_faults("alg_not_allowed"),
    ],
)
async def test_a_forged_message_that_is_valid_is_told(valid: Callable[[Mapping[str, Any]], Any]) -> None:
    """Whatever is left out, it fails, also elsewhere: where the content's member is known, that is looked at, too."""
    assert await run_check(CHECK, make_rail(valid)) == {"RAIL-SVC-02": Verdict.FAIL}
    assert await run_check(CHECK, make_rail(valid), FOREIGN + FAMILY + 'body_b64 = ""\n') == {
        "RAIL-SVC-02": Verdict.FAIL
    }


async def test_an_expired_message_that_is_valid_warns_elsewhere() -> None:
    """How far clocks may differ is left open; the reference says it."""
    late = accept_faults("expired")
    assert await run_check(CHECK, make_rail(late)) == {"RAIL-SVC-02": Verdict.FAIL}
    assert await run_check(CHECK, make_rail(late), FOREIGN + FAMILY) == {"RAIL-SVC-02": Verdict.WARN}


@pytest.mark.parametrize("skew", [0, 3600])
async def test_another_skew_warns_unless_the_specification_is_claimed(skew: int) -> None:
    """A paid verification without the skew of clocks, or with a wide one, breaks P-AG-05."""
    claimed_profile = PROFILE + 'specification = "1"\n'
    other = make_rail(lambda body: not codes(body, skew=skew))
    assert await run_check(CHECK, other, claimed_profile) == {"RAIL-SVC-02": Verdict.FAIL}
    assert await run_check(CHECK, other, FOREIGN + FAMILY) == {"RAIL-SVC-02": Verdict.WARN}


async def test_a_content_that_nobody_says_is_read_is_not_judged() -> None:
    """A service whose request names no content is not given one under a name that it may never have heard."""
    blind = accept_faults("content_digest_mismatch")
    assert await run_check(CHECK, make_rail(blind), FOREIGN + FAMILY) == {"RAIL-SVC-02": Verdict.PASS}


@pytest.mark.parametrize(
    "valid",
    [
        lambda _: False,
        lambda _: None,
        lambda body: honest(body) and "public_key_hex" in body,
        lambda body: honest(body) and "did_key" in body,
    ],
)
async def test_a_sound_message_that_is_not_valid_is_told(valid: Callable[[Mapping[str, Any]], Any]) -> None:
    """It fails where the reference's names hold, and warns elsewhere."""
    assert await run_check(CHECK, make_rail(valid)) == {"RAIL-SVC-02": Verdict.FAIL}
    assert await run_check(CHECK, make_rail(valid), FOREIGN + FAMILY) == {"RAIL-SVC-02": Verdict.WARN}


async def test_a_service_with_names_of_its_own_is_not_judged() -> None:
    """How it is asked is unknown."""
    assert await run_check(CHECK, make_rail(lambda _: False), FOREIGN + 'verb = "GET"\n') == {
        "RAIL-SVC-02": Verdict.NOT_APPLICABLE
    }
