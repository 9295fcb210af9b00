"""WH-BODY-15 and WH-DELIV-14: each member of an event, and its header fields, as the specification gives them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from conformance.engine.check import Case, check
from conformance.surfaces.webhooks.paid_links import MORE, MORE_UNITS, PaidLink, deliveries, overpaid_link, paid_links
from conformance.webhook_receiver.inbox import Received

_API_VERSION: Final = "1"
# Times of events are whole seconds.
_STEP_SECONDS: Final = 1
_ABSENT: Final = object()


@check(
    "WH-BODY-15",
    "WH-DELIV-14",
    surface="webhooks",
    lane="each",
    fix="Build the event once, from the link and the payment, when the link changes its state: created is that moment, "
    "and overpaid_microunits is present only if more was paid. Send Content-Type and User-Agent with each attempt.",
)
async def each_member_of_an_event_is_right(case: Case) -> None:
    """Each member of an event has the value that the specification gives it, and so have two header fields.

    Reads the events of two payments and of an overpaid link. Computes each member from the suite's request and payment:
    `created` lies between payment and first delivery, `api_version` is 1, the asset is that of the link, `resource_id`
    is null, and `payment_link_token` and `payment_link_label` are those of the link. Expects these
    values, and `overpaid_microunits` only for the overpaid link. Expects `Content-Type: application/json` and
    `User-Agent: <Service>/1`.
    """
    for sale in await paid_links(case):
        _judge_sale(case, sale, more=0)
    overpaid_sale = await overpaid_link(case)
    if overpaid_sale is not None:
        _judge_sale(case, overpaid_sale, more=MORE_UNITS)


def _judge_sale(case: Case, sale: PaidLink, *, more: int) -> None:
    events = deliveries(case, sale)
    where = MORE if more else {}
    for event in events:
        found_members: Mapping[str, Any] = {**event.event, **{f"data.{name}": one for name, one in event.data.items()}}
        asset = event.data.get("asset")
        found_members = {**found_members, "data.asset.id": asset.get("id") if isinstance(asset, dict) else _ABSENT}
        for name, value in _expected_members(sale, event, more=more).items():
            found = found_members.get(name, _ABSENT)
            # Types count: True equals 1 in Python.
            is_right = type(found) is type(value) and found == value
            case.expect(
                "WH-BODY-15", is_right, f"{name} {_describe(value)}", _describe(found), exchange=event, where=where
            )
        _judge_created(case, sale, event, events[0])
        _judge_headers(case, event)


def _describe(value: object) -> str:
    return "absent" if value is _ABSENT else repr(value)


def _expected_members(sale: PaidLink, event: Received, *, more: int) -> Mapping[str, Any]:
    """Return each member that no other row of WH-BODY judges, with its value."""
    order, label = sale.link.order, event.data.get("tenant_label")
    return {
        "api_version": _API_VERSION,
        "data.asset.id": order.asset,
        "data.resource_id": None,
        "data.payment_link_token": order.token,
        # WH-BODY-05 and GW-LINK-23 judge the label itself.
        "data.payment_link_label": sale.label if sale.label == event.data.get("payment_link_label") else label,
        "data.overpaid_microunits": str(more) if more else _ABSENT,
    }


def _judge_created(case: Case, sale: PaidLink, event: Received, first: Received) -> None:
    created = event.event.get("created")
    # Both limits are the target's times. No verdict depends on how long payment and delivery take.
    is_right = isinstance(created, int) and sale.paid_at - _STEP_SECONDS <= created <= first.now + _STEP_SECONDS
    expectation = f"created between {sale.paid_at:.0f}, the payment, and {first.now:.0f}, the first delivery"
    case.expect("WH-BODY-15", is_right, expectation, created, exchange=event)


def _judge_headers(case: Case, event: Received) -> None:
    values = event.arrival.values("Content-Type")
    # Media types have no case, and a receiver ignores parameters that a type does not define (RFC 9110, 8.3.1).
    types = [value.partition(";")[0].strip().lower() for value in values]
    expectation = "Content-Type: application/json"
    case.expect("WH-DELIV-14", types == ["application/json"], expectation, values, exchange=event)
    word = case.profile.service_word
    if word is None:
        case.mark_inconclusive("WH-DELIV-14", "the User-Agent is unknown: give [target] service_word", exchange=event)
        return
    values, value = event.arrival.values("User-Agent"), f"{word}/1"
    case.expect("WH-DELIV-14", values == (value,), f"User-Agent: {value}", values, exchange=event)
