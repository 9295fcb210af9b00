"""A checkout in memory: a page of any shape, a chain of plain transfers, and a rule by which links are paid."""

from __future__ import annotations

import asyncio
import base64
import html
import io
import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import segno
from algosdk import account
from multidict import CIMultiDict, CIMultiDictProxy

from conformance.engine.session import Session
from conformance.lanes.checkout_request import (
    USDC,
    CheckoutRequest,
    WrongPayment,
    list_respelled_payments,
    list_smaller_payments,
    pay_in_two,
)
from conformance.log.events import EventLog
from conformance.outcome import Inconclusive, Verdict
from tests.conformance.checks.trial import run_one_check

BASE = "http://gateway.test"
NETWORK = "algorand_testnet"
PAYOUT, ELSEWHERE, ANOTHERS = (account.generate_account()[1] for _ in range(3))
PROFILE = """
[target]
defaults = "{defaults}"
[surfaces.gateway]
url = "http://gateway.test"
[claims]
surfaces = ["gateway"]
lanes = ["algorand"]
[tenants.first]
id = "11111111-1111-4111-8111-111111111111"
key = {{ env = "WP_TEST_TENANT_KEY" }}
[tenants.first.payout]
algorand_testnet = "{payout}"
[gateway.chains.algorand]
network = "algorand_testnet"
algod = "http://127.0.0.1:1"
[budgets]
paid = 0.2
[pace]
requests_per_second = 0.0
"""


@dataclass
class Link:
    """A payment link."""

    token: str
    microunits: int
    state: str = "active"
    redirect_url: str | None = None

    @property
    def memo(self) -> str:
        """Its memo."""
        return f"svc:{self.token}"

    @property
    def secret(self) -> str:
        """What cancels it."""
        return f"secret-of-{self.token}"


@dataclass(frozen=True)
class Transfer:
    """A transfer on the chain."""

    asset: str
    address: str
    amount: int
    memo: str
    failed: bool = False
    network: str = NETWORK
    shape: str = "alone"


Rule = Callable[[Link, Transfer], bool]
# Calls a link off: by "cancel" or "abandon", and what it was sent; None where nothing was. Returns status and document.
Off = Callable[[Link, str, Mapping[str, Any] | None], tuple[int, Any]]


def honest(link: Link, transfer: Transfer) -> bool:
    """Return whether a transfer pays a link."""
    right = transfer.asset == USDC[NETWORK] and transfer.address == PAYOUT and not transfer.failed
    return right and transfer.network == NETWORK and transfer.amount >= link.microunits and transfer.memo == link.memo


def end_link(link: Link, call: str, body: Mapping[str, Any] | None) -> tuple[int, Any]:
    """Call a link off as P-CK-07 says."""
    if call == "cancel" and (body or {}).get("cancel_secret") != link.secret:
        return 403, {"error": "invalid_cancel_secret", "message": "Not its secret."}
    if link.state == "cancelled" and call == "cancel":
        return 410, {"error": "payment_link_cancelled", "message": "It is over."}
    link.state = "cancelled"
    return 200, {"status": "cancelled"}


def status_of_unpaid(link: Link) -> Mapping[str, Any]:
    """Return the status of a link that is not paid."""
    return {"status": link.state, "redirect_url": link.redirect_url, "tx_id": None}


def code(text: str) -> bytes:
    """Return a QR code as PNG."""
    buffer = io.BytesIO()
    segno.make(text, micro=False).save(buffer, kind="png", scale=3)
    return buffer.getvalue()


def payload(link: Link, address: str = PAYOUT) -> str:
    """Return what a wallet scans."""
    return f"algorand://{address}?amount={link.microunits}&asset={USDC[NETWORK]}&xnote={link.memo}"


def plain_page(link: Link) -> str:
    """Return a page as the profile binds it."""
    if link.state == "paid":
        return '<body><div id="state" data-state="paid">Paid</div></body>'
    if link.state == "cancelled":
        return '<body><div id="state" data-state="cancelled">Cancelled</div></body>'
    return (
        f'<body><h1>Pay</h1><div id="state" data-state="active">Waiting</div><div id="addr">{PAYOUT}</div>'
        f'<div id="amount">{link.microunits / 10**6:.6f} USDC</div><div id="memo">{link.memo}</div>'
        f'<img id="qr" src="/checkout/{link.token}/qr"></body>'
    )


@dataclass
class Checkout:
    """Answers as a transport, and is the chain that its payer pays on.

    `door` is the rule by which a transaction that a client names pays a link; without one there is no such call, and
    without `status` none for a link's status. Without `off` every link that is called off is said to be paid.
    """

    page: Callable[[Link], str] = plain_page
    rule: Rule = honest
    door: Rule | None = None
    status: Callable[[Link], Mapping[str, Any]] | None = None
    off: Off | None = None
    scanned: Callable[[Link], str] = payload
    links: dict[str, Link] = field(default_factory=dict)
    transfers: list[Transfer] = field(default_factory=list)
    unknown_status: int = 404
    forgets: bool = False
    network: str | None = None
    numbers: Any = field(default_factory=lambda: itertools.count(1))

    async def send(
        self, method: str, url: str, headers: Sequence[tuple[str, str]], body: bytes | None
    ) -> tuple[int, CIMultiDictProxy[str], bytes]:
        """Answer one request."""
        del headers
        path = urlsplit(url).path
        if (
            method == "POST"
            and not path.endswith("/verify")
            and self.network not in {None, json.loads(body or b"{}").get("preferred_network")}
        ):
            return self._answer(422, {"error": "unsupported_network", "message": "No such network."})
        if method == "POST" and path.endswith("/verify"):
            return self.answer_named_transaction(path.split("/")[-2], json.loads(body or b"{}"))
        if method == "POST" and path.endswith(("/abandon", "/cancel")):
            if self.off is not None:
                document = json.loads(body) if body else None
                return self._answer(*self.off(self.links[path.split("/")[-2]], path.split("/")[-1], document))
            return self._answer(409, {"error": "link_ended", "message": "This link is paid."})
        if method == "POST":
            return self._answer(201, self._create(json.loads(body or b"{}")))
        token, _, below = path.removeprefix("/checkout/").partition("/")
        link = self.links.get(token)
        if link is None:
            return self._answer(self.unknown_status, {"error": "not_found", "message": "No such link."})
        if below == "qr":
            return 200, CIMultiDictProxy(CIMultiDict({"content-type": "image/png"})), code(self.scanned(link))
        self._settle(link)
        if below == "status" and self.status is not None:
            return self._answer(200, self.status(link))
        return 200, CIMultiDictProxy(CIMultiDict({"content-type": "text/html"})), self.page(link).encode()

    def answer_named_transaction(self, token: str, body: Mapping[str, Any]) -> tuple[int, CIMultiDictProxy[str], bytes]:
        """Answer who names a transaction as a link's payment."""
        if self.door is None:
            return self._answer(404, {"error": "not_found", "message": "No such address."})
        link, transfer = self.links[token], self.transfers[int(str(body["tx_id"])[2:]) - 1]
        if not self.door(link, transfer):
            return self._answer(409, {"error": "not_paid", "message": "Something else was paid."})
        link.state = "paid"
        return self._answer(200, {"status": "paid"})

    @staticmethod
    def _answer(status: int, document: Any) -> tuple[int, CIMultiDictProxy[str], bytes]:
        return status, CIMultiDictProxy(CIMultiDict()), json.dumps(document).encode()

    def _create(self, body: Mapping[str, Any]) -> Mapping[str, Any]:
        link = Link(f"tokenNumber{next(self.numbers):06d}", round(body["amount"] * 1_000_000))
        link.redirect_url = body.get("redirect_url")
        self.links[link.token] = link
        url = f"{BASE}/checkout/{link.token}"
        members = {"checkout_url": url, "token": link.token, "chain": "algorand-testnet", "cancel_secret": link.secret}
        return {**members, "amount_microunits": link.microunits, "expires_at": "2099-01-01T00:00:00Z"}

    def _settle(self, link: Link) -> None:
        if link.state == "paid" and self.forgets:
            link.state = "active"
        elif any(self.rule(link, seen) for seen in self.transfers):
            link.state = "paid"


@dataclass
class Payer:
    """Pays on the scripted chain."""

    checkout: Checkout
    lane: str = "algorand"
    skims: int = 0
    network: str = NETWORK

    async def settle(self, bill: CheckoutRequest, way: str | None = None) -> str:
        """Pay a bill; a way other than the note is the shape of the transfer."""
        return self._enter(bill) if way in {None, "note"} else self._enter(bill, shape=way)

    async def settle_again(self, bill: CheckoutRequest, way: str | None = None) -> str:
        """Pay a bill once more."""
        return await self.settle(bill, way)

    def _enter(self, bill: CheckoutRequest, **changes: Any) -> str:
        terms = {"asset": bill.asset, "address": bill.address, "amount": bill.amount, "memo": bill.memo, **changes}
        self.checkout.transfers.append(Transfer(**terms, network=self.network))
        return f"tx{len(self.checkout.transfers)}"

    async def read_credits(self, tx_id: str, asset: str) -> Mapping[str, int]:
        """Return what a transfer changed; some of it goes to the service where it skims."""
        transfer = self.checkout.transfers[int(tx_id[2:]) - 1]
        shares = {transfer.address: transfer.amount - self.skims, "SERVICE": self.skims, "PAYER": -transfer.amount}
        return {owner: share for owner, share in shares.items() if share and asset == transfer.asset}

    async def read_holding(self, address: str, asset: str) -> int:
        """Return what an address holds."""
        return sum(one.amount for one in self.checkout.transfers if (one.address, one.asset) == (address, asset))

    async def list_other_shapes(self, way: str | None = None) -> Sequence[WrongPayment]:
        """Return right payments of two shapes, of which the second may be refused; a third is not sent."""
        del way

        async def refuse(bill: CheckoutRequest) -> str:
            raise Inconclusive(f"the node does not take {bill.amount}")

        return [
            WrongPayment("after a budget", lambda bill: self._soon(bill, shape="after a budget")),
            WrongPayment(
                "in a group", lambda bill: self._soon(bill, shape="in a group"), beyond="groups are left open"
            ),
            WrongPayment("by a program that is not there", refuse),
        ]

    def list_unbound_payments(self) -> Sequence[WrongPayment]:
        """Return payments without the memo."""
        return [WrongPayment("no memo", lambda bill: self._soon(bill, memo="")), *list_respelled_payments(self)]

    def list_short_payments(self) -> Sequence[WrongPayment]:
        """Return payments of less."""
        return [*list_smaller_payments(self), pay_in_two(self)]

    def list_stray_payments(self) -> Sequence[WrongPayment]:
        """Return payments to a third party."""
        return [WrongPayment("to a third party", lambda bill: self._soon(bill, address=ELSEWHERE))]

    async def list_other_assets(self, bill: CheckoutRequest) -> Sequence[WrongPayment]:
        """Return payments in another asset."""
        del bill
        return [WrongPayment("another asset", lambda bill: self._soon(bill, asset="31566704"))]

    def list_failing_payments(self) -> Sequence[WrongPayment]:
        """Return payments that fail."""
        return [WrongPayment("failed", lambda bill: self._soon(bill, failed=True))]

    async def _soon(self, bill: CheckoutRequest, **changes: Any) -> str:
        await asyncio.sleep(0)
        return self._enter(bill, **changes)

    async def settle_with_memos(self, bill: CheckoutRequest, memos: Sequence[str]) -> str:
        """Make one transfer under several memos."""
        return self._enter(bill, memo="\n".join(memos))

    async def submit(self, bill: CheckoutRequest) -> str:
        """Hand a payment over."""
        return self._enter(bill)

    async def wait_for_success(self, tx_id: str) -> None:
        """Wait for nothing: this chain is at once."""

    def list_group(self, tx_id: str) -> Sequence[str]:
        """Return the transaction alone."""
        return (tx_id,)

    async def close(self) -> None:
        """Close nothing."""


async def run_check(
    name: str,
    checkout: Checkout,
    *,
    defaults: str = "reference",
    skims: int = 0,
    profile: str = "",
    payout_on: str = NETWORK,
    log: EventLog | None = None,
    other_network: str | None = None,
    options: str = "",
) -> dict[str, Verdict]:
    """Run one check against a checkout and return the verdict of each row it judged.

    With `other_network` calls are paid on a simulated node of their own, which serves that network.
    """

    def ready(session: Session) -> None:
        session.payers.checkout_payers["algorand"] = Payer(checkout, skims=skims)
        if other_network is not None:
            payer: Any = Payer(checkout, network=other_network)
            session.payers.open_payers["algorand"] = payer

    text = PROFILE.format(defaults=defaults, payout=PAYOUT).replace(f"{NETWORK} = ", f"{payout_on} = ")
    text = text.replace('lanes = ["algorand"]', f'lanes = ["algorand"]\noptions = [{options}]')
    if other_network is not None:
        text = text.replace('"http://127.0.0.1:1"', '"http://127.0.0.1:1"\ncontrol = "http://127.0.0.1:1/control"')
        text += f'[chains.algorand]\nnetwork = "{other_network}"\nalgod = "http://127.0.0.1:2"\n'
        text += 'control = "http://127.0.0.1:2/control"\n'
    return await run_one_check(name, checkout, text + profile, ready=ready, log=log)


def data_image(link: Link) -> str:
    """Return the link's QR code as an address of its own."""
    return "data:image/png;base64," + base64.b64encode(code(payload(link))).decode()


def escape_html(text: str) -> str:
    """Return text as HTML has it."""
    return html.escape(text)
