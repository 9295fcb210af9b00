"""A run's exchanges as an HTTP Archive (HAR 1.2), for the tools that read one: browsers' panels, proxies, converters.

Everything comes from the event log, so `$NAMES` replace secrets and live values in both. A page is a check. The log
contains no time of day of an exchange: each begins when the run did, and lasts as long as its answer took. `_` members
contain what HAR has no member for: the exchange's number, why there was no answer, and the receiver of a delivery.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import parse_qsl, quote, urlsplit

from conformance.log.events import Event
from conformance.report.summary import LogFault
from conformance.text.json_safe import json_safe

_VERSION: Final = "HTTP/1.1"
# HAR 1.2 writes -1 for a size that is unknown.
_UNKNOWN: Final = -1
_ARRIVALS: Final = "deliveries"
_STATUSES: Final = frozenset(map(int, HTTPStatus))
# What a URI may hold as it is; all else is escaped, so that a request that was broken on purpose has an address, too.
_URI: Final = ":/?#[]@!$&'()*+,;=%-._~"


def archive(events: Iterable[Event], check: str | None = None) -> dict[str, Any]:
    """Return the archive of a run as a JSON object.

    Args:
        events: The run.
        check: Only exchanges of this check; all by default.

    Raises:
        LogFault: There is no `run.started`.
    """
    listed = list(events)
    begin = next((event for event in listed if event["event"] == "run.started"), None)
    if begin is None:
        raise LogFault("the event log has no run.started, so that no run began")
    start_time = f"{dt.datetime.fromtimestamp(int(begin['started_at']), dt.UTC):%Y-%m-%dT%H:%M:%S}.000Z"
    told = [event for event in listed if event["event"] in {"exchange", "arrival"}]
    shown = [event for event in told if check is None or _page(event) == check]
    pages = dict.fromkeys(map(_page, shown))
    creator = {"name": "weldproof", "version": str(begin["suite_version"])}
    log = {
        "version": "1.2",
        "creator": creator,
        "pages": [{"startedDateTime": start_time, "id": one, "title": one, "pageTimings": {}} for one in pages],
        "entries": [_entry(event, start_time) for event in shown],
        "comment": f"run {begin['run_id']}, seed {begin['seed']}; $NAMES replace secrets and live values",
    }
    value: dict[str, Any] = json_safe({"log": log})
    return value


def _page(event: Event) -> str:
    return str(event.get("check") or _ARRIVALS)


def _entry(event: Event, start_time: str) -> dict[str, Any]:
    response = event["response"]
    took = 0.0 if response is None else max(0.0, float(response["milliseconds"]))
    entry = {
        "pageref": _page(event),
        "startedDateTime": start_time,
        "time": took,
        "request": _request(event["request"]),
        "response": _response(response),
        "cache": {},
        # HAR demands the three parts. Only their sum was measured.
        "timings": {"send": 0, "wait": took, "receive": 0},
        # The number of the exchange in the event log, by which `weldproof replay` finds it.
        "_number": event["n"],
    }
    if event["error"] is not None:
        entry["_error"] = str(event["error"])
    if event.get("worker") is not None:
        entry["_worker"] = str(event["worker"])
    if event["event"] == "arrival":
        entry["_delivered_to"] = str(event["destination"])
    return entry


def _request(request: Mapping[str, Any]) -> dict[str, Any]:
    address, body = quote(str(request["url"]), safe=_URI, errors="replace"), request["body"]
    found = {
        "method": str(request["method"]),
        "url": address,
        "httpVersion": _VERSION,
        "cookies": [],
        "headers": _headers(request["headers"]),
        "queryString": [
            {"name": name, "value": value} for name, value in parse_qsl(_query(address), keep_blank_values=True)
        ],
        "headersSize": _UNKNOWN,
        "bodySize": 0 if body is None else _UNKNOWN,
    }
    if body is not None:
        found["postData"] = {"mimeType": _type(request["headers"]), "text": str(body)}
    return found


def _query(address: str) -> str:
    try:
        return urlsplit(address).query
    except ValueError:  # a malformed host, sent on purpose
        return ""


def _response(response: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return an answer; where none came, one of status 0, as browsers write it."""
    status = 0 if response is None else int(response["status"])
    headers = [] if response is None else response["headers"]
    body, size = ("", 0) if response is None else (str(response["body"]), int(response["body_bytes"]))
    return {
        "status": status,
        "statusText": HTTPStatus(status).phrase if status in _STATUSES else "",
        "httpVersion": _VERSION,
        "cookies": [],
        "headers": _headers(headers),
        "content": {"size": size, "mimeType": _type(headers), "text": body},
        "redirectURL": next((str(value) for name, value in headers if name.lower() == "location"), ""),
        "headersSize": _UNKNOWN,
        "bodySize": size,
    }


def _headers(headers: Iterable[tuple[str, str]]) -> list[dict[str, str]]:
    return [{"name": str(name), "value": str(value)} for name, value in headers]


def _type(headers: Iterable[tuple[str, str]]) -> str:
    return next((str(value) for name, value in headers if name.lower() == "content-type"), "")
