"""Tables of the control plane. The unique number of an audit entry decides which worker changes the trust set next."""

from __future__ import annotations

from sqlalchemy import BigInteger, Boolean, Column, Index, Integer, MetaData, String, Table, Text, literal_column
from sqlalchemy.sql.elements import ColumnElement

METADATA = MetaData()

issuers = Table(
    "control_plane_issuers",
    METADATA,
    Column("did", String(512), primary_key=True),
    # Number of the audit entry that registered it: the order of registration.
    Column("place", BigInteger, nullable=False),
    Column("public_key_b64", Text, nullable=False),
    Column("kid", String(16), nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Index("control_plane_issuers_in_order", "place"),
)

services = Table(
    "control_plane_services",
    METADATA,
    Column("name", String(64), primary_key=True),
    Column("place", BigInteger, nullable=False),
    Column("type", Text, nullable=False),
    Column("base_url", Text, nullable=False),
    Column("health_path", Text, nullable=False),
    Column("registered_at", BigInteger, nullable=False),
    Index("control_plane_services_in_order", "place"),
)

# The primary key is the number of the entry. Each change of trust inserts the next number, so of two changes at the
# same moment one is refused and decided again (7.4).
audit = Table(
    "control_plane_audit",
    METADATA,
    Column("seq", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=False),
    Column("ts_ms", BigInteger, nullable=False),
    Column("actor", String(16), nullable=False),
    Column("action", String(32), nullable=False),
    Column("subject", String(512), nullable=False),
    Column("payload", Text, nullable=False),
    Column("prev_mac", String(64), nullable=False),
    Column("mac", String(64), nullable=False),
)
# The condition is written as text, because SQLite uses a partial index only for a query with the same words.
of_the_trust_set: ColumnElement[bool] = literal_column("substr(action, 1, 7) = 'issuer.'", Boolean)
Index("control_plane_trust_changes", audit.c.seq, sqlite_where=of_the_trust_set)
