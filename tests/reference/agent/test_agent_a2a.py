"""A2A on the agent: the three skills by message, help, tasks, and errors (6.6, P-RA-03, P-RA-04)."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.reference.agent.conftest import Opener

UUID4 = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
TEXT = {"kind": "text", "text": "hello"}
REQUEST: dict[str, Any] = {"method": "GET", "authority": "example.com", "path": "/a"}


async def rpc(agent: httpx.AsyncClient, method: Any, params: Any = None, **members: Any) -> dict[str, Any]:
    """Call a method and return the envelope, which is always 200 and JSON."""
    body = {"jsonrpc": "2.0", "id": 7, "method": method, **({} if params is None else {"params": params}), **members}
    return await post_body(agent, json.dumps(body).encode())


async def post_body(agent: httpx.AsyncClient, body: bytes) -> dict[str, Any]:
    answer = await agent.post("/a2a", content=body)
    assert (answer.status_code, answer.headers["Content-Type"]) == (200, "application/json")
    document = answer.json()
    assert document["jsonrpc"] == "2.0"
    assert ("result" in document) is not ("error" in document)
    return dict(document)


def message(*parts: dict[str, Any], **members: Any) -> dict[str, Any]:
    return {"message": {"kind": "message", "messageId": "m1", "role": "user", "parts": list(parts), **members}}


def ask_skill(skill: Any, request: Any) -> dict[str, Any]:
    return {"kind": "data", "data": {"skill": skill, "request": request}}


async def opened_task(agent: httpx.AsyncClient) -> dict[str, Any]:
    """Open a task that waits for input."""
    task = (await rpc(agent, "message/send", message(TEXT)))["result"]
    assert task["status"]["state"] == "input-required"
    return dict(task)


async def test_a_skill_s_result_is_the_one_by_http(agent: httpx.AsyncClient, signed_request: dict[str, Any]) -> None:
    """Task completed with one artifact of one data part, equal to the HTTP answer."""
    for skill, path in (("verify-rfc9421", "/verify/rfc9421"), ("explain-rfc9421", "/verify/rfc9421/explain")):
        outcome = await rpc(agent, "message/send", message(ask_skill(skill, signed_request)))
        task = outcome["result"]
        assert outcome["id"] == 7
        assert (task["kind"], task["status"]["state"]) == ("task", "completed")
        assert UUID4.fullmatch(task["id"])
        assert UUID4.fullmatch(task["contextId"])
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", task["status"]["timestamp"])
        ((part,),) = [artifact["parts"] for artifact in task["artifacts"]]
        assert part == {"kind": "data", "data": (await agent.post(path, json=signed_request)).json()}


async def test_a_demo_signature_by_message_verifies(agent: httpx.AsyncClient) -> None:
    """What sign-demo brings can be sent to verify-rfc9421 as it is."""
    signed_task = (await rpc(agent, "message/send", message(ask_skill("sign-demo", REQUEST))))["result"]
    data = signed_task["artifacts"][0]["parts"][0]["data"]
    verified_task = (await rpc(agent, "message/send", message(ask_skill("verify-rfc9421", data))))["result"]

    assert verified_task["artifacts"][0]["parts"][0]["data"]["valid"] is True


async def test_whole_numbers_may_be_floats(agent: httpx.AsyncClient, signed_request: dict[str, Any]) -> None:
    """Clients that speak protobuf have no other numbers, and JSON Schema has none; a fraction is refused anywhere."""
    for now, code in ((1000.0, None), (1000.5, -32602)):
        task = await rpc(agent, "message/send", message(ask_skill("verify-rfc9421", signed_request | {"now": now})))
        assert task.get("error", {}).get("code") == code
        by_http = await agent.post("/verify/rfc9421", json=signed_request | {"now": now})
        assert by_http.status_code == (200 if code is None else 422)


@pytest.mark.parametrize("skill", ["verify-rfc9421", "explain-rfc9421", "sign-demo"])
@pytest.mark.parametrize("request_", [{}, [], None, "x", {"method": 1}])
async def test_what_would_be_422_is_invalid_params(agent: httpx.AsyncClient, skill: str, request_: Any) -> None:
    """-32602, its data the `detail` of the 422 (6.6)."""
    error = (await rpc(agent, "message/send", message(ask_skill(skill, request_))))["error"]
    path = {"verify-rfc9421": "", "explain-rfc9421": "/explain", "sign-demo": "/sign"}[skill]
    by_http = (await agent.post(f"/verify/rfc9421{path}", content=json.dumps(request_))).json()["detail"]

    assert (error["code"], error["data"]) == (-32602, by_http)


async def test_a_call_without_an_id_does_nothing(agent: httpx.AsyncClient) -> None:
    """There are no notifications: what is right but for its id opens no task."""
    open_task = await opened_task(agent)
    call = {"jsonrpc": "2.0", "method": "tasks/cancel", "params": {"id": open_task["id"]}}

    assert (await post_body(agent, json.dumps(call).encode()))["error"]["code"] == -32600
    assert (await rpc(agent, "tasks/get", {"id": open_task["id"]}))["result"] == open_task


async def test_a_message_has_a_part(agent: httpx.AsyncClient) -> None:
    """-32602 for one without."""
    task = await rpc(agent, "message/send", message())

    assert (task["error"]["code"], task["error"]["data"][0]["loc"]) == (-32602, ["params", "message", "parts"])


@pytest.mark.parametrize("data", [{}, {"request": REQUEST}, {"service_id": "receipt-verify"}])
async def test_data_that_asks_for_no_skill_is_answered_with_help(agent: httpx.AsyncClient, data: Any) -> None:
    """As a rail challenges a message that orders nothing; a part that does ask counts wherever it stands."""
    skill_part = ask_skill("sign-demo", REQUEST)
    part = {"kind": "data", "data": data}
    help_task = (await rpc(agent, "message/send", message(part)))["result"]
    finished_task = (await rpc(agent, "message/send", message(part, skill_part)))["result"]

    assert [help_task["status"]["state"], finished_task["status"]["state"]] == ["input-required", "completed"]


@pytest.mark.parametrize("data", [{"skill": "other", "request": {}}, {"skill": 1}, {"skill": None}])
async def test_an_unknown_skill_is_invalid_params(agent: httpx.AsyncClient, data: dict[str, Any]) -> None:
    """The error names the skills that there are."""
    error = (await rpc(agent, "message/send", message({"kind": "data", "data": data})))["error"]

    assert error["code"] == -32602
    assert "sign-demo" in error["message"]


async def test_help_then_a_request_in_the_same_task(agent: httpx.AsyncClient) -> None:
    """A message without a data part is asked for one; the task stays open and is carried on."""
    task = await opened_task(agent)
    place = {"taskId": task["id"], "contextId": task["contextId"]}
    assert "explain-rfc9421" in task["status"]["message"]["parts"][0]["text"]
    assert "artifacts" not in task

    again = (await rpc(agent, "message/send", message(TEXT, **place)))["result"]
    finished_task = (await rpc(agent, "message/send", message(ask_skill("sign-demo", REQUEST), **place)))["result"]

    assert {task["id"], again["id"], finished_task["id"]} == {task["id"]}
    assert [again["status"]["state"], finished_task["status"]["state"]] == ["input-required", "completed"]
    assert [one["role"] for one in finished_task["history"]] == ["user", "agent", "user", "agent", "user"]
    assert (await rpc(agent, "tasks/get", {"id": task["id"]}))["result"] == finished_task


async def test_a_finished_task_takes_no_message(agent: httpx.AsyncClient) -> None:
    """P-RA-04: -32602; an unknown task and a foreign context are refused, too."""
    finished_task = (await rpc(agent, "message/send", message(ask_skill("sign-demo", REQUEST))))["result"]
    open_task = await opened_task(agent)

    for members, code in (
        ({"taskId": finished_task["id"]}, -32602),
        ({"taskId": "nothing"}, -32001),
        ({"taskId": open_task["id"], "contextId": finished_task["contextId"]}, -32602),
    ):
        assert (await rpc(agent, "message/send", message(TEXT, **members)))["error"]["code"] == code


async def test_a_new_task_takes_no_id_from_its_caller(agent: httpx.AsyncClient) -> None:
    """P-RA-10: the context is the agent's own, whatever the message names."""
    task = (await rpc(agent, "message/send", message(TEXT, contextId="mine")))["result"]

    assert UUID4.fullmatch(task["contextId"])


async def test_history_has_the_length_that_is_asked_for(agent: httpx.AsyncClient) -> None:
    """The newest messages, none for 0, all without a number."""
    task = await opened_task(agent)
    for n in range(3):
        await rpc(agent, "message/send", message({"kind": "text", "text": str(n)}, taskId=task["id"]))
    whole = (await rpc(agent, "tasks/get", {"id": task["id"]}))["result"]["history"]

    assert len(whole) == 7
    for length, expected in ((0, []), (2, whole[-2:]), (50, whole)):
        assert (await rpc(agent, "tasks/get", {"id": task["id"], "historyLength": length}))["result"][
            "history"
        ] == expected
    params = message(TEXT, taskId=task["id"]) | {"configuration": {"historyLength": 1}}
    assert len((await rpc(agent, "message/send", params))["result"]["history"]) == 1
    assert (await rpc(agent, "tasks/get", {"id": task["id"], "historyLength": -1}))["error"]["code"] == -32602


async def test_cancel(agent: httpx.AsyncClient) -> None:
    """An open task is canceled once; then, and when it is completed or unknown, it cannot be."""
    task = await opened_task(agent)
    finished_task = (await rpc(agent, "message/send", message(ask_skill("sign-demo", REQUEST))))["result"]

    canceled_task = (await rpc(agent, "tasks/cancel", {"id": task["id"]}))["result"]

    assert (canceled_task["id"], canceled_task["status"]["state"]) == (task["id"], "canceled")
    for task_id, code in ((task["id"], -32002), (finished_task["id"], -32002), ("nothing", -32001)):
        assert (await rpc(agent, "tasks/cancel", {"id": task_id}))["error"]["code"] == code
    assert (await rpc(agent, "message/send", message(TEXT, taskId=task["id"])))["error"]["code"] == -32602


async def test_tasks_are_kept_for_an_hour(opener: Opener, clock_file: Path) -> None:
    """Then they are unknown."""
    agent = await opener(clock_offset_file=clock_file)
    task = await opened_task(agent)

    clock_file.write_text("3500\n", "ascii")
    assert "result" in await rpc(agent, "tasks/get", {"id": task["id"]})
    clock_file.write_text("3700\n", "ascii")
    assert (await rpc(agent, "tasks/get", {"id": task["id"]}))["error"]["code"] == -32001


@pytest.mark.parametrize(
    ("method", "code"),
    [
        ("message/stream", -32004),
        ("tasks/resubscribe", -32004),
        ("tasks/pushNotificationConfig/set", -32003),
        ("tasks/pushNotificationConfig/get", -32003),
        ("tasks/pushNotificationConfig/list", -32003),
        ("tasks/pushNotificationConfig/delete", -32003),
        ("agent/getAuthenticatedExtendedCard", -32007),
        ("tasks/list", -32601),
        ("SendMessage", -32601),
        ("", -32601),
    ],
)
async def test_other_methods(agent: httpx.AsyncClient, method: str, code: int) -> None:
    """P-RA-03: each is refused by its own code, whatever its params."""
    error = (await rpc(agent, method, message(TEXT)))["error"]

    assert error["code"] == code
    assert error["message"]
    if code == -32601:
        assert error["message"] == f"method not found: {method}"


@pytest.mark.parametrize(
    ("body", "code", "identity"),
    [
        (b"", -32700, None),
        (b"{", -32700, None),
        (b'{"jsonrpc":"2.0","id":1,"id":1,"method":"tasks/get"}', -32700, None),
        (b"[" * 40 + b"]" * 40, -32700, None),
        (b'"text"', -32600, None),
        (b'[{"jsonrpc":"2.0","id":1,"method":"tasks/get"}]', -32600, None),
        (b'{"jsonrpc":"2.0","method":"tasks/get","params":{"id":"x"}}', -32600, None),
        (b'{"jsonrpc":"2.0","method":"tasks/get"}', -32602, None),
        (b'{"jsonrpc":"2.0","method":"tasks/get","params":{"id":1}}', -32602, None),
        (b'{"jsonrpc":"2.0","method":"tasks/get","params":[]}', -32602, None),
        (b'{"jsonrpc":"2.0","method":"tasks/got","params":{}}', -32601, None),
        (b'{"jsonrpc":"1.0","method":"tasks/got","params":{}}', -32600, None),
        (b'{"jsonrpc":"2.0","id":null,"method":"tasks/get"}', -32600, None),
        (b'{"jsonrpc":"2.0","id":true,"method":"tasks/get"}', -32600, None),
        (b'{"jsonrpc":"2.0","id":1.5,"method":"tasks/get"}', -32600, None),
        (b'{"jsonrpc":"2.0","id":9007199254740992,"method":"tasks/get"}', -32600, None),
        (b'{"jsonrpc":"2.0","id":"\\ud800","method":"tasks/get"}', -32600, None),
        (b'{"jsonrpc":"1.0","id":1,"method":"tasks/get"}', -32600, 1),
        (b'{"id":"a","method":"tasks/get"}', -32600, "a"),
        (b'{"jsonrpc":"2.0","id":"a"}', -32600, "a"),
        (b'{"jsonrpc":"2.0","id":"a","method":1}', -32600, "a"),
        (b'{"jsonrpc":"2.0","id":"a","method":"\\ud800"}', -32600, "a"),
        (b'{"jsonrpc":"2.0","id":"","method":"tasks/get"}', -32602, ""),
        (b'{"jsonrpc":"2.0","id":-5,"method":"tasks/get","params":[]}', -32602, -5),
        (b'{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":"x"}', -32602, 1),
        (b'{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"id":1}}', -32602, 1),
        (b'{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"id":"\\ud800"}}', -32602, 1),
        (b'{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"id":"x","n":1e999}}', -32602, 1),
        (b'{"jsonrpc":"2.0","id":1,"method":"message/send","params":{}}', -32602, 1),
    ],
)
async def test_envelopes(agent: httpx.AsyncClient, body: bytes, code: int, identity: Any) -> None:
    """P-RA-04: the code by what is wrong first, the id echoed, null when it cannot be read."""
    verdict = await post_body(agent, body)

    assert (verdict["error"]["code"], verdict["id"]) == (code, identity)


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "task"},
        {"kind": None},
        {"messageId": 1},
        {"role": "system"},
        {"parts": "x"},
        {"parts": [{"kind": "text"}]},
        {"parts": [{"kind": "data", "data": []}]},
        {"parts": [{"kind": "video"}]},
        {"parts": [1]},
        {"taskId": 1},
        {"contextId": []},
        {"metadata": "x"},
        {"extensions": [1]},
    ],
)
async def test_what_is_no_message_is_invalid_params(agent: httpx.AsyncClient, change: dict[str, Any]) -> None:
    """-32602 whose data says where, without what was sent."""
    params = {"message": {**message(TEXT)["message"], **change}}
    error = (await rpc(agent, "message/send", params))["error"]

    assert error["code"] == -32602
    assert all({"loc", "msg", "type"} == set(item) for item in error["data"])
    assert error["data"][0]["loc"][:2] == ["params", "message"]


@pytest.mark.parametrize("name", ["kind", "messageId", "role", "parts"])
async def test_required_members_of_a_message(agent: httpx.AsyncClient, name: str) -> None:
    """A2A 0.3 requires four."""
    params = {"message": {key: value for key, value in message(TEXT)["message"].items() if key != name}}

    assert (await rpc(agent, "message/send", params))["error"]["code"] == -32602


async def test_push_notifications_in_a_message_are_refused(agent: httpx.AsyncClient) -> None:
    """What is not supported is said, not ignored."""
    params = message(TEXT) | {"configuration": {"pushNotificationConfig": {"url": "http://a"}}}

    assert (await rpc(agent, "message/send", params))["error"]["code"] == -32003


async def test_further_members_are_kept_and_tolerated(agent: httpx.AsyncClient) -> None:
    """A2A 0.3 forbids none anywhere; duplicate message ids are no fault."""
    params = message({**TEXT, "more": 1}, more={"a": [1]}, metadata={"k": 1}) | {"metadata": {}, "more": None}
    first, second = [(await rpc(agent, "message/send", params, more=1))["result"] for _ in range(2)]

    assert first["id"] != second["id"]
    assert first["history"][0]["more"] == {"a": [1]}
