"""What runs show of the gateway's open points."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from email.utils import parsedate_to_datetime

from conformance.selftest.seen.wire import Exchange, Observer, Wire, each, names
from conformance.surfaces.gateway.calls import CHECKOUT, LINKS, RECEIPT_VERIFY, RESOURCES, SCREEN
from conformance.vocabulary.networks import network_named

_HASHES = ("expected_payment_hash", "bound_to")
_STATED = frozenset({"checkout_url", "token", "chain", "amount_microunits", "expires_at"})
_ASKED = frozenset({"amount", "currency", "label", "preferred_network", "redirect_url", "expires_in_seconds"})
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


def _is_creation(one: Exchange, path: str = LINKS) -> bool:
    return one.surface == "gateway" and one.method == "POST" and one.path == path


def _created(wire: Wire, path: str = LINKS) -> Iterator[Exchange]:
    return (one for one in wire.exchanges if _is_creation(one, path) and one.status < 300)


def _create_status(wire: Wire) -> Iterator[str]:
    return (str(one.status) for one in _created(wire))


def _credential_status(wire: Wire) -> Iterator[str]:
    found = {str(one.status) for one in wire.exchanges if _is_creation(one) and one.status in {401, 403}}
    if found:
        yield names(found)


def _error_codes(one: Exchange) -> str | None:
    code = one.object.get("error")
    if one.status != 404 or one.path.startswith(_INTERNAL) or not isinstance(code, str):
        return None
    forms = {"dotted": "." in code, "numbered": code[-1].isdecimal(), "UPPER_CASE": code.isupper()}
    return next((name for name, holds in forms.items() if holds), "snake_case")


def _context(one: Exchange) -> str | None:
    if one.status != 404 or not one.object or one.path.startswith(_INTERNAL):
        return None
    return names(one.object.keys() - {"error", "message"}) or "none"


def _receipt_member(one: Exchange) -> str | None:
    if one.path != RECEIPT_VERIFY or one.status != 200:
        return None
    return names(one.sent.keys() - {"jwks", *_HASHES, "receipt_required"}) or None


def _receipt_hash(wire: Wire) -> Iterator[str]:
    sent = [one.sent for one in wire.of("gateway") if one.path == RECEIPT_VERIFY]
    if sent:
        yield next((name for name in _HASHES if any(name in one for one in sent)), "none")


def _receipt_codes(one: Exchange) -> str | None:
    told = one.path == RECEIPT_VERIFY and one.status == 422
    return next((name for name, form in _CODES.items() if form.search(one.text)), None) if told else None


def _report(one: Exchange) -> str | None:
    if one.path != RECEIPT_VERIFY or one.status != 200:
        return None
    return names({"verified", "outcome", "report"} & one.object.keys()) or None


def _jwks_path(one: Exchange) -> str | None:
    return one.path if one.status == 200 and isinstance(one.object.get("keys"), list) else None


def _openapi_path(one: Exchange) -> str | None:
    return one.path if one.status == 200 and "openapi" in one.object else None


def _open_calls(one: Exchange) -> str | None:
    if one.path not in {RECEIPT_VERIFY, SCREEN} or one.method != "POST" or "authorization" in one.asked:
        return None
    if one.status in {401, 403}:
        return "wanted"
    return "not wanted" if one.status in {200, 422} else None


def _screened(wire: Wire) -> Iterator[Exchange]:
    return (one for one in wire.exchanges if one.path == SCREEN and one.method == "POST" and one.tokens)


def _screen_request(wire: Wire) -> Iterator[str]:
    if sent := [frozenset(one.sent) for one in _screened(wire) if one.sent]:
        yield names(frozenset.intersection(*sent))


def _screen_answer(wire: Wire) -> Iterator[str]:
    for one in _screened(wire):
        told = names(one.object)
        yield "flat" if "verdict_id" in told else told


def _screen_status(wire: Wire) -> Iterator[str]:
    if found := {str(one.status) for one in _screened(wire)}:
        yield names(found)


def _resource(wire: Wire) -> Iterator[str]:
    return (names({"resource_id", "name", "slug"} & one.sent.keys()) for one in _created(wire, RESOURCES))


def _link_members(wire: Wire) -> Iterator[str]:
    return (names(one.object.keys() - _STATED) or "none" for one in _created(wire))


def _link_wants(wire: Wire) -> Iterator[str]:
    sent = [one.sent.keys() - _ASKED for one in _created(wire)]
    if sent:
        yield names(frozenset.intersection(*map(frozenset, sent))) or "none"


def _currency(wire: Wire) -> Iterator[str]:
    return (str(one.sent["currency"]) for one in _created(wire) if isinstance(one.sent.get("currency"), str))


def _network_keys(wire: Wire) -> Iterator[str]:
    asked = {str(one.sent["preferred_network"]) for one in _created(wire) if "preferred_network" in one.sent}
    if asked:
        yield "usual" if all(network_named(key) for key in asked) else "its own"


def _link_token(wire: Wire) -> Iterator[str]:
    for one in _created(wire):
        token = str(one.object.get("token"))
        name = next((name for name, form in _TOKENS.items() if form.fullmatch(token)), None)
        if name is not None:
            yield name


def _lifetime(wire: Wire) -> Iterator[str]:
    for one in _created(wire):
        if "expires_in_seconds" in one.sent or "idempotent-replayed" in one.headers or "date" not in one.headers:
            continue
        expires = datetime.fromisoformat(str(one.object["expires_at"]))
        seconds = (expires - parsedate_to_datetime(one.headers["date"])).total_seconds()
        if abs(seconds - _STEP * round(seconds / _STEP)) <= _TOLERANCE:
            yield f"{_STEP * round(seconds / _STEP)} s"


def _times(wire: Wire) -> Iterator[str]:
    for one in _created(wire):
        text = str(one.object.get("expires_at"))
        name = next((name for name, form in _TIMES.items() if form.fullmatch(text)), None)
        if name is not None:
            yield name


def _labels(wire: Wire) -> Iterator[str]:
    if found := {str(one.object.get("chain")) for one in _created(wire)}:
        yield names(found)


def _conflict(wire: Wire) -> Iterator[str]:
    for one in wire.judged("GW-IDEM-06"):
        status = str(one["found"])[:3]
        yield "the original" if status.startswith("2") else status


def _replay_header(wire: Wire) -> Iterator[str]:
    if any(one["row"] == "GW-IDEM-03" for one in wire.judgements):
        yield "yes" if any("idempotent-replayed" in one.headers for one in wire.of("gateway")) else "no"


def _tenant_limit(wire: Wire) -> Iterator[str]:
    """Tell a bucket, which is empty soon after 60, from a window, which takes 300, by what a burst got through."""
    for check in {one["check"] for one in wire.judged("GW-RATE-01")}:
        statuses = [one.status for one in wire.exchanges if one.event["check"] == check and one.path == LINKS]
        if 429 in statuses:
            yield "a window" if statuses[:_IN_A_MINUTE].count(429) <= _IN_A_MINUTE - _RATE else "a bucket"


def _is_page(one: Exchange) -> bool:
    return one.surface == "gateway" and one.path.startswith(CHECKOUT) and "<html" in one.text[:400]


def _page(one: Exchange) -> str | None:
    if not _is_page(one):
        return None
    marks = {
        "a table": "<table>" in one.text,
        "cards and a script": "<script" in one.text,
        "a list": "<dl>" in one.text,
    }
    return next((name for name, holds in marks.items() if holds), None)


def _qr(one: Exchange) -> str | None:
    if not _is_page(one):
        return None
    if "data:image/png" in one.text:
        return "a PNG in the page"
    if 'class="qrline"' in one.text:
        return "a drawing"
    return "an image of its own address" if '/qr"' in one.text or "_QR" in one.text else None


def _amount(one: Exchange) -> str | None:
    told = _AMOUNT.search(one.text) if _is_page(one) else None
    if told is None:
        return None
    return "decimal comma" if "," in told[1] else "USDC first" if told[1].startswith("USDC") else "decimal point"


def _state(one: Exchange) -> str | None:
    told = _STATE.search(one.text) if _is_page(one) else None
    word = "" if told is None else told[1].strip()
    return word if word and word not in {"Paid", "Expired", "Cancelled", "Looking for a last payment"} else None


def _page_media(one: Exchange) -> str | None:
    return one.headers.get("content-type") if _is_page(one) else None


def _unknown_token(one: Exchange) -> str | None:
    unknown = one.path.startswith(CHECKOUT) and one.path.count("/") == 2 and one.method == "GET"
    return str(one.status) if unknown and one.status in {404, 410} else None


OBSERVERS: Mapping[str, Observer] = {
    "gateway.create-status": _create_status,
    "gateway.credential-status": _credential_status,
    "gateway.error-codes": each(_error_codes, "gateway"),
    "gateway.error-context": each(_context, "gateway"),
    "gateway.receipt-hash": _receipt_hash,
    "gateway.receipt-member": each(_receipt_member, "gateway"),
    "gateway.receipt-codes": each(_receipt_codes, "gateway"),
    "gateway.report": each(_report, "gateway"),
    "gateway.jwks-path": each(_jwks_path, "gateway"),
    "gateway.openapi-path": each(_openapi_path, "gateway"),
    "gateway.open-calls": each(_open_calls, "gateway"),
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
    "gateway.page": each(_page, "gateway"),
    "gateway.qr": each(_qr, "gateway"),
    "gateway.amount-text": each(_amount, "gateway"),
    "gateway.state-words": each(_state, "gateway"),
    "gateway.page-media": each(_page_media, "gateway"),
    "gateway.unknown-token": each(_unknown_token, "gateway"),
}
