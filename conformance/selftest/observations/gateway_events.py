"""Observers of the open points of the gateway's webhook events."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from conformance.selftest.observations.observed_exchanges import Delivery, Observer, Wire

_STATEMENT = {"tenant_label", "chain", "asset", "amount_microunits", "amount_pretty", "tx_id", "payer_address"}
_TYPES = {"payment.confirmed", "payment.cancelled"}
_V1 = re.compile(r"t=([0-9]+),v1=([0-9A-Fa-f]+)(.*)")
_EARLIER_SECONDS = 10
_PLACES = 6


def _observe_each(tell: Callable[[Delivery], str | None]) -> Observer:
    def observe(wire: Wire) -> Iterator[str]:
        for delivery in wire.deliveries:
            if delivery.data and (value := tell(delivery)) is not None:
                yield value

    return observe


def _declared_where_passed(key: str, row: str) -> Observer:
    """Return an observer of a profile value, which counts as shown if a row that depends on it passes."""

    def observe(wire: Wire) -> Iterator[str]:
        # No exchange shows this point itself. The row passes only if the target does what the profile declares.
        if key in wire.profile_values and any(delivery["verdict"] == "pass" for delivery in wire.list_judgements(row)):
            yield str(wire.profile_values[key])

    return observe


def _json(delivery: Delivery) -> str:
    if "\n" in delivery.text:
        return "indented"
    names = list(delivery.object)
    if names == sorted(names):
        return "sorted"
    return "compact" if "type" in names[: names.index("data")] else "the other way round"


def _members(delivery: Delivery) -> str:
    if "livemode" in delivery.object:
        return "more"
    return "some" if delivery.data.keys() - _STATEMENT else "none"


def _compare_creation_time(delivery: Delivery) -> str | None:
    signature_text, creation_time = _V1.match(delivery.signature[1]), delivery.object.get("created")
    if signature_text is None or not isinstance(creation_time, int):
        return None
    return "earlier" if int(signature_text[1]) - creation_time >= _EARLIER_SECONDS else "of the change"


def _created_first(wire: Wire) -> Iterator[str]:
    """Yield the creation times of first deliveries."""
    known_ids = set()
    for delivery in wire.deliveries:
        id_, value = delivery.object.get("id"), _compare_creation_time(delivery)
        # A later delivery of an event has a later signature time, so only the first one shows the drawn creation
        # time.
        if id_ not in known_ids and value is not None:
            known_ids.add(id_)
            yield value


def _amount(delivery: Delivery) -> str:
    text = str(delivery.data.get("amount_pretty"))
    if text.startswith("USDC"):
        return "USDC first"
    if not text.endswith("USDC"):
        return "digits alone"
    return "six places" if len(text.partition(".")[2].partition(" ")[0]) == _PLACES else "USDC last"


def _chain(delivery: Delivery) -> str | None:
    name = str(delivery.data.get("chain")).partition(":")[0]
    return {"algo": "other names", "base-l2": "other names", "sol": "other names"}.get(name, "keys with a colon")


def _asset(delivery: Delivery) -> str:
    asset = delivery.data.get("asset")
    return "with its chain" if isinstance(asset, dict) and "/" in str(asset.get("id")) else "alone"


def _evm_case(delivery: Delivery) -> str | None:
    payer = str(delivery.data.get("payer_address"))
    return None if not payer.startswith("0x") else "lower" if payer == payer.lower() else "mixed"


def _header(delivery: Delivery) -> str | None:
    name = delivery.signature[0]
    if not name:
        return None
    if "acmepay" in name.lower():
        return "another word"
    return "lower case" if name == name.lower() else "capitals" if name == name.upper() else "mixed case"


def _hex(wire: Wire) -> Iterator[str]:
    for delivery in wire.deliveries:
        values = _V1.match(delivery.signature[1])
        if values is not None and not values[2].isdecimal():
            yield "upper" if values[2] == values[2].upper() else "lower"


def _signature_members(delivery: Delivery) -> str | None:
    values = _V1.match(delivery.signature[1])
    if values is None:
        return None
    return ", ".join(part.partition("=")[0] for part in values[3].split(",") if part) or "none"


def _header_of(name: str) -> Callable[[Delivery], str | None]:
    return lambda delivery: delivery.headers.get(name)


def _framing(delivery: Delivery) -> str:
    return "in chunks" if "transfer-encoding" in delivery.headers else "with its length"


def _agent(delivery: Delivery) -> str | None:
    return "further" if "x-event-id" in delivery.headers else "none"


def _twice(wire: Wire) -> Iterator[str]:
    values_taken: dict[tuple[Any, Any], int] = {}
    for delivery in wire.deliveries:
        if delivery.was_taken:
            key = (delivery.event["destination"], delivery.object.get("id"))
            values_taken[key] = values_taken.get(key, 0) + 1
    if values_taken:  # one whose first delivery was made to fail counts once
        yield "yes" if sum(number > 1 for number in values_taken.values()) * 2 > len(values_taken) else "no"


def _types(wire: Wire) -> Iterator[str]:
    types = {str(delivery.object.get("type")) for delivery in wire.deliveries if delivery.object}
    if types:
        yield ", ".join(sorted(types - _TYPES)) or "none"


OBSERVERS: Mapping[str, Observer] = {
    "gateway.event-json": _observe_each(_json),
    "gateway.event-members": _observe_each(_members),
    "gateway.event-version": _observe_each(lambda one: str(one.object.get("api_version"))),
    "gateway.event-created": _created_first,
    "gateway.event-amount": _observe_each(_amount),
    "gateway.event-chain": _observe_each(_chain),
    "gateway.event-asset": _observe_each(_asset),
    "gateway.event-evm-case": _observe_each(_evm_case),
    "gateway.event-header": _observe_each(_header),
    "gateway.event-key": _declared_where_passed("webhook.key", "WH-SIG-04"),
    "gateway.event-signed": _declared_where_passed("webhook.signed_string", "WH-SIG-04"),
    "gateway.event-hex": _hex,
    "gateway.event-signature-members": _observe_each(_signature_members),
    "gateway.event-media": _observe_each(_header_of("content-type")),
    "gateway.event-headers": _observe_each(_agent),
    "gateway.event-framing": _observe_each(_framing),
    "gateway.event-twice": _twice,
    "gateway.event-types": _types,
    "gateway.event-schedule": _declared_where_passed("webhook.schedule", "WH-DELIV-05"),
}
