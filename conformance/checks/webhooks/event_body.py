"""WH-BODY: members of the event of a confirmed payment, with their types and values."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Iterator, Mapping

from conformance.engine.check import Case, check
from conformance.engine.concurrent_check_steps import run_concurrently
from conformance.engine.quick_policy import sample
from conformance.lanes.checkout_request import WrongPayment
from conformance.oracles.webhook_signature import is_stale
from conformance.outcome import Inconclusive, OpenPoint
from conformance.pages import figures
from conformance.surfaces.gateway.orders import memo_carrier, open_link, payer
from conformance.surfaces.webhooks.paid_links import (
    MORE,
    PaidLink,
    deliveries,
    overpaid_link,
    paid_links,
    pay_link,
    wait_for_events,
)
from conformance.surfaces.webhooks.signature_verification import header_of
from conformance.webhook_receiver.inbox import CONFIRMED_TYPE, Received

_DECIMALS = 6
_DAY = 86_400
# Half an hour is the smallest difference between time zones, so a local time that was written as UTC is found. A
# payment may wait this long until its event is sent.
_CLOCK_SECONDS = 1_500
_DIGITS = re.compile(r"[0-9]+")
_WHICH_SENDER = OpenPoint("the interface leaves open which account of a transaction is its sender", "P-WH-01")


async def list_confirming_deliveries(case: Case) -> Iterator[tuple[PaidLink, Received]]:
    """Return each payment.confirmed delivery of the lane's sales, with its sale."""
    return iter([(sale, one) for sale in await paid_links(case) for one in deliveries(case, sale)])


def format_member(member: object) -> str:
    """Return a member as JSON text, cut for the report."""
    return json.dumps(member, ensure_ascii=False)[:200]


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

    Reads the events of two payments. Expects `id` to be evt_ and a UUID, `type` to be payment.confirmed,
    `creation_time` to be an integer of seconds within a day of the target's time, and `api_version` to be a non-empty
    text. If the signature's time shows that the target's clock is right, `creation_time` may differ by at most 25
    minutes from the target's time, the suite's time or that of the chain's newest block.
    """
    for sale in await paid_links(case):
        for delivery in sale.deliveries(case.session.inbox):
            event_type = delivery.event.get("type")
            # A target may send further types. A delivery without a type, or a sale without this type, breaks the row.
            if delivery.fault is None and (
                not isinstance(event_type, str) or not sale.confirmations(case.session.inbox)
            ):
                case.expect(
                    "WH-BODY-02",
                    event_type == CONFIRMED_TYPE,
                    CONFIRMED_TYPE,
                    format_member(event_type),
                    exchange=delivery,
                )
    for sale, delivery in await list_confirming_deliveries(case):
        event = delivery.event
        case.expect(
            "WH-BODY-01", _is_event_id(delivery.id), "evt_ and a UUID", format_member(delivery.id), exchange=delivery
        )
        case.expect("WH-BODY-02", True, CONFIRMED_TYPE, CONFIRMED_TYPE, exchange=delivery)
        creation_time, version = event.get("created"), event.get("api_version")
        first_delivery = next(other for other in sale.deliveries(case.session.inbox) if other.id == delivery.id)
        is_right = (
            isinstance(creation_time, int)
            and not isinstance(creation_time, bool)
            and await _is_time(case, first_delivery, creation_time)
        )
        case.expect(
            "WH-BODY-03",
            is_right,
            "an integer of Unix seconds",
            _describe_time(creation_time, first_delivery),
            exchange=delivery,
        )
        case.expect(
            "WH-BODY-04",
            isinstance(version, str) and bool(version),
            "a text",
            format_member(version),
            exchange=delivery,
        )


async def _is_time(case: Case, delivery: Received, seconds: int) -> bool:
    """Return whether a time can be that of a payment which was just reported."""
    header = header_of(case, delivery)
    t = None if header is None or not header.is_usable else header.t
    if t is None or is_stale(t, delivery.now, case.profile.webhook_bindings.tolerance):
        return abs(seconds - delivery.now) < _DAY
    # A fresh signature time proves that the target's clock is right, so `seconds` must be near a known clock. Without
    # that proof only a wrong unit (milliseconds) or a wrong day is found.
    patience = _CLOCK_SECONDS + case.profile.budgets.paid
    if any(abs(seconds - clock) < patience for clock in (delivery.now, delivery.arrival.at)):
        return True
    # A simulated or restored chain may run behind the clocks, and `seconds` may be its block's time. The node is
    # queried last, because a query costs time and rarely decides.
    block = await (await case.session.payers.for_gateway(case.lane)).block_time()
    return abs(seconds - block) < patience


def _describe_time(seconds: object, delivery: Received) -> str:
    if isinstance(seconds, int) and not isinstance(seconds, bool) and abs(seconds - delivery.now) < _DAY:
        return f"{seconds}, {seconds - delivery.now:+.0f} s"
    return format_member(seconds)


def _is_event_id(value: object) -> bool:
    # The interface says "evt_ and a UUID". A UUID may be written with or without hyphens, and in either case.
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
    for sale, delivery in await list_confirming_deliveries(case):
        data = delivery.data
        label, chain = data.get("tenant_label"), data.get("chain")
        case.expect(
            "WH-BODY-05",
            label == sale.label,
            format_member(sale.label),
            format_member(label),
            exchange=delivery,
            beyond=sale.find_open_point(label),
        )
        has_colon = isinstance(chain, str) and all(chain.partition(":"))
        case.expect(
            "WH-BODY-06", has_colon, "two parts and a colon between them", format_member(chain), exchange=delivery
        )
        asset_member = data.get("asset")
        asset = asset_member if isinstance(asset_member, dict) else {}
        id_, name, decimals = (asset.get(member) for member in ("id", "label", "decimals"))
        case.expect(
            "WH-BODY-07",
            isinstance(id_, str) and bool(id_),
            "a text",
            format_member(asset.get("id", asset_member)),
            exchange=delivery,
        )
        case.expect("WH-BODY-08", name == "USDC", '"USDC"', format_member(name), exchange=delivery)
        is_six = isinstance(decimals, int) and not isinstance(decimals, bool) and decimals == _DECIMALS
        case.expect("WH-BODY-09", is_six, "the integer 6", format_member(decimals), exchange=delivery)
        _judge_amount(case, sale, delivery, {})
    # The event states the link's amount, not what was paid (P-WH-01). More than a thousand also shows a thousands
    # separator.
    overpaid_sale = await overpaid_link(case)
    if overpaid_sale is not None:
        for delivery in deliveries(case, overpaid_sale):
            _judge_amount(case, overpaid_sale, delivery, MORE)


def _judge_amount(case: Case, sale: PaidLink, delivery: Received, where: Mapping[str, str]) -> None:
    amount, pretty = delivery.data.get("amount_microunits"), delivery.data.get("amount_pretty")
    is_decimal = isinstance(amount, str) and _DIGITS.fullmatch(amount) is not None and amount.isascii()
    case.expect(
        "WH-BODY-10", is_decimal, "a text of decimal digits", format_member(amount), exchange=delivery, where=where
    )
    is_right = isinstance(pretty, str) and _is_readable_amount(pretty, sale.link.order.microunits)
    expectation = f"a text that denotes {sale.link.order.microunits} millionths"
    case.expect("WH-BODY-11", is_right, expectation, format_member(pretty), exchange=delivery, where=where)
    if is_right and is_decimal and isinstance(amount, str):
        # The two members are read separately by receivers, so an event must not state two amounts.
        is_same, finding = (
            amount.lstrip("0") == str(sale.link.order.microunits),
            f"{format_member(pretty)} next to {format_member(amount)}",
        )
        case.expect("WH-BODY-11", is_same, "one amount in both members", finding, exchange=delivery, where=where)


def _is_readable_amount(text: str, microunits: int) -> bool:
    """Return whether a text contains the amount in whole units; bare millionths are not for people (P-MN-04)."""
    word = figures.find_amount(text, microunits)
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
    for sale, delivery in await list_confirming_deliveries(case):
        tx_id, payer = delivery.data.get("tx_id"), delivery.data.get("payer_address")
        case.expect(
            "WH-BODY-12", _is_same_identifier(tx_id, sale.tx_id), sale.tx_id, format_member(tx_id), exchange=delivery
        )
        is_right = any(_is_same_identifier(payer, sender) for sender in sale.senders)
        case.expect("WH-BODY-13", is_right, " or ".join(sorted(sale.senders)), format_member(payer), exchange=delivery)


@check(
    "WH-DELIV-02",
    "WH-BODY-12",
    "WH-BODY-13",
    surface="webhooks",
    lane="each",
    fix="Take payer_address from the transfer that paid: its sender on Algorand, owner of the debited token account "
    "on Solana, the from of the Transfer event on EVM networks. Take neither the signer nor the submitter.",
    quick=sample("habits"),
)
async def an_event_says_whose_money_paid(case: Case) -> None:
    """`data.payer_address` is the owner of the funds, also if another account signs or submits the transaction.

    Pays a link for each habit of payers in which another account takes part: on Solana a delegate and another fee
    payer, on Algorand a rekeyed account and a group with another fee payer, on Base a relayer and a contract. Reads the
    events of the links that turn to Paid. Expects that the transaction is the one that paid, and that the payer is the
    account that lost the amount. The interface does not say which account is the sender, so another one only warns.
    """
    habits = case.sample(
        one for one in await (await payer(case)).list_other_shapes(memo_carrier(case)) if one.has_other_signer
    )

    async def sell(habit: WrongPayment) -> PaidLink | None:
        try:
            return await wait_for_events(case, await pay_link(case, await open_link(case), pay=habit.pay))
        except Inconclusive as reason:
            case.note(f"{habit.name}: {reason}")
            return None

    for habit, sale in zip(habits, await run_concurrently(map(sell, habits)), strict=True):
        # A target may refuse such a payment, which GW-CHK-09 judges. Then its page does not say Paid.
        if sale is None or not (sale.confirmations(case.session.inbox) or sale.is_shown):
            continue
        events, where = sale.confirmations(case.session.inbox), {"payment": habit.name}
        finding = f"{len(events)} events, and its page says Paid"
        case.expect("WH-DELIV-02", bool(events), "payment.confirmed", finding, exchange=sale.link.page, where=where)
        for event in events:
            tx_id, address = event.data.get("tx_id"), event.data.get("payer_address")
            case.expect(
                "WH-BODY-12",
                _is_same_identifier(tx_id, sale.tx_id),
                sale.tx_id,
                format_member(tx_id),
                exchange=event,
                where=where,
            )
            is_owner = any(_is_same_identifier(address, owner) for owner in sale.owners)
            expectation = " or ".join(sorted(sale.owners))
            finding = format_member(address)
            case.expect("WH-BODY-13", is_owner, expectation, finding, exchange=event, where=where, beyond=_WHICH_SENDER)
    for row in set(case.check.rows) - case.judged_rows:
        case.mark_not_applicable(row, "no link that was paid with another account's help turned to Paid")


def _is_same_identifier(value: object, identifier: str) -> bool:
    if not isinstance(value, str):
        return False
    # Hexadecimal identifiers mean the same in either case. Base32 and base58 identifiers of the other chains do not.
    return value.lower() == identifier.lower() if identifier.lower().startswith("0x") else value == identifier
