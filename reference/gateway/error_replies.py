"""Replies to calls that were refused or failed (3.2, P-CV-18)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from reference.gateway import refusals
from reference.lanes.lane import ChainUnavailable
from reference.store.database import DatabaseUnavailable
from reference.web.errors import Refused, Unprocessable, internal_error
from reference.web.http.exchange import JSON, Reply
from reference.web.logs import get_logger

_log = get_logger()
_INVALID = "the request does not fit the operation's schema; detail says where"


def fault_reply(fault: Exception, request_id: str) -> Reply:
    """Return the reply to a fault. An unplanned fault reveals nothing of its cause."""
    refusal = refusal_of(fault, request_id)
    return json_reply(refusal.status, refusal.body(request_id, context=True), refusal.headers)


def refusal_of(fault: Exception, request_id: str) -> Refused:
    """Return the refusal that a fault becomes. An unplanned fault is logged."""
    if isinstance(fault, Refused):
        return fault
    if isinstance(fault, Unprocessable):
        return Refused(422, "validation_error", _INVALID, fault.headers, fault.body())
    if isinstance(fault, DatabaseUnavailable):
        _log.error("database_unavailable", request_id=request_id)
        return refusals.store_unavailable()
    if isinstance(fault, ChainUnavailable):
        return refusals.chain_unavailable()
    # The text of an unplanned fault may contain data of another tenant, so it goes to the log only (P-CV-18).
    _log.error("unplanned_fault", request_id=request_id, kind=type(fault).__name__, exc_info=True)
    return internal_error()


def json_reply(status: int, value: Any, headers: Mapping[str, str] | None = None) -> Reply:
    """Return a reply with a JSON body."""
    return Reply(status, orjson.dumps(value), {"Content-Type": JSON, **(headers or {})})
