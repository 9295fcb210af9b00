"""Payment of one hosted checkout as a careful payer: read the page, compare it with its QR code, pay, and wait."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from conformance import extras
from conformance.engine.session import Session
from conformance.http.client import Client, JsonFault, Unreachable
from conformance.lanes.checkout_request import CheckoutRequest
from conformance.oracles.addresses import is_address
from conformance.outcome import Inconclusive
from conformance.pages.view import View, disagreements, is_state
from conformance.target import LANES
from conformance.text.usdc import in_usdc
from conformance.vocabulary.lanes.registry import FACTS
from conformance.vocabulary.network import with_worth

_PATH = re.compile(r".*/checkout/([A-Za-z0-9_%.~-]+)/?")
_LOOK_SECONDS = 0.5
_OK = 200
# States of a link that is not to be paid (3.5).
_ENDED = ("paid", "expired", "cancelled")

Say = Callable[[str, str], None]
# Agrees on millionths of USDC, a payee and a network's key, or raises `PaymentRefused`.
Agree = Callable[[int, str, str], Awaitable[None]]


class PaymentRefused(Exception):
    """The link was not paid, or its page never said so; the text says why."""


@dataclass(frozen=True, slots=True)
class Demand:
    """The demand of a page, compared with its QR code.

    Attributes:
        lane: Lane of the receiving address.
        network: Network key of the node on which it is paid.
        microunits: Millionths of the asset.
        bill: The payment to make.
        chain_ids: CAIP-2 names of the chains in its QR codes; empty if they contain none.
        paid_lines: Lines that read like "Paid" before it is paid.
    """

    lane: str
    network: str
    microunits: int
    bill: CheckoutRequest
    chain_ids: frozenset[str] = frozenset()
    paid_lines: frozenset[str] = frozenset()

    def check_chain(self, caip2: str) -> None:
        """Compare the network of a node with the QR codes.

        Raises:
            PaymentRefused: They name another one.
        """
        # The page of a main network must never be paid on a test network, and the reverse.
        if self.chain_ids and self.chain_ids != {caip2}:
            chain_names = ", ".join(sorted(self.chain_ids))
            raise PaymentRefused(f"the page is paid on {chain_names}, the node is {caip2}. Nothing was paid")


def token_in(url: str) -> str | None:
    """Return the token of a checkout page's address, None when it is another page (path shape /checkout/<token>)."""
    match = _PATH.fullmatch(urlsplit(url).path)
    return None if match is None else match[1]


async def read_demand(session: Session, client: Client, url: str, lane: str | None, say: Say, agree: Agree) -> Demand:
    """Read the demand of a checkout page, and agree on it.

    Raises:
        PaymentRefused: The page cannot be paid as it stands, or the amount is not agreed to.
        Inconclusive: A browser could not do its part.
        MissingExtra: What reads a page, or pays on its lane, is not installed.
        Unreachable: The page's host gave no answer.
    """
    view, answer = await session.pages.look_for(client, url, lambda view: bool(view.codes) and bool(_lanes(view)))
    if answer.status != 200:
        raise PaymentRefused(f"{url} answered {answer.status}: there is no page to pay. Nothing was paid")
    demand = _demand(session, url, view, lane)
    await _refuse_ended_status(client, url)
    extras.need(FACTS[demand.lane].extra)
    bill = demand.bill
    amount = f"{in_usdc(demand.microunits)} USDC ({demand.microunits} micro-units of {bill.asset})"
    say("amount", f"{amount} on {with_worth(demand.network)}")
    say("address", bill.address)
    say("memo", bill.memo)
    await agree(demand.microunits, bill.address, demand.network)
    return demand


async def _refuse_ended_status(client: Client, url: str) -> None:
    """Compare the page with its status (P-CK-05), if there is one.

    Raises:
        PaymentRefused: The status says that the link has ended.
    """
    status = (await _read_status(client, url)).get("status")
    if status in _ENDED:
        raise PaymentRefused(f"the page can be paid, but its status is {status!r}. Nothing was paid")


async def names_another_payment(client: Client, url: str, tx_id: str) -> str | None:
    """Return the transaction that paid a link by its status (P-CK-05), if it is another one than `tx_id`; else None.

    The interface leaves the status open. A text that has not the length of a transaction's id is not taken for one.
    """
    paid_by = (await _read_status(client, url)).get("tx_id")
    if not isinstance(paid_by, str):
        return None
    own_text, other_text = (text.lower().removeprefix("0x") for text in (tx_id, paid_by))
    return paid_by if len(own_text) == len(other_text) and own_text != other_text else None


async def _read_status(client: Client, url: str) -> dict[str, Any]:
    """Return the status of a link; empty if the gateway has none."""
    parts = urlsplit(url)
    address = parts._replace(path=f"{parts.path.rstrip('/')}/status", query="", fragment="").geturl()
    with contextlib.suppress(Unreachable, JsonFault):
        answer = await client.call("GET", address)
        return answer.read_object() if answer.status == _OK else {}
    return {}


def _lanes(view: View) -> tuple[str, ...]:
    """Return the lanes whose addresses the page shows; only those in the QR codes, if these contain addresses."""
    shown_lanes = tuple(lane for lane in LANES if view.addresses(lane))
    payees = [code.address for code in view.codes if code.address]
    coded_lanes = tuple(lane for lane in shown_lanes if any(is_address(FACTS[lane].namespace, one) for one in payees))
    return coded_lanes or shown_lanes


def _demand(session: Session, url: str, view: View, lane: str | None) -> Demand:
    """Return the demand of the page.

    Raises:
        PaymentRefused: It does not say all of it, says it in two ways, or asks for what this node does not have.
    """
    states = sorted(filter(is_state, view.paid_lines()))
    # A page that is already paid must not be paid again.
    if states:
        raise PaymentRefused(f"the page says {states[0]!r} already. Nothing was paid")
    # The money of an ended link is with the shop, which would have to give it back.
    if ended := sorted(view.ended_lines()):
        raise PaymentRefused(f"the page says {ended[0]!r}. Nothing was paid")
    lanes = _lanes(view)
    if lane is None and len(lanes) != 1:
        description = f"addresses of {', '.join(lanes)}: choose one with --lane" if lanes else _nothing(view)
        raise PaymentRefused(f"the page shows {description}. Nothing was paid")
    chosen_lane = lane or lanes[0]
    address = _address(view, chosen_lane)
    microunits = _microunits(view)
    memo = view.memo(token_in(url) or "")
    if memo is None:
        raise PaymentRefused("the page shows no memo, without which no link is credited. Nothing was paid")
    # Real money is at stake: a page whose QR code and text differ may be manipulated, so it is
    # never paid.
    against = disagreements(view, address, microunits, memo)
    if against:
        raise PaymentRefused(f"{'; '.join(against)}: the page contradicts itself. Nothing was paid")
    network, asset = _asset(session, view, chosen_lane)
    reference = next((one.reference for one in view.codes if one.reference), None)
    chain_ids = frozenset(f"eip155:{one.chain_id}" for one in view.codes if one.chain_id is not None)
    bill = CheckoutRequest(asset, address, microunits, memo, reference)
    return Demand(chosen_lane, network, microunits, bill, chain_ids, view.paid_lines())


def _nothing(view: View) -> str:
    return "no receiving address" + (f"; {view.unseen_parts}" if view.unseen_parts else "")


def _address(view: View, lane: str) -> str:
    addresses = view.addresses(lane)
    coded_addresses = [one for one in addresses if any(code.holds(one) for code in view.codes)]
    candidates = coded_addresses or list(addresses)
    if len(candidates) != 1:
        description = f"{len(candidates)} addresses of {lane}" if candidates else f"no address of {lane}"
        raise PaymentRefused(f"the page shows {description}, so there is no telling who is paid. Nothing was paid")
    return candidates[0]


def _microunits(view: View) -> int:
    """Return the one amount that the page shows, in millionths; the QR code says which number it is."""
    shown_amounts = {value for values in view.amounts() for value in values if value > 0}
    coded_amounts = {one.microunits for one in view.codes if one.microunits is not None}
    if len(coded_amounts) > 1 or (coded_amounts and not coded_amounts <= shown_amounts):
        amounts = " and ".join(f"{in_usdc(one)} USDC" for one in sorted(coded_amounts))
        raise PaymentRefused(f"a QR code asks for {amounts}, which the page does not show. Nothing was paid")
    candidates = [value for value in shown_amounts if not coded_amounts or value in coded_amounts]
    if len(candidates) != 1:
        raise PaymentRefused("the page's amount is ambiguous. Nothing was paid")
    return candidates[0]


def _asset(session: Session, view: View, lane: str) -> tuple[str, str]:
    """Return network key and USDC of the profile's node, which must be what the QR code asks for."""
    chain = session.profile.gateway_chains.of(lane)
    if chain is None:
        raise PaymentRefused(
            f"the page is paid on {lane}, and the profile has neither [gateway.chains.{lane}] nor [chains.{lane}]. "
            "Nothing was paid"
        )
    asset = None if chain.usdc is None else chain.usdc.asset_id
    coded_assets = {one.asset for one in view.codes if one.asset is not None}
    # A code that asks for another token would move something else than USDC.
    if asset is None or any(one.lower() != asset.lower() for one in coded_assets):
        raise PaymentRefused(
            f"the page asks for {', '.join(sorted(coded_assets)) or 'an asset'}, and USDC of {chain.network} is "
            f"{asset}. Nothing was paid"
        )
    return chain.network, asset


async def wait_for_paid(
    session: Session, client: Client, url: str, paid_lines: frozenset[str], seconds: float
) -> float | None:
    """Read a page until it shows Paid; return the seconds until then, or None if the time is over.

    Args:
        session: The session.
        client: The client that reads it.
        url: The page.
        paid_lines: Lines that read like "Paid" before the page was paid.
        seconds: How long at most.
    """
    loop = asyncio.get_running_loop()
    start = loop.time()
    while True:
        # The payment is already made. A page that fails for a while must not end the wait.
        with contextlib.suppress(Unreachable, Inconclusive):
            view, _ = await session.pages.look(client, url)
            if view.paid_lines() - paid_lines:
                return loop.time() - start
        if loop.time() - start > seconds:
            return None
        await asyncio.sleep(_LOOK_SECONDS)
