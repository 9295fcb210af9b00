"""The body of a webhook event, serialised once and sent unchanged on every attempt (chapter 4, P-WH-01 to P-WH-03)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import orjson

from reference.protocol.money import MICRO_DIGITS, amount_pretty, atomic_units
from reference.protocol.networks import Network
from reference.protocol.webhook_delivery import EventType

API_VERSION = "1"


@dataclass(frozen=True, slots=True)
class EventLink:
    """The link that an event is about.

    Attributes:
        network: Its network.
        token: Its token.
        label: Its label, as the tenant sent it.
        amount_microunits: Its amount.
    """

    network: Network
    token: str
    label: str
    amount_microunits: int


@dataclass(frozen=True, slots=True)
class LinkPayment:
    """The payment of a link.

    Attributes:
        tx_id: The transaction, canonical.
        payer: Its sender, by the rule of P-WH-01.
        value: Atomic units that moved.
    """

    tx_id: str
    payer: str
    value: int


def event_body(event_id: str, type_: EventType, link: EventLink, payment: LinkPayment | None, *, created: int) -> bytes:
    """Return the bytes of an event.

    Args:
        event_id: `evt_` and a UUID.
        type_: Its type.
        link: The link.
        payment: The payment, or None if the link was not paid.
        created: Unix seconds of the change of state (P-WH-02).
    """
    return orjson.dumps(
        {
            "id": event_id,
            "type": type_.value,
            "created": created,
            "api_version": API_VERSION,
            "data": _data(link, payment),
        }
    )


def _data(link: EventLink, payment: LinkPayment | None) -> dict[str, Any]:
    # `amount_microunits` is the amount of the link and not of the payment (P-WH-01): the tenant compares it with
    # its order.
    network = link.network
    data: dict[str, Any] = {
        "tenant_label": link.label,
        "chain": network.event,
        "asset": {"id": network.asset_id, "label": network.asset_label, "decimals": network.decimals},
        "amount_microunits": str(link.amount_microunits),
        "amount_pretty": amount_pretty(link.amount_microunits, network.asset_label),
        "tx_id": None if payment is None else payment.tx_id,
        "payer_address": None if payment is None else payment.payer,
        "resource_id": None,
        "payment_link_token": link.token,
        "payment_link_label": link.label,
    }
    # The member is present only if something was overpaid, because receivers ignore members that they do not know
    # (P-WH-13).
    over = 0 if payment is None else overpaid_microunits(link, payment)
    return {**data, "overpaid_microunits": str(over)} if over > 0 else data


def overpaid_microunits(link: EventLink, payment: LinkPayment) -> int:
    """Return the payment beyond the amount, rounded down to whole micro-units."""
    excess = payment.value - atomic_units(link.amount_microunits, link.network.decimals)
    units: int = 10 ** (link.network.decimals - MICRO_DIGITS)
    return excess // units
