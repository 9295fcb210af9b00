"""The A2A SDK's clients buy from the rail: card, order, payment, receipt; with controls that must fail."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jwt
import pytest
from x402.schemas.helpers import parse_payment_required

from tests.outside.a2a.environments import LINES
from tests.outside.a2a.sdk_client import SdkClient, SdkError
from tests.reference.rail.rail_stack import Payer, Rail, SimulatedChain, proof_of

URI = "https://github.com/google-agentic-commerce/a2a-x402/blob/main/spec/v0.2"
ORDER: dict[str, Any] = {
    "service_id": "compliance-receipt",
    "request": {"recipient_address": "screen-block", "network": "algorand_mainnet"},
}
STATUS, PAYLOAD = "x402.payment.status", "x402.payment.payload"


@pytest.fixture(scope="module")
def payer() -> Iterator[Payer]:
    """A payer with money on a simulated Algorand."""
    chain = SimulatedChain()
    yield Payer(chain)
    chain.stop()


@pytest.fixture(scope="module")
def rail(payer: Payer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rail]:
    """A rail as a process, which says in its card where it is."""
    started_rail = Rail(payer.chain, tmp_path_factory.mktemp("rail"), payer.chain.new_payee()).start()
    yield started_rail
    started_rail.close()


@pytest.fixture(params=LINES)
def client(request: pytest.FixtureRequest, rail: Rail) -> Iterator[SdkClient]:
    """A client of each line of the SDK that has read the card."""
    with SdkClient(request.param, rail.public_url) as sdk_client:
        sdk_client.card()
        yield sdk_client


def order_task(client: SdkClient) -> tuple[dict[str, Any], dict[str, Any]]:
    """Order, and return the task with the entry that it asks to be paid, as the x402 package reads it."""
    task = client.send("please", ORDER, extensions=[URI])
    assert (task["state"], task["metadata"]) == ("input-required", {"payment_state": "a2a-x402"})
    assert task["message_metadata"][STATUS] == "payment-required"
    payment_required = parse_payment_required(task["message_metadata"]["x402.payment.required"])
    return task, payment_required.accepts[0].model_dump(by_alias=True)


def payment_metadata(payload: Any) -> dict[str, Any]:
    return {STATUS: "payment-submitted", PAYLOAD: payload}


def test_both_cards_resolve(client: SdkClient, rail: Rail) -> None:
    """The same rail at both addresses; no card at a third."""
    cards = [client.card(path) for path in ("/.well-known/agent-card.json", "/.well-known/agent.json")]

    assert cards[0] == cards[1]
    assert cards[0]["skills"] == ["pay-verify-receipt", "pay-verify-rfc9421", "pay-compliance-receipt"]
    assert cards[0]["url"] == f"{rail.public_url}/a2a"
    with pytest.raises(SdkError):
        client.card("/.well-known/other.json")


def test_order_pay_and_verify(client: SdkClient, rail: Rail, payer: Payer) -> None:
    """The receipt of the completed task verifies under the published keys and is returned again; a forged one fails."""
    task, entry = order_task(client)
    tx_id = payer.pay({**entry, "maxAmountRequired": entry["amount"]})
    done_task = client.send("paid", task=task, metadata=payment_metadata(proof_of(tx_id, entry)), extensions=[URI])

    assert (done_task["state"], done_task["message_metadata"][STATUS]) == ("completed", "payment-completed")
    [[body]] = done_task["artifacts"]
    keys = jwt.PyJWKSet.from_dict(rail.http.get("/.well-known/jwks.json").json())
    receipt = body["payable_receipt"]
    key = keys[jwt.get_unverified_header(receipt)["kid"]]
    assert jwt.decode(receipt, key, algorithms=["EdDSA"])["response_hash"] == body["response_hash"]
    head, payload, signature = receipt.split(".")
    with pytest.raises(jwt.InvalidSignatureError):
        jwt.decode(f"{head}.{payload}.{signature[:-4]}AAAA", key, algorithms=["EdDSA"])
    assert client.get(task["id"]) == done_task
    with pytest.raises(SdkError):
        client.send("again", task=task, metadata=payment_metadata(proof_of(tx_id, entry)))


def test_a_payment_without_the_weld_buys_nothing(client: SdkClient, payer: Payer) -> None:
    """The control: the right sum to the right payee, and no token in the note."""
    task, entry = order_task(client)
    tx_id = payer.pay({**entry, "maxAmountRequired": entry["amount"]}, note=b"")
    refused_task = client.send("paid", task=task, metadata=payment_metadata(proof_of(tx_id, entry)))

    assert (refused_task["state"], refused_task["artifacts"]) == ("input-required", [])
    assert refused_task["message_metadata"]["x402.payment.error"] == "INVALID_SIGNATURE"


def test_cancel(client: SdkClient) -> None:
    """An unpaid task is canceled, once; an unknown one is an error."""
    task, _ = order_task(client)

    assert client.cancel(task["id"])["state"] == "canceled"
    assert client.get(task["id"])["state"] == "canceled"
    with pytest.raises(SdkError):
        client.cancel(task["id"])
    with pytest.raises(SdkError):
        client.get("nothing")
