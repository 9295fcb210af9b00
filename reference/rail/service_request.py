"""What is asked of a service, and what is told to somebody whose order is malformed (P-CH-11, P-RA-05).

A challenge over such an order is one over the example: whoever read nothing but the price would buy an answer about
somebody else. So the challenge says what was refused, and where.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from reference.protocol.canonical_json import JsonValue, NotJson, parse
from reference.rail.challenges import Call
from reference.rail.services import Service
from reference.records import record
from reference.web.errors import Refused, Unprocessable
from reference.web.http.exchange import Request

Faults = Sequence[Mapping[str, Any]]
# The challenge goes into a header of 7,168 bytes as well (P-CH-02): what it says of a body of any size stays short.
_MOST_FAULTS = 3
_LONGEST_PLACE = 6
_LONGEST_NAME = 40
_LONGEST_SENTENCE = 120
_NO_MEDIA_TYPE = "send the body as application/json"


@record
class ServiceRequest:
    """What is asked of a service.

    Attributes:
        body: The request as JSON was read.
        query: Raw query without `?`; empty at the A2A door (P-RH-01).
    """

    body: JsonValue
    query: str = ""


@record
class QuotedCall:
    """What a challenge is over.

    Attributes:
        call: The call that it is bound to.
        faults: Why that is the example and not what was sent; empty where it is what was sent, or nothing was sent.
    """

    call: Call
    faults: Faults = ()


def read_service_request(request: Request) -> ServiceRequest:
    """Return what a call orders.

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
    """Return what a challenge is bound to: the request itself, or the example where it is malformed (P-CH-11)."""
    if request.method != "POST" or not request.body:
        return QuotedCall(Call.example(service))
    try:
        service_request = read_service_request(request)
        _, canonical = service.parse_with_canonical(service_request.body)
    except Refused:
        return QuotedCall(Call.example(service), shorten_faults(_another_media_type()))
    except Unprocessable as fault:
        return QuotedCall(Call.example(service), shorten_faults(fault.detail))
    return QuotedCall(Call.of(service, service_request.body, service_request.query, canonical))


def _another_media_type() -> Faults:
    return [{"loc": ["header", "content-type"], "msg": _NO_MEDIA_TYPE, "type": "unsupported_media_type"}]


def shorten_faults(detail: Faults, root: str = "body") -> tuple[dict[str, Any], ...]:
    """Return the faults of a refused order as a challenge tells them: the first few, each cut short.

    Args:
        detail: Items with `loc`, `msg` and `type`, as a 422 has them.
        root: What stands for `body` where there is no body of HTTP.
    """
    return tuple(
        {"loc": _shorten_location(item["loc"], root), "msg": str(item["msg"])[:_LONGEST_SENTENCE], "type": item["type"]}
        for item in detail[:_MOST_FAULTS]
    )


def _shorten_location(loc: Sequence[Any], root: str) -> list[Any]:
    whole = [root, *loc[1:]] if loc[:1] == ["body"] else list(loc)
    return [part[:_LONGEST_NAME] if isinstance(part, str) else part for part in whole[:_LONGEST_PLACE]]
