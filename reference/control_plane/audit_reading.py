"""The audit endpoint: GET /v1/audit (7.4)."""

from __future__ import annotations

import re
from collections.abc import Mapping

from reference.control_plane.audit_log import AuditLog
from reference.control_plane.call_context import Call, build_bad_query
from reference.protocol.canonical_json import MAX_INTEGER
from reference.web.http.detail_error_replies import json_reply
from reference.web.http.exchange import Reply

MOST = 1000
_NUMBER = re.compile(r"[0-9]{1,16}")


class AuditEndpoint:
    """Shows the audit log."""

    def __init__(self, log: AuditLog) -> None:
        self._log = log

    async def show(self, call: Call) -> Reply:
        """Answer GET /v1/audit."""
        query = call.read_query()
        after = _read_number(query, "after", 0, lowest=0, highest=MAX_INTEGER)
        limit = _read_number(query, "limit", MOST, lowest=1, highest=MOST)
        # A misspelt value must not read as a full check that was not made.
        if query.get("verify", "full") != "full":
            raise build_bad_query("verify", "is `full` or left out")
        page = await self._log.read_page(after=after, limit=limit, full="verify" in query)
        document = {
            "entries": [entry.wire() for entry in page.entries],
            "count": page.count,
            "head": {"seq": page.head.seq, "mac": page.head.mac},
            "valid": page.valid,
        }
        return json_reply(document, headers={"Cache-Control": "no-store"})


def _read_number(query: Mapping[str, str], name: str, usual: int, *, lowest: int, highest: int) -> int:
    text = query.get(name)
    if text is None:
        return usual
    if _NUMBER.fullmatch(text) is None or not lowest <= int(text) <= highest:
        raise build_bad_query(name, f"is a whole number from {lowest} to {highest}")
    return int(text)
