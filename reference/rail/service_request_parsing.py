"""Requests to services: reading them, and reporting what is wrong with a malformed one (P-CH-11, P-RA-05).

A malformed request is challenged over the service's example. A client that read only the price would buy the answer to
the example. So the challenge lists what was refused, and where.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from reference.fast_records import record
from reference.protocol.canonical_json import JsonValue, NotJson, parse
from reference.rail.challenges import Call
from reference.rail.services import Service
from reference.web.errors import Refused, Unprocessable
from reference.web.http.exchange import Request

Faults = Sequence[Mapping[str, Any]]
# Over A2A a challenge is kept with its task, so its faults stay short for any body (P-CH-11).
_MOST_FAULTS = 3
_LONGEST_PLACE = 6
_LONGEST_NAME = 40
_LONGEST_SENTENCE = 120
_NO_MEDIA_TYPE = "send the body as application/json"
_WRONG_MEDIA_TYPE = {"loc": ["header", "content-type"], "msg": _NO_MEDIA_TYPE, "type": "unsupported_media_type"}


@record
class ServiceRequest:
    """A request to a service.

    Attributes:
        body: The request as JSON was read.
        query: Raw query without `?`; empty over A2A (P-RH-01).
    """

    body: JsonValue
    query: str = ""


@record
class QuotedCall:
    """The call that a challenge quotes.

    Attributes:
        call: The call that it is bound to.
        faults: Why it is the example and not the sent request; empty if the request was valid or absent.
    """

    call: Call
    faults: Faults = ()


def read_service_request(request: Request) -> ServiceRequest:
    """Return the request to the service that an HTTP call carries.

    Raises:
        Refused: 415.
        Unprocessable: Its body is not JSON.
    """
    if not request.is_json:
        raise Refused(415, "unsupported_media_type", _NO_MEDIA_TYPE)
    try:
        return ServiceRequest(parse(request.body), request.query)
    except NotJson as fault:
        raise Unprocessable.not_json(str(fault)) from fault


def choose_quoted_call(request: Request, service: Service) -> QuotedCall:
    """Return the call to quote: the request itself, or the example if the request is malformed (P-CH-11)."""
    # P-CH-11: a call that is not a valid POST still gets 402, bound to the example, so that every challenge can be
    # redeemed by a client that reads it. There is nothing to report, since nothing was sent.
    if request.method != "POST" or not request.body:
        return QuotedCall(Call.example(service))
    try:
        service_request = read_service_request(request)
        _, canonical = service.parse_with_canonical(service_request.body)
    except Refused:
        # Step 7 comes before step 8: a body of another media type is not parsed, so this is its only fault.
        return QuotedCall(Call.example(service), [_WRONG_MEDIA_TYPE])
    except Unprocessable as fault:
        return QuotedCall(Call.example(service), shorten_faults(fault.detail))
    return QuotedCall(Call.of(service, service_request.body, service_request.query, canonical))


def shorten_faults(detail: Faults, root: str = "body") -> tuple[dict[str, Any], ...]:
    """Return the faults of a malformed request as a challenge lists them: the first few, each cut short.

    Args:
        detail: Items with `loc`, `msg` and `type`, as a 422 has them.
        root: The name that replaces `body` in locations of requests that came in another way.
    """
    return tuple(
        {"loc": _shorten_location(item["loc"], root), "msg": str(item["msg"])[:_LONGEST_SENTENCE], "type": item["type"]}
        for item in detail[:_MOST_FAULTS]
    )


def _shorten_location(loc: Sequence[Any], root: str) -> list[Any]:
    # Over A2A there is no HTTP body: the location names the member of the data part instead.
    whole = [root, *loc[1:]] if loc[:1] == ["body"] else list(loc)
    return [part[:_LONGEST_NAME] if isinstance(part, str) else part for part in whole[:_LONGEST_PLACE]]
