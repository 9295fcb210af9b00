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
from conformance.oracles.addresses import is_hexadecimal
from conformance.oracles.challenge_schema import atomic_amount
from conformance.surfaces.rail.keys import document
from conformance.surfaces.rail.unpaid_answers import entries

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
        differences = list(_list_differences(case, row, content, live)) if isinstance(content, Mapping) else []
        if not differences:
            case.mark_not_applicable(row, "the document lists no readable price, or no operation asks one")
        _judge(case, row, differences, answer)


def _list_differences(
    case: Case, row: str, content: Mapping[str, Any], live: Mapping[str, Entries]
) -> Iterator[tuple[str, list[str]]]:
    """Yield each operation whose terms a document lists, with the terms that differ from its 402."""
    rail = case.session.rail
    if row == _OPENAPI:
        yield from _compare_openapi(apply_server_paths(dict(content), rail).get("paths"), live)
        return
    if row == _CATALOG:
        path = path_of(
            rail, next((row_object for row_object in _list(content, "resources") if isinstance(row_object, str)), "")
        )
        if path in live and _objects(content, "accepts"):
            yield path, _compare_entries(_objects(content, "accepts"), live[path])
    for row_object in [*_objects(content, "items"), *_objects(content, "resources"), *_objects(content, "services")]:
        address = next(
            (row_object[name] for name in ("resource", "url", "path") if isinstance(row_object.get(name), str)), ""
        )
        path = path_of(rail, address)
        if path not in live:
            continue
        if _objects(row_object, "accepts"):
            yield path, _compare_entries(_objects(row_object, "accepts"), live[path])
        if row == _INDEX and "price_microusdc" in row_object:
            yield path, _compare_price("price_microusdc", row_object["price_microusdc"], live[path])


def _compare_openapi(path_objects: Any, live: Mapping[str, Entries]) -> Iterator[tuple[str, list[str]]]:
    """Yield each paid operation of an OpenAPI document's paths, with the differences of its price."""
    for path, path_object in path_objects.items() if isinstance(path_objects, Mapping) else ():
        for operation in path_object.values() if path in live and isinstance(path_object, Mapping) else ():
            info = operation.get("x-payment-info") if isinstance(operation, Mapping) and is_paid(operation) else None
            if isinstance(info, Mapping) and (isinstance(info.get("price"), Mapping) or _objects(info, "offers")):
                yield path, _compare_payment_info(info, live[path])


def _judge(case: Case, row: str, results: Sequence[tuple[str, list[str]]], answer: Answer) -> None:
    beyond = None if case.profile.is_reference else _IS_OPEN
    for path, differences in results:
        where, expectation = {"operation": path}, "the terms of its 402"
        finding = "; ".join(differences) or "the same"
        case.expect(row, not differences, expectation, finding, exchange=answer, where=where, beyond=beyond)


def _compare_entries(listed_entries: Entries, live: Entries) -> list[str]:
    """Return the differences between listed entries and those of a 402. A member that either lacks is not compared."""
    by_network = {str(entry.get("network")): entry for entry in live}
    # A listed network that the 402 lacks cannot be paid, and one that only the 402 has is never found by a client's
    # budget.
    different_networks = sorted({str(entry.get("network")) for entry in listed_entries} ^ by_network.keys())
    faults = [f"network {name}" for name in different_networks]
    for entry in listed_entries:
        live_entry = by_network.get(str(entry.get("network")), {})
        faults += [
            f"{name} {entry[name]!r}, asked {live_entry[name]!r}" for name in _TERMS if _differ(entry, live_entry, name)
        ]
        extra = entry.get("extra")
        if isinstance(extra, Mapping) and "payment_reference" in extra:
            # A token in a public document would be shared by all payers who read it.
            faults.append("a live token")
    return faults


def _differ(listed_entry: Mapping[str, Any], live_entry: Mapping[str, Any], name: str) -> bool:
    return (
        name in listed_entry and name in live_entry and _fold_case(listed_entry[name]) != _fold_case(live_entry[name])
    )


def _fold_case(value: Any) -> Any:
    """Return a value for a comparison: the letters of a hexadecimal address are digits, in either case."""
    return value.lower() if isinstance(value, str) and is_hexadecimal(value) else value


def _compare_price(name: str, price: Any, live: Entries) -> list[str]:
    """Return the fault of a price in atomic units that no entry of a 402 asks, or an empty list."""
    live_prices = {str(one.get("maxAmountRequired")) for one in live}
    return [] if str(price) in live_prices else [f"{name} {price!r}, asked {sorted(live_prices)}"]


def _compare_payment_info(info: Mapping[str, Any], live: Entries) -> list[str]:
    """Return the differences between an x-payment-info and a 402, in dollars or in atomic units."""
    faults = []
    price = info.get("price")
    if isinstance(price, Mapping) and price.get("currency") == "USD" and isinstance(price.get("amount"), str):
        try:
            # Decimal, because 0.01 dollars is not a binary fraction and would miss the price by a rounding error.
            atomic = f"{(Decimal(price['amount']) * _MICRO).normalize():f}"
        except InvalidOperation:
            atomic = "no number"
        faults += _compare_price("price", atomic, live)
    for offer in _objects(info, "offers"):
        if offer.get("method") == "x402" and "amount" in offer:
            faults += _compare_price("offer", offer["amount"], live)
    return faults


def _list(holder: Mapping[str, Any], name: str) -> list[Any]:
    value = holder.get(name)
    return value if isinstance(value, list) else []


def _objects(holder: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    return [one for one in _list(holder, name) if isinstance(one, Mapping)]
