"""Tables of what the checkout page shows of a tenant: name, contact, logo and the addresses of its shop."""

from __future__ import annotations

from sqlalchemy import Column, Index, Integer, LargeBinary, MetaData, String, Table, Text

METADATA = MetaData()

# A tenant without a row is shown by the name that the operator gave it (decision 0072).
merchants = Table(
    "gateway_merchants",
    METADATA,
    Column("tenant_id", String(36), primary_key=True),
    Column("name", String(64), nullable=False),
)

# How payers with a question can contact a tenant.
contacts = Table(
    "gateway_merchant_contacts",
    METADATA,
    Column("tenant_id", String(36), primary_key=True),
    Column("email", String(254), nullable=False),
)

# The logo of a tenant, a PNG. It is public under its SHA-256, so that its address changes with its content and caches
# may keep it.
logos = Table(
    "gateway_logos",
    METADATA,
    Column("tenant_id", String(36), primary_key=True),
    Column("digest", String(64), nullable=False),
    Column("png", LargeBinary, nullable=False),
    Index("gateway_logo", "digest"),
)

# The addresses of a tenant's shop, in its order. The checkout page leads to no other address.
return_addresses = Table(
    "gateway_return_addresses",
    METADATA,
    Column("tenant_id", String(36), primary_key=True),
    Column("place", Integer, primary_key=True),
    Column("address", Text, nullable=False),
)
