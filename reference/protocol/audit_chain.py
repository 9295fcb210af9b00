"""The HMAC-chained log of trust changes: what an entry is, how it is sealed, how a chain is checked (profile 7.4)."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeAlias

from reference.protocol.canonical_json import JsonValue, NotCanonical, NotJson, canonicalise, parse

KEY_BYTES = 32
NO_MAC = "0" * 64

# One entry as it is stored: seq, ts_ms, actor, action, subject, payload as JSON text, prev_mac, mac.
Stored: TypeAlias = tuple[int, int, str, str, str, str, str, str]


_BLOCK_BYTES = 64


class Action(StrEnum):
    """What was done."""

    ISSUER_REGISTERED = "issuer.registered"
    ISSUER_ROTATED = "issuer.rotated"
    ISSUER_REVOKED = "issuer.revoked"
    SERVICE_REGISTERED = "service.registered"
    SERVICE_UPDATED = "service.updated"
    SERVICE_REMOVED = "service.removed"


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
        actor: `admin` or `system`.
        action: What was done.
        subject: DID or name that it was done to.
        payload: What is told of it.
        prev_mac: MAC of the entry before it; 64 zeros for the first.
        mac: Its own.
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
        """Return the entry as it is told."""
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
        actor: Who did it.
        action: What was done.
        subject: To what.
        payload: What is told of it.
    """
    seq = head.seq + 1
    told: dict[str, JsonValue] = {**payload}
    content = _content(seq, ts_ms, actor, action.value, subject, told, head.mac)
    mac = hmac.digest(key, canonicalise(content), "sha256").hex()
    return Entry(seq, ts_ms, actor, action.value, subject, told, head.mac, mac)


def stored(entry: Entry) -> Stored:
    """Return the columns of an entry; its payload is the text of its canonical form."""
    payload = canonicalise(entry.payload).decode()
    return (
        *(entry.seq, entry.ts_ms, entry.actor, entry.action),
        *(entry.subject, payload, entry.prev_mac, entry.mac),
    )


def restored(columns: Stored) -> Entry:
    """Return the entry of stored columns; a payload that is no JSON any more is its text."""
    seq, ts_ms, actor, action, subject, text, prev_mac, mac = columns
    try:
        payload = parse(text.encode())
        canonicalise(payload)
    except (NotJson, NotCanonical, UnicodeEncodeError):
        payload = text
    return Entry(seq, ts_ms, actor, action, subject, payload, prev_mac, mac)


class ChainCheck:
    """Walks along a chain, entry by entry, and stops at its first flaw.

    Recomputes the canonical form and the MAC of every entry.
    """

    def __init__(self, key: bytes, *, after: Head = Head(), known: Head = Head()) -> None:
        """Take where the walk begins.

        Args:
            key: The chain key.
            after: What the first entry must follow.
            known: An entry that was there once: the chain must still hold it.
        """
        self._is_sealed = _sealed_under(key)
        self._known = known
        self.head = after
        self.found: Break | None = None

    def walk(self, entries: Iterable[Stored]) -> bool:
        """Go on along further entries; False once a flaw is found."""
        if self.found is not None:
            return False
        known, is_sealed = self._known, self._is_sealed
        seq, last = self.head.seq, self.head.mac
        for entry in entries:
            seq += 1
            if entry[0] != seq:
                self.found = Break(seq, Flaw.MISSING)
            elif not is_sealed(entry):
                self.found = Break(seq, Flaw.ALTERED)
            elif entry[6] != last:
                self.found = Break(seq, Flaw.UNLINKED)
            elif seq == known.seq and entry[7] != known.mac:
                self.found = Break(seq, Flaw.CUT)
            if self.found is not None:
                return False
            last = entry[7]
        self.head = Head(seq, last)
        return True

    def end(self) -> Break | None:
        """Return the flaw of the chain, which has no further entry; None when it is whole."""
        if self.found is None and self.head.seq < self._known.seq:
            self.found = Break(self.head.seq + 1, Flaw.CUT)
        return self.found


def _sealed_under(key: bytes) -> Callable[[Stored], bool]:
    """Return what tells whether an entry's MAC is the one of its content.

    This is done a million times in a full check. So the HMAC is taken by its definition (RFC 2104), from copies of two
    hashes that have read the padded key, in half the time of an HMAC object; and the canonical form is written down as
    it is when no member needs an escape. A MAC that fits says that it was: no other members give the same bytes, for
    what is sealed holds none of the names between them. What does not fit is looked at again, by the rules.

    Args:
        key: At most 64 bytes.
    """
    padded = key.ljust(_BLOCK_BYTES, b"\0")
    inner, outer = (hashlib.sha256(bytes(byte ^ pad for byte in padded)).copy for pad in (0x36, 0x5C))

    def is_sealed(entry: Stored) -> bool:
        seq, ts_ms, actor, action, subject, text, prev_mac, mac = entry
        within, around = inner(), outer()
        try:
            within.update(
                f'{{"action":"{action}","actor":"{actor}","payload":{text},"prev_mac":"{prev_mac}"'
                f',"seq":{seq},"subject":"{subject}","ts_ms":{ts_ms}}}'.encode()
            )
        except UnicodeEncodeError:
            return False
        around.update(within.digest())
        return around.hexdigest() == mac or _is_sealed(key, entry)

    return is_sealed


def _is_sealed(key: bytes, entry: Stored) -> bool:
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
