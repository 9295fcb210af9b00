"""An unpaid request over A2A: the task that asks for payment, and what is no request (P-RA-03 to P-RA-06, P-RA-10)."""

from __future__ import annotations

import re
import uuid
from typing import Any

import pytest

from tests.reference.rail.a2a.a2a_client import (
    ORDER,
    PAYLOAD,
    REQUIRED,
    STATUS,
    URI,
    call,
    entry_of,
    error,
    get,
    message,
    open_task,
    pay,
    result,
    status_metadata_of,
)
from tests.reference.rail.rail_stack import COMPLIANCE, RECEIPT, Rail

LIVE = re.compile(r"[1-9][0-9]{9}:[0-9a-f]{16}:[0-9a-f]{64}")
PATHS = {
    "receipt-verify": RECEIPT,
    "rfc9421-verify": "/pay/v1/verify/rfc9421",
    "compliance-receipt": COMPLIANCE,
}


def quiet(challenge: Any) -> Any:
    """Return a challenge without its tokens."""
    return [{**one, "extra": {**one["extra"], "payment_reference": ""}} for one in challenge["accepts"]]


def test_an_unpaid_request_is_a_task_that_asks_for_payment(rail: Rail) -> None:
    """P-RA-06: the whole 402 object of REST in the metadata, by the extension, in the state of the interface."""
    task = open_task(rail)
    by_rest = rail.http.post(COMPLIANCE, json=ORDER["request"]).json()
    challenge = status_metadata_of(task)[REQUIRED]

    assert {"kind", "id", "contextId", "status", "history", "metadata"} == set(task)
    assert (task["kind"], task["status"]["state"]) == ("task", "input-required")
    assert task["metadata"] == {"payment_state": "a2a-x402"}
    assert {STATUS, REQUIRED} == set(status_metadata_of(task))
    assert task["status"]["message"]["extensions"] == [URI]
    assert ("agent", task["id"], task["contextId"]) == tuple(
        task["status"]["message"][name] for name in ("role", "taskId", "contextId")
    )
    assert {name: by_rest[name] for name in by_rest if name != "accepts"} == {
        name: challenge[name] for name in challenge if name != "accepts"
    }
    assert quiet(by_rest) == quiet(challenge)
    assert LIVE.fullmatch(entry_of(task)["extra"]["payment_reference"])


@pytest.mark.parametrize("service", PATHS)
def test_each_service_is_challenged_as_rest_challenges_it(rail: Rail, service: str) -> None:
    """The named service, its price, and the hash of the equal REST call (P-RH-01)."""
    example = rail.http.get(PATHS[service]).json()["extensions"]["bazaar"]["info"]["input"]["body"]
    by_rest = rail.http.post(PATHS[service], json=example).json()
    task = open_task(rail, {"service_id": service, "request": example})

    assert quiet(by_rest) == quiet(status_metadata_of(task)[REQUIRED])


@pytest.mark.parametrize(
    ("data", "service"),
    [
        (None, "receipt-verify"),
        ({}, "receipt-verify"),
        ({"request": ORDER["request"]}, "receipt-verify"),
        ({"service_id": "compliance-receipt"}, "compliance-receipt"),
        ({"service_id": "compliance-receipt", "request": {"recipient_address": 5}}, "compliance-receipt"),
        ({"service_id": "rfc9421-verify", "request": []}, "rfc9421-verify"),
        ({"service_id": "receipt-verify", "request": None}, "receipt-verify"),
    ],
)
def test_what_is_no_request_is_challenged_over_the_example(rail: Rail, data: Any, service: str) -> None:
    """P-RA-05: for the named service, else for receipt-verify, with the hash that REST shows for its example."""
    document = rail.http.get(PATHS[service]).json()["accepts"][0]["extra"]

    extra = entry_of(open_task(rail, data))["extra"]

    assert (document["service_id"], document["request_hash"]) == (extra["service_id"], extra["request_hash"])
    assert service == extra["service_id"]


@pytest.mark.parametrize(
    ("data", "pointer"),
    [
        (None, "/message/parts"),
        ({"service": "compliance-receipt", "request": ORDER["request"]}, "/message/parts"),
        ({"service_id": "compliance-receipt", "reqest": ORDER["request"]}, "/request"),
        (
            {"service_id": "compliance-receipt", "request": {**ORDER["request"], "amount": 5}},
            "/request/amount",
        ),
        (
            {"service_id": "compliance-receipt", "request": {**ORDER["request"], "amount_microunits": 0.5}},
            "/request/amount_microunits",
        ),
    ],
)
def test_what_is_no_request_is_told_before_it_is_paid(rail: Rail, data: Any, pointer: str) -> None:
    """P-RA-05: in the text, in the metadata and in the challenge, with the place of what is wrong; and again later."""
    task = open_task(rail, data)
    later = pay(rail, task, {"tx_id": "A" * 52, "payment_reference": "garbage"})

    for one in (task, get(rail, later), later):
        [part] = one["status"]["message"]["parts"]
        assert f"({pointer}: " in part["text"]
        assert "the published example" in part["text"]
        [fault] = status_metadata_of(one)["error_detail"]
        assert pointer == "/" + "/".join(fault["loc"])
        assert [fault] == status_metadata_of(one)[REQUIRED]["error_detail"]


def test_a_further_message_to_a_task_orders_anew(rail: Rail) -> None:
    """A client that corrects the reported fault in the same task gets no further error."""
    task = open_task(rail, {"service_id": "compliance-receipt", "request": {}})
    outcome = result(call(rail, "message/send", {"message": message(ORDER, task=task["id"])}))

    assert {STATUS, REQUIRED} == set(status_metadata_of(outcome))
    assert outcome["status"]["message"]["parts"] == [{"kind": "text", "text": "Payment required."}]


@pytest.mark.parametrize("name", ["no-such-service", "", "Receipt-Verify", 5, None, ["receipt-verify"]])
def test_nobody_is_quoted_another_service_than_he_named(rail: Rail, name: Any) -> None:
    """A service that does not exist is an error that names those which do."""
    fault = error(call(rail, "message/send", {"message": message({"service_id": name, "request": {}})}))

    assert fault["code"] == -32602
    assert "receipt-verify, rfc9421-verify, compliance-receipt" in fault["message"]


def test_ids_are_the_rail_s_own(rail: Rail) -> None:
    """P-RA-10: UUIDv4 for task and context, never the caller's."""
    mine = str(uuid.uuid4())
    task = result(call(rail, "message/send", {"message": {**message(ORDER), "contextId": mine}}))

    assert all(uuid.UUID(task[name]).version == 4 for name in ("id", "contextId"))
    assert mine != task["contextId"]


def test_a_task_is_told_again_as_it_was(rail: Rail) -> None:
    """tasks/get: the same state, the same challenge."""
    task = open_task(rail)

    assert task == get(rail, task)


@pytest.mark.parametrize(("length", "shown"), [(0, 0), (1, 1), (2, 2), (100, 3)])
def test_history_is_as_long_as_asked(rail: Rail, length: int, shown: int) -> None:
    """historyLength, by tasks/get and by message/send: the newest messages, oldest first."""
    task = open_task(rail)
    params = {"message": message(ORDER, task=task["id"]), "configuration": {"historyLength": length}}
    again = result(call(rail, "message/send", params))
    whole = get(rail, task)["history"]

    assert [one["role"] for one in whole] == ["user", "agent", "user"]
    assert whole[len(whole) - shown :] == again["history"] == get(rail, task, historyLength=length)["history"]


def test_a_further_request_in_the_task_is_what_is_challenged(rail: Rail) -> None:
    """The newest order counts; a message without one is a fresh challenge for the same."""
    task = open_task(rail)
    first = entry_of(task)["extra"]
    outcome = result(call(rail, "message/send", {"message": message(task=task["id"])}))
    other_request = {
        "service_id": "compliance-receipt",
        "request": {**ORDER["request"], "recipient_address": "screen-block"},
    }
    further = result(call(rail, "message/send", {"message": message(other_request, task=task["id"])}))

    assert first["request_hash"] == entry_of(outcome)["extra"]["request_hash"]
    assert first["payment_reference"] != entry_of(outcome)["extra"]["payment_reference"]
    assert first["request_hash"] != entry_of(further)["extra"]["request_hash"]


def test_the_extension_is_echoed_to_who_named_it(rail: Rail) -> None:
    """P-RA-02: X-A2A-Extensions, alone or among others; not to other clients."""
    params = {"message": message(ORDER)}
    for sent in (URI, f"https://example.com/other , {URI}"):
        assert call(rail, "message/send", params, headers={"X-A2A-Extensions": sent}).headers["X-A2A-Extensions"] == URI
    for headers in ({}, {"X-A2A-Extensions": "https://example.com/other"}, {"X-A2A-Extensions": URI + "1"}):
        assert "X-A2A-Extensions" not in call(rail, "message/send", params, headers=headers).headers


@pytest.mark.parametrize(
    ("method", "params", "code"),
    [
        ("tasks/get", {"id": str(uuid.uuid4())}, -32001),
        ("tasks/get", {"id": "\x00" * 9}, -32001),
        ("tasks/get", {"id": "x" * 9000}, -32001),
        ("tasks/get", {}, -32602),
        ("tasks/get", {"id": 5}, -32602),
        ("tasks/cancel", {"id": str(uuid.uuid4())}, -32001),
        ("message/send", {"message": message(ORDER, task=str(uuid.uuid4()))}, -32001),
        ("message/send", {"message": message(metadata={STATUS: "payment-submitted", PAYLOAD: {}})}, -32001),
        ("message/send", {"message": message(metadata={STATUS: "payment-rejected"})}, -32001),
        ("message/send", {"message": {"kind": "message"}}, -32602),
        ("message/send", {"message": message(ORDER), "configuration": {"historyLength": -1}}, -32602),
        ("message/send", {"message": message(ORDER), "configuration": {"pushNotificationConfig": {}}}, -32003),
        ("message/stream", {"message": message(ORDER)}, -32004),
        ("tasks/resubscribe", {"id": "x"}, -32004),
        ("tasks/pushNotificationConfig/set", {}, -32003),
        ("agent/getAuthenticatedExtendedCard", {}, -32007),
        ("SendMessage", {}, -32601),
    ],
)
def test_errors_by_name(rail: Rail, method: str, params: Any, code: int) -> None:
    """P-RA-03, P-RA-04: HTTP 200, the id echoed, and the code."""
    assert code == error(call(rail, method, params))["code"]


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"{", -32700),
        (b"\xff", -32700),
        (b"", -32700),
        (b"[" * 10_000, -32700),
        (b'{"jsonrpc":"2.0","id":1,"id":2,"method":"tasks/get"}', -32700),
        (b"[]", -32600),
        (b'{"jsonrpc":"2.0","method":"tasks/get","params":{"id":"x"}}', -32600),
        (b'{"jsonrpc":"2.0","method":"message/send"}', -32602),
        (b'{"jsonrpc":"2.0","method":"message/sent"}', -32601),
        (b'{"jsonrpc":"2.0","id":1.5,"method":"message/send"}', -32600),
        (b'{"jsonrpc":"1.0","id":1,"method":"message/send"}', -32600),
    ],
)
def test_bad_envelopes(rail: Rail, body: bytes, code: int) -> None:
    """P-RA-04: never a 4xx or 5xx; whatever the content type says."""
    answer = rail.http.post("/a2a", content=body, headers={"Content-Type": "text/plain"})

    assert (200, code) == (answer.status_code, answer.json()["error"]["code"])


def test_a_message_has_a_part(rail: Rail) -> None:
    """-32602 for one without."""
    assert error(call(rail, "message/send", {"message": {**message(ORDER), "parts": []}}))["code"] == -32602


def test_a_status_that_is_no_client_s_is_an_error(rail: Rail) -> None:
    """Only payment-submitted and payment-rejected; a payload without its status is refused with an error."""
    task = open_task(rail)
    wrong: tuple[dict[str, Any], ...] = (
        {STATUS: "payment-completed"},
        {STATUS: 5},
        {STATUS: None, PAYLOAD: {}},
        {PAYLOAD: {"tx_id": "x"}},
    )
    for metadata in wrong:
        fault = error(call(rail, "message/send", {"message": message(task=task["id"], metadata=metadata)}))
        assert fault["code"] == -32602, metadata
    assert task == get(rail, task)


def test_documents_of_a2a(rail: Rail) -> None:
    """The card at both addresses, byte for byte, pointing to the endpoint; the hint at GET; both cacheable."""
    card = rail.http.get("/.well-known/agent-card.json")
    told_card = card.json()
    url = rail.public_url + "/a2a"

    assert card.content == rail.http.get("/.well-known/agent.json").content
    assert ("0.3.0", "1.0.0", url, "JSONRPC") == tuple(
        told_card[name] for name in ("protocolVersion", "version", "url", "preferredTransport")
    )
    assert "supportedInterfaces" not in told_card
    assert [{"url": url, "transport": "JSONRPC"}] == told_card["additionalInterfaces"]
    [extension] = told_card["capabilities"].pop("extensions")
    assert told_card["capabilities"] == {
        "streaming": False,
        "pushNotifications": False,
        "stateTransitionHistory": False,
    }
    assert (
        extension["uri"],
        extension["required"],
        extension["params"],
    ) == (URI, False, {"lanes": ["algorand_mainnet"]})
    assert [skill["id"] for skill in told_card["skills"]] == [
        "pay-verify-receipt",
        "pay-verify-rfc9421",
        "pay-compliance-receipt",
    ]
    assert tuple(told_card[name] for name in ("securitySchemes", "security", "supportsAuthenticatedExtendedCard")) == (
        {},
        [],
        False,
    )
    hint = rail.http.get("/a2a")
    assert {"method": "POST", "url": url, "card": rail.public_url + "/.well-known/agent-card.json"}.items() <= (
        hint.json().items()
    )
    for answer in (card, hint):
        assert answer.headers["Cache-Control"] == "public, max-age=300"
        again = rail.http.get(answer.request.url.path, headers={"If-None-Match": answer.headers["ETag"]})
        assert again.status_code == 304
    assert {"GET", "HEAD", "POST"} == set(rail.http.put("/a2a").headers["Allow"].split(", ")) - {"OPTIONS"}
