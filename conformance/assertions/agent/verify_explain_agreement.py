"""Whether an agent's verify and explain agree."""

from __future__ import annotations

from collections.abc import Mapping

from conformance.engine.check import Case
from conformance.http.client import Answer
from conformance.oracles.message_signatures.digests import digest_value
from conformance.surfaces.agent import Agent


def judge_agreement(
    case: Case,
    agent: Agent,
    verdicts: tuple[bool | None, bool | None],
    finding: str,
    answer: Answer,
    where: Mapping[str, str],
) -> None:
    """Judge that the verdicts of verify and explain agree. A verdict that cannot be read decides nothing."""
    row = "AGENT-EXPLAIN-11"
    if None in verdicts and not agent.is_reference:
        case.mark_inconclusive(row, "one of the two verdicts cannot be read, which other rows judge", exchange=answer)
        return
    case.expect(row, verdicts[0] is verdicts[1], "one verdict", finding, exchange=answer, where=where)


def compute_digests(body: bytes) -> list[str]:
    """Return the content's digests in base64: sha-256, then sha-512."""
    return [digest_value(body, name).partition("=:")[2].rstrip(":") for name in ("sha-256", "sha-512")]


def is_readable(note: str) -> bool:
    """Return whether a note is a sentence for people: at least three words."""
    # Codes and single words are not enough: the row requires a note for people.
    return len([word for word in note.split() if any(letter.isalpha() for letter in word)]) > 2
