"""The judge of audit logs (profile 7.4)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from conformance.oracles.audit_chain import Head, Kind, first_fault, key_bytes
from conformance.vectors.judges import Verdict


def judge(given: Mapping[str, Any]) -> Verdict:
    """Return the verdict on `entries`, `key_hex`, `head` and `partial`.

    Where the log is whole, it tells how many entries there are; else the index (from 0) of the entry that shows the
    first fault, and the number of the entry that is altered, missing or out of its place, if it has one.
    """
    try:
        key = key_bytes(given["key_hex"])
    except ValueError:
        return Verdict.refused(Kind.WRONG_KEY.value)
    entries, noted = given["entries"], given["head"]
    head = None if noted is None else Head(noted["seq"], noted["mac"])
    found = first_fault(entries, key, head=head, partial=given["partial"])
    if found is None:
        return Verdict.holds(entries=len(entries))
    return Verdict.refused(found.kind.value, place=found.place, seq=found.seq)
