"""Logs whose entries are whole but in wrong places, or are not entries."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from conformance.oracles.audit_chain import GENESIS
from tools.vectors_builder.audit_chains.logs import (
    Entry,
    chain_entries,
    draft_broken,
    events,
    head_of,
    log_of,
    seal_entry,
)
from tools.vectors_builder.drafting import Draft


def entries_taken_out() -> Iterator[Draft]:
    """Yield logs with entries taken out."""
    log, why = log_of(6), "Every entry that is left has its MAC; the numbers tell"
    yield draft_broken("missing/front/one", log[1:], "The first entry is gone.", why, 0, 1)
    yield draft_broken("missing/front/three", log[3:], "The first three entries are gone.", why, 0, 1)
    yield draft_broken("missing/middle/one", log[:2] + log[3:], "An entry is gone.", why, 2, 3)
    yield draft_broken("missing/middle/three", log[:2] + log[5:], "Three entries are gone.", why, 2, 3)
    fault = "Two entries are gone, apart from each other."
    yield draft_broken("missing/middle/two-apart", [log[0], log[2], log[4]], fault, "The first one is told", 1, 2)
    why = "A part may begin anywhere, and has no gaps from there on"
    yield draft_broken("missing/part/after-its-first", [log[2], *log[4:]], "An entry is gone.", why, 1, 4, partial=True)
    parts = log[1:3] + log[5:]
    yield draft_broken("missing/part/two", parts, "Two entries are gone between two pages.", why, 2, 4, partial=True)
    head, why = head_of(log), "The head does not help when an entry before it is gone"
    yield draft_broken("missing/before-the-head/one", log[:4] + log[5:], "An entry is gone.", why, 4, 5, head=head)
    gap = [*log[:3], seal_entry({**log[3], "seq": 5})]
    why = "Whoever has the key skips a number: every link and MAC is right"
    yield draft_broken("missing/number/skipped", gap, "A number was left out when writing.", why, 3, 4)
    first = chain_entries(events(3), first=2)
    yield draft_broken("missing/number/begins-at-two", first, "The first entry has the number two.", why, 0, 1)


def entries_in_another_order() -> Iterator[Draft]:
    """Yield logs with entries in another order, or twice."""
    log, why = log_of(6), "Every entry has its MAC and stands somewhere else"
    swapped_log = [log[0], log[2], log[1], *log[3:]]
    yield draft_broken("reordered/swapped/neighbours", swapped_log, "Two neighbours are swapped.", why, 1, 3)
    far = [log[5], *log[1:5], log[0]]
    yield draft_broken("reordered/swapped/first-and-last", far, "The first and the last entry are swapped.", why, 0, 6)
    yield draft_broken("reordered/swapped/all", log[::-1], "The log is turned round.", "Newest first is no log", 0, 6)
    yield draft_broken(
        "reordered/moved/to-the-end", [*log[:2], *log[3:], log[2]], "An entry stands at the end.", why, 2, 4
    )
    yield draft_broken(
        "reordered/moved/to-the-front", [log[3], *log[:3], *log[4:]], "An entry stands in front.", why, 0, 4
    )
    why = "The same entry again is no new one"
    yield draft_broken("reordered/twice/at-once", [*log[:3], *log[2:]], "An entry stands there twice.", why, 3, 3)
    yield draft_broken(
        "reordered/twice/at-the-end", [*log, log[0]], "The first entry stands at the end again.", why, 6, 1
    )
    yield draft_broken("reordered/twice/whole-log", log[:2] * 2, "The log follows itself.", why, 2, 1)
    part, fault = [log[3], log[2], log[4]], "Two entries of a part are swapped."
    why = "A part may begin anywhere, and goes up from there on"
    yield draft_broken("reordered/part/swapped", part, fault, why, 1, 3, partial=True)
    zero = chain_entries(events(3), first=0)
    yield draft_broken(
        "reordered/number/begins-at-zero", zero, "The first entry has the number zero.", "Numbers begin at one", 0, 0
    )
    again = [*log[:2], seal_entry({**log[2], "seq": 2})]
    why = "Whoever has the key numbers two entries alike: every link and MAC is right"
    yield draft_broken("reordered/number/repeated", again, "Two entries have one number.", why, 2, 2)


def entries_without_links() -> Iterator[Draft]:
    """Yield logs whose numbers and MACs are right and whose links are not."""
    log, why = log_of(5), "Whoever has the key rewrites one entry; the next one still names the old MAC"
    rewritten = [*log[:1], seal_entry({**log[1], "subject": "did:web:other.example"}), *log[2:]]
    yield draft_broken("unlinked/rewritten/in-the-middle", rewritten, "An entry was made anew with the key.", why, 2, 3)
    first = [seal_entry({**log[0], "subject": "did:web:other.example"}), *log[1:]]
    yield draft_broken("unlinked/rewritten/first", first, "The first entry was made anew with the key.", why, 1, 2)
    part = rewritten[1:]
    yield draft_broken(
        "unlinked/rewritten/in-a-part", part, "An entry of a part was made anew with the key.", why, 1, 3, partial=True
    )
    why = "A log begins with a link of 64 zeros, so nothing can be cut off in front of it"
    fault = "The first entry names a MAC before it."
    yield draft_broken("unlinked/genesis/another", chain_entries(events(3), before="a" * 64), fault, why, 0, 1)
    yield draft_broken(
        "unlinked/genesis/empty", chain_entries(events(3), before=""), "The first link is empty.", why, 0, 1
    )
    fault = "The first link has a zero less."
    yield draft_broken("unlinked/genesis/shorter", chain_entries(events(2), before=GENESIS[1:]), fault, why, 0, 1)
    other_log = chain_entries([{**one, "actor": "system"} for one in events(5)])
    why = "Two logs of one key, with numbers that fit"
    fault = "From the fourth entry on it is another log."
    yield draft_broken("unlinked/joined/two-logs", log[:3] + other_log[3:], fault, why, 3, 4)
    skipping_entry = seal_entry({**log[4], "prev_mac": log[2]["mac"]})
    fault = "An entry names the one before the last, with a MAC of the key."
    yield draft_broken("unlinked/link/to-an-earlier-entry", [*log[:4], skipping_entry], fault, why, 4, 5)
    capitals = seal_entry({**log[2], "prev_mac": log[1]["mac"].upper()})
    fault, why = "A link is in capitals, with a MAC of the key.", "Links have one spelling"
    yield draft_broken("unlinked/link/in-capitals", [*log[:2], capitals], fault, why, 2, 3)


def cut_tails() -> Iterator[Draft]:
    """Yield logs that end before the noted head."""
    log, why = log_of(6), "What is left is whole; only the head, noted apart, tells"
    head = head_of(log)
    yield draft_broken("cut_tail/end/one", log[:5], "The last entry is gone.", why, 5, 6, head=head)
    yield draft_broken("cut_tail/end/four", log[:2], "The last four entries are gone.", why, 2, 3, head=head)
    yield draft_broken(
        "cut_tail/end/all", [], "All entries are gone.", "An empty log is whole, and is not this one", 0, 1, head=head
    )
    fault = "The last entries of a part are gone."
    yield draft_broken(
        "cut_tail/part/two", log[2:4], fault, "A page that should reach the head", 2, 5, head=head, partial=True
    )
    early = {"seq": 7, "mac": head["mac"]}
    why = "A head may not be ahead of its log: it is noted afterwards"
    yield draft_broken("cut_tail/head/ahead-by-one", log, "The head has the next number.", why, 6, 7, head=early)


def malformed_logs() -> Iterator[Draft]:
    """Yield logs with a member that is not an entry."""
    log = log_of(4)

    def without(place: int, name: str) -> list[Any]:
        return [_less(entry, name) if at == place else entry for at, entry in enumerate(log)]

    def instead(place: int, replacement: Any) -> list[Any]:
        return [replacement if at == place else entry for at, entry in enumerate(log)]

    why = "An answer, not a crash, for whatever stands in a log"
    yield draft_broken("malformed/not-an-object/null", instead(1, None), "An entry is null.", why, 1)
    yield draft_broken("malformed/not-an-object/text", instead(0, "entry"), "An entry is a text.", why, 0)
    yield draft_broken("malformed/not-an-object/array", instead(3, [1]), "An entry is an array.", why, 3)
    for name in ("mac", "prev_mac", "seq"):
        fault = f"An entry has no {name}."
        yield draft_broken(f"malformed/missing-member/{name.replace('_', '-')}", without(1, name), fault, why, 1)
    yield draft_broken(
        "malformed/seq/as-text", instead(1, {**log[1], "seq": "2"}), "A number is written as text.", why, 1
    )
    yield draft_broken(
        "malformed/seq/truth-value",
        instead(0, {**log[0], "seq": True}),
        "A number is true.",
        "Some languages take true for one",
        0,
    )
    yield draft_broken("malformed/seq/fraction", instead(1, {**log[1], "seq": 2.5}), "A number has a fraction.", why, 1)
    yield draft_broken("malformed/mac/null", instead(2, {**log[2], "mac": None}), "A MAC is null.", why, 2)
    yield draft_broken("malformed/mac/number", instead(2, {**log[2], "mac": 0}), "A MAC is a number.", why, 2)
    yield draft_broken(
        "malformed/link/null", instead(0, {**log[0], "prev_mac": None}), "The first link is null.", why, 0
    )
    yield draft_broken(
        "malformed/link/array", instead(2, {**log[2], "prev_mac": [log[1]["mac"]]}), "A link is an array.", why, 2
    )


def _less(entry: Entry, name: str) -> Entry:
    return {member: value for member, value in entry.items() if member != name}
