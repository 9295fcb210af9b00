"""The outbox: the event that the end of a link adds, in the same transaction (specification 4)."""

from __future__ import annotations

import uuid

from reference.protocol.networks import NETWORKS
from reference.protocol.webhook_delivery import EventType
from reference.protocol.webhook_event import EventLink, LinkPayment, event_body
from reference.store.database import Change
from reference.store.deliveries import Deliveries, Event
from reference.store.link_payments import Payment
from reference.store.links import Link


class Outbox:
    """Builds the events of links."""

    def __init__(self, deliveries: Deliveries) -> None:
        self._deliveries = deliveries

    def build_confirmed(self, link: Link, payment: Payment, *, now: int) -> tuple[Change, ...]:
        """Return the changes that report a payment. `now` is the moment of the change (P-WH-02)."""
        link_payment = LinkPayment(payment.tx_id, payment.payer, payment.value)
        return self._build_event(link, EventType.PAYMENT_CONFIRMED, link_payment, now)

    def build_cancelled(self, link: Link, *, now: int) -> tuple[Change, ...]:
        """Return the changes that report a cancellation (P-WH-12)."""
        return self._build_event(link, EventType.PAYMENT_CANCELLED, None, now)

    def _build_event(
        self, link: Link, type_: EventType, link_payment: LinkPayment | None, now: int
    ) -> tuple[Change, ...]:
        event_id = f"evt_{uuid.uuid4()}"
        sale = EventLink(NETWORKS[link.network], link.token, link.label, link.amount_microunits)
        # The bytes are built once and stored. Every attempt sends the same bytes, so receivers can deduplicate
        # (P-WH-03).
        body = event_body(event_id, type_, sale, link_payment, created=now)
        return self._deliveries.build_event(Event(event_id, link.tenant_id, link.id, type_, now, body))
