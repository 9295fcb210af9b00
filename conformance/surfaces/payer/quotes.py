"""Quotes of the played rail: the offer of a 402, its documents, and the receipt of a paid call."""

from __future__ import annotations

import base64
import json
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from conformance.oracles.challenge_tokens import Issuer, payment_reference_hash, request_hash
from conformance.oracles.forging import Signer
from conformance.oracles.hash_recipes import jcs_bytes, sha256_hex
from conformance.oracles.receipt_bindings import settled_payment_ref
from conformance.vocabulary.network import Network

SERVICE_WORD: Final = "Weldproof"
SERVICE_ID: Final = "compliance-receipt"
PATH: Final = "/pay/v1/compliance/receipt"
JWKS: Final = "/.well-known/jwks.json"
DID: Final = "/.well-known/did.json"
# Atomic units: 0.05 USDC, and the most that a payer is permitted to pay if a scene says nothing else.
PRICE: Final = 50_000
LIMIT: Final = 100_000
LIFETIME_SECONDS: Final = 1800
# Part of each paid result. Characters beyond ASCII show whether a payer changes the answer.
NOTICE: Final = "geprüft ✓"

# Changes a copy of a value and returns it.
Change = Callable[[dict[str, Any]], dict[str, Any]]


def keep(value: dict[str, Any]) -> dict[str, Any]:
    """Return a value as it is."""
    return value


def new_signer() -> Signer:
    """Return a new key of receipts, named as the specification names it (P-KY-02)."""
    seed = secrets.token_bytes(32)
    return Signer(seed, sha256_hex(Signer(seed, "").raw)[:32])


@dataclass(frozen=True, slots=True)
class Terms:
    """The terms of one offer.

    Attributes:
        network: The network with its USDC.
        caip2: The network's name in offers.
        asset: Id of the asset.
        pay_to: The payee.
        amount: Atomic units.
    """

    network: Network
    caip2: str
    asset: str
    pay_to: str
    amount: int = PRICE


@dataclass(frozen=True, slots=True)
class Quote:
    """One issued challenge of one lane.

    Attributes:
        token: The challenge token.
        terms: Its terms.
        issued_at: Its issue time in unix seconds.
    """

    token: str
    terms: Terms
    issued_at: int

    def challenge(self) -> dict[str, Any]:
        """Return the members that the weld's oracle takes."""
        return {
            "token": self.token,
            "asset": self.terms.asset,
            "amount": str(self.terms.amount),
            "pay_to": self.terms.pay_to,
            "caip2": self.terms.caip2,
            "issued_at": self.issued_at,
            "ttl_seconds": LIFETIME_SECONDS,
            "service_word": SERVICE_WORD,
        }


@dataclass(frozen=True, slots=True)
class QuoteDesk:
    """Issues quotes for one request, and signs receipts for paid ones.

    Attributes:
        url: Address of the rail, without a slash at its end.
        body: The request body that is paid for.
        query: Query of the request, without the question mark.
        signer: The key of the receipts.
        issuer: The issuer of tokens.
    """

    url: str
    body: Any
    query: str = ""
    signer: Signer = field(default_factory=new_signer, repr=False)
    issuer: Issuer = field(default_factory=lambda: Issuer(secrets.token_bytes(32), SERVICE_WORD), repr=False)

    @property
    def did(self) -> str:
        """The DID of the rail."""
        return "did:web:" + self.url.partition("://")[2].replace(":", "%3A")

    def hash_request(self, body: Any = None) -> str:
        """Return the hash reference of the request, or of the same call with another body."""
        request = {"body": self.body if body is None else body, "method": "POST", "path": PATH, "query": self.query}
        return request_hash(request, SERVICE_ID)

    def issue(self, terms: Terms, *, age: int = 0) -> Quote:
        """Return a new quote, issued `age` seconds ago."""
        moment = int(time.time()) - age
        lane = {"caip2": terms.caip2, "asset": terms.asset, "amount": str(terms.amount), "pay_to": terms.pay_to}
        token = self.issuer.issue(str(moment), secrets.token_hex(8), lane, SERVICE_ID, self.hash_request())
        return Quote(token, terms, moment)

    def entry(self, quote: Quote, binding: Mapping[str, Any]) -> dict[str, Any]:
        """Return the `accepts` entry of a quote (P-CH-04, P-CH-06)."""
        terms = quote.terms
        return {
            "scheme": "exact",
            "network": terms.caip2,
            "amount": str(terms.amount),
            "maxAmountRequired": str(terms.amount),
            "asset": terms.asset,
            "payTo": terms.pay_to,
            "maxTimeoutSeconds": LIFETIME_SECONDS,
            "extra": {
                "payment_reference": quote.token,
                "request_hash": self.hash_request(),
                "service_id": SERVICE_ID,
                "decimals": terms.network.decimals,
                **binding,
            },
        }

    def document(self, entries: list[dict[str, Any]], error: str = "payment_required") -> dict[str, Any]:
        """Return the body of a 402."""
        resource = {"url": self.url + PATH, "description": "Screens an address.", "mimeType": "application/json"}
        return {"x402Version": 2, "error": error, "resource": resource, "accepts": entries, "extensions": {}}

    def answer(self, quote: Quote, tx_id: str, change: Change = keep, signer: Signer | None = None) -> dict[str, Any]:
        """Return the paid answer with its receipt (2.3, 5.9), the claims changed."""
        network = quote.terms.network.key
        result = {"verdict": "ALLOW", "network": network, "notice": NOTICE}
        response_hash = f"sha256:{sha256_hex(jcs_bytes(result))}"
        reference = settled_payment_ref(tx_id, network, SERVICE_WORD)
        now = int(time.time() * 1000)
        claims = {
            "kind": f"{SERVICE_WORD.lower()}/payable-svc-receipt/1",
            "canon_version": "jcs-rfc8785-v1",
            "iss": self.did,
            "provider_did": self.did,
            "iat": now // 1000,
            "issued_at_ms": now,
            "service_id": SERVICE_ID,
            "request_hash": self.hash_request(),
            "response_hash": response_hash,
            "settled_payment_ref": reference,
            "payment_reference_hash": payment_reference_hash(quote.token),
            "network": quote.terms.caip2,
            "asset": quote.terms.asset,
            "pay_to": quote.terms.pay_to,
            "amount_microunits": str(quote.terms.amount),
        }
        header = {"alg": "EdDSA", "kid": self.signer.kid, "typ": "JWT"}
        receipt = (signer or self.signer).sign(header, jcs_bytes(change(claims)))
        return {
            "service_id": SERVICE_ID,
            "result": result,
            "payable_receipt": receipt,
            "settled_payment_ref": reference,
            "request_hash": claims["request_hash"],
            "response_hash": response_hash,
        }

    def documents(self) -> dict[str, Any]:
        """Return the published documents by path (5.10)."""
        address = self.url + PATH
        operation = {
            "operationId": SERVICE_ID,
            "x-payment-info": {"price": {"mode": "fixed", "currency": "USD", "amount": "0.050000"}},
            "requestBody": {"content": {"application/json": {"schema": {"type": "object"}, "example": self.body}}},
            "responses": {"200": {"description": "The answer"}, "402": {"description": "Payment required"}},
        }
        info = {"title": "A rail of the suite", "version": "1"}
        method = {"id": f"{self.did}#{self.signer.kid}", "type": "JsonWebKey2020", "controller": self.did}
        return {
            JWKS: {"keys": [self.signer.jwk]},
            DID: {
                "@context": ["https://www.w3.org/ns/did/v1"],
                "id": self.did,
                "verificationMethod": [{**method, "publicKeyJwk": self.signer.jwk}],
                "assertionMethod": [method["id"]],
            },
            "/openapi.json": {"openapi": "3.1.0", "info": info, "paths": {PATH: {"post": operation}}},
            "/.well-known/x402": {"version": 1, "resources": [address]},
            "/discovery/resources": {"x402Version": 2, "items": [{"resource": address, "type": "http", "accepts": []}]},
            "/pay/v1/index": {"services": [{"service_id": SERVICE_ID, "path": PATH, "method": "POST"}]},
        }


def to_header(document: Mapping[str, Any]) -> str:
    """Return the value of a header that carries a JSON document in base64."""
    return base64.b64encode(json.dumps(document, separators=(",", ":")).encode()).decode()
