"""Played checkout for payers: the page of a payment link, its QR code and its status (3.5), which a script changes."""

from __future__ import annotations

import html
import json
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Final
from urllib.parse import quote

from conformance.pages.qr import draw
from conformance.surfaces.payer.played_rail import PlayedRail
from conformance.surfaces.payer.quotes import LIFETIME_SECONDS, Change, keep
from conformance.vocabulary.lanes.registry import FACTS
from conformance.webhook_receiver.raw_receiver import Arrival, Reply

_SERVICE_WORD: Final = "weldproof"
_PAGE: Final = ("Content-Type", "text/html; charset=utf-8")
_JSON: Final = ("Content-Type", "application/json")
_PNG: Final = ("Content-Type", "image/png")
_PRIVATE: Final = ("Cache-Control", "no-store")
_UNITS: Final = 10**6
_WORDS: Final[Mapping[str, str]] = {
    "active": "Waiting for the payment",
    "paid": "Paid",
    "expired": "Expired",
    "cancelled": "Cancelled",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkScript:
    """What the page of a link shows; by default it is honest.

    Attributes:
        page: Changes what the page shows: `address`, `memo`, and `amount` in atomic units.
        code: Changes what the QR code says: `address`, `memo`, `asset`, `caip2`, and `amount` in atomic units.
        state: The state that the page shows; None for the true one.
        status: The state that the status endpoint answers; None for the true one.
        is_late: Whether the page shows Paid only after the payer was started again.
        late_seconds: For how long it does not show Paid after that; counted from the first look.
    """

    page: Change = keep
    code: Change = keep
    state: str | None = None
    status: str | None = None
    is_late: bool = False
    late_seconds: float = 0.0


@dataclass
class PlayedCheckout(PlayedRail):
    """A gateway with one payment link, on the sockets and the chain of a played rail.

    Attributes:
        link: What its page shows.
        token: Token of the link.
    """

    link: LinkScript = field(default_factory=LinkScript)
    token: str = field(default_factory=lambda: secrets.token_urlsafe(16))
    _shows_paid_from: float | None = None

    @property
    def path(self) -> str:
        """See `PlayedRail`: the page."""
        return f"/checkout/{self.token}"

    @property
    def memo(self) -> str:
        """The memo that binds a payment to the link."""
        return f"{_SERVICE_WORD}:{self.token}"

    async def answer(self, arrival: Arrival) -> Reply:
        """Answer a call."""
        if arrival.method in {"GET", "HEAD"}:
            if arrival.path == self.path:
                return Reply(200, (_PAGE, _PRIVATE), self._draw_page(await self._read_state()).encode())
            if arrival.path == f"{self.path}/status":
                state = self.link.status or await self._read_state()
                status = {"status": state, "redirect_url": None, "tx_id": None}
                return Reply(200, (_JSON, _PRIVATE), json.dumps(status).encode())
            if arrival.path == f"{self.path}/qr":
                return Reply(200, (_PNG, _PRIVATE), draw(self._payload()))
        return Reply(404, (_JSON,), b'{"error":"not_found"}')

    async def _read_state(self) -> str:
        """Return the state that is shown: paid once the amount has reached the payee."""
        if self.link.state is not None:
            return self.link.state
        if self.link.is_late:
            if self.is_resumed and self._shows_paid_from is None:
                self._shows_paid_from = time.monotonic() + self.link.late_seconds
            if self._shows_paid_from is None or time.monotonic() < self._shows_paid_from:
                return "active"
        units = await self.host.read_units(self.terms.pay_to, self.terms.asset)
        return "paid" if units >= self.terms.amount else "active"

    def _draw_page(self, state: str) -> str:
        terms = self.terms
        shown = self.link.page({"address": terms.pay_to, "memo": self.memo, "amount": terms.amount})
        expires = datetime.fromtimestamp(time.time() + LIFETIME_SECONDS, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        usdc = f"{(Decimal(shown['amount']) / _UNITS).normalize():f}"
        parts = {
            "payload": self._payload(),
            "address": shown["address"],
            "memo": shown["memo"],
            "microunits": str(shown["amount"]),
            "usdc": usdc,
            "expires": expires,
            "path": self.path,
            "state": state,
            "word": _WORDS[state],
        }
        return _TEMPLATE.format_map({name: html.escape(text) for name, text in parts.items()})

    def _payload(self) -> str:
        terms = self.terms
        said = self.link.code(
            {
                "address": terms.pay_to,
                "memo": self.memo,
                "amount": terms.amount,
                "asset": terms.asset,
                "caip2": terms.caip2,
            }
        )
        family = FACTS[self.lane].namespace
        return _PAYLOADS[family](said, self.desk.url + self.path)

    @property
    def lane(self) -> str:
        """The lane of the link's network."""
        key = self.terms.network.key
        return next(one.name for one in FACTS.values() if key.startswith(one.name))


_TEMPLATE: Final = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Checkout</title></head><body>
<p class="merchant">A shop of the suite</p>
<div id="amount" data-microunits="{microunits}">{usdc} USDC</div>
<p>Address</p><div id="addr">{address}</div>
<p>Memo</p><div id="memo">{memo}</div>
<img id="qr" src="{path}/qr" alt="QR code" data-payload="{payload}">
<div id="expires"><time datetime="{expires}">{expires}</time></div>
<div id="state" data-state="{state}">{word}</div>
</body></html>
"""


def _query(**members: Any) -> str:
    return "&".join(f"{name.replace('_', '-')}={quote(str(value), safe='')}" for name, value in members.items())


def _write_algorand(said: Mapping[str, Any], page: str) -> str:
    """ARC-26."""
    del page
    return f"algorand://{said['address']}?" + _query(amount=said["amount"], asset=said["asset"], xnote=said["memo"])


def _write_solana(said: Mapping[str, Any], page: str) -> str:
    """Solana Pay."""
    del page
    amount = f"{(Decimal(said['amount']) / _UNITS).normalize():f}"
    return f"solana:{said['address']}?" + _query(amount=amount, spl_token=said["asset"], memo=said["memo"])


def _write_evm(said: Mapping[str, Any], page: str) -> str:
    """The address of the page, with EIP-681 in its fragment."""
    chain = str(said["caip2"]).partition(":")[2]
    return f"{page}#ethereum:{said['asset']}@{chain}/transfer?" + _query(
        address=said["address"], uint256=said["amount"]
    )


# By the namespace of CAIP-2 names.
_PAYLOADS: Final[Mapping[str, Callable[[Mapping[str, Any], str], str]]] = {
    "algorand": _write_algorand,
    "eip155": _write_evm,
    "solana": _write_solana,
}
