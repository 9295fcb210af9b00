"""The family of audit logs: its files, its judge, and the second verifier."""

from __future__ import annotations

from typing import Final

from conformance.vectors.judges.audit_chains import judge
from tools.vectors_builder.audit_chains import altered, order, second_opinion, valid
from tools.vectors_builder.family import Family

FAMILY: Final = Family(
    name="audit_chains",
    prefix="audit",
    title="audit logs chained by HMAC-SHA256 over canonical JSON (profile 7.4)",
    input={
        "entries": "what may be entries of the log, in the order they came",
        "key_hex": "the chain key: what may be 32 bytes in hexadecimal",
        "head": "seq and mac of the newest entry, noted apart from the log and no later than it; or null",
        "partial": "whether the entries may begin in the middle of the log",
    },
    stages=("wrong_key", "malformed", "altered", "reordered", "missing", "unlinked", "cut_tail"),
    files={
        "valid.json": (valid.lengths, valid.heads, valid.canonical),
        "altered.json": (altered.members, altered.macs, altered.forged_entries),
        "wrong_key.json": (altered.wrong_keys,),
        "order.json": (
            order.entries_taken_out,
            order.entries_in_another_order,
            order.entries_without_links,
            order.cut_tails,
            order.malformed_logs,
        ),
    },
    judge=judge,
    second=second_opinion.complaints,
)
