"""The chained log by its rules alone: sealing, following, and the first flaw of a chain (7.4)."""

from __future__ import annotations

import hashlib
import hmac
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference.protocol.audit_chain import (
    NO_MAC,
    Action,
    Break,
    ChainCheck,
    Entry,
    Flaw,
    Head,
    StoredEntry,
    decode_entry,
    encode_entry,
    follow,
)

KEY = bytes(range(32))
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


def chain(number: int, key: bytes = KEY) -> list[StoredEntry]:
    """Return a log of entries about services."""
    head = Head()
    rows: list[StoredEntry] = []
    for place in range(number):
        details: dict[str, str] = {"type": "addon", "base_url": f"http://h/{place}", "health_path": "/health"}
        entry = follow(
            head, key, ts_ms=place, actor="admin", action=Action.SERVICE_UPDATED, subject="a", payload=details
        )
        head = entry.head
        rows.append(encode_entry(entry))
    return rows


def find_flaw(rows: list[StoredEntry], known_head: Head = Head(), after: Head = Head()) -> Break | None:  # noqa: B008 - immutable
    """Return the flaw that a walk in steps of two finds."""
    check = ChainCheck(KEY, after=after, known_head=known_head)
    for place in range(0, len(rows), 2):
        check.walk(rows[place : place + 2])
    return check.end()


def change_row(row: StoredEntry, **members: Any) -> StoredEntry:
    names = ("seq", "ts_ms", "actor", "action", "subject", "payload", "prev_mac", "mac")
    return tuple({**dict(zip(names, row, strict=True)), **members}.values())


def test_the_profile_s_example() -> None:
    """Chain key 00…1f, the entry of specification 7.4, its MAC."""
    entry = follow(
        Head(),
        KEY,
        ts_ms=1767225600000,
        actor="admin",
        action=Action.ISSUER_REGISTERED,
        subject="did:web:issuer.example",
        payload={"kid": "00c4f5a3b2d19e80"},
    )
    assert entry.wire() == {
        "seq": 1,
        "ts_ms": 1767225600000,
        "actor": "admin",
        "action": "issuer.registered",
        "subject": "did:web:issuer.example",
        "payload": {"kid": "00c4f5a3b2d19e80"},
        "prev_mac": NO_MAC,
        "mac": "c7655e5fd3af9b096188d3b2a202716e6416c67bde0af38cb6443f91c191da37",
    }
    assert entry.head == Head(1, entry.mac)


def test_entries_come_back_from_their_columns() -> None:
    """And a payload that was made into no JSON is its text."""
    rows = chain(2)
    entries = [decode_entry(row) for row in rows]
    assert [encode_entry(entry) for entry in entries] == rows
    assert entries[1].prev_mac == entries[0].mac
    assert decode_entry(change_row(rows[0], payload="{")).payload == "{"
    assert decode_entry(change_row(rows[0], payload='{"a":1,"a":2}')).payload == '{"a":1,"a":2}'


def test_a_whole_chain_has_no_flaw() -> None:
    """Also an empty one, one that is longer than what was known, and one from the middle."""
    rows = chain(5)
    assert find_flaw([]) is None
    assert find_flaw(rows) is None
    assert find_flaw(rows, known_head=Head(3, rows[2][7])) is None
    assert find_flaw(rows, known_head=Head(5, rows[4][7])) is None
    assert find_flaw(rows[2:], after=Head(2, rows[1][7])) is None


@pytest.mark.parametrize(
    "members",
    [
        {"ts_ms": 7},
        {"actor": "system"},
        {"action": "service.removed"},
        {"subject": "b"},
        {"payload": "{}"},
        {"payload": "x"},
        {"payload": '{"a":1e400}'},
        {"prev_mac": "1" * 64},
        {"mac": "1" * 64},
        {"mac": ""},
        {"subject": 'a","ts_ms":2}'},
    ],
)
def test_an_altered_entry_is_found_where_it_is(members: dict[str, Any]) -> None:
    """Whichever member was changed; the first of two."""
    rows = chain(5)
    rows[2] = change_row(rows[2], **members)
    assert find_flaw(rows) == Break(3, Flaw.ALTERED)
    rows[4] = change_row(rows[4], **members)
    assert find_flaw(rows) == Break(3, Flaw.ALTERED)


def test_a_missing_entry_is_found() -> None:
    """The first, one between, one whose gap was closed, and the last as far as it was known."""
    rows = chain(5)
    assert find_flaw(rows[1:]) == Break(1, Flaw.MISSING)
    assert find_flaw([*rows[:2], *rows[3:]]) == Break(3, Flaw.MISSING)
    renumbered_rows = [*rows[:2], *(change_row(row, seq=row[0] - 1) for row in rows[3:])]
    assert find_flaw(renumbered_rows) == Break(3, Flaw.ALTERED)
    assert find_flaw(rows[:3], known_head=Head(5, rows[4][7])) == Break(4, Flaw.CUT)
    assert find_flaw([], known_head=Head(5, rows[4][7])) == Break(1, Flaw.CUT)


def test_reordered_entries_are_found() -> None:
    """In their places, and with their numbers exchanged."""
    rows = chain(5)
    assert find_flaw([rows[0], rows[2], rows[1], *rows[3:]]) == Break(2, Flaw.MISSING)
    swapped_rows = [rows[0], change_row(rows[2], seq=2), change_row(rows[1], seq=3), *rows[3:]]
    assert find_flaw(swapped_rows) == Break(2, Flaw.ALTERED)


def test_an_entry_of_another_chain_does_not_follow() -> None:
    """Made under the same key, but after another entry."""
    rows, other_rows = chain(3), chain(1)
    strange = follow(
        Head(1, other_rows[0][7][::-1]),
        KEY,
        ts_ms=1,
        actor="admin",
        action=Action.SERVICE_REMOVED,
        subject="a",
        payload={},
    )
    assert find_flaw([rows[0], encode_entry(strange)]) == Break(2, Flaw.UNLINKED)


def test_a_tail_that_was_cut_and_written_anew_is_found() -> None:
    """The chain is whole, but what was known to be there is something else now."""
    rows = chain(5)
    fresh = follow(
        Head(3, rows[2][7]), KEY, ts_ms=9, actor="admin", action=Action.SERVICE_REMOVED, subject="z", payload={}
    )
    assert find_flaw([*rows[:3], encode_entry(fresh)], known_head=Head(4, rows[3][7])) == Break(4, Flaw.CUT)


def test_another_key_s_chain_is_altered_from_the_first_entry() -> None:
    """A chain cannot be made without the key."""
    assert find_flaw(chain(3, bytes(32))) == Break(1, Flaw.ALTERED)


def test_text_that_means_the_same_payload_is_whole() -> None:
    """The canonical form is recomputed, not the stored text compared."""
    rows = chain(2)
    loose = json.dumps(dict(reversed(json.loads(rows[0][5]).items())), indent=2)
    assert find_flaw([change_row(rows[0], payload=loose), rows[1]]) is None


@given(TEXTS, TEXTS, st.dictionaries(TEXTS, TEXTS, max_size=4), st.integers(0, 2**53 - 1))
def test_a_mac_is_over_the_canonical_form(subject: str, actor: str, payload: dict[str, str], ts_ms: int) -> None:
    """Any text in any member: RFC 8785 by the standard library where names are ASCII, and the check agrees."""
    payload_members = {f"k{name.encode().hex()}": value for name, value in payload.items()}
    entry = follow(
        Head(7, "a" * 64),
        KEY,
        ts_ms=ts_ms,
        actor=actor,
        action=Action.ISSUER_REVOKED,
        subject=subject,
        payload=payload_members,
    )
    content = {name: value for name, value in entry.wire().items() if name != "mac"}
    plain = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    assert entry.mac == hmac.new(KEY, plain, hashlib.sha256).hexdigest()
    assert find_flaw([encode_entry(entry)], after=Head(7, "a" * 64)) is None


@given(st.dictionaries(TEXTS, TEXTS, max_size=4), st.integers(0, 7), TEXTS)
def test_no_change_of_a_member_passes(payload: dict[str, str], place: int, text: str) -> None:
    """Unless it is no change, or the payload means the same."""
    entry: Entry = follow(
        Head(), KEY, ts_ms=1, actor="admin", action=Action.ISSUER_REVOKED, subject="a", payload=payload
    )
    row = list(encode_entry(entry))
    row[place] = len(text) + 2 if place < 2 else text
    is_same = row == list(encode_entry(entry)) or (place == 5 and decode_entry(tuple(row)).payload == payload)  # type: ignore[arg-type]
    assert (find_flaw([tuple(row)]) is None) is is_same  # type: ignore[list-item]
