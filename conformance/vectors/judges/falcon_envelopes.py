"""The judge of credentials and federation tokens in their envelope (profile 8.2, 8.3)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from conformance.oracles.credentials.judging import Question, judge_credential, judge_token
from conformance.vectors.judges import Verdict


def judge(given: Mapping[str, Any]) -> Verdict:
    """Return the verdict on `envelope`; one that holds is told by its kind and the hash of its content."""
    question = Question(
        given["keys"], given["now"], given.get("expected_issuer"), given.get("min_score"), given.get("audience")
    )
    found = (judge_token if given["expect"] == "federation_token" else judge_credential)(given["envelope"], question)
    if found.reason is not None or found.envelope is None:
        return Verdict.refused(found.reason or "")
    return Verdict.holds(type=str(found.kind), content_hash=found.envelope.content_hash)
