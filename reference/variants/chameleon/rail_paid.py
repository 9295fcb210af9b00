"""Variants of the rail's answers to a proof: the paid answer, its receipt, and refusals."""

from __future__ import annotations

import base64
import hashlib
import secrets
from collections.abc import Callable, Mapping
from typing import Any

import orjson

from reference.protocol import weld
from reference.protocol.canonical_json import canonicalise
from reference.protocol.jws import sign_compact
from reference.protocol.keys import base64url, from_base64url
from reference.protocol.refusals import PaymentRefused
from reference.rail import paid_endpoint
from reference.rail.error_replies import json_reply
from reference.rail.paid_endpoint import PaidEndpoint
from reference.rail.services import Service
from reference.rail.signed_answers import Signer
from reference.store.redemption_rows import Answer as Stored
from reference.store.redemption_rows import Redemption
from reference.variants.chameleon import answer_rewriter
from reference.variants.chameleon.answer_rewriter import CURRENT_REQUEST, Answer
from reference.variants.chameleon.variant_shape import Shape
from reference.variants.seams import replace, replace_rule
from reference.web.errors import Refused
from reference.web.http.exchange import Reply, Request

_RECEIPT = "receipt"
_RESPONSE = "payment-response"


def install(shape: Shape) -> None:
    """Install the variant of paid answers in the service."""
    replace(Signer, "make_answer", lambda made: _wrap_answer(made, shape))
    replace(paid_endpoint, "_build_paid_reply", lambda made: _with_header(made, shape))
    replace(PaidEndpoint, "_redeem", lambda made: _wrap_redeem(made, shape))
    if shape.wrong_method == "405":
        replace(PaidEndpoint, "call", _post_only)
    if shape.overpayment == "refused":
        # Open point 27: whether more than the price buys the call. P-LN-02 accepts it by default.
        replace_rule(weld, weld.is_enough, lambda transfer, claim: transfer.value == int(claim.terms.amount))


def _post_only(call: Callable[..., Any]) -> Callable[..., Any]:
    async def call_post_only(self: PaidEndpoint, request: Request) -> Reply:
        if request.method != "POST":
            error_body = {"error": "method_not_allowed", "message": "paid operations are called by POST"}
            return json_reply(405, error_body, {"Allow": "POST"})
        reply: Reply = await call(self, request)
        return reply

    return call_post_only


def _wrap_redeem(redeem: Callable[..., Any], shape: Shape) -> Callable[..., Any]:
    """Return a `redeem` with the variant's statuses of refusals, and with or without stored answers."""
    by_code = {"payment_already_spent": shape.spent_status, "chain_unavailable": shape.chain_down_status}

    async def redeem_in_variant(self: PaidEndpoint, request: Request, service: Service) -> Any:
        try:
            served_answer = await redeem(self, request, service)
            if served_answer.is_replay and shape.replay == "refused":
                raise Refused(409, "payment_already_spent", "this payment already bought something")
        except Refused as refusal:
            if by_code.get(refusal.code) == 402:
                raise PaymentRefused(refusal.code) from refusal
            raise
        return served_answer

    return redeem_in_variant


def _with_header(make_reply: Callable[..., Any], shape: Shape) -> Callable[..., Any]:
    """Return a reply function that moves the receipt from PAYMENT-RESPONSE into a separate header."""
    place, _, name = shape.receipt_at.partition(":")

    def reply_with_header(served_answer: Any) -> Reply:
        reply: Reply = make_reply(served_answer)
        if place != "header" or name.startswith("PAYMENT-RESPONSE"):
            return reply
        payment_response = orjson.loads(base64.b64decode(served_answer.payment_response))
        receipt = payment_response.pop(_RECEIPT)
        plain = base64.b64encode(orjson.dumps(payment_response)).decode()
        return Reply(reply.status, reply.body, {**reply.headers, "PAYMENT-RESPONSE": plain, name: receipt})

    return reply_with_header


def _wrap_answer(answer: Callable[..., Any], shape: Shape) -> Callable[..., Any]:
    def answer_in_variant(self: Signer, row: Redemption, service: Service, request: Any) -> Stored:
        full: Stored = answer(self, row, service, request)
        answer_body = orjson.loads(full.body)
        key = self._key_ring().active
        claims = _claims_of(answer_body.pop("payable_receipt"))
        if shape.verdict_claim != "screen_result" and "compliance_receipt_jws" in answer_body["result"]:
            _rename_verdict(answer_body["result"], shape.verdict_claim, lambda made: sign_compact(made, key))
        document = _document(answer_body, shape)
        place, _, where = shape.receipt_at.partition(":")
        body = answer_rewriter.encoder(shape.json_style)(document)
        response_hash = _response(shape, answer_body["result"], document, body)
        receipt = sign_compact(
            _claims(claims, shape, _request(shape, service), response_hash, _settled_reference(claims, row, shape)), key
        )
        if place == "body":
            body = answer_rewriter.encoder(shape.json_style)(_put_at(document, where, receipt))
            return Stored(body, full.payment_response, full.attestation)
        response = {**orjson.loads(base64.b64decode(full.payment_response)), _RECEIPT: receipt}
        return Stored(body, base64.b64encode(orjson.dumps(response)).decode(), full.attestation)

    return answer_in_variant


def _claims_of(token: str) -> dict[str, Any]:
    claims: dict[str, Any] = orjson.loads(from_base64url(token.split(".")[1]))
    return claims


def _rename_verdict(result: dict[str, Any], name: str, sign: Callable[[dict[str, Any]], str]) -> None:
    claims = _claims_of(result["compliance_receipt_jws"])
    claims[name] = claims.pop("screen_result")
    result |= {"compliance_receipt": claims, "compliance_receipt_jws": sign(claims)}


def _document(answer_body: Mapping[str, Any], shape: Shape) -> dict[str, Any]:
    """Return the body of the answer without the payable receipt."""
    where = shape.result_at.partition(":")[2]
    if not where:
        return dict(answer_body["result"])
    other_members = {name: member for name, member in answer_body.items() if name != "result"}
    if shape.answer_members == "few":
        other_members = {}
    if shape.answer_members == "more":
        other_members |= {"links": {"keys": "/.well-known/jwks.json"}, "took_ms": 3, "warnings": []}
    if shape.request_hash != "jcs-envelope" or shape.response_hash != "jcs-result" or shape.hash_form != "sha256:hex":
        other_members = {
            name: member for name, member in other_members.items() if name not in {"request_hash", "response_hash"}
        }
    if shape.settled_ref != "payable-core" or shape.hash_form != "sha256:hex":
        other_members.pop("settled_payment_ref", None)
    return _put_at(other_members, where, answer_body["result"])


def _put_at(document: Mapping[str, Any], place: str, value: Any) -> dict[str, Any]:
    """Return a document with a value at a dotted place; `[0]` at its end makes a list of it."""
    first, _, inner_place = place.partition(".")
    if inner_place:
        inner_document = document.get(first)
        return {
            **document,
            first: _put_at(inner_document if isinstance(inner_document, dict) else {}, inner_place, value),
        }
    return {**document, first.removesuffix("[0]"): [value] if first.endswith("[0]") else value}


def _request(shape: Shape, service: Service) -> str | None:
    """Return the hash of the request by the variant's recipe."""
    request = CURRENT_REQUEST.get()
    line = f"{request.method} {request.path}{f'?{request.query}' if request.query else ''}\n".encode()
    body = orjson.loads(request.body)
    envelope = {"body": body, "method": request.method, "path": request.path, "query": request.query}
    recipes: Mapping[str, Callable[[], bytes]] = {
        # C-17: the interface demands the bindings and leaves the recipes open. The suite knows these by name, or
        # tries them.
        "jcs-envelope": lambda: canonicalise({**envelope, "service_id": service.id}),
        "jcs-envelope-plain": lambda: canonicalise(envelope),
        "jcs-body": lambda: canonicalise(body),
        "line-jcs-body": lambda: line + canonicalise(body),
        "raw-body": lambda: request.body,
        "line-raw-body": lambda: line + request.body,
    }
    return digest(recipes[shape.request_hash](), shape.hash_form)


def _response(shape: Shape, result: Any, document: Mapping[str, Any], body: bytes) -> str:
    recipes: Mapping[str, Callable[[], bytes]] = {
        "jcs-result": lambda: canonicalise(result),
        "raw-body": lambda: body,
        "jcs-body": lambda: canonicalise(dict(document)),
        "jcs-body-without-receipt": lambda: canonicalise(dict(document)),
    }
    return digest(recipes[shape.response_hash](), shape.hash_form)


def _settled_reference(claims: Mapping[str, Any], row: Redemption, shape: Shape) -> str:
    recipes: Mapping[str, Callable[[], str]] = {
        "raw-tx": lambda: row.tx_id,
        "raw-token": lambda: row.token,
        "sha256-tx": lambda: digest(row.tx_id.encode(), shape.hash_form),
        "sha256-token": lambda: digest(row.token.encode(), shape.hash_form),
        "sha256-network-tx": lambda: digest(f"{row.network}:{row.tx_id}".encode(), shape.hash_form),
    }
    if shape.settled_ref == "payable-core":
        own = bytes.fromhex(claims["settled_payment_ref"].removeprefix("sha256:"))
        return _form(own, shape.hash_form if shape.hash_form != "sha512" else "sha256:hex")
    return recipes[shape.settled_ref]()


def digest(data: bytes, form: str) -> str:
    """Return a hash of `data` in the variant's form."""
    if form == "sha512":
        return hashlib.sha512(data).hexdigest()
    return _form(hashlib.sha256(data).digest(), form)


def _form(raw: bytes, form: str) -> str:
    forms: Mapping[str, Callable[[], str]] = {
        "sha256:hex": lambda: "sha256:" + raw.hex(),
        "hex": raw.hex,
        "base64url": lambda: base64url(raw),
        "sri": lambda: "sha256-" + base64.b64encode(raw).decode(),
    }
    return forms[form]()


def _claims(
    own: Mapping[str, Any], shape: Shape, request: str | None, response: str, settled_reference: str
) -> dict[str, Any]:
    bindings = {"request_hash": request, "response_hash": response, "settled_payment_ref": settled_reference}
    head = {name: own[name] for name in ("kind", "iss", "iat")}
    if shape.claims == "few":
        return {**head, **bindings}
    if shape.claims == "more":
        # `exp` is years away, so that the claim is present and no run outlives it.
        times = {"nbf": own["iat"], "exp": own["iat"] + 10**8, "jti": secrets.token_hex(8)}
        return {**own, **bindings, **times, "aud": ["anyone"], "terms": {"price": {"currency": "USD", "minor": 1}}}
    if shape.claims == "nested":
        return {
            **head,
            "binds": {"request": {"digest": request}, "response": {"digest": response}, "paid": [settled_reference]},
        }
    if shape.claims == "renamed":
        return {"iss": own["iss"], "iat": own["iat"], "req": request, "res": response, "pay": settled_reference}
    return {**own, **bindings}


def edit(answer: Answer, shape: Shape) -> None:
    """Rename or remove the header of the settlement, and keep the bytes of a paid answer, which may be hashed."""
    value = answer.header(_RESPONSE)
    if value is not None and shape.payment_response != "PAYMENT-RESPONSE":
        answer.set_header(_RESPONSE, None)
        if shape.payment_response is not None:
            answer.set_header(shape.payment_response, value)
    if answer.status == 200 and answer.request.path in shape.paths.values():
        # The receipt may contain a hash of exactly these bytes. Without a document, no later edit writes them
        # again.
        answer.document = answer_rewriter.ABSENT


def edit_refusal(answer: Answer, shape: Shape) -> None:
    """Change the bodies of errors other than 402."""
    document = answer.document
    if answer.status < 400 or answer.status == 402 or not isinstance(document, dict) or shape.rail_errors == "flat":
        return
    code, message = str(document.get("error", "refused")), str(document.get("message") or document.get("detail"))
    if shape.rail_errors == "nested":
        answer.document = {"error": {"code": code, "message": message, "details": document.get("detail")}}
    elif shape.rail_errors == "detail":
        answer.document = {"detail": document.get("detail", message)}
    else:
        problem = {"type": f"https://errors.invalid/{code}", "title": message, "status": answer.status}
        answer.document = problem | ({"errors": document["detail"]} if isinstance(document.get("detail"), list) else {})
        answer.set_header("Content-Type", "application/problem+json")
