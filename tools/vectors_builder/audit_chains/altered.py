"""Logs with an entry that is not what was written, and logs that no MAC of the key fits."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any, Final

import jcs

from conformance.oracles.audit_chain import PROFILE, mac_of
from tools.vectors_builder.audit_chains.logs import (
    KEY,
    OTHER_KEY,
    Entry,
    chain_entries,
    draft_broken,
    events,
    head_of,
    log_of,
    seal_entry,
    with_subject,
)
from tools.vectors_builder.drafting import Draft

_MIDDLE: Final = 2


def _with(place: int, **members: Any) -> list[Entry]:
    """Return a log of six with members of one entry changed, its MAC left as it was."""
    log = log_of(6)
    log[place] = {**log[place], **members}
    return log


def members() -> Iterator[Draft]:
    """Yield every member of an entry changed."""
    for name, value, place in (
        ("actor", "system", 0),
        ("action", "issuer.registered", 4),
        ("subject", "did:web:other.example", _MIDDLE),
    ):
        fault, why = f"The {name} of an entry is another.", "Whoever writes into the database rewrites history"
        yield draft_broken(f"altered/member/{name}", _with(place, **{name: value}), fault, why, place, place + 1)
    why = "Every member of the payload is covered"
    kid = {"kid": "00" * 8, "previous_kid": log_of(3)[_MIDDLE]["payload"]["previous_kid"]}
    yield draft_broken(
        "altered/payload/kid", _with(_MIDDLE, payload=kid), "A key id in a payload is another.", why, 2, 3
    )
    more = {**log_of(1)[0]["payload"], "note": ""}
    yield draft_broken("altered/payload/added", _with(0, payload=more), "A payload has a member more.", why, 0, 1)
    yield draft_broken("altered/payload/removed", _with(5, payload={}), "A payload has lost its members.", why, 5, 6)
    stamp = log_of(4)[3]["ts_ms"]
    yield draft_broken(
        "altered/number/time", _with(3, ts_ms=stamp + 1), "A time is a millisecond later.", "Times are covered", 3, 4
    )
    why = "One and the text of one are two values"
    yield draft_broken("altered/number/as-text", _with(3, ts_ms=str(stamp)), "A time is written as text.", why, 3, 4)
    why = "Numbers are covered, so nobody renumbers an entry without the key"
    yield draft_broken("altered/number/seq", _with(3, seq=7), "The number of an entry is another.", why, 3, 7)
    log = log_of(6)
    log[1] = {name: value for name, value in log[1].items() if name != "subject"}
    why = "A member that is gone was covered"
    yield draft_broken("altered/member-set/removed", log, "An entry has lost its subject.", why, 1, 2)
    yield draft_broken(
        "altered/member-set/added", _with(1, note="x"), "An entry has a member more.", "All members are covered", 1, 2
    )
    yield draft_broken("altered/member-set/null", _with(1, payload=None), "A payload is null.", "Null is a value", 1, 2)
    log = with_subject("Caf\u00e9")
    log[0] = {**log[0], "subject": "Cafe\u0301"}
    why = "What looks alike is another text"
    yield draft_broken("altered/text/decomposed", log, "A letter is written as two characters.", why, 0, 1)
    log = with_subject("rail")
    log[0] = {**log[0], "subject": "r\u0430il"}
    yield draft_broken("altered/text/look-alike", log, "A letter is one of another script.", why, 0, 1)


def macs() -> Iterator[Draft]:
    """Yield MACs that are not the entry's, or not in the log's form."""
    log = log_of(4)
    right = log[1]["mac"]
    flipped_mac = ("1" if right[0] == "0" else "0") + right[1:]
    why = "Every digit is compared"
    yield draft_broken(
        "altered/mac/first-digit", _with(1, mac=flipped_mac), "The first digit of a MAC is another.", why, 1, 2
    )
    flipped_mac = right[:-1] + ("1" if right[-1] == "0" else "0")
    yield draft_broken(
        "altered/mac/last-digit", _with(1, mac=flipped_mac), "The last digit of a MAC is another.", why, 1, 2
    )
    yield draft_broken(
        "altered/mac/of-another-entry", _with(1, mac=log[2]["mac"]), "An entry has the next one's MAC.", why, 1, 2
    )
    why = "A MAC has one spelling: lower-case hex, whole"
    mac_base64 = base64.b64encode(bytes.fromhex(right)).decode()
    yield draft_broken("altered/mac-spelling/capitals", _with(1, mac=right.upper()), "A MAC is in capitals.", why, 1, 2)
    yield draft_broken("altered/mac-spelling/base64", _with(1, mac=mac_base64), "A MAC is in base64.", why, 1, 2)
    yield draft_broken("altered/mac-spelling/prefixed", _with(1, mac=f"0x{right}"), "A MAC has a prefix.", why, 1, 2)
    why = "A comparison that stops at the shorter text takes it"
    yield draft_broken("altered/mac-length/truncated", _with(1, mac=right[:32]), "Half of a MAC is missing.", why, 1, 2)
    yield draft_broken("altered/mac-length/empty", _with(1, mac=""), "A MAC is empty.", why, 1, 2)
    yield draft_broken("altered/mac-length/longer", _with(1, mac=right + "00"), "A MAC is longer.", why, 1, 2)
    fault, why = "A MAC is no hexadecimal number.", "A decoder's fault must be an answer, not a crash"
    yield draft_broken("altered/mac-not-hex/letters", _with(1, mac="z" * 64), fault, why, 1, 2)
    yield draft_broken("altered/mac-not-hex/beyond-ascii", _with(1, mac="é" * 64), fault, why, 1, 2)
    why = "The link is covered by the MAC"
    yield draft_broken(
        "altered/link/to-zeros", _with(3, prev_mac="0" * 64), "An entry names zeros before it.", why, 3, 4
    )
    fault = "An entry names the one before the last."
    yield draft_broken("altered/link/to-an-earlier-entry", _with(3, prev_mac=log[1]["mac"]), fault, why, 3, 4)
    yield draft_broken(
        "altered/link/in-capitals", _with(3, prev_mac=log[2]["mac"].upper()), "A link is in capitals.", why, 3, 4
    )


def _foreign(place: int) -> list[Entry]:
    """Return a log in which one entry, and its links, were made with another key."""
    log = log_of(5)
    log[place] = seal_entry({**log[place], "subject": "did:web:mallory.example"}, OTHER_KEY)
    return log


def forged_entries() -> Iterator[Draft]:
    """Yield entries that a forger without the key made."""
    why = "Whoever has no key can make a MAC, only not this one"
    fault = "An entry was made anew with another key."
    yield draft_broken("altered/forged/in-the-middle", _foreign(2), fault, why, 2, 3)
    yield draft_broken("altered/forged/at-the-end", _foreign(4), fault, why, 4, 5)
    log = log_of(3)
    tail = chain_entries(events(2), OTHER_KEY, first=4, before=log[-1]["mac"])
    fault = "Two entries were written after the log with another key."
    yield draft_broken("altered/forged/appended", log + tail, fault, why, 3, 4)
    bare = {name: value for name, value in log[1].items() if name != "mac"}
    plain = hashlib.sha256(jcs.canonicalize(bare)).hexdigest()
    longer = hmac.new(KEY, jcs.canonicalize(bare), hashlib.sha512).hexdigest()[:64]
    spaced_mac = hmac.new(KEY, json.dumps(bare, sort_keys=True).encode(), hashlib.sha256).hexdigest()
    why = "One entry made another way, among others that are right"
    for variant, mac, fault in (
        ("sha256-without-key", plain, "An entry has a hash for its MAC."),
        ("sha512-cut-off", longer, "An entry has half of an HMAC-SHA512."),
        ("over-spaced-json", spaced_mac, "An entry's MAC is over JSON with spaces."),
    ):
        yield draft_broken(f"altered/recipe/{variant}", _with(1, mac=mac)[:3], fault, why, 1, 2)
    why = "With one entry nobody can tell a wrong key from a changed entry"
    fault = "The only entry was made with another key."
    yield draft_broken("altered/alone/other-key", log_of(1, OTHER_KEY), fault, why, 0, 1)
    why = "A noted head says which entry was there"
    log, fork = log_of(4), log_of(4)
    fork[3] = seal_entry({**fork[3], "subject": "agent"})
    fault = "The last entry is another than the noted head."
    yield draft_broken("altered/head/last-entry", fork, fault, why, 3, 4, head=head_of(log))
    other_head = {"seq": 2, "mac": "f" * 64}
    fault = "An entry in the middle is another than the noted head."
    yield draft_broken("altered/head/earlier-entry", log, fault, why, 1, 2, head=other_head)
    yield draft_broken("altered/head/in-a-part", log[1:], fault, why, 0, 2, head=other_head, partial=True)


def wrong_keys() -> Iterator[Draft]:
    """Yield logs of which no entry has a MAC of the given key: another key, or another recipe."""
    log = log_of(3)
    fault, why = "The key is another.", "Said once, and not as three altered entries"
    flipped_key = bytes([KEY[0] ^ 1]) + KEY[1:]
    yield draft_broken("wrong_key/other/unrelated", log, fault, why, 0, key_hex=OTHER_KEY.hex())
    yield draft_broken("wrong_key/other/one-bit", log, fault, why, 0, key_hex=flipped_key.hex())
    yield draft_broken("wrong_key/other/reversed", log, fault, why, 0, key_hex=KEY[::-1].hex())
    why = "The key is 32 bytes, written in hexadecimal"
    yield draft_broken("wrong_key/length/a-byte-less", log, "The key is a byte short.", why, 0, key_hex=KEY[:-1].hex())
    padded_key = KEY.hex() + "01"
    yield draft_broken("wrong_key/length/a-byte-more", log, "The key is a byte longer.", why, 0, key_hex=padded_key)
    yield draft_broken(
        "wrong_key/length/empty", log, "There is no key.", "An empty key is a key of HMAC", None, key_hex=""
    )
    why = "What is no hexadecimal number is no key"
    yield draft_broken(
        "wrong_key/not-hex/letters", log, "The key is no hexadecimal number.", why, None, key_hex="z" * 64
    )
    yield draft_broken("wrong_key/not-hex/odd", log, "The key has a digit less.", why, None, key_hex=KEY.hex()[:-1])
    key_base64 = base64.b64encode(KEY).decode()
    yield draft_broken("wrong_key/not-hex/base64", log, "The key is in base64.", why, None, key_hex=key_base64)
    as_text = log_of(3, KEY.hex().encode())
    why = "The hexadecimal text stands for 32 bytes and is not itself the key"
    yield draft_broken("wrong_key/use/as-text", as_text, "The key's text was taken for the key.", why, 0)
    log_of_hash = log_of(3, hashlib.sha256(KEY).digest())
    yield draft_broken("wrong_key/use/hashed", log_of_hash, "The key was hashed first.", "The key is used as it is", 0)
    why = "Another way to make MACs is not told from another key"
    for variant, recipe, fault in (
        ("spaced-json", "sorted-json-without-mac", "All MACs are over JSON with spaces and escapes."),
        ("link-before-the-rest", "prev-jcs", "All MACs are over the link and then the rest."),
        ("link-after-a-newline", "jcs-newline-prev", "All MACs are over the rest and then the link."),
    ):
        log_by_recipe = chain_entries(events(3), seal=partial(_by_recipe, recipe))
        yield draft_broken(f"wrong_key/recipe/{variant}", log_by_recipe, fault, why, 0)


def _by_recipe(recipe: str, entry: Entry, key: bytes) -> Entry:
    return {**entry, "mac": mac_of(entry, key, replace(PROFILE, recipe=recipe), entry["prev_mac"])}
