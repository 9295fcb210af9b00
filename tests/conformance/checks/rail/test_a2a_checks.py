"""What the checks of the rail's A2A door make of doors that are honest, in either reading, and of wrong ones."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import Any

import pytest

from conformance.http.client import LateAnswer
from conformance.oracles.json_encodings import OTHER_ENCODINGS
from conformance.outcome import Verdict
from conformance.surfaces.rail.purchase import header_value
from tests.conformance.checks.rail.scripted_rail import BASE, PATHS, PROFILE, Call, Payer, Rail, Reply, run_check
from tests.conformance.checks.trial import find_broken_rows

CARD = "/.well-known/agent-card.json"
JSON = {"Content-Type": "application/json"}
A2A_PROFILE = PROFILE.replace('lanes = ["algorand"]', 'lanes = ["algorand"]\noptions = ["rail.a2a", "rail.agent_card"]')
UNBOUND = A2A_PROFILE.replace('"reference"', '"none"')
ORDERS, ENVELOPES, POINTS = "orders_ask_for_payment", "the_rail_speaks_json_rpc", "the_card_points_to_a2a"


def card() -> dict[str, Any]:
    """Return an honest card."""
    members: dict[str, Any] = {"capabilities": {}, "defaultInputModes": [], "defaultOutputModes": [], "skills": []}
    return {
        "name": "Rail",
        "description": "d",
        "protocolVersion": "0.3.0",
        "version": "1",
        **members,
        "url": BASE + "/a2a",
        "preferredTransport": "JSONRPC",
    }


class Door:
    """The A2A door of a scripted rail; `change` may put a fault into any answer to a call."""

    def __init__(self, change: Callable[[dict[str, Any], dict[str, Any]], Any] | None = None) -> None:
        self.tasks: dict[str, dict[str, Any]] = {}
        self.redeemed: set[str] = set()
        self.rail: Rail | None = None
        self._change = change or (lambda _, answer: answer)

    def __call__(self, call: Call, reply: Reply) -> Reply:
        """Answer what the rail itself does not know."""
        if call.path == CARD:
            return Reply(200, card(), JSON)
        if call.path != "/a2a":
            return reply
        try:
            request = json.loads(call.body)
        except ValueError:
            unread = {"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "no JSON"}}
            return Reply(200, self._change({"method": None}, unread), JSON)
        answer = {"jsonrpc": "2.0", "id": request["id"], **self._answer_method(request["method"], request["params"])}
        return Reply(200, self._change(request, answer), JSON)

    def _answer_method(self, method: str, params: Any) -> dict[str, Any]:
        if method == "tasks/get":
            task = self.tasks.get(params["id"])
            return {"error": {"code": -32001, "message": "unknown"}} if task is None else {"result": task}
        if method != "message/send":
            return {"error": {"code": -32601, "message": "no such method"}}
        if "message" not in params:
            return {"error": {"code": -32602, "message": "no message"}}
        return {"result": self.answer_message(params["message"])}

    def answer_message(self, message: dict[str, Any]) -> dict[str, Any]:
        """Return the task that a message leads to."""
        data = message["parts"][0].get("data", {})
        path = next((one for one, role in PATHS.items() if role == data.get("service_id")), next(iter(PATHS)))
        assert self.rail is not None
        challenge = self.rail.challenge(Call("POST", path, {}, b"{}", ())).document
        metadata = {"x402.payment.status": "payment-required", "x402.payment.required": challenge}
        task = {
            "kind": "task",
            "id": f"task-{len(self.tasks)}",
            "contextId": "c",
            "status": {"state": "input-required", "message": {"metadata": metadata}},
        }
        self.tasks[str(task["id"])] = task
        return task


def rail_with(door: Door) -> Rail:
    """Return a rail with this door."""
    rail = Rail(door)
    door.rail = rail
    return rail


class Literal(Door):
    """An endpoint that follows the interface literally: the state is `a2a-x402` itself."""

    def answer_message(self, message: dict[str, Any]) -> dict[str, Any]:
        """Return a task in that state, with the payment terms."""
        task = super().answer_message(message)
        terms = task["status"].pop("message")["metadata"]["x402.payment.required"]
        task["status"]["state"] = "a2a-x402"
        task["artifacts"] = [{"parts": [{"kind": "data", "data": terms}]}]
        return task


@pytest.mark.parametrize("door", [Door, Literal])
@pytest.mark.parametrize("profile", [A2A_PROFILE, UNBOUND])
async def test_both_readings_of_the_state_break_no_row(door: type[Door], profile: str) -> None:
    """A literal state, and input-required with metadata: every row passes, bound or not (C-18)."""
    for check in (ORDERS, ENVELOPES, POINTS):
        assert set((await run_check(check, rail_with(door()), profile)).values()) == {Verdict.PASS}


class Reusing(Door):
    """An endpoint that quotes every order of one service with the same tokens."""

    def answer_message(self, message: dict[str, Any]) -> dict[str, Any]:
        """Return a new task with the terms of the first."""
        task = super().answer_message(message)
        required = next(iter(self.tasks.values()))["status"]["message"]["metadata"]["x402.payment.required"]
        task["status"]["message"]["metadata"]["x402.payment.required"] = required
        return task


async def test_tokens_that_two_orders_share_break_their_row() -> None:
    """The row warns, and decides at a target that claims the specification."""
    claimed_profile = A2A_PROFILE + 'specification = "1"\n'
    assert (await run_check(ORDERS, rail_with(Reusing()), A2A_PROFILE))["RAIL-402-11"] == Verdict.WARN
    assert (await run_check(ORDERS, rail_with(Reusing()), claimed_profile))["RAIL-402-11"] == Verdict.FAIL


def of_method(name: str | None, change: Callable[[Any], Any]) -> Callable[[Any, Any], Any]:
    """Return what changes the answers to one method."""
    return lambda request, answer: change(answer) if request["method"] == name else answer


CARD_METHOD = "agent/getAuthenticatedExtendedCard"


def wordless(answer: Any) -> Any:
    """Return an error that has a code alone."""
    return {**answer, "error": {"code": answer["error"]["code"], "message": None}}


def state(value: str) -> Callable[[Any], Any]:
    """Return what answers with a task in another state."""

    def change_reply(answer: Any) -> Any:
        if "result" not in answer:
            return answer
        result = answer["result"]
        return {**answer, "result": {**result, "status": {**result["status"], "state": value}}}

    return change_reply


class Forgetful(Door):
    """An endpoint that stores one task alone, once a message names one: the consequences are all reported."""

    def answer_message(self, message: dict[str, Any]) -> dict[str, Any]:
        """Return a task, or what becomes of one."""
        if "taskId" in message:
            became = {**self.tasks[message["taskId"]], "status": {"state": "canceled"}}
            self.tasks = dict.fromkeys(self.tasks, became)
            return became
        return super().answer_message(message)


class OneConversation(Door):
    """An endpoint that ends every task of a client when one payment is rejected; all share one context."""

    def answer_message(self, message: dict[str, Any]) -> dict[str, Any]:
        """Return a task, ended with all others after a rejection."""
        if message.get("metadata", {}).get("x402.payment.status") != "payment-rejected":
            return super().answer_message(message)
        self.tasks = {name: {**task, "status": {"state": "canceled"}} for name, task in self.tasks.items()}
        return self.tasks[message["taskId"]]


@pytest.mark.parametrize(("door", "broken"), [(Forgetful, {"RAIL-A2A-04"}), (OneConversation, set())])
async def test_a_task_stays_as_it_was_while_another_goes_on(door: type[Door], broken: set[str]) -> None:
    """A message names its task; one context's tasks may end with it."""
    assert find_broken_rows(await run_check(ORDERS, rail_with(door()), A2A_PROFILE)) == broken


class Silent(Door):
    """An endpoint that delays messages to a task: those of some payment statuses, a few times or for ever."""

    def __init__(self, *statuses: str | None, times: int = 10**6) -> None:
        super().__init__()
        self.left = times
        self._statuses = statuses

    def answer_message(self, message: dict[str, Any]) -> dict[str, Any]:
        """Return a task, unless the message is one to wait with."""
        status = message.get("metadata", {}).get("x402.payment.status")
        if "taskId" in message and status in self._statuses and self.left:
            self.left -= 1
            raise LateAnswer("no answer within 12 s")
        return super().answer_message(message)


@pytest.mark.parametrize("status", [None, "payment-rejected"])
@pytest.mark.parametrize(("check", "row"), [(ORDERS, "RAIL-A2A-01"), (ENVELOPES, "RAIL-A2A-06")])
async def test_a_message_for_a_task_is_answered(check: str, row: str, status: str | None) -> None:
    """Silence breaks the row on our own target and warns elsewhere; who is late once breaks none."""

    class Apart(Silent):
        def answer_message(self, message: dict[str, Any]) -> dict[str, Any]:
            task = super().answer_message(message)
            task["contextId"] = task["id"]
            return task

    assert find_broken_rows(await run_check(check, rail_with(Apart(status)), A2A_PROFILE)) == {row}
    assert (await run_check(check, rail_with(Apart(status)), UNBOUND))[row] is Verdict.WARN
    assert set((await run_check(check, rail_with(Apart(status, times=1)), A2A_PROFILE)).values()) == {Verdict.PASS}


@pytest.mark.parametrize(
    ("reply", "verdict"),
    [
        (Reply(409, {"detail": "the task is over"}, JSON), Verdict.PASS),
        (Reply(200, b"data: {}\n\n", {"Content-Type": "text/event-stream"}), Verdict.PASS),
        (Reply(200, {"jsonrpc": "2.0", "id": "one", "error": {"code": -32602, "message": "over"}}, JSON), Verdict.PASS),
        (Reply(200, {"state": "failed"}, JSON), Verdict.FAIL),
    ],
)
async def test_a_message_for_a_task_may_be_refused_by_anybody(reply: Reply, verdict: Verdict) -> None:
    """What becomes of the task is open; JSON with 200 is an envelope."""
    door = Door()
    rail = Rail(lambda call, usual: reply if b"payment-rejected" in call.body else door(call, usual))
    door.rail = rail
    assert (await run_check(ENVELOPES, rail, UNBOUND))["RAIL-A2A-06"] is verdict


@pytest.mark.parametrize(
    "reply",
    [
        Reply(401, {"detail": "no credential"}, JSON),
        Reply(200, None, {"Content-Type": "text/html"}),
        Reply(200, {"jsonrpc": "2.0", "id": "one", "result": card()}, JSON),
    ],
)
async def test_a_method_that_nobody_must_serve_is_served_or_refused_by_anybody(reply: Reply) -> None:
    """Who asks for a credential, or shows an extended card, breaks no row."""
    door = Door()

    def change_reply(call: Call, usual: Reply) -> Reply:
        return reply if CARD_METHOD.encode() in call.body else door(call, usual)

    rail = Rail(change_reply)
    door.rail = rail
    assert find_broken_rows(await run_check(ENVELOPES, rail, A2A_PROFILE)) == set()


NO_ENTRIES: tuple[object, ...] = ([], None, 5, [None], [{}])


def offer_accepts(accepts: object) -> Callable[[Any], Any]:
    """Return what puts something else in place of the terms' entries."""

    def change_reply(answer: Any) -> Any:
        answer["result"]["status"]["message"]["metadata"]["x402.payment.required"]["accepts"] = accepts
        return answer

    return change_reply


@pytest.mark.parametrize(
    ("check", "row", "change"),
    [
        (ORDERS, "RAIL-A2A-01", of_method("message/send", lambda one: {**one, "result": "hello"})),
        (ORDERS, "RAIL-A2A-03", of_method("message/send", state("completed"))),
        (ORDERS, "RAIL-A2A-03", of_method("message/send", lambda one: {**one, "result": {**one["result"], "id": "1"}})),
        (ORDERS, "RAIL-A2A-04", of_method("tasks/get", state("working"))),
        *((ORDERS, "RAIL-A2A-05", of_method("message/send", offer_accepts(odd))) for odd in NO_ENTRIES),
        (
            ENVELOPES,
            "RAIL-A2A-02",
            of_method("tasks/get", lambda one: {**one, "error": {"code": -32601, "message": ""}}),
        ),
        (ENVELOPES, "RAIL-A2A-06", lambda _, one: {**one, "id": str(one["id"])}),
        (ENVELOPES, "RAIL-A2A-06", lambda _, one: {name: one[name] for name in one if name != "jsonrpc"}),
        (ENVELOPES, "RAIL-A2A-06", of_method(CARD_METHOD, wordless)),
        (ENVELOPES, "RAIL-A2A-07", of_method(None, lambda one: {**one, "error": {"code": -32601, "message": ""}})),
        (ENVELOPES, "RAIL-A2A-07", of_method("no/such/method", lambda one: {**_head(one), "result": {}})),
        (
            ENVELOPES,
            "RAIL-A2A-08",
            of_method("tasks/get", lambda one: {**_head(one), "result": {}}),
        ),
    ],
)
async def test_a_wrong_door_breaks_the_row(check: str, row: str, change: Callable[[Any, Any], Any]) -> None:
    """Each fault breaks its row."""
    assert row in find_broken_rows(await run_check(check, rail_with(Door(change)), A2A_PROFILE))


@pytest.mark.parametrize(
    ("row", "change"),
    [
        ("RAIL-DISC-01", lambda one: {name: one[name] for name in one if name != "name"}),
        ("RAIL-DISC-02", lambda one: {**one, "preferredTransport": "GRPC"}),
        ("RAIL-DISC-03", lambda one: {**one, "url": BASE + "/rpc"}),
        ("RAIL-DISC-03", lambda one: {**one, "additionalInterfaces": [{"url": BASE + "/x", "transport": "JSONRPC"}]}),
    ],
)
async def test_a_wrong_card_breaks_the_row(row: str, change: Callable[[Any], Any]) -> None:
    """Name, transport and address each have a row."""
    door = Door()

    def change_reply(call: Call, reply: Reply) -> Reply:
        door_reply = door(call, reply)
        return Reply(200, change(door_reply.document), JSON) if call.path == CARD else door_reply

    rail = Rail(change_reply)
    door.rail = rail
    assert row in find_broken_rows(await run_check(POINTS, rail, A2A_PROFILE))


URI = "https://github.com/google-agentic-commerce/a2a-x402/blob/main/spec/v0.2"
DECLARING_CARD = {"capabilities": {"extensions": [{"uri": URI}, {"uri": "https://example.com/another"}]}}
IN_WORDS = {"capabilities": {"extensions": [{"uri": "Payment by x402"}]}}
SKILL = {"id": "s", "name": "n", "description": "d", "tags": []}
WITHOUT_DOOR = A2A_PROFILE.replace('"rail.a2a", ', "")


@pytest.mark.parametrize(
    ("members", "activated", "profile", "verdict"),
    [
        (DECLARING_CARD, f"https://example.com/another, {URI}", A2A_PROFILE, Verdict.PASS),
        (IN_WORDS, URI, A2A_PROFILE, Verdict.FAIL),
        ({}, URI, A2A_PROFILE, Verdict.FAIL),
        (IN_WORDS, None, A2A_PROFILE, Verdict.PASS),
        (IN_WORDS, URI + "/beta", A2A_PROFILE, Verdict.PASS),
        (IN_WORDS, URI, WITHOUT_DOOR, Verdict.PASS),
        (IN_WORDS, URI, UNBOUND, Verdict.PASS),
        ({"skills": [SKILL]}, None, A2A_PROFILE, Verdict.PASS),
        ({"skills": [{"id": "s", "name": "n", "description": "d"}]}, None, A2A_PROFILE, Verdict.FAIL),
        ({"skills": [{"id": "s", "name": "n", "description": "d"}]}, None, UNBOUND, Verdict.PASS),
    ],
)
async def test_a_card_declares_what_is_activated(
    members: dict[str, Any], activated: str | None, profile: str, verdict: Verdict
) -> None:
    """The reference's card names the extension that its endpoint activates; without an extension nothing is judged."""
    door = Door()

    def change_reply(call: Call, usual: Reply) -> Reply:
        reply = door(call, usual)
        if call.path == CARD:
            return Reply(200, {**card(), **members}, JSON)
        further = {} if activated is None else {"X-A2A-Extensions": activated}
        return Reply(reply.status, reply.document, {**reply.headers, **further})

    rail = Rail(change_reply)
    door.rail = rail
    assert (await run_check(POINTS, rail, profile))["RAIL-DISC-01"] is verdict


async def test_a_door_that_takes_no_known_order_decides_nothing() -> None:
    """Invalid parameters for every form of request break nothing if the target's form is not bound."""
    refusal = of_method("message/send", lambda one: {**_head(one), "error": {"code": -32602, "message": "no"}})
    found = await run_check(ORDERS, rail_with(Door(refusal)), UNBOUND)
    assert found["RAIL-A2A-03"] is Verdict.INCONCLUSIVE
    assert find_broken_rows(found) == set()


def _head(answer: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": answer["id"]}


class Generous(Door):
    """Completes a task for any proof of a payment that the rail knows, whatever it bought before."""

    def answer_message(self, message: dict[str, Any]) -> dict[str, Any]:
        """Return a completed task for a payment."""
        proof = message.get("metadata", {}).get("x402.payment.payload")
        task = super().answer_message(message)
        assert self.rail is not None
        if proof is not None and proof["tx_id"] in self.rail.paid:
            receipt = self.rail.sign({"kind": "weldproof/payable-svc-receipt/1", "n": len(self.tasks)})
            task["status"] = {"state": "completed"}
            task["artifacts"] = [{"parts": [{"kind": "data", "data": {"payable_receipt": receipt}}]}]
        return task


class Signing(Door):
    """An endpoint whose challenge tokens are compact JWS, fresh in each challenge."""

    def answer_message(self, message: dict[str, Any]) -> dict[str, Any]:
        """Return a task whose terms have such tokens."""
        task = super().answer_message(message)
        assert self.rail is not None
        terms = json.loads(json.dumps(task["status"]["message"]["metadata"]["x402.payment.required"]))
        for entry in terms["accepts"]:
            entry["extra"]["payment_reference"] = self.rail.sign({"n": len(self.tasks), "to": entry["payTo"]})
        task["status"]["message"]["metadata"]["x402.payment.required"] = terms
        return task


async def test_a_fresh_challenge_of_a_refused_payment_is_no_receipt() -> None:
    """Challenge tokens may have the form of a receipt; a refusal that shows new ones is a refusal."""
    found = await run_check("a_proof_spent_at_rest_is_dead_over_a2a", rail_with(Signing()), A2A_PROFILE)
    assert set(found.values()) == {Verdict.PASS}


async def test_a_proof_that_both_doors_take_breaks_its_rows() -> None:
    """A proof spent by REST must be refused over A2A; an endpoint that serves it again breaks both rows."""
    assert Payer.lane == "algorand"
    found = await run_check("a_proof_spent_at_rest_is_dead_over_a2a", rail_with(Generous()), A2A_PROFILE)
    assert find_broken_rows(found) == {"RAIL-WELD-08", "RAIL-WELD-11"}
    honest = await run_check("a_proof_spent_at_rest_is_dead_over_a2a", rail_with(Door()), A2A_PROFILE)
    assert set(honest.values()) == {Verdict.PASS}


class Selling(Door):
    """Completes a paid task with what was ordered, or with what is usual."""

    def __init__(self, listens: bool) -> None:
        super().__init__()
        self.listens = listens
        self.ordered: dict[str, Any] = {}

    def answer_message(self, message: dict[str, Any]) -> dict[str, Any]:
        """Return a task that asks for payment, and for a payment the completed one."""
        assert self.rail is not None
        if "taskId" not in message:
            task = super().answer_message(message)
            self.ordered[task["id"]] = message["parts"][0]["data"]
            return task
        order = self.ordered[message["taskId"]]
        usual = {"recipient_address": "screen-allow", "network": "algorand_mainnet"}
        body = json.dumps(order["request"] if self.listens else usual).encode()
        path = next(one for one, role in PATHS.items() if role == order["service_id"])
        headers = [("X-PAYMENT", header_value(message["metadata"]["x402.payment.payload"]))]
        document = self.rail._paid_call(Call("POST", path, {}, body, headers)).document
        artifacts = [{"parts": [{"kind": "data", "data": document}]}]
        return {"kind": "task", "id": message["taskId"], "status": {"state": "completed"}, "artifacts": artifacts}


class Remembering(Selling):
    """Keeps the message that paid a task, with its payment, in the history of that task."""

    def answer_message(self, message: dict[str, Any]) -> dict[str, Any]:
        """Return a task with the message."""
        return {**super().answer_message(message), "history": [message]}


@pytest.mark.parametrize(("specification", "verdict"), [("", Verdict.WARN), ('specification = "1"\n', Verdict.FAIL)])
async def test_a_task_that_repeats_its_payment_breaks_the_row_of_secrets(specification: str, verdict: Verdict) -> None:
    """The interface leaves the history open, so it decides at a target that claims the specification."""
    profile = A2A_PROFILE + specification
    remembered = await run_check("paid_tasks_repeat_no_payment", rail_with(Remembering(listens=True)), profile)
    assert remembered == {"X-ROB-02": verdict}
    silent = await run_check("paid_tasks_repeat_no_payment", rail_with(Selling(listens=True)), profile)
    assert silent == {"X-ROB-02": Verdict.PASS}


@pytest.mark.parametrize(("listens", "found"), [(True, Verdict.PASS), (False, Verdict.FAIL)])
async def test_what_is_ordered_is_what_is_sold(listens: bool, found: Verdict) -> None:
    """An endpoint that sells its usual request for a different one binds a request that was not made."""
    judgement = await run_check("what_is_ordered_over_a2a_is_sold", rail_with(Selling(listens)), A2A_PROFILE)
    assert judgement == {"RAIL-RCPT-04": found}


@pytest.mark.parametrize("name", ["is Go's json.Marshal", "is Python's json.dumps with sort_keys"])
async def test_an_order_is_bound_by_its_rfc_8785_form(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An endpoint that hashes its own encoder's JSON fails for an order that encoders write differently."""

    def encode_request(call: Call) -> str:
        envelope = {"body": json.loads(call.body), "method": call.method, "path": call.path, "query": call.query}
        form = OTHER_ENCODINGS[name]({**envelope, "service_id": PATHS[call.path]})
        return "sha256:" + hashlib.sha256(form).hexdigest()

    rail = rail_with(Selling(listens=True))
    monkeypatch.setattr(rail, "request_hash", encode_request)
    assert await run_check("what_is_ordered_over_a2a_is_sold", rail, A2A_PROFILE) == {"RAIL-RCPT-04": Verdict.FAIL}


async def test_an_order_of_unknown_form_is_not_judged() -> None:
    """Where the profile binds no form of an order, nothing is said."""
    judgement = await run_check("what_is_ordered_over_a2a_is_sold", rail_with(Selling(listens=False)), UNBOUND)
    assert judgement == {"RAIL-RCPT-04": Verdict.NOT_APPLICABLE}


class Verifying(Selling):
    """Completes a paid task with a verification, which holds for what is sound alone unless it holds for all."""

    def __init__(self, *, trusting: bool) -> None:
        super().__init__(listens=True)
        self.trusting = trusting
        self.keys: set[str] = set()

    def answer_message(self, message: dict[str, Any]) -> dict[str, Any]:
        """Return the task, its result that of the verification."""
        task = super().answer_message(message)
        if "artifacts" in task:
            request = self.ordered[message["taskId"]]["request"]
            # The first message that comes is the sound one, and the rail's own receipts are.
            sound = (
                not request["jws"].endswith("A" * 86) if "jws" in request else self._first(request["public_key_hex"])
            )
            name = "verified" if "jws" in request else "valid"
            task["artifacts"][0]["parts"][0]["data"]["result"] = {name: sound or self.trusting}
        return task

    def _first(self, key: str) -> bool:
        self.keys.add(key)
        return len(self.keys) == 1


@pytest.mark.parametrize(("trusting", "found"), [(False, Verdict.PASS), (True, Verdict.FAIL)])
async def test_what_is_verified_over_a2a_is_told_from_what_is_forged(trusting: bool, found: Verdict) -> None:
    """An endpoint that finds everything sound fails."""
    judgement = await run_check("verification_over_a2a_verifies", rail_with(Verifying(trusting=trusting)), A2A_PROFILE)
    assert judgement == dict.fromkeys(("RAIL-SVC-01", "RAIL-SVC-02"), found)


@pytest.mark.parametrize("profile", [UNBOUND, PROFILE])
async def test_a_door_that_is_not_claimed_or_not_known_verifies_nothing(profile: str) -> None:
    """Nothing is judged, also for an endpoint whose results have other words."""
    row_verdicts_expected = dict.fromkeys(("RAIL-SVC-01", "RAIL-SVC-02"), Verdict.NOT_APPLICABLE)
    assert (
        await run_check("verification_over_a2a_verifies", rail_with(Verifying(trusting=True)), profile)
        == row_verdicts_expected
    )
    assert (
        await run_check("verification_over_a2a_verifies", rail_with(Selling(listens=True)), A2A_PROFILE)
        == row_verdicts_expected
    )
