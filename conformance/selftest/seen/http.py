"""What runs show of HTTP, JSON and keys."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from conformance.selftest.seen.wire import Exchange, Observer, Wire, each, head_of, names

_DIGEST = re.compile(r"[0-9a-f]{32}")
_MEMO = re.compile(r">\s*([A-Za-z][A-Za-z0-9]*):(?:[A-Za-z0-9_-]{22,36}|\$TOKEN)\s*<")
# Names that the client's parser does not spell anew.
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
    for one in wire.of("gateway"):
        if one.path.startswith("/checkout/") and (memo := _MEMO.search(one.text)):
            yield memo[1].lower()


def _json_style(one: Exchange) -> str | None:
    if not one.object or len(one.text) < 40:
        return None
    if "\n" in one.text:
        return "indented"
    if _WITH_A_POINT.search(one.text):
        return "numbers with a point"
    if '": ' in one.text:
        return "spaces, escaped solidus" if "\\/" in one.text else None if one.text.count("/") == 0 else "spaces"
    return "compact"


def _header_case(one: Exchange) -> str | None:
    spelled = next((one.spelled[name] for name in _RAW if name in one.spelled), None)
    if spelled is None:
        return None
    return "lower case" if spelled.islower() else "UPPER CASE" if spelled.isupper() else "Title-Case"


def _media_type(one: Exchange) -> str | None:
    value = one.headers.get("content-type", "")
    return value if value.lower().startswith("application/json") else None


def _further(one: Exchange) -> str:
    found = names({"via", "server", "strict-transport-security", "set-cookie"} & one.headers.keys())
    return found or "none"


def _cors(one: Exchange) -> str:
    return one.headers.get("access-control-allow-origin", "none")


def _status_of(method: str) -> Observer:
    def tell(one: Exchange) -> str | None:
        known = one.path.startswith(("/.well-known/", "/pay/v1/", "/openapi"))
        return str(one.status) if one.method == method and known else None

    return each(tell, "rail")


def _retry_after(one: Exchange) -> str | None:
    value = one.headers.get("retry-after")
    return None if value is None else "seconds" if value.isdecimal() else "HTTP date"


def _rate_headers(wire: Wire) -> Iterator[str]:
    found = {name for one in wire.exchanges for name in one.headers if "ratelimit" in name}
    yield names(found) or "none"


def _request_id(one: Exchange) -> str | None:
    value = one.headers.get("x-request-id", "")
    return next((name for name, form in _REQUEST_IDS.items() if form.fullmatch(value)), None)


def _kid(wire: Wire) -> Iterator[str]:
    for one in wire.exchanges:
        for _, token in one.tokens if one.status == 200 and (one.is_served or one.path == "/compliance/screen") else ():
            kid = head_of(token).get("kid")
            if kid is None:
                yield "none"
            elif str(kid).startswith("did:"):
                yield "DID URL"
            else:
                yield "digest" if _DIGEST.fullmatch(str(kid)) else "label"


def _key_sets(wire: Wire) -> Iterator[Exchange]:
    """Yield key sets of JWKs; a control plane's document of issuer keys is not one."""
    served = (one for one in wire.exchanges if one.surface not in {"control_plane", "addon"})
    return (one for one in served if one.status == 200 and isinstance(one.object.get("keys"), list))


def _jwks(wire: Wire) -> Iterator[str]:
    for one in _key_sets(wire):
        yield ", ".join(str(key.get("kty")) for key in one.object["keys"])


def _jwk_members(wire: Wire) -> Iterator[str]:
    for one in _key_sets(wire):
        for key in one.object["keys"]:
            if key.get("kty") == "OKP":
                yield names(key.keys() - {"kty", "crv", "x", "kid"})


def _did_document(one: Exchange) -> str | None:
    asserting = one.object.get("assertionMethod")
    methods = one.object.get("verificationMethod")
    alone = methods is None and isinstance(asserting, list)
    methods = asserting if alone else methods
    if one.status != 200 or not isinstance(methods, list) or not methods or not isinstance(methods[0], dict):
        return None
    embedded = isinstance(asserting, list) and any(isinstance(member, dict) for member in asserting)
    relative = str(methods[0].get("id", "")).startswith("#")
    marks = {"embedded": embedded, "alone": alone, "relative ids": relative, "no assertionMethod": asserting is None}
    return names([str(methods[0].get("type")), *(mark for mark, holds in marks.items() if holds)])


def _key_media_type(wire: Wire) -> Iterator[str]:
    for one in _key_sets(wire):
        yield one.headers.get("content-type", "").partition(";")[0].lower()


def _jws_header(wire: Wire) -> Iterator[str]:
    for one in wire.exchanges:
        for _, token in one.tokens if one.status == 200 and (one.is_served or one.path == "/compliance/screen") else ():
            yield names(f"{name} {value}" for name, value in head_of(token).items() if name != "kid")


OBSERVERS: Mapping[str, Observer] = {
    "http.service-word": _service_word,
    "http.json-style": each(_json_style),
    "http.header-case": each(_header_case),
    "http.media-type": each(_media_type),
    "http.further-headers": each(_further),
    "http.cors": each(_cors, "rail"),
    "http.options": _status_of("OPTIONS"),
    "http.head": _status_of("HEAD"),
    "http.retry-after": each(_retry_after),
    "http.rate-headers": _rate_headers,
    "http.request-id": each(_request_id),
    "keys.kid": _kid,
    "keys.jwks": _jwks,
    "keys.jwk-members": _jwk_members,
    "keys.did-document": each(_did_document),
    "keys.media-type": _key_media_type,
    "keys.jws-header": _jws_header,
}
