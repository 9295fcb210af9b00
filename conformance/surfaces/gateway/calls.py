"""Calls of the gateway: creations of links and resources, and the classification of answers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from conformance.engine.check import Case
from conformance.engine.tenant_credentials import Credentials
from conformance.http.client import Answer, JsonFault
from conformance.oracles import jose
from conformance.outcome import Inconclusive
from conformance.surfaces import binding_hints
from conformance.surfaces.gateway.refusal_hints import explain_open_value
from conformance.target import GatewayBindings
from conformance.vocabulary.profile_claims import RECORDS

LINKS = "/v1/payment-links"
RESOURCES = "/v1/resources"
RECEIPT_VERIFY = "/v1/receipt/verify"
SCREEN = "/compliance/screen"
CHECKOUT = "/checkout/"
# A path that shows whether the gateway answers at all. It needs no credential.
OPEN_PATH = "/.well-known/jwks.json"
REQUEST_ID = "X-Request-Id"
_CREATED_STATUSES = (200, 201, 202)
_TOO_MANY_REQUESTS, _UNSUPPORTED_MEDIA_TYPE = 429, 415


class Caller(Protocol):
    """Sends one request to a gateway, by the path below its address."""

    async def __call__(
        self,
        method: str,
        path: str,
        *,
        json_body: Any = None,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """Return the answer."""


def target_of(case: Case) -> Caller:
    """Return the caller of the target itself."""
    return caller_at(case, case.session.gateway)


def caller_at(case: Case, address: str) -> Caller:
    """Return the caller of a gateway at an address, which has no slash at its end."""

    async def call(
        method: str,
        path: str,
        *,
        json_body: Any = None,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        return await case.client.call(method, address + path, json_body=json_body, body=body, headers=headers or {})

    return call


def follows_records(case: Case) -> bool:
    """Return whether the specification's rules for links and resources (3.3, 3.4, 3.8) apply to the target."""
    return case.profile.is_reference or case.profile.claims.includes(RECORDS)


def new_text(case: Case, kind: str = "key") -> str:
    """Return a new text with a name in the log, such as an Idempotency-Key."""
    # The nonce separates runs, and the count separates values of one run.
    value = f"wp-{kind}-{case.session.nonce}-{case.session.count()}"
    case.client.names.name(value, kind.upper())
    return value


@dataclass(frozen=True, slots=True)
class Creation:
    """A request to a creating endpoint, for one tenant."""

    path: str
    body: Mapping[str, Any]
    tenant: Credentials
    key: str | None = None

    @property
    def headers(self) -> dict[str, str]:
        """The header fields of the call."""
        return {**self.tenant.headers, **({} if self.key is None else {"Idempotency-Key": self.key})}


def link_body(case: Case, tenant: Credentials, **members: Any) -> dict[str, Any]:
    """Return a body that creates a payment link of 1.25 USDC on the tenant's first network, with `members` changed."""
    bindings = case.profile.gateway_bindings
    # Amount and label are small and plain, so that only `members` can be the reason of a
    # refusal.
    usual = {"amount": payable(bindings, 1.25), "currency": bindings.currency, "label": label_of(bindings)}
    # Without a known network the target has its own, if it may choose one.
    network = {"preferred_network": tenant.networks[0]} if tenant.networks else {}
    return {**usual, **bindings.link_body, **network, **members}


def payable(bindings: GatewayBindings, amount: float) -> float:
    """Return an amount in USDC that a link may ask: this one, or this much above the target's smallest amount."""
    least = float(bindings.smallest_amount or 0)
    return amount if amount >= least else round(amount + least, 6)


def label_of(bindings: GatewayBindings, label: str = "Weldproof order") -> str:
    """Return a label that a link may have: this one, or its end up to the longest label of the target."""
    longest = bindings.longest_label
    # The end of a label contains the mark that distinguishes links.
    return label if longest is None else label[-longest:]


def resource_body(case: Case) -> dict[str, Any]:
    """Return a body that creates a new resource each time.

    Raises:
        Inconclusive: The profile binds none.
    """
    template = case.profile.gateway_bindings.resource_body
    if template is None:
        raise Inconclusive("unbound: no body creates a resource; give [gateway] resource_body")
    return {name: _fill_unique(case, value) for name, value in template.items()}


def has_unique(bindings: GatewayBindings) -> bool:
    """Return whether the bound resource body contains `{unique}`."""
    return "{unique}" in json.dumps(dict(bindings.resource_body or {}))


def _fill_unique(case: Case, value: Any) -> Any:
    if isinstance(value, str) and "{unique}" in value:
        text = value.replace("{unique}", f"{case.session.nonce}{case.session.count()}")
        case.client.names.name(text, "RESOURCE")
        return text
    return value


def bodies(case: Case, tenant: Credentials) -> dict[str, dict[str, Any]]:
    """Return one body for each creating endpoint with a known body; links come first."""
    by_path = {LINKS: link_body(case, tenant)}
    if case.profile.gateway_bindings.resource_body is not None:
        by_path[RESOURCES] = resource_body(case)
    return by_path


async def receipt_body(
    case: Case, call: Caller | None = None, headers: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Return a body for receipt verification: a new receipt of the gateway, else an invalid one."""
    bindings = case.profile.gateway_bindings
    token = "e30.e30.AA"  # noqa: S105 - two empty objects and no signature
    if bindings.screen_body is not None:
        sent_headers = case.session.tenants.headers() if headers is None else headers
        answer = await (call or target_of(case))(
            "POST", SCREEN, json_body=dict(bindings.screen_body), headers=sent_headers
        )
        token = next((text for _, text in jose.tokens_in(answer.read_object(), {})), token)
    case.client.names.name(token, "RECEIPT")
    return {bindings.receipt_member or "jws": token}


async def post(call: Caller, creation: Creation) -> Answer:
    """Post a creation."""
    return await call("POST", creation.path, json_body=dict(creation.body), headers=creation.headers)


async def create(case: Case, creation: Creation, call: Caller | None = None) -> Answer:
    """Post a creation that must succeed for the check to continue.

    Raises:
        Inconclusive: It did not, which GW-LINK-01 and GW-RES-02 judge.
    """
    answer = await post(call or target_of(case), creation)
    if not is_created(case, answer):
        # A refusal may be about a value that the interface leaves open. It must not fail the
        # target.
        open_point = explain_open_value(case.profile, creation.path, answer)
        raise Inconclusive(open_point or f"a plain POST {creation.path} was answered {answer.status}: {short(answer)}")
    name_live_values(case, answer)
    return answer


def expect_created(
    case: Case, row: str, path: str, answer: Answer, expectation: str, where: Mapping[str, str] | None = None
) -> None:
    """Judge that a plain creation succeeded, or name the key of the profile that its refusal asks for."""
    open_point = None if is_created(case, answer) else explain_open_value(case.profile, path, answer)
    if open_point is not None:
        case.mark_inconclusive(row, open_point, exchange=answer)
        return
    description = brief(answer)
    hint = binding_hints.of_credentials(answer)
    case.expect(row, is_created(case, answer), expectation, description, exchange=answer, where=where, hint=hint)


async def create_link(
    case: Case, tenant: Credentials | None = None, *, key: str | None = None, **members: Any
) -> Answer:
    """Create a payment link and return the answer, whose token is named in the log.

    Raises:
        Inconclusive: It was not created, which GW-LINK-01 judges, or the profile has no tenant.
    """
    owner = tenant or case.session.tenants.get()
    return await create(case, Creation(LINKS, link_body(case, owner, **members), owner, key))


def name_live_values(case: Case, answer: Answer) -> Answer:
    """Give the live values of a creation's answer names in the log, and return it."""
    for member, value in answer.read_object().items():
        if member in {"token", "checkout_url", "id"} and isinstance(value, str):
            case.client.names.name(value, member.upper())
    return answer


async def send_plain_link(case: Case, tenant: Credentials) -> Answer:
    """Send a plain creation of a link with a tenant's key, and return the answer."""
    return name_live_values(case, await post(target_of(case), Creation(LINKS, link_body(case, tenant), tenant)))


def is_created(case: Case, answer: Answer) -> bool:
    """Return whether a creating call succeeded, by the profile's statuses or any usual one, with a JSON object."""
    return answer.status in (case.profile.gateway_bindings.create_status or _CREATED_STATUSES) and bool(
        answer.read_object()
    )


def is_refused(answer: Answer) -> bool:
    """Return whether a request was refused for its content: a client error except 429."""
    return 400 <= answer.status < 500 and answer.status != _TOO_MANY_REQUESTS


def is_rejected(answer: Answer) -> bool:
    """Return whether a call was rejected for its credentials; the interface leaves the client error open."""
    return is_refused(answer) and answer.status != _UNSUPPORTED_MEDIA_TYPE


def envelope_fault(answer: Answer) -> str | None:
    """Return what is wrong with an error body: it must be an object with texts `error` and `message`."""
    try:
        document = answer.parse_json()
    except JsonFault as fault:
        return str(fault)
    if not isinstance(document, dict):
        return f"the body is no object: {short(answer)}"
    for member in ("error", "message"):
        value = document.get(member)
        if not isinstance(value, str) or not value.strip():
            return f"{member} is {json.dumps(value)[:80]}"
    return None


def token_of(answer: Answer) -> str | None:
    """Return the token of a link, or None."""
    token = answer.read_object().get("token")
    return token if isinstance(token, str) and token else None


def short(answer: Answer) -> str:
    """Return the beginning of a body, for a reader."""
    return answer.body[:160].decode("utf-8", "replace")


def brief(answer: Answer) -> str:
    """Return the status and the beginning of a body, for a reader."""
    return f"{answer.status} {short(answer)}"
