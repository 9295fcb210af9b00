"""Answers to calls that are refused or fail, over REST and A2A (P-ER-04, P-CV-18)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from reference.protocol.error_codes import RAIL
from reference.store.database import DatabaseUnavailable
from reference.web.errors import Refused, Unprocessable, internal_error, refusal
from reference.web.http.exchange import Reply
from reference.web.logs import get_logger

_log = get_logger()


def fault_reply(fault: Exception, request_id: str) -> Reply:
    """Return the answer to a fault: its own answer, or one without details if the fault is unexpected."""
    if isinstance(fault, Refused):
        return json_reply(fault.status, fault.body(request_id), fault.headers)
    if isinstance(fault, Unprocessable):
        return json_reply(422, fault.body(), fault.headers)
    if isinstance(fault, DatabaseUnavailable):
        _log.error("ledger_unavailable", request_id=request_id)
        return fault_reply(refusal(RAIL["store_unavailable"]), request_id)
    # P-CV-18: the answer shows nothing of an unexpected fault; the request id leads from it to this line of the log.
    _log.error("unplanned_fault", request_id=request_id, kind=type(fault).__name__, exc_info=True)
    return fault_reply(internal_error(), request_id)


def json_reply(status: int, value: Any, headers: Mapping[str, str]) -> Reply:
    """Return an answer of JSON."""
    return Reply(status, orjson.dumps(value), {"Content-Type": "application/json", **headers})
