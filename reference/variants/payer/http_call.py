"""HTTP calls of the payer: one request, one answer, no redirect is followed."""

from __future__ import annotations

import http.client
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

_LONGEST_ANSWER = 4 * 1024 * 1024
_SECONDS = 12.0
# Status of the answer that a task over A2A stands for whose payment is not decided yet.
NOT_DECIDED = 202


class NoAnswer(Exception):
    """No whole answer came; the request may have arrived."""


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer.

    Attributes:
        status: HTTP status.
        headers: Header fields, their names in lower case.
        body: The body.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def members(self) -> dict[str, Any]:
        """The members of a JSON object; empty for anything else."""
        try:
            value = json.loads(self.body)
        except (ValueError, RecursionError):
            return {}
        return value if isinstance(value, dict) else {}


def send_request(method: str, url: str, body: bytes | None = None, headers: Mapping[str, str] | None = None) -> Answer:
    """Send a request and return the answer.

    Raises:
        NoAnswer: No answer came, or it is not whole.
    """
    parts = urlsplit(url)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = kind(parts.netloc, timeout=_SECONDS)
    try:
        # `http.client` follows no redirect: a proof is for this host alone.
        connection.request(method, parts._replace(scheme="", netloc="").geturl() or "/", body, dict(headers or {}))
        answer = connection.getresponse()
        content = answer.read(_LONGEST_ANSWER)
        return Answer(answer.status, {name.lower(): value for name, value in answer.getheaders()}, content)
    except (OSError, http.client.HTTPException) as fault:
        raise NoAnswer(f"{parts.netloc}: {type(fault).__name__}") from fault
    finally:
        connection.close()
