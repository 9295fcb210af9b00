"""The file of a payment: written before the payment is sent, removed once its answer is printed (10.3)."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from reference.variants.payer.lanes import Payment
from reference.variants.payer.settings import Settings

_OWNER_ONLY = 0o600


class AnswerMissing(Exception):
    """The time is over: the proof can be presented later, or the page of a paid link does not show it yet."""


@dataclass(frozen=True, slots=True)
class Record:
    """A payment and the offer that it pays."""

    entry: dict[str, Any]
    payment: Payment


@dataclass(frozen=True, slots=True)
class ProofStore:
    """The file of one request, which one process uses at a time."""

    path: Path

    def read(self) -> Record | None:
        """Return the payment of an earlier run whose answer was not printed, or None."""
        try:
            members = json.loads(self.path.read_bytes())
        except FileNotFoundError:
            return None
        return Record(members["entry"], Payment(**members["payment"]))

    def write(self, record: Record) -> None:
        """Store a payment; it is on the disk when this returns."""
        unfinished = self.path.with_suffix(".new")
        descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, _OWNER_ONLY)
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            json.dump(asdict(record), file)
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(self.path)

    def remove(self) -> None:
        """Forget a payment whose answer was printed."""
        self.path.unlink(missing_ok=True)


@contextmanager
def open_store(settings: Settings) -> Iterator[ProofStore]:
    """Yield the store of a request, locked against other processes."""
    name = hashlib.sha256(settings.url.encode() + b"\n" + settings.body).hexdigest()[:32]
    settings.state.mkdir(mode=0o700, parents=True, exist_ok=True)
    lock = os.open(settings.state / f"{name}.lock", os.O_RDWR | os.O_CREAT, _OWNER_ONLY)
    try:
        # Two processes with one call would both find no payment, and pay twice.
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield ProofStore(settings.state / f"{name}.json")
    finally:
        os.close(lock)
