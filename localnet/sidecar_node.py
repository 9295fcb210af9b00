"""One real node as its control sidecar receives it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class SidecarTarget:
    """One node and the place of its control address.

    Attributes:
        kind: What the sidecar calls nodes of its lane.
        fd: Descriptor of a listening socket.
        url: The node's RPC.
        secret: File with what its verbs sign or ask with; None where they need nothing.
    """

    kind: str
    fd: int
    url: str
    secret: Path | None

    def words(self) -> list[str]:
        """Return the words that name this front to the sidecar."""
        return ["--front", self.kind, str(self.fd), self.url, str(self.secret or "")]
