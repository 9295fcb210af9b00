"""Reports of a hosted verifier: which member says pass or fail, and which contains the error code. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

# The form of a typed code: one word, such as TAMPERED_SIGNATURE.
_CODE = re.compile(r"[A-Za-z][A-Za-z0-9_.:-]{2,63}")
# Deeper members are details, not a verdict.
_DEPTH = 3
# Number of words from which a text is a sentence. Shorter texts, such as "not verified", can be compared by programs.
_SENTENCE = 5
_ALIKE = frozenset({str, bool, int, type(None)})


def leaves(report: Mapping[str, Any], depth: int = _DEPTH, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield each scalar member of a report as (dotted path, value), with objects down to a small depth."""
    for name, value in report.items():
        place = f"{prefix}{name}"
        if isinstance(value, Mapping) and depth:
            yield from leaves(value, depth - 1, f"{place}.")
        elif type(value) in _ALIKE:
            yield place, value


def _features(report: Mapping[str, Any], depth: int = _DEPTH, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the features that can distinguish reports: scalar members, and for each list whether it is empty."""
    yield from leaves(report, depth, prefix)
    for name, value in report.items():
        if isinstance(value, Mapping) and depth:
            yield from ((place, one) for place, one in _features(value, depth - 1, f"{prefix}{name}.") if one in _LISTS)
        elif isinstance(value, list):
            yield f"{prefix}{name}", _LISTS[bool(value)]


_LISTS = ("an empty list", "a list of something")


def find_verdict_member(passes: Sequence[Mapping[str, Any]], fails: Sequence[Mapping[str, Any]]) -> str | None:
    """Return a member that distinguishes pass from fail reports: no value is in both, and one side has only one value.

    An absent member counts as null. Members that differ from answer to answer, such as ids, are ignored, and so are
    members with a sentence on both sides, which are for people.
    """
    # The interface leaves the names of the members open, so they are inferred from reports whose
    # verdict the suite knows.
    good, bad = [dict(_features(one)) for one in passes], [dict(_features(one)) for one in fails]
    names = sorted({name for one in (*good, *bad) for name in one})
    for name in sorted(names, key=lambda one: (not isinstance(good[0].get(one) if good else None, bool), one)):
        right, wrong = {_key(one.get(name)) for one in good}, {_key(one.get(name)) for one in bad}
        # A sentence may contain ids or times, so programs must not compare it.
        in_words = any(map(_is_sentence, right)) and any(map(_is_sentence, wrong))
        # A member that is the same in all passes, or in all fails, is a verdict. With many values
        # on both sides it is more likely an id.
        if not right & wrong and 1 in {len(right), len(wrong)} and not in_words:
            return name
    return None


def _is_sentence(key: tuple[str, Any]) -> bool:
    return isinstance(key[1], str) and len(key[1].split()) >= _SENTENCE


def _key(value: Any) -> tuple[str, Any]:
    return type(value).__name__, value


def code_member(fails: Sequence[Mapping[str, Any]], known_codes: Sequence[str] | None) -> str | None:
    """Return the member that contains the typed code in most fail reports, or None.

    Args:
        fails: Fail reports of different faults.
        known_codes: The nine codes, if the profile binds them.
    """
    values_by_member: dict[str, list[str]] = {}
    for report in fails:
        for name, value in leaves(report):
            if isinstance(value, str) and (value in known_codes if known_codes is not None else _CODE.fullmatch(value)):
                values_by_member.setdefault(name, []).append(value)
    if not values_by_member:
        return None

    def rank(name: str) -> tuple[bool, bool, int, int]:
        values, last = values_by_member[name], name.rpartition(".")[2].lower()
        many = 1 < len(set(values)) <= _MOST_CODES
        return many, "code" in last, len(values), -len(name)

    best = max(values_by_member, key=rank)
    return best if len(set(values_by_member[best])) > 1 or known_codes is not None else None


# A member with more different values is more likely a message or an id.
_MOST_CODES = 32


def code(report: Mapping[str, Any], member: str) -> str | None:
    """Return the typed code of a report."""
    value = dict(leaves(report)).get(member)
    return value if isinstance(value, str) and value else None
