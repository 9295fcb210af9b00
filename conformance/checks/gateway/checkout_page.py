"""GW-CHK-01 to -08, -17 and -18: what the hosted checkout page shows before a payment."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Sequence

from conformance.engine.check import Case, check
from conformance.engine.concurrent_check_steps import run_concurrently
from conformance.http.client import Answer
from conformance.outcome import Inconclusive
from conformance.pages.view import View, is_state
from conformance.surfaces import binding_hints
from conformance.surfaces.gateway.calls import CHECKOUT, is_refused, new_text, short
from conformance.surfaces.gateway.orders import OpenedLink, Order, create_order, look, odd_amount, read_opened_link

# Characters. One character would be a guess from a label, and no service can bind a payment by it.
_SHORTEST_MEMO = 2


# Ranges of odd micro-units: hundreds of USDC, and up to a million USDC, where pages insert thousands separators.
_LARGE_RANGES = ((101_000_001, 999_000_001), (1_001_000_001, 999_999_000_001))
# For each row the profile's selector of the text that it looks for, and that text in words.
_SELECTORS = {
    "GW-CHK-03": ("address", "the address"),
    "GW-CHK-04": ("amount", "the exact amount"),
    "GW-CHK-05": ("memo", "the memo"),
    "GW-CHK-06": ("address", "the payout address"),
}


def _judge(
    case: Case, row: str, page_view: tuple[View, Answer], holds: bool, requirement: str, finding: object
) -> None:
    """Judge what a page shows. If the page may show more than was read, a missing text is inconclusive."""
    view, answer = page_view
    if not holds and view.unseen_parts is not None:
        case.mark_inconclusive(row, f"{requirement} was not seen: {view.unseen_parts}", exchange=answer)
        return
    hint = binding_hints.of_page(*_SELECTORS[row], view.selectors, view.missing_names) if row in _SELECTORS else None
    case.expect(row, holds, requirement, finding, exchange=answer, hint=hint)


@check(
    "GW-CHK-01",
    "GW-CHK-02",
    "GW-CHK-03",
    "GW-CHK-04",
    "GW-CHK-05",
    "GW-CHK-06",
    "GW-CHK-08",
    "GW-CHK-18",
    surface="gateway",
    lane="each",
    fix="Serve the page at checkout_url without credentials. It must show a QR code, the tenant's payout address on "
    "that network, the exact amount and the memo as text, and must not contain the word Paid.",
)
async def page_of_an_unpaid_link(case: Case) -> None:
    """The page of a new link shows a QR code, the receiving address, the exact amount and a memo, and not Paid.

    Creates a link of an odd amount on the lane's network and gets its checkout_url without credentials. Expects 200
    with a page, and on it:

    * a QR code that can be decoded and contains the address,
    * the tenant's payout address as the profile has it,
    * the amount in any usual spelling,
    * a memo,
    * and no Paid.

    Then reads the exact amounts of links for hundreds and for thousands of USDC.
    """
    link_order = await create_order(case)
    plain_view, answer = await case.session.pages.look(case.client, link_order.url)
    # The plain read comes first. A browser would show a page for an error as well, and hide its status.
    is_page = answer.status == 200 and plain_view.page.is_markup
    case.expect("GW-CHK-01", is_page, "200 with a page", f"{answer.status}: {short(answer)}", exchange=answer)
    if not is_page:
        raise Inconclusive(f"the checkout page was answered {answer.status}, so there is nothing to read")
    page_view = await look(case, link_order, whole=True)
    view = page_view[0]
    addresses = view.addresses(case.lane)
    _judge(case, "GW-CHK-02", page_view, bool(view.codes), "a QR code that can be decoded", "none")
    has_address = bool(addresses) or view.shows_address(link_order.payout)
    _judge(case, "GW-CHK-03", page_view, has_address, f"an address of {link_order.network}", "none")
    _judge(
        case,
        "GW-CHK-06",
        page_view,
        view.shows_address(link_order.payout),
        f"the payout address {link_order.payout}",
        addresses,
    )
    amount = view.shown_amount(link_order.microunits)
    _judge(
        case,
        "GW-CHK-04",
        page_view,
        amount is not None,
        f"exactly {link_order.microunits} micro-units",
        _describe_amounts(view),
    )
    _judge_memo(case, page_view, link_order)
    # A sentence like "You will see Paid here" is allowed, so only lines that are a state by themselves count.
    paid_lines = sorted(filter(is_state, view.paid_lines()))
    case.expect("GW-CHK-08", not paid_lines, "no Paid before payment", "; ".join(paid_lines), exchange=answer)
    _judge_qr_code(case, page_view, link_order, addresses)
    # Large amounts are tried only if the small one was read: otherwise they would repeat the same failure.
    if amount is not None:
        await run_concurrently(
            _judge_large_amount(case, microunits)
            for microunits in [case.rng.randrange(*one, 2) for one in _LARGE_RANGES]
        )


async def _judge_large_amount(case: Case, microunits: int) -> None:
    """Judge the displayed amount of a link over hundreds or thousands of USDC. A target may refuse such a link."""
    try:
        link_order = await create_order(case, microunits=microunits)
    except Inconclusive as reason:
        case.note(f"no link of {microunits} micro-units is made: {reason}")
        return
    page_view = await look(case, link_order, whole=True)
    amount, requirement = (
        page_view[0].shown_amount(link_order.microunits),
        f"exactly {link_order.microunits} micro-units",
    )
    _judge(case, "GW-CHK-04", page_view, amount is not None, requirement, _describe_amounts(page_view[0]))


def _describe_amounts(view: View) -> str:
    values = sorted({value for values in view.amounts() for value in values})
    return f"numbers that say {', '.join(map(str, values[:20]))} micro-units" if values else "no number"


def _judge_memo(case: Case, page_view: tuple[View, Answer], link_order: Order) -> None:
    view, _ = page_view
    memo = view.memo(link_order.token)
    if memo is None and "memo" not in view.selectors:
        case.mark_inconclusive(
            "GW-CHK-05", "unbound: no memo can be recognised on the page; bind [gateway.checkout_selectors] memo"
        )
        return
    _judge(case, "GW-CHK-05", page_view, memo is not None and len(memo) >= _SHORTEST_MEMO, "a memo", memo)


def _judge_qr_code(case: Case, page_view: tuple[View, Answer], link_order: Order, addresses: tuple[str, ...]) -> None:
    """Judge that a QR code contains the address that the page shows as text, also if that is the wrong address."""
    view, answer = page_view
    if not view.codes:
        case.mark_inconclusive("GW-CHK-18", "there is no QR code to decode, which GW-CHK-02 judges", exchange=answer)
        return
    address = link_order.payout if view.shows_address(link_order.payout) or not addresses else addresses[0]
    contains_address = any(one.holds(address) for one in view.codes)
    requirement, finding = "a QR code that contains the address on the page", [one.text for one in view.codes]
    case.expect("GW-CHK-18", contains_address, requirement, finding, exchange=answer)


@check(
    "GW-CHK-07",
    surface="gateway",
    lane="each",
    fix="Derive the memo from the link's own token or id, so that no two links share one; keep pages and codes "
    "that were made by the token alone.",
)
async def memos_of_several_links(case: Case) -> None:
    """Two links have different memos.

    Creates three links of one tenant and one amount. They also share one label, if the target creates several links
    with one. Reads their pages, the first before the others. Expects three different memos, and that no page's QR code
    has the memo or the address of another link's page.
    """
    orders = await _order_three_alike(case)
    # The first page is read before the others exist in any cache: a page that is cached for all links would show its
    # memo again.
    links = [await _open_page(case, orders[0]), *await run_concurrently(_open_page(case, one) for one in orders[1:])]
    memos = [one.memo for one in links]
    all_differ = len(set(memos)) == len(memos)
    if not all_differ and not all(map(_is_sure, links)):
        reason = f"unbound: whether {memos[0]!r} is the memo is a guess; bind [gateway.checkout_selectors] memo"
        case.mark_inconclusive("GW-CHK-07", reason, exchange=links[-1].page)
        return
    case.expect("GW-CHK-07", all_differ, "a different memo for each link", memos, exchange=links[-1].page)
    for link in (one for one in links if all_differ and one.before.codes):
        strangers = [other for other in links if other is not link and _code_is_of(link, other)]
        finding = "that of another one" if strangers else "its own"
        case.expect("GW-CHK-07", not strangers, "no code of another link", finding, exchange=link.page)


async def _order_three_alike(case: Case) -> Sequence[Order]:
    amount, mark = odd_amount(case), new_text(case, "order")
    with contextlib.suppress(Inconclusive):
        orders = await run_concurrently(create_order(case, microunits=amount, mark=mark) for _ in range(3))
        if len({one.token for one in orders}) == len(orders):
            return orders
    return await run_concurrently(create_order(case, microunits=amount) for _ in range(3))


async def _open_page(case: Case, link_order: Order) -> OpenedLink:
    """Read a link's page and its QR codes."""
    return read_opened_link(case, link_order, *await look(case, link_order))


def _code_is_of(link: OpenedLink, other_link: OpenedLink) -> bool:
    """Return whether a QR code on a link's page contains another link's memo, or leads to the other's page."""
    own_url, other_url = link.order.url, other_link.order.url
    codes = link.before.codes
    return any(one.memo == other_link.memo or (other_url in one.text and own_url not in one.text) for one in codes)


def _is_sure(link: OpenedLink) -> bool:
    """Return whether a page's memo is certain: its place is bound, or a QR code contains it as well."""
    return "memo" in link.before.selectors or any(one.memo == link.memo for one in link.before.codes)


@check(
    "GW-CHK-17",
    surface="gateway",
    fix="Answer 404 for a token that no link has, with no address and nothing to pay.",
)
async def unknown_checkout_token(case: Case) -> None:
    """An unknown checkout token gives a client error, not a payable page.

    Gets pages of tokens that no link has: one of usual length, a short one, and one of characters that tokens do not
    have. Expects a client error for each.
    """
    # As long as a real token, so that its length is no reason for the refusal.
    random_token = secrets.token_urlsafe(16)
    # Only the random token is named. The others are constants, and naming them would replace equal words elsewhere in
    # the report.
    case.client.names.name(random_token, "UNKNOWN_TOKEN")
    for token in (random_token, "unknown", "%F0%9F%92%B8"):
        case.client.names.name(f"{CHECKOUT}{token}", "UNKNOWN_PATH")
        url = f"{case.session.gateway}{CHECKOUT}{token}"
        case.client.names.name(url, "UNKNOWN_URL")
        answer = await case.client.call("GET", url, headers={"accept": "text/html"})
        case.expect("GW-CHK-17", is_refused(answer), "a client error", answer.status, exchange=answer)
