"""Mutants of the gateway's API: transport, envelope, credentials and links (3.1 to 3.4)."""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
import re
import secrets
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

import orjson

from reference.gateway import calls, credentials, links, refusals, request_guard
from reference.gateway.calls import Calls
from reference.gateway.credentials import Caller, Credentials
from reference.gateway.links import PaymentLinks
from reference.protocol import canonical_json
from reference.variants.mutants.mutant import Mutant
from reference.variants.seams import replace
from reference.web import errors
from reference.web.envelope import Envelope
from reference.web.errors import Refused
from reference.web.exchange import JSON, Reply, Request

_VERIFY = "/v1/receipt/verify"
_KEY = "weld_"


# --- transport and envelope


def _typed_as(fits: Callable[[Request, str], bool]) -> Callable[[], None]:
    """Return what takes the body of a request for JSON when its path and media type fit."""

    def lenient(read: Callable[..., Any]) -> Callable[..., Any]:
        def body(request: Request, **options: Any) -> Any:
            if fits(request, request.one("content-type").partition(";")[0]):
                request = dataclasses.replace(request, headers={**request.headers, "content-type": [JSON]})
            return read(request, **options)

        return body

    return lambda: replace(calls, "body_of", lenient)


def _charset_refused() -> None:
    def literal(read: Callable[..., Any]) -> Callable[..., Any]:
        def body(request: Request, **options: Any) -> Any:
            if ";" in request.one("content-type"):
                raise refusals.unsupported_media_type()
            return read(request, **options)

        return body

    replace(calls, "body_of", literal)


def _same_request_id() -> None:
    fixed = "req_" + secrets.token_hex(16)
    replace(Envelope, "_dress", lambda dress: lambda self, send, _, scope: dress(self, send, fixed, scope))


def _without_id(left_out: Callable[[Mapping[str, Any], int], bool]) -> Callable[[], None]:
    """Return what sends some answers without X-Request-Id, by scope and status."""

    def bare(dress: Callable[..., Any]) -> Callable[..., Any]:
        def dressed(self: Envelope, send: Callable[..., Any], request_id: str, scope: Mapping[str, Any]) -> Any:
            async def stripped(message: dict[str, Any]) -> None:
                if "headers" in message and left_out(scope, message["status"]):
                    kept = [one for one in message["headers"] if one[0] != b"x-request-id"]
                    message = {**message, "headers": kept}
                await send(message)

            return dress(self, stripped, request_id, scope)

        return dressed

    return lambda: replace(Envelope, "_dress", bare)


def _is_page(scope: Mapping[str, Any], status: int) -> bool:
    return status == 200 and re.fullmatch(r"/checkout/[^/]+", scope["path"]) is not None


def _bare_413(refused: Refused, body: dict[str, Any]) -> None:
    if refused.status == 413:
        body.clear()


def _error_body(change: Callable[[Refused, dict[str, Any]], None]) -> Callable[[], None]:
    """Return what changes the body of every refusal."""

    def changed(write: Callable[..., Any]) -> Callable[..., Any]:
        def body(self: Refused, request_id: str, **options: Any) -> dict[str, Any]:
            written: dict[str, Any] = write(self, request_id, **options)
            change(self, written)
            return written

        return body

    return lambda: replace(errors.Refused, "body", changed)


def _no_message_on_405(refusal: Refused, body: dict[str, Any]) -> None:
    if refusal.status == 405:
        del body["message"]


def _sentence_for_code(_: Refused, body: dict[str, Any]) -> None:
    body["error"] = body["error"].replace("_", " ")


def _code_with_a_number(_: Refused, body: dict[str, Any]) -> None:
    body["error"] += f"_{secrets.randbelow(10**9)}"


def _fault_under_another_name(refusal: Refused, body: dict[str, Any]) -> None:
    if refusal.status == 404:
        body["fault"] = body.pop("error")


# --- credentials


def _keys_known_by(part: Callable[[str], str]) -> Callable[[], None]:
    """Return what knows a tenant's key by a part of its text."""

    def loose(digest: Callable[[str], str]) -> Callable[[str], str]:
        def digest_of(secret: str) -> str:
            loosely = secret.lower().startswith(_KEY)
            return hashlib.sha256(part(secret).encode()).hexdigest() if loosely else digest(secret)

        return digest_of

    return lambda: replace(credentials, "digest_of", loose)


def _id_optional() -> None:
    replace(credentials, "_names", lambda names: lambda fields, tenant: not fields or names(fields, tenant))


def _id_empty() -> None:
    replace(credentials, "_names", lambda names: lambda fields, own: fields == [""] or names(fields, own))


def _id_unchecked() -> None:
    replace(credentials, "_names", lambda _: lambda fields, _tenant: len(fields) == 1)


def _id_begins() -> None:
    replace(credentials, "_names", lambda _: lambda fields, own: len(fields) == 1 and fields[0][:8] == own[:8])


def _key_of_whole_text() -> None:
    """Take what stands before a blank or a comma for the key."""

    def first_word(bearer: Callable[[Request], str]) -> Callable[[Request], str]:
        def key(request: Request) -> str:
            words = request.one("authorization").replace(",", " ").split()
            return words[1] if words[:1] == ["Bearer"] and len(words) > 1 else bearer(request)

        return key

    replace(credentials, "_bearer", first_word)


def _any_scheme() -> None:
    def last_word(_: Callable[..., Any]) -> Callable[[Request], str]:
        def bearer(request: Request) -> str:
            words = request.one("authorization").split()
            if not words:
                raise refusals.invalid_api_key()
            return words[-1]

        return bearer

    replace(credentials, "_bearer", last_word)


def _id_alone() -> None:
    def trusting(judge: Callable[..., Any]) -> Callable[..., Any]:
        async def tenant(self: Credentials, request: Request) -> Caller:
            found = None
            if "authorization" not in request.headers:
                found = await self._tenants.get(request.one("x-tenant-id"))
            judged: Caller = Caller(found, "test") if found is not None else await judge(self, request)
            return judged

        return tenant

    replace(Credentials, "tenant", trusting)


def _refused_but_done(code: str) -> Callable[[], None]:
    """Return what carries out a call whose credential or limit it refuses with `code`."""

    def careless(answer: Callable[..., Any]) -> Callable[..., Any]:
        async def answered(self: Calls, operation: Any, scope: Any, request: Request, call: Mapping[str, Any]) -> Reply:
            try:
                reply: Reply = await answer(self, operation, scope, request, call)
            except Refused as refusal:
                if refusal.code == code:
                    await _carry_out(self, operation, request, call)
                raise
            return reply

        return answered

    return lambda: replace(Calls, "answer", careless)


async def _carry_out(self: Calls, operation: Any, request: Request, call: Mapping[str, Any]) -> None:
    digest = credentials.digest_of(request.one("authorization").rpartition(" ")[2])
    found = await self._credentials._tenants.bearer(digest, now=self._credentials._clock.now())  # noqa: SLF001 - a mutant
    if found is None or operation.reads is None:
        return
    body = calls.body_of(request, required=True)
    caller = Caller(found[1], found[0].mode)
    await operation.run(calls.Call(request, content=operation.reads(body), body=body, caller=caller, **call))


def _edge_serves_all() -> None:
    def open_to_all(init: Callable[..., Any]) -> Callable[..., Any]:
        def made(self: request_guard.RequestGuard, *args: Any, edge: bool) -> None:
            del edge
            init(self, *args, edge=False)

        return made

    replace(request_guard.RequestGuard, "__init__", open_to_all)


# --- links


def _float_amounts() -> None:
    def in_floats(exact: Callable[..., Any]) -> Callable[..., Any]:
        def microunits(literal: str, given: Decimal = Decimal(1)) -> int:
            exact(literal, given)
            return int(float(literal) * float(given) * 1_000_000)

        return microunits

    replace(links, "microunits_of", in_floats)


def _cents() -> None:
    def rounded(exact: Callable[..., Any]) -> Callable[..., Any]:
        def microunits(literal: str, given: Decimal = Decimal(1)) -> int:
            whole: int = exact(literal, given)
            return round(whole, -4) or whole

        return microunits

    replace(links, "microunits_of", rounded)


def _digits_in_a_text() -> None:
    def generous(read: Callable[..., Any]) -> Callable[..., Any]:
        def text(data: bytes, member: str) -> Any:
            value = orjson.loads(data).get(member)
            digits = isinstance(value, str) and re.fullmatch(r"[0-9]+(\.[0-9]+)?", value) is not None
            return canonical_json.NumberText(value) if digits else read(data, member)

        return text

    replace(links, "number_text", generous)


def _signs_dropped() -> None:
    def unsigned(read: Callable[..., Any]) -> Callable[..., Any]:
        def text(data: bytes, member: str) -> Any:
            found = read(data, member)
            return None if found is None else canonical_json.NumberText(found.removeprefix("-"))

        return text

    replace(links, "number_text", unsigned)


def _labels_turned_into_text() -> None:
    def coerced(read: Callable[..., Any]) -> Callable[..., Any]:
        def request(self: PaymentLinks, body: calls.Body) -> Any:
            if isinstance(body.value, dict) and isinstance(body.value.get("label"), int | float):
                body = dataclasses.replace(body, value={**body.value, "label": str(body.value["label"])})
            return read(self, body)

        return request

    replace(PaymentLinks, "read", coerced)


def _unknown_network_replaced() -> None:
    def forgiving(choose: Callable[..., Any]) -> Callable[..., Any]:
        async def network(self: PaymentLinks, tenant_id: str, wanted: str | None) -> Any:
            try:
                return await choose(self, tenant_id, wanted)
            except Refused:
                return await choose(self, tenant_id, None)

        return network

    replace(PaymentLinks, "_network", forgiving)


def _link_answer(**changed: Callable[[dict[str, Any]], Any]) -> Callable[[], None]:
    """Return what changes members of a link's answer, and nothing of the link."""

    def altered(write: Callable[..., Any]) -> Callable[..., Any]:
        def answer(*args: Any) -> dict[str, Any]:
            written: dict[str, Any] = write(*args)
            return {**written, **{name: change(written) for name, change in changed.items()}}

        return answer

    return lambda: replace(PaymentLinks, "_answer", altered)


def _tokens(draw: Callable[[str], str]) -> Callable[[], None]:
    """Return what gives links other tokens."""

    def drawn(make: Callable[..., Any]) -> Callable[..., Any]:
        async def made(self: PaymentLinks, *args: Any) -> Any:
            link, secret = await make(self, *args)
            return dataclasses.replace(link, token=draw(link.token)), secret

        return made

    return lambda: replace(PaymentLinks, "_made", drawn)


def _counted() -> Callable[[str], str]:
    numbers = itertools.count(secrets.randbelow(10**6))
    return lambda _: f"{next(numbers):022d}"


def _mutant(name: str, rule: str, apply: Callable[[], None]) -> Mutant:
    return Mutant(name, rule, apply, surface="gateway")


MUTANTS = (
    _mutant(
        "json-alike",
        "a media type that ends in json is not application/json (P-GW-01)",
        _typed_as(lambda _, media: media.endswith("json")),
    ),
    _mutant(
        "receipts-of-any-type",
        "receipt verification, too, answers 415 to other media types (P-GW-01)",
        _typed_as(lambda request, _: request.path == _VERIFY),
    ),
    _mutant("charset-refused", "application/json may name its charset (P-GW-01)", _charset_refused),
    _mutant("one-request-id", "each answer has a request id of its own (P-CV-11)", _same_request_id),
    _mutant("no-id-on-404", "errors of the routing carry X-Request-Id (P-CV-11)", _without_id(lambda _, s: s == 404)),
    _mutant("no-id-on-429", "throttled calls carry X-Request-Id (P-CV-11)", _without_id(lambda _, s: s == 429)),
    _mutant(
        "no-id-on-413", "what is too large is refused with X-Request-Id (P-CV-11)", _without_id(lambda _, s: s == 413)
    ),
    _mutant("too-large-bare", "what is too large is refused with the envelope (3.2)", _error_body(_bare_413)),
    _mutant("no-id-on-the-page", "the checkout page carries X-Request-Id (P-CV-11)", _without_id(_is_page)),
    _mutant("no-message-on-405", "every error body has a message (3.2)", _error_body(_no_message_on_405)),
    _mutant("code-in-words", "error is a token without spaces (3.2)", _error_body(_sentence_for_code)),
    _mutant("code-with-number", "one fault has one code (3.2)", _error_body(_code_with_a_number)),
    _mutant("fault-for-error", "the code stands in the member error (3.2)", _error_body(_fault_under_another_name)),
    _mutant("tenant-id-optional", "a call names its tenant (P-AU-01)", _id_optional),
    _mutant("tenant-id-empty", "an empty X-Tenant-Id names nobody (P-AU-01)", _id_empty),
    _mutant("tenant-id-unchecked", "the tenant named is the key's (3.2, tenant_id_mismatch)", _id_unchecked),
    _mutant("key-by-beginning", "a key is known by its whole text (P-AU-02)", _keys_known_by(lambda key: key[:20])),
    _mutant("key-in-any-case", "a key is known letter by letter (P-AU-02)", _keys_known_by(str.lower)),
    _mutant("any-scheme", "the scheme is Bearer (P-AU-01)", _any_scheme),
    _mutant("id-without-key", "a call shows a key (P-AU-01)", _id_alone),
    _mutant(
        "mismatch-but-done",
        "a call of another tenant is refused before it does anything (3.1)",
        _refused_but_done("tenant_id_mismatch"),
    ),
    _mutant("throttled-but-done", "a throttled call creates nothing (P-ID-06)", _refused_but_done("rate_limited")),
    _mutant("edge-serves-all", "an edge host serves public reads only (P-GW-04)", _edge_serves_all),
    _mutant("amount-in-floats", "an amount is never a binary float (P-MN-02)", _float_amounts),
    _mutant("amount-in-cents", "micro-units are millionths (P-MN-01)", _cents),
    _mutant("tenant-id-begins", "X-Tenant-Id is the whole id of the key's tenant (P-AU-01)", _id_begins),
    _mutant("key-and-more", "a key is all of its field (P-AU-01)", _key_of_whole_text),
    _mutant("amount-in-a-text", "amount is a number, not a text (3.4)", _digits_in_a_text),
    _mutant("amount-without-sign", "amount is greater than 0 (3.4)", _signs_dropped),
    _mutant("label-of-anything", "label is a text (3.4)", _labels_turned_into_text),
    _mutant("unknown-network-replaced", "an unknown network is refused (P-NW-01)", _unknown_network_replaced),
    _mutant(
        "chain-with-colon",
        "chain is written with a hyphen (1.2)",
        _link_answer(chain=lambda link: link["chain"].replace("-", ":")),
    ),
    _mutant(
        "one-chain-told",
        "chain is the network of the link (1.2)",
        _link_answer(chain=lambda _: "algorand-testnet"),
    ),
    _mutant(
        "expiry-without-zone",
        "times in text end in Z (P-CV-04)",
        _link_answer(expires_at=lambda link: link["expires_at"].removesuffix("Z")),
    ),
    _mutant(
        "address-with-query",
        "checkout_url ends with the token (3.4)",
        _link_answer(checkout_url=lambda link: link["checkout_url"] + "?from=api"),
    ),
    _mutant("token-counted", "a token is random (3.4)", _tokens(_counted())),
    _mutant("token-of-six", "a token has 16 random bytes (3.4)", _tokens(lambda token: token[:6])),
)
