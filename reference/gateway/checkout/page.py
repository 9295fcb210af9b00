"""The checkout page of a link, rendered on the server (P-CK-01 to P-CK-04)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from typing import Any

from reference.gateway.checkout.link_settlement import LinkSettlement, Status
from reference.gateway.merchant_branding import payee_name
from reference.gateway.page_parts import ICON, Asset, asset, atomic_pretty, environment, icon, network_name
from reference.gateway.return_addresses import host_of, is_at_shop
from reference.gateway.settings import GatewaySettings
from reference.lanes.registry import descriptor_of
from reference.protocol.eip3009 import TRANSFER_SELECTOR, nonce_of
from reference.protocol.explorer_links import explorer_link
from reference.protocol.link_payment import LinkState, LinkTerms
from reference.protocol.money import amount_pretty
from reference.protocol.networks import NETWORKS
from reference.protocol.qr_payload import ShownLink, qr_payload
from reference.protocol.time_text import utc_text
from reference.store.link_payments import Payment
from reference.store.links import Link, Price
from reference.store.merchants import Merchant
from reference.web.clock import WpClock

# The page asks for money, so nothing foreign may run in it or frame it. Its address is a secret of the payer, which no
# referrer and no shared cache may learn.
SECURITY = {
    "Content-Security-Policy": (
        "default-src 'none'; img-src 'self'; style-src 'self'; script-src 'self'; connect-src 'self'; "
        "frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
    ),
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
# Static files of the page. Their addresses contain a version, so they may be cached for a day.
_FILES = ("checkout.css", "checkout.js", "wallet.js")
_WORDS = {
    LinkState.ACTIVE: "Waiting for payment",
    LinkState.PAID: "Paid",
    LinkState.EXPIRED: "Expired",
    LinkState.CANCELLED: "Cancelled",
}
_TIME_IS_OVER = "Looking for a last payment"
_NETWORK_TRAILS = "Waiting for the network"


@cache
def assets() -> Mapping[str, Asset]:
    """Return the page's files by name."""
    return {ICON: icon(), **{name: asset(__package__, name) for name in _FILES}}


class Page:
    """Renders pages."""

    def __init__(self, settings: GatewaySettings, clock: WpClock, settlement: LinkSettlement) -> None:
        self._settings = settings
        self._clock = clock
        self._settlement = settlement
        self._template = environment(__package__).get_template("checkout.html")

    def payload(self, link: Link) -> str:
        """Return the text of a link's QR code."""
        return qr_payload(self._shown_link(link))

    def is_open(self, link: Link, status: Status) -> bool:
        """Return whether the page asks for money: the link is active and in time, and its network is current."""
        return self._is_in_time(link, status) and not status.trails

    def _is_in_time(self, link: Link, status: Status) -> bool:
        """Return whether the link is active and not past its expiry."""
        return status.state is LinkState.ACTIVE and self._clock.now() <= link.expires_at

    def html(self, link: Link, status: Status, merchant: Merchant, payment: Payment | None, price: Price | None) -> str:
        """Return the page.

        Args:
            link: The link.
            status: Its status.
            merchant: What the page shows of its tenant.
            price: The order behind it, if known.
            payment: The payment that has paid it, unless the chain has undone that.
        """
        terms = self._settlement.build_terms(link)
        is_open = self.is_open(link, status)
        # While the chain trails, a payment could be seen too late. So the page shows no address, amount or code (0083).
        trails = status.trails and self._is_in_time(link, status)
        waits = status.state is LinkState.ACTIVE and not is_open and not trails
        return self._template.render(
            service=self._settings.word.word,
            link=link,
            state=status.state.value,
            state_word=_TIME_IS_OVER if waits else _NETWORK_TRAILS if trails else _WORDS[status.state],
            is_open=is_open,
            waits=waits,
            trails=trails,
            merchant=merchant,
            payee=payee_name(merchant),
            back=_back(link, merchant, is_over=not (is_open or trails)),
            ordered=_order_members(link, price, terms),
            receipt=_receipt_members(payment) if status.state is LinkState.PAID else None,
            tx_id=status.tx_id,
            explorer=None if status.tx_id is None else explorer_link(terms.network, status.tx_id),
            amount=amount_pretty(link.amount_microunits, terms.network.asset_label),
            network=network_name(terms.network),
            is_test=terms.network.is_test,
            family=terms.network.family,
            expires_at=utc_text(link.expires_at),
            expires_text=_readable(link.expires_at),
            seconds_left=max(0, link.expires_at - self._clock.now()),
            assets=assets(),
            **(self._payable(link, terms) if is_open else {}),
        )

    def _payable(self, link: Link, terms: LinkTerms) -> dict[str, Any]:
        """Return the values that only a page that asks for money shows."""
        wallet = _wallet_members(link, terms) if terms.network.eip712_name else None
        payload = self.payload(link)
        # Only some networks have links that open a wallet; their descriptor builds them from the payload of the code.
        lane = descriptor_of(terms.network)
        opens = () if lane is None else lane.wallet_links(payload)
        return {"address": link.pay_to, "memo": terms.memo, "payload": payload, "wallet": wallet, "opens": opens}

    def _shown_link(self, link: Link) -> ShownLink:
        address = f"{self._settings.public_url}/checkout/{link.token}"
        return ShownLink(self._settlement.build_terms(link), link.token, link.label, address, self._settings.word)


def _back(link: Link, merchant: Merchant, *, is_over: bool) -> dict[str, str] | None:
    """Return where the payer may go back to: an address that the tenant has registered."""
    redirect_url = link.redirect_url
    # A tenant without a registered address: an open page leads nowhere, because some shops take an arrival there for a
    # payment. A page that is over leads to the link's own address, so that it is no dead end (decision 0072).
    if not merchant.addresses:
        return {"address": redirect_url, "host": host_of(redirect_url)} if redirect_url and is_over else None
    address = redirect_url if redirect_url and is_at_shop(redirect_url, merchant.addresses) else merchant.addresses[0]
    return {"address": address, "host": host_of(address)}


def _order_members(link: Link, price: Price | None, terms: LinkTerms) -> dict[str, str] | None:
    """Return what the page shows of an order in another currency than the asset, or None for other orders."""
    asset = terms.network.asset_label
    if price is None or price.currency == asset:
        return None
    whole, _, fraction = price.amount.partition(".")
    return {
        "amount": f"{price.currency} {whole}.{fraction.ljust(2, '0')}",
        "rate": f"1 {price.currency} = {price.rate} {asset}",
        "at": utc_text(link.created_at),
        "at_text": _readable(link.created_at),
    }


def _receipt_members(payment: Payment | None) -> dict[str, str] | None:
    """Return what the receipt of a paid link shows, or None if the chain has undone the payment."""
    if payment is None:
        return None
    return {
        "number": payment.id,
        "amount": atomic_pretty(payment.value, NETWORKS[payment.network]),
        "at": utc_text(payment.block_time),
        "at_text": _readable(payment.block_time),
    }


def _readable(unix: int) -> str:
    """Return a time for people, in UTC."""
    return datetime.fromtimestamp(unix, UTC).strftime("%-d %B %Y, %H:%M:%S UTC")


def _wallet_members(link: Link, terms: LinkTerms) -> dict[str, str]:
    """Return what an EIP-1193 wallet is asked to sign and to send (P-CK-09)."""
    network = terms.network
    return {
        "chain_id": network.event.partition(":")[2],
        "asset": network.asset_id,
        "name": network.eip712_name,
        "version": network.eip712_version,
        "to": link.pay_to,
        "value": str(terms.atomic),
        "nonce": nonce_of(terms.memo),
        # The contract demands a time before this one, and a block in the second of the expiry still pays.
        "valid_before": str(link.expires_at + 1),
        "selector": "0x" + TRANSFER_SELECTOR.hex(),
    }
