"""Registration rights: tokens of one service name and address, which can do nothing else (decisions 0042, 0070)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from reference.control_plane.call_context import Operation, Registrant
from reference.protocol.audit_chain import service_actor
from reference.protocol.service_record import checked_base_url, origin_of
from reference.web.errors import Refused, Unprocessable
from reference.web.http.asgi_envelope import Scope
from reference.web.http.bearer_token import BearerToken, build_unauthorized
from reference.web.http.json_body import read_canonical

PATH = "/v1/services"


@dataclass(frozen=True, slots=True)
class RegistrationRights:
    """Judges registrations.

    Attributes:
        admin: The admin token.
        admin_registers: Whether the admin token may register services, as the interface shows.
    """

    admin: BearerToken
    admin_registers: bool = True

    def derive_token(self, name: str, origin: str = "") -> BearerToken:
        """Return the token of a service name at an origin; without an origin, at the recorded address."""
        # Computed and not stored: the token of a service needs no table, and all workers know it.
        return self.admin.derive(f"register service {name}" + (f" at {origin}" if origin else ""))

    def is_registration(self, operation: Operation) -> bool:
        """Return whether an operation is the registration of a service."""
        return (operation.method, operation.path) == ("POST", PATH)

    def judge(self, scope: Scope, body: bytes) -> Registrant:
        """Judge a registration by its head and the name and address in its body; return who registers.

        Raises:
            Refused: 401 without a token for that name and address; 403 for the admin token if it may not register.
        """
        # By the interface every addon may hold the admin token, so it is judged first (decision 0070).
        if self.admin.is_sent_with(scope):
            if self.admin_registers:
                return Registrant()
            sentence = "Forbidden: services register with tokens of their own here (weldproof-controlplane addon-token)"
            raise Refused(403, "forbidden", sentence)
        record = _read_record(body)
        name, origin = _text_member(record, "name"), _origin_of(record)
        if origin and self.derive_token(name, origin).is_sent_with(scope):
            return Registrant(service_actor(name))
        # Tokens of a name alone are older. They go on working at the recorded address, where they can change nothing
        # else (decision 0070).
        if self.derive_token(name).is_sent_with(scope):
            return Registrant(service_actor(name), is_bound_to_address=True)
        raise build_unauthorized()


def _read_record(body: bytes) -> Any:
    try:
        return read_canonical(body)
    except Unprocessable:
        return None


def _text_member(record: Any, member: str) -> str:
    """Return a member that is a text, or the empty string, which is not a service name."""
    value = record.get(member) if isinstance(record, dict) else None
    return value if isinstance(value, str) else ""


def _origin_of(record: Any) -> str:
    try:
        return origin_of(checked_base_url(_text_member(record, "base_url")))
    except ValueError:
        return ""
