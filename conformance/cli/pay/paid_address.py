"""The address that `weldproof pay` pays: at a surface of the profile, or at a host that needs consent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Self
from urllib.parse import SplitResult, urlsplit

from conformance.cli.usage import UsageFault
from conformance.discovery.rail import PAID_PREFIX
from conformance.lanes.main_network_guard import is_local
from conformance.target import Profile, RailBindings, Surface

# Default ports, so that addresses with and without a port compare as equal.
_PORTS: Final = {"http": 80, "https": 443}

Origin = tuple[str, str, int]


@dataclass(frozen=True, slots=True)
class PaidAddress:
    """The address to pay, as it was typed, without a fragment.

    Attributes:
        url: The address, with its query.
        query: The query as it is sent, without the question mark; may be empty.
        origin: Scheme, host and port; all names of this machine are the same host.
    """

    url: str
    query: str
    origin: Origin

    @classmethod
    def of(cls, text: str) -> Self:
        """Parse an address.

        Raises:
            UsageFault: It is not an http or https address, or contains credentials.
        """
        try:
            parts, origin = urlsplit(text), _origin(text)
        except ValueError as fault:
            raise UsageFault(f"{text}: {fault}") from fault
        if origin is None:
            raise UsageFault(f"{text}: give an address that begins with http:// or https://")
        # In https://shop.example@evil.example/ the host is evil.example. A reader takes the first
        # name for the host.
        if "@" in parts.netloc:
            raise UsageFault(f"{text}: remove the name before @, because it hides the host that is called")
        return cls(parts._replace(fragment="").geturl(), parts.query, origin)

    @property
    def bare(self) -> str:
        """The address without its query."""
        return urlsplit(self.url)._replace(query="").geturl()

    @property
    def host(self) -> str:
        """Its host and port, as the address writes them."""
        return urlsplit(self.url).netloc

    def is_of(self, profile: Profile) -> bool:
        """Return whether a surface of the profile is at the same scheme, host and port."""
        return any(_origin(one.url) == self.origin for one in profile.surfaces.values())

    def rail(self, profile: Profile) -> Profile:
        """Return the profile with the rail at this address: the profile's rail, or one without any bindings."""
        surface = profile.surfaces.get("rail")
        base = "" if surface is None else surface.url.rstrip("/")
        if profile.claims_surface("rail") and _origin(base) == self.origin and _is_below(urlsplit(base), self.url):
            rail_url = self.bare[: len(self.bare) - len(urlsplit(self.url).path)] + urlsplit(base).path
            return profile.model_copy(update={"surfaces": {**profile.surfaces, "rail": Surface(url=rail_url)}})
        claims = profile.claims.model_copy(update={"surfaces": ("rail", *profile.claims.surfaces)})
        parts = urlsplit(self.bare)
        above = parts.path.rpartition(PAID_PREFIX)[0]
        surfaces = {**profile.surfaces, "rail": Surface(url=parts._replace(path=above).geturl())}
        # Bindings of the profile and defaults of the reference describe another rail.
        unknown_target = profile.target.model_copy(update={"defaults": "none"})
        update = {"surfaces": surfaces, "claims": claims, "target": unknown_target, "rail": RailBindings()}
        return profile.model_copy(update=update)


def _origin(url: str) -> Origin | None:
    parts = urlsplit(url)
    if parts.scheme not in _PORTS or not parts.hostname:
        return None
    host = "localhost" if is_local(url) else parts.hostname.rstrip(".")
    return parts.scheme, host, parts.port or _PORTS[parts.scheme]


def _is_below(base: SplitResult, url: str) -> bool:
    return urlsplit(url).path.startswith(base.path.rstrip("/") + "/")
