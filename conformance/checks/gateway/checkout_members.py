"""GW-CHK-23: each member of the checkout page and its QR code, if the target claims the specification."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Final
from urllib.parse import quote, urljoin, urlsplit

from conformance.engine.check import Case, check
from conformance.engine.tenant_credentials import Credentials
from conformance.http.client import Answer
from conformance.oracles.checkout_payloads import ShownLink, find_payload_fault
from conformance.outcome import Inconclusive
from conformance.pages import qr
from conformance.pages.page import Page
from conformance.surfaces.gateway.administration import administrator
from conformance.surfaces.gateway.calls import CHECKOUT
from conformance.surfaces.gateway.orders import Order, address_of, cancel_order, create_order, network_of
from conformance.text.times import utc_time
from conformance.vocabulary.lanes.registry import FACTS
from conformance.vocabulary.networks import network_named

# A label that a careless encoder or template changes: markup, an entity, spaces, a plus sign, a percent sign.
_LABEL: Final = "A+b 5% &amp; <i id='wp-label'>é</i>"
_LABEL_MARK: Final = "#wp-label"
_RETURN_URL: Final = "https://shop.example/thanks?order=7&from=checkout"
_PAYEE: Final = "Weldproof payee & sons"
# The header fields of the page (P-CK-04). Directives of the policy are compared in any order.
_POLICY: Final = {
    "default-src": "'none'",
    "img-src": "'self'",
    "style-src": "'self'",
    "script-src": "'self'",
    "connect-src": "'self'",
    "frame-ancestors": "'none'",
    "base-uri": "'none'",
    "form-action": "'none'",
}
_HEADERS: Final = {"Cache-Control": "no-store", "Referrer-Policy": "no-referrer"}
_WALLET_SCHEMES: Final = ("algorand:", "solana:", "ethereum:", "metamask:", "cbwallet:")


@check(
    "GW-CHK-23",
    surface="gateway",
    lane="each",
    fix="Render the page from the stored link: each element of P-CK-01, the payload of its chain (3.5) in the QR code "
    "and in every link that opens a wallet, percent-encoded, and the header fields of P-CK-04.",
)
async def the_page_has_its_members(case: Case) -> None:
    """The checkout page of a link has each element, payload and header field of the specification.

    Creates a link whose label has markup, spaces, a plus sign and letters beyond ASCII, with a redirect_url; for a new
    tenant, if the profile names an administrator. Reads its page and the picture of its QR code. Then cancels it, and
    reads the page again. Also reads the page of a link that is ordered in another currency.

    Expects:

    * address, memo, amount, expiry, state and payee as text, the amount and the times as attributes, too,
    * the payload of its chain in the picture, in its attribute, and in each link that opens a wallet,
    * what was ordered, the rate and the time of its creation, only for a link in another currency,
    * the label as text, and not as markup,
    * nothing from another host, and the three header fields,
    * afterwards the way back to the redirect_url, and neither address, memo nor QR code.
    """
    if case.profile.service_word is None:
        # The memo and the reference of Solana Pay begin with it.
        raise Inconclusive("the memo of a link is unknown: give [target] service_word")
    tenant, payee = await _create_payee(case)
    order = await create_order(
        case, label=_LABEL, members={"redirect_url": _RETURN_URL, "currency": "USDC"}, tenant=tenant
    )
    answer = await case.client.call("GET", order.url, headers={"accept": "text/html"})
    page = Page(answer.body.decode("utf-8", "replace"))
    shown_link = _describe(case, order)
    faults = [
        *_find_element_faults(page, order, shown_link, payee),
        *_find_payload_faults(page, shown_link),
        *_find_header_faults(answer),
        *_find_foreign_parts(page, order.url),
    ]
    _expect(case, faults, answer, "active")
    picture = await case.client.call("GET", address_of(order, "/qr"), headers={"accept": "image/*"})
    texts = qr.decode(picture.body) if picture.status == 200 else ()
    faults = [] if picture.headers.get("Content-Type", "") == "image/png" else ["Content-Type of the picture"]
    found = [find_payload_fault(text, shown_link) for text in texts] or ["no code"]
    faults += [f"the picture: {fault}" for fault in found if fault is not None]
    _expect(case, faults, picture, "active, its QR code")
    await _judge_end(case, order, is_new=payee is not None)
    await _judge_ordered(case)


async def _create_payee(case: Case) -> tuple[Credentials | None, str | None]:
    """Create a tenant of a known name; None if the profile names no administrator."""
    network = network_of(case)
    try:
        payout = {network: case.session.tenants.find_first_on(network).payout[network]}
        return await administrator(case).create_tenant(_PAYEE, payout), _PAYEE
    except Inconclusive as reason:
        case.note(f"the payee's name on the page was not judged: {reason}")
        return None, None


async def _judge_ordered(case: Case) -> None:
    """Judge the paragraph about an order in another currency than the asset."""
    rates = case.profile.gateway_bindings.rates or {}
    currency = next((name for name, rate in rates.items() if Decimal(str(rate)) != 1), None)
    if currency is None:
        case.note("what a link in another currency shows was not judged: [gateway] rates names none but 1")
        return
    amount = case.rng.randrange(1_001, 1_999, 2)
    order = await create_order(case, microunits=amount * 10_000, members={"currency": currency})
    answer = await case.client.call("GET", order.url, headers={"accept": "text/html"})
    page = Page(answer.body.decode("utf-8", "replace"))
    text = _read(page, "#ordered") or ""
    parts = (currency, f"{amount // 100}.{amount % 100:02}", str(rates[currency]))
    faults = [] if all(part in text for part in parts) else ["#ordered"]
    fixed_at = utc_time(_read(page, "#ordered time", "datetime"))
    is_fixed = fixed_at is not None and fixed_at == utc_time(order.answer.read_object().get("created_at"))
    faults += [] if is_fixed else ["the time in #ordered"]
    _expect(case, faults, answer, f"ordered in {currency}")


def _describe(case: Case, order: Order) -> ShownLink:
    network = network_named(case.profile.usual_network(order.network))
    namespace, _, number = ("", "", "") if network is None else network.caip2.partition(":")
    return ShownLink(
        family=FACTS[case.lane].family,
        url=address_of(order),
        token=order.token,
        label=order.label,
        microunits=order.microunits,
        address=order.payout,
        asset=order.asset,
        chain_id=number if namespace == "eip155" else None,
        service=(case.profile.service_word or "").lower(),
    )


def _expect(case: Case, faults: list[str], answer: Answer, state: str) -> None:
    finding = f"{answer.status}; wrong or absent: {', '.join(faults)}"
    holds = answer.status == 200 and not faults
    case.expect("GW-CHK-23", holds, "each member of the page", finding, exchange=answer, where={"link": state})


def _find_element_faults(page: Page, order: Order, link: ShownLink, payee: str | None) -> Iterator[str]:
    """Yield the names of elements that are absent or say something else (P-CK-01)."""
    amount = f"{Decimal(order.microunits).scaleb(-6):f}"
    expires_at = order.answer.read_object().get("expires_at")
    times = utc_time(_read(page, "#expires time", "datetime")), utc_time(expires_at)
    expectations = {
        "#addr": _fold(_read(page, "#addr")) == _fold(link.address),
        "#memo": _read(page, "#memo") == link.memo,
        "#amount": _read(page, "#amount") == f"{_cut_zeros(amount)} USDC",
        "data-microunits": _read(page, "#amount", "data-microunits") == str(order.microunits),
        "#expires": times[0] is not None and times[0] == times[1],
        "#state": _read(page, "#state", "data-state") == "active",
        "#ordered": page.find("#ordered") is None,
        "the src of #qr": _read(page, "#qr", "src") == f"{CHECKOUT}{order.token}/qr",
        "the label": page.find(_LABEL_MARK) is None and " ".join(order.label.split()) in page.text,
        "p.merchant": payee is None or _read(page, "p.merchant") == payee,
    }
    yield from (name for name, holds in expectations.items() if not holds)


def _cut_zeros(amount: str) -> str:
    """Return a decimal with 2 to 6 fraction digits (P-MN-04)."""
    whole, _, fraction = amount.partition(".")
    return f"{whole}.{fraction.rstrip('0').ljust(2, '0')}"


def _fold(address: str | None) -> str | None:
    return address.lower() if address is not None and address.lower().startswith("0x") else address


def _read(page: Page, selector: str, attribute: str | None = None) -> str | None:
    element = page.find(selector)
    if element is None:
        return None
    return element.text if attribute is None else element.attributes.get(attribute)


def _find_payload_faults(page: Page, link: ShownLink) -> Iterator[str]:
    """Yield the faults of the payload in the page, and of the links that open a wallet."""
    payload = _read(page, "#qr", "data-payload") or ""
    if (fault := find_payload_fault(payload, link)) is not None:
        yield f"data-payload: {fault}"
    wallet_links = {payload}
    if link.family == "base":
        wallet_links = {
            f"metamask://dapp/{payload.partition('://')[2]}",
            f"cbwallet://dapp?url={quote(payload, safe='')}",
        }
    for address in page.link_addresses:
        if address.startswith(_WALLET_SCHEMES) and address not in wallet_links:
            yield f"the wallet link {address}"


def _find_header_faults(answer: Answer) -> Iterator[str]:
    policy = answer.headers.get("Content-Security-Policy", "")
    directives = [directive.split(None, 1) for directive in policy.split(";") if directive.strip()]
    if {parts[0].lower(): parts[-1].strip() for parts in directives} != _POLICY:
        yield "Content-Security-Policy"
    yield from (name for name, value in _HEADERS.items() if answer.headers.get(name) != value)


def _find_foreign_parts(page: Page, url: str) -> Iterator[str]:
    """Yield what the page loads from another origin."""
    own = urlsplit(url)
    for address in page.loaded_addresses:
        part = urlsplit(urljoin(url, address))
        if part.scheme != "data" and (part.scheme, part.netloc) != (own.scheme, own.netloc):
            yield f"loads {address}"


async def _judge_end(case: Case, order: Order, *, is_new: bool) -> None:
    """Cancel the link, and judge its page (P-CK-03); the way back only of a new tenant, which has registered none."""
    await cancel_order(case, order)
    answer = await case.client.call("GET", order.url, headers={"accept": "text/html"})
    page = Page(answer.body.decode("utf-8", "replace"))
    shown = [name for name in ("#addr", "#memo", "#qr") if page.find(name) is not None]
    faults = [*shown, *_find_header_faults(answer), *_find_foreign_parts(page, order.url)]
    faults += [] if _read(page, "#state", "data-state") == "cancelled" else ["#state"]
    faults += [] if not is_new or _RETURN_URL in page.link_addresses else ["the way back"]
    faults += [] if page.find(_LABEL_MARK) is None else ["the label"]
    _expect(case, faults, answer, "cancelled")
