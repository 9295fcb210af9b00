"""Observers of the open points of HTTP, JSON and keys."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from conformance.selftest.observations.observed_exchanges import (
    Exchange,
    Observer,
    Wire,
    join_names,
    observe_each,
    read_head,
)

_DIGEST = re.compile(r"[0-9a-f]{32}")
_MEMO = re.compile(r">\s*([A-Za-z][A-Za-z0-9]*):(?:[A-Za-z0-9_-]{22,36}|\$TOKEN)\s*<")
# Header names whose spelling the client's parser keeps.
_RAW = ("payment-required", "x-ratelimit-limit", "ratelimit", "x-payment-response", "idempotent-replayed")
_REQUEST_IDS = {
    "req_ and digits": re.compile(r"req_[0-9a-f]{32}"),
    "UUID": re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"),
    "letters and digits": re.compile(r"[0-9A-F]{26}"),
}

_WITH_A_POINT = re.compile(r"[:\[,]-?\d+\.0[,}\]]")


def _service_word(wire: Wire) -> Iterator[str]:
    for _, claims in wire.receipts:
        if "/" in str(claims.get("kind")):
            yield str(claims["kind"]).partition("/")[0].lower()
    for exchange in wire.of("gateway"):
        # The memo of a checkout page begins with the service word as well.
        if exchange.path.startswith("/checkout/") and (memo := _MEMO.search(exchange.text)):
            yield memo[1].lower()


def _json_style(exchange: Exchange) -> str | None:
    # A short body may be equal in several styles.
    if not exchange.object or len(exchange.text) < 40:
        return None
    if "\n" in exchange.text:
        return "indented"
    if _WITH_A_POINT.search(exchange.text):
        return "numbers with a point"
    if '": ' in exchange.text:
        return (
            "spaces, escaped solidus" if "\\/" in exchange.text else None if exchange.text.count("/") == 0 else "spaces"
        )
    return "compact"


def _header_case(exchange: Exchange) -> str | None:
    spelling = next((exchange.header_spellings[name] for name in _RAW if name in exchange.header_spellings), None)
    if spelling is None:
        return None
    return "lower case" if spelling.islower() else "UPPER CASE" if spelling.isupper() else "Title-Case"


def _media_type(exchange: Exchange) -> str | None:
    value = exchange.headers.get("content-type", "")
    return value if value.lower().startswith("application/json") else None


def _further(exchange: Exchange) -> str:
    header_names = join_names({"via", "server", "strict-transport-security", "set-cookie"} & exchange.headers.keys())
    return header_names or "none"


def _cors(exchange: Exchange) -> str:
    return exchange.headers.get("access-control-allow-origin", "none")


def _status_of(method: str) -> Observer:
    def tell(exchange: Exchange) -> str | None:
        # Only documented paths: a 404 or 405 of an unknown path shows nothing about the method.
        is_known = exchange.path.startswith(("/.well-known/", "/pay/v1/", "/openapi"))
        return str(exchange.status) if exchange.method == method and is_known else None

    return observe_each(tell, "rail")


def _retry_after(exchange: Exchange) -> str | None:
    value = exchange.headers.get("retry-after")
    return None if value is None else "seconds" if value.isdecimal() else "HTTP date"


def _rate_headers(wire: Wire) -> Iterator[str]:
    header_names = {name for exchange in wire.exchanges for name in exchange.headers if "ratelimit" in name}
    yield join_names(header_names) or "none"


def _request_id(exchange: Exchange) -> str | None:
    value = exchange.headers.get("x-request-id", "")
    return next((name for name, form in _REQUEST_IDS.items() if form.fullmatch(value)), None)


def _kid(wire: Wire) -> Iterator[str]:
    for exchange in wire.exchanges:
        for _, token in (
            exchange.tokens
            if exchange.status == 200 and (exchange.is_served or exchange.path == "/compliance/screen")
            else ()
        ):
            kid = read_head(token).get("kid")
            if kid is None:
                yield "none"
            elif str(kid).startswith("did:"):
                yield "DID URL"
            else:
                yield "digest" if _DIGEST.fullmatch(str(kid)) else "label"


def _key_sets(wire: Wire) -> Iterator[Exchange]:
    """Yield key sets (JWKS); a control plane's document of issuer keys is another format."""
    key_sets = (exchange for exchange in wire.exchanges if exchange.surface not in {"control_plane", "addon"})
    return (
        exchange for exchange in key_sets if exchange.status == 200 and isinstance(exchange.object.get("keys"), list)
    )


def _jwks(wire: Wire) -> Iterator[str]:
    for exchange in _key_sets(wire):
        yield ", ".join(str(key.get("kty")) for key in exchange.object["keys"])


def _jwk_members(wire: Wire) -> Iterator[str]:
    for exchange in _key_sets(wire):
        for key in exchange.object["keys"]:
            if key.get("kty") == "OKP":
                yield join_names(key.keys() - {"kty", "crv", "x", "kid"})


def _did_document(exchange: Exchange) -> str | None:
    assertion_methods = exchange.object.get("assertionMethod")
    methods = exchange.object.get("verificationMethod")
    alone = methods is None and isinstance(assertion_methods, list)
    methods = assertion_methods if alone else methods
    if exchange.status != 200 or not isinstance(methods, list) or not methods or not isinstance(methods[0], dict):
        return None
    is_embedded = isinstance(assertion_methods, list) and any(isinstance(member, dict) for member in assertion_methods)
    relative = str(methods[0].get("id", "")).startswith("#")
    marks = {
        "embedded": is_embedded,
        "alone": alone,
        "relative ids": relative,
        "no assertionMethod": assertion_methods is None,
    }
    return join_names([str(methods[0].get("type")), *(mark for mark, holds in marks.items() if holds)])


def _key_media_type(wire: Wire) -> Iterator[str]:
    for exchange in _key_sets(wire):
        yield exchange.headers.get("content-type", "").partition(";")[0].lower()


def _jws_header(wire: Wire) -> Iterator[str]:
    for exchange in wire.exchanges:
        for _, token in (
            exchange.tokens
            if exchange.status == 200 and (exchange.is_served or exchange.path == "/compliance/screen")
            else ()
        ):
            yield join_names(f"{name} {value}" for name, value in read_head(token).items() if name != "kid")


OBSERVERS: Mapping[str, Observer] = {
    "http.service-word": _service_word,
    "http.json-style": observe_each(_json_style),
    "http.header-case": observe_each(_header_case),
    "http.media-type": observe_each(_media_type),
    "http.further-headers": observe_each(_further),
    "http.cors": observe_each(_cors, "rail"),
    "http.options": _status_of("OPTIONS"),
    "http.head": _status_of("HEAD"),
    "http.retry-after": observe_each(_retry_after),
    "http.rate-headers": _rate_headers,
    "http.request-id": observe_each(_request_id),
    "keys.kid": _kid,
    "keys.jwks": _jwks,
    "keys.jwk-members": _jwk_members,
    "keys.did-document": observe_each(_did_document),
    "keys.media-type": _key_media_type,
    "keys.jws-header": _jws_header,
}
