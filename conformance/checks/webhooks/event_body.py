"""WH-BODY: members of the event of a confirmed payment, with their types and values."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Iterator, Mapping

from conformance.engine.check import Case, check
from conformance.oracles.webhook_signature import stale
from conformance.pages import figures
from conformance.surfaces.webhooks.sales import MORE, Sale, deliveries, overpaid, sales
from conformance.surfaces.webhooks.signatures import header_of
from conformance.webhook_receiver.inbox import CONFIRMED, Received

_DECIMALS = 6
_DAY = 86_400
# Half an hour is the smallest difference between time zones, so a local time that was written as UTC is found. A
# payment may wait this long until its event is sent.
_CLOCK_SECONDS = 1_500
_DIGITS = re.compile(r"[0-9]+")


async def confirming_deliveries(case: Case) -> Iterator[tuple[Sale, Received]]:
    """Return each payment.confirmed delivery of the lane's sales, with its sale."""
    return iter([(sale, one) for sale in await sales(case) for one in deliveries(case, sale)])


def shown(value: object) -> str:
    """Return a member as JSON text, cut for the report."""
    return json.dumps(value, ensure_ascii=False)[:200]


@check(
    "WH-BODY-01",
    "WH-BODY-02",
    "WH-BODY-03",
    "WH-BODY-04",
    surface="webhooks",
    lane="each",
    fix="Give each event id (evt_ and a UUID), type, created (integer seconds since 1970) and api_version (a text).",
)
async def an_event_says_what_it_is(case: Case) -> None:
    """An event has an id of evt_ and a UUID, its type, a time in whole seconds and an api_version.

    Reads the events of two payments. Expects `id` to be evt_ and a UUID, `type` to be payment.confirmed, `created` to
    be an integer of seconds within a day of the target's time, and `api_version` to be a non-empty text. If the
    signature's time shows that the target's clock is right, `created` may differ by at most 25 minutes from the
    target's time, the suite's time or that of the chain's newest block.
    """
    for sale in await sales(case):
        for one in sale.deliveries(case.session.inbox):
            type_ = one.event.get("type")
            # A target may send further types. A delivery without a type, or a sale without this type, breaks the row.
            if one.fault is None and (not isinstance(type_, str) or not sale.confirmed(case.session.inbox)):
                case.expect("WH-BODY-02", type_ == CONFIRMED, CONFIRMED, shown(type_), exchange=one)
    for sale, one in await confirming_deliveries(case):
        event = one.event
        case.expect("WH-BODY-01", _is_event_id(one.id), "evt_ and a UUID", shown(one.id), exchange=one)
        case.expect("WH-BODY-02", True, CONFIRMED, CONFIRMED, exchange=one)
        created, version = event.get("created"), event.get("api_version")
        first = next(other for other in sale.deliveries(case.session.inbox) if other.id == one.id)
        right = isinstance(created, int) and not isinstance(created, bool) and await _is_time(case, first, created)
        case.expect("WH-BODY-03", right, "an integer of Unix seconds", _away(created, first), exchange=one)
        case.expect("WH-BODY-04", isinstance(version, str) and bool(version), "a text", shown(version), exchange=one)


async def _is_time(case: Case, one: Received, created: int) -> bool:
    """Return whether a time can be that of a payment which was just reported."""
    header = header_of(case, one)
    t = None if header is None or not header.usable else header.t
    if t is None or stale(t, one.now, case.profile.webhook_bindings.tolerance):
        return abs(created - one.now) < _DAY
    # A fresh signature time proves that the target's clock is right, so `created` must be near a known clock. Without
    # that proof only a wrong unit (milliseconds) or a wrong day is found.
    patience = _CLOCK_SECONDS + case.profile.budgets.paid
    if any(abs(created - clock) < patience for clock in (one.now, one.arrival.at)):
        return True
    # A simulated or restored chain may run behind the clocks, and `created` may be its block's time. The node is
    # queried last, because a query costs time and rarely decides.
    block = await (await case.session.payers.for_gateway(case.lane)).block_time()
    return abs(created - block) < patience


def _away(created: object, one: Received) -> str:
    if isinstance(created, int) and not isinstance(created, bool) and abs(created - one.now) < _DAY:
        return f"{created}, {created - one.now:+.0f} s"
    return shown(created)


def _is_event_id(value: object) -> bool:
    if not isinstance(value, str) or not value.startswith("evt_"):
        return False
    text = value.removeprefix("evt_")
    try:
        return text.lower() in {str(uuid.UUID(text)), uuid.UUID(text).hex}
    except ValueError:
        return False


@check(
    "WH-BODY-05",
    "WH-BODY-06",
    "WH-BODY-07",
    "WH-BODY-08",
    "WH-BODY-09",
    "WH-BODY-10",
    "WH-BODY-11",
    surface="webhooks",
    lane="each",
    fix="Write data.tenant_label as in the link, data.chain with a colon, and data.asset with id and label as texts "
    "and decimals as an integer. Write the amount as a text of millionths, next to its readable form.",
)
async def an_event_says_what_was_paid(case: Case) -> None:
    """The data of an event name the link by its label, the chain, the asset and the amount, each in its own type.

    Reads the events of two payments. Expects `tenant_label` to be the label of the link, `chain` to have a colon
    between two parts, and `asset` to have a text `id`, the label USDC and six decimals. Expects `amount_microunits` to
    be a text of decimal digits, and `amount_pretty` to be a text with the link's amount. Both must state the same
    amount. Expects the amounts also of a third link, which is paid a little more than it asks, if an event reports it.
    If the chain mints on request, that link asks for more than a thousand USDC.
    """
    for sale, one in await confirming_deliveries(case):
        data = one.data
        label, chain = data.get("tenant_label"), data.get("chain")
        case.expect("WH-BODY-05", sale.is_label(label), shown(sale.label), shown(label), exchange=one)
        colon = isinstance(chain, str) and all(chain.partition(":"))
        case.expect("WH-BODY-06", colon, "two parts and a colon between them", shown(chain), exchange=one)
        given = data.get("asset")
        asset = given if isinstance(given, dict) else {}
        id_, name, decimals = (asset.get(member) for member in ("id", "label", "decimals"))
        case.expect(
            "WH-BODY-07", isinstance(id_, str) and bool(id_), "a text", shown(asset.get("id", given)), exchange=one
        )
        case.expect("WH-BODY-08", name == "USDC", '"USDC"', shown(name), exchange=one)
        six = isinstance(decimals, int) and not isinstance(decimals, bool) and decimals == _DECIMALS
        case.expect("WH-BODY-09", six, "the integer 6", shown(decimals), exchange=one)
        _amount(case, sale, one, {})
    # The event states the link's amount, not what was paid (P-WH-01). More than a thousand also shows a thousands
    # separator.
    beyond = await overpaid(case)
    if beyond is not None:
        for one in deliveries(case, beyond):
            _amount(case, beyond, one, MORE)


def _amount(case: Case, sale: Sale, one: Received, where: Mapping[str, str]) -> None:
    amount, pretty = one.data.get("amount_microunits"), one.data.get("amount_pretty")
    digits = isinstance(amount, str) and _DIGITS.fullmatch(amount) is not None and amount.isascii()
    case.expect("WH-BODY-10", digits, "a text of decimal digits", shown(amount), exchange=one, where=where)
    right = isinstance(pretty, str) and _denotes(pretty, sale.link.order.microunits)
    expected = f"a text that denotes {sale.link.order.microunits} millionths"
    case.expect("WH-BODY-11", right, expected, shown(pretty), exchange=one, where=where)
    if right and digits and isinstance(amount, str):
        # The two members are read separately by receivers, so an event must not state two amounts.
        same, found = amount.lstrip("0") == str(sale.link.order.microunits), f"{shown(pretty)} next to {shown(amount)}"
        case.expect("WH-BODY-11", same, "one amount in both members", found, exchange=one, where=where)


def _denotes(text: str, microunits: int) -> bool:
    """Return whether a text contains the amount in whole units; bare millionths are not for people (P-MN-04)."""
    word = figures.shows(text, microunits)
    return word is not None and word != str(microunits)


@check(
    "WH-BODY-12",
    "WH-BODY-13",
    surface="webhooks",
    lane="each",
    fix="Take tx_id and payer_address from the transaction that paid, as the chain writes them.",
)
async def an_event_says_who_paid(case: Case) -> None:
    """`data.tx_id` is the paying transaction and `data.payer_address` its sender.

    Reads the events of two payments that the suite made, and their transactions on the chain. Expects the transaction's
    identifier as the chain writes it (hexadecimal in either case). Expects the address from which the amount came, or
    that submitted the transaction.
    """
    for sale, one in await confirming_deliveries(case):
        tx_id, payer = one.data.get("tx_id"), one.data.get("payer_address")
        case.expect("WH-BODY-12", _same(tx_id, sale.tx_id), sale.tx_id, shown(tx_id), exchange=one)
        right = any(_same(payer, sender) for sender in sale.senders)
        case.expect("WH-BODY-13", right, " or ".join(sorted(sale.senders)), shown(payer), exchange=one)


def _same(given: object, wanted: str) -> bool:
    if not isinstance(given, str):
        return False
    # Hexadecimal identifiers mean the same in either case. Base32 and base58 identifiers of the other chains do not.
    return given.lower() == wanted.lower() if wanted.lower().startswith("0x") else given == wanted
