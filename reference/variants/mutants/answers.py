"""Mutants of what is answered: the challenge, the receipt, keys and documents (specification 2, 5.3, 5.9, 5.10)."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import orjson

from reference.protocol import keys, proof, receipts
from reference.protocol.keys import SigningKey
from reference.rail import challenges, documents, paid_endpoint, services, signing
from reference.rail.challenges import Challenges
from reference.rail.paid_endpoint import PaidEndpoint
from reference.rail.signing import Signer
from reference.store.redemption_rows import Answer, Redemption
from reference.variants.mutants.mutant import Mutant
from reference.variants.seams import replace
from reference.web import exchange
from reference.web.errors import Refused

_ZEROS = "sha256:" + "0" * 64


def every_challenge(change: Callable[[dict[str, Any]], None]) -> Callable[[], None]:
    """Return what changes every 402 document."""

    def changed(issue: Callable[..., Any]) -> Callable[..., Any]:
        def issued(*args: Any, **kwargs: Any) -> Any:
            document = orjson.loads(issue(*args, **kwargs).body)
            change(document)
            return challenges.Challenge(orjson.dumps(document))

        return issued

    return lambda: replace(Challenges, "issue", changed)


def _version_1(document: dict[str, Any]) -> None:
    document["x402Version"] = 1


def _no_accepts(document: dict[str, Any]) -> None:
    if document["error"] != "payment_required":
        document["accepts"] = []


def _lane_twice(document: dict[str, Any]) -> None:
    document["accepts"] *= 2


def _price_as_decimal(document: dict[str, Any]) -> None:
    for entry in document["accepts"]:
        entry["maxAmountRequired"] = f"{int(entry['maxAmountRequired']) / 1e6:.6f}"


def _result_for_free(document: dict[str, Any]) -> None:
    service = next(one for one in services.SERVICES.values() if document["resource"]["url"].endswith(one.path))
    document["result"] = dict(service.example_result) | {"preview": True}


def _shared_caches() -> None:
    def public(paid: Callable[..., Any]) -> Callable[..., Any]:
        def answered(served: Any) -> Any:
            reply = paid(served)
            return exchange.Reply(reply.status, reply.body, {**reply.headers, "Cache-Control": "public, max-age=300"})

        return answered

    replace(paid_endpoint, "_paid", public)


def _challenge_cached() -> None:
    def public(call: Callable[..., Any]) -> Callable[..., Any]:
        async def answered(*args: Any) -> Any:
            reply = await call(*args)
            cached = {**reply.headers, "Cache-Control": "public, max-age=60"} if reply.status == 402 else reply.headers
            return exchange.Reply(reply.status, reply.body, cached)

        return answered

    replace(PaidEndpoint, "call", public)


def _malformed_is_400() -> None:
    def strict(decode: Callable[..., Any]) -> Callable[..., Any]:
        def decoded(values: Any) -> Any:
            try:
                return decode(values)
            except Exception as fault:
                raise Refused(400, "bad_payment_header", "the payment header cannot be read") from fault

        return decoded

    replace(proof, "decode", strict)


def _accounts_wanted() -> None:
    def gated(call: Callable[..., Any]) -> Callable[..., Any]:
        async def answered(self: PaidEndpoint, request: exchange.Request) -> Any:
            if request.one("authorization"):
                raise Refused(401, "invalid_api_key", "this key is not known")
            return await call(self, request)

        return answered

    replace(PaidEndpoint, "call", gated)


def _receipt(**wrong: str) -> Callable[[], None]:
    """Return what puts a wrong member into every payable receipt."""
    return lambda: replace(receipts, "payable_receipt", lambda made: lambda **given: {**made(**given), **wrong})


def _payee_for_transaction() -> None:
    """Name the payee as the transaction where the rail settles, in header, receipt and attestation alike."""

    def named(answer: Callable[..., Any]) -> Callable[..., Any]:
        def answered(self: Signer, row: Redemption, *rest: Any) -> Answer:
            settled = row.network.startswith("base_")
            answer_of: Answer = answer(self, dataclasses.replace(row, tx_id=row.pay_to) if settled else row, *rest)
            return answer_of

        return answered

    replace(Signer, "answer", named)


def _no_receipt() -> None:
    def bare(answer: Callable[..., Any]) -> Callable[..., Any]:
        def answered(*args: Any) -> Answer:
            full = answer(*args)
            body = orjson.loads(full.body)
            del body["payable_receipt"]
            return Answer(orjson.dumps(body), full.payment_response, full.attestation)

        return answered

    replace(Signer, "answer", bare)


def _other_signer() -> None:
    stranger = SigningKey.from_seed(bytes(range(32)))
    replace(signing, "sign_compact", lambda sign: lambda payload, key: sign(payload, stranger))  # noqa: ARG005 - shape


def _other_did_key() -> None:
    stranger = SigningKey.from_seed(bytes(range(32))).public
    replace(keys, "did_document", lambda made: lambda did, published, listed: made(did, (stranger, *published), listed))


def _private_jwks() -> None:
    def leaking(made: Callable[..., Any]) -> Callable[..., Any]:
        return lambda published: {"keys": [{**jwk, "d": jwk["x"]} for jwk in made(published)["keys"]]}

    replace(keys, "jwks", leaking)


def _response_without_network() -> None:
    """A payment that names no lane is told of without a network."""
    replace(Challenges, "network_of", lambda _: lambda self, named: named)  # noqa: ARG005 - the seam's shape


def _stock_untold() -> None:
    """An ordinary x402 payload, and what is no proof, are refused without a settlement response."""

    def silent(tell: Callable[..., dict[str, str]]) -> Callable[..., dict[str, str]]:
        quiet = {"payment_not_welded", "invalid_payment_header"}
        return lambda refusal, offered: {} if refusal.code in quiet else tell(refusal, offered)

    replace(paid_endpoint, "_settlement_response", silent)


def _did_of_another() -> None:
    def elsewhere(made: Callable[..., Any]) -> Callable[..., Any]:
        return lambda did, published, listed: made(did + ":elsewhere", published, listed)

    replace(keys, "did_document", elsewhere)


def _openapi(change: Callable[[dict[str, Any]], Any]) -> Callable[[], None]:
    """Return what changes every operation of the OpenAPI document that costs something."""

    def changed(made: Callable[..., Any]) -> Callable[..., Any]:
        def document(*args: Any) -> Mapping[str, Any]:
            value: dict[str, Any] = made(*args)
            for path in services.SERVICES:
                for operation in value["paths"][path].values():
                    change(operation)
            return value

        return document

    return lambda: replace(documents.Documents, "_openapi", changed)


def _catalog_shorter() -> None:
    def shorter(made: Callable[..., Any]) -> Callable[..., Any]:
        def catalog(*args: Any) -> Mapping[str, Any]:
            value: dict[str, Any] = made(*args)
            return {**value, "resources": value["resources"][:-1]}

        return catalog

    replace(documents.Documents, "_catalog", shorter)


def _catalog_invents() -> None:
    def longer(made: Callable[..., Any]) -> Callable[..., Any]:
        def catalog(*args: Any) -> Mapping[str, Any]:
            value: dict[str, Any] = made(*args)
            return {**value, "resources": [*value["resources"], value["resources"][0] + "/bulk"]}

        return catalog

    replace(documents.Documents, "_catalog", longer)


def _verdict_in_lower_case() -> None:
    def lower(run: Callable[..., Any]) -> Callable[..., Any]:
        def screened(*args: Any) -> Mapping[str, Any]:
            result: dict[str, Any] = run(*args)
            return {**result, "verdict": result["verdict"].lower()}

        return screened

    path = "/pay/v1/compliance/receipt"
    service = services.SERVICES[path]
    object.__setattr__(service, "run", lower(service.run))


MUTANTS = (
    Mutant("version-1", "the body declares x402 version 2 (P-CH-01)", every_challenge(_version_1)),
    Mutant("refusal-without-accepts", "every 402 carries accepts (P-ER-01)", every_challenge(_no_accepts)),
    Mutant("lane-twice", "one entry a lane (P-CH-03)", every_challenge(_lane_twice)),
    Mutant(
        "price-in-dollars", "amounts are atomic units in decimal digits (P-CV-05)", every_challenge(_price_as_decimal)
    ),
    Mutant("result-for-free", "a 402 holds no result (P-CH-01)", every_challenge(_result_for_free)),
    Mutant("challenge-cached", "a 402 is not stored (P-CH-09)", _challenge_cached),
    Mutant("paid-cached", "a paid answer is private (5.9)", _shared_caches),
    Mutant("malformed-is-400", "an unreadable X-PAYMENT is 402 (P-XP-03)", _malformed_is_400),
    Mutant("accounts-wanted", "no account credential changes an answer (5.1)", _accounts_wanted),
    Mutant("no-receipt", "a 200 carries the payable receipt (5.9)", _no_receipt),
    Mutant("request-hash-wrong", "the receipt binds the request (P-RH-01)", _receipt(request_hash=_ZEROS)),
    Mutant("response-hash-wrong", "the receipt binds the response (P-RH-02)", _receipt(response_hash=_ZEROS)),
    Mutant("settled-ref-wrong", "the receipt binds the payment (P-RH-03)", _receipt(settled_payment_ref=_ZEROS)),
    Mutant("settled-ref-of-payee", "the receipt binds the settling transaction (P-RH-03)", _payee_for_transaction),
    Mutant("token-hash-constant", "the receipt holds its token's hash (2.3)", _receipt(payment_reference_hash=_ZEROS)),
    Mutant("other-signer", "receipts are signed with the published key (P-KY-01)", _other_signer),
    Mutant("did-other-key", "DID document and key set publish one key (P-KY-07)", _other_did_key),
    Mutant("jwks-private", "key documents hold public members only (P-KY-03)", _private_jwks),
    Mutant("response-without-network", "PAYMENT-RESPONSE names a network (P-ER-01)", _response_without_network),
    Mutant("response-of-judged-only", "each refused payment is told of (P-ER-01, P-XP-03)", _stock_untold),
    Mutant("did-elsewhere", "the DID is that of the rail's host (P-KY-06)", _did_of_another),
    Mutant("openapi-no-402", "paid operations declare 402 (5.10)", _openapi(lambda one: one["responses"].pop("402"))),
    Mutant(
        "openapi-no-price",
        "paid operations carry x-payment-info (5.10)",
        _openapi(lambda one: one.pop("x-payment-info")),
    ),
    Mutant("catalog-shorter", "both catalogs list the same operations (5.10)", _catalog_shorter),
    Mutant("catalog-invents", "every listed operation answers 402 (5.10)", _catalog_invents),
    Mutant("verdict-lower-case", "the verdict is ALLOW, REFER or DENY (5.2)", _verdict_in_lower_case),
)
