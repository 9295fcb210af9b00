"""A verifier of audit logs of twenty lines, on `rfc8785` and PyCryptodome: the profile's section read a second time."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import rfc8785
from Crypto.Hash import HMAC, SHA256

from tools.vectors_builder.drafting import Draft

_HEX: Final = re.compile(r"(?:[0-9a-fA-F]{2})+")


def complaints(draft: Draft) -> Iterator[str]:
    """Yield where the other verifier disagrees with a draft's author: whether it holds, and where not."""
    intended_place = None if draft.valid else draft.values.get("place", -1)
    actual_place = first_bad(draft.input)
    if actual_place != intended_place:
        yield f"rfc8785 and PyCryptodome find the first fault at {actual_place}, not {intended_place}"


def first_bad(vector_input: Mapping[str, Any]) -> int | None:
    """Return the index of the first entry that is not as it should be.

    The number of entries stands for a missing end, -1 for an invalid key, None for a whole log.
    """
    text, entries = vector_input["key_hex"].strip(), vector_input["entries"]
    if not _HEX.fullmatch(text):
        return -1
    key, seq, link = (
        bytes.fromhex(text),
        None if vector_input["partial"] else 1,
        None if vector_input["partial"] else "0" * 64,
    )
    for place, entry in enumerate(entries):
        if (
            not _is_entry(entry)
            or not _fits(entry, key)
            or seq not in {None, entry["seq"]}
            or link not in {None, entry["prev_mac"]}
        ):
            return place
        seq, link = entry["seq"] + 1, entry["mac"]
    return _end(entries, vector_input["head"])


def _end(entries: list[Any], head: Mapping[str, Any] | None) -> int | None:
    if head is None or head["seq"] == 0:
        return None
    if not entries or entries[-1]["seq"] < head["seq"]:
        return len(entries)
    places = [place for place, entry in enumerate(entries) if entry["seq"] == head["seq"]]
    return next((place for place in places if entries[place]["mac"] != head["mac"]), None)


def _is_entry(entry: Any) -> bool:
    return isinstance(entry, dict) and [type(entry.get(name)) for name in ("seq", "prev_mac", "mac")] == [int, str, str]


def _fits(entry: dict[str, Any], key: bytes) -> bool:
    covered_bytes = rfc8785.dumps({name: value for name, value in entry.items() if name != "mac"})
    return bool(HMAC.new(key, covered_bytes, SHA256).hexdigest() == entry["mac"])
