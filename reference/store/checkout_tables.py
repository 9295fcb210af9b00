"""Tables of payment links and of their payments. Unique indexes decide every race between workers (P-CK-08)."""

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
    # Late payments of the link are looked for until this time (P-CK-10). Null while the link has no end.
    Column("watched_until", BigInteger),
    Index("gateway_link_token", "token", unique=True),
    Index("gateway_link_nonce", "nonce"),
    Index("gateway_link_tenant", "tenant_id", "created_at"),
)
# Partial indexes: most links and payments of an old database are over, and the loops search only the others. The
# condition is given for SQLite; `postgres.py` takes it over.
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

# The order behind a link: its amount in the currency of the order, and the rate (decision 0072). Inserted with the
# link. A separate table, so that an existing database needs no change.
link_prices = Table(
    "gateway_link_prices",
    METADATA,
    Column("link_id", String(36), primary_key=True),
    Column("amount", Text, nullable=False),
    Column("currency", String(8), nullable=False),
    Column("rate", Text, nullable=False),
)

# How a link ended. The primary key allows one row for each link, so of a payment, an expiry and a cancellation that
# come at the same moment, exactly one ends the link.
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
    # Atomic units, as decimal text: foreign assets are listed too, and may move more units than 63 bits hold.
    Column("value", String(80), nullable=False),
    Column("payer", String(128), nullable=False),
    Column("block_time", BigInteger, nullable=False),
    Column("seen_at", BigInteger, nullable=False),
    Column("reversed_at", BigInteger),
    Column("recheck_at", BigInteger),
    # The same late transfer is listed once for each link.
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

# The attestation of a payment as it was first returned. The worker that inserts the row has signed it.
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

# Payments that paid their links and moved more than the amount. Inserted by the transaction that ends the link.
surpluses = Table(
    "gateway_surpluses",
    METADATA,
    Column("payment_id", String(36), primary_key=True),
    Column("tenant_id", String(36), nullable=False),
    Column("network", String(64), nullable=False),
    Column("seen_at", BigInteger, nullable=False),
    Index("gateway_surplus_tenant", "tenant_id", "seen_at"),
)

# The asset of a payment that moved another asset than its link's.
payment_assets = Table(
    "gateway_payment_assets",
    METADATA,
    Column("payment_id", String(36), primary_key=True),
    Column("asset_id", String(128), nullable=False),
)

# Payments that were presented to `verify` before they were final. A node may list nothing that waits for a block, so
# only this table keeps the payer from abandoning the link meanwhile (P-CK-07, decision 0061).
shown_payments = Table(
    "gateway_shown_payments",
    METADATA,
    Column("link_id", String(36), primary_key=True),
    Column("tx_id", String(128), primary_key=True),
)

# How far each payout address was searched, in the chain's own count (round, block, slot). A restart continues there.
cursors = Table(
    "gateway_cursors",
    METADATA,
    Column("network", String(64), primary_key=True),
    Column("address", String(128), primary_key=True),
    Column("position", BigInteger, nullable=False),
)
