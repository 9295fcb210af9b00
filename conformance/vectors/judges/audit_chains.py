"""The judge of audit logs (profile 7.4)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from conformance.oracles.audit_chain import Head, Kind, first_fault, key_bytes
from conformance.vectors.judges import Verdict


def judge(question: Mapping[str, Any]) -> Verdict:
    """Return the verdict on `entries`, `key_hex`, `head` and `partial`.

    For an intact log its value is the number of entries. Otherwise the values are the index (from 0) of the entry that
    shows the first fault, and the number of the altered, missing or misplaced entry, if it has one.
    """
    try:
        key = key_bytes(question["key_hex"])
    except ValueError:
        return Verdict.refuse(Kind.WRONG_KEY.value)
    # The head is optional: without it, a log that was cut at its end is valid, since its chain is intact.
    entries, noted = question["entries"], question["head"]
    head = None if noted is None else Head(noted["seq"], noted["mac"])
    verdict = first_fault(entries, key, head=head, partial=question["partial"])
    if verdict is None:
        return Verdict.holds(entries=len(entries))
    return Verdict.refuse(verdict.kind.value, place=verdict.place, seq=verdict.seq)
