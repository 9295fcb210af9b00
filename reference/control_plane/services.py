"""Registering and removing services (7.1)."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StrictStr

from reference.control_plane.audit_log import AuditLog, Planned, unnumbered
from reference.control_plane.calls import Call, not_found
from reference.protocol.audit_chain import Action
from reference.protocol.service_record import (
    LONGEST_ADDRESS,
    LONGEST_TYPE,
    checked_base_url,
    checked_health_path,
    is_name,
)
from reference.protocol.times import utc_text
from reference.protocol.trust_set import meant_by
from reference.store.database import Change
from reference.store.services import Service, Services
from reference.web.detail_faults import json_reply
from reference.web.exchange import Reply


class NewService(BaseModel):
    """A service with the address at which its health is asked for; unknown members are ignored (P-CV-14)."""

    model_config = ConfigDict(strict=True, extra="ignore", frozen=True, hide_input_in_errors=True)

    name: Annotated[StrictStr, Field(pattern=r"\A[A-Za-z0-9._-]{1,64}\z")]
    type: Annotated[StrictStr, Field(pattern=r"\A[!-~]+\z", max_length=LONGEST_TYPE)] = "addon"
    base_url: Annotated[StrictStr, Field(max_length=LONGEST_ADDRESS), AfterValidator(checked_base_url)]
    health_path: Annotated[StrictStr, Field(max_length=LONGEST_ADDRESS), AfterValidator(checked_health_path)] = (
        "/health"
    )

    @property
    def members(self) -> dict[str, str]:
        """What the log tells of it."""
        return {"type": self.type, "base_url": self.base_url, "health_path": self.health_path}


class ServiceRegister:
    """The services that share the trust set."""

    def __init__(self, services: Services, log: AuditLog) -> None:
        self._services = services
        self._log = log

    async def register(self, call: Call) -> Reply:
        """Answer POST /v1/services: 201 for a new name, 200 for one that is there and has this record now."""
        request: NewService = call.content

        async def decide(now: int) -> tuple[tuple[int, int], Planned | None]:
            known = await self._services.get(request.name)
            if known is not None and _members(known) == request.members:
                return (200, known.registered_at), None

            def change(seq: int) -> Change:
                service = Service(request.name, seq, registered_at=now, **request.members)
                return self._services.insertion(service) if known is None else self._services.replacement(service)

            action = Action.SERVICE_REGISTERED if known is None else Action.SERVICE_UPDATED
            return (201 if known is None else 200, now), Planned(action, request.name, request.members, change)

        status, registered_at = await self._log.change(decide)
        record: dict[str, Any] = {"name": request.name, **request.members, "registered_at": utc_text(registered_at)}
        return json_reply(record, status)

    async def remove(self, call: Call) -> Reply:
        """Answer DELETE /v1/services/{name}."""
        meant = [text for text in meant_by(call.segment) if is_name(text)]

        async def decide(_: int) -> tuple[bool, Planned | None]:
            for name in meant:
                known = await self._services.get(name)
                if known is not None:
                    gone = unnumbered(self._services.removal(name))
                    return True, Planned(Action.SERVICE_REMOVED, name, _members(known), gone)
            return False, None

        if not await self._log.change(decide):
            raise not_found()
        return Reply(204, b"", {})


def _members(service: Service) -> dict[str, str]:
    return {"type": service.type, "base_url": service.base_url, "health_path": service.health_path}
