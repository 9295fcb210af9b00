"""The checks of forms and of the order of checks, against answers by the table of 3.2."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from conformance.assertions.gateway import refusals
from conformance.assertions.gateway.refusals import Refusal
from conformance.checks.gateway import refusal_order, refused_forms
from conformance.http.client import Answer
from tests.conformance.checks.gateway.recorded_case import TENANT, RecordedCase, answer_refusal, build_answer

LISTS = {refusal_order: ["_list_pairs", "_list_creation_pairs"]}
LISTS[refused_forms] = [
    "_list_other_paths",
    "_list_size_refusals",
    "_list_receipt_refusals",
    "_list_form_refusals",
    "_list_link_refusals",
]
CHECKS = {
    refusal_order: refusal_order.the_first_failing_check_answers,
    refused_forms: refused_forms.requests_outside_of_the_forms_are_refused,
}


async def run(module: Any, monkeypatch: pytest.MonkeyPatch, wrong: str = "", **changes: Any) -> RecordedCase:
    """Run a check against a gateway that answers by the table, except for the refusals whose description begins so."""
    expected: list[Refusal] = []

    def keep(function: Any) -> Any:
        def keep_refusals(*arguments: Any) -> list[Refusal]:
            refusals = list(function(*arguments))
            expected.extend(refusals)
            return refusals

        return keep_refusals

    for name in LISTS[module]:
        monkeypatch.setattr(module, name, keep(getattr(module, name)))

    async def answer(method: str, path: str, *, body: bytes | None, headers: Mapping[str, str]) -> Answer:
        call = (method, path, body, headers)
        refusal = next(one for one in expected if one.call == call)
        return answer_refusal(refusal, **(changes if wrong and refusal.description.startswith(wrong) else {}))

    async def create(*_: Any, **__: Any) -> Answer:
        return build_answer(201, {"token": "A"})

    monkeypatch.setattr(refusals, "target_of", lambda _: answer)
    if module is refusal_order:
        monkeypatch.setattr(module, "create_link", create)
    case = RecordedCase(answer)
    await CHECKS[module](case)
    return case


@pytest.mark.parametrize("module", CHECKS)
async def test_answers_by_the_table_pass(module: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every refusal has its status, code and members."""
    case = await run(module, monkeypatch)
    assert case.breaches == []
    assert case.judged > 20


@pytest.mark.parametrize(
    ("module", "wrong", "changes"),
    [
        (refusal_order, "method, credential", {"status": 401, "error": "invalid_api_key"}),
        (refusal_order, "tenant, media type", {"status": 415, "error": "unsupported_media_type"}),
        (refusal_order, "used Idempotency-Key, network", {"status": 400, "error": "unsupported_network"}),
        (refused_forms, "the path", {"status": 401}),
        (refused_forms, "the unknown link", {"request_id": "req_2"}),
        (refused_forms, "a body of more", {"limit": 1}),
        (refused_forms, "an empty body without", {"status": 415}),
        (refused_forms, "no receipt", {"detail": []}),
        (refused_forms, "a text of no characters", {"error_code": "OTHER"}),
        (refused_forms, "an invalid receipt", {"message": "another"}),
        (refused_forms, "an invalid receipt", {"verified": True}),
        (refused_forms, "a label with U+202E", {"detail": [{"loc": ["body"], "msg": "no", "type": "label_form"}]}),
        (refused_forms, "an Idempotency-Key with no characters", {"status": 201}),
    ],
)
async def test_another_answer_breaks_the_row(
    module: Any, wrong: str, changes: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One refusal with another status, code or member is a breach, and no other is."""
    case = await run(module, monkeypatch, wrong, **changes)
    assert case.breaches
    assert {row for row, _ in case.breaches} == {module.ROW}
    assert all(value.startswith(wrong) for _, where in case.breaches for value in where.values())


def test_each_character_that_turns_text_is_sent() -> None:
    """Labels with each control character and each character that turns the direction of text (3.4)."""
    case = RecordedCase(lambda: None)  # type: ignore[arg-type, return-value]
    names = [one.description for one in refused_forms._list_link_refusals(case, TENANT)]  # type: ignore[arg-type]
    for code in ("0000", "001F", "007F", "061C", "200E", "202A", "202E", "2066", "2069"):
        assert f"a label with U+{code}" in names
