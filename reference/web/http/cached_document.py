"""Cached documents: made once, and served with an entity tag."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from werkzeug.http import parse_etags

from reference.web.http.exchange import JSON, Reply


@dataclass(frozen=True, slots=True)
class Document:
    """Bytes as they are served.

    Attributes:
        body: The bytes.
        cache_control: `Cache-Control`.
        media_type: `Content-Type`.
    """

    body: bytes
    cache_control: str = "public, max-age=300"
    media_type: str = JSON

    @property
    def headers(self) -> dict[str, str]:
        """Headers of a 200."""
        # Derived from the bytes, so all workers and restarts give the same tag.
        tag = hashlib.sha256(self.body).hexdigest()[:32]
        return {"Content-Type": self.media_type, "Cache-Control": self.cache_control, "ETag": f'"{tag}"'}

    def reply(self, if_none_match: str | None) -> Reply:
        """Return the document, or 304 for a client that has it already.

        Args:
            if_none_match: `If-None-Match`: tags, weak ones among them, or `*` (RFC 9110, 13.1.2).
        """
        headers = self.headers
        if parse_etags(if_none_match).contains_weak(headers["ETag"].strip('"')):
            return Reply(304, b"", headers)
        return Reply(200, self.body, headers)
