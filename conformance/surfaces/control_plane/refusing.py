"""Whether an addon refuses what it must refuse: a verdict that says so, not a service that falls over."""

from __future__ import annotations

from collections.abc import Mapping

from conformance.engine.check import Case
from conformance.http.client import Answer

_SERVER_FAULT = 500


def judge_refusal(case: Case, row: str, answer: Answer, *, is_taken: bool, word: str, where: Mapping[str, str]) -> None:
    """Judge a row by an answer that must not take what it was asked about.

    The interface names no status of an addon's refusal, so any answer but a server's fault is one. A 5xx says neither
    yes nor no: it fails nobody, and is no pass.

    Args:
        case: The check.
        row: The row.
        answer: What the addon answered.
        taken: Whether that takes it.
        word: What it is called when it is taken, such as `valid`.
        where: What the addon was asked about.
    """
    if answer.status >= _SERVER_FAULT and not is_taken:
        about = ", ".join(where.values())
        case.mark_inconclusive(
            row, f"the answer {answer.status} is no verdict ({about}): refuse it in words", exchange=answer
        )
        return
    case.expect(row, not is_taken, f"not {word}", word if is_taken else f"not {word}", exchange=answer, where=where)
