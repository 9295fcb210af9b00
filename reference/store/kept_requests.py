"""Requests of claims that are not served yet, kept until the claim is served, refunded or dropped (decision 0048).

They let an operator have a payment served whose payer never comes back.
"""

from __future__ import annotations

from sqlalchemy import BigInteger, LargeBinary, bindparam, cast, delete, exists, insert, select

from reference.store.database import Change, Database
from reference.store.rail_tables import kept_requests, redemptions

# Any client can make a claim before its payment is known. So no longer request is kept with an unpaid claim, or
# strangers could fill the disk.
MOST_UNPAID_BYTES = 4096

_ROW = kept_requests.c
# The values are cast, because PostgreSQL treats a bare value in a query as text.
_NEW = select(
    cast(bindparam("order_of", type_=BigInteger), BigInteger),
    cast(bindparam("request", type_=LargeBinary), LargeBinary),
).where(~exists().where(_ROW.claim_id == bindparam("order_of", type_=BigInteger)))
# Only the first request of a claim is stored: a later call with the same proof has the same request (step 9).
_KEEP = insert(kept_requests).from_select(["claim_id", "request"], _NEW)
_FORGET = delete(kept_requests).where(
    # A claim that is gone was dropped; a spent one was served or refunded. Neither can be served again.
    ~exists().where(redemptions.c.id == _ROW.claim_id, redemptions.c.spent_at.is_(None)).correlate(kept_requests)
)
_GET = select(_ROW.request).where(_ROW.claim_id == bindparam("order_of"))


def build_keep(claim_id: int, request: bytes) -> Change:
    """Return the change that stores the request of a claim, canonical JSON, unless one is stored."""
    return Change(_KEEP, {"order_of": claim_id, "request": request})


def build_forget() -> Change:
    """Return the change that deletes the requests that can no longer be served."""
    return Change(_FORGET)


async def request_of(database: Database, claim_id: int) -> bytes | None:
    """Return the request of a claim, as canonical JSON, or None if it is not kept."""
    rows = await database.rows(_GET, order_of=claim_id)
    return bytes(rows[0][0]) if rows else None
