"""Price records of resources: POST /v1/resources and GET /v1/resources/{resource_id} (3.8)."""

from __future__ import annotations

import uuid
from typing import Annotated, Any

import orjson
from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt, StrictStr

from reference.gateway import refusals
from reference.gateway.call_admission import Call
from reference.gateway.idempotency import Idempotency, StoredResponse
from reference.protocol.canonical_json import MAX_INTEGER
from reference.protocol.networks import EXAMPLE, NETWORKS
from reference.protocol.time_text import utc_text
from reference.store.resources import Resources
from reference.web.clock import WpClock
from reference.web.http.exchange import JSON, Reply

# The value of `price_microalgos` in every record (3.8).
PRICE_MICROALGOS = 1_000_000
_Amount = Annotated[StrictInt, Field(ge=1, le=MAX_INTEGER)]
_Seconds = Annotated[StrictInt, Field(ge=1, le=31_536_000)]
_ShortSeconds = Annotated[StrictInt, Field(ge=1, le=86_400)]
_Cents = Annotated[StrictInt, Field(ge=0, le=MAX_INTEGER)]
_Id = Annotated[StrictStr, Field(pattern=r"\A[A-Za-z0-9._:-]{1,128}\z")]
_AssetId = Annotated[StrictStr, Field(min_length=1, max_length=128)] | Annotated[StrictInt, Field(ge=0, le=MAX_INTEGER)]
_Currency = Annotated[StrictStr, Field(min_length=1, max_length=8)]


class ResourceRequest(BaseModel):
    """The request for a resource. Unknown members are ignored (P-CV-14)."""

    model_config = ConfigDict(strict=True, extra="ignore", frozen=True, hide_input_in_errors=True)

    resource_id: _Id
    amount_microunits: _Amount
    payment_network: StrictStr = EXAMPLE
    networks: Annotated[list[StrictStr], Field(min_length=1, max_length=32)] | None = None
    asset_id: _AssetId | None = None
    access_ttl_secs: _Seconds = 3600
    requirement_ttl_secs: _ShortSeconds = 300
    note_binding_required: StrictBool = True
    price_fiat_cents: _Cents | None = None
    price_fiat_currency: _Currency | None = None


class ResourceRecords:
    """Creates and shows resources."""

    def __init__(self, clock: WpClock, resources: Resources, idempotency: Idempotency) -> None:
        self._clock = clock
        self._resources = resources
        self._idempotency = idempotency

    async def create(self, call: Call) -> Reply:
        """Answer POST /v1/resources."""
        request, tenant_id = call.content, call.tenant.tenant.id

        async def make() -> StoredResponse:
            # This check gives the exact error. The primary key decides between two calls at the same moment.
            if await self._resources.get(tenant_id, request.resource_id) is not None:
                raise refusals.resource_exists(request.resource_id)
            # The bytes of the answer are stored, so that later reads return exactly what was answered at the creation.
            body = orjson.dumps(self._record(request))
            return StoredResponse(
                201, body, (self._resources.build_insert(tenant_id, request.resource_id, body.decode()),)
            )

        return await self._idempotency.answer_once(call, make)

    async def show(self, call: Call) -> Reply:
        """Answer GET /v1/resources/{resource_id}. A resource of another tenant is not found."""
        record = await self._resources.get(call.tenant.tenant.id, call.arguments["resource_id"])
        if record is None:
            raise refusals.not_found()
        return Reply(200, record.encode(), {"Content-Type": JSON})

    def _record(self, request: ResourceRequest) -> dict[str, Any]:
        networks = request.networks or [request.payment_network]
        for key in (request.payment_network, *networks):
            if key not in NETWORKS:
                raise refusals.unsupported_network(key)
        asset_id = NETWORKS[request.payment_network].asset_id if request.asset_id is None else request.asset_id
        return {
            "id": str(uuid.uuid4()),
            **request.model_dump(),
            "networks": networks,
            "asset_id": asset_id,
            "is_active": True,
            "price_microalgos": PRICE_MICROALGOS,
            "created_at": utc_text(self._clock.now()),
        }
