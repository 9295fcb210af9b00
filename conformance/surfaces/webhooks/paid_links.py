"""Paid links whose events many checks read; each is paid once in a run for each lane."""

from __future__ import annotations

import asyncio
import random
import time
import unicodedata
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from conformance.engine import clock
from conformance.engine.check import Case
from conformance.engine.concurrent_check_steps import run_concurrently
from conformance.http.client import Unreachable
from conformance.lanes.checkout_request import CheckoutRequest
from conformance.outcome import Inconclusive, OpenPoint
from conformance.surfaces.gateway.calls import CHECKOUT
from conformance.surfaces.gateway.orders import OpenedLink, look, memo_carrier, on_lane, open_link, payer, wait_for_paid
from conformance.webhook_receiver.inbox import Inbox, Place, Received
from conformance.webhook_receiver.raw_receiver import SILENCE, Reply

# Letters of several scripts and widths, one outside the first plane, one that is written with a combining mark and one
# that is not, what a page would escape, and white space that a gateway may trim.
_COMBINED_LETTERS = unicodedata.normalize("NFD", "é")
FAR_LABEL = f'  Größe  7 · 数量 · שלום · 😀 · {_COMBINED_LETTERS} é · <b>&amp; "it\'s"</b> · %C3%A9 \\u00e9 ·'
# An emoji of two, and a word of Persian: the joiner and the non-joiner in them take no room and belong to them.
_JOINED_LETTERS = " 👩\u200d💻 · \u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645 ·"
_FAR_ENDING = " · 終 "
_USUAL_LABEL = "Weldproof order"
_PATIENCE = 30.0
# The transaction is sent to the gateway's verify call again until it is accepted: number of calls and pause in seconds.
_NAMINGS, _NAMING_SECONDS = 40, 0.05
_SPARED_NAMINGS, _SPARED_SECONDS = 3, 1.0
_NOT_VERIFIED_STATUS, _VERIFIED_STATUS = 422, 200
MORE_UNITS = 1_003
# Micro-units: between 1,001 and 1,899 USDC.
_THOUSANDS = (1_001_000_001, 1_899_000_001)
TRIMMED_LABEL = OpenPoint("whether a label may be trimmed if the answer to its creation has it so", "3.4")
MORE = {"payment": f"{MORE_UNITS} micro-units more than the link asks"}


@dataclass(frozen=True, slots=True)
class PaidLink:
    """One correctly paid link.

    Attributes:
        lane: The lane on which it was paid.
        link: The link, with its page before it was paid.
        tx_id: The paying transaction.
        senders: Addresses that may be its sender: the accounts that lost the amount, and the one that submitted it.
        owners: The accounts that lost the amount.
        places: The destinations of its tenant.
        paid_at: The target's time before the payment was sent, in unix seconds.
        clock_offset: Seconds by which the target's clock was ahead of this machine's then.
        is_shown: Whether its page finally said Paid; None if an event made reading it unnecessary.
        is_named: Whether the gateway's verify call accepted the transaction.
    """

    lane: str
    link: OpenedLink
    tx_id: str
    senders: frozenset[str]
    owners: frozenset[str]
    places: tuple[Place, ...]
    paid_at: float
    clock_offset: float
    is_shown: bool | None = None
    is_named: bool = False

    @property
    def label(self) -> str:
        """The link's label."""
        return self.link.order.label

    def find_open_point(self, text: object) -> OpenPoint | None:
        """Return the open point if a text is the label trimmed, as in the answer to its creation; otherwise None."""
        is_trimmed = text == self.link.order.answer.read_object().get("label") == self.label.strip()
        return TRIMMED_LABEL if is_trimmed else None

    @property
    def words(self) -> tuple[str, ...]:
        """Words that identify an event about this link; each is unique to it."""
        return self.link.order.mark, self.tx_id, self.link.order.token

    def deliveries(self, inbox: Inbox, place: Place | None = None) -> tuple[Received, ...]:
        """Return the deliveries about it, at one place or anywhere."""
        return tuple(
            one for one in inbox.deliveries if (place is None or one.place == place) and one.mentions(self.words)
        )

    def confirmations(self, inbox: Inbox, place: Place | None = None) -> tuple[Received, ...]:
        """Return the deliveries that say that it is confirmed."""
        return tuple(one for one in self.deliveries(inbox, place) if one.confirms)


async def paid_links(case: Case) -> tuple[PaidLink, PaidLink]:
    """Return two paid links of the check's lane, one with a usual label and one with a label beyond ASCII.

    The transaction of the second is sent to the gateway's verify call at once, if the target claims such a call. Both
    were paid in this run, and each destination had its time to receive the events.

    Raises:
        Inconclusive: A link could not be made or paid, or the suite cannot receive.
    """
    name = f"webhook sales {case.lane}"
    first, far = await case.session.find_once(name, lambda: _sales(with_named_randomness(case, name)))
    return first, far


def with_named_randomness(case: Case, name: str) -> Case:
    """Return the case with randomness seeded by a name."""
    # Several checks share the result. Its random values must not depend on which check asks first.
    rng = random.Random(f"{case.session.seed}:{name}")  # noqa: S311 - the suite's choices are repeatable
    return replace(case, rng=rng)


async def _sales(case: Case) -> tuple[PaidLink, ...]:
    # Both links are open before one is paid, so that a payment of one could wrongly pay the
    # other.
    links = await run_concurrently([_open_paid_link(case, _USUAL_LABEL), _far(case)])
    case.session.inbox.of_tenant(links[0].order.tenant.name)
    unheard_sales = await run_concurrently([pay_link(case, links[0]), _pay_and_name(case, links[1])])
    return tuple(await run_concurrently(wait_for_events(case, sale) for sale in unheard_sales))


async def _far(case: Case) -> OpenedLink:
    """Create a link with a label beyond ASCII, or with a usual label if the target refuses that."""
    # Other rows need two paid links, so a refused label must not end here.
    for description, label in (
        ("joined letters in its label", FAR_LABEL + _JOINED_LETTERS),
        ("a label beyond ASCII", FAR_LABEL),
    ):
        try:
            return await _open_paid_link(case, label, _FAR_ENDING)
        except Inconclusive as reason:
            case.note(f"no link with {description}: {reason}")
    return await _open_paid_link(case, _USUAL_LABEL)


async def _open_paid_link(case: Case, label: str, label_end: str = "") -> OpenedLink:
    """Create a link and read its page, with a browser if the document does not show the amount."""
    link = await open_link(case, label=label, label_end=label_end)
    if link.before.shown_amount(link.order.microunits) is not None or link.before.unseen_parts is None:
        return link
    view, answer = await look(case, link.order, whole=True)
    return replace(link, before=view, page=answer)


async def pay_link(
    case: Case, link: OpenedLink, *, more: int = 0, pay: Callable[[CheckoutRequest], Awaitable[str]] | None = None
) -> PaidLink:
    """Pay a link as its page says, `more` micro-units in addition, or in the way of `pay`.

    Raises:
        Inconclusive: The node did not accept it, or the suite cannot receive.
    """
    places = case.session.inbox.of_tenant(link.order.tenant.name)
    checkout_payer = await payer(case)
    offset = clock.read_offset(case)
    paid_at = time.time() + offset
    # The receiver must exist before the payment: a missing destination is found before money is
    # spent.
    bill = link.bill.with_changes(amount=link.bill.amount + more)
    tx_id = await (checkout_payer.settle(bill, memo_carrier(case)) if pay is None else pay(bill))
    case.client.names.name(tx_id, "TX_ID")
    balance_changes: Mapping[str, int] = await checkout_payer.read_credits(tx_id, link.order.asset)
    below = await case.session.payers.for_gateway(case.lane)
    # Events may name the owner of the funds or the account that sent the transaction in.
    owners = frozenset(owner for owner, amount in balance_changes.items() if amount < 0)
    return PaidLink(case.lane, link, tx_id, owners | {below.address}, owners, places, paid_at, offset)


async def _pay_and_name(case: Case, link: OpenedLink) -> PaidLink:
    """Pay a link, and send the transaction to the gateway's verify call before the gateway finds it (P-CK-06)."""
    sale = await pay_link(case, link)
    if not case.profile.claims.includes("gateway.checkout"):
        return sale
    has_pace = bool(case.profile.pace.requests_per_second)
    url = f"{case.session.gateway}{CHECKOUT}{link.order.token}/verify"
    # A late answer or a rate limit does not matter: the link is paid in any case.
    with suppress(Unreachable, Inconclusive):
        for _ in range(_SPARED_NAMINGS if has_pace else _NAMINGS):
            answer = await case.client.call("POST", url, json_body={"tx_id": sale.tx_id})
            # Until the transaction is final, it is refused as not found or not confirmed. Other answers are permanent.
            if answer.status != _NOT_VERIFIED_STATUS:
                return replace(sale, is_named=answer.status == _VERIFIED_STATUS)
            await asyncio.sleep(_SPARED_SECONDS if has_pace else _NAMING_SECONDS)
    return sale


async def wait_for_events(case: Case, sale: PaidLink) -> PaidLink:
    """Wait until each destination has received the confirmation of a link, at most for the budget."""
    inbox = case.session.inbox

    async def at(place: Place) -> None:
        await inbox.wait(
            lambda one: one.place == place and one.confirms and one.mentions(sale.words),
            seconds=case.profile.budgets.paid,
        )

    await run_concurrently(map(at, sale.places))
    if sale.confirmations(inbox):
        return sale
    return replace(sale, is_shown=await wait_for_paid(case, sale.link, seconds=0) is not None)


async def wait_for_late_events(case: Case, late_links: Sequence[PaidLink]) -> None:
    """Wait for the missing event of each link, as long as another attempt may delay it."""
    # Some senders serve all deliveries one after the other. Another check's unanswered delivery
    # then blocks this one until it times out, which is no fault.
    inbox, seconds = case.session.inbox, given_up_after(case) + case.profile.budgets.paid

    async def comes(sale: PaidLink) -> None:
        await inbox.wait(
            lambda one: (one.confirms or one.fault is not None) and one.mentions(sale.words), seconds=seconds
        )

    await run_concurrently(map(comes, late_links))


async def overpaid_link(case: Case) -> PaidLink | None:
    """Return a link of the check's lane that was overpaid, paid once in a run.

    None if no event confirms it: the interface leaves open whether an overpayment pays a link.
    """
    name = f"webhook overpaid {case.lane}"
    overpaid_sale: PaidLink | None = await case.session.find_once(
        name, lambda: _overpaid(with_named_randomness(case, name))
    )
    return overpaid_sale


async def _overpaid(case: Case) -> PaidLink | None:
    try:
        sale = await wait_for_events(case, await _oversold(case))
    except Inconclusive as reason:
        case.note(f"no link was paid more than it asks: {reason}")
        return None
    if sale.confirmations(case.session.inbox):
        return sale
    case.note("no event confirms a link that was paid more than it asks, which the interface leaves open")
    return None


async def _oversold(case: Case) -> PaidLink:
    """Pay a link more than it asks; if the chain mints on request, the link asks for more than a thousand USDC.

    Raises:
        Inconclusive: A link could not be made or paid, or the suite cannot receive.
    """
    below = await case.session.payers.for_gateway(case.lane)
    if below.has_control and not await below.lacks("mint"):
        try:
            return await pay_link(
                case, await open_link(case, microunits=case.rng.randrange(*_THOUSANDS, 2)), more=MORE_UNITS
            )
        except Inconclusive as reason:
            case.note(f"no link of more than a thousand USDC was paid: {reason}")
    return await pay_link(case, await open_link(case), more=MORE_UNITS)


def deliveries(case: Case, sale: PaidLink) -> tuple[Received, ...]:
    """Return the deliveries that say that a link is confirmed.

    Raises:
        Inconclusive: None came, which WH-DELIV-02 judges.
    """
    confirmations = sale.confirmations(case.session.inbox)
    if not confirmations:
        raise Inconclusive("no payment.confirmed of a right payment arrived, which WH-DELIV-02 judges")
    return confirmations


@dataclass(frozen=True, slots=True)
class FailedDeliveries:
    """Two paid links whose first delivery to one destination failed on request.

    Attributes:
        unanswered_sale: The link whose delivery was not answered.
        unanswered_at: The destination of that delivery, the tenant's first.
        refused_sale: The link whose delivery was answered with 500.
        refused_at: The destination of that delivery, the tenant's last.
    """

    unanswered_sale: PaidLink
    unanswered_at: Place
    refused_sale: PaidLink
    refused_at: Place


def given_up_after(case: Case) -> float:
    """Return the seconds after which a sender gives up an unanswered attempt; a usual time if unbound."""
    return case.profile.webhook_bindings.timeout or _PATIENCE


async def failed_deliveries(case: Case) -> FailedDeliveries:
    """Return two paid links whose first delivery failed, paid once in a run on the first lane that can be paid.

    Raises:
        Inconclusive: No lane can be, or the suite cannot receive.
    """
    name = "webhook failures"
    failed_sales: FailedDeliveries = await case.session.find_once(
        name, lambda: _failures(with_named_randomness(case, name))
    )
    return failed_sales


async def _failures(case: Case) -> FailedDeliveries:
    reasons = []
    for lane in case.profile.claims.lanes:
        try:
            return await fail_deliveries(on_lane(case, lane))
        except Inconclusive as reason:
            reasons.append(f"{lane}: {reason}")
    raise Inconclusive("; ".join(reasons) or "the profile claims no lane, so that nothing can be paid")


async def fail_deliveries(case: Case) -> FailedDeliveries:
    """Return two paid links of the check's lane whose first delivery failed just now.

    Raises:
        Inconclusive: A link could not be made or paid, or the suite cannot receive.
    """
    slow, refused_link = await run_concurrently(open_link(case) for _ in range(2))
    inbox = case.session.inbox
    # The first and the last destination: one of them comes first in whichever order a sender serves destinations.
    places = inbox.of_tenant(slow.order.tenant.name)
    inbox.script(slow.order.mark, places[0], [SILENCE])
    inbox.script(refused_link.order.mark, places[-1], [Reply(500)])
    unheard_sales = await run_concurrently(pay_link(case, link) for link in (slow, refused_link))
    first, second = await run_concurrently(wait_for_events(case, sale) for sale in unheard_sales)
    return FailedDeliveries(first, places[0], second, places[-1])
