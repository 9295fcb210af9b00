"""The judge of ZK receipts (profile 8.4)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from conformance.oracles.credentials.judging import Question, judge_receipt
from conformance.vectors.judges import Verdict


def judge(given: Mapping[str, Any]) -> Verdict:
    """Return the verdict on `receipt`; of a proof that is refused, the code says where."""
    found = judge_receipt(given["receipt"], Question(given["keys"], given["now"]))
    if found.reason is not None or found.envelope is None:
        codes = () if found.refusal is None else (found.refusal.value,)
        return Verdict.refused(found.reason or "", *codes)
    return Verdict.holds(content_hash=found.envelope.content_hash)
