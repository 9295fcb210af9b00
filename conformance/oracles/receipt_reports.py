"""The report of a receipt verification: what each member must be, by the suite's own nine steps (2.4). Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from conformance.oracles.hash_recipes import jcs_bytes, sha256_hex
from conformance.oracles.member_rules import Rule, equals, find_member_faults, is_an, one_of
from conformance.oracles.receipt_kinds import kind_of
from conformance.oracles.receipts import Examination

# Members of a report, by the member of the payload that each repeats.
_REPEATED: Final[Mapping[str, str]] = {
    "settlement_status": "settlement_result",
    **{
        name: name
        for name in (
            *("screen_result", "canon_version", "screen_provider_did", "payer_ref", "payment_hash", "service_id"),
            *("request_hash", "response_hash", "settled_payment_ref"),
        )
    },
}
# A target may answer these codes in place of that of the step (P-RV-04).
_DEPARTURES: Final[Mapping[str, str]] = {
    "INVALID_PAYLOAD": "MISSING_FIELD",
    "NON_CANONICAL_PAYLOAD": "TAMPERED_SIGNATURE",
}
# How many steps pass before the payload is known to be an object, and before its members are judged.
_STEP_OF_OBJECTS: Final = 5
_STEP_OF_MEMBERS: Final = 7
_NULL_OR_TEXT: Final = Rule("null or a text", lambda value: value is None or isinstance(value, str))


def find_report_faults(
    report: Any, examination: Examination, *, is_supplied: bool, request_id: str | None
) -> list[str]:
    """Return the members of a report that are not as 2.4 and P-GR-02 say, in words; empty if each is.

    Args:
        report: The body of the answer.
        examination: What the suite's own verifier found in the same receipt.
        is_supplied: Whether a key set was sent with the receipt.
        request_id: The answer's X-Request-Id, which a fail repeats.
    """
    fault = examination.fault
    if fault is not None and isinstance(report, Mapping) and _is_departure(report, examination):
        return [] if report.get("verified") is False else ["verified is not false"]
    rules = _common_rules(examination, is_supplied)
    if fault is None:
        rules |= dict.fromkeys(("error_code", "error_message", "error_field"), equals(None))
        return find_member_faults(report, rules, "the report")
    message = report.get("error_message") if isinstance(report, Mapping) else None
    rules |= {
        "error_code": equals(fault.code),
        "error_message": is_an(str),
        "error_field": equals(fault.field) if examination.passed_steps == _STEP_OF_MEMBERS else _NULL_OR_TEXT,
        "error": equals("receipt_verification_failed"),
        "message": equals(message),
        "request_id": equals(request_id),
    }
    return find_member_faults(report, rules, "the report")


def _is_departure(report: Mapping[str, Any], examination: Examination) -> bool:
    code = "" if examination.fault is None else examination.fault.code
    # INVALID_PAYLOAD is also the code of step 5, where there is no departure.
    may_depart = code != "INVALID_PAYLOAD" or examination.passed_steps == _STEP_OF_MEMBERS
    return may_depart and code in _DEPARTURES and report.get("error_code") == _DEPARTURES[code]


def _common_rules(examination: Examination, is_supplied: bool) -> dict[str, Rule]:
    claims = examination.claims
    kind = kind_of(claims) if examination.passed_steps >= _STEP_OF_OBJECTS else None
    # A member that the payload has twice has no one value, and a fail need not report what the payload has.
    is_pass = examination.is_verified
    header = {} if examination.envelope is None else examination.envelope.header
    rules: dict[str, Rule] = {
        "verified": equals(is_pass),
        "receipt_kind": _allow_reported(kind, is_pass),
        "key_source": equals("supplied" if is_supplied else "platform"),
        "checks": equals(examination.checks),
        "content_hash": _allow_reported(None if kind is None else _content_hash(claims), is_pass),
    }
    rules |= {name: _allow_reported(_text_or_none(claims.get(member)), is_pass) for name, member in _REPEATED.items()}
    for name in ("alg", "kid"):
        rules[name] = _NULL_OR_TEXT if examination.envelope is None else equals(_text_or_none(header.get(name)))
    return rules


def _allow_reported(value: str | None, is_pass: bool) -> Rule:
    return equals(value) if is_pass or value is None else one_of([None, value])


def _text_or_none(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _content_hash(claims: Mapping[str, Any]) -> str | None:
    try:
        return sha256_hex(jcs_bytes(claims))
    except ValueError:
        return None
