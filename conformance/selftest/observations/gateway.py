"""Observers of the open points of the gateway."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from email.utils import parsedate_to_datetime

from conformance.selftest.observations.observed_exchanges import Exchange, Observer, Wire, join_names, observe_each
from conformance.surfaces.gateway.calls import CHECKOUT, LINKS, RECEIPT_VERIFY, RESOURCES, SCREEN
from conformance.vocabulary.networks import network_named

_HASHES = ("expected_payment_hash", "bound_to")
_STATEMENT = frozenset({"checkout_url", "token", "chain", "amount_microunits", "expires_at"})
_REQUEST_ROWS = frozenset({"amount", "currency", "label", "preferred_network", "redirect_url", "expires_in_seconds"})
_TOKENS = {
    "32 digits": re.compile(r"[0-9a-f]{32}"),
    "UUID": re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"),
    "22 of base64url": re.compile(r"[A-Za-z0-9_-]{22}"),
}
_TIMES = {
    "Z": re.compile(r"[-0-9]{10}T[:0-9]{8}Z"),
    "+00:00": re.compile(r"[-0-9]{10}T[:0-9]{8}\+00:00"),
    "milliseconds and Z": re.compile(r"[-0-9]{10}T[:0-9]{8}\.[0-9]{3}Z"),
    "microseconds and +00:00": re.compile(r"[-0-9]{10}T[:0-9]{8}\.[0-9]{6}\+00:00"),
}
_CODES = {
    "UPPER_SNAKE": re.compile(r'"(TAMPERED_SIGNATURE|INVALID_JWS_FORMAT)"'),
    "kebab-case": re.compile(r'"(tampered-signature|invalid-jws-format)"'),
    "numbered": re.compile(r'"RV-0[0-9]"'),
}
_INTERNAL = "/internal"
_RATE, _IN_A_MINUTE = 300, 361
_STEP, _TOLERANCE = 600, 5
_AMOUNT = re.compile(r">\s*((?:USDC )?[0-9]+[.,][0-9]+(?: USDC)?)\s*<")
_STATE = re.compile(r'(?:id="state"|id="standing"|class="stand")[^>]*>([^<]+)<')


def _is_creation(exchange: Exchange, path: str = LINKS) -> bool:
    return exchange.surface == "gateway" and exchange.method == "POST" and exchange.path == path


def _list_created_links(wire: Wire, path: str = LINKS) -> Iterator[Exchange]:
    return (exchange for exchange in wire.exchanges if _is_creation(exchange, path) and exchange.status < 300)


def _create_status(wire: Wire) -> Iterator[str]:
    return (str(exchange.status) for exchange in _list_created_links(wire))


def _credential_status(wire: Wire) -> Iterator[str]:
    values = {
        str(exchange.status) for exchange in wire.exchanges if _is_creation(exchange) and exchange.status in {401, 403}
    }
    if values:
        yield join_names(values)


def _error_codes(exchange: Exchange) -> str | None:
    code = exchange.object.get("error")
    # A 404 is the one error that every gateway gives for the same reason; the admin API has separate codes.
    if exchange.status != 404 or exchange.path.startswith(_INTERNAL) or not isinstance(code, str):
        return None
    forms = {"dotted": "." in code, "numbered": code[-1].isdecimal(), "UPPER_CASE": code.isupper()}
    return next((name for name, holds in forms.items() if holds), "snake_case")


def _context(exchange: Exchange) -> str | None:
    if exchange.status != 404 or not exchange.object or exchange.path.startswith(_INTERNAL):
        return None
    return join_names(exchange.object.keys() - {"error", "message"}) or "none"


def _receipt_member(exchange: Exchange) -> str | None:
    if exchange.path != RECEIPT_VERIFY or exchange.status != 200:
        return None
    return join_names(exchange.request_body.keys() - {"jwks", *_HASHES, "receipt_required"}) or None


def _receipt_hash(wire: Wire) -> Iterator[str]:
    bodies = [exchange.request_body for exchange in wire.of("gateway") if exchange.path == RECEIPT_VERIFY]
    if bodies:
        yield next((name for name in _HASHES if any(name in body for body in bodies)), "none")


def _receipt_codes(exchange: Exchange) -> str | None:
    is_refused = exchange.path == RECEIPT_VERIFY and exchange.status == 422
    return next((name for name, form in _CODES.items() if form.search(exchange.text)), None) if is_refused else None


def _report(exchange: Exchange) -> str | None:
    if exchange.path != RECEIPT_VERIFY or exchange.status != 200:
        return None
    return join_names({"verified", "outcome", "report"} & exchange.object.keys()) or None


def _jwks_path(exchange: Exchange) -> str | None:
    return exchange.path if exchange.status == 200 and isinstance(exchange.object.get("keys"), list) else None


def _openapi_path(exchange: Exchange) -> str | None:
    return exchange.path if exchange.status == 200 and "openapi" in exchange.object else None


def _open_calls(exchange: Exchange) -> str | None:
    if (
        exchange.path not in {RECEIPT_VERIFY, SCREEN}
        or exchange.method != "POST"
        or "authorization" in exchange.request_headers
    ):
        return None
    if exchange.status in {401, 403}:
        return "wanted"
    return "not wanted" if exchange.status in {200, 422} else None


def _list_screenings(wire: Wire) -> Iterator[Exchange]:
    return (
        exchange
        for exchange in wire.exchanges
        if exchange.path == SCREEN and exchange.method == "POST" and exchange.tokens
    )


def _screen_request(wire: Wire) -> Iterator[str]:
    # The members that all requests have: checks vary the others.
    if bodies := [frozenset(exchange.request_body) for exchange in _list_screenings(wire) if exchange.request_body]:
        yield join_names(frozenset.intersection(*bodies))


def _screen_answer(wire: Wire) -> Iterator[str]:
    for exchange in _list_screenings(wire):
        text = join_names(exchange.object)
        yield "flat" if "verdict_id" in text else text


def _screen_status(wire: Wire) -> Iterator[str]:
    if values := {str(exchange.status) for exchange in _list_screenings(wire)}:
        yield join_names(values)


def _resource(wire: Wire) -> Iterator[str]:
    return (
        join_names({"resource_id", "name", "slug"} & exchange.request_body.keys())
        for exchange in _list_created_links(wire, RESOURCES)
    )


def _link_members(wire: Wire) -> Iterator[str]:
    return (join_names(exchange.object.keys() - _STATEMENT) or "none" for exchange in _list_created_links(wire))


def _link_wants(wire: Wire) -> Iterator[str]:
    # A demanded member is in every successful request.
    bodies = [exchange.request_body.keys() - _REQUEST_ROWS for exchange in _list_created_links(wire)]
    if bodies:
        yield join_names(frozenset.intersection(*map(frozenset, bodies))) or "none"


def _currency(wire: Wire) -> Iterator[str]:
    return (
        str(exchange.request_body["currency"])
        for exchange in _list_created_links(wire)
        if isinstance(exchange.request_body.get("currency"), str)
    )


def _network_keys(wire: Wire) -> Iterator[str]:
    keys = {
        str(exchange.request_body["preferred_network"])
        for exchange in _list_created_links(wire)
        if "preferred_network" in exchange.request_body
    }
    if keys:
        yield "usual" if all(network_named(key) for key in keys) else "its own"


def _link_token(wire: Wire) -> Iterator[str]:
    for exchange in _list_created_links(wire):
        token = str(exchange.object.get("token"))
        name = next((name for name, form in _TOKENS.items() if form.fullmatch(token)), None)
        if name is not None:
            yield name


def _lifetime(wire: Wire) -> Iterator[str]:
    for exchange in _list_created_links(wire):
        if (
            "expires_in_seconds" in exchange.request_body
            or "idempotent-replayed" in exchange.headers
            or "date" not in exchange.headers
        ):
            continue
        expires = datetime.fromisoformat(str(exchange.object["expires_at"]))
        seconds = (expires - parsedate_to_datetime(exchange.headers["date"])).total_seconds()
        # The chameleon draws multiples of ten minutes; the Date header has whole seconds and may be a few seconds
        # older.
        if abs(seconds - _STEP * round(seconds / _STEP)) <= _TOLERANCE:
            yield f"{_STEP * round(seconds / _STEP)} s"


def _times(wire: Wire) -> Iterator[str]:
    for exchange in _list_created_links(wire):
        text = str(exchange.object.get("expires_at"))
        name = next((name for name, form in _TIMES.items() if form.fullmatch(text)), None)
        if name is not None:
            yield name


def _labels(wire: Wire) -> Iterator[str]:
    if values := {str(exchange.object.get("chain")) for exchange in _list_created_links(wire)}:
        yield join_names(values)


def _conflict(wire: Wire) -> Iterator[str]:
    for exchange in wire.list_judgements("GW-IDEM-06"):
        status = str(exchange["found"])[:3]
        yield "the original" if status.startswith("2") else status


def _replay_header(wire: Wire) -> Iterator[str]:
    if any(exchange["row"] == "GW-IDEM-03" for exchange in wire.judgements):
        yield "yes" if any("idempotent-replayed" in exchange.headers for exchange in wire.of("gateway")) else "no"


def _tenant_limit(wire: Wire) -> Iterator[str]:
    """Distinguish a token bucket from a window by the number of calls of a burst that pass."""
    for check in {exchange["check"] for exchange in wire.list_judgements("GW-RATE-01")}:
        statuses = [
            exchange.status
            for exchange in wire.exchanges
            if exchange.event["check"] == check and exchange.path == LINKS
        ]
        # The seed draws the kind of limit. A bucket of the profile's rate is empty soon after 60 calls of a burst,
        # and a window allows 300 calls of a minute.
        if 429 in statuses:
            yield "a window" if statuses[:_IN_A_MINUTE].count(429) <= _IN_A_MINUTE - _RATE else "a bucket"


def _is_page(exchange: Exchange) -> bool:
    return exchange.surface == "gateway" and exchange.path.startswith(CHECKOUT) and "<html" in exchange.text[:400]


def _page(exchange: Exchange) -> str | None:
    if not _is_page(exchange):
        return None
    marks = {
        "a table": "<table>" in exchange.text,
        "cards and a script": "<script" in exchange.text,
        "a list": "<dl>" in exchange.text,
    }
    return next((name for name, holds in marks.items() if holds), None)


def _qr(exchange: Exchange) -> str | None:
    if not _is_page(exchange):
        return None
    if "data:image/png" in exchange.text:
        return "a PNG in the page"
    if 'class="qrline"' in exchange.text:
        return "a drawing"
    return "an image of its own address" if '/qr"' in exchange.text or "_QR" in exchange.text else None


def _amount(exchange: Exchange) -> str | None:
    text = _AMOUNT.search(exchange.text) if _is_page(exchange) else None
    if text is None:
        return None
    return "decimal comma" if "," in text[1] else "USDC first" if text[1].startswith("USDC") else "decimal point"


def _state(exchange: Exchange) -> str | None:
    text = _STATE.search(exchange.text) if _is_page(exchange) else None
    word = "" if text is None else text[1].strip()
    return word if word and word not in {"Paid", "Expired", "Cancelled", "Looking for a last payment"} else None


def _page_media(exchange: Exchange) -> str | None:
    return exchange.headers.get("content-type") if _is_page(exchange) else None


def _unknown_token(exchange: Exchange) -> str | None:
    unknown = exchange.path.startswith(CHECKOUT) and exchange.path.count("/") == 2 and exchange.method == "GET"
    return str(exchange.status) if unknown and exchange.status in {404, 410} else None


OBSERVERS: Mapping[str, Observer] = {
    "gateway.create-status": _create_status,
    "gateway.credential-status": _credential_status,
    "gateway.error-codes": observe_each(_error_codes, "gateway"),
    "gateway.error-context": observe_each(_context, "gateway"),
    "gateway.receipt-hash": _receipt_hash,
    "gateway.receipt-member": observe_each(_receipt_member, "gateway"),
    "gateway.receipt-codes": observe_each(_receipt_codes, "gateway"),
    "gateway.report": observe_each(_report, "gateway"),
    "gateway.jwks-path": observe_each(_jwks_path, "gateway"),
    "gateway.openapi-path": observe_each(_openapi_path, "gateway"),
    "gateway.open-calls": observe_each(_open_calls, "gateway"),
    "gateway.screen-request": _screen_request,
    "gateway.screen-answer": _screen_answer,
    "gateway.screen-status": _screen_status,
    "gateway.resource": _resource,
    "gateway.link-members": _link_members,
    "gateway.link-wants": _link_wants,
    "gateway.currency": _currency,
    "gateway.network-keys": _network_keys,
    "gateway.link-token": _link_token,
    "gateway.link-lifetime": _lifetime,
    "gateway.times": _times,
    "gateway.network-labels": _labels,
    "gateway.idempotency-conflict": _conflict,
    "gateway.replay-header": _replay_header,
    "gateway.tenant-limit": _tenant_limit,
    "gateway.page": observe_each(_page, "gateway"),
    "gateway.qr": observe_each(_qr, "gateway"),
    "gateway.amount-text": observe_each(_amount, "gateway"),
    "gateway.state-words": observe_each(_state, "gateway"),
    "gateway.page-media": observe_each(_page_media, "gateway"),
    "gateway.unknown-token": observe_each(_unknown_token, "gateway"),
}
