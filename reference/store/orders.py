"""What those who were not served yet have asked for: kept with the claim, gone when it is served, refunded or dropped.

Without it only the payer's own call could be served; an operator could do nothing for one who does not come back.
"""

from __future__ import annotations

from sqlalchemy import BigInteger, LargeBinary, bindparam, cast, delete, exists, insert, select

from reference.store.database import Change, Database
from reference.store.tables import orders, redemptions

# A claim of which nobody knows whether it pays is anybody's to make: of its request no more than this is kept.
MOST_UNPAID_BYTES = 4096

_ROW = orders.c
# Casts, as PostgreSQL takes a value that stands in a query of its own for text.
_NEW = select(
    cast(bindparam("order_of", type_=BigInteger), BigInteger),
    cast(bindparam("request", type_=LargeBinary), LargeBinary),
).where(~exists().where(_ROW.claim_id == bindparam("order_of", type_=BigInteger)))
_KEEP = insert(orders).from_select(["claim_id", "request"], _NEW)
_FORGET = delete(orders).where(
    ~exists().where(redemptions.c.id == _ROW.claim_id, redemptions.c.spent_at.is_(None)).correlate(orders)
)
_GET = select(_ROW.request).where(_ROW.claim_id == bindparam("order_of"))


def keeping(claim_id: int, request: bytes) -> Change:
    """Return the change that keeps a request, canonical JSON, unless that claim's is kept already."""
    return Change(_KEEP, {"order_of": claim_id, "request": request})


def forgetting() -> Change:
    """Return the change that forgets what nobody can be served for any more."""
    return Change(_FORGET)


async def order_of(database: Database, claim_id: int) -> bytes | None:
    """Return what a claim asks for, as canonical JSON, or None when it is not kept."""
    rows = await database.rows(_GET, order_of=claim_id)
    return bytes(rows[0][0]) if rows else None
