"""Reader of a control plane's answers: at a bound place, else by usual names and values."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from conformance.surfaces.agent.answer_reader import ABSENT, at, leaves, values_at

_HEALTHY: Final = frozenset(
    {"ok", "healthy", "up", "pass", "passing", "passed", "online", "alive", "green", "running", "ready", "good", "true"}
)
_NAMES: Final = ("healthy", "is_healthy", "health", "status", "state", "up", "ok", "alive", "reachable", "available")
_COUNTED_NOUNS: Final = {"issuers": "issuer", "services": "service"}
_DID = re.compile(r"did:[a-z0-9]+:\S+")


def count(document: Any, noun: str, place: str | None) -> int | None:
    """Return the number of issuers or services in a health document, or None."""
    if place is not None:
        values = values_at(document, place)
        return values[0] if len(values) == 1 and _is_count(values[0]) else None
    ranked_counts = [
        (rank, value) for name, value in leaves(document) if (rank := _rank(name, noun)) and _is_count(value)
    ]
    return min(ranked_counts, key=lambda one: one[0])[1] if ranked_counts else None


def is_ambiguous(document: Any, noun: str) -> bool:
    """Return whether several numbers of a health document may be the count, where no place is bound."""
    ranks = [rank for name, value in leaves(document) if (rank := _rank(name, noun)) and _is_count(value)]
    return ranks.count(min(ranks, default=0)) > 1


def _rank(place: str, noun: str) -> int:
    """Return how likely a place is a count: 1 is the most likely, 0 is no count."""
    word, name = _COUNTED_NOUNS[noun], place.rpartition(".")[2].lower()
    if word in name:
        return 1 if name == noun else 2 if any(one in name for one in ("count", "total", "number")) else 3
    # A service also has other numbers, such as an uptime, so a place below the noun counts least.
    return 4 if word in place.lower() else 0


def has_counts(document: Any) -> bool:
    """Return whether a document contains a whole number."""
    return any(_is_count(value) for _, value in leaves(document))


def _is_count(value: Any) -> bool:
    # True is an integer in Python, but not a count.
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def records(posture: Any, name: str, base_url: str, place: str | None) -> list[Any]:
    """Return the records of a posture about a service: objects, or values that are listed under its name.

    Args:
        posture: The document.
        name: The name under which it was registered.
        base_url: The address with which it was registered.
        place: Place of the names; None searches name and address everywhere.
    """
    if place is None:
        return list(_records(posture, name, base_url.rstrip("/")))
    # The last part of the place is the name's member. The records are above it.
    above, _, last = place.rpartition(".")
    if last == "*":
        return [one[name] for one in values_at(posture, above) if isinstance(one, Mapping) and name in one]
    return [one for one in values_at(posture, above) if isinstance(one, Mapping) and values_at(one, last) == [name]]


def _records(value: Any, name: str, base_url: str) -> Iterator[Any]:
    """Yield the innermost objects that contain the name or address of a service."""
    if isinstance(value, Mapping):
        # A service may be listed by its name, its address, or a health address below it.
        own = [text for text in value.values() if isinstance(text, str) and (text == name or text.startswith(base_url))]
        if own:
            yield value
            return
        for member_name, member in value.items():
            if member_name == name:
                yield member
            else:
                yield from _records(member, name, base_url)
    elif isinstance(value, list):
        for item in value:
            if item == name:
                yield item
            else:
                yield from _records(item, name, base_url)


def read_health(record: Any, name_at: str | None, healthy_at: str | None) -> bool | None:
    """Return whether a posture's record says that its service is healthy, or None if it has no readable state."""
    if healthy_at is not None:
        above = (name_at or "").rpartition(".")[0]
        own = healthy_at.removeprefix(above).removeprefix(".").removeprefix("*").removeprefix(".")
        values = values_at(record, own) if own else [record]
        return _truth(values[0]) if len(values) == 1 else None
    if not isinstance(record, Mapping):
        return _truth(record)
    members = {place.rpartition(".")[2].lower(): value for place, value in reversed(list(leaves(record)))}
    states = [_truth(members[name]) for name in _NAMES if name in members]
    return next((one for one in states if one is not None), None)


def _truth(value: Any) -> bool | None:
    if isinstance(value, bool):
        return value
    if isinstance(value, str):
        # Every other word means unhealthy, also "unknown", "pending" and "degraded": only a word of
        # health says that the service was reached.
        return value.strip().lower() in _HEALTHY
    return False if value is None else None


def entries(document: Any, place: str | None) -> list[Any] | None:
    """Return the list of log entries, or None."""
    if place is not None:
        found = document if not place else at(document, place)
        return found if isinstance(found, list) else None
    lists = [value for _, value in leaves(document) if isinstance(value, list)]
    lists_of_objects = [one for one in lists if one and all(isinstance(entry, Mapping) for entry in one)]
    # An empty log is an empty list, which counts only if there is no list of objects.
    return next(iter(lists_of_objects or lists), None)


def flatten_entry(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return the members of an entry and of its objects, by their places."""
    return {place: value for place, value in leaves(entry) if place and not isinstance(value, Mapping | list)}


def mentions(value: Any, text: str) -> bool:
    """Return whether a document contains a text in a value or in a member's name."""
    if isinstance(value, str):
        return text in value
    if isinstance(value, Mapping):
        return any(text in str(name) or mentions(member, text) for name, member in value.items())
    return isinstance(value, list) and any(mentions(one, text) for one in value)


def is_did(text: Any) -> bool:
    """Return whether a text has the form of a DID."""
    return isinstance(text, str) and _DID.fullmatch(text) is not None


def decode_base64(text: Any) -> bytes | None:
    """Return the bytes of base64 in either alphabet, padded or not, or None."""
    if not isinstance(text, str) or not text.isascii():
        return None
    # The interface does not fix the spelling of keys, so a reader must accept all of them.
    bare = text.rstrip("=").replace("-", "+").replace("_", "/")
    try:
        return base64.b64decode(bare + "=" * (-len(bare) % 4), validate=True)
    except (binascii.Error, ValueError):
        return None


def fill_template(template: Any, values: Mapping[str, str]) -> Any:
    """Return a template with its placeholders filled in; a member whose placeholder has no value is left out."""
    if isinstance(template, Mapping):
        members = {name: fill_template(member, values) for name, member in template.items()}
        return {name: member for name, member in members.items() if member is not ABSENT}
    if isinstance(template, list | tuple):
        return [one for one in (fill_template(member, values) for member in template) if one is not ABSENT]
    if not isinstance(template, str):
        return template
    # A placeholder without a value removes its member, because null could be refused.
    if re.fullmatch(r"\{[a-z_]+\}", template) and template[1:-1] not in values:
        return ABSENT
    for name, value in values.items():
        template = template.replace("{" + name + "}", value)
    return template
