"""Judgement of an addon's refusal: it must be a verdict, not a failing service."""

from __future__ import annotations

from collections.abc import Mapping

from conformance.engine.check import Case
from conformance.http.client import Answer

# From this status on, the server failed to decide.
_SERVER_FAULT = 500


def judge_refusal(case: Case, row: str, answer: Answer, *, is_taken: bool, word: str, where: Mapping[str, str]) -> None:
    """Judge a row by an answer that must not accept its subject.

    Args:
        case: The check.
        row: The row.
        answer: The addon's answer.
        is_taken: Whether the answer accepts the subject.
        word: The word for acceptance, such as `valid`.
        where: The subject, for the reader.
    """
    # The interface names no status of an addon's refusal, so any answer except a server fault is
    # one. A 5xx says neither yes nor no, so it neither fails nor passes.
    if answer.status >= _SERVER_FAULT and not is_taken:
        about = ", ".join(where.values())
        case.mark_inconclusive(
            row, f"the answer {answer.status} is no verdict ({about}): refuse it in words", exchange=answer
        )
        return
    case.expect(row, not is_taken, f"not {word}", word if is_taken else f"not {word}", exchange=answer, where=where)
