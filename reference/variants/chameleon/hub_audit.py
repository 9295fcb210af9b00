"""What may differ in the audit log: its document, its entries, and how they are chained.

MACs are made of entries as they are shown, when they are written: a log that made them as it is read would hide what
was done to it meanwhile.
"""

from __future__ import annotations

import base64
import hmac
import json
import re
import time
from collections.abc import Callable, Mapping
from typing import Any

from reference.control_plane import audit_log
from reference.control_plane.audit_log import AuditLog, Planned
from reference.protocol import audit_chain
from reference.protocol.audit_chain import NO_MAC, Entry, Head, StoredEntry, decode_entry
from reference.protocol.canonical_json import canonicalise
from reference.protocol.time_text import utc_text
from reference.store.audit_log import TrustChange
from reference.store.database import DuplicateKey, RowNotFound
from reference.variants.chameleon.hub_audit_points import NAMES
from reference.variants.chameleon.shape import Shape
from reference.variants.chameleon.wire import Answer
from reference.variants.seams import replace

AUDIT = "/v1/audit"
_OPENED = "log.opened"
_HEX = re.compile(r"[0-9a-f]{64}")
_ACTIONS = (*(one.value for one in audit_chain.Action), _OPENED)
_SENTENCES = (
    *("An issuer was added", "An issuer has another key", "An issuer was revoked"),
    *("A service was added", "A service was changed", "A service was removed", "The log was opened"),
)


def install(shape: Shape) -> None:
    """Put the look of the log into the service."""
    replace(audit_log, "follow", lambda _: lambda head, key, **told: _followed(head, key, shape, **told))
    replace(audit_chain, "_is_sealed", lambda _: lambda key, row: _is_sealed(key, row, shape))
    if not shape.audit_services:
        replace(AuditLog, "change", _quiet)
    if shape.audit_starts:
        replace(AuditLog, "prepare", lambda prepare: _opened(prepare, shape))


# Entries and their MACs.


def shown(entry: Entry, shape: Shape) -> dict[str, Any]:
    """Return an entry as a look shows it."""
    told: dict[str, Any] = {
        **entry.wire(),
        "ts_ms": _time(entry.ts_ms, shape),
        "action": _action(entry.action, shape),
        "prev_mac": shape.audit_genesis if entry.prev_mac == NO_MAC else _spelled(entry.prev_mac, shape),
        "mac": _spelled(entry.mac, shape),
    }
    if shape.audit_entry == "nested":
        change = {"by": told["actor"], "what": told["action"], "of": told["subject"], "more": told["payload"]}
        chain = {"before": told["prev_mac"], "mac": told["mac"]}
        return {"n": told["seq"], "when": told["ts_ms"], "change": change, "chain": chain}
    return {name: told[own] for own, name in NAMES[shape.audit_entry].items()}


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


def _spelled(mac: str, shape: Shape) -> str:
    if shape.audit_mac == "HEX":
        return mac.upper()
    if shape.audit_mac == "base64url" and _HEX.fullmatch(mac):
        return base64.urlsafe_b64encode(bytes.fromhex(mac)).decode().rstrip("=")
    return mac  # also a value that another program wrote there


def mac_of(entry: Entry, key: bytes, shape: Shape) -> str:
    """Return the MAC that an entry should have, in lower-case hex; its own does not matter."""
    written = _spaced if shape.audit_recipe.startswith("sorted-json") else canonicalise
    if shape.audit_recipe.endswith("-without-mac"):
        covered = written(_without(shown(entry, shape), shape, "mac"))
    else:
        before = shape.audit_genesis if entry.prev_mac == NO_MAC else _spelled(entry.prev_mac, shape)
        rest = written(_without(shown(entry, shape), shape, "mac", "prev_mac"))
        first = shape.audit_recipe.startswith("prev-")
        covered = before.encode() + rest if first else rest + b"\n" + before.encode()
    return hmac.digest(key if shape.audit_key == "hex" else key.hex().encode(), covered, "sha256").hex()


def _without(told: dict[str, Any], shape: Shape, *members: str) -> dict[str, Any]:
    """Return a shown entry without some members, by the log's own names."""
    if shape.audit_entry == "nested":
        kept = {} if "prev_mac" in members else {"chain": {"before": told["chain"]["before"]}}
        return {name: value for name, value in told.items() if name != "chain"} | kept
    names = {NAMES[shape.audit_entry].get(one) for one in members}
    return {name: value for name, value in told.items() if name not in names}


def _spaced(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True).encode()


def _followed(
    head: Head, key: bytes, shape: Shape, *, ts_ms: int, actor: str, action: str, subject: str, payload: Any
) -> Entry:
    open_entry = Entry(head.seq + 1, ts_ms, actor, str(action), subject, {**payload}, head.mac, NO_MAC)
    members = {name: getattr(open_entry, name) for name in Entry.__slots__}
    return Entry(**{**members, "mac": mac_of(open_entry, key, shape)})


def _is_sealed(key: bytes, row: StoredEntry, shape: Shape) -> bool:
    entry = decode_entry(row)
    return mac_of(entry, key, shape) == entry.mac


# What stands in the log.


def _quiet(change: Callable[..., Any]) -> Callable[..., Any]:
    """Return a change of trust of which registrations of services leave no entry."""

    async def changed(self: AuditLog, decide: Callable[[int], Any], **by: Any) -> Any:
        async def apart(now: int) -> Any:
            while True:
                outcome, planned = await decide(now)
                if planned is None or not _is_of_a_service(planned):
                    return outcome, planned
                try:
                    # Services keep the order of their registration by a number that an entry would have given.
                    await self._audit._database.change_all(planned.change(time.time_ns() // 1000))  # noqa: SLF001 - a seam
                except (DuplicateKey, RowNotFound):
                    continue
                return outcome, None

        return await change(self, apart, **by)

    return changed


def _is_of_a_service(planned: Planned) -> bool:
    return planned.action.value.startswith("service.")


def _opened(prepare: Callable[..., Any], shape: Shape) -> Callable[..., Any]:
    """Return a start that leaves an entry of its own."""

    async def prepared(self: AuditLog) -> None:
        await prepare(self)

        async def step(head: Head) -> tuple[None, TrustChange]:
            told: dict[str, Any] = {"ts_ms": self._clock.now_ms(), "subject": "control-plane", "payload": {}}
            return None, TrustChange(_followed(head, self._key, shape, actor="system", action=_OPENED, **told), [])

        _, done = await self._audit.change(step)
        if done is not None:
            await self._keep(done.entry)

    return prepared


# The document.


def edit(answer: Answer, shape: Shape) -> None:
    """Give the log's document another shape."""
    told = answer.document
    if answer.asked.path != AUDIT or answer.status != 200 or not isinstance(told, dict):
        return
    entries = [shown(Entry(**one), shape) for one in told["entries"]]
    if shape.audit_order == "newest first":
        entries.reverse()
    head = told["head"]["mac"]
    documents: Mapping[str, Any] = {
        "entries": {**told, "entries": entries, "head": {**told["head"], "mac": _spelled(head, shape)}},
        "log": {"log": entries, "total": told["count"], "intact": told["valid"] is not False},
        "bare": entries,
        "nested": {"audit": {"records": entries, "tip": _spelled(head, shape)}},
    }
    answer.document = documents[shape.audit_document]
