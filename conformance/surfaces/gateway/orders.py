"""Links to pay: created for one lane, with what their pages must show and what a payer needs to pay them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from conformance.engine.check import Case
from conformance.engine.concurrency import run_concurrently
from conformance.engine.tenant_credentials import Credentials
from conformance.http.client import Answer
from conformance.lanes.checkout_request import CheckoutPayer, CheckoutRequest
from conformance.outcome import Inconclusive
from conformance.pages.view import View
from conformance.surfaces.gateway.calls import create_link, new_text
from conformance.vocabulary.lanes.registry import FACTS

_LEAST, _MOST = 10_001, 19_999
_LOOK_SECONDS, _SPARING_SECONDS = 0.2, 1.0
_LONGEST_PAUSE = 2.0


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
        tenant: Whose link it is.
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
    """A link with the first look at its page.

    Attributes:
        order: The link.
        before: What its page showed before anything was paid.
        page: The answer that brought it.
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
        """What the page asks for; USDC has six decimals on all three lanes."""
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
    """Create a link on the network of the check's lane, of an odd amount unless one is given.

    Args:
        case: The check that needs it.
        microunits: Its amount.
        label: What its label begins with; a word follows that no other link has.
        label_end: What follows that word.
        mark: Another word, which several links may share.
        network: Another network.
        tenant: Whose link it is; by default the first that is paid on the network.
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
    """Create one more link of the tenant, amount and label of another, and look at its page.

    Where such a one is answered with the other, it is of another label.

    Raises:
        Inconclusive: It was not created, or no memo can be told from its page.
    """
    first_order = first.order
    amount = float(Decimal(first_order.microunits).scaleb(-6))
    answer = await create_link(
        case, first_order.tenant, preferred_network=first_order.network, amount=amount, label=first_order.label
    )
    alike = read_order(case, answer, first_order.tenant, first_order.network, label=first_order.label)
    if alike.token == first_order.token:
        return await open_link(
            case, microunits=first_order.microunits, network=first_order.network, tenant=first_order.tenant
        )
    # What tells of the label may tell of the other link.
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
    if not isinstance(url, str) or not isinstance(token, str) or not isinstance(price, int) or isinstance(price, bool):
        raise Inconclusive("a link was created without checkout_url, token or amount_microunits, which GW-LINK judges")
    asset = members.get("asset_id")
    asset_id = str(asset) if isinstance(asset, str | int) else case.profile.usdc_of(network)
    if asset_id is None:
        raise Inconclusive(f"unbound: no asset is known for the network {network}; bind [networks.{network}] network")
    _name(case, url, token)
    return Order(url, token, price, network, tenant.payout[network], asset_id, tenant, answer, label, mark)


def odd_amount(case: Case) -> int:
    """Draw an odd amount of micro-units, about a cent above the least that a link may be for."""
    return _above_the_least(case, case.rng.randrange(_LEAST, _MOST, 2))


def _above_the_least(case: Case, microunits: int) -> int:
    least = int(Decimal(case.profile.gateway_bindings.smallest_amount or "0") * 1_000_000)
    return microunits + case.session.amount_offset + (least if least > _LEAST else 0)


def _name(case: Case, url: str, token: str) -> None:
    """Keep a link's addresses out of the log, whole and as paths."""
    for text, name in ((url, "CHECKOUT_URL"), (token, "TOKEN")):
        case.client.names.name(text, name)
    for below in ("", "/qr"):
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
        Inconclusive: No memo can be told from its page, so that nothing can be bound to it.
    """
    link = await create_order(
        case, microunits=microunits, label=label, label_end=label_end, network=network, tenant=tenant, members=members
    )
    # On Solana the code has a reference beside the memo, with which payers who leave the memo out still find the link.
    if "memo" in (case.profile.gateway_bindings.checkout_selectors or {}) and FACTS[case.lane].family != "solana":
        view, answer = await case.session.pages.look(case.client, link.url)
        if view.unseen_parts is not None and view.missing_names:
            view, answer = await look(case, link)
    else:
        view, answer = await look(case, link)
    return read_opened_link(case, link, view, answer)


def read_opened_link(case: Case, link: Order, view: View, answer: Answer) -> OpenedLink:
    """Return a link with what its page tells a payer.

    Raises:
        Inconclusive: No memo can be told from it.
    """
    memo = view.memo(link.token)
    if memo is None:
        bind = "; bind [gateway.checkout_selectors] memo" if "memo" not in view.selectors else ""
        why = "" if view.unseen_parts is None else f": {view.unseen_parts}"
        raise Inconclusive(f"no memo can be told from the checkout page{why}{bind} (GW-CHK-05 judges it)")
    case.client.names.name(memo, "MEMO")
    addresses = () if view.shows_address(link.payout) else view.addresses(case.lane)
    return OpenedLink(link, view, answer, memo, addresses[0] if addresses else link.payout)


async def look(case: Case, link: Order, *, whole: bool = False) -> tuple[View, Answer]:
    """Look at an active link's page, harder where the document as sent does not show all that a payer needs.

    Args:
        case: The check that looks.
        link: The link.
        whole: Whether the exact amount is among it, too.
    """

    def shows(view: View) -> bool:
        amount = not whole or view.shown_amount(link.microunits) is not None
        return amount and view.shows_address(link.payout) and bool(view.codes) and view.memo(link.token) is not None

    pages = case.session.pages
    view, answer = await pages.look_for(case.client, link.url, shows)
    return view, answer


def on_lane(case: Case, lane: str) -> Case:
    """Return the case of a check that needs no lane of its own, for paying on one."""
    return replace(case, check=replace(case.check, lane=lane))


async def on_first_lane(case: Case) -> Case:
    """Return the case of a check that needs no lane of its own, for paying on the first one that links can be paid on.

    Raises:
        Inconclusive: No lane is one.
    """
    reasons = []
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
    """Return who pays the check's lane."""
    checkout_payer: CheckoutPayer = await case.session.payers.for_checkout(case.lane)
    return checkout_payer


def memo_carrier(case: Case) -> str | None:
    """Return how the profile says that a memo is carried on the check's lane; None when it is not bound."""
    return (case.profile.gateway_bindings.memo or {}).get(case.lane)


@dataclass(frozen=True, slots=True)
class PaidTransition:
    """A page that turned to Paid.

    Attributes:
        lines: The lines by which it says so.
        seconds: How long it took since it was first looked at.
        view: What it then showed.
        answer: The answer that brought it.
    """

    lines: frozenset[str]
    seconds: float
    view: View
    answer: Answer


async def wait_for_paid(case: Case, link_: OpenedLink, *, seconds: float | None = None) -> PaidTransition | None:
    """Look at a page until it says that it is paid; None when it does not within the budget."""
    loop = asyncio.get_running_loop()
    start, budget = loop.time(), case.profile.budgets.paid if seconds is None else seconds
    retry = False
    while True:
        view, answer = await look_again(case, link_, retry=retry)
        lines = view.turned_paid(link_.before)
        elapsed = loop.time() - start
        if lines:
            return PaidTransition(lines, elapsed, view, answer)
        if elapsed >= budget:
            return None
        await asyncio.sleep(_SPARING_SECONDS if case.profile.pace.requests_per_second else _LOOK_SECONDS)
        retry = True


async def wait_for_first_paid(case: Case, link_: OpenedLink, other_link: OpenedLink) -> PaidTransition | None:
    """Look at two pages until one says that it is paid; None when the first one is not, for all that is seen then."""
    own_task, other_task = (asyncio.ensure_future(wait_for_paid(case, one)) for one in (link_, other_link))
    try:
        await asyncio.wait((own_task, other_task), return_when=asyncio.FIRST_COMPLETED)
        # Whichever came first, the own page is given as long again.
        return await own_task if own_task.done() else await wait_for_paid(case, link_, seconds=_LONGEST_PAUSE)
    finally:
        for task in (own_task, other_task):
            task.cancel()
        await asyncio.gather(own_task, other_task, return_exceptions=True)


async def look_again(case: Case, link_: OpenedLink, *, retry: bool = False) -> tuple[View, Answer]:
    """Look at a link's page once more, for its state."""
    view, answer = await case.session.pages.look(case.client, link_.order.url, retry=retry)
    return view, answer


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
    """Create links of different amounts and look at their pages."""
    amounts = [_above_the_least(case, one) for one in case.rng.sample(range(_LEAST, _MOST, 2), count)]
    return await run_concurrently(open_link(case, microunits=amount) for amount in amounts)


async def settle_down(transition: PaidTransition) -> None:
    """Give the target as long again as it took for an honest payment, so that what was paid before had its chance."""
    await asyncio.sleep(min(max(transition.seconds, _LOOK_SECONDS), _LONGEST_PAUSE))
