"""Agent cards: the faults of an answer as a JSON document and as a card of A2A 0.3.0."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from conformance.http.client import Answer
from conformance.oracles.member_rules import Rules, equals, find_listed_faults, is_an
from conformance.oracles.strict_json import is_json_type

# Members that A2A 0.3.0 demands of a card.
CARD_MEMBERS = (
    *("capabilities", "defaultInputModes", "defaultOutputModes", "description", "name", "protocolVersion", "skills"),
    *("url", "version"),
)
_EXTENSIONS = "capabilities.extensions"
# Texts that A2A 0.3.0 demands of each entry, if the card has the list or object at all.
_TEXTS: Mapping[str, tuple[str, ...]] = {
    "additionalInterfaces": ("url", "transport"),
    "skills": ("id", "name", "description"),
    _EXTENSIONS: ("uri",),
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
    return bool(answer.read_object()) or answer.body.strip() == b"{}"


def card_fault(answer: Answer, *, whole: bool) -> str | None:
    """Return what is wrong with an agent card, or None; `whole` applies all demands of A2A 0.3.0."""
    if not is_json_object(answer):
        return describe(answer)
    card = answer.read_object()
    # The interface demands only a card in JSON; a card without a name is of no use to a client. The
    # rest of A2A 0.3.0 is judged by a separate row.
    if not isinstance(card.get("name"), str) or not card["name"].strip():
        return "the card has no name"
    # The members are listed in the order of the standard, so that a reader finds them there.
    missing_members = [*(name for name in CARD_MEMBERS if name not in card), *_missing_inside(card)] if whole else []
    return f"the card lacks {', '.join(missing_members)}" if missing_members else None


def find_specified_faults(card: Mapping[str, Any], endpoint: str, version: str, own_rules: Rules) -> list[str]:
    """Return the members of a card that are not as P-RA-01 says, in words; further members of A2A 0.3 are no faults.

    Args:
        card: The card.
        endpoint: The address that it must name for JSON-RPC.
        version: The version of the service.
        own_rules: Rules for members that differ between services, with `capabilities` and `skills` among them.
    """
    modes = equals(["application/json", "text/plain"])
    rules: Rules = {
        "protocolVersion": equals("0.3.0"),
        "name": is_an(str),
        "description": is_an(str),
        "url": equals(endpoint),
        "preferredTransport": equals("JSONRPC"),
        "additionalInterfaces": equals([{"url": endpoint, "transport": "JSONRPC"}]),
        "version": equals(version),
        "provider": is_an(dict),
        "defaultInputModes": modes,
        "defaultOutputModes": modes,
        "securitySchemes": equals({}),
        "security": equals([]),
        "supportsAuthenticatedExtendedCard": equals(False),
        **own_rules,
    }
    faults = find_listed_faults(card, rules, "the card")
    return [*faults, "supportedInterfaces, a member of A2A 1.0"] if "supportedInterfaces" in card else faults


def extension_uris(card: Mapping[str, Any]) -> list[Any]:
    """Return the URIs of the extensions that a card declares; a malformed declaration gives None."""
    capabilities = card.get("capabilities")
    extensions = capabilities.get("extensions") if isinstance(capabilities, dict) else None
    return [_member(one, "uri") for one in extensions] if isinstance(extensions, list) else []


def _missing_inside(card: Mapping[str, Any]) -> Iterator[str]:
    """Yield the faults inside members of a card, by A2A 0.3.0: a wrong type, or a missing text."""
    capabilities = card.get("capabilities")
    within = capabilities if isinstance(capabilities, dict) else {}
    members = {**card, **{f"capabilities.{name}": value for name, value in within.items()}}
    for (form, holds), names in _FORMS.items():
        yield from (f"{form} as {name}" for name in names if name in members and not holds(members[name]))
    for name, texts in _TEXTS.items():
        member = members.get(name)
        for entry in member if isinstance(member, list) else [member] if isinstance(member, dict) else ():
            yield from (f"{name}.{text}" for text in texts if not _is_text(_member(entry, text)))
    skills = members.get("skills")
    tags = [_member(skill, "tags") for skill in skills] if isinstance(skills, list) else []
    yield from ("skills.tags" for entry in tags if not _are_texts(entry))


def _member(holder: Any, name: str) -> Any:
    return holder.get(name) if isinstance(holder, dict) else None


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value)


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


# Types are checked only for members that are present. `CARD_MEMBERS` lists those that must be
# present.
_FORMS: Mapping[tuple[str, Callable[[Any], bool]], tuple[str, ...]] = {
    ("a text", lambda value: isinstance(value, str)): (
        "description",
        "url",
        "version",
        "protocolVersion",
        "preferredTransport",
    ),
    ("texts", _are_texts): ("defaultInputModes", "defaultOutputModes"),
    ("a list", lambda value: isinstance(value, list)): ("skills", "additionalInterfaces", "security", _EXTENSIONS),
    ("an object", lambda value: isinstance(value, dict)): ("capabilities", "provider", "securitySchemes"),
    ("true or false", lambda value: isinstance(value, bool)): (
        "supportsAuthenticatedExtendedCard",
        "capabilities.streaming",
        "capabilities.pushNotifications",
        "capabilities.stateTransitionHistory",
    ),
}
