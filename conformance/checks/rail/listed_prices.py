"""RAIL-DISC-04, -05, -07 and -09: the documents list the prices that the live 402 asks.

Each listed term is compared with the live 402 of the same operation: price, asset, payee, scheme and network. If they
differ, a client that budgets by a catalog pays another price. The interface leaves the members of a catalog open, so a
difference only warns, and fails the reference.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from conformance.discovery.openapi_paths import apply_server_paths
from conformance.discovery.rail import CATALOG, INDEX, OPENAPI, RESOURCES, is_paid, path_of
from conformance.engine.check import Case, check
from conformance.http.client import Answer
from conformance.oracles.x402 import atomic_amount
from conformance.surfaces.rail.challenges import entries
from conformance.surfaces.rail.keys import document

_CATALOG: Final = "RAIL-DISC-04"
_LISTING: Final = "RAIL-DISC-05"
_INDEX: Final = "RAIL-DISC-07"
_OPENAPI: Final = "RAIL-DISC-09"
# Terms of an entry that do not depend on the call.
_TERMS: Final = ("scheme", "asset", "payTo", "maxAmountRequired", "amount", "maxTimeoutSeconds")
_MICRO: Final = 10**6
_IS_OPEN: Final = "the interface leaves open what a document says about prices"

Entries = Sequence[Mapping[str, Any]]


@check(
    _CATALOG,
    _LISTING,
    _INDEX,
    _OPENAPI,
    surface="rail",
    fix="Generate the price, the accepts and the x-payment-info of each listed operation from the terms of its 402.",
)
async def listed_prices_are_those_of_the_402(case: Case) -> None:
    """Each document lists an operation with the terms of the operation's 402.

    Calls each operation unpaid to get its price. Fetches both catalogs, the index and the OpenAPI document. Expects for
    each operation the networks, amounts, assets and payees of its 402 in its item, and the same price in the index and
    in x-payment-info. A document that omits prices is not judged.
    """
    live = {}
    for operation in case.session.catalog.operations:
        answer = await case.client.call("POST", operation.url, json_body=operation.body)
        # Amounts that are not positive atomic units have their own row, and nothing can be compared with them.
        amounts = [atomic_amount(one.get("maxAmountRequired")) for one in entries(answer)]
        if answer.status == 402 and amounts and all(amounts):
            live[operation.path] = entries(answer)
    for row, path in ((_CATALOG, CATALOG), (_LISTING, RESOURCES), (_INDEX, INDEX), (_OPENAPI, OPENAPI)):
        answer, content = await document(case, path)
        found = list(_differences(case, row, content, live)) if isinstance(content, Mapping) else []
        if not found:
            case.mark_not_applicable(row, "the document lists no readable price, or no operation asks one")
        _judge(case, row, found, answer)


def _differences(
    case: Case, row: str, content: Mapping[str, Any], live: Mapping[str, Entries]
) -> Iterator[tuple[str, list[str]]]:
    """Yield each operation whose terms a document lists, with the terms that differ from its 402."""
    rail = case.session.rail
    if row == _OPENAPI:
        yield from _in_openapi(apply_server_paths(dict(content), rail).get("paths"), live)
        return
    if row == _CATALOG:
        path = path_of(rail, next((one for one in _list(content, "resources") if isinstance(one, str)), ""))
        if path in live and _objects(content, "accepts"):
            yield path, _of_entries(_objects(content, "accepts"), live[path])
    for one in [*_objects(content, "items"), *_objects(content, "resources"), *_objects(content, "services")]:
        address = next((one[name] for name in ("resource", "url", "path") if isinstance(one.get(name), str)), "")
        path = path_of(rail, address)
        if path not in live:
            continue
        if _objects(one, "accepts"):
            yield path, _of_entries(_objects(one, "accepts"), live[path])
        if row == _INDEX and "price_microusdc" in one:
            yield path, _of_price("price_microusdc", one["price_microusdc"], live[path])


def _in_openapi(items: Any, live: Mapping[str, Entries]) -> Iterator[tuple[str, list[str]]]:
    """Yield each paid operation of an OpenAPI document's paths, with the differences of its price."""
    for path, item in items.items() if isinstance(items, Mapping) else ():
        for one in item.values() if path in live and isinstance(item, Mapping) else ():
            info = one.get("x-payment-info") if isinstance(one, Mapping) and is_paid(one) else None
            if isinstance(info, Mapping) and (isinstance(info.get("price"), Mapping) or _objects(info, "offers")):
                yield path, _of_payment_info(info, live[path])


def _judge(case: Case, row: str, found: Sequence[tuple[str, list[str]]], answer: Answer) -> None:
    beyond = None if case.profile.is_reference else _IS_OPEN
    for path, differences in found:
        where, expected = {"operation": path}, "the terms of its 402"
        found_terms = "; ".join(differences) or "the same"
        case.expect(row, not differences, expected, found_terms, exchange=answer, where=where, beyond=beyond)


def _of_entries(listed: Entries, live: Entries) -> list[str]:
    """Return the differences between listed entries and those of a 402. A member that either lacks is not compared."""
    by_network = {str(one.get("network")): one for one in live}
    differ = sorted({str(one.get("network")) for one in listed} ^ by_network.keys())
    faults = [f"network {name}" for name in differ]
    for one in listed:
        asked = by_network.get(str(one.get("network")), {})
        faults += [f"{name} {one[name]!r}, asked {asked[name]!r}" for name in _TERMS if _differ(one, asked, name)]
        extra = one.get("extra")
        if isinstance(extra, Mapping) and "payment_reference" in extra:
            # A token in a public document would be shared by all payers who read it.
            faults.append("a live token")
    return faults


def _differ(listed: Mapping[str, Any], asked: Mapping[str, Any], name: str) -> bool:
    return name in listed and name in asked and listed[name] != asked[name]


def _of_price(name: str, price: Any, live: Entries) -> list[str]:
    """Return the fault of a price in atomic units that no entry of a 402 asks, or an empty list."""
    asked = {str(one.get("maxAmountRequired")) for one in live}
    return [] if str(price) in asked else [f"{name} {price!r}, asked {sorted(asked)}"]


def _of_payment_info(info: Mapping[str, Any], live: Entries) -> list[str]:
    """Return the differences between an x-payment-info and a 402, in dollars or in atomic units."""
    faults = []
    price = info.get("price")
    if isinstance(price, Mapping) and price.get("currency") == "USD" and isinstance(price.get("amount"), str):
        try:
            atomic = f"{(Decimal(price['amount']) * _MICRO).normalize():f}"
        except InvalidOperation:
            atomic = "no number"
        faults += _of_price("price", atomic, live)
    for offer in _objects(info, "offers"):
        if offer.get("method") == "x402" and "amount" in offer:
            faults += _of_price("offer", offer["amount"], live)
    return faults


def _list(holder: Mapping[str, Any], name: str) -> list[Any]:
    found = holder.get(name)
    return found if isinstance(found, list) else []


def _objects(holder: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    return [one for one in _list(holder, name) if isinstance(one, Mapping)]
