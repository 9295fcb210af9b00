"""Places of validity and errors in an agent's answers, found by comparing answers about valid and invalid messages."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from conformance.surfaces.agent import answer_reader
from conformance.target import AgentBindings

_LONGEST_WORD: Final = 40


def explain_unreadable(
    bindings: AgentBindings, good: Mapping[str, Any], bad: Sequence[Mapping[str, Any]]
) -> str | None:
    """Return the key to bind if answers distinguish messages in unknown words, or None.

    An agent that answers the same for every message is judged for that.
    """
    if bindings.validity_words is not None:
        return None
    pair = next(iter(_word_pairs(bindings, good, bad)), None)
    if pair is not None:
        place, right, other_word = pair
        words = f"{json.dumps(right)} = true, {json.dumps(other_word)} = false"
        return (
            f"unbound: {place} says {right!r} of a message that holds and {other_word!r} of others; give [agent] "
            f'validity_at = "{place}" and validity_words = {{ {words} }}'
        )
    # Containers differ whenever one of their members does, so only single values are compared.
    scalars = [(place, value) for place, value in answer_reader.leaves(good) if not isinstance(value, dict | list)]
    if bindings.validity_at is None and any(
        all(answer_reader.at(one, place) != value for one in bad[:2]) for place, value in scalars
    ):
        # Some member differs, but none differs in a word, so the operator must name it.
        return "unbound: which member says whether a message is valid; give [agent] validity_at, and validity_words"
    return None


def _word_pairs(
    bindings: AgentBindings, good: Mapping[str, Any], bad: Sequence[Mapping[str, Any]]
) -> Iterator[tuple[str, str, str]]:
    """Yield places with one short word for the valid message and one other word for every invalid message."""
    for place, value in answer_reader.leaves(good):
        if bindings.validity_at not in {None, place} or not _is_word(value):
            continue
        words = {str(answer_reader.at(one, place)) for one in bad[:2]}
        if len(words) == 1 and _is_word(other_word := words.pop()) and other_word != value:
            yield place, value, other_word


def _is_word(value: Any) -> bool:
    return isinstance(value, str) and 0 < len(value) <= _LONGEST_WORD and value.replace("_", "").isalpha()


def find_places(bindings: AgentBindings, good: Mapping[str, Any], bad: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return the unbound places of validity and errors, by the differences between the answers."""
    places: dict[str, str] = {}
    validity_place = find_verdict_place(good, bad, bindings.validity_words) if bindings.validity_at is None else None
    if validity_place is not None:
        places["validity_at"] = validity_place
    if bindings.errors_at is None:
        empty = [place for place, value in answer_reader.leaves(good) if value == []]
        error_places = [place for place in empty if all(_is_filled(answer_reader.at(one, place)) for one in bad[:2])]
        if error_places:
            places["errors_at"] = _usual_first(error_places, answer_reader.ERRORS)
    return places


def find_verdict_place(
    good: Mapping[str, Any], bad: Sequence[Mapping[str, Any]], words: answer_reader.Words | None = None
) -> str | None:
    """Return the place that distinguishes the valid message from the invalid ones, or None."""
    says = [place for place, value in answer_reader.leaves(good) if answer_reader.truth(value, words) is True]
    # An agent that does not compare the content fails a row for that. The first two messages still show the place.
    for negative in (bad, bad[:2]):
        verdict_places = [
            place
            for place in says
            if all(answer_reader.truth(answer_reader.at(one, place), words) is False for one in negative)
        ]
        if verdict_places:
            return _usual_first(verdict_places, answer_reader.VALIDITY)
    return None


def _is_filled(value: Any) -> bool:
    return isinstance(value, list) and bool(value)


def _usual_first(places: Sequence[str], names: Sequence[str]) -> str:
    """Return the place whose last name is the most usual; of equal names, the outermost place."""

    def rank(place: str) -> tuple[int, int]:
        name = place.rpartition(".")[2]
        return (names.index(name) if name in names else len(names), place.count("."))

    return min(places, key=rank)
