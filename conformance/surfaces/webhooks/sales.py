"""Links that are paid to see what the target tells of it: paid once a run and lane, and looked at by many checks."""

from __future__ import annotations

import asyncio
import random
import unicodedata
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from conformance.engine.check import Case
from conformance.engine.concurrency import run_concurrently
from conformance.http.client import Unreachable
from conformance.outcome import Inconclusive
from conformance.surfaces.gateway.calls import CHECKOUT
from conformance.surfaces.gateway.orders import OpenedLink, look, memo_carrier, on_lane, open_link, payer, wait_for_paid
from conformance.webhook_receiver.inbox import Inbox, Place, Received
from conformance.webhook_receiver.raw_receiver import SILENCE, Reply

# Letters of several scripts and widths, one outside the first plane, one that is written with a combining mark and one
# that is not, what a page would escape, and white space that somebody may think too much.
_COMBINED_LETTERS = unicodedata.normalize("NFD", "é")
FAR_LABEL = f'  Größe  7 · 数量 · שלום · 😀 · {_COMBINED_LETTERS} é · <b>&amp; "it\'s"</b> · %C3%A9 \\u00e9 ·'
# An emoji of two, and a word of Persian: the joiner and the non-joiner in them take no room and belong to them.
_JOINED_LETTERS = " 👩\u200d💻 · \u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645 ·"
_FAR_ENDING = " · 終 "
_USUAL_LABEL = "Weldproof order"
_PATIENCE = 30.0
# A transaction is named to the gateway again until it takes it: so often, and after such a pause where no pace is kept.
_NAMINGS, _NAMING_SECONDS = 40, 0.05
_SPARED_NAMINGS, _SPARED_SECONDS = 3, 1.0
_NOT_VERIFIED_STATUS, _VERIFIED_STATUS = 422, 200
_MORE = 1_003
# Micro-units: between 1,001 and 1,899 USDC.
_THOUSANDS = (1_001_000_001, 1_899_000_001)
MORE = {"payment": f"{_MORE} micro-units more than the link asks"}


@dataclass(frozen=True, slots=True)
class PaidLink:
    """One link that was paid rightly.

    Attributes:
        lane: The lane that it was paid on.
        link: The link, with its page before it was paid.
        tx_id: The paying transaction.
        senders: Whoever may be called its sender: who lost the amount by it, and who sent it in.
        places: The destinations of its tenant.
        is_shown: Whether its page said Paid in the end; None where that was not looked at, since an event came.
        is_named: Whether the gateway took the transaction when it was named to it.
    """

    lane: str
    link: OpenedLink
    tx_id: str
    senders: frozenset[str]
    places: tuple[Place, ...]
    is_shown: bool | None = None
    is_named: bool = False

    @property
    def label(self) -> str:
        """The link's label."""
        return self.link.order.label

    def is_label(self, text: object) -> bool:
        """Return whether a text is the link's label: as sent, or as its creation answered where that trims it."""
        answered_label = self.link.order.answer.object().get("label")
        is_trimmed = isinstance(answered_label, str) and answered_label == self.label.strip()
        return text == self.label or (is_trimmed and text == answered_label)

    @property
    def words(self) -> tuple[str, ...]:
        """Words by which an event that tells of it is known: each is of this sale alone."""
        return self.link.order.mark, self.tx_id, self.link.order.token

    def deliveries(self, inbox: Inbox, place: Place | None = None) -> tuple[Received, ...]:
        """Return what came and tells of it, at one place or anywhere."""
        return tuple(
            one for one in inbox.deliveries if (place is None or one.place == place) and one.mentions(self.words)
        )

    def confirmations(self, inbox: Inbox, place: Place | None = None) -> tuple[Received, ...]:
        """Return the events among it that say that it is confirmed."""
        return tuple(one for one in self.deliveries(inbox, place) if one.confirms)


async def paid_links(case: Case) -> tuple[PaidLink, PaidLink]:
    """Return two sales of the check's lane, one with a usual label and one with a label beyond ASCII.

    The transaction of the other one is named to the gateway as soon as it is made, where the target claims such a call.
    Both were paid in this run, and each destination had its time to hear of them.

    Raises:
        Inconclusive: A link could not be made or paid, or nobody can receive.
    """
    name = f"webhook sales {case.lane}"
    first, far = await case.session.find_once(name, lambda: _sales(with_named_randomness(case, name)))
    return first, far


def with_named_randomness(case: Case, name: str) -> Case:
    """Return the case with randomness by a name: what is shared must not depend on who asks for it first."""
    rng = random.Random(f"{case.session.seed}:{name}")  # noqa: S311 - the suite's choices are repeatable
    return replace(case, rng=rng)


async def _sales(case: Case) -> tuple[PaidLink, ...]:
    links = await run_concurrently([_open_paid_link(case, _USUAL_LABEL), _far(case)])
    case.session.inbox.of_tenant(links[0].order.tenant.name)
    unheard_sales = await run_concurrently([pay_link(case, links[0]), _pay_and_name(case, links[1])])
    return tuple(await run_concurrently(wait_for_events(case, sale) for sale in unheard_sales))


async def _far(case: Case) -> OpenedLink:
    """Create a link with a label beyond ASCII; where the target refuses such a usual one, since other rows need two."""
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
    """Create a link and look at its page, harder where its amount is not seen at once."""
    link = await open_link(case, label=label, shutdown=label_end)
    if link.before.shown_amount(link.order.microunits) is not None or link.before.unseen_parts is None:
        return link
    view, answer = await look(case, link.order, whole=True)
    return replace(link, before=view, page=answer)


async def pay_link(case: Case, link: OpenedLink, *, more: int = 0) -> PaidLink:
    """Pay a link as its page says, or so many micro-units more.

    Raises:
        Inconclusive: The node did not take it, or nobody can receive.
    """
    places = case.session.inbox.of_tenant(link.order.tenant.name)
    checkout_payer = await payer(case)
    tx_id = await checkout_payer.settle(link.bill.changed(amount=link.bill.amount + more), memo_carrier(case))
    case.client.names.name(tx_id, "TX_ID")
    balance_changes: Mapping[str, int] = await checkout_payer.credits(tx_id, link.order.asset)
    below = await case.session.payers.for_gateway(case.lane)
    senders = {owner for owner, amount in balance_changes.items() if amount < 0} | {below.address}
    return PaidLink(case.lane, link, tx_id, frozenset(senders), places)


async def _pay_and_name(case: Case, link: OpenedLink) -> PaidLink:
    """Pay a link, and name the transaction to the gateway before it may see that by itself (P-CK-06).

    Where it does not answer in time, or wants to be asked less often, the sale is as good without.
    """
    sale = await pay_link(case, link)
    if "gateway.checkout" not in case.profile.claims.options:
        return sale
    has_pace = bool(case.profile.pace.requests_per_second)
    url = f"{case.session.gateway}{CHECKOUT}{link.order.token}/verify"
    with suppress(Unreachable, Inconclusive):
        for _ in range(_SPARED_NAMINGS if has_pace else _NAMINGS):
            answer = await case.client.call("POST", url, json_body={"tx_id": sale.tx_id})
            # Until it is final it is refused as not found or not confirmed; anything else lasts.
            if answer.status != _NOT_VERIFIED_STATUS:
                return replace(sale, keywords=answer.status == _VERIFIED_STATUS)
            await asyncio.sleep(_SPARED_SECONDS if has_pace else _NAMING_SECONDS)
    return sale


async def wait_for_events(case: Case, sale: PaidLink) -> PaidLink:
    """Wait until each destination heard that a sale is confirmed, or does not within the budget."""
    inbox = case.session.inbox

    async def at(place: Place) -> None:
        await inbox.wait(
            lambda one: one.place == place and one.confirms and one.mentions(sale.words),
            seconds=case.profile.budgets.paid,
        )

    await run_concurrently(map(at, sale.places))
    if sale.confirmed(inbox):
        return sale
    return replace(sale, to_document_response=await wait_for_paid(case, sale.link, seconds=0) is not None)


async def wait_for_late_events(case: Case, late_links: Sequence[PaidLink]) -> None:
    """Wait for the event of each sale that none came of yet, as long as another one's attempt may stand before it.

    Some serve all deliveries one after the other, which is nobody's fault where nobody answers the first of them.
    """
    inbox, seconds = case.session.inbox, given_up_after(case) + case.profile.budgets.paid

    async def comes(sale: PaidLink) -> None:
        await inbox.wait(
            lambda one: (one.confirms or one.fault is not None) and one.mentions(sale.words), seconds=seconds
        )

    await run_concurrently(map(comes, late_links))


async def overpaid_link(case: Case) -> PaidLink | None:
    """Return a sale of the check's lane for which more was paid than the link asks, made once a run.

    None where no event tells of it: whether an over-payment pays a link is left open.
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
    if sale.confirmed(case.session.inbox):
        return sale
    case.note("no event tells of a link that was paid more than it asks, which the interface leaves open")
    return None


async def _oversold(case: Case) -> PaidLink:
    """Pay a link more than it asks; where the chain mints on request, that link asks for more than a thousand USDC.

    Raises:
        Inconclusive: A link could not be made or paid, or nobody can receive.
    """
    below = await case.session.payers.for_gateway(case.lane)
    if below.has_control and not await below.lacks("mint"):
        try:
            return await pay_link(
                case, await open_link(case, microunits=case.rng.randrange(*_THOUSANDS, 2)), more=_MORE
            )
        except Inconclusive as reason:
            case.note(f"no link of more than a thousand USDC was paid: {reason}")
    return await pay_link(case, await open_link(case), more=_MORE)


def deliveries(case: Case, sale: PaidLink) -> tuple[Received, ...]:
    """Return the deliveries that say that a sale is confirmed.

    Raises:
        Inconclusive: None came, which WH-DELIV-02 judges.
    """
    confirmations = sale.confirmed(case.session.inbox)
    if not confirmations:
        raise Inconclusive("no payment.confirmed of a right payment arrived, which WH-DELIV-02 judges")
    return confirmations


@dataclass(frozen=True, slots=True)
class FailedDeliveries:
    """Two sales whose first delivery to one destination was made to fail.

    Attributes:
        unanswered_sale: It was not answered.
        unanswered_at: The destination of that, the first of the tenant's.
        refused_sale: It was answered with 500.
        refused_at: The destination of that, the last of the tenant's.
    """

    unanswered_sale: PaidLink
    unanswered_at: Place
    refused_sale: PaidLink
    refused_at: Place


def given_up_after(case: Case) -> float:
    """Return the seconds after which a sender gives up an attempt that is not answered, a usual time where unbound."""
    return case.profile.webhook_bindings.timeout or _PATIENCE


async def failed_deliveries(case: Case) -> FailedDeliveries:
    """Return two sales whose first delivery failed, made once a run on the first lane that can be paid on.

    Raises:
        Inconclusive: No lane can be, or nobody can receive.
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
    """Return two sales of the check's lane whose first delivery failed just now.

    Raises:
        Inconclusive: A link could not be made or paid, or nobody can receive.
    """
    slow, refused_link = await run_concurrently(open_link(case) for _ in range(2))
    inbox = case.session.inbox
    # At either end, so that one of them comes first whichever way a sender goes through his destinations.
    places = inbox.of_tenant(slow.order.tenant.name)
    inbox.script(slow.order.mark, places[0], [SILENCE])
    inbox.script(refused_link.order.mark, places[-1], [Reply(500)])
    unheard_sales = await run_concurrently(pay_link(case, link) for link in (slow, refused_link))
    first, second = await run_concurrently(wait_for_events(case, sale) for sale in unheard_sales)
    return FailedDeliveries(first, places[0], second, places[-1])
