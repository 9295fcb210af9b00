"""The API for administrators, /internal: tenants, their keys, networks, webhooks and approval (3.9)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal
from urllib.parse import parse_qs

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, RootModel, StrictStr

from reference.gateway import refusals
from reference.gateway.call_admission import Call
from reference.gateway.error_replies import json_reply
from reference.gateway.idempotency import Idempotency
from reference.gateway.tenant_administration import TenantAdministration
from reference.gateway.webhooks import Webhooks
from reference.protocol.destination_address import MAX_URL, URL_FORM
from reference.protocol.webhook_delivery import DEFAULT_TYPES, EventType
from reference.store.link_payments import PaymentState
from reference.web.errors import Unprocessable
from reference.web.http.exchange import Reply


class _Request(BaseModel):
    model_config = ConfigDict(strict=True, extra="ignore", frozen=True, hide_input_in_errors=True)


class NewTenant(_Request):
    """The request for a new tenant."""

    name: Annotated[StrictStr, Field(min_length=1, max_length=255, pattern=r"\A[^\x00-\x1f\x7f]+\z")]


class NewKey(_Request):
    """The request for a new key."""

    mode: Literal["test", "live"]


class Decision(_Request):
    """The decision about a tenant's verification and plan."""

    status: Literal["approved", "rejected", "trial"]
    plan: Literal["trial", "paid"] | None = None


class Payout(_Request):
    """A tenant's payout address on one network."""

    payout_address: Annotated[StrictStr, Field(min_length=1, max_length=128)]


class Payouts(RootModel[dict[str, Payout]]):
    """A tenant's payout addresses by network key, in its order."""

    model_config = ConfigDict(strict=True, frozen=True, hide_input_in_errors=True)


_TYPES: Mapping[object, EventType] = {one.value: one for one in EventType}


def _event_types(value: object) -> object:
    """Replace the names of event types by the types. Other values are left for the schema to refuse."""
    # In strict mode pydantic accepts only members of the enumeration, and JSON has only their names.
    if not isinstance(value, list):
        return value
    return [_TYPES.get(one, one) if isinstance(one, str) else one for one in value]


class NewDestination(_Request):
    """The request for a new webhook destination."""

    url: Annotated[StrictStr, Field(max_length=MAX_URL, pattern=rf"\A{URL_FORM}\z")]
    events: Annotated[list[EventType], Field(min_length=1), BeforeValidator(_event_types)] = list(DEFAULT_TYPES)


class AdminApi:
    """The operations of administrators."""

    def __init__(self, tenancy: TenantAdministration, webhooks: Webhooks, idempotency: Idempotency) -> None:
        self._tenancy = tenancy
        self._webhooks = webhooks
        self._idempotency = idempotency

    async def create(self, call: Call) -> Reply:
        """Answer POST /internal/tenants."""
        return await self._idempotency.answer_with_writer(
            call, lambda keep: self._tenancy.create(call.content.name, keep)
        )

    async def show(self, call: Call) -> Reply:
        """Answer GET /internal/tenants/{id}."""
        return json_reply(200, await self._tenancy.record(call.arguments["tenant_id"]))

    async def add_key(self, call: Call) -> Reply:
        """Answer POST …/api-keys. A live key needs the scope `live:activate` in addition."""
        if call.content.mode == "live" and "live:activate" not in call.scopes:
            raise refusals.forbidden_scope("live:activate")
        tenant_id, mode = call.arguments["tenant_id"], call.content.mode
        return await self._idempotency.answer_with_writer(
            call, lambda keep: self._tenancy.add_key(tenant_id, mode, keep)
        )

    async def rotate_key(self, call: Call) -> Reply:
        """Answer POST …/api-keys/{key_id}/rotate. The rotation of a live key needs what a new live key needs."""
        tenant_id, key_id = call.arguments["tenant_id"], call.arguments["key_id"]
        scopes = call.scopes
        return await self._idempotency.answer_with_writer(
            call, lambda keep: self._tenancy.rotate_key(tenant_id, key_id, keep, scopes=scopes)
        )

    async def delete_key(self, call: Call) -> Reply:
        """Answer DELETE …/api-keys/{key_id}."""
        await self._tenancy.delete_key(call.arguments["tenant_id"], call.arguments["key_id"])
        return Reply(204, b"", {})

    async def set_networks(self, call: Call) -> Reply:
        """Answer PUT …/networks."""
        addresses = {key: payout.payout_address for key, payout in call.content.root.items()}
        await self._tenancy.set_payouts(call.arguments["tenant_id"], addresses)
        return await self.show(call)

    async def payments(self, call: Call) -> Reply:
        """Answer GET …/payments?state=…, with one of the states of payments."""
        states = parse_qs(call.request.query).get("state", [])
        if len(states) != 1 or states[0] not in set(PaymentState):
            where = {"loc": ["query", "state"], "msg": f"give one of {', '.join(PaymentState)}", "type": "enum"}
            raise Unprocessable([where])
        payments = await self._tenancy.payments(call.arguments["tenant_id"], PaymentState(states[0]))
        return json_reply(200, {"payments": payments})

    async def judge(self, call: Call) -> Reply:
        """Answer POST …/kyc."""
        await self._tenancy.judge(call.arguments["tenant_id"], call.content.status, call.content.plan)
        return await self.show(call)

    async def add_webhook(self, call: Call) -> Reply:
        """Answer POST …/webhooks."""
        tenant_id, destination = call.arguments["tenant_id"], call.content
        return await self._idempotency.answer_with_writer(
            call, lambda keep: self._webhooks.add(tenant_id, destination.url, destination.events, keep)
        )

    async def rotate_webhook(self, call: Call) -> Reply:
        """Answer POST …/webhooks/{destination_id}/rotate."""
        tenant_id, destination_id = call.arguments["tenant_id"], call.arguments["destination_id"]
        return await self._idempotency.answer_with_writer(
            call, lambda keep: self._webhooks.rotate(tenant_id, destination_id, keep)
        )

    async def delete_webhook(self, call: Call) -> Reply:
        """Answer DELETE …/webhooks/{destination_id}."""
        await self._webhooks.delete(call.arguments["tenant_id"], call.arguments["destination_id"])
        return Reply(204, b"", {})

    async def deliveries(self, call: Call) -> Reply:
        """Answer GET …/deliveries."""
        return json_reply(200, {"deliveries": await self._webhooks.deliveries(call.arguments["tenant_id"])})

    async def retry_delivery(self, call: Call) -> Reply:
        """Answer POST …/deliveries/{delivery_id}/retry."""
        await self._webhooks.retry(call.arguments["tenant_id"], call.arguments["delivery_id"])
        return json_reply(202, {"delivery_id": call.arguments["delivery_id"]})
