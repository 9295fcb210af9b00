"""What a call is answered that is refused or went wrong (profile 3.2, P-CV-18)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson
import structlog

from reference.chains.lane import ChainUnavailable
from reference.gateway import refusals
from reference.store.database import DatabaseUnavailable
from reference.web.errors import Refused, Unprocessable, internal_error
from reference.web.exchange import JSON, Reply

_log = structlog.get_logger()
_INVALID = "the request does not fit the operation's schema; detail says where"


def fault_reply(fault: Exception, request_id: str) -> Reply:
    """Return the answer to a fault: its own, or nothing of what happened when nobody planned it."""
    if isinstance(fault, Refused):
        return json_reply(fault.status, fault.body(request_id, context=True), fault.headers)
    if isinstance(fault, Unprocessable):
        refusal = Refused(422, "validation_error", _INVALID, fault.headers, fault.body())
        return fault_reply(refusal, request_id)
    if isinstance(fault, DatabaseUnavailable):
        _log.error("database_unavailable", request_id=request_id)
        return fault_reply(refusals.store_unavailable(), request_id)
    if isinstance(fault, ChainUnavailable):
        return fault_reply(refusals.chain_unavailable(), request_id)
    _log.error("unplanned_fault", request_id=request_id, kind=type(fault).__name__, exc_info=True)
    return fault_reply(internal_error(), request_id)


def json_reply(status: int, value: Any, headers: Mapping[str, str] | None = None) -> Reply:
    """Return an answer of JSON."""
    return Reply(status, orjson.dumps(value), {"Content-Type": JSON, **(headers or {})})
