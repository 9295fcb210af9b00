"""Orders: payment links for one lane, with their pages and the values that a payer needs."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any
from urllib.parse import urljoin

from conformance.engine.check import Case
from conformance.engine.concurrent_check_steps import run_concurrently
from conformance.engine.tenant_credentials import Credentials
from conformance.http.client import Answer
from conformance.lanes.checkout_request import CheckoutPayer, CheckoutRequest, WrongPayment
from conformance.outcome import Inconclusive
from conformance.pages.view import View
from conformance.surfaces.gateway.calls import CHECKOUT, brief, create_link, new_text
from conformance.vocabulary.lanes.registry import FACTS

# Odd amounts of micro-units, about one cent: an amount that no other check or person pays by
# chance.
_LEAST, _MOST = 10_001, 19_999
_LOOK_SECONDS, _SPARING_SECONDS = 0.2, 1.0
_LONGEST_PAUSE = 2.0
# Status codes from here on are refusals.
_REFUSED = 400


@dataclass(frozen=True, slots=True)
class Order:
    """One payment link.

    Attributes:
        url: Its checkout page.
        token: Its token.
        microunits: Millionths of the asset, as its creation answered.
        network: Network key.
        payout: The tenant's payout address on that network.
        asset: Asset id on that network.
        tenant: Its tenant.
        answer: The answer that created it.
        label: Its label, as it was sent.
        mark: A word of the label that no other link has.
    """

    url: str
    token: str
    microunits: int
    network: str
    payout: str
    asset: str
    tenant: Credentials
    answer: Answer
    label: str
    mark: str


@dataclass(frozen=True, slots=True)
class OpenedLink:
    """A link with the first view of its page.

    Attributes:
        order: The link.
        before: The view of its page before a payment.
        page: The answer with that page.
        memo: The memo that it shows.
        address: The receiving address that it shows: the payout address, unless it shows another one only.
    """

    order: Order
    before: View
    page: Answer
    memo: str
    address: str

    @property
    def bill(self) -> CheckoutRequest:
        """The payment that the page asks for; USDC has six decimals on all three lanes."""
        reference = next((one.reference for one in self.before.codes if one.reference), None)
        order_ = self.order
        return CheckoutRequest(order_.asset, self.address, order_.microunits, self.memo, reference)


async def create_order(
    case: Case,
    *,
    microunits: int | None = None,
    label: str = "Weldproof order",
    label_end: str = "",
    mark: str | None = None,
    network: str | None = None,
    tenant: Credentials | None = None,
    members: Mapping[str, Any] | None = None,
) -> Order:
    """Create a link on the network of the check's lane, with an odd amount unless one is given.

    Args:
        case: The case of the check.
        microunits: Its amount.
        label: Beginning of its label; a unique word follows.
        label_end: End of its label, after that word.
        mark: Another word instead, which several links may share.
        network: Another network.
        tenant: Its tenant; by default the first that is paid on the network.
        members: Further members of the request.

    Raises:
        Inconclusive: It was not created, or the answer lacks what GW-LINK rows judge.
    """
    network = network or network_of(case)
    tenant = tenant or case.session.tenants.find_first_on(network)
    amount_microunits = microunits or odd_amount(case)
    # The float's shortest decimal text, which is what is sent, is exactly this decimal.
    amount = float(Decimal(amount_microunits).scaleb(-6))
    mark = mark or new_text(case, "order")
    longest = case.profile.gateway_bindings.longest_label
    whole = f"{label} {mark}{label_end}"
    if longest is not None and len(whole) > longest:
        if not whole.isascii():
            raise Inconclusive(f"[gateway] longest_label = {longest} leaves no room for a label beyond ASCII")
        # Marks differ at their ends, which count.
        mark = mark[-longest:]
        case.client.names.name(mark, "ORDER")
        whole = mark
    request_members = {**(members or {}), "preferred_network": network, "amount": amount, "label": whole}
    answer = await create_link(case, tenant, **request_members)
    return read_order(case, answer, tenant, network, label=whole, mark=mark)


async def open_equal_link(case: Case, first: OpenedLink) -> OpenedLink:
    """Create another link with the tenant, amount and label of a first one, and read its page.

    Raises:
        Inconclusive: It was not created, or its page shows no memo.
    """
    first_order = first.order
    amount = float(Decimal(first_order.microunits).scaleb(-6))
    answer = await create_link(
        case, first_order.tenant, preferred_network=first_order.network, amount=amount, label=first_order.label
    )
    alike = read_order(case, answer, first_order.tenant, first_order.network, label=first_order.label)
    # A gateway may answer an equal creation with the first link. Then a link with another label
    # serves.
    if alike.token == first_order.token:
        return await open_link(
            case, microunits=first_order.microunits, network=first_order.network, tenant=first_order.tenant
        )
    # The label is common to both links, so only the token identifies an event of this one.
    alike = replace(alike, mark=alike.token)
    view, page = await look(case, alike)
    return read_opened_link(case, alike, view, page)


def read_order(
    case: Case, answer: Answer, tenant: Credentials, network: str, *, label: str = "", mark: str = ""
) -> Order:
    """Return the link that a creation was answered with.

    Raises:
        Inconclusive: The answer lacks what GW-LINK rows judge.
    """
    members = answer.read_object()
    url, token, price = (members.get(name) for name in ("checkout_url", "token", "amount_microunits"))
    # True is an integer in Python, so a Boolean amount is excluded.
    if not isinstance(url, str) or not isinstance(token, str) or not isinstance(price, int) or isinstance(price, bool):
        raise Inconclusive("a link was created without checkout_url, token or amount_microunits, which GW-LINK judges")
    asset = members.get("asset_id")
    asset_id = str(asset) if isinstance(asset, str | int) else case.profile.usdc_of(network)
    if asset_id is None:
        raise Inconclusive(f"unbound: no asset is known for the network {network}; bind [networks.{network}] network")
    _name(case, url, token)
    return Order(url, token, price, network, tenant.payout[network], asset_id, tenant, answer, label, mark)


def address_of(order: Order, part: str = "") -> str:
    """Return an address below that of the page; GW-LINK-08 judges what else its checkout_url has."""
    return urljoin(order.url, f"{CHECKOUT}{order.token}{part}")


async def cancel_order(case: Case, order: Order) -> None:
    """Cancel a link by its secret.

    Raises:
        Inconclusive: It was not cancelled.
    """
    secret = str(order.answer.read_object().get("cancel_secret"))
    case.client.names.secret(secret, "CANCEL_SECRET")
    answer = await case.client.call("POST", address_of(order, "/cancel"), json_body={"cancel_secret": secret})
    if answer.status != 200:
        raise Inconclusive(f"a link was not cancelled, which GW-CHK-22 judges: {brief(answer)}")


def odd_amount(case: Case) -> int:
    """Draw an odd amount of micro-units, about a cent above the least that a link may be for."""
    return _above_the_least(case, case.rng.randrange(_LEAST, _MOST, 2))


def _above_the_least(case: Case, microunits: int) -> int:
    least = int(Decimal(case.profile.gateway_bindings.smallest_amount or "0") * 1_000_000)
    # An earlier run with the same seed may have left links with the same amounts.
    return microunits + case.session.amount_offset + (least if least > _LEAST else 0)


def _name(case: Case, url: str, token: str) -> None:
    """Keep a link's addresses out of the log, whole and as paths."""
    for text, name in ((url, "CHECKOUT_URL"), (token, "TOKEN")):
        case.client.names.name(text, name)
    for below in ("", "/qr"):
        # Names match whole words only, so each path that contains the token needs its name.
        case.client.names.name(f"/checkout/{token}{below}", f"CHECKOUT_PATH{below.upper().replace('/', '_')}")
        case.client.names.name(url + below, f"CHECKOUT_URL{below.upper().replace('/', '_')}")


def network_of(case: Case) -> str:
    """Return the target's key of the network on which the lane's checkout payments are made.

    Raises:
        Inconclusive: The profile gives no node for them.
    """
    chain = case.profile.gateway_chains.of(case.lane)
    if chain is None:
        raise Inconclusive(f"needs a node to pay on: give [gateway.chains.{case.lane}] or [chains.{case.lane}]")
    return str(case.profile.own_network(chain.network))


async def open_link(
    case: Case,
    *,
    microunits: int | None = None,
    label: str = "Weldproof order",
    label_end: str = "",
    network: str | None = None,
    tenant: Credentials | None = None,
    members: Mapping[str, Any] | None = None,
) -> OpenedLink:
    """Create a link and look at its page; see `create_order`.

    Raises:
        Inconclusive: Its page shows no memo, so no payment can be bound to it.
    """
    link = await create_order(
        case, microunits=microunits, label=label, label_end=label_end, network=network, tenant=tenant, members=members
    )
    # On Solana the QR code also has a reference. A payer that leaves out the memo can use it to find the link.
    if "memo" in (case.profile.gateway_bindings.checkout_selectors or {}) and FACTS[case.lane].family != "solana":
        view, answer = await case.session.pages.look(case.client, link.url)
        if view.unseen_parts is not None and view.missing_names:
            view, answer = await look(case, link)
    else:
        view, answer = await look(case, link)
    return read_opened_link(case, link, view, answer)


def read_opened_link(case: Case, link: Order, view: View, answer: Answer) -> OpenedLink:
    """Return a link with the values of its page for a payer.

    Raises:
        Inconclusive: There is no page, or it shows no memo.
    """
    memo = view.memo(link.token)
    if memo is None:
        if answer.status >= _REFUSED:
            raise Inconclusive(f"the checkout page was answered {answer.status}, so there is nothing to read")
        bind = "; bind [gateway.checkout_selectors] memo" if "memo" not in view.selectors else ""
        why = "" if view.unseen_parts is None else f": {view.unseen_parts}"
        raise Inconclusive(f"the checkout page shows no memo{why}{bind} (GW-CHK-05 judges it)")
    case.client.names.name(memo, "MEMO")
    addresses = () if view.shows_address(link.payout) else view.addresses(case.lane)
    return OpenedLink(link, view, answer, memo, addresses[0] if addresses else link.payout)


async def look(case: Case, link: Order, *, whole: bool = False) -> tuple[View, Answer]:
    """Read an active link's page, in a browser if the document does not show all that a payer needs.

    Args:
        case: The case of the check.
        link: The link.
        whole: Whether the exact amount is also needed.
    """

    def shows(view: View) -> bool:
        amount = not whole or view.shown_amount(link.microunits) is not None
        return amount and view.shows_address(link.payout) and bool(view.codes) and view.memo(link.token) is not None

    pages = case.session.pages
    view, answer = await pages.look_for(case.client, link.url, shows)
    return view, answer


def on_lane(case: Case, lane: str) -> Case:
    """Return the case of a check without a lane, for paying on a lane."""
    return replace(case, check=replace(case.check, lane=lane))


async def on_first_lane(case: Case) -> Case:
    """Return the case of a check without a lane, for paying on the first lane on which links can be paid.

    Raises:
        Inconclusive: Links can be paid on no lane.
    """
    reasons = []
    # The reasons of all lanes are collected, because the operator needs to make only one of
    # them work.
    for lane in case.profile.claims.lanes:
        lane_case = on_lane(case, lane)
        try:
            case.session.tenants.find_first_on(network_of(lane_case))
            await payer(lane_case)
        except Inconclusive as reason:
            reasons.append(f"{lane}: {reason}")
        else:
            return lane_case
    raise Inconclusive("; ".join(reasons) or "the profile claims no lane, so that nothing can be paid")


async def payer(case: Case) -> CheckoutPayer:
    """Return the payer on the check's lane."""
    checkout_payer: CheckoutPayer = await case.session.payers.for_checkout(case.lane)
    return checkout_payer


def memo_carrier(case: Case) -> str | None:
    """Return the profile's way to carry a memo on the check's lane, or None."""
    return (case.profile.gateway_bindings.memo or {}).get(case.lane)


@dataclass(frozen=True, slots=True)
class PaidTransition:
    """A page that turned to Paid.

    Attributes:
        lines: The lines that say Paid.
        seconds: Seconds from the first view to this one.
        view: Its view then.
        answer: The answer with that page.
    """

    lines: frozenset[str]
    seconds: float
    view: View
    answer: Answer


async def wait_for_paid(case: Case, link_: OpenedLink, *, seconds: float | None = None) -> PaidTransition | None:
    """Read a page until it says that it is paid; None if it does not within the budget."""
    loop = asyncio.get_running_loop()
    start, budget = loop.time(), case.profile.budgets.paid if seconds is None else seconds
    retry = False
    while True:
        view, answer = await look_again(case, link_, retry=retry)
        lines = view.turned_paid(link_.before)
        seconds_passed = loop.time() - start
        if lines:
            return PaidTransition(lines, seconds_passed, view, answer)
        if seconds_passed >= budget:
            return None
        # A target with a pace is read less often, so that its limit is left for other checks.
        await asyncio.sleep(_SPARING_SECONDS if case.profile.pace.requests_per_second else _LOOK_SECONDS)
        retry = True


async def wait_for_first_paid(case: Case, link_: OpenedLink, other_link: OpenedLink) -> PaidTransition | None:
    """Read two pages until one says that it is paid; None if the first page does not say so."""
    own_task, other_task = (asyncio.ensure_future(wait_for_paid(case, one)) for one in (link_, other_link))
    try:
        # Both pages are read at the same time, so that neither has an advantage.
        await asyncio.wait((own_task, other_task), return_when=asyncio.FIRST_COMPLETED)
        # If the other page was first, this page gets some more time.
        return await own_task if own_task.done() else await wait_for_paid(case, link_, seconds=_LONGEST_PAUSE)
    finally:
        for task in (own_task, other_task):
            task.cancel()
        await asyncio.gather(own_task, other_task, return_exceptions=True)


async def look_again(case: Case, link_: OpenedLink, *, retry: bool = False) -> tuple[View, Answer]:
    """Read a link's page once more, for its state."""
    view, answer = await case.session.pages.look(case.client, link_.order.url, retry=retry)
    return view, answer


async def pay_wrongly(case: Case, wallet: CheckoutPayer, way: WrongPayment, link_: OpenedLink) -> str | None:
    """Make a payment that does not pay a link and return its id; if it cannot be made, note the reason."""
    with case.session.stray_payments.collect_for(case.check.id) as stray_ids:
        try:
            tx_id = await way.pay(link_.bill)
        except Inconclusive as reason:
            case.note(f"{way.name}: {reason}")
            return None
        stray_ids.update(wallet.list_group(tx_id))
    return tx_id


async def pay_rightly(case: Case, checkout_payer: CheckoutPayer, link_: OpenedLink) -> PaidTransition:
    """Pay a link as its page says and wait until it shows Paid.

    Raises:
        Inconclusive: It does not, which GW-CHK-09 judges.
    """
    await checkout_payer.settle(link_.bill, memo_carrier(case))
    transition = await wait_for_paid(case, link_)
    if transition is None:
        raise Inconclusive(
            f"the control, an honest payment, did not turn its page to Paid within {case.profile.budgets.paid:g} s"
        )
    return transition


async def open_several_links(case: Case, count: int) -> list[OpenedLink]:
    """Create links of different amounts and read their pages."""
    amounts = [_above_the_least(case, one) for one in case.rng.sample(range(_LEAST, _MOST, 2), count)]
    return await run_concurrently(open_link(case, microunits=amount) for amount in amounts)


async def settle_down(transition: PaidTransition) -> None:
    """Wait as long as an honest payment took, so that earlier wrong payments had the same time to be accepted."""
    # Bounded on both sides: a very fast target still gets one look, and a slow one does not
    # stop the run.
    await asyncio.sleep(min(max(transition.seconds, _LOOK_SECONDS), _LONGEST_PAUSE))
