"""The three paid services: each a request model, an example, and a pure function (5.2)."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ValidationError

from reference.fast_records import record
from reference.protocol import message_signatures, receipt_verification, screening
from reference.protocol.canonical_json import JsonValue, NotCanonical, canonical_and_whole
from reference.protocol.keys import SigningKey
from reference.protocol.networks import EXAMPLE
from reference.protocol.service_word import ServiceWord
from reference.web.errors import Unprocessable


@record
class ServiceContext:
    """The rail's identity and the time of the call, which a service needs.

    Attributes:
        word: The service word.
        key: The rail's signing key.
        did: The rail's DID.
        platform_keys: JWKs that receipts are verified against when the caller gives none.
        jurisdiction_flags: Flags of compliance receipts.
        now_ms: Unix milliseconds.
        settled_payment_ref: What the caller paid with, as a hash reference.
    """

    word: ServiceWord
    key: SigningKey
    did: str
    platform_keys: tuple[Mapping[str, Any], ...]
    jurisdiction_flags: tuple[str, ...]
    now_ms: int
    settled_payment_ref: str


@dataclass(frozen=True, slots=True)
class Service:
    """One paid service.

    Attributes:
        id: Its `service_id`.
        path: Its path.
        description: What it does, in a short sentence: each 402 carries it in a header field.
        model: Its request model.
        example: Its published example request.
        example_result: What an answer to it looks like, in part.
        execute: From request and context to `result`.
    """

    id: str
    path: str
    description: str
    model: type[BaseModel]
    example: Mapping[str, JsonValue]
    example_result: Mapping[str, JsonValue]
    execute: Callable[[Any, ServiceContext], dict[str, Any]]

    def parse_request(self, body: JsonValue) -> BaseModel:
        """Return the request that `body` holds.

        Raises:
            Unprocessable: As `parse_with_canonical`.
        """
        return self.parse_with_canonical(body)[0]

    def parse_with_canonical(self, body: JsonValue) -> tuple[BaseModel, bytes]:
        """Return the request that `body` holds, and the body in its RFC 8785 form.

        Raises:
            Unprocessable: It holds none; also when RFC 8785 has no form for it (P-CV-20).
        """
        try:
            # P-CV-20: a body without an RFC 8785 form has no request hash, so no payment could be bound to it.
            canonical, whole = canonical_and_whole(body)
            request = self.model.model_validate(whole)
            if isinstance(request, screening.ScreeningRequest):
                screening.screened_network(request.network)
        except screening.UnsupportedNetwork as fault:
            where = {"loc": ["body", "network"], "msg": str(fault), "type": "unsupported_network"}
            raise Unprocessable([where]) from fault
        except NotCanonical as fault:
            raise Unprocessable([{"loc": ["body"], "msg": str(fault), "type": "not_canonical"}]) from fault
        except ValidationError as fault:
            raise Unprocessable.of(fault) from fault
        return request, canonical


def _verify_receipt(request: receipt_verification.ReceiptVerifyRequest, context: ServiceContext) -> dict[str, Any]:
    return receipt_verification.verify_receipt(
        jws=request.jws,
        jwks=request.jwks,
        expected_payment_hash=request.expected_payment_hash,
        platform_keys=context.platform_keys,
    )


def _verify_message(request: message_signatures.MessageVerifyRequest, context: ServiceContext) -> dict[str, Any]:
    # The clock of signatures is in whole seconds (RFC 9421, 2.3), the rail's context in milliseconds.
    return message_signatures.verify(request, now=context.now_ms // 1000)


def _screen(request: screening.ScreeningRequest, context: ServiceContext) -> dict[str, Any]:
    result = screening.screen(
        request,
        screened_at_ms=context.now_ms,
        verdict_id=str(uuid.uuid4()),
        provider_did=context.did,
        jurisdiction_flags=context.jurisdiction_flags,
        signing_key=context.key,
        payment_hash=context.settled_payment_ref,
    )
    verdicts: Mapping[Any, str] = screening.RECEIPT_VERDICTS
    return {**result, "verdict": verdicts[result["verdict"]]}


SERVICES: Mapping[str, Service] = {
    service.path: service
    for service in (
        Service(
            "receipt-verify",
            "/pay/v1/verify/receipt",
            "Verifies a signed receipt, with a report.",
            receipt_verification.ClosedReceiptVerifyRequest,
            {"jws": "e30.e30.AA"},
            {"verified": False, "error_code": "UNSUPPORTED_ALG"},
            _verify_receipt,
        ),
        Service(
            "rfc9421-verify",
            "/pay/v1/verify/rfc9421",
            "Verifies a message signed by RFC 9421.",
            message_signatures.ClosedMessageVerifyRequest,
            {
                "method": "GET",
                "authority": "example.com",
                "path": "/",
                "headers": {},
                "public_key_hex": "03a107bff3ce10be1d70dd18e74bc09967e4d6309ba50d5f1ddc8664125531b8",
            },
            {"valid": False, "error_codes": ["missing_signature_input"]},
            _verify_message,
        ),
        Service(
            "compliance-receipt",
            "/pay/v1/compliance/receipt",
            "Screens a recipient: ALLOW, REFER or DENY.",
            screening.ClosedScreeningRequest,
            {"recipient_address": "screen-allow", "network": EXAMPLE},
            {"verdict": "ALLOW", "network_normalised": EXAMPLE},
            _screen,
        ),
    )
}
