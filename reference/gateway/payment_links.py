"""Creation of payment links, POST /v1/payment-links (3.4)."""

from __future__ import annotations

import re
import secrets
import uuid
from collections.abc import Collection
from decimal import Decimal
from typing import Annotated, Any, NoReturn

import orjson
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StrictStr, field_validator
from pydantic_core import PydanticCustomError

from reference.gateway import refusals
from reference.gateway.call_admission import Body, Call, fit_model
from reference.gateway.credentials import Caller, digest_of, fresh_secret
from reference.gateway.idempotency import Idempotency, StoredResponse
from reference.gateway.lookalikes import BIDI_CONTROLS
from reference.gateway.merchant_branding import Storefronts
from reference.gateway.return_addresses import MAX_REDIRECT, is_at_shop, is_redirect
from reference.gateway.settings import GatewaySettings
from reference.protocol.canonical_json import NumberText, number_text
from reference.protocol.error_codes import GATEWAY
from reference.protocol.keys import base64url
from reference.protocol.money import decimal_text, microunits_of
from reference.protocol.networks import NETWORKS, Network
from reference.protocol.time_text import utc_text
from reference.protocol.trial_limits import LinkRefused, TenantStatus, admit_link
from reference.store.links import Link, Links, Price
from reference.store.tenants import Tenants
from reference.web.clock import WpClock
from reference.web.errors import Unprocessable, refusal
from reference.web.http.exchange import Reply

TOKEN_BYTES = 16
_CURRENCY = re.compile(r"[A-Za-z]{3,8}")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_BIDI_CONTROL = re.compile(f"[{BIDI_CONTROLS}]")


def _number(value: object) -> object:
    # The amount is read as the literal text of the JSON number. A float would round 0.1 before it is converted
    # (P-MN-02).
    if not isinstance(value, NumberText):
        raise PydanticCustomError("number_type", "give a JSON number, not a string")
    return str(value)


class PaymentLinkRequest(BaseModel):
    """The request for a link. Unknown members are ignored (P-CV-14)."""

    model_config = ConfigDict(strict=True, extra="ignore", frozen=True, hide_input_in_errors=True)

    amount: Annotated[str, BeforeValidator(_number)]
    currency: Annotated[StrictStr, Field(min_length=3, max_length=8)]
    label: Annotated[StrictStr, Field(min_length=1, max_length=255)]
    preferred_network: StrictStr | None = None
    redirect_url: Annotated[StrictStr, Field(max_length=MAX_REDIRECT)] | None = None
    expires_in_seconds: Annotated[int, Field(strict=True)] | None = None

    @field_validator("amount")
    @classmethod
    def _is_positive(cls, literal: str) -> str:
        if literal.startswith("-") or not re.search(r"[1-9]", re.split(r"[eE]", literal)[0]):
            raise PydanticCustomError("greater_than", "give an amount greater than 0")
        return literal

    @field_validator("currency")
    @classmethod
    def _is_letters(cls, text: str) -> str:
        if _CURRENCY.fullmatch(text) is None:
            raise PydanticCustomError("currency_form", "give 3 to 8 letters, like USD")
        return text

    @field_validator("label")
    @classmethod
    def _is_a_line(cls, text: str) -> str:
        if _CONTROL.search(text):
            raise PydanticCustomError("label_form", "give text without control characters")
        if _BIDI_CONTROL.search(text):
            # Labels come back unchanged, so characters that would garble the page are refused instead of removed
            # (0073).
            raise PydanticCustomError("label_direction", "give text without characters that turn its direction")
        return text


class PaymentLinks:
    """Creates links."""

    def __init__(
        self,
        settings: GatewaySettings,
        clock: WpClock,
        tenants: Tenants,
        links: Links,
        idempotency: Idempotency,
        networks: Collection[str],
        storefronts: Storefronts,
    ) -> None:
        self._settings = settings
        self._clock = clock
        self._tenants = tenants
        self._links = links
        self._idempotency = idempotency
        self._networks = networks
        self._storefronts = storefronts

    def read_request(self, body: Body) -> PaymentLinkRequest:
        """Return the request in a body. Its amount is the literal text of the number (P-MN-02).

        Raises:
            Unprocessable: The body has another form.
        """
        value = body.value
        if isinstance(value, dict) and "amount" in value:
            value = {**value, "amount": number_text(body.data, "amount")}
        return self.build_request(value)

    def build_request(self, value: object) -> PaymentLinkRequest:
        """Return the request with these members. Its amount is a `NumberText`.

        Raises:
            Unprocessable: They have another form.
        """
        request = fit_model(PaymentLinkRequest, value)
        self._check_lifetime(request.expires_in_seconds)
        self._check_redirect(request.redirect_url)
        return request

    async def create(self, call: Call) -> Reply:
        """Answer POST /v1/payment-links."""

        async def make() -> StoredResponse:
            link, secret = await self._check_and_build_link(call.tenant, call.content)
            changes = self._links.build_insert(link), self._links.build_price(link, self._price(call.content))
            return StoredResponse(201, orjson.dumps(self._answer(link, secret)), changes)

        return await self._idempotency.answer_once(call, make)

    async def make(self, caller: Caller, request: PaymentLinkRequest) -> Link:
        """Create a link for a tenant at the dashboard, by the same rules.

        Raises:
            Refused: The tenant may not have this link.
            Unprocessable: A member is out of range.
        """
        link, _ = await self._check_and_build_link(caller, request)
        await self._links.add(link, self._price(request))
        return link

    async def _check_and_build_link(self, caller: Caller, request: PaymentLinkRequest) -> tuple[Link, str]:
        # A link that is created by a wrong clock would expire too early or too late, so none is created while it is in
        # doubt.
        self._clock.refuse_in_doubt()
        return await self._build_link(caller, request)

    async def _build_link(self, caller: Caller, request: PaymentLinkRequest) -> tuple[Link, str]:
        tenant, now = caller.tenant, self._clock.now()
        amount = self._microunits(request)
        network, pay_to = await self._network(tenant.id, request.preferred_network)
        # The trial rules come after the network, because they differ by network, and before anything is stored (3.10).
        await self._admit(caller, network, amount, now)
        await self._check_shop(tenant.id, request.redirect_url)
        secret = fresh_secret()
        lifetime = request.expires_in_seconds or self._settings.link_ttl_default
        link = Link(
            id=str(uuid.uuid4()),
            tenant_id=tenant.id,
            token=base64url(secrets.token_bytes(TOKEN_BYTES)),
            network=network.key,
            amount_microunits=amount,
            pay_to=pay_to,
            label=request.label,
            redirect_url=request.redirect_url,
            cancel_digest=digest_of(secret),
            created_at=now,
            expires_at=now + lifetime,
        )
        return link, secret

    def _microunits(self, request: PaymentLinkRequest) -> int:
        currency = request.currency.upper()
        rate: Decimal | None = self._settings.rates.get(currency)
        if rate is None:
            raise refusals.unsupported_currency(currency)
        try:
            return microunits_of(request.amount, rate)
        except ValueError as fault:
            _refuse("amount", str(fault), "amount_range")

    def _price(self, request: PaymentLinkRequest) -> Price:
        """Return the order of an admitted request, for people. Its amount is rounded to twelve digits."""
        currency = request.currency.upper()
        amount, rate = Decimal(request.amount), self._settings.rates[currency]
        return Price(decimal_text(amount, digits=12), currency, decimal_text(rate))

    async def _network(self, tenant_id: str, preferred_key: str | None) -> tuple[Network, str]:
        payouts = await self._tenants.payouts(tenant_id)
        key = preferred_key if preferred_key is not None else next(iter(payouts), None)
        if key is None or key not in payouts or key not in self._networks:
            raise refusals.unsupported_network(key)
        return NETWORKS[key], payouts[key]

    async def _admit(self, caller: Caller, network: Network, amount: int, now: int) -> None:
        tenant = caller.tenant
        trial_standing = TenantStatus(
            kyc_status=tenant.kyc_status,
            plan=tenant.plan,
            trial_ends_at=tenant.trial_ends_at,
            key_mode=caller.mode,
            used_microunits=await self._used(caller, network),
            allowance_microunits=self._settings.mainnet_allowance_microunits,
        )
        try:
            admit_link(trial_standing, network, amount, now=now)
        except LinkRefused as refused:
            raise refusal(GATEWAY[refused.code], context=refused.context) from refused

    async def _used(self, caller: Caller, network: Network) -> int:
        """Return what the tenant has used of its mainnet allowance."""
        tenant = caller.tenant
        # Only mainnet links of the plan `trial` have an allowance. For all others the sum is not computed (P-TR-06).
        return 0 if network.is_test or tenant.plan != "trial" else await self._links.paid_on_mainnet(tenant.id)

    def _answer(self, link: Link, secret: str) -> dict[str, Any]:
        network = NETWORKS[link.network]
        return {
            "id": link.id,
            "token": link.token,
            "checkout_url": f"{self._settings.public_url}/checkout/{link.token}",
            "amount_microunits": link.amount_microunits,
            "asset_id": network.asset_id,
            "chain": network.label,
            "label": link.label,
            "expires_at": utc_text(link.expires_at),
            "created_at": utc_text(link.created_at),
            "cancel_secret": secret,
        }

    def _check_lifetime(self, seconds: int | None) -> None:
        least, most = self._settings.link_ttl_min, self._settings.link_ttl_max
        if seconds is not None and not least <= seconds <= most:
            _refuse("expires_in_seconds", f"give an integer from {least} to {most}", "int_range")

    async def _check_shop(self, tenant_id: str, url: str | None) -> None:
        """Accept an address for payers: if the tenant has registered addresses, one of their origins."""
        if url is None:
            return
        shop_addresses = await self._storefronts.addresses(tenant_id)
        if shop_addresses and not is_at_shop(url, shop_addresses):
            _refuse("redirect_url", "give an address of the shop, as registered for the checkout", "return_address")

    def _check_redirect(self, url: str | None) -> None:
        if url is not None and not is_redirect(url, loopback=self._settings.mode == "test"):
            _refuse("redirect_url", "give an absolute https address", "url_form")


def _refuse(member: str, message: str, kind: str) -> NoReturn:
    raise Unprocessable([{"loc": ["body", member], "msg": message, "type": kind}])
