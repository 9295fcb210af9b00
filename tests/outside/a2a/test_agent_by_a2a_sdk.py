"""The A2A SDK's clients resolve both of the agent's cards, send, get and cancel; with a failing control for each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from reference.protocol.message_signatures import SignRequest, sign
from tests.outside.a2a.environments import LINES
from tests.outside.a2a.sdk_client import SdkClient, SdkError
from tests.reference.agent.test_agent_process import run_agents

PLAIN: dict[str, Any] = {"method": "GET", "authority": "example.com", "path": "/a"}
CARDS = ("/.well-known/agent-card.json", "/.well-known/agent.json")


@pytest.fixture(scope="module")
def agent(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """An agent as a process, which says in its card where it is."""
    with run_agents({}, tmp_path_factory.mktemp("agent") / "log", public=True) as http:
        yield http


@pytest.fixture(params=LINES, scope="module")
def client(request: pytest.FixtureRequest, agent: httpx.Client) -> Iterator[SdkClient]:
    """A client of each line of the SDK."""
    with SdkClient(request.param, str(agent.base_url)) as sdk_client:
        yield sdk_client


def test_both_cards_resolve(client: SdkClient, agent: httpx.Client) -> None:
    """The same agent at both addresses; no card at a third."""
    cards = [client.card(path) for path in CARDS]

    assert cards[0] == cards[1]
    assert cards[0]["skills"] == ["verify-rfc9421", "explain-rfc9421", "sign-demo"]
    assert cards[0]["url"] == f"{agent.base_url!s}/a2a".replace("//a2a", "/a2a")
    with pytest.raises(SdkError):
        client.card("/.well-known/other.json")


def test_send_and_get(client: SdkClient) -> None:
    """A demo signature is made and verified by message, and the task is there afterwards."""
    client.card()
    sign_answer = client.send({"skill": "sign-demo", "request": PLAIN})
    signed_message = sign_answer["artifacts"][0][0]
    verdict = client.send("please judge this", {"skill": "verify-rfc9421", "request": signed_message})

    assert (sign_answer["state"], verdict["state"]) == ("completed", "completed")
    assert verdict["artifacts"][0][0]["valid"] is True
    assert client.get(verdict["id"]) == verdict
    with pytest.raises(SdkError):
        client.get("nothing")


def test_a_forged_message_is_found(client: SdkClient) -> None:
    """The control of the above: the same message with another path is not valid, and explained."""
    client.card()
    forged_message = sign(SignRequest.model_validate(PLAIN), seed=bytes(32), now=1000) | {"path": "/b", "now": 1000}
    explanation = client.send({"skill": "explain-rfc9421", "request": forged_message})["artifacts"][0][0]

    assert (explanation["valid"], explanation["error_codes"]) == (False, ["signature_mismatch"])
    assert explanation["fix_notes"]


def test_what_is_no_request_is_an_error(client: SdkClient) -> None:
    """The SDK raises on -32602."""
    client.card()
    with pytest.raises(SdkError):
        client.send({"skill": "verify-rfc9421", "request": {}})


def test_a_task_is_carried_on(client: SdkClient) -> None:
    """Help first, then the request in the same task."""
    client.card()
    open_task = client.send("hello")
    done_task = client.send({"skill": "sign-demo", "request": PLAIN}, task=open_task)

    assert (open_task["state"], done_task["state"]) == ("input-required", "completed")
    assert (open_task["id"], open_task["contextId"]) == (done_task["id"], done_task["contextId"])


def test_cancel(client: SdkClient) -> None:
    """An open task is canceled, once."""
    client.card()
    open_task = client.send("hello")

    assert client.cancel(open_task["id"])["state"] == "canceled"
    assert client.get(open_task["id"])["state"] == "canceled"
    with pytest.raises(SdkError):
        client.cancel(open_task["id"])
