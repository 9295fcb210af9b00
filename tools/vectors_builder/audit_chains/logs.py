"""Logs as a control plane writes them, and drafts of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from conformance.oracles.audit_chain import GENESIS, mac_of
from tools.vectors_builder.drafting import Draft, draft_holding, seed

Entry = dict[str, Any]
KEY: Final = seed("audit_chains", "chain key")
OTHER_KEY: Final = seed("audit_chains", "another chain key")
_START_MS: Final = 1_767_225_600_000
_PINS: Final = ("profile 7.4: the interface says no more than that the log is an HMAC chain",)
_ISSUER: Final = "did:web:issuer.example"


def _kid(name: str) -> str:
    return seed("audit_chains", name)[:8].hex()


# What happened, in a row that makes sense: an action, whose, and its payload.
EVENTS: Final[tuple[tuple[str, str, str, Mapping[str, Any]], ...]] = (
    ("admin", "issuer.registered", _ISSUER, {"kid": _kid("first")}),
    (
        "admin",
        "service.registered",
        "rail",
        {"type": "rail", "base_url": "https://rail.example", "health_path": "/health"},
    ),
    ("admin", "issuer.rotated", _ISSUER, {"kid": _kid("second"), "previous_kid": _kid("first")}),
    (
        "admin",
        "service.updated",
        "rail",
        {"type": "rail", "base_url": "https://rail.example/2", "health_path": "/health"},
    ),
    ("admin", "issuer.revoked", _ISSUER, {"kid": _kid("second")}),
    (
        "system",
        "service.removed",
        "rail",
        {"type": "rail", "base_url": "https://rail.example/2", "health_path": "/health"},
    ),
)


def seal_entry(entry: Entry, key: bytes = KEY) -> Entry:
    """Return an entry with the MAC that a key gives it."""
    bare = {name: member for name, member in entry.items() if name != "mac"}
    return {**bare, "mac": mac_of(bare, key)}


def chain_entries(
    bare: Sequence[Mapping[str, Any]],
    key: bytes = KEY,
    *,
    first: int = 1,
    before: str = GENESIS,
    seal: Callable[[Entry, bytes], Entry] = seal_entry,
) -> list[Entry]:
    """Return entries numbered from `first` and linked from `before`, with their MACs; given members go before ours."""
    entries: list[Entry] = []
    for place, bare_entry in enumerate(bare):
        seq = first + place
        entry = {"seq": seq, "ts_ms": _START_MS + 1000 * seq, **bare_entry, "prev_mac": before}
        entries.append(seal(entry, key))
        before = entries[-1]["mac"]
    return entries


def events(count: int) -> list[dict[str, Any]]:
    """Return what happened first in a log, without numbers and MACs."""
    event_cycle = (EVENTS[place % len(EVENTS)] for place in range(count))
    return [
        {"actor": actor, "action": action, "subject": subject, "payload": dict(payload)}
        for actor, action, subject, payload in event_cycle
    ]


def log_of(count: int, key: bytes = KEY) -> list[Entry]:
    """Return a whole log."""
    return chain_entries(events(count), key)


def with_subject(subject: str, **further: Any) -> list[Entry]:
    """Return a log of two entries, the first about a subject, with further members of its payload."""
    first, second = events(2)
    return chain_entries([{**first, "subject": subject, "payload": {**first["payload"], **further}}, second])


def head_of(entries: Sequence[Entry]) -> dict[str, Any]:
    """Return the head that is noted after the last entry."""
    return {"seq": entries[-1]["seq"], "mac": entries[-1]["mac"]}


def _input(entries: Sequence[Any], key_hex: str, head: Mapping[str, Any] | None, partial: bool) -> dict[str, Any]:
    return {
        "entries": list(entries),
        "key_hex": key_hex,
        "head": None if head is None else dict(head),
        "partial": partial,
    }


def whole(
    property_name: str,
    variant: str,
    entries: Sequence[Entry],
    why: str,
    *,
    key_hex: str = KEY.hex(),
    head: Mapping[str, Any] | None = None,
    partial: bool = False,
) -> Draft:
    """Return the draft of a log that is whole."""
    rows = ("CP-AUDIT-04", "CP-AUDIT-05")
    vector_input, values = _input(entries, key_hex, head, partial), {"entries": len(entries)}
    return draft_holding(property_name, variant, vector_input, why, rows, values=values, pins=_PINS)


def draft_broken(
    name: str,
    entries: Sequence[Any],
    fault: str,
    why: str,
    place: int | None,
    seq: int | None = None,
    *,
    key_hex: str = KEY.hex(),
    head: Mapping[str, Any] | None = None,
    partial: bool = False,
) -> Draft:
    """Return the draft of a log with one fault.

    Args:
        name: Stage, fault and variant.
        entries: In the order they came.
        fault: The fault in a sentence.
        why: Why it is worth having.
        place: Index of the entry that shows it; None: no entry does.
        seq: Number of the entry that is altered, missing or out of its place.
        key_hex: The chain key as the verifier is given it.
        head: The noted head.
        partial: Whether the log may begin in the middle.
    """
    stage, fault_name, variant = name.split("/")
    rows = ("CP-AUDIT-05", "CP-AUDIT-06" if stage in {"missing", "reordered", "cut_tail"} else "CP-AUDIT-07")
    values = {} if place is None else {"place": place, "seq": seq}
    vector_input = _input(entries, key_hex, head, partial)
    pinned_members = ("valid", "stage", "codes", "values")
    return Draft(
        stage,
        fault_name,
        variant,
        vector_input,
        why,
        rows,
        fault,
        values=values,
        pinned_members=pinned_members,
        pins=_PINS,
    )
