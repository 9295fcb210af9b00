"""Tables of webhooks: destinations, events, deliveries and attempts. Unique keys decide every race between workers."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Index, Integer, LargeBinary, MetaData, String, Table, Text

METADATA = MetaData()

destinations = Table(
    "gateway_webhook_destinations",
    METADATA,
    Column("id", String(36), primary_key=True),
    Column("tenant_id", String(36), nullable=False),
    # Its place among the tenant's nine. The unique index gives each place to one request (P-WH-11).
    Column("place", Integer, nullable=False),
    Column("url", Text, nullable=False),
    Column("sealed_secret", LargeBinary, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("rotated_at", BigInteger),
    Index("gateway_webhook_place", "tenant_id", "place", unique=True),
)

subscriptions = Table(
    "gateway_webhook_subscriptions",
    METADATA,
    Column("destination_id", String(36), primary_key=True),
    Column("type", String(32), primary_key=True),
)

# Inserted by the transaction that ends the link; a link has one event of a type.
events = Table(
    "gateway_webhook_events",
    METADATA,
    Column("id", String(40), primary_key=True),
    Column("tenant_id", String(36), nullable=False),
    Column("link_id", String(36), nullable=False),
    Column("type", String(32), nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("body", LargeBinary, nullable=False),
    Index("gateway_webhook_event_of_link", "link_id", "type", unique=True),
    Index("gateway_webhook_event_age", "created_at", "id"),
)

# One row for each event and destination. It carries the whole state of the retries, so that any worker can go on with
# it.
deliveries = Table(
    "gateway_webhook_deliveries",
    METADATA,
    Column("id", String(64), primary_key=True),
    Column("event_id", String(40), nullable=False),
    Column("destination_id", String(36), nullable=False),
    Column("tenant_id", String(36), nullable=False),
    Column("url", Text, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("state", String(16), nullable=False),
    # Number of the last attempt, counted from 1; the worker that raises it owns that attempt.
    Column("attempt", Integer, nullable=False),
    Column("failures", Integer, nullable=False),
    # When the next attempt is due, in milliseconds; null unless it is pending.
    Column("due_ms", BigInteger),
    # When the attempt under way began, in milliseconds; null unless it is sending.
    Column("started_ms", BigInteger),
    Column("delivered_at", BigInteger),
    Index("gateway_webhook_delivery", "event_id", "destination_id", unique=True),
    Index("gateway_webhook_deliveries_of", "tenant_id", "created_at"),
)
_is_waiting = deliveries.c.due_ms.isnot(None)
Index(
    "gateway_webhook_due",
    deliveries.c.due_ms,
    deliveries.c.destination_id,
    sqlite_where=_is_waiting,
)
Index(
    "gateway_webhook_due_there",
    deliveries.c.destination_id,
    deliveries.c.due_ms,
    sqlite_where=_is_waiting,
)
_is_sending = deliveries.c.started_ms.isnot(None)
Index("gateway_webhook_sending", deliveries.c.started_ms, sqlite_where=_is_sending)

# The result of each attempt, recorded once.
attempts = Table(
    "gateway_webhook_attempts",
    METADATA,
    Column("delivery_id", String(64), primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("started_ms", BigInteger, nullable=False),
    Column("ended_ms", BigInteger, nullable=False),
    Column("outcome", String(16), nullable=False),
    Column("status", Integer),
)
