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

# Deep enough for every body of the interface, and a bound for one that nests without end.
_DEPTH: Final = 6
# For each kind of change. More places would cost calls, and only repeat what the first ones show.
_MOST_PLACES: Final = 8
# Characters. Only in longer texts a change in the middle adds something to the change at the end.
_LONG: Final = 512
# A text of letters only, which most members accept at their end, and longer than any length at which servers cut texts.
_LETTERS: Final = "weldProof" * 490
_MEMBER: Final = "x-weldproof"
# Members of the interface's requests for which a standard distinguishes letter case: base64url, and a path of HTTP.
_CASE_SENSITIVE: Final = frozenset({"jws", "path"})


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


def list_fine_changes(body: Any, usual_body: Any) -> list[FineChange]:
    """Return bodies that differ from `body` in little, each with a unique name.

    Args:
        body: The body that was paid for.
        usual_body: The operation's usual body: a member that it lacks is one that can be left out.
    """
    changes_by_name: dict[str, FineChange] = {}
    changes = (
        *_change_texts(body),
        *_change_members(body),
        *_drop_members(body, usual_body),
        *_change_arrays(body),
        *_change_numbers(body),
    )
    for change in changes:
        # Some changes have no effect on some bodies, such as a reversed array of one member.
        if change.body != body:
            changes_by_name.setdefault(change.name, change)
    return list(changes_by_name.values())


def list_fine_queries(query: str) -> dict[str, str]:
    """Return queries that differ from `query` in little, by the change; their bytes always differ."""
    pairs = query.split("&")
    queries_by_change = {
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
    return {what: text for what, text in queries_by_change.items() if text != query}


def list_equivalent_queries(query: str) -> dict[str, str]:
    """Return queries that are equivalent to `query` by RFC 3986 (6.2.2), by the change; their bytes differ.

    A target, or a proxy in front of it, may normalise a query before it is bound.
    """
    last = max((at for at, letter in enumerate(query) if letter.isascii() and letter.isalpha()), default=None)
    if last is None:
        return {}
    return {"a letter percent-encoded": f"{query[:last]}%{ord(query[last]):02X}{query[last + 1 :]}"}


# It contains an encoded delimiter as data: a target that decodes the query before it splits it reads other parts.
LONG_QUERY: Final = f"trace={_LETTERS[:1530]}&both=a%26b&letter=a"


def lengthen_texts(body: Any) -> Iterator[Any]:
    """Yield bodies with one text made some KiB longer: first texts inside of objects, then the body's own members."""
    texts = [(place, leaf) for place, leaf in _find_leaves(body) if isinstance(leaf, str)]
    for place, leaf in sorted(texts, key=lambda one: -len(one[0])):
        yield _replace_part(body, place, leaf + _LETTERS)


def add_nested_members(body: Any) -> Iterator[Any]:
    """Yield bodies with an additional member in one of their objects."""
    for name, value in body.items() if isinstance(body, dict) else ():
        if isinstance(value, dict):
            yield {**body, name: {**value, _MEMBER: "weldProof"}}


def _find_leaves(value: Any, place: Place = ()) -> Iterator[tuple[Place, Any]]:
    """Yield every text, number and truth value with its place, the deepest last."""
    if isinstance(value, dict | list) and len(place) < _DEPTH:
        for name, part in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _find_leaves(part, (*place, name))
    elif isinstance(value, str | int | float):
        yield place, value


def _replace_part(value: Any, place: Place, new: Any) -> Any:
    """Return a copy of a value with the part at a place replaced."""
    if not place:
        return new
    step, inner_place = place[0], place[1:]
    if isinstance(value, dict):
        return {name: _replace_part(one, inner_place, new) if name == step else one for name, one in value.items()}
    return [_replace_part(one, inner_place, new) if at == step else one for at, one in enumerate(value)]


def _join_place(place: Place) -> str:
    return "/".join(map(str, place))


def _change_texts(body: Any) -> Iterator[FineChange]:
    texts = [(place, leaf) for place, leaf in _find_leaves(body) if isinstance(leaf, str) and leaf]
    # The longest texts first: a digest over a prefix of a text shows only at their ends.
    texts.sort(key=lambda one: -len(one[1]))
    for place, leaf in islice(texts, _MOST_PLACES):
        where = _join_place(place)
        yield FineChange(
            f"another letter at the end of {where}", _replace_part(body, place, leaf[:-1] + _other_letter(leaf[-1]))
        )
        if len(leaf) > _LONG:
            half = len(leaf) // 2
            middle = leaf[:half] + _other_letter(leaf[half]) + leaf[half + 1 :]
            yield FineChange(f"another letter in the middle of {where}", _replace_part(body, place, middle))
        yield FineChange(
            f"the case of a letter of {where}",
            _replace_part(body, place, _swap_last_case(leaf)),
            # The hexadecimal digits of a percent-encoding are equal in both cases (RFC 3986, 6.2.2.1).
            sure=place[-1] in _CASE_SENSITIVE and "%" not in leaf,
        )
        yield from (
            FineChange(f"{where} in {form}", _replace_part(body, place, unicodedata.normalize(form, leaf)), sure=False)
            # Unicode normal forms look the same to a reader and differ in bytes, so a target may normalise them.
            for form in ("NFC", "NFD")
        )
    # One text is enough here: trimming of white space is done for all members or for none.
    for place, leaf in texts[:1]:
        yield FineChange(f"a space behind {_join_place(place)}", _replace_part(body, place, leaf + " "), sure=False)


def _other_letter(letter: str) -> str:
    """Return another letter, also without regard to case. It is a hexadecimal digit, so that ids keep their form."""
    return "c" if letter in "bB" else "b"


def _swap_last_case(text: str) -> str:
    """Return a text with its last letter in the other case, or unchanged if it has no letter with a case."""
    for at in range(len(text) - 1, -1, -1):
        if text[at].isascii() and text[at].isalpha():
            return text[:at] + text[at].swapcase() + text[at + 1 :]
    return text


def _change_members(body: Any) -> Iterator[FineChange]:
    """Yield bodies with one nested member renamed or left out, and one with a name that differs only in case."""
    for name, value in body.items() if isinstance(body, dict) else ():
        if isinstance(value, dict) and value:
            last_name, last_value = list(value.items())[-1]
            other_members = {one: other for one, other in value.items() if one != last_name}
            yield FineChange(
                f"{last_name} in {name} renamed",
                {**body, name: {**other_members, f"{last_name}b": last_value}},
                sure=False,
            )
            yield FineChange(f"{last_name} in {name} left out", {**body, name: other_members}, sure=False)
    if isinstance(body, dict) and body:
        first_name = next(iter(body))
        yield FineChange(
            f"{first_name} also in another case", {**body, first_name.swapcase(): body[first_name]}, sure=False
        )


def _drop_members(body: Any, usual_body: Any) -> Iterator[FineChange]:
    if isinstance(body, dict) and isinstance(usual_body, dict):
        for name in [name for name in body if name not in usual_body][:_MOST_PLACES]:
            other_members = {one: value for one, value in body.items() if one != name}
            yield FineChange(f"{name} left out", other_members)


def _change_arrays(body: Any) -> Iterator[FineChange]:
    for place, array in islice(_find_arrays(body), _MOST_PLACES):
        if array:
            where = _join_place(place)
            yield FineChange(f"{where} the other way round", _replace_part(body, place, array[::-1]), sure=False)
            yield FineChange(f"the last of {where} left out", _replace_part(body, place, array[:-1]), sure=False)


def _find_arrays(value: Any, place: Place = ()) -> Iterator[tuple[Place, list[Any]]]:
    if isinstance(value, list):
        yield place, value
    if isinstance(value, dict | list) and len(place) < _DEPTH:
        for name, part in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _find_arrays(part, (*place, name))


def _change_numbers(body: Any) -> Iterator[FineChange]:
    numbers = [(place, leaf) for place, leaf in _find_leaves(body) if not isinstance(leaf, str)]
    for place, leaf in numbers[:_MOST_PLACES]:
        where = _join_place(place)
        if not isinstance(leaf, bool):
            yield FineChange(f"one more at {where}", _replace_part(body, place, leaf + 1))
        yield FineChange(f"{where} as a text", _replace_part(body, place, str(leaf).lower()), sure=False)
