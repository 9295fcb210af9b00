"""Variants of the audit log: its document, its entries, and their chain."""

from __future__ import annotations

import base64
import hmac
import json
import re
import time
from collections.abc import Callable, Mapping
from typing import Any

from reference.control_plane import audit_log
from reference.control_plane.audit_log import AuditLog, PlannedChange
from reference.protocol import audit_chain
from reference.protocol.audit_chain import NO_MAC, Entry, Head, StoredEntry, decode_entry
from reference.protocol.canonical_json import canonicalise
from reference.protocol.time_text import utc_text
from reference.store.audit_log import TrustChange
from reference.store.database import DuplicateKey, RowNotFound
from reference.variants.chameleon.answer_rewriter import Answer
from reference.variants.chameleon.hub_audit_points import NAMES
from reference.variants.chameleon.variant_shape import Shape
from reference.variants.seams import replace

AUDIT = "/v1/audit"
_LOG_OPENED = "log.opened"
_HEX = re.compile(r"[0-9a-f]{64}")
_ACTIONS = (*(one.value for one in audit_chain.Action), _LOG_OPENED)
_SENTENCES = (
    *("An issuer was added", "An issuer has another key", "An issuer was revoked"),
    *("A service was added", "A service was changed", "A service was removed", "The log was opened"),
)


def install(shape: Shape) -> None:
    """Install the variant of the log in the service."""
    # MACs are computed over entries as the variant shows them, at the time they are written. A log that computed
    # them when it is read would hide changes that were made in between.
    replace(audit_log, "follow", lambda _: lambda head, key, **told: _seal_entry(head, key, shape, **told))
    replace(audit_chain, "_is_sealed", lambda _: lambda key, row: _is_sealed(key, row, shape))
    if not shape.audit_services:
        replace(AuditLog, "change", _quiet)
    if shape.audit_starts:
        replace(AuditLog, "prepare", lambda prepare: _wrap_prepare(prepare, shape))


# Entries and their MACs.


def show_entry(entry: Entry, shape: Shape) -> dict[str, Any]:
    """Return an entry in the form of the variant."""
    members: dict[str, Any] = {
        **entry.wire(),
        "ts_ms": _time(entry.ts_ms, shape),
        "action": _action(entry.action, shape),
        "prev_mac": shape.audit_genesis if entry.prev_mac == NO_MAC else _spell_mac(entry.prev_mac, shape),
        "mac": _spell_mac(entry.mac, shape),
    }
    if shape.audit_entry == "nested":
        change = {
            "by": members["actor"],
            "what": members["action"],
            "of": members["subject"],
            "more": members["payload"],
        }
        chain = {"before": members["prev_mac"], "mac": members["mac"]}
        return {"n": members["seq"], "when": members["ts_ms"], "change": change, "chain": chain}
    return {name: members[own] for own, name in NAMES[shape.audit_entry].items()}


def _time(milliseconds: int, shape: Shape) -> int | str:
    forms: Mapping[str, int | str] = {
        "milliseconds": milliseconds,
        "seconds": milliseconds // 1000,
        "text": utc_text(milliseconds // 1000),
    }
    return forms[shape.audit_times]


def _action(action: str, shape: Shape) -> str | int:
    if shape.audit_actions == "capitals":
        return action.replace(".", "_").upper()
    if action in _ACTIONS and shape.audit_actions == "sentence":
        return _SENTENCES[_ACTIONS.index(action)]
    if action in _ACTIONS and shape.audit_actions == "numbers":
        return _ACTIONS.index(action) + 1
    return action


def _spell_mac(mac: str, shape: Shape) -> str:
    if shape.audit_mac == "HEX":
        return mac.upper()
    if shape.audit_mac == "base64url" and _HEX.fullmatch(mac):
        return base64.urlsafe_b64encode(bytes.fromhex(mac)).decode().rstrip("=")
    return mac  # another program may have written any text there


def mac_of(entry: Entry, key: bytes, shape: Shape) -> str:
    """Return the MAC that an entry should have, in lower-case hex, whatever MAC it has."""
    write = _write_sorted_json if shape.audit_recipe.startswith("sorted-json") else canonicalise
    if shape.audit_recipe.endswith("-without-mac"):
        covered_bytes = write(_without(show_entry(entry, shape), shape, "mac"))
    else:
        before = shape.audit_genesis if entry.prev_mac == NO_MAC else _spell_mac(entry.prev_mac, shape)
        other_bytes = write(_without(show_entry(entry, shape), shape, "mac", "prev_mac"))
        first = shape.audit_recipe.startswith("prev-")
        covered_bytes = before.encode() + other_bytes if first else other_bytes + b"\n" + before.encode()
    return hmac.digest(key if shape.audit_key == "hex" else key.hex().encode(), covered_bytes, "sha256").hex()


def _without(entry: dict[str, Any], shape: Shape, *members: str) -> dict[str, Any]:
    """Return a shown entry without some members, by the log's own names."""
    if shape.audit_entry == "nested":
        kept_chain = {} if "prev_mac" in members else {"chain": {"before": entry["chain"]["before"]}}
        return {name: value for name, value in entry.items() if name != "chain"} | kept_chain
    names = {NAMES[shape.audit_entry].get(one) for one in members}
    return {name: value for name, value in entry.items() if name not in names}


def _write_sorted_json(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True).encode()


def _seal_entry(
    head: Head, key: bytes, shape: Shape, *, ts_ms: int, actor: str, action: str, subject: str, payload: Any
) -> Entry:
    open_entry = Entry(head.seq + 1, ts_ms, actor, str(action), subject, {**payload}, head.mac, NO_MAC)
    members = {name: getattr(open_entry, name) for name in Entry.__slots__}
    return Entry(**{**members, "mac": mac_of(open_entry, key, shape)})


def _is_sealed(key: bytes, row: StoredEntry, shape: Shape) -> bool:
    entry = decode_entry(row)
    return mac_of(entry, key, shape) == entry.mac


# Which changes are in the log.


def _quiet(change: Callable[..., Any]) -> Callable[..., Any]:
    """Return a `change` that writes no entry for registrations of services."""

    async def change_quietly(self: AuditLog, decide: Callable[[int], Any], **by: Any) -> Any:
        async def apart(now: int) -> Any:
            while True:
                outcome, plan = await decide(now)
                if plan is None or not _is_of_a_service(plan):
                    return outcome, plan
                try:
                    # Services are listed in the order of their registration, by the number of its entry. Without an
                    # entry the time in microseconds takes that place.
                    await self._audit._database.change_all(plan.change(time.time_ns() // 1000))  # noqa: SLF001 - a seam
                except (DuplicateKey, RowNotFound):
                    continue
                return outcome, None

        return await change(self, apart, **by)

    return change_quietly


def _is_of_a_service(plan: PlannedChange) -> bool:
    return plan.action.value.startswith("service.")


def _wrap_prepare(prepare: Callable[..., Any], shape: Shape) -> Callable[..., Any]:
    """Return a `prepare` that writes an entry at each start."""

    async def prepare_and_record(self: AuditLog) -> None:
        await prepare(self)

        async def step(head: Head) -> tuple[None, TrustChange]:
            arguments: dict[str, Any] = {"ts_ms": self._clock.now_ms(), "subject": "control-plane", "payload": {}}
            return None, TrustChange(
                _seal_entry(head, self._key, shape, actor="system", action=_LOG_OPENED, **arguments), []
            )

        _, last_step = await self._audit.change(step)
        if last_step is not None:
            await self._keep(last_step.entry)

    return prepare_and_record


# The document.


def edit(answer: Answer, shape: Shape) -> None:
    """Change the log's document."""
    log = answer.document
    if answer.request.path != AUDIT or answer.status != 200 or not isinstance(log, dict):
        return
    entries = [show_entry(Entry(**one), shape) for one in log["entries"]]
    if shape.audit_order == "newest first":
        entries.reverse()
    head = log["head"]["mac"]
    documents: Mapping[str, Any] = {
        "entries": {**log, "entries": entries, "head": {**log["head"], "mac": _spell_mac(head, shape)}},
        "log": {"log": entries, "total": log["count"], "intact": log["valid"] is not False},
        "bare": entries,
        "nested": {"audit": {"records": entries, "tip": _spell_mac(head, shape)}},
    }
    answer.document = documents[shape.audit_document]
