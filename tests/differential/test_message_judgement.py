"""The reference and the suite's oracle, which share no code, judge the same mutated messages alike (P-AG-08)."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from conformance.oracles.message_signatures import judgement, verify_request_members
from conformance.vectors import message_signatures
from reference.protocol.message_signatures import MessageVerifyRequest, explain, verify

NOW = 1_800_000_000
VECTORS = [vector for vector in message_signatures() if "agent" in vector.doors]
LETTERS = "sig=()\"@methodpath;key,:A/+=-_ \t20%?&#{}[]<>.*\\'~!zZ9"
PLACES = ("headers", "headers", "headers", "method", "authority", "path", "scheme", "query", "label", "nothing")
EDITS = st.lists(
    st.tuples(
        st.sampled_from(["insert", "drop", "replace", "repeat"]),
        st.floats(0, 1),
        st.floats(0, 1),
        st.sampled_from(LETTERS),
    ),
    min_size=1,
    max_size=2,
)


def apply_edits(text: str, edits: list[tuple[str, float, float, str]]) -> str:
    """Return a text after a few edits, each at a place given as a fraction of its length."""
    for how, from_, to, letter in edits:
        start, end = sorted((int(from_ * len(text)), int(to * len(text))))
        if how == "insert":
            text = text[:start] + letter + text[start:]
        elif how == "drop":
            text = text[:start] + text[start + 1 :]
        elif how == "replace":
            text = text[:start] + letter + text[start + 1 :]
        else:
            text = text[:end] + text[start:end] + text[end:]
    return text


def mutate_request(
    request: dict[str, Any], place: str, position: float, edits: list[tuple[str, float, float, str]]
) -> Any:
    """Return a request edited in one place."""
    if place == "headers" and request["headers"]:
        name = list(request["headers"])[int(position * (len(request["headers"]) - 1))]
        value = request["headers"][name]
        changed_value = (
            apply_edits(value, edits) if isinstance(value, str) else [apply_edits(one, edits) for one in value]
        )
        return request | {"headers": request["headers"] | {name: changed_value}}
    if place in {"headers", "nothing"}:
        return request
    return request | {place: apply_edits(request.get(place) or "", edits)}


VERDICTS: Counter[bool] = Counter()


@settings(max_examples=400, derandomize=True)
@given(st.sampled_from(VECTORS), st.sampled_from(PLACES), st.floats(0, 1), EDITS)
def judged_alike(vector: Any, place: str, position: float, edits: list[tuple[str, float, float, str]]) -> None:
    """Compare the two on one mutated message."""
    request = mutate_request(json.loads(json.dumps(vector.request)), place, position, edits)
    now = request.setdefault("now", NOW)
    try:
        asked = MessageVerifyRequest.model_validate(request)
    except ValidationError:
        return
    ours = verify(asked, now=now)
    theirs = judgement.judge(
        verify_request_members.message_of(request),
        verify_request_members.key_of(request),
        verify_request_members.policy_of(request),
        now=now,
    )
    VERDICTS[ours["valid"]] += 1

    assert ours["valid"] is theirs.is_valid, (ours["error_codes"], theirs.codes)
    if ours["valid"]:
        assert theirs.base is not None
        assert ours["signature_base"] == theirs.base.text
    assert explain(asked, now=now)["valid"] is ours["valid"]


def test_mutated_messages_are_judged_alike() -> None:
    """Same verdict, and the same base where it is positive; among them messages of both kinds."""
    VERDICTS.clear()
    judged_alike()

    assert min(VERDICTS[True], VERDICTS[False]) > 20


@pytest.mark.parametrize("change", [{"method": "PURGE"}, {"headers": {}}])
def test_the_comparison_can_fail(change: dict[str, Any]) -> None:
    """The control: the oracle sees a difference that only one side is shown."""
    vector = next(one for one in VECTORS if one.expected.valid and '"@method"' in str(one.request["headers"]))
    request = vector.request | {"now": NOW}
    ours = verify(MessageVerifyRequest.model_validate(request), now=NOW)
    changed_request = request | change
    theirs = judgement.judge(
        verify_request_members.message_of(changed_request),
        verify_request_members.key_of(changed_request),
        verify_request_members.policy_of(changed_request),
        now=NOW,
    )

    assert (ours["valid"], theirs.is_valid) == (True, False)
