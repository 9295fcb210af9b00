"""The HMAC-chained log of trust changes: its entries, their MACs, and the check of a chain (7.4).

Each entry's MAC covers the entry and the MAC of the entry before it. So a writer without the key cannot change, remove
or insert an entry in the middle. Only the end can be cut off unnoticed, unless a later head is known.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeAlias

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.hmac import HMAC

from reference.protocol.canonical_json import JsonValue, NotCanonical, NotJson, canonicalise, parse

KEY_BYTES = 32
# The first entry has no predecessor. A fixed value in its place lets one rule hold for all entries.
NO_MAC = "0" * 64
ADMIN = "admin"

# One entry as it is stored: seq, ts_ms, actor, action, subject, payload as JSON text, prev_mac, mac.
StoredEntry: TypeAlias = tuple[int, int, str, str, str, str, str, str]


class Action(StrEnum):
    """What was done."""

    ISSUER_REGISTERED = "issuer.registered"
    ISSUER_ROTATED = "issuer.rotated"
    ISSUER_REVOKED = "issuer.revoked"
    SERVICE_REGISTERED = "service.registered"
    SERVICE_UPDATED = "service.updated"
    SERVICE_REMOVED = "service.removed"


def service_actor(name: str) -> str:
    """Return the actor of a change that a service made with its own token."""
    return f"service:{name}"


# "unlinked" and "altered" are distinguished because they have different causes: an entry with a right MAC in a
# wrong place was sealed with the key, an altered entry was not.
class Flaw(StrEnum):
    """What is wrong with a chain at one place."""

    ALTERED = "altered"
    MISSING = "missing"
    UNLINKED = "unlinked"
    CUT = "cut"


@dataclass(frozen=True, slots=True)
class Head:
    """The end of a chain: number and MAC of its last entry; 0 and zeros when it is empty."""

    seq: int = 0
    mac: str = NO_MAC


@dataclass(frozen=True, slots=True)
class Break:
    """Where a chain breaks first, and how."""

    seq: int
    flaw: Flaw


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry.

    Attributes:
        seq: Its number, from 1.
        ts_ms: Unix milliseconds.
        actor: The holder of the credential: `admin`, `system`, or `service:` and the name of a service that registered
            itself.
        action: What was done.
        subject: DID or name that it was done to.
        payload: The details of the action.
        prev_mac: MAC of the entry before it; 64 zeros for the first.
        mac: MAC of this entry.
    """

    seq: int
    ts_ms: int
    actor: str
    action: str
    subject: str
    payload: JsonValue
    prev_mac: str
    mac: str

    def wire(self) -> dict[str, Any]:
        """Return the entry as a JSON object of an answer."""
        return {name: getattr(self, name) for name in self.__slots__}

    @property
    def head(self) -> Head:
        """The head of a chain that ends here."""
        return Head(self.seq, self.mac)


def follow(
    head: Head, key: bytes, *, ts_ms: int, actor: str, action: Action, subject: str, payload: Mapping[str, str]
) -> Entry:
    """Return the sealed entry that comes after `head`.

    Args:
        head: Where the chain ends now.
        key: The chain key, 32 bytes.
        ts_ms: Unix milliseconds.
        actor: The holder of the credential; see `Entry`.
        action: What was done.
        subject: DID or name that it was done to.
        payload: The details of the action.
    """
    seq = head.seq + 1
    details: dict[str, JsonValue] = {**payload}
    content = _content(seq, ts_ms, actor, action.value, subject, details, head.mac)
    mac = hmac.digest(key, canonicalise(content), "sha256").hex()
    return Entry(seq, ts_ms, actor, action.value, subject, details, head.mac, mac)


def encode_entry(entry: Entry) -> StoredEntry:
    """Return the columns of an entry; its payload is the text of its canonical form."""
    payload = canonicalise(entry.payload).decode()
    return (
        *(entry.seq, entry.ts_ms, entry.actor, entry.action),
        *(entry.subject, payload, entry.prev_mac, entry.mac),
    )


def decode_entry(columns: StoredEntry) -> Entry:
    """Return the entry of stored columns; a payload that is not JSON any more is returned as its text."""
    seq, ts_ms, actor, action, subject, text, prev_mac, mac = columns
    try:
        # A row whose payload was damaged must still be shown: the check of the chain reports it as altered. So a
        # payload that cannot be parsed or sealed is kept as text.
        payload = parse(text.encode())
        canonicalise(payload)
    except (NotJson, NotCanonical, UnicodeEncodeError):
        payload = text
    return Entry(seq, ts_ms, actor, action, subject, payload, prev_mac, mac)


class ChainCheck:
    """Walks along a chain, entry by entry, and stops at its first flaw.

    Recomputes the canonical form and the MAC of every entry.
    """

    def __init__(self, key: bytes, *, after: Head = Head(), known_head: Head = Head()) -> None:
        """Take where the walk begins.

        Args:
            key: The chain key.
            after: What the first entry must follow.
            known_head: An entry that was there once: the chain must still hold it.
        """
        self._key, self._keyed_hmac = key, HMAC(key, SHA256())
        self._known_head = known_head
        self.head = after
        self.first_break: Break | None = None

    def walk(self, entries: Iterable[StoredEntry]) -> bool:
        """Check further entries; return False once a flaw is found."""
        if self.first_break is not None:
            return False
        copy_keyed, known_seq = self._keyed_hmac.copy, self._known_head.seq
        seq, last = self.head.seq, self.head.mac
        for entry in entries:
            seq += 1
            number, ts_ms, actor, action, subject, text, prev_mac, mac = entry
            # A full check does this a million times. So the canonical form is written directly, as if no member
            # needed an escape, and its MAC is compared. A MAC that fits proves that exactly these bytes were
            # sealed. An entry that does not pass here, for any reason, is judged by the slower rules of `_flaw`.
            entry_hmac = copy_keyed()
            try:
                entry_hmac.update(
                    f'{{"action":"{action}","actor":"{actor}","payload":{text},"prev_mac":"{prev_mac}"'
                    f',"seq":{number},"subject":"{subject}","ts_ms":{ts_ms}}}'.encode()
                )
                # `number == seq != known_seq`: the entry whose MAC is known takes the slower way, which also
                # compares that MAC.
                passes = entry_hmac.finalize().hex() == mac and prev_mac == last and number == seq != known_seq
            except UnicodeEncodeError:
                passes = False
            if not passes and (flaw := self._flaw(entry, seq, last)):
                self.first_break = Break(seq, flaw)
                return False
            last = mac
        self.head = Head(seq, last)
        return True

    def end(self) -> Break | None:
        """Return the flaw of the chain, which has no further entry; None when it is whole."""
        # A chain that is shorter than the known head has lost its end. The MACs alone cannot show this.
        if self.first_break is None and self.head.seq < self._known_head.seq:
            self.first_break = Break(self.head.seq + 1, Flaw.CUT)
        return self.first_break

    def _flaw(self, entry: StoredEntry, seq: int, last: str) -> Flaw | None:
        """Return what is wrong with an entry, None when nothing is.

        Args:
            entry: The entry.
            seq: The number that it must have.
            last: The MAC of the entry before it.
        """
        number, *_, prev_mac, mac = entry
        # The order of these checks decides which flaw is reported. A missing number goes first: all later checks
        # would blame the entry that follows the gap.
        if number != seq:
            return Flaw.MISSING
        if not _is_sealed(self._key, entry):
            return Flaw.ALTERED
        if prev_mac != last:
            return Flaw.UNLINKED
        return Flaw.CUT if seq == self._known_head.seq and mac != self._known_head.mac else None


def _is_sealed(key: bytes, entry: StoredEntry) -> bool:
    """Return whether an entry's MAC is the one of its content, however its members are written."""
    seq, ts_ms, actor, action, subject, text, prev_mac, mac = entry
    try:
        content = _content(seq, ts_ms, actor, action, subject, parse(text.encode()), prev_mac)
        return hmac.digest(key, canonicalise(content), "sha256").hex() == mac
    except (NotJson, NotCanonical, UnicodeEncodeError):
        return False


def _content(
    seq: int, ts_ms: int, actor: str, action: str, subject: str, payload: JsonValue, prev_mac: str
) -> dict[str, JsonValue]:
    return {
        "action": action,
        "actor": actor,
        "payload": payload,
        "prev_mac": prev_mac,
        "seq": seq,
        "subject": subject,
        "ts_ms": ts_ms,
    }
