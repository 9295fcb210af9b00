"""What the check of unspent payments makes of rails that bind a payment to less than the whole request."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs

import pytest

from conformance.oracles.hash_recipes import jcs_bytes
from conformance.outcome import Verdict
from tests.conformance.checks.rail.scripted_rail import PATHS, PROFILE, Call, Rail, Reply, run_check

UNSPENT = "unspent_proof_buys_only_its_request"
Bound = Callable[[Any, str], object]
REFUSAL = Reply(422, {"detail": [{"loc": ["body"], "msg": "is invalid"}]})


def whole(body: Any, query: str) -> object:
    """Bind everything."""
    return jcs_bytes(body), query


def first_kilobyte(body: Any, query: str) -> object:
    """Bind as much of the body as a short buffer holds."""
    return jcs_bytes(body)[:1024], query


def any_case(body: Any, query: str) -> object:
    """Bind the letters whatever their case."""
    return jcs_bytes(body).lower(), query


def outside(body: Any, query: str) -> object:
    """Bind of an object how many members it has."""
    return {name: len(one) if isinstance(one, dict) else one for name, one in body.items()}, query


def any_order(body: Any, query: str) -> object:
    """Bind the parts of a query whatever their order."""
    return jcs_bytes(body), parse_qs(query)


class Binding(Rail):
    """A rail that binds a payment to what a rule makes of the request; `read_as_one`: its receipts are bound so, too.

    `most` is the longest body that it takes, and `sold` the longest that it sells.
    """

    def __init__(self, bound: Bound, *, read_as_one: bool = False, most: int = 1 << 20, sold: int = 1 << 20) -> None:
        super().__init__()
        self.bound, self.read_as_one, self.most, self.sold = bound, read_as_one, most, sold
        self.quoted: dict[str, object] = {}
        self.served: list[Call] = []

    def _paid_call(self, call: Call) -> Reply:
        try:
            body = json.loads(call.body)
        except ValueError:
            return REFUSAL
        if not isinstance(body, dict) or not _is_known(body) or len(call.body) > self.most:
            return REFUSAL
        is_bound = (call.method, call.path, self.bound(body, call.query))
        proof = call.proof if isinstance(call.proof, dict) else {}
        is_paid = proof.get("tx_id") in self.paid
        if not is_paid or self.quoted.get(str(proof.get("payment_reference"))) != is_bound:
            reply = self.challenge(call)
            self.quoted[reply.document["accepts"][0]["extra"]["payment_reference"]] = is_bound
            return reply
        if len(call.body) > self.sold:
            return REFUSAL
        self.served.append(call)
        if self.read_as_one:
            call = Call(call.method, call.path, call.headers, call.body.lower(), call.lines, call.query)
        return super()._paid_call(call)


def _is_known(body: dict[str, Any]) -> bool:
    members = {"jws", "receipt_required", "recipient_address", "network"}
    return set(body) <= {*members, "method", "authority", "path", "headers", "public_key_hex"}


@pytest.mark.parametrize(
    ("bound", "row"),
    [
        (whole, None),
        (first_kilobyte, "RAIL-WELD-09"),
        (any_case, "RAIL-WELD-09"),
        (outside, "RAIL-WELD-09"),
        (any_order, "RAIL-WELD-10"),
    ],
)
async def test_a_payment_that_buys_a_request_that_differs_in_little(bound: Bound, row: str | None) -> None:
    """Only the rail that binds the whole request passes."""
    verdicts = await run_check(UNSPENT, Binding(bound), PROFILE)
    assert {one for one, verdict in verdicts.items() if verdict is Verdict.FAIL} == ({row} if row else set())
    if row is None:
        assert verdicts == dict.fromkeys(("RAIL-WELD-08", "RAIL-WELD-09", "RAIL-WELD-10"), Verdict.PASS)


def network_in_any_case(body: Any, query: str) -> object:
    """Bind a network whatever the case of its letters."""
    return jcs_bytes({name: one.lower() if name == "network" else one for name, one in body.items()}), query


@pytest.mark.parametrize(("read_as_one", "verdict"), [(True, Verdict.WARN), (False, Verdict.FAIL)])
async def test_two_requests_that_a_rail_reads_as_one_only_warn(read_as_one: bool, verdict: Verdict) -> None:
    """Whether letters of a network's name are distinguished is open; the rail's own receipts show how it reads them."""
    rail = Binding(network_in_any_case, read_as_one=read_as_one)
    assert (await run_check(UNSPENT, rail, PROFILE))["RAIL-WELD-09"] is verdict


@pytest.mark.parametrize("limits", [{"most": 600}, {"sold": 600}])
async def test_what_an_operation_refuses_for_itself_decides_nothing(limits: Any) -> None:
    """A long body that is refused, before the payment or after it, leaves the usual one to be judged by."""
    rail = Binding(whole, **limits)
    verdicts = await run_check(UNSPENT, rail, PROFILE)
    assert set(verdicts.values()) == {Verdict.PASS}
    assert {call.path for call in rail.served} == set(PATHS)
    assert max(len(call.body) for call in rail.served) <= 600


class Picky(Binding):
    """A rail that sells one operation, and refuses each body at the others once a payment is presented."""

    def _paid_call(self, call: Call) -> Reply:
        is_other = call.path != next(iter(PATHS))
        return REFUSAL if is_other and call.proof is not None else super()._paid_call(call)


@pytest.mark.parametrize("check", [UNSPENT, "captured_proof_buys_nothing_else"])
async def test_operations_that_refuse_every_body_show_no_weld(check: str) -> None:
    """A refused body hides whether the operation would have taken the payment, so the row is open."""
    verdicts = await run_check(check, Picky(whole), PROFILE)
    assert verdicts["RAIL-WELD-08"] is Verdict.INCONCLUSIVE
