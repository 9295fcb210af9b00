"""Bodies of events: members, types and spellings (P-WH-01, P-WH-02, P-WH-12)."""

from __future__ import annotations

import json
from typing import Any

from reference.protocol.networks import NETWORKS
from reference.protocol.webhook_delivery import EventType
from reference.protocol.webhook_event import EventLink, LinkPayment, event_body

ID = "evt_6a4b1c2e-0000-4000-8000-000000000000"


def body(network: str, amount: int, payment: LinkPayment | None, label: str = "Order 7") -> dict[str, Any]:
    """Return the parsed body of an event."""
    type_ = EventType.PAYMENT_CANCELLED if payment is None else EventType.PAYMENT_CONFIRMED
    sale = EventLink(NETWORKS[network], "tok", label, amount)
    event: dict[str, Any] = json.loads(event_body(ID, type_, sale, payment, created=1767225600))
    return event


def test_a_confirmed_payment_has_the_members_of_the_interface() -> None:
    """Every member of the example, in its order, with its types."""
    data = {
        "tenant_label": "Order 7",
        "chain": "algorand:testnet",
        "asset": {"id": "10458941", "label": "USDC", "decimals": 6},
        "amount_microunits": "8410000",
        "amount_pretty": "8.41 USDC",
        "tx_id": "TX",
        "payer_address": "PAYER",
        "resource_id": None,
        "payment_link_token": "tok",
        "payment_link_label": "Order 7",
    }
    expected_event = {"id": ID, "type": "payment.confirmed", "created": 1767225600, "api_version": "1", "data": data}
    actual_event = body("algorand_testnet", 8_410_000, LinkPayment("TX", "PAYER", 8_410_000))
    assert expected_event == actual_event
    assert list(data) == list(actual_event["data"])


def test_what_was_paid_too_much_is_told_in_micro_units() -> None:
    """Only when it is more than nothing; an asset of 7 decimals is cut to whole micro-units."""
    assert body("base_sepolia", 5, LinkPayment("T", "P", 8))["data"]["overpaid_microunits"] == "3"
    assert body("stellar_testnet", 5, LinkPayment("T", "P", 5 * 10 + 39))["data"]["overpaid_microunits"] == "3"
    assert "overpaid_microunits" not in body("stellar_testnet", 5, LinkPayment("T", "P", 59))["data"]
    assert body("base_sepolia", 5, LinkPayment("T", "P", 8))["data"]["amount_microunits"] == "5"


def test_a_cancellation_has_the_same_shape_and_no_payment() -> None:
    """Transaction and payer are null, everything else stands."""
    event = body("solana_devnet", 1_000_000, None)
    assert event["type"] == "payment.cancelled"
    assert (event["data"]["tx_id"], event["data"]["payer_address"]) == (None, None)
    assert event["data"]["chain"] == NETWORKS["solana_devnet"].event


def test_labels_go_unchanged() -> None:
    """Beyond ASCII and beyond the basic plane too, as UTF-8."""
    label = 'Käse & "Brot" 🧀 \u2028 漢字'
    assert body("base_sepolia", 1, LinkPayment("T", "P", 1), label)["data"]["tenant_label"] == label
    sale = EventLink(NETWORKS["base_sepolia"], "tok", label, 1)
    assert "🧀".encode() in event_body(ID, EventType.PAYMENT_CANCELLED, sale, None, created=1)
