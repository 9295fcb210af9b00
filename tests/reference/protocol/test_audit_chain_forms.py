"""An entry's MAC is judged by its canonical form, however its members are written (7.4)."""

from __future__ import annotations

import hashlib
import hmac
import json
import random
from typing import Any

import pytest
import rfc8785
from hypothesis import given, settings
from hypothesis import strategies as st

from reference.protocol.audit_chain import Action, Break, ChainCheck, Flaw, Head, StoredEntry, encode_entry, follow

KEY = bytes(range(32))
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
ODD = ['"', "\\", "\n", "\x00", "é", "😀", '","actor":"', '"},"x":{"', "\u2028", "{}", ""]


def entry(subject: str = "did:web:x", **payload: str) -> StoredEntry:
    new_entry = follow(
        Head(), KEY, ts_ms=1, actor="admin", action=Action.ISSUER_REGISTERED, subject=subject, payload=payload
    )
    return encode_entry(new_entry)


def flaw_of(row: StoredEntry) -> Flaw | None:
    check = ChainCheck(KEY)
    check.walk([row])
    flaw = check.end()
    return None if flaw is None else flaw.flaw


@pytest.mark.parametrize("text", ODD)
def test_members_that_need_an_escape(text: str) -> None:
    """They are sealed like any other, and a change of theirs is seen."""
    row = entry(text, kid=text)
    assert flaw_of(row) is None
    assert flaw_of((*row[:4], text + "x", *row[5:])) is Flaw.ALTERED


@settings(max_examples=200, deadline=None)
@given(TEXTS, TEXTS, TEXTS)
def test_any_text_by_a_second_opinion(subject: str, kid: str, other: str) -> None:
    """The MAC is HMAC-SHA256 over rfc8785's own form, and another subject has another one."""
    row = entry(subject, kid=kid)
    content: dict[str, Any] = {
        "seq": 1,
        "ts_ms": 1,
        "actor": "admin",
        "action": "issuer.registered",
        "subject": subject,
        "payload": {"kid": kid},
        "prev_mac": "0" * 64,
    }
    assert row[7] == hmac.new(KEY, rfc8785.dumps(content), hashlib.sha256).hexdigest()
    assert flaw_of(row) is None
    assert (flaw_of((*row[:4], other, *row[5:])) is None) == (other == subject)


def test_a_payload_that_is_written_otherwise() -> None:
    """Spaces and another order are the same content; another value is not."""
    row = entry(previous_kid="a", kid="b")
    spaced_payload = json.dumps({"previous_kid": "a", "kid": "b"}, indent=1)
    assert flaw_of((*row[:5], spaced_payload, *row[6:])) is None
    assert flaw_of((*row[:5], spaced_payload.replace("a", "c"), *row[6:])) is Flaw.ALTERED


def test_text_that_moves_from_one_member_to_its_neighbour() -> None:
    """The bytes in a row are the same, and the members are not: that is no sealed entry."""
    row = entry(kid="b")
    seq, ts_ms, actor, action, subject, text, prev_mac, mac = row
    merged_action = f'{action}","actor":"{actor}'
    moved_rows: list[StoredEntry] = [
        (seq, ts_ms, "", merged_action, subject, text, prev_mac, mac),
        (seq, ts_ms, actor, action, subject, f'{text},"prev_mac":"{prev_mac}"', "", mac),
        (seq, ts_ms, f'{actor}","payload":{text}', action, subject, "", prev_mac, mac),
        (seq, ts_ms, actor, action, f'{subject}","ts_ms":{ts_ms}', text, prev_mac, mac),
        (seq, ts_ms, actor, action, subject, text, f'{prev_mac}","seq":{seq},"subject":"', mac),
    ]
    assert [flaw_of(one) for one in moved_rows] == [Flaw.ALTERED] * 5


@pytest.mark.parametrize("text", ["", "{", "null,", "\ud800", '{"kid":"b","kid":"b"}', "NaN"])
def test_a_payload_that_is_no_json(text: str) -> None:
    """It is altered, and no fault."""
    row = entry(kid="b")
    assert flaw_of((*row[:5], text, *row[6:])) is Flaw.ALTERED


def walk(rows: list[StoredEntry], known_head: Head) -> Break | None:
    check = ChainCheck(KEY, known_head=known_head)
    check.walk(rows[:2])
    check.walk(rows[2:])
    return check.end()


def by_the_rules(rows: list[StoredEntry], known_head: Head) -> Break | None:
    """Return the first flaw of a chain, each rule in its turn and each form by other libraries."""
    last = Head()
    for seq, row in enumerate(rows, 1):
        if row[0] != seq:
            return Break(seq, Flaw.MISSING)
        if not is_sealed(row):
            return Break(seq, Flaw.ALTERED)
        if row[6] != last.mac:
            return Break(seq, Flaw.UNLINKED)
        last = Head(seq, row[7])
        if seq == known_head.seq and last != known_head:
            return Break(seq, Flaw.CUT)
    return Break(last.seq + 1, Flaw.CUT) if last.seq < known_head.seq else None


def is_sealed(row: StoredEntry) -> bool:
    names = ("seq", "ts_ms", "actor", "action", "subject", "payload", "prev_mac")
    content: dict[str, Any] = dict(zip(names, row[:7], strict=True))
    try:
        content["payload"] = json.loads(row[5])
        return row[7] == hmac.new(KEY, rfc8785.dumps(content), hashlib.sha256).hexdigest()
    except (ValueError, rfc8785.CanonicalizationError):
        return False


def log(rng: random.Random) -> list[StoredEntry]:
    """Return a chain of six entries, some of which need escapes."""
    head, rows = Head(), []
    for ts_ms in range(6):
        subject, kid = rng.choice([*ODD, "did:web:x"]), rng.choice([*ODD, "a", "b"])
        new_entry = follow(
            head, KEY, ts_ms=ts_ms, actor="admin", action=Action.ISSUER_REGISTERED, subject=subject, payload={"k": kid}
        )
        head = new_entry.head
        rows.append(encode_entry(new_entry))
    return rows


def alter_log(rows: list[StoredEntry], source: StoredEntry, rng: random.Random) -> list[StoredEntry]:
    """Return a log with one change: cut, an entry left out or another's, a member another's, text added or spaced."""
    place, column = rng.randrange(len(rows)), rng.randrange(8)
    row: list[Any] = [*rows[place]]
    match rng.randrange(6):
        case 0:
            return rows[:place]
        case 1:
            return rows[:place] + rows[place + 1 :]
        case 2:
            row = [*source]
        case 3:
            row[column] = source[column]
        case 4:
            row[5] = rng.choice(["", "{", "\ud800", row[5].replace(":", " : ")])
        case _:
            row[4] += rng.choice(["x", "\ud800"])
    return [*rows[:place], tuple(row), *rows[place + 1 :]]


@pytest.mark.parametrize("seed", range(400))
def test_a_walk_says_what_the_rules_say(seed: int) -> None:
    """Of logs that were changed in up to two ways, or in none, with any end known: the same flaw at the same entry."""
    rng = random.Random(seed)
    rows, other_rows = log(rng), log(rng)
    known_head = rng.choice([Head(), *(Head(row[0], row[7]) for row in (*rows, *other_rows)), Head(7, "1" * 64)])
    for _ in range(rng.randrange(3)):
        rows = alter_log(rows, rng.choice([*rows, *other_rows]), rng) if rows else rows
    assert walk(rows, known_head) == by_the_rules(rows, known_head)
