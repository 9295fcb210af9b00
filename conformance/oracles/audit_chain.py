"""HMAC-chained audit logs: the first fault of a log, and the form of a foreign log.

Each entry contains its predecessor's MAC and its own, HMAC-SHA256 in hex over the canonical form of the rest of
it (7.4). The interface says no more than HMAC-chained: names and recipe of another hub's log are found among
the usual ones, or are bound.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import itertools
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final

from conformance.oracles.ed25519_keys import encode_base64url
from conformance.oracles.hash_recipes import jcs_bytes

Entry = Mapping[str, Any]
# The first entry has no predecessor. The specification (7.4) fixes 64 zeros for it, and other
# hubs use one of the texts below.
GENESIS: Final = "0" * 64
_USUAL_GENESES: Final = ("", GENESIS, "genesis", "GENESIS", "0", "null")
_EXACT = 2**53 - 1
_MAC = re.compile(r"[0-9a-fA-F]{64}|[A-Za-z0-9+/_-]{43}=?")
# The search tries every pair of members with every recipe, so it looks only at the first
# entries.
_LONGEST_SEARCH = 8


class Kind(StrEnum):
    """What is wrong with a log."""

    ALTERED_ENTRY = "altered"
    MISSING_ENTRY = "missing"
    WRONG_ORDER = "reordered"
    WRONG_LINK = "unlinked"
    CUT_TAIL = "cut_tail"
    WRONG_KEY = "wrong_key"
    MALFORMED_ENTRY = "malformed"


@dataclass(frozen=True, slots=True)
class Form:
    """Names and recipe of a log.

    Attributes:
        seq: Member with an entry's number, None if entries have no number.
        prev: Member with the predecessor's MAC, None if entries do not name it.
        mac: Member with an entry's own MAC.
        recipe: Name of what the MAC covers, one of `RECIPES`.
        key: How the key's text becomes the key: `hex`, `text` or `base64`.
        genesis: What the first entry has for its predecessor's MAC; None allows any value.
        any_case: Whether a MAC may have another form than lower-case hex: capitals, or base64.
    """

    seq: str | None = "seq"
    prev: str | None = "prev_mac"
    mac: str = "mac"
    recipe: str = "jcs-without-mac"
    key: str = "hex"
    genesis: str | None = GENESIS
    any_case: bool = False

    @property
    def begins_unseen(self) -> bool:
        """Whether the first entry's MAC covers an unknown value."""
        return self.genesis is None and self.prev is None and RECIPES[self.recipe].joint is not None


PROFILE: Final = Form()


@dataclass(frozen=True, slots=True)
class Head:
    """The newest entry as it was recorded outside the log."""

    seq: int
    mac: str


@dataclass(frozen=True, slots=True)
class Finding:
    """The first fault of a log.

    Attributes:
        kind: What is wrong.
        place: Index of the entry that shows it, from 0; the number of entries for a cut tail.
        seq: Number of the entry that is altered, missing or in a wrong place; None if it has no number.
        text: The same in a sentence.
    """

    kind: Kind
    place: int
    seq: int | None
    text: str


def key_bytes(text: str, form: str = "hex") -> bytes:
    """Return the key that a text encodes.

    Raises:
        ValueError: It encodes no key.
    """
    bare = text.strip()
    if not bare:
        raise ValueError("the chain key is empty")
    try:
        if form == "hex":
            return bytes.fromhex(bare)
        if form == "base64":
            return base64.b64decode(bare.replace("-", "+").replace("_", "/") + "=" * (-len(bare) % 4), validate=True)
    except (ValueError, binascii.Error) as fault:
        raise ValueError(f"the chain key is not {form}") from fault
    return bare.encode()


def canonical(value: Any) -> bytes:
    """Return the RFC 8785 form of a value; for entries as hubs write them by a shorter way, to the same bytes.

    Raises:
        ValueError: It has none.
    """
    # Entries of logs are nearly always plain. For them the standard encoder writes the same
    # bytes as RFC 8785, and many times faster.
    if _plain(value):
        return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    return jcs_bytes(value)


def _plain(value: Any) -> bool:
    """Return whether sorting and no spaces is all there is to a value's canonical form."""
    if isinstance(value, str | bool) or value is None:
        return True
    if isinstance(value, int):
        # Beyond 2^53 - 1, RFC 8785 has no canonical form for an integer.
        return -_EXACT <= value <= _EXACT
    if isinstance(value, Mapping):
        # RFC 8785 sorts by UTF-16 code units, and the standard encoder by code points. They
        # agree for ASCII names.
        return all(isinstance(name, str) and name.isascii() and _plain(member) for name, member in value.items())
    return isinstance(value, list) and all(map(_plain, value))


def _encode_spaced(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True).encode()


def _without(entry: Entry, *names: str | None) -> dict[str, Any]:
    return {name: member for name, member in entry.items() if name not in names}


@dataclass(frozen=True, slots=True)
class Recipe:
    """What a MAC covers.

    Attributes:
        encode: How a value becomes bytes.
        joint: The text between the predecessor's MAC and the rest; None: the MAC covers the entry without its own.
        prev_first: Whether the predecessor's MAC comes first.
    """

    encode: Callable[[Any], bytes]
    joint: bytes | None = None
    prev_first: bool = True

    def covered_bytes(self, entry: Entry, form: Form, before: str) -> bytes:
        """Return the bytes that an entry's MAC covers, `before` being the predecessor's MAC."""
        if self.joint is None:
            return self.encode(_without(entry, form.mac))
        remainder = self.encode(_without(entry, form.mac, form.prev))
        return self.joint.join((before.encode(), remainder) if self.prev_first else (remainder, before.encode()))


def _recipes() -> Iterator[tuple[str, Recipe]]:
    # The interface says only HMAC-chained. These are the usual ways to combine an entry with
    # its predecessor's MAC.
    for name, encode in (("jcs", canonical), ("sorted-json", _encode_spaced)):
        yield f"{name}-without-mac", Recipe(encode)
        for joint, between in (("", b""), ("-newline", b"\n"), ("-bar", b"|"), ("-colon", b":")):
            yield f"prev{joint}-{name}", Recipe(encode, between)
            yield f"{name}{joint}-prev", Recipe(encode, between, prev_first=False)


RECIPES: Final[Mapping[str, Recipe]] = dict(_recipes())
KEY_FORMS: Final = ("hex", "text", "base64")


def mac_of(entry: Entry, key: bytes, form: Form = PROFILE, before: str = "") -> str:
    """Return the MAC that an entry should have, in lower-case hex.

    Args:
        entry: The entry, with or without its own MAC.
        key: The chain key.
        form: Names and recipe.
        before: The predecessor's MAC, for recipes that take it from outside the entry.

    Raises:
        ValueError: The entry has no canonical form.
    """
    return hmac.new(key, RECIPES[form.recipe].covered_bytes(entry, form, before), hashlib.sha256).hexdigest()


def first_fault(
    entries: Sequence[Entry], key: bytes, form: Form = PROFILE, head: Head | None = None, *, partial: bool = False
) -> Finding | None:
    """Return the first fault of a log, None if it is whole.

    Args:
        entries: In the order they came.
        key: The chain key.
        form: Names and recipe.
        head: The newest entry as it was noted; a log that continues after it is whole.
        partial: The log may begin in the middle.
    """
    before = _ExpectedLink(form, partial=partial)
    for place, entry in enumerate(entries):
        fault = _entry_fault(entries, place, key, form, before)
        if fault is not None:
            return _or_wrong_key(fault, entries, key, form)
        before.follow(entry)
    # A log without its last entries is still a correct chain. Only a head that was recorded
    # outside of the log shows that its end is cut off.
    return None if head is None else _tail_fault(entries, form, head)


class _ExpectedLink:
    """What the next entry must follow."""

    def __init__(self, form: Form, *, partial: bool) -> None:
        self._form = form
        self.seq: int | None = None if partial or form.seq is None else 1
        self.mac: str | None = None if partial else form.genesis

    def follow(self, entry: Entry) -> None:
        """Take an entry for the predecessor of the next."""
        self.mac = str(entry[self._form.mac])
        if self._form.seq is not None:
            self.seq = int(entry[self._form.seq]) + 1


def _entry_fault(entries: Sequence[Entry], place: int, key: bytes, form: Form, before: _ExpectedLink) -> Finding | None:
    entry = entries[place]
    form_fault = _form_fault(entry, form)
    seq = None if form.seq is None or form_fault else int(entry[form.seq])
    if form_fault is not None:
        return Finding(Kind.MALFORMED_ENTRY, place, None, f"entry {place + 1} of the log is no entry: {form_fault}")
    unseen = place == 0 and form.begins_unseen
    # The MAC is checked before number and link: an altered entry must be reported as altered,
    # even if the change also broke its order.
    if not unseen and not _has_its_mac(entry, key, form, before.mac or ""):
        entry_name = f"entry {place + 1} of the log" if seq is None else f"entry {seq}"
        # Where a MAC is right but for what came before, the entry is as it was written.
        return Finding(Kind.ALTERED_ENTRY, place, seq, f"{entry_name} is not what was written: its MAC is another")
    if seq is not None and before.seq is not None and seq != before.seq:
        return _out_of_order(entries, place, seq, before.seq, form)
    if form.prev is not None and before.mac is not None and entry[form.prev] != before.mac:
        entry_name = f"entry {place + 1} of the log" if seq is None else f"entry {seq}"
        return Finding(Kind.WRONG_LINK, place, seq, f"{entry_name} was written after another one than stands before it")
    return None


def _form_fault(entry: Any, form: Form) -> str | None:
    if not isinstance(entry, Mapping):
        return "not an object"
    if not isinstance(entry.get(form.mac), str):
        return f"no text {form.mac}"
    if form.prev is not None and not isinstance(entry.get(form.prev), str):
        return f"no text {form.prev}"
    number = None if form.seq is None else entry.get(form.seq)
    if form.seq is not None and (not isinstance(number, int) or isinstance(number, bool)):
        return f"no whole number {form.seq}"
    return None


def _has_its_mac(entry: Entry, key: bytes, form: Form, before: str) -> bool:
    entry_mac = str(entry[form.mac])
    try:
        expected_mac = mac_of(entry, key, form, str(entry[form.prev]) if form.prev is not None else before)
    except (ValueError, RecursionError):
        return False
    if not form.any_case:
        return entry_mac == expected_mac
    raw = bytes.fromhex(expected_mac)
    # Another hub may write its MACs in base64 or in capitals.
    spellings = {base64.b64encode(raw).decode(), encode_base64url(raw)}
    return entry_mac in spellings or entry_mac.lower() == expected_mac


def _out_of_order(entries: Sequence[Entry], place: int, seq: int, expected_seq: int, form: Form) -> Finding:
    later = any(_number(entry, form) == expected_seq for entry in entries[place + 1 :])
    # An entry that occurs later was moved. If it occurs nowhere, it was removed.
    if seq < expected_seq or later:
        text = f"entry {seq} stands where entry {expected_seq} belongs"
        return Finding(Kind.WRONG_ORDER, place, seq, text)
    gap = (
        f"entry {expected_seq} is missing"
        if seq == expected_seq + 1
        else f"entries {expected_seq} to {seq - 1} are missing"
    )
    return Finding(Kind.MISSING_ENTRY, place, expected_seq, gap)


def _number(entry: Any, form: Form) -> int | None:
    number = entry.get(form.seq) if isinstance(entry, Mapping) and form.seq is not None else None
    return number if isinstance(number, int) else None


def _or_wrong_key(fault: Finding, entries: Sequence[Entry], key: bytes, form: Form) -> Finding:
    """Return the fault, or that the key is another where no entry at all is as it was written."""
    if fault.kind is not Kind.ALTERED_ENTRY or fault.place > 0:
        return fault
    readable_entries = [entry for entry in entries if _form_fault(entry, form) is None]
    before = itertools.chain([form.genesis or ""], (str(entry[form.mac]) for entry in readable_entries))
    # With one entry only, a wrong key and an altered entry look the same.
    if len(readable_entries) < 2 or any(
        _has_its_mac(entry, key, form, mac) for entry, mac in zip(readable_entries, before, strict=False)
    ):
        return fault
    return Finding(Kind.WRONG_KEY, 0, None, "no entry has a MAC of this key: another key, or another way to make MACs")


def _tail_fault(entries: Sequence[Entry], form: Form, head: Head) -> Finding | None:
    """Return what the noted head says of the log: an end that is cut off, or another entry in its place."""
    count = len(entries)
    last = _number(entries[-1], form) if entries else None
    if form.seq is None:
        has_head = any(entry[form.mac] == head.mac for entry in entries)
        return None if has_head else Finding(Kind.CUT_TAIL, count, None, "the noted head is not in the log")
    # A head of an empty log demands no entry.
    if head.seq < 1:
        return None
    if last is None or last < head.seq:
        first_missing = (last or 0) + 1
        missing_entries = f"entry {head.seq}" if first_missing == head.seq else f"entries {first_missing} to {head.seq}"
        return Finding(
            Kind.CUT_TAIL, count, first_missing, f"the end is cut off: {missing_entries}, which the noted head knows"
        )
    for place, entry in enumerate(entries):
        if entry[form.seq] == head.seq and entry[form.mac] != head.mac:
            return Finding(Kind.ALTERED_ENTRY, place, head.seq, f"entry {head.seq} is another than the noted head")
    return None


def find_links(entries: Sequence[Entry]) -> list[tuple[str, str]]:
    """Return the members (predecessor's MAC, own MAC) that link every entry of a log to the one before it.

    Args:
        entries: At least two, in the order they were written.
    """
    common_names = set.intersection(*(set(entry) for entry in entries)) if entries else set()
    texts = sorted(name for name in common_names if all(isinstance(entry[name], str) for entry in entries))
    return [
        (prev, own)
        # A link is found by its values: the member of each entry that equals another member of
        # the entry before it. Names are not used, because they differ from hub to hub.
        for prev, own in itertools.permutations(texts, 2)
        if len({entry[own] for entry in entries}) == len(entries)
        and all(later[prev] == earlier[own] for earlier, later in itertools.pairwise(entries))
    ]


def is_first_page(entries: Sequence[Entry]) -> bool:
    """Return whether the first of some linked entries is the first of its log: no MAC stands where its link is."""
    return any(
        # The first page of a log begins with an entry whose link is not the MAC of another
        # entry.
        entries[0][prev] == GENESIS or _MAC.fullmatch(entries[0][prev]) is None
        for prev, _ in (find_links(entries) if len(entries) > 1 else ())
    )


def chain_values(entries: Sequence[Entry]) -> list[str]:
    """Return the members that have the form of MACs in every entry and never repeat."""
    common_names = set.intersection(*(set(entry) for entry in entries)) if entries else set()
    return sorted(
        name
        for name in common_names
        if all(isinstance(entry[name], str) and _MAC.fullmatch(entry[name]) for entry in entries)
        and len({entry[name] for entry in entries}) == len(entries)
    )


def find_form(entries: Sequence[Entry], key_text: str) -> Form | None:
    """Return names and recipe under which most of a log's first entries have their MACs, None where none is known."""
    sample = list(entries[:_LONGEST_SEARCH])
    pairs: list[tuple[str | None, str]] = [*find_links(sample)] if len(sample) > 1 else []
    pairs += [(None, name) for name in chain_values(sample)]
    for (prev, own), recipe, key_form in itertools.product(pairs, RECIPES, KEY_FORMS):
        form = Form(None, prev, own, recipe, key_form, None, any_case=True)
        try:
            key = key_bytes(key_text, key_form)
        except ValueError:
            continue
        previous_macs = [None, *(str(entry[own]) for entry in sample[:-1])]
        entries_with_previous = [(entry, mac or "") for entry, mac in zip(sample, previous_macs, strict=True)]
        # What precedes the first entry is open; the later ones show the recipe.
        conclusive_pairs = (
            entries_with_previous[1:] if form.begins_unseen and len(sample) > 1 else entries_with_previous
        )
        # Most entries must fit, not all: the log under test may contain an altered entry, which
        # the search must survive.
        if 2 * sum(_has_its_mac(entry, key, form, mac) for entry, mac in conclusive_pairs) > len(conclusive_pairs):
            return _with_its_genesis(form, sample[0], key)
    return None


def _with_its_genesis(form: Form, first: Entry, key: bytes) -> Form:
    """Return a form with the usual text that the first entry's MAC covers, if one fits."""
    if form.begins_unseen:
        for genesis in _USUAL_GENESES:
            if _has_its_mac(first, key, form, genesis):
                return replace(form, genesis=genesis)
    return form
