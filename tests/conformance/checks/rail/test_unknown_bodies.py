"""Rows whose calls need a body that the profile does not bind."""

from __future__ import annotations

import json
from typing import Any

import pytest

from conformance.outcome import Verdict
from tests.conformance.checks.rail.scripted_rail import BASE, PATHS, Call, Rail, Reply, run_check
from tests.conformance.checks.trial import find_broken_rows

PROFILE = f"""
[target]
defaults = "none"
service_word = "Weldproof"
[surfaces.rail]
url = "{BASE}"
[claims]
surfaces = ["rail"]
lanes = ["algorand"]
"""
BODIES = "".join(f'\n[rail.bodies.{role}]\ndocument = "x"\n' for role in PATHS.values())
UNPAID, PAID_CHECK = "unpaid_call_is_challenged", "welded_algorand_payment_is_served"
REFUSAL = Reply(422, {"errors": [{"pointer": "/document", "detail": "is missing"}]})


class Particular(Rail):
    """A rail that takes `{"document": TEXT}` alone, and refuses others before price, payment or work."""

    def __init__(self, looks: str) -> None:
        self.looks = looks
        super().__init__(self._particular)

    def _particular(self, call: Call, reply: Reply) -> Reply:
        if call.path == "/openapi.json":
            return Reply(200, _with_schema(reply.document))
        if call.path not in PATHS or "document" in json.loads(call.body or b"{}"):
            return reply
        is_time_to_refuse = {
            "first": True,
            "before the payment": call.proof is not None,
            "after it": reply.status == 200,
        }
        return REFUSAL if is_time_to_refuse[self.looks] else reply


class Strict(Rail):
    """A rail that takes two bodies, refuses each other one for itself, and sells what a payment was quoted for."""

    def __init__(self) -> None:
        super().__init__()
        self.quoted: dict[str, str] = {}

    def _paid_call(self, call: Call) -> Reply:
        known_bodies = (b'{"document":"x"}', b'{"document":"y"}')
        if call.body not in known_bodies:
            return REFUSAL
        reply = super()._paid_call(call)
        if reply.status == 402:
            self.quoted[reply.document["accepts"][0]["extra"]["payment_reference"]] = call.path
            return reply
        mine = self.quoted[call.proof["payment_reference"]] == call.path and call.body == known_bodies[0]
        return reply if mine and call.method == "POST" else self.challenge(call)


def _with_schema(document: Any, /, **members: Any) -> Any:
    schema = {"type": "object", **({"properties": members} if members else {})}
    item = {"content": {"application/json": {"schema": schema}}}
    paths = {path: {"post": {**one["post"], "requestBody": item}} for path, one in document["paths"].items()}
    return {**document, "paths": paths}


@pytest.mark.parametrize("looks", ["first", "before the payment"])
@pytest.mark.parametrize("check", [UNPAID, PAID_CHECK])
async def test_a_body_refused_before_payment_costs_nothing_and_decides_nothing(check: str, looks: str) -> None:
    """No payment is made for it, and no row that depends on it is judged."""
    rail = Particular(looks)
    verdicts = await run_check(check, rail, PROFILE)
    assert set(verdicts.values()) == {Verdict.INCONCLUSIVE}
    assert not rail.paid


async def test_a_body_refused_after_payment_decides_nothing() -> None:
    """The suite learns it by the first payments, and says no more of them."""
    rail = Particular("after it")
    assert set((await run_check(PAID_CHECK, rail, PROFILE)).values()) == {Verdict.INCONCLUSIVE}


@pytest.mark.parametrize("looks", ["first", "before the payment", "after it"])
@pytest.mark.parametrize("check", [UNPAID, PAID_CHECK])
async def test_bound_bodies_are_paid_for(check: str, looks: str) -> None:
    """With a body that the operation takes, everything passes."""
    verdicts = await run_check(check, Particular(looks), PROFILE + BODIES)
    assert set(verdicts.values()) == {Verdict.PASS}, verdicts


async def test_a_refused_body_that_is_bound_is_a_breach() -> None:
    """Who binds a body says that the operation takes it."""
    bound_request = BODIES.replace('document = "x"', 'other = "x"')
    assert "RAIL-PAY-01" in find_broken_rows(
        await run_check(PAID_CHECK, Particular("after it"), PROFILE + bound_request)
    )


@pytest.mark.parametrize("told", [False, True])
async def test_other_bodies_that_are_refused_for_themselves_show_nothing(told: bool) -> None:
    """That a payment buys no other request is seen by requests alone that could have been bought."""
    other_bodies = "".join(f'\n[rail.other_bodies.{role}]\ndocument = "y"\n' for role in PATHS.values()) if told else ""
    verdicts = await run_check("unspent_proof_buys_only_its_request", Strict(), PROFILE + BODIES + other_bodies)
    assert verdicts["RAIL-WELD-09"] is (Verdict.PASS if told else Verdict.INCONCLUSIVE)


class Forgetful(Rail):
    """A rail that describes its members, and binds a payment to the path and to `document` alone, or to the whole."""

    def __init__(self, *, whole: bool) -> None:
        self.whole = whole
        self.quoted: dict[str, tuple[str, ...]] = {}
        super().__init__(self._describe_body)

    def _describe_body(self, call: Call, reply: Reply) -> Reply:
        if call.path != "/openapi.json":
            return reply
        return Reply(200, _with_schema(reply.document, document={"type": "string"}, limit={"type": "integer"}))

    def _paid_call(self, call: Call) -> Reply:
        try:
            body = json.loads(call.body)
            known_bodies = body.keys() <= {"document", "limit"} and isinstance(body["document"], str)
        except (ValueError, LookupError, AttributeError):
            known_bodies = False
        if not known_bodies:
            return REFUSAL
        bound_request = (call.method, call.path, call.query, json.dumps(body if self.whole else body["document"]))
        reply = super()._paid_call(call)
        if reply.status == 402:
            self.quoted[reply.document["accepts"][0]["extra"]["payment_reference"]] = bound_request
            return reply
        return reply if self.quoted[call.proof["payment_reference"]] == bound_request else self.challenge(call)


@pytest.mark.parametrize("whole", [False, True])
async def test_a_payment_that_buys_an_optional_member_more_is_told(whole: bool) -> None:
    """A member that the known body does not have is part of the request, too."""
    verdicts = await run_check("unspent_proof_buys_only_its_request", Forgetful(whole=whole), PROFILE + BODIES)
    assert find_broken_rows(verdicts) == (set() if whole else {"RAIL-WELD-09"})
    assert verdicts["RAIL-WELD-09"] is (Verdict.PASS if whole else Verdict.FAIL)


class Terse(Forgetful):
    """A rail that binds a payment to the whole request, and takes neither a query nor a long text."""

    def __init__(self) -> None:
        super().__init__(whole=True)

    def _paid_call(self, call: Call) -> Reply:
        return REFUSAL if call.query or len(call.body) > 100 else super()._paid_call(call)


async def test_the_request_that_was_paid_for_is_not_another_request() -> None:
    """A full request can become one of the bodies that are tried as other ones; serving it is right."""
    verdicts = await run_check("unspent_proof_buys_only_its_request", Terse(), PROFILE + BODIES)
    assert find_broken_rows(verdicts) == set(), verdicts
