"""Logs that are whole."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tools.vectors_builder.audit_chains.logs import KEY, chain_entries, events, head_of, log_of, whole
from tools.vectors_builder.audit_chains.logs import with_subject as about
from tools.vectors_builder.drafting import Draft

_EXAMPLE_KEY: Final = bytes(range(32))


def lengths() -> Iterator[Draft]:
    """Yield logs by their length, and parts of logs."""
    why = "Before anything has happened"
    yield whole("empty", "without-a-head", [], why)
    yield whole("empty", "head-of-nothing", [], why, head={"seq": 0, "mac": "0" * 64})
    yield whole("empty", "part", [], "A page after the last entry", partial=True)
    example = {
        "seq": 1,
        "ts_ms": 1_767_225_600_000,
        "actor": "admin",
        "action": "issuer.registered",
        "subject": "did:web:issuer.example",
        "payload": {"kid": "00c4f5a3b2d19e80"},
    }
    why = "The profile's own example"
    yield whole("one", "of-the-profile", chain_entries([example], _EXAMPLE_KEY), why, key_hex=_EXAMPLE_KEY.hex())
    yield whole(
        "one", "last-of-a-log", log_of(4)[3:], "One entry from the middle tells of its own MAC only", partial=True
    )
    log = log_of(6)
    yield whole("many", "every-action", log, "One entry of each kind")
    yield whole("many", "forty", log_of(40), "A log that is longer than any lookahead")
    why = "A page of a log: what comes before it is not known"
    yield whole("part", "from-the-middle", log[2:], why, partial=True)
    yield whole("part", "from-the-start", log[:3], "A log that may begin anywhere may begin at its start", partial=True)
    equal_times = [{**one, "ts_ms": 1_767_225_600_000} for one in events(3)]
    late = chain_entries(equal_times, first=9_007_199_254_740_989, before="a" * 64)
    yield whole("part", "numbers-to-the-last-exact", late, "Numbers up to 2^53 - 1 are exact", partial=True)


def heads() -> Iterator[Draft]:
    """Yield logs with the newest entry noted separately, and spellings of the key."""
    log = log_of(5)
    yield whole("head", "the-last-entry", log, "What was noted last is there", head=head_of(log))
    why = "The head is noted after the entry, so a log may be ahead of it by whole entries"
    yield whole("head", "an-earlier-entry", log, why, head=head_of(log[:3]))
    yield whole(
        "head", "before-the-part", log[3:], "The noted entry is on an earlier page", head=head_of(log[:2]), partial=True
    )
    yield whole("key", "in-capitals", log, "Hexadecimal has no case", key_hex=KEY.hex().upper())
    yield whole("key", "with-a-line-end", log[:2], "A key file ends with a line end", key_hex=KEY.hex() + "\n")


def canonical() -> Iterator[Draft]:
    """Yield logs whose MACs are right only over the canonical form of RFC 8785."""
    reversed_entries = [dict(reversed(entry.items())) for entry in log_of(3)]
    yield whole("order", "of-members", reversed_entries, "Members come in any order; the MAC is over the sorted ones")
    why = "Sorted by UTF-16 code units, at every depth"
    yield whole("order", "of-names-beyond-ascii", about("names", **{"\ufb33": 1, "\U0001f600": 2, "é": 3}), why)
    yield whole("order", "nested", about("deep", list=[{"b": {"d": 1, "c": 2}, "a": []}]), why)
    why = "Text is covered as UTF-8, not as escapes"
    yield whole("text", "letters-beyond-ascii", about("did:web:bücher.example"), why)
    yield whole("text", "astral", about("\U0001f512 vault"), why)
    yield whole("text", "not-normalised", about("Cafe\u0301 Caf\u00e9"), "Nothing is normalised")
    yield whole("escapes", "control-characters", about("a\nb\tc\x01\x1f"), "Control characters have one escape each")
    yield whole("escapes", "quote-and-backslash", about('say "a\\b"/'), "A solidus is not escaped")
    yield whole("escapes", "separators-and-delete", about("\u2028\u2029\x7f"), "They are written as they are")
    yield whole(
        "numbers",
        "large-and-small",
        about("numbers", large=1e21, below=123e18, small=1e-7, above=1e-6),
        "As ECMAScript writes them",
    )
    yield whole(
        "numbers", "fractions", about("numbers", tenth=0.1, sum=0.30000000000000004, third=1 / 3), "Shortest digits"
    )
    yield whole(
        "numbers",
        "whole-and-zero",
        about("numbers", one=1.0, zero=-0.0, exact=-9007199254740991),
        "No fraction, no minus",
    )
    why = "A member that nobody knows is covered too"
    yield whole("further", "member", chain_entries([{**one, "note": [None, True]} for one in events(2)]), why)
    yield whole("further", "empty-values", about("", none=None, empty={}, nothing=[], text=""), "Empty is not absent")
