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
    with SdkClient(request.param, str(agent.base_url)) as opened:
        yield opened


def test_both_cards_resolve(client: SdkClient, agent: httpx.Client) -> None:
    """The same agent at both addresses; no card at a third."""
    told = [client.card(path) for path in CARDS]

    assert told[0] == told[1]
    assert told[0]["skills"] == ["verify-rfc9421", "explain-rfc9421", "sign-demo"]
    assert told[0]["url"] == f"{agent.base_url!s}/a2a".replace("//a2a", "/a2a")
    with pytest.raises(SdkError):
        client.card("/.well-known/other.json")


def test_send_and_get(client: SdkClient) -> None:
    """A demo signature is made and verified by message, and the task is there afterwards."""
    client.card()
    made = client.send({"skill": "sign-demo", "request": PLAIN})
    signed = made["artifacts"][0][0]
    judged = client.send("please judge this", {"skill": "verify-rfc9421", "request": signed})

    assert (made["state"], judged["state"]) == ("completed", "completed")
    assert judged["artifacts"][0][0]["valid"] is True
    assert client.get(judged["id"]) == judged
    with pytest.raises(SdkError):
        client.get("nothing")


def test_a_forged_message_is_found(client: SdkClient) -> None:
    """The control of the above: the same message with another path is not valid, and explained."""
    client.card()
    forged = sign(SignRequest.model_validate(PLAIN), seed=bytes(32), now=1000) | {"path": "/b", "now": 1000}
    told = client.send({"skill": "explain-rfc9421", "request": forged})["artifacts"][0][0]

    assert (told["valid"], told["error_codes"]) == (False, ["signature_mismatch"])
    assert told["fix_notes"]


def test_what_is_no_request_is_an_error(client: SdkClient) -> None:
    """The SDK raises on -32602."""
    client.card()
    with pytest.raises(SdkError):
        client.send({"skill": "verify-rfc9421", "request": {}})


def test_a_task_is_carried_on(client: SdkClient) -> None:
    """Help first, then the request in the same task."""
    client.card()
    waiting = client.send("hello")
    done = client.send({"skill": "sign-demo", "request": PLAIN}, task=waiting)

    assert (waiting["state"], done["state"]) == ("input-required", "completed")
    assert (waiting["id"], waiting["contextId"]) == (done["id"], done["contextId"])


def test_cancel(client: SdkClient) -> None:
    """An open task is canceled, once."""
    client.card()
    waiting = client.send("hello")

    assert client.cancel(waiting["id"])["state"] == "canceled"
    assert client.get(waiting["id"])["state"] == "canceled"
    with pytest.raises(SdkError):
        client.cancel(waiting["id"])
