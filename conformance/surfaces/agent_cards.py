"""What an answer must be to be a JSON document, and to be an agent card."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from conformance.http.client import Answer
from conformance.oracles.strict_json import is_json_type

# What A2A 0.3.0 demands of a card.
CARD_MEMBERS = (
    *("capabilities", "defaultInputModes", "defaultOutputModes", "description", "name", "protocolVersion", "skills"),
    *("url", "version"),
)
_TEXTS: Mapping[str, tuple[str, ...]] = {
    "additionalInterfaces": ("url", "transport"),
    "provider": ("organization", "url"),
}


def describe(answer: Answer) -> str:
    """Return a status, the media type and the beginning of a body."""
    text = answer.body[:120].decode("utf-8", "replace")
    return f"{answer.status} {answer.headers.get('Content-Type', 'without a type')}: {text}"


def is_json_object(answer: Answer) -> bool:
    """Return whether an answer is 200 with a JSON object under a JSON media type."""
    return answer.status == 200 and is_json_type(answer.headers.get("Content-Type")) and _is_object(answer)


def _is_object(answer: Answer) -> bool:
    return bool(answer.object()) or answer.body.strip() == b"{}"


def card_fault(answer: Answer, *, whole: bool) -> str | None:
    """Return what is wrong with an agent card; `whole` asks for all that A2A 0.3.0 demands."""
    if not is_json_object(answer):
        return describe(answer)
    card = answer.object()
    if not isinstance(card.get("name"), str) or not card["name"].strip():
        return "the card has no name"
    missing = [*(name for name in CARD_MEMBERS if name not in card), *_lacking_inside(card)] if whole else []
    return f"the card lacks {', '.join(missing)}" if missing else None


def _lacking_inside(card: Mapping[str, Any]) -> Iterator[str]:
    """Yield the texts that A2A 0.3.0 demands inside of members that a card may have, and that are none."""
    further = card.get("additionalInterfaces")
    named = [("additionalInterfaces", one) for one in (further if isinstance(further, list) else ())]
    named += [("provider", card["provider"])] if "provider" in card else []
    for name, one in named:
        for text in _TEXTS[name]:
            if not isinstance(one, dict) or not isinstance(one.get(text), str) or not one[text]:
                yield f"{name}.{text}"
