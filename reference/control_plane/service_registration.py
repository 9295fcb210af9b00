"""Registration and removal of services (7.1)."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StrictStr

from reference.control_plane.audit_log import AuditLog, PlannedChange, ignore_number
from reference.control_plane.call_context import Call, build_not_found
from reference.protocol.audit_chain import Action
from reference.protocol.destination_address import Network, refusal
from reference.protocol.service_record import (
    LONGEST_ADDRESS,
    LONGEST_TYPE,
    checked_base_url,
    checked_health_path,
    is_name,
    origin_of,
    place_of,
)
from reference.protocol.time_text import utc_text
from reference.protocol.trust_set import meant_by
from reference.store.database import Change
from reference.store.services import Service, Services
from reference.web.errors import Refused, Unprocessable
from reference.web.http.detail_error_replies import json_reply
from reference.web.http.exchange import Reply

CHANGE_SECONDS = 60


class NewService(BaseModel):
    """A service with its health address; unknown members are ignored (P-CV-14)."""

    model_config = ConfigDict(strict=True, extra="ignore", frozen=True, hide_input_in_errors=True)

    name: Annotated[StrictStr, Field(pattern=r"\A[A-Za-z0-9._-]{1,64}\z")]
    type: Annotated[StrictStr, Field(pattern=r"\A[!-~]+\z", max_length=LONGEST_TYPE)] = "addon"
    base_url: Annotated[StrictStr, Field(max_length=LONGEST_ADDRESS), AfterValidator(checked_base_url)]
    health_path: Annotated[StrictStr, Field(max_length=LONGEST_ADDRESS), AfterValidator(checked_health_path)] = (
        "/health"
    )

    @property
    def members(self) -> dict[str, str]:
        """The members of its audit entry."""
        return {"type": self.type, "base_url": self.base_url, "health_path": self.health_path}


class ServiceRegister:
    """The services that share the trust set."""

    def __init__(self, services: Services, log: AuditLog, allowed_networks: tuple[Network, ...]) -> None:
        """Take the tables that are written.

        Args:
            services: The records.
            log: The audit log.
            allowed_networks: Networks that are not public and may hold services.
        """
        self._services = services
        self._log = log
        self._allowed_networks = allowed_networks

    async def register(self, call: Call) -> Reply:
        """Answer POST /v1/services: 201 for a new name, 200 for a recorded one."""
        request: NewService = call.content
        self._refuse_address(request)

        async def decide(now: int) -> tuple[tuple[int, int], PlannedChange | None]:
            recorded_service = await self._services.get(request.name)
            if call.by.is_bound_to_address:
                _refuse_elsewhere(request, recorded_service)
            # A service registers again every 30 s. The same record is no change, and makes no entry in the log.
            if recorded_service is not None and _members_of(recorded_service) == request.members:
                return (200, recorded_service.registered_at), None
            # Each change is an entry of the log for ever, so a service may change its own record once a minute
            # (decision 0070).
            if recorded_service is not None and not call.by.is_admin:
                _refuse_early(now - recorded_service.registered_at)

            def change(seq: int) -> Change:
                service = Service(request.name, seq, registered_at=now, **request.members)
                return (
                    self._services.build_insert(service)
                    if recorded_service is None
                    else self._services.build_replacement(service)
                )

            action = Action.SERVICE_REGISTERED if recorded_service is None else Action.SERVICE_UPDATED
            return (201 if recorded_service is None else 200, now), PlannedChange(
                action, request.name, request.members, change
            )

        status, registered_at = await self._log.change(decide, actor=call.by.actor)
        record: dict[str, Any] = {"name": request.name, **request.members, "registered_at": utc_text(registered_at)}
        return json_reply(record, status)

    def _refuse_address(self, request: NewService) -> None:
        """Refuse an IP address that may not be asked. The addresses of a name are judged at each question.

        Raises:
            Unprocessable: It is not public, and not in a network of `S2CP_SERVICE_NETWORKS`.
        """
        # Only a literal address can be judged now; a name may lead elsewhere at each lookup.
        literal = place_of(request.base_url).literal
        why = (
            None if literal is None else refusal(literal, allow_loopback=False, allowed_networks=self._allowed_networks)
        )
        if why is not None:
            sentence = f"the address is not public ({why}); S2CP_SERVICE_NETWORKS lists the networks that are allowed"
            raise Unprocessable([{"loc": ["body", "base_url"], "msg": sentence, "type": "value_error"}])

    async def remove(self, call: Call) -> Reply:
        """Answer DELETE /v1/services/{name}."""
        # A path segment can be percent-encoded or literal, and both spellings may be names of services.
        names = [text for text in meant_by(call.segment) if is_name(text)]

        async def decide(_: int) -> tuple[bool, PlannedChange | None]:
            for name in names:
                service = await self._services.get(name)
                if service is not None:
                    removal = ignore_number(self._services.build_removal(name))
                    return True, PlannedChange(Action.SERVICE_REMOVED, name, _members_of(service), removal)
            return False, None

        if not await self._log.change(decide):
            # A removal of what is not there adds no entry to the log.
            raise build_not_found()
        return Reply(204, b"", {})


def _refuse_elsewhere(request: NewService, service: Service | None) -> None:
    """Refuse a token without an address, if the service is not at the recorded address.

    Raises:
        Refused: 403.
    """
    if service is None or origin_of(service.base_url) != origin_of(request.base_url):
        sentence = (
            "Forbidden: this token registers the service only at the address that is recorded; make one for another "
            "address with weldproof-controlplane addon-token NAME --at URL"
        )
        raise Refused(403, "forbidden", sentence)


def _refuse_early(seconds: int) -> None:
    """Refuse a service that changes its own record too often: each change is an entry of the log, for ever.

    Raises:
        Refused: 429.
    """
    seconds_left = CHANGE_SECONDS - seconds
    if seconds_left > 0:
        sentence = f"Too Many Requests: a service changes its record once in {CHANGE_SECONDS} seconds"
        raise Refused(429, "rate_limited", sentence, {"Retry-After": str(seconds_left)})


def _members_of(service: Service) -> dict[str, str]:
    return {"type": service.type, "base_url": service.base_url, "health_path": service.health_path}
