"""Observers of the open points of the rail."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from conformance.discovery.openapi_paths import apply_server_paths
from conformance.discovery.rail import INDEX, PAID_PREFIX
from conformance.selftest.observations.observed_exchanges import (
    Exchange,
    Observer,
    Wire,
    join_names,
    observe_each,
    read_claims,
)
from conformance.surfaces.rail.purchase import lane_of

_OPENAPI, _CATALOG, _LISTING = "/openapi.json", "/.well-known/x402", "/discovery/resources"
_V2 = frozenset({"scheme", "network", "amount", "maxAmountRequired", "asset", "payTo", "maxTimeoutSeconds", "extra"})
# The forms of a token and of a hash among which the variants of the reference choose.
_TOKENS = {
    "time, nonce and mac": re.compile(r"[0-9]{10,11}:[0-9a-f]{16}:[0-9a-f]{64}"),
    "opaque": re.compile(r"ch_[A-Za-z0-9_-]+"),
    "compact JWS": re.compile(r"ey[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+){2}"),
}
_HASHES = {
    "sha256:hex": re.compile(r"sha256:[0-9a-f]{64}"),
    "hex": re.compile(r"[0-9a-f]{64}"),
    "base64url": re.compile(r"[A-Za-z0-9_-]{43}"),
    "sri": re.compile(r"sha256-[A-Za-z0-9+/]{43}="),
    "sha512": re.compile(r"[0-9a-f]{128}"),
}
_RECIPE = re.compile(r"recipe (\S+) in claim")


def _paid_items(wire: Wire) -> Iterator[dict[str, Any]]:
    """Yield the paid path items of the contract."""
    for exchange in wire.documents("rail", _OPENAPI):
        paths = apply_server_paths(exchange.object, "").get("paths", {})
        yield {path: item for path, item in paths.items() if path.startswith(PAID_PREFIX) and path != INDEX}


def _paths(wire: Wire) -> Iterator[str]:
    return (join_names(items) for items in _paid_items(wire))


def _entries(tell: Callable[[dict[str, Any]], str | None]) -> Observer:
    """Return an observer of every entry of every challenge."""

    def observe(wire: Wire) -> Iterator[str]:
        for exchange in wire.challenges:
            for entry in exchange.entries:
                if (value := tell(entry)) is not None:
                    yield value

    return observe


def _challenges(tell: Callable[[Exchange], str | None]) -> Observer:
    """Return an observer of every challenge."""
    return lambda wire: (value for exchange in wire.challenges if (value := tell(exchange)) is not None)


def _list_served(tell: Callable[[Exchange], str | None]) -> Observer:
    """Return an observer of every paid answer."""
    return lambda wire: (value for exchange in wire.served_exchanges if (value := tell(exchange)) is not None)


def _prices(wire: Wire) -> Iterator[str]:
    if values := {str(entry.get("maxAmountRequired")) for exchange in wire.challenges for entry in exchange.entries}:
        yield join_names(values)


def _body_limit(exchange: Exchange) -> str | None:
    # The agent has a separate limit.
    is_refused = exchange.status == 413 and exchange.surface != "agent"
    text = re.search(r"over ([0-9]+) bytes", exchange.text) if is_refused else None
    return text[1] if text else None


def _order(exchange: Exchange) -> str:
    return ", ".join(str(lane_of(entry)) for entry in exchange.entries if lane_of(entry) is not None)


def _further(exchange: Exchange) -> str:
    return join_names(str(entry.get("network")) for entry in exchange.entries if lane_of(entry) is None) or "none"


def _extra(entry: dict[str, Any]) -> str | None:
    own = join_names(entry.get("extra", {}).keys() - {"payment_reference"})
    return own or "none" if lane_of(entry) == "algorand" else None


def _reference(entry: dict[str, Any]) -> str | None:
    # The name of the reference account is open; `payment_reference` is the challenge token on every lane.
    members = [name for name in entry.get("extra", {}) if "reference" in name.lower() and name != "payment_reference"]
    return join_names(members) if lane_of(entry) == "solana" else None


def _evm_case(entry: dict[str, Any]) -> str | None:
    if lane_of(entry) != "base":
        return None
    # EVM addresses are the same in any case of letters; the mixed case is a checksum (EIP-55).
    return "lower case" if str(entry.get("asset")).islower() else "checksummed"


def _error(exchange: Exchange) -> str:
    # An absent member and `null` are different forms, so the default is a third value.
    error = exchange.object.get("error", ...)
    if not isinstance(error, str):
        return "absent" if error is ... else "null"
    return "sentence" if " " in error else "UPPER CASE" if error.isupper() else "snake_case"


def _members(exchange: Exchange) -> str:
    resource = exchange.object.get("resource")
    members = join_names(exchange.object.keys() - {"error"})
    return f"{members}; resource: {join_names(resource) if isinstance(resource, dict) else '-'}"


def _token(entry: dict[str, Any]) -> str | None:
    text = str(entry.get("extra", {}).get("payment_reference"))
    return next((name for name, form in _TOKENS.items() if form.fullmatch(text)), None)


def _wrong_method(exchange: Exchange) -> str | None:
    is_shown = exchange.is_paid_operation and exchange.method == "GET" and exchange.status in {402, 405}
    return str(exchange.status) if is_shown else None


def _list_spent(wire: Wire) -> Iterator[str]:
    for exchange in wire.list_judgements("RAIL-WELD-16"):
        if exchange["where"].get("payment") == "a payment that bought something":
            yield str(exchange["found"])[:3]


def _chain_down(wire: Wire) -> Iterator[str]:
    # Only the check of this row stops the chain: a 503 of any other check has another reason.
    checks = {exchange["check"] for exchange in wire.list_judgements("RAIL-WELD-13")}
    if checks:
        statuses = {exchange.status for exchange in wire.exchanges if exchange.event["check"] in checks}
        yield "503" if 503 in statuses else "402"


def _replay(wire: Wire) -> Iterator[str]:
    if any(exchange["row"] == "RAIL-WELD-11" for exchange in wire.judgements):
        yield (
            "stored answer"
            if any("idempotent-replayed" in exchange.headers for exchange in wire.served_exchanges)
            else "refused"
        )


def _overpayment(wire: Wire) -> Iterator[str]:
    if any(name.startswith("other_forms_of_a_solana_payment") for name in wire.finished):
        # The check notes each shape that the target refused; without a note, the overpayment was served.
        is_refused = any(text.startswith("more than the price:") for text in wire.notes)
        yield "refused" if is_refused else "served"


def _errors(exchange: Exchange) -> str | None:
    if exchange.status not in {405, 409, 413, 415, 503} or not exchange.object:
        return None
    # `allowed` and `limit` belong to single statuses, not to the form of all errors.
    is_object = isinstance(exchange.object.get("error"), dict)
    return join_names(exchange.object.keys() - {"allowed", "limit"}) + (" (an object)" if is_object else "")


def _receipt_place(wire: Wire) -> Iterator[str]:
    return (place.lower() if place.startswith("header:") else place for place, _ in wire.receipts)


def _result_place(exchange: Exchange) -> str:
    data = exchange.object.get("data")
    if "result" in exchange.object:
        return "result"
    return "data.outcome" if isinstance(data, dict) and "outcome" in data else "the whole body"


def _answer_members(exchange: Exchange) -> str:
    # The members that every paid answer has in some form, and that other observers describe.
    own = {"result", "data", "payable_receipt", "proof", "receipts"}
    return (
        "the result's"
        if _result_place(exchange) == "the whole body"
        else join_names(exchange.object.keys() - own) or "none"
    )


def _recipe(row: str) -> Observer:
    def observe(wire: Wire) -> Iterator[str]:
        for exchange in wire.list_judgements(row, "recipe "):
            if text := _RECIPE.match(str(exchange["expected"])):
                yield text[1]

    return observe


def _hash_form(wire: Wire) -> Iterator[str]:
    for _, claims in wire.receipts:
        binding = claims.get("response_hash") or claims.get("res") or _find_nested(claims)
        name = next((name for name, form in _HASHES.items() if form.fullmatch(str(binding))), None)
        if name is not None:
            yield name


def _find_nested(claims: dict[str, Any]) -> Any:
    value: Any = claims
    # One of the drawn forms nests the response hash in three objects.
    for name in ("binds", "response", "digest"):
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _verdict_claim(wire: Wire) -> Iterator[str]:
    for exchange in wire.served_exchanges:
        for _, token in exchange.tokens:
            claims = read_claims(token)
            if "payer_ref" in claims:
                yield join_names(claims.keys() & {"screen_result", "verdict", "decision"})


def _payment_response(exchange: Exchange) -> str:
    return join_names(name.upper() for name in exchange.headers if name.endswith("payment-response")) or "none"


def _shape(path: str, members: tuple[str, ...]) -> Observer:
    """Return an observer of the form in which a document lists the operations."""

    def observe(wire: Wire) -> Iterator[str]:
        for exchange in wire.documents("rail", path):
            name = next((name for name in members if name in exchange.object), None)
            listing = exchange.object.get(name) if name is not None else None
            if not isinstance(listing, list):
                form = "an object" if isinstance(listing, dict) else "no list"
                yield f"{name or join_names(exchange.object)}: {form}"
            elif listing:
                yield f"{name}: {join_names(listing[0]) if isinstance(listing[0], dict) else 'addresses'}"

    return observe


def _examples(wire: Wire) -> Iterator[str]:
    for items in _paid_items(wire):
        for item in items.values():
            media = item.get("post", {}).get("requestBody", {}).get("content", {}).get("application/json", {})
            yield join_names({"example", "examples"} & media.keys()) or "none"


def _price_info(wire: Wire) -> Iterator[str]:
    for items in _paid_items(wire):
        for item in items.values():
            info = item.get("post", {}).get("x-payment-info")
            yield join_names(info) if isinstance(info, dict) else str(type(info).__name__)


def _servers(wire: Wire) -> Iterator[str]:
    for exchange in wire.documents("rail", _OPENAPI):
        items = [item for item in exchange.object.get("paths", {}).values() if isinstance(item, dict)]
        operations = [operation for item in items for operation in item.values() if isinstance(operation, dict)]
        text = {"items": any("servers" in item for item in items)}
        text["operations"] = any("servers" in operation for operation in operations)
        yield join_names(name for name, holds in text.items() if holds) or "the document"


def _cache(exchange: Exchange) -> str | None:
    return exchange.headers.get("cache-control", "none") if exchange.status == 402 else None


OBSERVERS: Mapping[str, Observer] = {
    "rail.paths": _paths,
    "rail.scheme": _entries(lambda entry: str(entry.get("scheme"))),
    "rail.lifetime": _entries(lambda entry: str(entry.get("maxTimeoutSeconds"))),
    "rail.prices": _prices,
    "rail.body-limit": observe_each(_body_limit),
    "rail.amount": _entries(lambda entry: "beside" if "amount" in entry else "absent"),
    "rail.accepts-order": _challenges(_order),
    "rail.further-lanes": _challenges(_further),
    "rail.entry-members": _entries(lambda entry: join_names(entry.keys() - _V2) or "none"),
    "rail.extra-members": _entries(_extra),
    "rail.solana-reference": _entries(_reference),
    "rail.evm-case": _entries(_evm_case),
    "rail.challenge-header": _challenges(lambda one: "present" if "payment-required" in one.headers else "absent"),
    "rail.challenge-error": _challenges(_error),
    "rail.challenge-members": _challenges(_members),
    "rail.token-form": _entries(_token),
    "rail.wrong-method": observe_each(_wrong_method, "rail"),
    "rail.cache": observe_each(_cache, "rail"),
    "rail.spent-status": _list_spent,
    "rail.chain-down-status": _chain_down,
    "rail.replay": _replay,
    "rail.overpayment": _overpayment,
    "rail.errors": observe_each(_errors, "rail"),
    "rail.receipt-place": _receipt_place,
    "rail.result-place": _list_served(_result_place),
    "rail.answer-members": _list_served(_answer_members),
    "rail.request-hash": _recipe("RAIL-RCPT-04"),
    "rail.response-hash": _recipe("RAIL-RCPT-05"),
    "rail.settled-ref": _recipe("RAIL-RCPT-06"),
    "rail.hash-form": _hash_form,
    "rail.claims": lambda wire: (join_names(claims) for _, claims in wire.receipts),
    "rail.verdict-claim": _verdict_claim,
    "rail.payment-response": _list_served(_payment_response),
    "rail.catalog": _shape(_CATALOG, ("resources", "operations")),
    "rail.listing": _shape(_LISTING, ("items", "resources", "data")),
    "rail.index": _shape(INDEX, ("services",)),
    "rail.openapi": _examples,
    "rail.price-info": _price_info,
    "rail.servers": _servers,
}
