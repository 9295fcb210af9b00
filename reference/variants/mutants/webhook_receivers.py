"""Mutants of a webhook receiver: each drops one rule of P-WH-13."""

from __future__ import annotations

import hashlib
import hmac
import time
from collections.abc import Callable

from reference.variants.mutants.mutant import Mutant
from reference.variants.receiver import receiving
from reference.variants.receiver.receiving import Memory
from reference.variants.seams import replace

_KEPT_SECONDS = 1.0


def _receiver(name: str, rule: str, apply: Callable[[], None]) -> Mutant:
    return Mutant(f"receiver-{name}", rule, apply, surface="variants.receiver")


def _known_by_bytes() -> None:
    """Know an event again by its bytes."""
    replace(receiving, "key_of", lambda _: lambda _, body: hashlib.sha256(body).hexdigest())


def _known_for_a_second() -> None:
    """Keep what had its effect for a second."""

    def noting(is_new: Callable[..., bool]) -> Callable[..., bool]:
        def noted(self: Memory, key: str) -> bool:
            if time.monotonic() - self._known.get(key, 0.0) > _KEPT_SECONDS:
                self._known.pop(key, None)
            return is_new(self, key)

        return noted

    replace(Memory, "is_new", noting)


def _unsigned_taken() -> None:
    """Verify a signature where there is one."""
    replace(receiving, "is_signed", lambda signed: lambda secret, value, body: not value or signed(secret, value, body))


def _signed_alone() -> None:
    """Take a signature over the body without its time, too, as other senders make it."""

    def checking(signed: Callable[..., bool]) -> Callable[..., bool]:
        def checked(secret: str, value: str | None, body: bytes) -> bool:
            bare = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
            return signed(secret, value, body) or f"v1={bare}" in (value or "")

        return checked

    replace(receiving, "is_signed", checking)


MUTANTS = (
    _receiver("knows-bytes", "an event is known by its id (P-WH-13)", _known_by_bytes),
    _receiver("short-memory", "an event has one effect however late it comes again (P-WH-13)", _known_for_a_second),
    _receiver("unsigned-taken", "what bears no signature has no effect (P-WH-13)", _unsigned_taken),
    _receiver("body-signed-alone", "v1 covers the time (P-WH-05)", _signed_alone),
)
