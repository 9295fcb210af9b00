"""Credentials of the target's tenants: read from the profile, and redacted in the log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from conformance.http.client import Names
from conformance.outcome import Inconclusive
from conformance.target import Profile, Tenant


@dataclass(frozen=True, slots=True)
class Credentials:
    """The credentials of a tenant of the gateway.

    Attributes:
        name: Its name in the profile.
        id: The tenant id.
        key: The API key; the log contains its name only.
        networks: Network keys of its links, the usual one first; empty if the profile lists none.
        payout: Payout address by network key, in the tenant's order.
    """

    name: str
    id: str
    key: str
    networks: tuple[str, ...]
    payout: Mapping[str, str]

    @property
    def headers(self) -> dict[str, str]:
        """The two header fields of an authenticated call."""
        return {"Authorization": f"Bearer {self.key}", "X-Tenant-Id": self.id}


class Tenants:
    """The tenants of one target, by their names in the profile."""

    def __init__(self, profile: Profile, names: Names, prefix: str = "") -> None:
        self._profile = profile
        self._names = names
        self._prefix = prefix
        self._credentials: dict[str, Credentials] = {}
        self._limited_credentials: dict[str, Credentials] = {}

    def open(self) -> None:
        """Read the credentials, and their secrets into the redaction table."""
        self._credentials = {name: self._of(name, tenant) for name, tenant in self._profile.tenants.items()}
        if (limited_service := self._profile.limited.get("gateway")) is not None:
            self._limited_credentials = {
                name: self._of(name, tenant, "LIMITED_", self._credentials.get(name))
                for name, tenant in limited_service.tenants.items()
            }

    def get(self, name: str = "first", *, is_limited: bool = False) -> Credentials:
        """Return the credentials of a tenant, of the target or of the service for limit rows.

        Raises:
            Inconclusive: The profile has no such tenant.
        """
        credentials = self._limited_credentials if is_limited else self._credentials
        if name not in credentials:
            table = f"limited.gateway.tenants.{name}" if is_limited else f"tenants.{name}"
            raise Inconclusive(f"needs a tenant's credentials: give [{table}] with id, key and payout")
        return credentials[name]

    def headers(self) -> dict[str, str]:
        """Return the header fields of any tenant, for calls that may not need them; empty without a tenant."""
        return next((one.headers for one in self._credentials.values()), {})

    def find_first_on(self, network: str) -> Credentials:
        """Return the first tenant with a payout address on a network.

        Raises:
            Inconclusive: The profile has none.
        """
        return self.find_all_on(network)[0]

    def find_all_on(self, network: str) -> Sequence[Credentials]:
        """Return the tenants with a payout address on a network, in the profile's order; at least one.

        Raises:
            Inconclusive: The profile has none.
        """
        if matches := [credentials for credentials in self._credentials.values() if network in credentials.payout]:
            return matches
        usual = self._profile.usual_network(network)
        raise Inconclusive(
            f"needs a tenant with a payout address on {network}: give [tenants.NAME.payout] {network}, or, where the "
            f'target has another key for it, [networks.KEY] network = "{usual}", or, where its links are paid on '
            f"another network, the node of that in [gateway.chains.{network.partition('_')[0]}] with its network"
        )

    def _of(self, name: str, tenant: Tenant, prefix: str = "", like: Credentials | None = None) -> Credentials:
        """Return a tenant's credentials; networks that the profile does not list are those of the tenant `like`."""
        key = tenant.key.read()
        prefix = self._prefix + prefix
        # Before the first request, so that no line of the log can contain the key.
        self._names.secret(key, f"{prefix}TENANT_{name.upper()}_KEY")
        self._names.name(tenant.id, f"{prefix}TENANT_{name.upper()}_ID")
        own = tenant.networks or tuple(tenant.payout)
        networks, payout = (own, tenant.payout) if own or like is None else (like.networks, like.payout)
        return Credentials(name, tenant.id, key, networks, payout)


def list_variables(profile: Profile) -> list[str]:
    """Return the names that replace the operator's secrets and ids in the log, in alphabetical order."""
    of_tenants = [f"TENANT_{name.upper()}_{part}" for name in profile.tenants for part in ("ID", "KEY")]
    secrets_by_name = {"ADMIN_KEY": profile.gateway.admin_key, "ADMIN_TOKEN": profile.hub.token}
    if "gateway" in profile.limited:
        secrets_by_name["LIMITED_ADMIN_KEY"] = profile.limited["gateway"].admin_key
    secret_names = [name for name, secret in secrets_by_name.items() if secret is not None]
    return sorted({*of_tenants, *map(str.upper, profile.secrets), *secret_names})
