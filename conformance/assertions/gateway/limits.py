"""Whether a rate limit holds: which calls were refused, and whether they came fast enough for a verdict."""

from __future__ import annotations

import re
from collections.abc import Sequence
from email.utils import parsedate_to_datetime

from conformance.engine.check import Case
from conformance.http.client import Answer
from conformance.outcome import Inconclusive
from conformance.surfaces.gateway.calls import REQUEST_ID, envelope_fault
from conformance.surfaces.gateway.rate_limited_gateway import LimitedGateway

MINUTE = 60.0


def select_throttled(answers: Sequence[Answer]) -> list[Answer]:
    """Return the answers with status 429."""
    return [answer for answer in answers if answer.status == 429]


def require_quick_calls(service: LimitedGateway, start_time: float, refusals: Sequence[Answer], load_name: str) -> None:
    """Continue if calls met a limit of a minute, or were fast enough by the service's clock that they had to.

    Raises:
        Inconclusive: They took longer than a minute, so they may not have reached the limit.
    """
    if not refusals and service.now - start_time > MINUTE:
        raise Inconclusive(f"{load_name} took more than a minute: too slow from here to reach the limit")


def judge_throttled(case: Case, service: LimitedGateway, answer: Answer) -> None:
    """Judge what every 429 must carry, under any limit: Retry-After, the error envelope, a request id."""
    value, wait = answer.headers.get("Retry-After", "none"), read_retry_after(answer, service.now)
    case.expect("GW-RATE-03", wait is not None, "seconds or an HTTP date", value, exchange=answer)
    fault = envelope_fault(answer)
    case.expect("GW-RATE-04", fault is None, "the envelope with error and message", fault, exchange=answer)
    has_id, where = bool(answer.headers.get(REQUEST_ID, "").strip()), {"status": "429"}
    case.expect("GW-HTTP-08", has_id, "X-Request-Id", "one" if has_id else "none", exchange=answer, where=where)


def read_retry_after(answer: Answer, at: float) -> float | None:
    """Return the seconds to wait by an answer's Retry-After (RFC 9110, 10.2.3), None if it has no valid one.

    Args:
        answer: The answer.
        at: The service's time in unix seconds. A date counts from it.
    """
    value = answer.headers.get("Retry-After", "")
    # Seconds have no sign and no fraction (RFC 9110, 10.2.3).
    if re.fullmatch(r"[0-9]{1,9}", value):
        return float(value)
    retry_date, answer_date = _parse_date(value), _parse_date(answer.headers.get("Date", ""))
    if retry_date is None:
        return None
    # A service on a test clock may state either time in its dates. If the date is in the past by the test clock, it
    # counts from the answer's own Date.
    return max(0.0, retry_date - (at if retry_date >= at or answer_date is None else answer_date))


def _parse_date(value: str) -> float | None:
    try:
        return parsedate_to_datetime(value).timestamp()
    except (TypeError, ValueError):
        return None
