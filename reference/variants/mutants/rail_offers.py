"""Mutants of what a rail offers before anybody pays: the 402, lanes, documents and keys (5.1, 5.3, 5.10)."""

from __future__ import annotations

import base64
import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import orjson
from quart import Quart, Response, request

from reference.lanes.solana.lane import SolanaLane
from reference.protocol import keys
from reference.protocol.refusals import PaymentRefused
from reference.rail import app, challenges, documents, orders, paid_endpoint, runtime
from reference.rail.challenges import Call, Challenges
from reference.rail.orders import Quoted, order_of
from reference.rail.paid_endpoint import PaidEndpoint
from reference.rail.services import Service
from reference.variants.mutants.answers import every_challenge
from reference.variants.mutants.mutant import Mutant
from reference.variants.seams import replace
from reference.web.errors import Refused
from reference.web.exchange import Reply, Request
from reference.web.quart_calls import replied

_BRIDGED_USDC = "0xd9aAEc86B65D86f6A7B5B1b0c42FFA531710b6CA"
_TEST_MINT = "4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU"

_RECEIPTS = "/pay/v1/verify/receipt"
_BESIDE = "/paid/verify/receipt"


# --- the 402


def _refusals(change: Callable[[Request, PaymentRefused, dict[str, Any]], None]) -> Callable[[], None]:
    """Return what changes the documents of those 402s that HTTP carries, by the request and by why it is refused."""

    def made(required: Callable[..., Reply]) -> Callable[..., Reply]:
        def changed(self: PaidEndpoint, given: Request, offered: Challenges, refusal: PaymentRefused) -> Reply:
            reply = required(self, given, offered, refusal)
            document = orjson.loads(reply.body)
            change(given, refusal, document)
            again = challenges.Challenge(orjson.dumps(document))
            return Reply(reply.status, again.body, {**reply.headers, **again.headers})

        return changed

    return lambda: replace(PaidEndpoint, "_payment_required", made)


def _cheaper_for_accounts(given: Request, _: PaymentRefused, document: dict[str, Any]) -> None:
    """Sell at half the price to whoever shows a credential."""
    if "authorization" in given.headers:
        for entry in document["accepts"]:
            entry["amount"] = entry["maxAmountRequired"] = str(int(entry["amount"]) // 2)


def _first_lane_again(_: Request, refusal: PaymentRefused, document: dict[str, Any]) -> None:
    if refusal.code != "payment_required":
        document["accepts"] = document["accepts"][:1]


def _version_as_text_again(_: Request, refusal: PaymentRefused, document: dict[str, Any]) -> None:
    if refusal.code != "payment_required":
        document["x402Version"] = "2"


def _quoted_without_query() -> None:
    """Quote a call as if it had no query, and hold whoever paid to what he sends."""

    def quoting(quoted: Callable[..., Quoted]) -> Callable[..., Quoted]:
        def quote(given: Request, service: Service) -> Quoted:
            found = quoted(given, service)
            if given.query and not found.faults:
                bare = Call.of(service, orjson.loads(found.call.kept), "")
                return dataclasses.replace(found, call=bare)
            return found

        return quote

    replace(paid_endpoint, "quoted", quoting)


def _body_judged_first() -> None:
    """Judge the body of an unpaid call before its price is told."""

    def calling(call: Callable[..., Any]) -> Callable[..., Any]:
        async def called(self: PaidEndpoint, given: Request) -> Reply:
            if given.method == "POST" and "x-payment" not in given.headers:
                self._challenges[given.path].service.accepts(order_of(given).body)
            reply: Reply = await call(self, given)
            return reply

        return called

    replace(PaidEndpoint, "call", calling)


def _short_keys_unplanned() -> None:
    def unplanned(check: Callable[[bytes], None]) -> Callable[[bytes], None]:
        def checked(raw: bytes) -> None:
            if len(raw) != keys.KEY_BYTES:
                raise TypeError("a point has 32 bytes")
            check(raw)

        return checked

    replace(keys, "_checked", unplanned)


def _unwritable_unplanned() -> None:
    """Say of a body that RFC 8785 has no form for where its fault is, which nobody knows."""

    def telling(tell: Callable[..., Any]) -> Callable[..., Any]:
        def told(detail: Sequence[Mapping[str, Any]], root: str = "body") -> Any:
            if any(one["type"] == "not_canonical" for one in detail):
                raise LookupError("no place in the body is known")
            return tell(detail, root)

        return told

    replace(orders, "error_details", telling)


def _given_away(service: Service) -> Reply:
    told = {"service_id": service.id, "result": dict(service.example_result)}
    return Reply(200, orjson.dumps(told), {"Content-Type": "application/json"})


def _free_from_home() -> None:
    """Serve whoever says to come from this machine, as monitors do."""

    def calling(call: Callable[..., Any]) -> Callable[..., Any]:
        async def called(self: PaidEndpoint, given: Request) -> Reply:
            if given.one("x-forwarded-for") == "127.0.0.1":
                return _given_away(self._challenges[given.path].service)
            reply: Reply = await call(self, given)
            return reply

        return called

    replace(PaidEndpoint, "call", calling)


def _free_with_a_slash() -> None:
    """Route a paid path with a slash at its end, too, and ask for payment by the path as it is known."""

    def building(build: Callable[..., Quart]) -> Callable[..., Quart]:
        def built(door: PaidEndpoint, *args: Any) -> Quart:
            made = build(door, *args)

            async def unguarded() -> Response:
                return replied(_given_away(door._challenges[request.path.rstrip("/")].service))  # noqa: SLF001 - a mutant reaches in

            for path in door.paths:
                made.add_url_rule(f"{path}/", f"{path}/", unguarded, methods=["POST"])
            return made

        return built

    replace(runtime, "build_app", building)


def _refusal_over_the_example() -> None:
    """Bind the tokens of a refusal to the service's example, whatever was asked."""

    def requiring(require: Callable[..., Reply]) -> Callable[..., Reply]:
        def required(self: PaidEndpoint, given: Request, offered: Challenges, refusal: PaymentRefused) -> Reply:
            unread = refusal.code == "payment_required"
            return require(self, given if unread else dataclasses.replace(given, body=b""), offered, refusal)

        return required

    replace(PaidEndpoint, "_payment_required", requiring)


def _issued(change: Callable[[bytes], bytes]) -> Callable[[], None]:
    """Return what changes the bytes of every 402's body."""

    def issuing(issue: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *args, **kwargs: challenges.Challenge(change(issue(*args, **kwargs).body))

    return lambda: replace(Challenges, "issue", issuing)


def _page_for_browsers() -> None:
    def calling(call: Callable[..., Any]) -> Callable[..., Any]:
        async def called(self: PaidEndpoint, given: Request) -> Reply:
            reply: Reply = await call(self, given)
            if reply.status != 402 or "text/html" not in given.one("accept"):
                return reply
            headers = {**reply.headers, "Content-Type": "text/html; charset=utf-8"}
            return Reply(402, b"<!doctype html><title>Payment required</title>", headers)

        return called

    replace(PaidEndpoint, "call", calling)


def _accepts_by_network(document: dict[str, Any]) -> None:
    document["accepts"] = {entry["network"]: entry for entry in document["accepts"]}


def _on(network: str, change: Callable[[dict[str, Any]], None]) -> Callable[[], None]:
    """Return what changes the entries of the networks that begin so."""

    def changed(document: dict[str, Any]) -> None:
        for entry in document["accepts"]:
            if entry["network"].startswith(network):
                change(entry)

    return every_challenge(changed)


def _price_rounded_away(document: dict[str, Any]) -> None:
    """Write a price of less than a dollar in whole ones."""
    if document["resource"]["url"].endswith(_RECEIPTS):
        for entry in document["accepts"]:
            entry["maxAmountRequired"] = "0"


def _named_as_in_the_proof(entry: dict[str, Any]) -> None:
    entry["extra"]["challenge_token"] = entry["extra"].pop("payment_reference")


def _reference_of_the_hour() -> None:
    def referring(reference: Callable[..., str]) -> Callable[..., str]:
        return lambda self, token: reference(self, str(int(token.partition(":")[0] or 0) // 3600))

    replace(SolanaLane, "reference", referring)


# --- documents


def _served(path: str, answer: Callable[[Response], Response]) -> Callable[[], None]:
    """Return what serves one document in another way."""

    def serving(serve: Callable[..., Response]) -> Callable[..., Response]:
        def served(document: Any) -> Response:
            clean = serve(document)
            return answer(clean) if request.path == path else clean

        return served

    return lambda: replace(app, "shown", serving)


def _moved(path: str) -> Callable[[Response], Response]:
    return lambda _: Response(b"", 308, {"Location": path})


def _limit_wanted() -> None:
    def reading(read: Callable[..., Any]) -> Callable[..., Any]:
        def page(query: Mapping[str, str]) -> Any:
            return read({"limit": "", **query})

        return page

    replace(app, "page_of", reading)


def _openapi(change: Callable[[dict[str, Any]], Any]) -> Callable[[], None]:
    def made(make: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
        def document(self: Any) -> dict[str, Any]:
            value = make(self)
            change(value)
            return value

        return document

    return lambda: replace(documents.Documents, "_openapi", made)


def _reference_to_nothing(document: dict[str, Any]) -> None:
    response = document["paths"]["/health"]["get"]["responses"]["200"]
    response["content"] = {"application/json": {"schema": {"$ref": "#/components/schemas/HealthStatus"}}}


def _sold_beside_the_prefix() -> None:
    """Sell one service by an older path, too, and list it there."""

    def making(initialise: Callable[..., None]) -> Callable[..., None]:
        def made(self: PaidEndpoint, offered: Mapping[str, Challenges], *args: Any, **kwargs: Any) -> None:
            initialise(self, {**offered, _BESIDE: offered[_RECEIPTS]}, *args, **kwargs)

        return made

    replace(PaidEndpoint, "__init__", making)

    def listing(catalog: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
        def listed(self: Any) -> dict[str, Any]:
            value = catalog(self)
            return {**value, "resources": [*value["resources"], self._url(_BESIDE)]}

        return listed

    replace(documents.Documents, "_catalog", listing)


def _listed_inside() -> None:
    """List what is sold at the address that the service is bound to, and not at its public one."""

    def listing(catalog: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
        def listed(self: Any) -> dict[str, Any]:
            value = catalog(self)
            inside = [url.replace(self._settings.public_url, "http://10.0.0.7:8402") for url in value["resources"]]
            return {**value, "resources": inside}

        return listed

    replace(documents.Documents, "_catalog", listing)


# --- keys


def _did(change: Callable[[dict[str, Any]], dict[str, Any]]) -> Callable[[], None]:
    return lambda: replace(keys, "did_document", lambda made: lambda *args: change(made(*args)))


def _one_method(document: dict[str, Any]) -> dict[str, Any]:
    return {**document, "verificationMethod": document["verificationMethod"][0]}


def _nobody_in_control(document: dict[str, Any]) -> dict[str, Any]:
    methods = [{name: one[name] for name in one if name != "controller"} for one in document["verificationMethod"]]
    return {**document, "verificationMethod": methods}


def _nameless_services(document: dict[str, Any]) -> dict[str, Any]:
    services = [{name: one[name] for name in one if name != "id"} for one in document["service"]]
    return {**document, "service": services}


def _x_in_base64() -> None:
    def making(_: Callable[..., Any]) -> Callable[..., Any]:
        return lambda published: {"keys": [{**key.jwk(), "x": base64.b64encode(key.raw).decode()} for key in published]}

    replace(keys, "jwks", making)


# --- services


def _not_sold() -> None:
    """The verification of receipts is switched off."""
    replace(PaidEndpoint, "is_disabled", lambda _: lambda _, service: service.id == "receipt-verify")


def _account_for_more() -> None:
    """Whoever pages through the catalog has to sign in."""

    def reading(read: Callable[..., Any]) -> Callable[..., Any]:
        def page(query: Mapping[str, str]) -> Any:
            read_page = read(query)
            if read_page.offset and not request.headers.get("authorization"):
                raise Refused(401, "invalid_api_key", "sign in to see more")
            return read_page

        return page

    replace(app, "page_of", reading)


MUTANTS = (
    Mutant("cheaper-for-accounts", "an account credential changes no answer (5.1)", _refusals(_cheaper_for_accounts)),
    Mutant("refusal-with-one-lane", "a refusal offers every lane again (P-CH-03)", _refusals(_first_lane_again)),
    Mutant("refusal-version-as-text", "a refusal's 402 is x402 version 2 (P-CH-01)", _refusals(_version_as_text_again)),
    Mutant("quoted-without-query", "what is quoted is the very call, its query too (5.6)", _quoted_without_query),
    Mutant("unpaid-from-home-free", "an unpaid call is answered 402, whoever calls (5.3)", _free_from_home),
    Mutant("unpaid-with-a-slash-free", "nothing is handed over at another path (5.3)", _free_with_a_slash),
    Mutant(
        "refusal-over-the-example", "a refusal's tokens are for what was asked (P-ER-01)", _refusal_over_the_example
    ),
    Mutant(
        "unpaid-body-judged-first", "an unpaid call is answered 402, whatever its body (P-CH-11)", _body_judged_first
    ),
    Mutant("unpaid-short-key-crashes", "an unpaid body with a key of no key's length gets 402", _short_keys_unplanned),
    Mutant("unpaid-unwritable-crashes", "an unpaid body that JCS refuses gets 402 (P-CV-20)", _unwritable_unplanned),
    Mutant(
        "challenge-in-a-text", "the 402 is a JSON object (P-CH-01)", _issued(lambda body: orjson.dumps(body.decode()))
    ),
    Mutant("challenge-page", "the 402 is JSON for everybody (P-CH-01)", _page_for_browsers),
    Mutant("accepts-by-network", "accepts is an array (P-CH-01)", every_challenge(_accepts_by_network)),
    Mutant("payee-unset", "every entry names its payee (P-CH-04)", _on("eip155:", lambda one: one.update(payTo=""))),
    Mutant("price-rounded-away", "the price is more than nothing (P-CH-04)", every_challenge(_price_rounded_away)),
    Mutant(
        "reference-as-in-the-proof", "every entry names its token (P-CH-06)", _on("eip155:", _named_as_in_the_proof)
    ),
    Mutant(
        "base-bridged-usdc", "Base is paid in USDC (5.5)", _on("eip155:", lambda one: one.update(asset=_BRIDGED_USDC))
    ),
    Mutant(
        "solana-test-mint", "Solana is paid in USDC (5.5)", _on("solana:", lambda one: one.update(asset=_TEST_MINT))
    ),
    Mutant("solana-reference-of-the-hour", "each token has its reference account (5.4)", _reference_of_the_hour),
    Mutant(
        "catalog-moved",
        "the catalog is at /.well-known/x402 (5.10)",
        _served("/.well-known/x402", _moved("/discovery/resources")),
    ),
    Mutant("catalog-of-the-inside", "what is listed has the public address (5.10)", _listed_inside),
    Mutant("listing-wants-a-limit", "the listing needs no query (5.10)", _limit_wanted),
    Mutant("index-moved", "the index is at /pay/v1/index (5.10)", _served("/pay/v1/index", _moved("/pay/v1/index/"))),
    Mutant("openapi-reference-to-nothing", "the OpenAPI document is valid (5.10)", _openapi(_reference_to_nothing)),
    Mutant("service-beside-the-prefix", "what costs something is below /pay/v1/ (5.1)", _sold_beside_the_prefix),
    Mutant("did-one-method", "methods are a list (P-KY-07)", _did(_one_method)),
    Mutant("did-method-without-controller", "a method has its controller (P-KY-07)", _did(_nobody_in_control)),
    Mutant("did-service-without-id", "a service has its id (P-KY-07)", _did(_nameless_services)),
    Mutant("jwks-in-base64", "a key's x is base64url (P-KY-03)", _x_in_base64),
    Mutant("receipts-not-sold", "the verification of receipts is sold (5.2)", _not_sold),
    Mutant("pages-for-accounts", "no page of a document wants an account (5.1)", _account_for_more),
)
