"""Error codes: one table for the rail and one for the gateway, which code, OpenAPI, specification and tests follow.

A new code is a row here, a row in the specification's table, and the line that raises it with
`reference.web.errors.refusal`. A test holds both tables and the statuses in OpenAPI together.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class ErrorCode:
    """One error code of a surface.

    Attributes:
        code: The member `error` of the body, `^[a-z0-9_]+$`.
        status: The HTTP status.
        retry: Seconds of `Retry-After`, or None for an answer without it.
        clause: The clause of the specification that decides it.
        message: The member `message`, with `{names}` of values; empty if each place that raises it has its own text, or
            the body has no such member (402).
    """

    code: str
    status: int
    retry: int | None
    clause: str
    message: str = ""


def _table(rows: Iterable[ErrorCode]) -> Mapping[str, ErrorCode]:
    return MappingProxyType({row.code: row for row in rows})


# Codes that the web layer raises on every surface that it serves.
_WEB_LAYER_ROWS = (
    ErrorCode("payload_too_large", 413, None, "P-CV-16"),
    ErrorCode("rate_limited", 429, None, "P-RL-05"),  # Retry-After is the rest of the window
    ErrorCode("internal_error", 500, None, "P-CV-18", "an unexpected fault; the request id helps to find it"),
    ErrorCode("shutting_down", 503, 5, "P-CV-22"),
    ErrorCode(
        *("overloaded", 503, 1, "P-CV-25"),
        "this server has too much to do; send the same request again, with the same payment if it was paid",
    ),
    ErrorCode("clock_in_doubt", 503, 5, "5.8"),
)

WEB_LAYER = _table(_WEB_LAYER_ROWS)

RAIL = _table(
    (
        # A 402 has its code in `error` and no message (P-ER-01). Its seconds mean: send the same proof again, do not
        # pay again (P-ER-02).
        ErrorCode("payment_required", 402, None, "5.7 step 3"),
        ErrorCode("payment_not_welded", 402, None, "5.7 step 4"),
        ErrorCode("method_not_payable", 402, None, "5.7 step 3"),
        ErrorCode("invalid_payment_header", 402, None, "5.7 step 4"),
        ErrorCode("unknown_challenge", 402, None, "5.7 step 5"),
        ErrorCode("lane_mismatch", 402, None, "5.7 step 6"),
        ErrorCode("request_mismatch", 402, None, "5.7 step 10"),
        ErrorCode("challenge_expired", 402, None, "5.7 step 11"),
        ErrorCode("wrong_recipient", 402, None, "5.7 step 12"),
        ErrorCode("wrong_asset", 402, None, "5.7 step 14"),
        ErrorCode("wrong_amount", 402, None, "5.7 step 12"),
        ErrorCode("weld_mismatch", 402, None, "5.7 step 12"),
        ErrorCode("authorization_not_yet_valid", 402, None, "5.7 step 12"),
        ErrorCode("authorization_expired", 402, None, "5.7 step 12"),
        ErrorCode("authorization_used", 402, None, "5.7 step 14"),
        ErrorCode("invalid_signature", 402, None, "5.7 step 12"),
        ErrorCode("insufficient_funds", 402, None, "5.7 step 14"),
        ErrorCode("settlement_failed", 402, None, "5.7 step 14"),
        ErrorCode("tx_not_found", 402, 2, "5.7 step 14"),
        ErrorCode("tx_not_confirmed", 402, 2, "5.7 step 14"),
        ErrorCode("tx_failed", 402, None, "5.7 step 14"),
        ErrorCode("payment_too_old", 402, None, "5.7 step 14"),
        ErrorCode("unsupported_transaction", 402, None, "5.7 step 14"),
        # These must not be 402: a client that gets a 402 with a new challenge pays a second time (P-ER-03, P-ER-04).
        ErrorCode(
            *("payment_already_spent", 409, None, "P-ER-04"),
            "this payment already bought something; pay for a new challenge",
        ),
        ErrorCode(
            *("payment_in_progress", 409, 1, "P-ST-05"),
            "this payment is being redeemed; send the same proof again",
        ),
        ErrorCode(
            *("payment_refunded", 409, None, "P-ST-09"),
            "this payment was given back by the operator; nothing is served for it, pay for a new challenge",
        ),
        ErrorCode("unsupported_media_type", 415, None, "5.7 step 7"),
        ErrorCode("service_disabled", 503, 60, "5.7 step 1"),
        ErrorCode(
            *("chain_unavailable", 503, 5, "P-ER-03"),
            "the chain cannot be consulted; do not pay again, send the same proof later",
        ),
        ErrorCode(
            *("answer_unavailable", 503, 5, "5.7 step 15"),
            "the answer cannot be made now; do not pay again, send the same proof later",
        ),
        ErrorCode("no_lane_available", 503, 5, "P-ER-03"),
        ErrorCode("terms_superseded", 503, 5, "P-ER-04"),
        ErrorCode("store_unavailable", 503, 5, "P-ER-04", "the ledger cannot be asked; try again"),
        *_WEB_LAYER_ROWS,
    )
)

# The order is that of the specification's table in 3.2, so that the two can be compared by eye.
GATEWAY = _table(
    (
        ErrorCode("invalid_request", 400, None, "P-GW-01"),
        ErrorCode(
            *("unsupported_network", 400, None, "P-NW-02"),
            "this network is unknown, not offered here, or without a payout address of the tenant",
        ),
        ErrorCode("unsupported_currency", 400, None, "P-MN-03", "there is no rate for this currency"),
        ErrorCode(
            *("invalid_api_key", 401, None, "3.3"),
            "send Authorization: Bearer with an API key that is neither deleted nor lapsed",
        ),
        ErrorCode(
            *("tenant_id_mismatch", 403, None, "3.3"),
            "send X-Tenant-Id with the UUID of the tenant whose key this is",
        ),
        ErrorCode("forbidden_scope", 403, None, "3.3", "this key lacks the scope {scope}"),
        ErrorCode("invalid_cancel_secret", 403, None, "3.2", "the cancel secret is not this link's"),
        ErrorCode(
            *("self_payment_blocked", 403, None, "3.2"),
            "the payer is the payout address itself; pay from another account",
        ),
        ErrorCode(
            *("key_mode_mismatch", 403, None, "3.2"),
            "test keys reach test networks only, live keys mainnet only",
        ),
        ErrorCode("trial_expired", 403, None, "P-TR-03", "the trial is over; complete the verification to go on"),
        ErrorCode(
            *("mainnet_allowance_exhausted", 403, None, "P-TR-06"),
            "the free mainnet payments are used up; choose a paid plan",
        ),
        ErrorCode("not_found", 404, None, "3.2", "no resource exists at this address"),
        ErrorCode("method_not_allowed", 405, None, "3.2", "this path answers {methods}"),
        ErrorCode("request_timeout", 408, None, "3.2"),
        ErrorCode(
            *("idempotency_conflict", 409, None, "P-ID-04"),
            "this Idempotency-Key was used with another body; use a new one",
        ),
        ErrorCode(
            *("idempotency_in_progress", 409, 1, "P-ID-05"),
            "the first call with this Idempotency-Key is still running; send the same again",
        ),
        ErrorCode("payment_link_already_paid", 409, None, "3.2", "the link is paid already"),
        ErrorCode("payment_pending", 409, None, "3.2", "a payment for this link is on its way"),
        ErrorCode("resource_exists", 409, None, "3.2", "you have a resource of this id; choose another"),
        ErrorCode("payment_link_expired", 410, None, "3.2", "the link has expired; ask for a new one"),
        ErrorCode("payment_link_cancelled", 410, None, "3.2", "the link was cancelled; ask for a new one"),
        ErrorCode("uri_too_long", 414, None, "P-CV-16"),
        ErrorCode(
            *("unsupported_media_type", 415, None, "P-GW-01"),
            "send the body as application/json in UTF-8, without a content coding",
        ),
        ErrorCode("validation_error", 422, None, "P-GW-02"),
        ErrorCode(*("payment_not_verified", 422, None, "P-CK-06"), "the chain does not confirm this payment: {reason}"),
        ErrorCode(*("cross_tenant_replay", 422, None, "3.2"), "this transfer has paid another link already; pay again"),
        ErrorCode(
            *("kyb_required_for_mainnet", 422, None, "P-TR-02"),
            "mainnet is open to approved businesses; complete the verification first",
        ),
        ErrorCode("receipt_verification_failed", 422, None, "P-GR-02"),
        ErrorCode("headers_too_large", 431, None, "P-CV-16"),
        ErrorCode("chain_unavailable", 503, 5, "3.2", "the chain cannot be asked; try again"),
        ErrorCode("store_unavailable", 503, 5, "3.2", "the database cannot be asked; try again"),
        *_WEB_LAYER_ROWS,
    )
)
