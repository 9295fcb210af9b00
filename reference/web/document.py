"""A document that is made once and served as it is."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from reference.web.exchange import JSON


@dataclass(frozen=True, slots=True)
class Document:
    """Bytes as they are served.

    Attributes:
        body: The bytes.
        caching: `Cache-Control`.
    """

    body: bytes
    caching: str = "public, max-age=300"

    @property
    def headers(self) -> dict[str, str]:
        """Headers of a 200."""
        tag = hashlib.sha256(self.body).hexdigest()[:32]
        return {"Content-Type": JSON, "Cache-Control": self.caching, "ETag": f'"{tag}"'}
