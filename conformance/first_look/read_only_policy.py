"""The read-only policy of the first look: it sends no request that could create, change or buy anything."""

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

# Needs of a row that a first look can meet: vectors (V), and the server's address (B).
_WITHOUT_MEANS: Final = frozenset({"B", "V"})
# Checks that a quick look leaves out, and generated calls, which do not distinguish reading from writing.
_FOR_RUNS: Final = frozenset({"left out", "one of several"})
_SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})
# Operations that store nothing.
_STATELESS: Final = (RECEIPT_VERIFY, VERIFY, EXPLAIN, SIGN, NOWHERE)
# Operations that create something. They are called with an empty object only, which they reject.
_CREATE_PATHS: Final = (LINKS, RESOURCES, SCREEN)
_EMPTY: Final = frozenset({b"", b"{}"})


class NotSent(Inconclusive):
    """A check tried to send a request that the policy forbids."""


class ReadOnlyPolicy:
    """Permits safe methods, calls that are rejected without a payment, and operations that only compute.

    A first look has no chain node and no account, so it cannot send a payment.
    """

    def __init__(self, base: str) -> None:
        """Create the policy for a server's address, without a slash at its end."""
        self._stateless = {base + path for path in _STATELESS}
        self._creating = {base + path for path in _CREATE_PATHS}
        self._paid = base + PAID_PREFIX
        self._sold: set[str] = set()

    def sells(self, url: str) -> None:
        """Permit calls to an address that the server itself sells: without a payment they buy nothing."""
        self._sold.add(_bare(url))

    def __call__(self, method: str, url: str, body: bytes | None) -> None:
        """Permit a request, or raise.

        Raises:
            NotSent: The request might create something on the server.
        """
        address = _bare(url)
        # RFC 9110 (9.2.1): a safe method changes nothing that the client is responsible for.
        if method in _SAFE:
            return
        if method == "POST" and (
            address in self._stateless
            or address in self._sold
            # The paths of paid operations answer 402 without a payment, and this look never sends
            # one that is signed.
            or address.startswith(self._paid)
            or (address in self._creating and (body or b"").strip() in _EMPTY)
        ):
            return
        raise NotSent(
            f"it needs a {method} that might create something on the server, and `check` sends no such request"
        )


def is_tried(check: Check) -> bool:
    """Return whether a first look tries a check.

    Each of its rows must be decidable without credential, payment, receiver, control of time or programs. The check
    must not disturb other clients, and must not send generated requests.
    """
    needs = {need for row in check.rows for need in load()[row].needs}
    at_once = check.exclusive is Exclusive.NOTHING and not check.self_contained and check.quick.way not in _FOR_RUNS
    return needs <= _WITHOUT_MEANS and at_once


def _bare(url: str) -> str:
    return url.partition("?")[0].partition("#")[0]
