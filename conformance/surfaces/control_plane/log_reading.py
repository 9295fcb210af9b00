"""Reader of a control plane's log: all entries of all pages, oldest first."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

from conformance.http.client import Answer
from conformance.oracles import audit_chain
from conformance.outcome import Inconclusive
from conformance.surfaces.control_plane import document_reader
from conformance.surfaces.control_plane.access import AUDIT, Hub, explain_token_refusal, json_of

Entries: TypeAlias = list[Mapping[str, Any]]
# Numbers from this one on are times: Unix seconds from the year 2001, or a finer unit.
FIRST_TIME: Final = 10**9
INSTANT: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}")
_MAX_PAGES = 10_000
_STEPS = 4
# A list with fewer entries is taken for the whole log, not for a page.
_MIN_PAGE_ENTRIES = 10


async def read_log(hub: Hub) -> Entries:
    """Return all log entries of a control plane, oldest first.

    Raises:
        Inconclusive: They cannot be read, the answer does not contain them, or the bound query does not advance.
    """
    entries = entries_in(hub, await hub.admin("GET", AUDIT))
    if (continuation := _continuation(hub)) is None:
        return oldest_first(entries)
    (page, seq), fresh = continuation, entries
    for _ in range(_MAX_PAGES):
        if not fresh:
            break
        last = fresh[-1].get(seq)
        fresh = entries_in(hub, await hub.admin("GET", f"{AUDIT}?{page.replace('{seq}', str(last))}", retry=True))
        # The query does not advance, and reading on would never end.
        if fresh and fresh[-1].get(seq) == last:
            raise Inconclusive(f"[hub] audit_page: {page} after entry {last} ends with entry {last} again")
        entries = [*entries, *fresh]
    return oldest_first(entries)


def entries_about(log: Sequence[Mapping[str, Any]], did: str) -> int:
    """Return how many entries mention a DID."""
    return sum(document_reader.mentions(entry, did) for entry in log)


async def refuse_full_page(hub: Hub, log: Sequence[Mapping[str, Any]]) -> None:
    """Raise if a log may be only its first page, which shows no new entries.

    Raises:
        Inconclusive: The log is long enough for a page, and another registration and revocation do not change it.
    """
    # A log in pages, oldest entries first, shows nothing new when its first page is full. Without a
    # bound query the suite cannot read on, and must not call a new entry missing.
    if _continuation(hub) is not None or len(log) < _MIN_PAGE_ENTRIES:
        return
    async with hub.registered_issuer(hub.new_issuer("page")):
        pass
    if await read_log(hub) == list(log):
        raise Inconclusive(
            f"unbound: GET {AUDIT} answers the same {len(log)} entries after each change, which may be its first "
            "page; bind [hub] audit_page and [hub.audit_chain] seq, by which the next ones are asked for"
        )


def _continuation(hub: Hub) -> tuple[str, str] | None:
    """Return the query that continues a log and the member that numbers its entries, if both are bound."""
    chain, page = hub.bindings.audit_chain, hub.bindings.audit_page
    return None if page is None or chain is None or chain.seq is None else (page, chain.seq)


def entries_in(hub: Hub, answer: Answer) -> Entries:
    """Return the entries of one answer, in its order.

    Raises:
        Inconclusive: There is no list of objects.
    """
    entries = document_reader.entries(json_of(answer), hub.bindings.audit_entries_at)
    if answer.status != 200 or entries is None or not all(isinstance(one, Mapping) for one in entries):
        reason = f"unbound: no log entries in GET {AUDIT} ({answer.status}); give [hub] audit_entries_at"
        raise Inconclusive(explain_token_refusal(answer) or reason)
    return entries


def oldest_first(entries: Sequence[Mapping[str, Any]]) -> Entries:
    """Return log entries in the order of writing, by their times or numbers, else by the beginning of the chain."""
    flat = [document_reader.flatten_entry(one) for one in entries]
    common_names = set.intersection(*(set(one) for one in flat)) if flat else set[str]()
    columns = [[one[name] for one in flat] for name in sorted(common_names)]
    # Some column rises, so the entries are already oldest first.
    if any(_falls(column[::-1]) for column in columns):
        return list(entries)
    # Without times and numbers, the first entry of the chain shows the direction: its link is
    # no MAC.
    is_newest_first = any(map(_falls, columns)) or audit_chain.is_first_page(flat[::-1])
    return list(entries[::-1] if is_newest_first else entries)


def _falls(values: Sequence[Any]) -> bool:
    """Return whether numbers fall from entry to entry, or times from the first to the last."""
    if all(isinstance(one, str) and INSTANT.match(one) for one in values):
        return _never_rises(values)
    if not all(isinstance(one, int) and not isinstance(one, bool) for one in values):
        return False
    if min(values) >= FIRST_TIME:
        return _never_rises(values)
    steps = [one - other for one, other in itertools.pairwise(values)]
    # Two or three small falling numbers may be codes of actions, not numbers of entries.
    return bool(steps) and min(steps) > 0 and (len(steps) >= _STEPS or max(steps) == 1)


def _never_rises(values: Sequence[Any]) -> bool:
    return bool(values[0] > values[-1]) and all(one >= other for one, other in itertools.pairwise(values))
