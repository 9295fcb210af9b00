"""What a first look may send: nothing from which a server could create, change or sell anything."""

from __future__ import annotations

from typing import Final

from conformance.discovery.operation_presence import NOWHERE
from conformance.discovery.rail import PAID_PREFIX
from conformance.engine.check import Check
from conformance.engine.exclusive import Exclusive
from conformance.ledger import load
from conformance.outcome import Inconclusive
from conformance.surfaces.agent.paths import EXPLAIN, SIGN, VERIFY
from conformance.surfaces.gateway.calls import LINKS, RECEIPT_VERIFY, RESOURCES, SCREEN

# What a row's test may need at most: vectors, and the server as anybody reaches it.
_WITHOUT_MEANS: Final = frozenset({"B", "V"})
# What a quick look leaves out, or tries once for all surfaces: generated calls, which know no reading from writing.
_FOR_RUNS: Final = frozenset({"left out", "one of several"})
_SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})
# Operations that keep nothing of what they are sent.
_STATELESS: Final = (RECEIPT_VERIFY, VERIFY, EXPLAIN, SIGN, NOWHERE)
# Operations that create, which tell by what they say of an empty object that they are there.
_CREATE_PATHS: Final = (LINKS, RESOURCES, SCREEN)
_EMPTY: Final = frozenset({b"", b"{}"})


class NotSent(Inconclusive):
    """A check wanted to send what a first look never sends."""


class ReadOnlyPolicy:
    """Lets through what reads, what is refused for want of a payment, and what only computes; everything else stays.

    Nobody's payment is ever there to be sent: a first look has no chain node and no account.
    """

    def __init__(self, base: str) -> None:
        """Take the address of the server, without a slash at its end."""
        self._stateless = {base + path for path in _STATELESS}
        self._creating = {base + path for path in _CREATE_PATHS}
        self._paid = base + PAID_PREFIX
        self._sold: set[str] = set()

    def sells(self, url: str) -> None:
        """Take up an address of which the server itself says that it must be paid for."""
        self._sold.add(_bare(url))

    def __call__(self, method: str, url: str, body: bytes | None) -> None:
        """Let a request pass.

        Raises:
            NotSent: A server might create something from it.
        """
        address = _bare(url)
        if method in _SAFE:
            return
        if method == "POST" and (
            address in self._stateless
            or address in self._sold
            or address.startswith(self._paid)
            or (address in self._creating and (body or b"").strip() in _EMPTY)
        ):
            return
        raise NotSent(
            f"it needs a {method} that might create something on the server, and `check` sends no such request"
        )


def is_tried(check: Check) -> bool:
    """Return whether a first look tries a check.

    Each of its rows must be one that is decided without credential, payment, receiver, time and programs, and it must
    disturb nobody and send nothing at random.
    """
    needs = {need for row in check.rows for need in load()[row].needs}
    at_once = check.exclusive is Exclusive.NOTHING and not check.self_contained and check.quick.way not in _FOR_RUNS
    return needs <= _WITHOUT_MEANS and at_once


def _bare(url: str) -> str:
    return url.partition("?")[0].partition("#")[0]
