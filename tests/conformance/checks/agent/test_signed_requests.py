"""What sign may make of requests: their header fields, requests that are signed already, and how long a demo holds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from conformance.oracles.message_signatures.structured import BareItem
from conformance.surfaces.agent import SIGN
from tests.conformance.checks.agent.scripted_agent import (
    ADDED_FIELDS,
    FOREIGN,
    Agent,
    Call,
    Change,
    Foreign,
    Look,
    Reply,
    at,
    only_added,
    run_check,
)
from tests.conformance.checks.trial import find_broken_rows


class Lasting(Look):
    """Signs for so many seconds."""

    def __init__(self, seconds: int) -> None:
        self._seconds = seconds

    def parameters(self, public: bytes) -> dict[str, BareItem]:
        """Return what a demo is signed with, the end of its time among it."""
        parameters = super().parameters(public)
        return {**parameters, "expires": int(str(parameters["created"])) + self._seconds}


@pytest.mark.parametrize(
    ("seconds", "broken"), [(300, set()), (1, set()), (0, {"AGENT-SIGN-05"}), (-1, {"AGENT-SIGN-05"})]
)
async def test_a_demo_has_some_time_to_hold(seconds: int, broken: set[str]) -> None:
    """Any lifetime is allowed; a signature that has expired when it begins is useless."""
    assert find_broken_rows(await run_check("demo_requests_are_signed", Agent(look=Lasting(seconds)))) == broken


def _rename_members(document: Any) -> Any:
    return {**document, "headers": {name.lower(): value for name, value in document["headers"].items()}}


def _as_lists(document: Any) -> Any:
    headers = {name: [value] if isinstance(value, str) else value for name, value in document["headers"].items()}
    return {**document, "headers": {"X-Request-Id": "7", **headers}}


@pytest.mark.parametrize(
    "change",
    [
        at(SIGN, _rename_members),
        at(SIGN, _as_lists),
        at(SIGN, lambda document: {"added": only_added(document)["headers"], **document}),
    ],
    ids=["names in lower case", "a field more, each in a list", "what was added stands alone as well"],
)
async def test_fields_of_a_signed_request_may_stand_in_any_form(change: Change) -> None:
    """A signed request has the fields that it was given, however they are written and whatever stands beside them."""
    assert find_broken_rows(await run_check("demo_requests_are_signed", Agent(change))) == set()


async def test_what_signing_adds_is_enough_elsewhere() -> None:
    """Under names of its own an agent may show what signing adds alone."""

    class Adding(Foreign):
        def sign_request(self, request_members: Mapping[str, Any]) -> dict[str, Any]:
            document = super().sign_request(request_members)
            added_fields = [pair for pair in document["request"]["headers"] if pair[0] in ADDED_FIELDS]
            return {**document, "request": {"headers": added_fields}}

    assert find_broken_rows(await run_check("demo_requests_are_signed", Agent(look=Adding()), FOREIGN)) == set()


class Signing(Look):
    """An agent that deals with the signature fields that a request bears already in a way of its own."""

    def __init__(self, before: str) -> None:
        self.before = before

    def sign_request(self, request_members: Mapping[str, Any]) -> dict[str, Any]:
        """Sign, with what was there before `dropped`, or kept beside a new label, or kept `carelessly`."""
        headers = dict(request_members["headers"])
        old_fields = {name: headers.pop(name) for name in ADDED_FIELDS[:2] if name in headers}
        document = super().sign_request({**request_members, "headers": headers})
        if len(old_fields) == 1 and self.before == "kept":
            raise ValueError("half a signature")
        if old_fields and self.before != "dropped":
            own = {name: document["headers"][name] for name in ADDED_FIELDS[:2]}
            if self.before == "kept":
                own = {name: value.replace("sig=", "sig-2=", 1) for name, value in own.items()}
                document["label"] = "sig-2"
            document["headers"] |= {name: ", ".join(filter(None, (old_fields.get(name), own[name]))) for name in own}
        return document


@pytest.mark.parametrize("before", ["dropped", "kept"])
async def test_a_request_may_be_signed_again(before: str) -> None:
    """Who signs what was signed before, in place of the signature or beside it, returns what is valid."""
    assert find_broken_rows(await run_check("demo_requests_are_signed", Agent(look=Signing(before)))) == set()


@pytest.mark.parametrize("status", [400, 409])
async def test_a_request_that_is_signed_may_be_refused(status: int) -> None:
    """No status is asked of a refusal to sign what was signed before."""

    def refuse(call: Call, reply: Reply) -> Reply:
        is_hit = call.path == SIGN and b"Signature-Input" in call.body
        return Reply(status, {"detail": "signed already"}) if is_hit else reply

    assert find_broken_rows(await run_check("demo_requests_are_signed", Agent(refuse))) == set()


async def test_a_label_that_is_there_twice_breaks_the_row() -> None:
    """What sign returns for a request that bears signature fields already has to be valid, too."""
    verdict_by_row = await run_check("demo_requests_are_signed", Agent(look=Signing("carelessly")))
    assert find_broken_rows(verdict_by_row) == {"AGENT-SIGN-04"}
