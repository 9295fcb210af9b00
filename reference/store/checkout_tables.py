"""Tables of payment links and of what paid them. Every race is decided by a unique index here (P-CK-08)."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Index, Integer, MetaData, String, Table, Text

METADATA = MetaData()

links = Table(
    "gateway_links",
    METADATA,
    Column("id", String(36), primary_key=True),
    Column("tenant_id", String(36), nullable=False),
    Column("token", String(200), nullable=False),
    Column("nonce", String(66), nullable=False),
    Column("network", String(64), nullable=False),
    Column("amount_microunits", BigInteger, nullable=False),
    Column("pay_to", String(128), nullable=False),
    Column("label", Text, nullable=False),
    Column("redirect_url", Text),
    Column("cancel_digest", String(64), nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger, nullable=False),
    # Until when its end is still watched for late payments; null while it has no end.
    Column("watched_until", BigInteger),
    Index("gateway_link_token", "token", unique=True),
    Index("gateway_link_nonce", "nonce"),
    Index("gateway_link_tenant", "tenant_id", "created_at"),
)
_is_active = links.c.watched_until.is_(None)
Index(
    "gateway_links_due",
    links.c.network,
    links.c.pay_to,
    links.c.expires_at,
    sqlite_where=_is_active,
)
Index("gateway_links_watched", links.c.network, links.c.pay_to, links.c.watched_until, links.c.created_at)
Index("gateway_links_new", links.c.network, links.c.created_at, links.c.pay_to)

# What a link's amount was ordered as, in the currency of the order, and the rate. Inserted with the link.
link_prices = Table(
    "gateway_link_prices",
    METADATA,
    Column("link_id", String(36), primary_key=True),
    Column("amount", Text, nullable=False),
    Column("currency", String(8), nullable=False),
    Column("rate", Text, nullable=False),
)

# How a link ended. The worker that inserts its row decides it.
link_ends = Table(
    "gateway_link_ends",
    METADATA,
    Column("link_id", String(36), primary_key=True),
    Column("state", String(16), nullable=False),
    Column("ended_at", BigInteger, nullable=False),
)

payments = Table(
    "gateway_payments",
    METADATA,
    Column("id", String(36), primary_key=True),
    Column("link_id", String(36), nullable=False),
    Column("tenant_id", String(36), nullable=False),
    Column("network", String(64), nullable=False),
    Column("tx_id", String(128), nullable=False),
    Column("ordinal", Integer, nullable=False),
    Column("state", String(16), nullable=False),
    # Atomic units, as decimal text: an asset may have more of them than a database's integer holds.
    Column("value", String(80), nullable=False),
    Column("payer", String(128), nullable=False),
    Column("block_time", BigInteger, nullable=False),
    Column("seen_at", BigInteger, nullable=False),
    Column("reversed_at", BigInteger),
    Column("recheck_at", BigInteger),
    # The same late transfer is listed once a link.
    Index("gateway_payment_of_link", "network", "tx_id", "ordinal", "link_id", unique=True),
    Index("gateway_payment_link", "link_id"),
    Index("gateway_payment_tenant", "tenant_id", "state", "seen_at"),
)
_is_paid = payments.c.state == "paid"
Index(
    "gateway_paid_transfer",
    payments.c.network,
    payments.c.tx_id,
    payments.c.ordinal,
    unique=True,
    sqlite_where=_is_paid,
)
_has_recheck = payments.c.recheck_at.isnot(None)
Index("gateway_payment_recheck", payments.c.network, payments.c.recheck_at, sqlite_where=_has_recheck)

# The attestation of a payment as it was first returned. The worker that inserts its row has made it.
attestations = Table(
    "gateway_attestations",
    METADATA,
    Column("payment_id", String(36), primary_key=True),
    Column("jws", Text, nullable=False),
)

_is_unmatched = payments.c.state != "paid"
Index("gateway_uncounted", payments.c.state, payments.c.network, sqlite_where=_is_unmatched)

# Payments that counted for no link and were refunded. Their transfers are also among the used ones.
refunds = Table(
    "gateway_refunds",
    METADATA,
    Column("payment_id", String(36), primary_key=True),
    Column("tx_id", String(128), nullable=False),
    Column("refunded_at", BigInteger, nullable=False),
)

# Payments that paid their links and moved more than was asked. Inserted by the transaction that ends the link.
surpluses = Table(
    "gateway_surpluses",
    METADATA,
    Column("payment_id", String(36), primary_key=True),
    Column("tenant_id", String(36), nullable=False),
    Column("network", String(64), nullable=False),
    Column("seen_at", BigInteger, nullable=False),
    Index("gateway_surplus_tenant", "tenant_id", "seen_at"),
)

# The asset of a payment that is not its link's.
payment_assets = Table(
    "gateway_payment_assets",
    METADATA,
    Column("payment_id", String(36), primary_key=True),
    Column("asset_id", String(128), nullable=False),
)

# Payments that were shown before they were final: a node may list nothing that waits for a block.
shown_payments = Table(
    "gateway_shown_payments",
    METADATA,
    Column("link_id", String(36), primary_key=True),
    Column("tx_id", String(128), primary_key=True),
)

# How far each payout address was searched, in the chain's own count (round, block, slot).
cursors = Table(
    "gateway_cursors",
    METADATA,
    Column("network", String(64), primary_key=True),
    Column("address", String(128), primary_key=True),
    Column("position", BigInteger, nullable=False),
)
