"""A checkout link: its page is read, compared with its QR code and its status, and paid once (10.6)."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from html.parser import HTMLParser
from urllib.parse import parse_qs

from reference.variants.payer.http_call import Answer, NoAnswer, send_request
from reference.variants.payer.lanes import is_address, send_payment
from reference.variants.payer.link_payment import sign_link_payment
from reference.variants.payer.proof_store import AnswerMissing, ProofStore, Record
from reference.variants.payer.settings import Refused, Settings

_POLL_SECONDS = 0.5
_USDC_DECIMALS = 6
_CODE = {"algorand": "algorand:", "base": "ethereum:", "solana": "solana:"}


class _Elements(HTMLParser):
    """The elements of a page by id, with their attributes and text."""

    def __init__(self) -> None:
        super().__init__()
        self.attributes: dict[str, dict[str, str]] = {}
        self.texts: dict[str, str] = {}
        self._current = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Begin an element."""
        del tag
        members = {name: value or "" for name, value in attrs}
        self._current = members.get("id", "")
        if self._current:
            self.attributes[self._current] = members

    def handle_endtag(self, tag: str) -> None:
        """End an element."""
        del tag
        self._current = ""

    def handle_data(self, data: str) -> None:
        """Keep the text of an element."""
        if self._current:
            self.texts[self._current] = self.texts.get(self._current, "") + data


@dataclass(frozen=True, slots=True)
class Link:
    """What a page shows, what its QR code says, and what its status answers.

    Attributes:
        settings: The permission to pay.
        state: State on the page.
        status: State in the status; empty without a status.
        address: The payee.
        amount: Atomic units, as text.
        memo: The memo.
        code: Members of the QR code: `address`, `amount`, `asset`, and where the lane has them `memo` and `chain`.
    """

    settings: Settings
    state: str
    status: str
    address: str
    amount: str
    memo: str
    code: Mapping[str, str] = field(default_factory=dict)


def is_active(link: Link) -> bool:
    """Its page shows that it is active."""
    return link.state == "active"


def has_active_status(link: Link) -> bool:
    """Its status, if it is there, is active, too."""
    return link.status in {"", "active"}


def shows_all(link: Link) -> bool:
    """It shows an address of the chain, an amount and a memo."""
    has_amount = link.amount.isascii() and link.amount.isdecimal()
    return is_address(link.settings.lane, link.address) and has_amount and bool(link.memo)


def codes_address(link: Link) -> bool:
    """Its QR code pays the address of the page."""
    return link.code.get("address") == link.address


def codes_amount(link: Link) -> bool:
    """Its QR code asks for the amount of the page."""
    return link.code.get("amount") == link.amount


def codes_memo(link: Link) -> bool:
    """Its QR code, where the lane has a place for it, has the memo of the page."""
    return link.code.get("memo", link.memo) == link.memo


def codes_asset(link: Link) -> bool:
    """Its QR code names the permitted asset, and where the lane has a place for it the network."""
    asset, chain = link.settings.asset, link.settings.network.partition(":")[2]
    return link.code.get("asset", "").lower() == asset.lower() and link.code.get("chain", chain) == chain


def is_within_limit(link: Link) -> bool:
    """Its amount is not above the limit."""
    return int(link.amount) <= link.settings.limit


Rule = Callable[[Link], bool]
# In this order: a rule may rely on those before it.
RULES: tuple[Rule, ...] = (
    is_active,
    has_active_status,
    shows_all,
    codes_address,
    codes_amount,
    codes_memo,
    codes_asset,
    is_within_limit,
)


def pay_link(settings: Settings, store: ProofStore) -> Answer:
    """Pay the link of a page, which an earlier run may have begun to pay, and wait until the page shows Paid.

    Raises:
        Refused: Nothing may be paid.
        AnswerMissing: The time is over, and the page of the paid link does not show it.
    """
    ends = time.monotonic() + settings.seconds
    record = store.read()
    if record is None:
        record = _begin_link(settings)
        store.write(record)
    send_payment(settings, record.payment)
    while read_link(settings).state != "paid":
        if time.monotonic() + _POLL_SECONDS > ends:
            raise AnswerMissing("the page does not show Paid")
        time.sleep(_POLL_SECONDS)
    return Answer(200, {}, json.dumps({"status": "paid", "tx_id": record.payment.proof["tx_id"]}).encode())


def _begin_link(settings: Settings) -> Record:
    link = read_link(settings)
    for rule in RULES:
        if not rule(link):
            raise Refused(f"the link breaks a rule: {rule.__doc__}")
    bill = {
        "payTo": link.address,
        "maxAmountRequired": link.amount,
        "asset": settings.asset,
        "memo": link.memo,
        "extra": {"decimals": _USDC_DECIMALS},
    }
    return Record(bill, sign_link_payment(settings, bill))


def read_link(settings: Settings) -> Link:
    """Return what the page, its code and its status say; empty texts if the page does not answer."""
    page = _fetch(settings.url)
    elements = _Elements()
    elements.feed(page.body.decode("utf-8", "replace") if page.status == 200 else "")
    payload = elements.attributes.get("qr", {}).get("data-payload", "")
    return Link(
        settings,
        elements.attributes.get("state", {}).get("data-state", ""),
        str(_fetch(settings.url + "/status").members.get("status", "")),
        elements.texts.get("addr", "").strip(),
        elements.attributes.get("amount", {}).get("data-microunits", ""),
        elements.texts.get("memo", "").strip(),
        _read_code(settings.lane, payload),
    )


def _fetch(url: str) -> Answer:
    try:
        return send_request("GET", url)
    except NoAnswer:
        return Answer(0, {}, b"")


def _read_code(lane: str, payload: str) -> dict[str, str]:
    """Return the members of the text of a QR code; empty for a text that is not of the lane."""
    # On Base the address of the page comes first.
    scheme, text = _CODE[lane], payload.partition("#")[2] if lane == "base" else payload
    if not text.startswith(scheme):
        return {}
    head, _, tail = text.removeprefix(scheme).lstrip("/").partition("?")
    query = {name: values[0] for name, values in parse_qs(tail).items()}
    if lane == "base":
        asset, _, chain = head.removesuffix("/transfer").partition("@")
        named = {"address": query.get("address"), "amount": query.get("uint256"), "asset": asset, "chain": chain}
    elif lane == "solana":
        amount = _to_units(query.get("amount", ""))
        named = {"address": head, "amount": amount, "asset": query.get("spl-token"), "memo": query.get("memo")}
    else:
        named = {"address": head, "amount": query.get("amount"), "asset": query.get("asset")}
        named["memo"] = query.get("xnote")
    return {name: value for name, value in named.items() if value is not None}


def _to_units(amount: str) -> str | None:
    try:
        units = Decimal(amount).scaleb(_USDC_DECIMALS)
    except InvalidOperation:
        return None
    return str(int(units)) if units == int(units) else None
