"""The judge of ZK receipts (profile 8.4)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from conformance.oracles.credentials.judging import Question, judge_receipt
from conformance.vectors.judges import Verdict


def judge(question: Mapping[str, Any]) -> Verdict:
    """Return the verdict on `receipt`; the code of a refused proof names the place."""
    verdict = judge_receipt(question["receipt"], Question(question["keys"], question["now"]))
    if verdict.reason is not None or verdict.envelope is None:
        # Only the proof itself has codes; the envelope's stages explain themselves.
        codes = () if verdict.refusal is None else (verdict.refusal.value,)
        return Verdict.refuse(verdict.reason or "", *codes)
    return Verdict.holds(content_hash=verdict.envelope.content_hash)
