"""What sign may make of requests: their header fields, requests that are signed already, and how long a demo holds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from conformance.oracles.message_signatures.structured import BareItem
from conformance.surfaces.agent import SIGN
from tests.conformance.checks.agent.scripted_agent import (
    ADDED,
    FOREIGN,
    Agent,
    Call,
    Change,
    Foreign,
    Look,
    Reply,
    at,
    judged,
    only_added,
)
from tests.conformance.checks.trial import breached


class Lasting(Look):
    """Signs for so many seconds."""

    def __init__(self, seconds: int) -> None:
        self._seconds = seconds

    def parameters(self, public: bytes) -> dict[str, BareItem]:
        """Return what a demo is signed with, the end of its time among it."""
        told = super().parameters(public)
        return {**told, "expires": int(str(told["created"])) + self._seconds}


@pytest.mark.parametrize(
    ("seconds", "broken"), [(300, set()), (1, set()), (0, {"AGENT-SIGN-05"}), (-1, {"AGENT-SIGN-05"})]
)
async def test_a_demo_has_some_time_to_hold(seconds: int, broken: set[str]) -> None:
    """Any lifetime is allowed; a signature that has expired when it begins is useless."""
    assert breached(await judged("demo_requests_are_signed", Agent(look=Lasting(seconds)))) == broken


def _renamed(document: Any) -> Any:
    return {**document, "headers": {name.lower(): value for name, value in document["headers"].items()}}


def _as_lists(document: Any) -> Any:
    headers = {name: [value] if isinstance(value, str) else value for name, value in document["headers"].items()}
    return {**document, "headers": {"X-Request-Id": "7", **headers}}


@pytest.mark.parametrize(
    "change",
    [
        at(SIGN, _renamed),
        at(SIGN, _as_lists),
        at(SIGN, lambda document: {"added": only_added(document)["headers"], **document}),
    ],
    ids=["names in lower case", "a field more, each in a list", "what was added stands alone as well"],
)
async def test_fields_of_a_signed_request_may_stand_in_any_form(change: Change) -> None:
    """A signed request has the fields that it was given, however they are written and whatever stands beside them."""
    assert breached(await judged("demo_requests_are_signed", Agent(change))) == set()


async def test_what_signing_adds_is_enough_elsewhere() -> None:
    """Under names of its own an agent may show what signing adds alone."""

    class Adding(Foreign):
        def signed(self, given: Mapping[str, Any]) -> dict[str, Any]:
            found = super().signed(given)
            added = [pair for pair in found["request"]["headers"] if pair[0] in ADDED]
            return {**found, "request": {"headers": added}}

    assert breached(await judged("demo_requests_are_signed", Agent(look=Adding()), FOREIGN)) == set()


class Signing(Look):
    """An agent that deals with the signature fields that a request bears already in a way of its own."""

    def __init__(self, before: str) -> None:
        self.before = before

    def signed(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Sign, with what was there before `dropped`, or kept beside a new label, or kept `carelessly`."""
        headers = dict(given["headers"])
        there = {name: headers.pop(name) for name in ADDED[:2] if name in headers}
        found = super().signed({**given, "headers": headers})
        if len(there) == 1 and self.before == "kept":
            raise ValueError("half a signature")
        if there and self.before != "dropped":
            own = {name: found["headers"][name] for name in ADDED[:2]}
            if self.before == "kept":
                own = {name: value.replace("sig=", "sig-2=", 1) for name, value in own.items()}
                found["label"] = "sig-2"
            found["headers"] |= {name: ", ".join(filter(None, (there.get(name), own[name]))) for name in own}
        return found


@pytest.mark.parametrize("before", ["dropped", "kept"])
async def test_a_request_may_be_signed_again(before: str) -> None:
    """Who signs what was signed before, in place of the signature or beside it, returns what is valid."""
    assert breached(await judged("demo_requests_are_signed", Agent(look=Signing(before)))) == set()


@pytest.mark.parametrize("status", [400, 409])
async def test_a_request_that_is_signed_may_be_refused(status: int) -> None:
    """No status is asked of a refusal to sign what was signed before."""

    def refused(call: Call, reply: Reply) -> Reply:
        hit = call.path == SIGN and b"Signature-Input" in call.body
        return Reply(status, {"detail": "signed already"}) if hit else reply

    assert breached(await judged("demo_requests_are_signed", Agent(refused))) == set()


async def test_a_label_that_is_there_twice_breaks_the_row() -> None:
    """What sign returns for a request that bears signature fields already has to be valid, too."""
    found = await judged("demo_requests_are_signed", Agent(look=Signing("carelessly")))
    assert breached(found) == {"AGENT-SIGN-04"}
