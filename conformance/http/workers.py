"""Services with several addresses: which worker each request of a run goes to."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import urlsplit

# Between the address of a service and the rest of a URL.
_BOUNDARIES = ("", "/", "?")


@dataclass(frozen=True, slots=True)
class Workers:
    """The workers of each service, between which the requests of a check alternate.

    A check begins with a worker that follows from the seed and its id, and each further request goes to the next one.
    So a challenge and its payment meet different workers, and a second run with the seed sends each request to the same
    worker.

    Attributes:
        seed: Seed of the run.
        services: Addresses of its workers by the address of each service, all without a slash at the end.
    """

    seed: int = 0
    services: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def choose(self, url: str, check: str, ordinal: int) -> str | None:
        """Return the URL at the worker that one request goes to, or None if the service has no list of workers.

        Args:
            url: URL of the request at the service.
            check: Id of the check that sends it.
            ordinal: Number of the request in its check; a repeat has one of the next ones.
        """
        base = self._find_service(url)
        if base is None:
            return None
        addresses = self.services[base]
        start = int.from_bytes(hashlib.sha256(f"{self.seed} {check}".encode()).digest()[:8])
        return addresses[(start + ordinal) % len(addresses)] + url.removeprefix(base)

    def list_urls(self, url: str) -> Sequence[str]:
        """Return a URL of a service as it is at each worker; empty if the service has no list of workers."""
        base = self._find_service(url)
        return () if base is None else [address + url.removeprefix(base) for address in self.services[base]]

    def _find_service(self, url: str) -> str | None:
        # The longest, if the address of a service is below that of another one.
        bases = [base for base in self.services if url.startswith(base) and url[len(base) :][:1] in _BOUNDARIES]
        return max(bases, key=len, default=None)


def origin_of(url: str) -> str:
    """Return the scheme and the authority of a URL."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"
