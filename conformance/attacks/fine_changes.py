"""Requests that differ from a paid one in very little: a letter's case, the end of a long text, a nested member.

A target that binds a payment to a digest of part of the request, or of a normalised form, confuses some of them with
the paid one.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final, TypeAlias

Place: TypeAlias = tuple[str | int, ...]

_DEPTH: Final = 6
_MOST_PLACES: Final = 8
_LONG: Final = 512
# A text of letters only, which most members accept at their end, and longer than any length at which servers cut texts.
_LETTERS: Final = "weldProof" * 490
_MEMBER: Final = "x-weldproof"
# Members of the interface's requests for which a standard distinguishes letter case: base64url, and a path of HTTP.
_CASED: Final = frozenset({"jws", "path"})


@dataclass(frozen=True, slots=True)
class FineChange:
    """One request that was not paid for.

    Attributes:
        name: The change, and its place.
        body: The changed body.
        sure: Whether it is another request by any reading. If not, a target may read both as the same.
    """

    name: str
    body: Any
    sure: bool = True


def fine_changes(body: Any, known: Any) -> list[FineChange]:
    """Return bodies that differ from `body` in little, each with a unique name.

    Args:
        body: The body that was paid for.
        known: The operation's usual body: a member that it lacks is one that can be left out.
    """
    found: dict[str, FineChange] = {}
    made = (*_texts(body), *_members(body), *_left_out(body, known), *_arrays(body), *_numbers(body))
    for change in made:
        if change.body != body:
            found.setdefault(change.name, change)
    return list(found.values())


def fine_queries(query: str) -> dict[str, str]:
    """Return queries that differ from `query` in little, by the change; their bytes always differ."""
    pairs = query.split("&")
    changed = {
        "another last letter": query[:-1] + ("c" if query.endswith("b") else "b"),
        "its last letter in the other case": query[:-1] + query[-1:].swapcase(),
        "a name in the other case": query[:1].swapcase() + query[1:],
        "its parts the other way round": "&".join(reversed(pairs)),
        "its last part left out": "&".join(pairs[:-1]),
        "its last part twice": "&".join((*pairs, pairs[-1])),
        # RFC 3986, 2.2: an encoded delimiter is data, so no reading takes it for the delimiter itself.
        "an ampersand percent-encoded": "%26".join(query.rsplit("&", 1)),
        "an equals sign percent-encoded": "%3D".join(query.rsplit("=", 1)),
        "an ampersand percent-decoded": query.replace("%26", "&"),
        "a percent sign percent-encoded": query.replace("%", "%25"),
    }
    return {what: text for what, text in changed.items() if text != query}


def equivalent_queries(query: str) -> dict[str, str]:
    """Return queries that are equivalent to `query` by RFC 3986 (6.2.2), by the change; their bytes differ.

    A target, or a proxy in front of it, may normalise a query before it is bound.
    """
    last = max((at for at, letter in enumerate(query) if letter.isascii() and letter.isalpha()), default=None)
    if last is None:
        return {}
    return {"a letter percent-encoded": f"{query[:last]}%{ord(query[last]):02X}{query[last + 1 :]}"}


# It contains an encoded delimiter as data: a target that decodes the query before it splits it reads other parts.
LONG_QUERY: Final = f"trace={_LETTERS[:1530]}&both=a%26b&letter=a"


def longer(body: Any) -> Iterator[Any]:
    """Yield bodies with one text made some KiB longer: first texts inside of objects, then the body's own members."""
    texts = [(place, leaf) for place, leaf in _leaves(body) if isinstance(leaf, str)]
    for place, leaf in sorted(texts, key=lambda one: -len(one[0])):
        yield _put(body, place, leaf + _LETTERS)


def nested(body: Any) -> Iterator[Any]:
    """Yield bodies with an additional member in one of their objects."""
    for name, value in body.items() if isinstance(body, dict) else ():
        if isinstance(value, dict):
            yield {**body, name: {**value, _MEMBER: "weldProof"}}


def _leaves(value: Any, place: Place = ()) -> Iterator[tuple[Place, Any]]:
    """Yield every text, number and truth value with its place, the deepest last."""
    if isinstance(value, dict | list) and len(place) < _DEPTH:
        for name, one in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _leaves(one, (*place, name))
    elif isinstance(value, str | int | float):
        yield place, value


def _put(value: Any, place: Place, new: Any) -> Any:
    """Return a copy of a value with the part at a place replaced."""
    if not place:
        return new
    first, rest = place[0], place[1:]
    if isinstance(value, dict):
        return {name: _put(one, rest, new) if name == first else one for name, one in value.items()}
    return [_put(one, rest, new) if at == first else one for at, one in enumerate(value)]


def _path(place: Place) -> str:
    return "/".join(map(str, place))


def _texts(body: Any) -> Iterator[FineChange]:
    texts = [(place, leaf) for place, leaf in _leaves(body) if isinstance(leaf, str) and leaf]
    # The longest texts first: a digest over a prefix of a text shows only at their ends.
    texts.sort(key=lambda one: -len(one[1]))
    for place, leaf in islice(texts, _MOST_PLACES):
        where = _path(place)
        yield FineChange(f"another letter at the end of {where}", _put(body, place, leaf[:-1] + _letter(leaf[-1])))
        if len(leaf) > _LONG:
            half = len(leaf) // 2
            middle = leaf[:half] + _letter(leaf[half]) + leaf[half + 1 :]
            yield FineChange(f"another letter in the middle of {where}", _put(body, place, middle))
        yield FineChange(
            f"the case of a letter of {where}",
            _put(body, place, _swapped(leaf)),
            sure=place[-1] in _CASED and "%" not in leaf,
        )
        yield from (
            FineChange(f"{where} in {form}", _put(body, place, unicodedata.normalize(form, leaf)), sure=False)
            for form in ("NFC", "NFD")
        )
    for place, leaf in texts[:1]:
        yield FineChange(f"a space behind {_path(place)}", _put(body, place, leaf + " "), sure=False)


def _letter(given: str) -> str:
    """Return another letter, also without regard to case. It is a hexadecimal digit, so that ids keep their form."""
    return "c" if given in "bB" else "b"


def _swapped(text: str) -> str:
    """Return a text with its last letter in the other case, or unchanged if it has no letter with a case."""
    for at in range(len(text) - 1, -1, -1):
        if text[at].isascii() and text[at].isalpha():
            return text[:at] + text[at].swapcase() + text[at + 1 :]
    return text


def _members(body: Any) -> Iterator[FineChange]:
    """Yield bodies with one nested member renamed or left out, and one with a name that differs only in case."""
    for name, value in body.items() if isinstance(body, dict) else ():
        if isinstance(value, dict) and value:
            last, held = list(value.items())[-1]
            rest = {one: other for one, other in value.items() if one != last}
            yield FineChange(f"{last} in {name} renamed", {**body, name: {**rest, f"{last}b": held}}, sure=False)
            yield FineChange(f"{last} in {name} left out", {**body, name: rest}, sure=False)
    if isinstance(body, dict) and body:
        first = next(iter(body))
        yield FineChange(f"{first} also in another case", {**body, first.swapcase(): body[first]}, sure=False)


def _left_out(body: Any, known: Any) -> Iterator[FineChange]:
    if isinstance(body, dict) and isinstance(known, dict):
        for name in [name for name in body if name not in known][:_MOST_PLACES]:
            rest = {one: value for one, value in body.items() if one != name}
            yield FineChange(f"{name} left out", rest)


def _arrays(body: Any) -> Iterator[FineChange]:
    for place, given in islice(_arrays_of(body), _MOST_PLACES):
        if given:
            where = _path(place)
            yield FineChange(f"{where} the other way round", _put(body, place, given[::-1]), sure=False)
            yield FineChange(f"the last of {where} left out", _put(body, place, given[:-1]), sure=False)


def _arrays_of(value: Any, place: Place = ()) -> Iterator[tuple[Place, list[Any]]]:
    if isinstance(value, list):
        yield place, value
    if isinstance(value, dict | list) and len(place) < _DEPTH:
        for name, one in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _arrays_of(one, (*place, name))


def _numbers(body: Any) -> Iterator[FineChange]:
    numbers = [(place, leaf) for place, leaf in _leaves(body) if not isinstance(leaf, str)]
    for place, leaf in numbers[:_MOST_PLACES]:
        where = _path(place)
        if not isinstance(leaf, bool):
            yield FineChange(f"one more at {where}", _put(body, place, leaf + 1))
        yield FineChange(f"{where} as a text", _put(body, place, str(leaf).lower()), sure=False)
