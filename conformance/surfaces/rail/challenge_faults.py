"""What the suite knows of a rail's answers before it reads them, as the oracles of their members take it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from email.utils import parsedate_to_datetime
from typing import Any, Final

from conformance.discovery.rail import Operation
from conformance.engine import clock
from conformance.engine.check import Case
from conformance.http.client import Answer
from conformance.oracles.rail_members import QuotedRequest, find_challenge_faults, find_required_header_faults
from conformance.surfaces.rail.receipts import request_hashes

# P-CH-09: what pages of any origin may read.
_EXPOSED_HEADERS: Final = frozenset(
    {"payment-required", "payment-response", "retry-after", "x-request-id", "idempotent-replayed"}
)
_RECIPE: Final = "jcs-envelope"
# Workers may have clocks that differ by this much (`WP_SKEW_SECONDS`).
_SKEW_SECONDS: Final = 60
_PREFIX: Final = "sha256:"


def hash_call(case: Case, operation: Operation, body: Any, accepts: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the hash references of a call that a rail may name: by the profile's recipe, else by P-RH-01."""
    recipe = case.profile.rail_bindings.request_hash or _RECIPE
    return sorted(one for one in request_hashes(operation, body, accepts)[recipe] if one.startswith(_PREFIX))


def find_402_faults(
    case: Case,
    operation: Operation,
    answer: Answer,
    body: Any,
    *,
    error: str = "payment_required",
    is_refusal: bool = False,
    has_detail: bool = False,
) -> list[str]:
    """Return what of a 402 is not as the specification says, in words.

    Args:
        case: The case.
        operation: The operation; its query is quoted.
        answer: The 402.
        body: The body of the request that is quoted.
        error: The code that it must have.
        is_refusal: Whether the request presented a proof.
        has_detail: Whether the request had a body that the service refuses.
    """
    content = answer.read_object()
    accepts = content.get("accepts")
    entries = [one for one in accepts if isinstance(one, dict)] if isinstance(accepts, list) else []
    bindings = case.profile.rail_bindings
    request = QuotedRequest(
        url=operation.url.partition("?")[0],
        service_id=operation.role,
        request_hashes=hash_call(case, operation, body, entries),
        scheme=bindings.scheme or "exact",
        lifetime=bindings.challenge_ttl,
        service_word=case.profile.service_word,
    )
    faults = find_challenge_faults(content, request, error=error, is_refusal=is_refusal, has_detail=has_detail)
    faults += find_required_header_faults(answer.headers.get("PAYMENT-REQUIRED"), content)
    if not is_refusal and "PAYMENT-RESPONSE" in answer.headers:
        faults.append("PAYMENT-RESPONSE, although nothing was presented")
    faults += [] if "no-store" in _list_words(answer, "Cache-Control") else ["no Cache-Control: no-store"]
    return [*faults, *_find_token_time_faults(answer, entries, clock.read_offset(case)), *find_origin_faults(answer)]


def _find_token_time_faults(answer: Answer, entries: Sequence[Mapping[str, Any]], ahead: float) -> list[str]:
    """Return the tokens whose issue time is not that of the answer, by its `Date` (5.4)."""
    try:
        answered_at = parsedate_to_datetime(answer.headers.get("Date", "")).timestamp()
    except ValueError:
        return []
    extras = [entry.get("extra") for entry in entries]
    tokens = [str(extra.get("payment_reference")) for extra in extras if isinstance(extra, Mapping)]
    times = [token.partition(":")[0] for token in tokens]
    # `Date` may follow the test clock or the machine's.
    moments = (answered_at, answered_at + ahead)
    late_times = [
        one for one in times if one.isdecimal() and min(abs(int(one) - moment) for moment in moments) > _SKEW_SECONDS
    ]
    return [f"the token time {one}, which is not that of the answer" for one in late_times]


def find_origin_faults(answer: Answer) -> list[str]:
    """Return what is missing so that pages of any origin can read an answer (P-CH-09)."""
    faults = [] if answer.headers.get("Access-Control-Allow-Origin") == "*" else ["no Access-Control-Allow-Origin: *"]
    missing_names = sorted(_EXPOSED_HEADERS - _list_words(answer, "Access-Control-Expose-Headers"))
    return [*faults, f"Access-Control-Expose-Headers without {', '.join(missing_names)}"] if missing_names else faults


def _list_words(answer: Answer, header: str) -> set[str]:
    """Return the comma-separated words of a header, in lower case."""
    return {word.strip().lower() for value in answer.headers.getall(header, []) for word in value.split(",")}
