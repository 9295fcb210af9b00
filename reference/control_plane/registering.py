"""Who may register which service: a token for each name, which registers that name and does nothing else (0042)."""

from __future__ import annotations

from dataclasses import dataclass

from reference.control_plane.calls import Operation
from reference.web.bearer_token import BearerToken, unauthorized
from reference.web.envelope import Scope
from reference.web.errors import Refused, Unprocessable
from reference.web.json_body import read_canonical

PATH = "/v1/services"


@dataclass(frozen=True, slots=True)
class Registering:
    """Judges registrations.

    Attributes:
        admin: The admin token.
        admin_registers: Whether that token registers services, as the interface shows.
    """

    admin: BearerToken
    admin_registers: bool = True

    def token(self, name: str) -> BearerToken:
        """Return the token of the service with a name."""
        return self.admin.derived(f"register service {name}")

    def is_one(self, operation: Operation) -> bool:
        """Return whether an operation is the registration of a service."""
        return (operation.method, operation.path) == ("POST", PATH)

    def judge(self, scope: Scope, body: bytes) -> None:
        """Judge a registration by its head and the name in its body.

        Raises:
            Refused: 401 without a token for that name; 403 for the admin token where it registers nothing.
        """
        if not self.admin.came_with(scope):
            if not self.token(_name(body)).came_with(scope):
                raise unauthorized()
        elif not self.admin_registers:
            sentence = "Forbidden: services register with tokens of their own here (weldproof-controlplane addon-token)"
            raise Refused(403, "forbidden", sentence)


def _name(body: bytes) -> str:
    """Return the name that a body gives, empty where it gives none: no service is called that."""
    try:
        record = read_canonical(body)
    except Unprocessable:
        return ""
    name = record.get("name") if isinstance(record, dict) else None
    return name if isinstance(name, str) else ""
