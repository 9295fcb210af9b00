"""Names of the rail that the interface leaves open, and the reference's own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal, Self

from pydantic import Field, model_validator

from conformance.target.chain import AtomicUnits
from conformance.target.grammar import PaidPath, Pattern, ReceiptPlace, RequestBodies, RequestBody, ResultPlace
from conformance.target.placeholder_validation import placeholders
from conformance.target.tables import Table

ROLES: Final = ("receipt-verify", "rfc9421-verify", "compliance-receipt")


Replay = Literal["stored-answer", "refuse"]
RequestHash = Literal["jcs-envelope", "jcs-envelope-plain", "jcs-body", "line-jcs-body", "raw-body", "line-raw-body"]
ResponseHash = Literal["jcs-result", "raw-body", "jcs-body", "jcs-body-unsigned", "jcs-body-without-receipt"]
SettledRef = Literal["payable-core", "sha256-tx", "sha256-network-tx", "raw-tx", "sha256-token", "raw-token"]


class RailBindings(Table):
    """Names of the rail that the interface leaves open. None means: discover it, else the row is `unbound`.

    Attributes:
        services: Path of each paid operation by its role: `receipt-verify`, `rfc9421-verify` and `compliance-receipt`
            are those of the interface, others may have any name. Paths start with `/pay/v1/`.
        bodies: A request body by role, as a table, that the operation accepts; unset, the OpenAPI document's example.
        other_bodies: Further bodies by role, a table or a list of tables, each another request that is accepted; bind
            one with each optional member, so that a captured proof is tried with them.
        receipt_at: Where the payable receipt is in a paid answer: `body:MEMBER.MEMBER` (`[0]` for the first of a
            list), `header:NAME`, or `header:NAME:MEMBER` inside the base64 JSON of a header.
        result_at: Where the service's result is in a paid answer: `body:MEMBER.MEMBER`, or `body:` for the whole.
        request_hash: Recipe of the claim that binds the request.
        response_hash: Recipe of the claim that binds the response.
        settled_payment_ref: Recipe of the claim that binds the payment.
        scheme: The `scheme` of the entries.
        challenge_ttl: Seconds that a challenge can be paid for.
        token_form: Regular expression that every challenge token matches.
        spent_status: Statuses for a payment that already bought something.
        chain_down_status: Statuses while the chain cannot be asked.
        replay: What the identical request with a spent payment gets.
        price_receipt_verify: Price of receipt verification in atomic units of USDC.
        a2a_uri: URI of the payment extension over A2A.
        a2a_request: The data part that asks for a service over A2A: `{service}` means its role, `{body}` its
            request, `{path}` and `{url}` where it is sold over HTTP.
    """

    services: Mapping[str, PaidPath] | None = None
    bodies: Mapping[str, RequestBody] | None = None
    other_bodies: Mapping[str, RequestBodies] | None = None
    receipt_at: ReceiptPlace | None = None
    result_at: ResultPlace | None = None
    request_hash: RequestHash | None = None
    response_hash: ResponseHash | None = None
    settled_payment_ref: SettledRef | None = None
    scheme: str | None = None
    challenge_ttl: int | None = Field(default=None, gt=0)
    token_form: Pattern | None = None
    spent_status: tuple[int, ...] = (409, 402)
    chain_down_status: tuple[int, ...] = (503, 402)
    replay: Replay | None = None
    price_receipt_verify: AtomicUnits = "10000"
    a2a_uri: str | None = None
    a2a_request: Annotated[Mapping[str, Any] | None, placeholders("service", "body", "path", "url")] = None

    @model_validator(mode="after")
    def _roles(self) -> Self:
        for name, table in (("bodies", self.bodies), ("other_bodies", self.other_bodies)):
            for role in table or {}:
                known_roles = (*ROLES, *(self.services or {}))
                if role not in known_roles:
                    raise ValueError(f"{name}: no service is {role!r}; known: {', '.join(dict.fromkeys(known_roles))}")
        return self


# What the specification chooses where the interface leaves a point open. It binds the reference, and a target that
# claims the specification; for other targets each of these values is discovered, bound, or missing.
REFERENCE_RAIL = RailBindings(
    services={
        "receipt-verify": "/pay/v1/verify/receipt",
        "rfc9421-verify": "/pay/v1/verify/rfc9421",
        "compliance-receipt": "/pay/v1/compliance/receipt",
    },
    receipt_at="body:payable_receipt",
    result_at="body:result",
    request_hash="jcs-envelope",
    response_hash="jcs-result",
    settled_payment_ref="payable-core",
    scheme="exact",
    challenge_ttl=1800,
    token_form=r"^[1-9][0-9]{9,10}:[0-9a-f]{16}:[0-9a-f]{64}$",  # noqa: S106 - a pattern, not a password
    spent_status=(409,),
    chain_down_status=(503,),
    replay="stored-answer",
    a2a_uri="https://github.com/google-agentic-commerce/a2a-x402/blob/main/spec/v0.2",
    a2a_request={"service_id": "{service}", "request": "{body}"},
)
