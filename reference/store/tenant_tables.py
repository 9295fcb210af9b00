"""Tables of tenants, their keys, answers and resources. Unique indexes decide every race between workers."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Index, Integer, LargeBinary, MetaData, String, Table, Text

METADATA = MetaData()

tenants = Table(
    "gateway_tenants",
    METADATA,
    Column("id", String(36), primary_key=True),
    Column("name", String(255), nullable=False),
    Column("kyc_status", String(16), nullable=False),
    Column("plan", String(16), nullable=False),
    Column("trial_started_at", BigInteger, nullable=False),
    Column("trial_ends_at", BigInteger, nullable=False),
    Index("gateway_tenants_by_age", "trial_started_at", "id"),
)

# Where a tenant is paid, one address for each network. `place` keeps the order in which the tenant listed them.
payouts = Table(
    "gateway_payouts",
    METADATA,
    Column("tenant_id", String(36), primary_key=True),
    Column("network", String(64), primary_key=True),
    Column("place", Integer, nullable=False),
    Column("payout_address", String(128), nullable=False),
)

# Facts that all workers of one gateway share, by name.
facts = Table(
    "gateway_facts",
    METADATA,
    Column("name", String(64), primary_key=True),
    Column("value", String(256), nullable=False),
)

# Keys are stored under their SHA-256 only (P-AU-02), so a stolen database contains no key.
api_keys = Table(
    "gateway_api_keys",
    METADATA,
    Column("id", String(36), primary_key=True),
    Column("tenant_id", String(36), nullable=False),
    Column("mode", String(8), nullable=False),
    Column("digest", String(64), nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("valid_until", BigInteger),
    Column("revoked_at", BigInteger),
    Index("gateway_api_key", "digest", unique=True),
    Index("gateway_api_keys_of", "tenant_id", "created_at"),
)

admin_keys = Table(
    "gateway_admin_keys",
    METADATA,
    Column("digest", String(64), primary_key=True),
    Column("scopes", Text, nullable=False),
    Column("created_at", BigInteger, nullable=False),
)

# The stored answer of a call with an Idempotency-Key. The worker that inserts the row has executed the call (P-ID-05).
answers = Table(
    "gateway_answers",
    METADATA,
    Column("tenant_id", String(36), primary_key=True),
    Column("method", String(8), primary_key=True),
    Column("path", String(128), primary_key=True),
    Column("key", String(255), primary_key=True),
    Column("body_hash", String(80), nullable=False),
    Column("status", Integer, nullable=False),
    Column("sealed_body", LargeBinary, nullable=False),
    Column("expires_at", BigInteger, nullable=False),
    Index("gateway_answers_expired", "expires_at"),
)

resources = Table(
    "gateway_resources",
    METADATA,
    Column("tenant_id", String(36), primary_key=True),
    Column("resource_id", String(128), primary_key=True),
    Column("record", Text, nullable=False),
)
