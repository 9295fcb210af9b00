"""Where an agent's answers say what they say: told by what differs between a message that holds and others."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from conformance.surfaces.agent import answers
from conformance.target import AgentBindings

_LONGEST_WORD: Final = 40


def unread(bindings: AgentBindings, good: Mapping[str, Any], bad: Sequence[Mapping[str, Any]]) -> str | None:
    """Return what is to be bound where answers tell messages apart in unknown words, None where nothing does.

    An agent that says the same of every message is judged for that.
    """
    if bindings.validity_words is not None:
        return None
    pair = next(iter(_word_pairs(bindings, good, bad)), None)
    if pair is not None:
        place, right, other = pair
        words = f"{json.dumps(right)} = true, {json.dumps(other)} = false"
        return (
            f"unbound: {place} says {right!r} of a message that holds and {other!r} of others; give [agent] "
            f'validity_at = "{place}" and validity_words = {{ {words} }}'
        )
    scalars = [(place, value) for place, value in answers.leaves(good) if not isinstance(value, dict | list)]
    if bindings.validity_at is None and any(
        all(answers.at(one, place) != value for one in bad[:2]) for place, value in scalars
    ):
        return "unbound: which member says whether a message is valid; give [agent] validity_at, and validity_words"
    return None


def _word_pairs(
    bindings: AgentBindings, good: Mapping[str, Any], bad: Sequence[Mapping[str, Any]]
) -> Iterator[tuple[str, str, str]]:
    """Yield places with one short word for a message that holds and one other for every message that does not."""
    for place, value in answers.leaves(good):
        if bindings.validity_at not in {None, place} or not _is_word(value):
            continue
        others = {str(answers.at(one, place)) for one in bad[:2]}
        if len(others) == 1 and _is_word(other := others.pop()) and other != value:
            yield place, value, other


def _is_word(value: Any) -> bool:
    return isinstance(value, str) and 0 < len(value) <= _LONGEST_WORD and value.replace("_", "").isalpha()


def places(bindings: AgentBindings, good: Mapping[str, Any], bad: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return where validity and errors stand, as far as nobody bound it and answers that differ tell it."""
    places: dict[str, str] = {}
    said = telling(good, bad, bindings.validity_words) if bindings.validity_at is None else None
    if said is not None:
        places["validity_at"] = said
    if bindings.errors_at is None:
        empty = [place for place, value in answers.leaves(good) if value == []]
        fitting = [place for place in empty if all(_is_filled(answers.at(one, place)) for one in bad[:2])]
        if fitting:
            places["errors_at"] = _usual_first(fitting, answers.ERRORS)
    return places


def telling(
    good: Mapping[str, Any], bad: Sequence[Mapping[str, Any]], words: answers.Words | None = None
) -> str | None:
    """Return the place that tells a message that holds from those that do not, None where there is none."""
    says = [place for place, value in answers.leaves(good) if answers.truth(value, words) is True]
    # An agent that does not compare the body is judged for that, and not misread.
    for negative in (bad, bad[:2]):
        fitting = [
            place for place in says if all(answers.truth(answers.at(one, place), words) is False for one in negative)
        ]
        if fitting:
            return _usual_first(fitting, answers.VALIDITY)
    return None


def _is_filled(value: Any) -> bool:
    return isinstance(value, list) and bool(value)


def _usual_first(places: Sequence[str], names: Sequence[str]) -> str:
    """Return the place whose last name is the most usual, of those alike the outermost."""

    def rank(place: str) -> tuple[int, int]:
        name = place.rpartition(".")[2]
        return (names.index(name) if name in names else len(names), place.count("."))

    return min(places, key=rank)
