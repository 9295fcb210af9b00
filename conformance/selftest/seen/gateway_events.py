"""Which values of the points of the gateway's events a run showed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from conformance.selftest.seen.wire import Delivery, Observer, Wire

_STATED = {"tenant_label", "chain", "asset", "amount_microunits", "amount_pretty", "tx_id", "payer_address"}
_TYPES = {"payment.confirmed", "payment.cancelled"}
_V1 = re.compile(r"t=([0-9]+),v1=([0-9A-Fa-f]+)(.*)")
_EARLIER_SECONDS = 10
_PLACES = 6


def _each(tell: Callable[[Delivery], str | None]) -> Observer:
    def observe(wire: Wire) -> Iterator[str]:
        for one in wire.deliveries:
            if one.data and (value := tell(one)) is not None:
                yield value

    return observe


def _declared_where_passed(key: str, row: str) -> Observer:
    """Return an observer of something that nothing on the wire shows: what was told, where a row passes by it."""

    def observe(wire: Wire) -> Iterator[str]:
        if key in wire.told and any(one["verdict"] == "pass" for one in wire.judged(row)):
            yield str(wire.told[key])

    return observe


def _json(one: Delivery) -> str:
    if "\n" in one.text:
        return "indented"
    names = list(one.object)
    if names == sorted(names):
        return "sorted"
    return "compact" if "type" in names[: names.index("data")] else "the other way round"


def _members(one: Delivery) -> str:
    if "livemode" in one.object:
        return "more"
    return "some" if one.data.keys() - _STATED else "none"


def _created(one: Delivery) -> str | None:
    signed, created = _V1.match(one.signature[1]), one.object.get("created")
    if signed is None or not isinstance(created, int):
        return None
    return "earlier" if int(signed[1]) - created >= _EARLIER_SECONDS else "of the change"


def _created_first(wire: Wire) -> Iterator[str]:
    """Of first deliveries alone: later ones come later."""
    known = set()
    for one in wire.deliveries:
        id_, value = one.object.get("id"), _created(one)
        if id_ not in known and value is not None:
            known.add(id_)
            yield value


def _amount(one: Delivery) -> str:
    text = str(one.data.get("amount_pretty"))
    if text.startswith("USDC"):
        return "USDC first"
    if not text.endswith("USDC"):
        return "digits alone"
    return "six places" if len(text.partition(".")[2].partition(" ")[0]) == _PLACES else "USDC last"


def _chain(one: Delivery) -> str | None:
    name = str(one.data.get("chain")).partition(":")[0]
    return {"algo": "other names", "base-l2": "other names", "sol": "other names"}.get(name, "keys with a colon")


def _asset(one: Delivery) -> str:
    asset = one.data.get("asset")
    return "with its chain" if isinstance(asset, dict) and "/" in str(asset.get("id")) else "alone"


def _evm_case(one: Delivery) -> str | None:
    payer = str(one.data.get("payer_address"))
    return None if not payer.startswith("0x") else "lower" if payer == payer.lower() else "mixed"


def _header(one: Delivery) -> str | None:
    name = one.signature[0]
    if not name:
        return None
    if "acmepay" in name.lower():
        return "another word"
    return "lower case" if name == name.lower() else "capitals" if name == name.upper() else "mixed case"


def _hex(wire: Wire) -> Iterator[str]:
    for one in wire.deliveries:
        found = _V1.match(one.signature[1])
        if found is not None and not found[2].isdecimal():
            yield "upper" if found[2] == found[2].upper() else "lower"


def _signature_members(one: Delivery) -> str | None:
    found = _V1.match(one.signature[1])
    if found is None:
        return None
    return ", ".join(part.partition("=")[0] for part in found[3].split(",") if part) or "none"


def _header_of(name: str) -> Callable[[Delivery], str | None]:
    return lambda one: one.headers.get(name)


def _framing(one: Delivery) -> str:
    return "in chunks" if "transfer-encoding" in one.headers else "with its length"


def _agent(one: Delivery) -> str | None:
    return "further" if "x-event-id" in one.headers else "none"


def _twice(wire: Wire) -> Iterator[str]:
    taken: dict[tuple[Any, Any], int] = {}
    for one in wire.deliveries:
        if one.was_taken:
            key = (one.event["destination"], one.object.get("id"))
            taken[key] = taken.get(key, 0) + 1
    if taken:  # one whose first delivery was made to fail counts once
        yield "yes" if sum(number > 1 for number in taken.values()) * 2 > len(taken) else "no"


def _types(wire: Wire) -> Iterator[str]:
    types = {str(one.object.get("type")) for one in wire.deliveries if one.object}
    if types:
        yield ", ".join(sorted(types - _TYPES)) or "none"


OBSERVERS: Mapping[str, Observer] = {
    "gateway.event-json": _each(_json),
    "gateway.event-members": _each(_members),
    "gateway.event-version": _each(lambda one: str(one.object.get("api_version"))),
    "gateway.event-created": _created_first,
    "gateway.event-amount": _each(_amount),
    "gateway.event-chain": _each(_chain),
    "gateway.event-asset": _each(_asset),
    "gateway.event-evm-case": _each(_evm_case),
    "gateway.event-header": _each(_header),
    "gateway.event-key": _declared_where_passed("webhook.key", "WH-SIG-04"),
    "gateway.event-signed": _declared_where_passed("webhook.signed_string", "WH-SIG-04"),
    "gateway.event-hex": _hex,
    "gateway.event-signature-members": _each(_signature_members),
    "gateway.event-media": _each(_header_of("content-type")),
    "gateway.event-headers": _each(_agent),
    "gateway.event-framing": _each(_framing),
    "gateway.event-twice": _twice,
    "gateway.event-types": _types,
    "gateway.event-schedule": _declared_where_passed("webhook.schedule", "WH-DELIV-05"),
}
