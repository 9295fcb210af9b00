"""Error replies of agent, control plane and addons: `{"detail":…}` (P-CV-13, P-CV-18)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from reference.web.errors import Refused, Unprocessable, internal_error
from reference.web.http.asgi_envelope import Scope
from reference.web.http.exchange import JSON, Reply
from reference.web.logs import get_logger

_log = get_logger()


def render_refusal(_: Scope, refusal: Refused) -> tuple[Mapping[str, str], bytes]:
    """Return the form of a refusal that is about the call and not about its body: `{"detail":"text"}`."""
    return {"content-type": JSON}, orjson.dumps(_detail(refusal))


def _detail(refusal: Refused) -> dict[str, str]:
    return {"detail": refusal.message}


def fault_reply(fault: Exception, request_id: str) -> Reply:
    """Return the answer to a fault: its own answer, or one without details if the fault is unexpected."""
    if isinstance(fault, Refused):
        return json_reply(_detail(fault), fault.status, fault.headers)
    if isinstance(fault, Unprocessable):
        return json_reply(fault.body(), 422, fault.headers)
    _log.error("unplanned_fault", request_id=request_id, kind=type(fault).__name__, exc_info=True)
    return json_reply(internal_error().body(request_id), 500)


def json_reply(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Reply:
    """Return an answer of JSON."""
    return Reply(status, orjson.dumps(value), {"Content-Type": JSON, **(headers or {})})
