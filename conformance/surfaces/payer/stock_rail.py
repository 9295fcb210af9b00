"""Played rail without a weld: plain x402 version 2, scheme `exact`, for payers that know no other form.

The challenge is in `PAYMENT-REQUIRED` alone and the proof in `PAYMENT-SIGNATURE`. There is no token, no signed receipt
and no published document. Everything else is the played rail of welded payers: the same scripts, money and calls.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from conformance.lanes.tested_payer_accounts import StockHost
from conformance.oracles.welds.refusal_stages import ASSET, PaymentRefusal
from conformance.surfaces.payer.played_rail import PlayedRail, Presentation
from conformance.surfaces.payer.quotes import SERVICE_ID, Quote, Terms, to_header
from conformance.webhook_receiver.raw_receiver import Reply

# Seconds in which a stock rail settles. Stock clients sign no authorization that lasts longer.
SETTLEMENT_SECONDS: Final = 300
# The members of an offer that x402 version 2 defines and every client has to repeat.
_TERMS: Final = ("scheme", "network", "amount", "asset", "payTo")


@dataclass
class StockRail(PlayedRail):
    """See `PlayedRail`."""

    proof_header: ClassVar[str] = "PAYMENT-SIGNATURE"

    @property
    def tokens(self) -> tuple[str, ...]:
        """What identifies a proof in a file of the payer: the signatures that it presented."""
        return tuple(json.loads(one.payment) for one in self.presentations if one.payment.startswith('"'))

    def _documents(self) -> Mapping[str, Any]:
        return {}

    def _write_body(self, document: Mapping[str, Any]) -> bytes:
        del document
        return b"{}"

    async def _offer(self, terms: Terms) -> dict[str, Any]:
        entry = {
            "scheme": "exact",
            "network": terms.caip2,
            "amount": str(terms.amount),
            "asset": terms.asset,
            "payTo": terms.pay_to,
            "maxTimeoutSeconds": SETTLEMENT_SECONDS,
            "extra": dict(await self._stock_host.describe_stock_offer(terms.asset)),
        }
        entry = self.script.entry(entry)
        # Not issued by the desk: an offer of x402 has no token, and equal offers are one.
        self._quotes[_name_offer(entry)] = Quote("", terms, 0)
        return entry

    def _find_quote(self, proof: Mapping[str, Any]) -> Quote | None:
        accepted = proof.get("accepted")
        return self._quotes.get(_name_offer(accepted)) if isinstance(accepted, Mapping) else None

    async def _accept(self, quote: Quote, proof: Mapping[str, Any]) -> str:
        payload = proof.get("payload")
        if not isinstance(payload, Mapping):
            raise PaymentRefusal(ASSET, "invalid_payment", "the proof has no payload")
        terms = quote.terms
        offer = {"asset": terms.asset, "amount": str(terms.amount), "pay_to": terms.pay_to, "caip2": terms.caip2}
        return await self._stock_host.accept_stock(offer, payload)

    @property
    def _stock_host(self) -> StockHost:
        if not isinstance(self.host, StockHost):
            raise TypeError("a stock rail needs a host of its form")
        return self.host

    def paid_answer(self, presentation: Presentation) -> Reply:
        """Return the answer of a paid call, with the settlement in `PAYMENT-RESPONSE`."""
        if presentation.quote is None or presentation.tx_id is None:
            raise ValueError("the presentation pays nothing")
        content = {"service_id": SERVICE_ID, "result": {"verdict": "ALLOW"}}
        settlement = {"success": True, "transaction": presentation.tx_id, "network": self.terms.caip2}
        fields = (
            ("Content-Type", "application/json"),
            ("Cache-Control", "no-store"),
            ("PAYMENT-RESPONSE", to_header(settlement)),
        )
        return Reply(200, fields, json.dumps(self.script.paid(content)).encode())


def _name_offer(entry: Mapping[str, Any]) -> str:
    """Return a text that equal offers have in common."""
    return json.dumps([entry.get(name) for name in _TERMS])
