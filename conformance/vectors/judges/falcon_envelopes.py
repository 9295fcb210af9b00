"""The judge of credentials and federation tokens in their envelope (profile 8.2, 8.3)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from conformance.oracles.credentials.judging import Question, judge_credential, judge_token
from conformance.vectors.judges import Verdict


def judge(given: Mapping[str, Any]) -> Verdict:
    """Return the verdict on `envelope`; for a valid one with its kind and the hash of its content."""
    question = Question(
        given["keys"], given["now"], given.get("expected_issuer"), given.get("min_score"), given.get("audience")
    )
    verdict = (judge_token if given["expect"] == "federation_token" else judge_credential)(given["envelope"], question)
    if verdict.reason is not None or verdict.envelope is None:
        return Verdict.refuse(verdict.reason or "")
    return Verdict.holds(type=str(verdict.kind), content_hash=verdict.envelope.content_hash)
