"""Tables of the rail. Unique indexes decide every race between workers; no process holds a lock."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Index, Integer, LargeBinary, MetaData, String, Table, Text

METADATA = MetaData()
TERMS_MEMBERS = {"caip2": 96, "asset": 128, "amount": 32, "pay_to": 128}

redemptions = Table(
    "rail_redemptions",
    METADATA,
    # Assigned by the application and growing with time. SQLite stores the table in this order, without another index.
    Column("id", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=False),
    Column("token", String(128), nullable=False),
    Column("payment_key", String(256), nullable=False),
    Column("request_hash", String(80), nullable=False),
    Column("service_id", String(64), nullable=False),
    Column("network", String(64), nullable=False),
    Column("tx_id", String(128), nullable=False),
    Column("amount", String(32), nullable=False),
    Column("pay_to", String(128), nullable=False),
    Column("claimed_at", BigInteger, nullable=False),
    Column("claim_order", BigInteger, nullable=False),
    Column("expires_at", BigInteger, nullable=False),
    Column("lease", String(36)),
    Column("lease_counter", Integer, nullable=False),
    Column("payer", String(128)),
    Column("paid_at", BigInteger),
    Column("spent_at", BigInteger),
    Column("answer", LargeBinary),
    Column("payment_response", Text),
    Column("attestation", Text),
    Column("recheck_at", BigInteger),
    Column("held_until", BigInteger),
    Column("transfer_key", String(160)),
    # One claim for each token and payment (step 13). The partial indexes below are stricter: among paid and spent rows
    # each token, each payment and each transfer occurs once (step 14b).
    Index("rail_claim", "token", "payment_key", unique=True),
)
_is_paid = redemptions.c.paid_at.isnot(None)
Index("rail_paid_token", redemptions.c.token, unique=True, sqlite_where=_is_paid)
Index("rail_paid_payment", redemptions.c.payment_key, unique=True, sqlite_where=_is_paid)
_one_of_several = _is_paid & redemptions.c.transfer_key.isnot(None)
Index(
    "rail_paid_transfer",
    redemptions.c.transfer_key,
    unique=True,
    sqlite_where=_one_of_several,
)
Index("rail_by_payment", redemptions.c.payment_key)
# The few rows that were not served: claims without a time of payment come first, then paid ones.
Index("rail_unserved", redemptions.c.paid_at, sqlite_where=redemptions.c.spent_at.is_(None))
# The rows whose answers are still kept, by the time from which their retention counts: those of about one day.
Index("rail_kept_answers", redemptions.c.spent_at, sqlite_where=redemptions.c.answer.isnot(None))
_has_recheck = redemptions.c.recheck_at.isnot(None)
Index("rail_recheck", redemptions.c.recheck_at, sqlite_where=_has_recheck)

# Claims whose last check reached no node, or whose answer could not be made: they do not lapse (5.8). A separate table,
# so that an existing ledger needs no change.
kept_claims = Table(
    "rail_kept_claims",
    METADATA,
    Column("claim_id", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=False),
    Column("network", String(64), nullable=False),
    Column("since", BigInteger, nullable=False),
    Column("look_at", BigInteger, nullable=False),
    Index("rail_kept_due", "network", "look_at"),
)


def _claim_id_column() -> Column[int]:
    return Column("claim_id", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=False)


# Requests of claims that were not served yet, so that an operator can have them served without the payer (0048).
kept_requests = Table("rail_orders", METADATA, _claim_id_column(), Column("request", LargeBinary, nullable=False))

# Payments that an operator gave back. Their rows in the ledger are spent and have no answer: the column that decides
# whether an answer may be stored also decides this (decision 0048).
refunds = Table(
    "rail_refunds",
    METADATA,
    _claim_id_column(),
    Column("tx_id", String(128), nullable=False),
    Column("refunded_at", BigInteger, nullable=False),
)

# Answers that an operator had served and the payer has not fetched. Their retention begins when the payer comes.
unfetched_answers = Table(
    "rail_unfetched_answers", METADATA, _claim_id_column(), Column("made_at", BigInteger, nullable=False)
)

# Payments that reached the payee and were refused, one row for each, so that the operator can refund them (0067).
refused_payments = Table(
    "rail_refused_payments",
    METADATA,
    Column("payment_key", String(256), primary_key=True),
    Column("network", String(64), nullable=False),
    Column("service_id", String(64), nullable=False),
    Column("amount", String(80), nullable=False),
    Column("pay_to", String(128), nullable=False),
    Column("tx_id", String(128), nullable=False),
    Column("ordinal", Integer, nullable=False),
    Column("payer", String(128), nullable=False),
    Column("code", String(64), nullable=False),
    Column("noted_at", BigInteger, nullable=False),
    Index("rail_refused_by_time", "noted_at"),
)

# Outages: a lane's node was down, or (network "*") no worker ran. Challenges of that time may be presented later.
absences = Table(
    "rail_absences",
    METADATA,
    Column("id", String(36), primary_key=True),
    Column("network", String(64), nullable=False),
    Column("since", BigInteger, nullable=False),
    Column("until", BigInteger, nullable=False),
    Index("rail_absences_by_end", "until"),
)

generations = Table(
    "rail_generations",
    METADATA,
    Column("service_id", String(64), primary_key=True),
    Column("network", String(64), primary_key=True),
    Column("since", BigInteger, primary_key=True),
    Column("caip2", String(96), nullable=False),
    Column("asset", String(128), primary_key=True),
    Column("amount", String(32), primary_key=True),
    Column("pay_to", String(128), primary_key=True),
    Column("until", BigInteger),
)

# The terms that are in force now, one row for each service and lane. `place` counts the changes, for compare and set.
terms_in_force = Table(
    "rail_terms_in_force",
    METADATA,
    Column("service_id", String(64), primary_key=True),
    Column("network", String(64), primary_key=True),
    Column("place", BigInteger, nullable=False),
    *(Column(name, String(most), nullable=False) for name, most in TERMS_MEMBERS.items()),
)

# Facts that all workers of one rail share, by name.
facts = Table(
    "rail_facts",
    METADATA,
    Column("name", String(64), primary_key=True),
    Column("value", String(256), nullable=False),
)

# Transactions of the rail itself, one row for each nonce. The worker that inserts the row owns the nonce (P-LN-07).
settlements = Table(
    "rail_settlements",
    METADATA,
    Column("caip2", String(96), primary_key=True),
    Column("settler", String(64), primary_key=True),
    Column("nonce", BigInteger, primary_key=True, autoincrement=False),
    Column("token", String(128), nullable=False),
    Column("payment_key", String(256), nullable=False),
    Column("payer", String(64), nullable=False),
    Column("authorization", Text, nullable=False),
    Column("raw", LargeBinary, nullable=False),
    Column("hashes", Text, nullable=False),
    Column("fee", String(80), nullable=False),
    Column("tip", String(80), nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("sent_at", BigInteger, nullable=False),
    Column("fate", String(16), nullable=False),
    Column("closed_at", BigInteger),
)
_is_open = settlements.c.fate == "open"
# One open settlement for each token: a second one would pay for the same challenge twice (P-ST-08).
Index("rail_open_settlement", settlements.c.token, unique=True, sqlite_where=_is_open)
Index("rail_failed_settlements", settlements.c.payer, settlements.c.closed_at)
Index("rail_closed_settlements", settlements.c.closed_at)

# A2A tasks. `place` grows with the time of opening, so that the oldest tasks of a client can be evicted.
tasks = Table(
    "rail_tasks",
    METADATA,
    Column("id", String(36), primary_key=True),
    Column("opener", String(64), nullable=False),
    Column("place", BigInteger, nullable=False),
    Column("expires_at", BigInteger, nullable=False),
    Column("version", Integer, nullable=False),
    Column("data", LargeBinary, nullable=False),
    Index("rail_tasks_of_opener", "opener", "place"),
    Index("rail_tasks_by_end", "expires_at"),
)
