"""The audit-chain oracle finds the first fault of a log, and how another hub's log is made."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from typing import Any

import pytest
import rfc8785

from conformance.oracles import audit_chain
from conformance.oracles.audit_chain import Head, Kind, first_fault

KEY = bytes(range(32))
Log = list[dict[str, Any]]


def log_of(count: int) -> Log:
    """Return a log of some length, made in the plainest way by another library."""
    entries: Log = []
    before = "0" * 64
    for seq in range(1, count + 1):
        entry: dict[str, Any] = {
            "seq": seq,
            "ts_ms": 1_767_225_600_000 + seq,
            "actor": "admin",
            "action": "service.registered" if seq % 3 else "issuer.registered",
            "subject": f"did:web:issuer-{seq}.example",
            "payload": {"type": "addon", "base_url": f"http://ärger-{seq}.example", "health_path": "/health\t\x7f"},
            "prev_mac": before,
        }
        before = hmac.new(KEY, rfc8785.dumps(entry), hashlib.sha256).hexdigest()
        entries.append({**entry, "mac": before})
    return entries


def test_the_profiles_example() -> None:
    """The entry of specification 7.4 has the MAC that is written there."""
    entry = {
        "action": "issuer.registered",
        "actor": "admin",
        "payload": {"kid": "00c4f5a3b2d19e80"},
        "prev_mac": "0" * 64,
        "seq": 1,
        "subject": "did:web:issuer.example",
        "ts_ms": 1_767_225_600_000,
    }
    mac = audit_chain.mac_of(entry, KEY)
    assert mac == "c7655e5fd3af9b096188d3b2a202716e6416c67bde0af38cb6443f91c191da37"
    assert first_fault([{**entry, "mac": mac}], KEY, head=Head(1, mac)) is None


def test_a_whole_log_has_no_fault() -> None:
    """No entry, one entry and many; a head that the log has gone beyond is no fault."""
    log = log_of(20)
    assert first_fault([], KEY) is None
    assert first_fault([], KEY, head=Head(0, "0" * 64)) is None
    assert first_fault(log, KEY, head=Head(20, log[-1]["mac"])) is None
    assert first_fault(log, KEY, head=Head(15, log[14]["mac"])) is None


def change_entry(log: Log, place: int, **members: Any) -> Log:
    """Return a log with one entry changed."""
    return [{**one, **members} if at == place else one for at, one in enumerate(log)]


def swap_entries(log: Log, first_place: int, second_place: int) -> Log:
    """Return a log with two entries in each other's place."""
    copy = list(log)
    copy[first_place], copy[second_place] = copy[second_place], copy[first_place]
    return copy


def relink_entries(log: Log, place: int) -> Log:
    """Return a log with an entry left out and the next one telling the number of it, made with the key."""
    kept_entries = log[:place] + log[place + 1 :]
    entry = {**kept_entries[place], "seq": place + 1}
    del entry["mac"]
    kept_entries[place] = {**entry, "mac": audit_chain.mac_of(entry, KEY)}
    return kept_entries


LOG = log_of(12)


@pytest.mark.parametrize(
    ("log", "kind", "place", "seq"),
    [
        (change_entry(LOG, 4, subject="did:web:other.example"), Kind.ALTERED_ENTRY, 4, 5),
        (change_entry(LOG, 0, actor="system"), Kind.ALTERED_ENTRY, 0, 1),
        (change_entry(LOG, 11, ts_ms=1.5), Kind.ALTERED_ENTRY, 11, 12),
        (change_entry(LOG, 3, added=True), Kind.ALTERED_ENTRY, 3, 4),
        (change_entry(LOG, 3, subject="\ud800"), Kind.ALTERED_ENTRY, 3, 4),
        (change_entry(LOG, 7, mac="f" * 64), Kind.ALTERED_ENTRY, 7, 8),
        (change_entry(LOG, 7, mac=LOG[7]["mac"].upper()), Kind.ALTERED_ENTRY, 7, 8),
        (change_entry(LOG, 7, prev_mac=LOG[5]["mac"]), Kind.ALTERED_ENTRY, 7, 8),
        (change_entry(LOG, 6, seq=9), Kind.ALTERED_ENTRY, 6, 9),
        (LOG[:5] + LOG[6:], Kind.MISSING_ENTRY, 5, 6),
        (LOG[:5] + LOG[9:], Kind.MISSING_ENTRY, 5, 6),
        (LOG[1:], Kind.MISSING_ENTRY, 0, 1),
        (swap_entries(LOG, 5, 6), Kind.WRONG_ORDER, 5, 7),
        (swap_entries(LOG, 0, 11), Kind.WRONG_ORDER, 0, 12),
        (LOG[:6] + LOG[5:], Kind.WRONG_ORDER, 6, 6),
        (relink_entries(LOG, 4), Kind.WRONG_LINK, 4, 5),
        (change_entry(LOG, 2, seq="3"), Kind.MALFORMED_ENTRY, 2, None),
        (change_entry(LOG, 2, mac=None), Kind.MALFORMED_ENTRY, 2, None),
        (change_entry(change_entry(LOG, 8, actor="x"), 4, actor="x"), Kind.ALTERED_ENTRY, 4, 5),
    ],
)
def test_the_first_fault_is_named(log: Log, kind: Kind, place: int, seq: int | None) -> None:
    """What is wrong, where it shows, and which entry it is about; the first of several."""
    fault = first_fault(log, KEY, head=Head(12, LOG[-1]["mac"]))
    assert fault is not None
    assert (fault.kind, fault.place, fault.seq) == (kind, place, seq)


@pytest.mark.parametrize("kept_count", [11, 7, 1, 0])
def test_a_cut_tail_shows_where_the_head_is_known(kept_count: int) -> None:
    """The rest is whole; only the noted head knows what is gone."""
    assert first_fault(LOG[:kept_count], KEY) is None
    fault = first_fault(LOG[:kept_count], KEY, head=Head(12, LOG[-1]["mac"]))
    assert fault is not None
    assert (fault.kind, fault.place, fault.seq) == (Kind.CUT_TAIL, kept_count, kept_count + 1)


def test_a_rewritten_tail_shows_where_the_head_is_known() -> None:
    """An operator with the key can write another last entry; the noted head is another then."""
    last = {name: value for name, value in LOG[-1].items() if name != "mac"} | {"actor": "system"}
    log = [*LOG[:-1], {**last, "mac": audit_chain.mac_of(last, KEY)}]
    assert first_fault(log, KEY) is None
    fault = first_fault(log, KEY, head=Head(12, LOG[-1]["mac"]))
    assert fault is not None
    assert (fault.kind, fault.seq) == (Kind.ALTERED_ENTRY, 12)


def test_another_key_is_told_apart_from_an_altered_entry() -> None:
    """Where no entry at all has its MAC, the key is wrong; where one has not, the entry is."""
    fault = first_fault(LOG, bytes(32))
    assert fault is not None
    assert fault.kind is Kind.WRONG_KEY


def test_a_part_of_a_log() -> None:
    """A part may begin anywhere, and is whole in itself or not."""
    assert first_fault(LOG[4:], KEY, partial=True) is None
    fault = first_fault(LOG[4:6] + LOG[7:], KEY, partial=True)
    assert fault is not None
    assert (fault.kind, fault.seq) == (Kind.MISSING_ENTRY, 7)


@pytest.mark.parametrize("value", [{"b": 1, "a": [True, None, 'é\n\\"/\x01']}, {"é": 1, "a": 2**60}, 1.5, [1e30, "x"]])
def test_the_short_way_gives_the_same_bytes(value: Any) -> None:
    """Canonical text is that of RFC 8785, whichever way it is made."""
    try:
        canonical_bytes = rfc8785.dumps(value)
    except rfc8785.CanonicalizationError:
        canonical_bytes = None
    assert canonical_bytes is None or audit_chain.canonical(value) == canonical_bytes


def foreign(count: int, recipe: str) -> Log:
    """Return a log of an independent implementation: other names, another recipe, base64."""
    entries: Log = []
    before = ""
    for number in range(count):
        entry: dict[str, Any] = {"id": f"e{number}", "event": {"issuer": f"did:web:{number}"}}
        text = json.dumps(entry, sort_keys=True)
        covered_text = {"prev": f"{before}|{text}", "linked": json.dumps({**entry, "previous": before}, sort_keys=True)}
        raw = hmac.new(b"a secret of words", covered_text[recipe].encode(), hashlib.sha256).digest()
        link_members = {"previous": before} if recipe == "linked" else {}
        before = base64.b64encode(raw).decode()
        entries.append({**entry, **link_members, "hash": before})
    return entries


@pytest.mark.parametrize("recipe", ["prev", "linked"])
def test_how_a_foreign_log_is_made_is_found_out(recipe: str) -> None:
    """Names, recipe and form of the key are found among the usual ones; then the log is judged by them."""
    log = foreign(6, recipe)
    form = audit_chain.find_form(log, "a secret of words")
    assert form is not None
    assert form.key == "text"
    key = audit_chain.key_bytes("a secret of words", form.key)
    assert first_fault(log, key, form) is None
    log[3]["event"] = {"issuer": "did:web:elsewhere"}
    fault = first_fault(log, key, form)
    assert fault is not None
    assert (fault.kind, fault.place) == (Kind.ALTERED_ENTRY, 3)
    assert audit_chain.find_form(log, "another secret") is None


@pytest.mark.parametrize("genesis", ["", "0" * 64, "genesis", "an unguessable word"])
def test_a_log_whose_entries_name_no_predecessor_may_begin_with_anything(genesis: str) -> None:
    """What the first MAC covers is found where it is usual; where it is not, only the first entry cannot be judged."""
    log: Log = []
    before = genesis
    for number in range(6):
        entry: dict[str, Any] = {"n": number, "event": f"did:web:{number}"}
        covered_bytes = before.encode() + rfc8785.dumps(entry)
        before = hmac.new(KEY, covered_bytes, hashlib.sha256).hexdigest().upper()
        log.append({**entry, "mac": before})
    form = audit_chain.find_form(log, KEY.hex())
    assert form is not None
    assert (form.recipe, form.key) == ("prev-jcs", "hex")
    assert first_fault(log, KEY, form) is None
    for place in range(6):
        changed_log = [{**entry, "event": "x"} if at == place else entry for at, entry in enumerate(log)]
        fault = first_fault(changed_log, KEY, form)
        is_known = place > 0 or genesis in {"", "0" * 64, "genesis"}
        assert (fault is not None and fault.place == place) is is_known


def test_the_profiles_own_form_has_one_spelling() -> None:
    """A MAC in capitals or in base64 is another one to the profile; elsewhere it is the same."""
    right = log_of(1)[0]
    for mac_spelling in (right["mac"].upper(), base64.b64encode(bytes.fromhex(right["mac"])).decode()):
        log = [{**right, "mac": mac_spelling}]
        assert first_fault(log, KEY) is not None
        assert first_fault(log, KEY, audit_chain.Form(any_case=True)) is None


def test_the_beginning_of_a_log_shows_by_what_is_no_mac() -> None:
    """The first entry names zeros, or nothing that is a MAC; turned round, a log does not begin so."""
    assert audit_chain.is_first_page(LOG)
    assert not audit_chain.is_first_page(LOG[::-1])
    assert not audit_chain.is_first_page(LOG[1:])
    assert not audit_chain.is_first_page(LOG[:1])


def test_links_show_without_a_key() -> None:
    """The two members that link entries are found; a log that links nothing has none."""
    assert audit_chain.find_links(LOG) == [("prev_mac", "mac")]
    assert audit_chain.chain_values(LOG) == ["mac", "prev_mac"]
    assert audit_chain.find_links(swap_entries(LOG, 3, 4)) == []
    assert audit_chain.find_links([{"text": "a"}, {"text": "b"}]) == []
