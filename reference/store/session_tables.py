"""Tables of the sessions of the dashboard, and of the forms that were sent in them."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Index, MetaData, String, Table

METADATA = MetaData()

# A session is stored under the SHA-256 of its cookie, with the digest of the key that opened it. So a stolen database
# opens no session.
sessions = Table(
    "gateway_sessions",
    METADATA,
    Column("digest", String(64), primary_key=True),
    Column("admin_digest", String(64), nullable=False),
    Column("expires_at", BigInteger, nullable=False),
    Index("gateway_sessions_expired", "expires_at"),
)

# A tenant's session, also stored under the SHA-256 of its cookie. It ends when its API key is no longer accepted.
tenant_sessions = Table(
    "gateway_tenant_sessions",
    METADATA,
    Column("digest", String(64), primary_key=True),
    Column("key_id", String(36), nullable=False),
    Column("expires_at", BigInteger, nullable=False),
    Index("gateway_tenant_sessions_expired", "expires_at"),
)

# A form that creates a secret is accepted once. The primary key decides between requests that send it at the same
# moment.
sent_forms = Table(
    "gateway_sent_forms",
    METADATA,
    Column("session", String(64), primary_key=True),
    Column("form", String(43), primary_key=True),
)
