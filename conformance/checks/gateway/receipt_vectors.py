"""GW-RCPT and X-DIFF-02: the suite's whole set of receipt vectors at the hosted verifier."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from conformance.engine.check import Case, check
from conformance.engine.concurrent_check_steps import run_concurrently
from conformance.http.client import Answer
from conformance.oracles.receipt_reports import find_report_faults
from conformance.oracles.receipts import ReceiptFault, examine, verify_receipt
from conformance.outcome import Inconclusive
from conformance.receipts import report_vectors
from conformance.receipts.live_mutations import Vector, cross_validation, vectors
from conformance.receipts.report_members import code, code_member, find_verdict_member
from conformance.receipts.verifier import Verifier, describe, find_verifier

Outcome = tuple[Vector, Answer]
REPORT_ROW: Final = "GW-REPORT-01"
_PASS_STATUS, _FAIL_STATUS = 200, 422
_MOST_CODES, _VECTOR_CODES = 9, 8
# Rows whose sentence names 422. The others require only that a receipt fails or is rejected, so 400 passes as well.
_STRICTLY_422 = frozenset({"GW-RCPT-02", "GW-RCPT-03", "GW-RCPT-04", "GW-RCPT-19"})
# Here the request itself is faulty (a key set without a usable key), so an error without a report passes.
_NO_REPORT_DUE = frozenset({"GW-RCPT-29"})
_HINTS: Mapping[str, str] = {
    "GW-RCPT-06": "Verify under the supplied key set when there is one.",
    "GW-RCPT-07": "Without a supplied key set only the platform's keys count.",
    "GW-RCPT-08": "The supplied key set replaces the platform's keys; never try both.",
    "GW-RCPT-09": "Select the key by the header's kid, at any position in the set.",
    "GW-RCPT-10": "Without a match of kid, use the first key of the set.",
    "GW-RCPT-11": "Without a match of kid, use the first key only.",
    "GW-RCPT-12": "Without a kid, use the first key of the set.",
    "GW-RCPT-13": "A matching kid selects its key. If that key fails, do not try another one.",
    "GW-RCPT-16": "Accept only EdDSA; never let the token decide that it needs no signature.",
    "GW-RCPT-17": "Take the algorithm from the key, which is Ed25519, never from the token.",
    "GW-RCPT-18": "Refuse keys that are not kty OKP, crv Ed25519, and headers without alg.",
    "GW-RCPT-19": "After the signature, check that the payload is a JSON object with the members of a receipt.",
    "GW-RCPT-23": "A receipt is three non-empty segments separated by dots, and its header is a JSON object.",
    "GW-RCPT-24": "Decode base64url strictly: only its alphabet, no white space, and zero in the unused bits.",
    "GW-RCPT-25": "Refuse S not below the group order, and keys of small order or in a non-canonical encoding.",
    "GW-RCPT-26": "Refuse a header whose crit names a parameter that you do not implement.",
    "GW-RCPT-29": "A supplied key set without a usable key is a failure; never fall back to the platform's keys.",
}


@check(
    "GW-RCPT-02",
    "GW-RCPT-03",
    "GW-RCPT-04",
    "GW-RCPT-05",
    "GW-RCPT-06",
    "GW-RCPT-07",
    "GW-RCPT-08",
    "GW-RCPT-09",
    "GW-RCPT-10",
    "GW-RCPT-11",
    "GW-RCPT-12",
    "GW-RCPT-13",
    "GW-RCPT-16",
    "GW-RCPT-17",
    "GW-RCPT-18",
    "GW-RCPT-19",
    "GW-RCPT-20",
    "GW-RCPT-21",
    "GW-RCPT-23",
    "GW-RCPT-24",
    "GW-RCPT-25",
    "GW-RCPT-26",
    "GW-RCPT-29",
    "X-DIFF-02",
    REPORT_ROW,
    surface="gateway",
    fix="Answer 200 with a pass report if the receipt verifies. If not, answer 422 with a fail report that contains "
    "one typed code.",
)
async def receipt_vectors(case: Case) -> None:
    """Valid receipts pass, forged ones fail, each with one typed code, and with a standalone verifier's verdict.

    Presents the platform's own receipt, third parties' receipts of each kind with their key sets, and about 185
    receipts with one fault each. The faults are in signature, payload, header, key, algorithm, structure, form,
    encoding, critical parameters and key set. Some are a letter's case, a space, a cut end or one letter of a kid. One
    payload is a thousand nested arrays, others hold a number that RFC 8785 writes differently. The third parties'
    receipts have the platform's own payload, except payable receipts and settlement attestations.

    Expects 200 with a report for the valid ones, and 422 with a report for the others. Expects a member that
    distinguishes the two, one typed code in each fail report, and nine at most in all. Expects the verdict of the
    suite's own verifier for every one. If no valid receipt passes, nothing is decided. At a target that claims the
    specification, expects of each report the members of 2.4 with their values.
    """
    hosted_verifier = await find_verifier(case)
    sampled_vectors = hosted_verifier.select_vectors(vectors(hosted_verifier.material))
    answers = await run_concurrently((hosted_verifier.present(case, one) for one in sampled_vectors), at_once=8)
    outcomes = list(zip(sampled_vectors, answers, strict=True))
    _require_a_pass(hosted_verifier, outcomes)
    # If no valid receipt passes, the hint says what to bind. The single hints would all mislead.
    has_no_pass = not any(one.valid and answer.status == _PASS_STATUS for one, answer in outcomes)
    for vector, answer in outcomes:
        if vector.row in case.check.rows:
            _judge(case, vector, answer, _likely_binding_fault(hosted_verifier) if has_no_pass else None)
        _judge_standalone(case, hosted_verifier, vector, answer)
        if case.profile.claims.specification is not None:
            _judge_report(case, hosted_verifier, vector, answer)
    _leave_platform_rows(case, hosted_verifier)
    _judge_reports(case, outcomes)


def _require_a_pass(hosted_verifier: Verifier, outcomes: Sequence[Outcome]) -> None:
    """Continue only if a valid receipt passes: a verifier that refuses everything has proved nothing.

    Raises:
        Inconclusive: None passes, and no receipt is known to have the right structure.
    """
    if hosted_verifier.material.platform is None and not any(
        one.valid and answer.status == _PASS_STATUS for one, answer in outcomes
    ):
        raise Inconclusive(
            "unbound: no receipt of the suite's own passes and no platform receipt is at hand to take its structure "
            "from; bind [gateway] screen_body, or give [gateway] receipt_file"
        )


def _likely_binding_fault(hosted_verifier: Verifier) -> str:
    """Return the likely reason if no valid receipt passes at all: a wrong binding, not a fault of cryptography."""
    return (
        f"No valid receipt passes: is {hosted_verifier.member} the member that carries it ([gateway] receipt_member), "
        "and are your own receipts of the profile's form? If so, verify them as the interface says"
    )


def _judge(case: Case, vector: Vector, answer: Answer, binding_hint: str | None) -> None:
    where = {"receipt": vector.name}
    hint = _HINTS.get(vector.row)
    if vector.valid:
        hint = binding_hint or hint
        holds = answer.status == _PASS_STATUS and bool(answer.read_object())
        requirement = "200 with a report"
        case.expect(
            vector.row,
            holds,
            requirement,
            describe(answer),
            exchange=answer,
            where=where,
            hint=hint,
            beyond=vector.beyond,
        )
        return
    # The interface names 422 for some rows only; elsewhere 400 is a refusal as well.
    refusal_statuses = {_FAIL_STATUS} if vector.row in _STRICTLY_422 else {400, _FAIL_STATUS}
    has_report = bool(answer.read_object()) or vector.row in _NO_REPORT_DUE
    holds, requirement = answer.status in refusal_statuses and has_report, "422 with a fail report"
    case.expect(
        vector.row, holds, requirement, describe(answer), exchange=answer, where=where, hint=hint, beyond=vector.beyond
    )


def _judge_standalone(case: Case, hosted_verifier: Verifier, vector: Vector, answer: Answer) -> None:
    """Judge that the suite's own verifier, with the same key set, has the same verdict."""
    keys = hosted_verifier.material.jwks if vector.jwks is None else vector.jwks
    # A fault of the service is no verdict.
    if keys is None or answer.status >= 500:
        return
    # Without the nine bound codes the structure of a receipt is the target's own, so only its signature is compared.
    is_valid = _own_verdict(vector, keys) if hosted_verifier.judges_structure else vector.valid
    case.expect(
        "X-DIFF-02",
        is_valid == (answer.status == _PASS_STATUS),
        f"the standalone verifier's verdict: {'pass' if is_valid else 'fail'}",
        describe(answer),
        exchange=answer,
        where={"receipt": vector.name},
        beyond=vector.beyond if vector.valid else None,
    )


def _own_verdict(vector: Vector, keys: Any) -> bool:
    try:
        verify_receipt(vector.jws, keys, expected_payment_hash=vector.expected_payment_hash)
    except ReceiptFault:
        return False
    return True


def _leave_platform_rows(case: Case, hosted_verifier: Verifier) -> None:
    if hosted_verifier.material.platform is None:
        for row in ("GW-RCPT-08", "GW-RCPT-29"):
            case.mark_inconclusive(row, "needs a receipt signed by the platform's key: bind [gateway] screen_body")


def _judge_reports(case: Case, outcomes: Sequence[Outcome]) -> None:
    passes = [answer for one, answer in outcomes if one.valid and answer.status == _PASS_STATUS]
    fails = [(one, answer) for one, answer in outcomes if _is_report(one, answer)]
    reports = [answer.read_object() for _, answer in fails]
    # The interface names no member for pass or fail, so the suite searches one whose values separate the two kinds.
    member = find_verdict_member([answer.read_object() for answer in passes], reports)
    if passes and reports:
        requirement = "a member that differs between pass and fail reports"
        case.expect("GW-RCPT-05", member is not None, requirement, member or "none", exchange=passes[0])
    else:
        case.mark_inconclusive("GW-RCPT-05", "a pass report or a fail report is missing, which other rows judge")
    _judge_codes(case, fails)


def _is_report(vector: Vector, answer: Answer) -> bool:
    """Return whether an answer is a fail report about a receipt, and not about a member of a wrong type."""
    return (
        not vector.valid
        and answer.status == _FAIL_STATUS
        and isinstance(vector.jws, str)
        and bool(answer.read_object())
    )


def _judge_codes(case: Case, fails: Sequence[Outcome]) -> None:
    bound_codes = case.profile.gateway_bindings.receipt_codes
    member = code_member([answer.read_object() for _, answer in fails], bound_codes)
    if member is None and bound_codes is not None and fails:
        # With bound codes a report without any of them is a breach. One of the reports is enough to show it.
        vector, answer = fails[0]
        where, requirement = {"receipt": vector.name}, "one of the bound codes"
        case.expect("GW-RCPT-20", False, requirement, describe(answer), exchange=answer, where=where)
        # Without any code the number of codes is within the limit, and GW-RCPT-20 fails for their absence.
        case.expect("GW-RCPT-21", True, "nine codes at most", "none", exchange=answer)
        return
    if member is None:
        for row in ("GW-RCPT-20", "GW-RCPT-21"):
            case.mark_inconclusive(row, "unbound: no member of the fail reports looks like a typed code")
        return
    answers_by_code: dict[str, Answer] = {}
    for vector, answer in fails:
        value = code(answer.read_object(), member)
        answers_by_code.setdefault(value or "", answer)
        is_allowed = value is not None and (bound_codes is None or value in bound_codes)
        where = {"receipt": vector.name}
        requirement = f"one typed code in {member}"
        case.expect("GW-RCPT-20", is_allowed, requirement, value or describe(answer), exchange=answer, where=where)
    distinct = sorted(filter(None, answers_by_code))
    is_within_limit = len(distinct) <= _MOST_CODES
    case.expect(
        "GW-RCPT-21",
        is_within_limit,
        "nine codes at most",
        distinct,
        exchange=next(iter(answers_by_code.values()), None),
    )


@check(
    REPORT_ROW,
    surface="gateway",
    fix="Take the nine steps of 2.4 in their order, and write one report with all members from what they found.",
)
async def receipt_reports(case: Case) -> None:
    """Each report of a verification has the code of the first step that fails, and each member of 2.4 with its value.

    Presents receipts with two faults, with marks of several kinds, with a kind that nearly is one, with each required
    member null, with header members and types that no step looks at, bound to the expected payment and to others, under
    several keys of one kid, and of the greatest length. Computes each report with the suite's own verifier. Expects the
    same status, verdict, code, field, kind, hash, key source and nine lines, and null for what is not there.
    """
    hosted_verifier = await find_verifier(case)
    chosen = [one for one in report_vectors.vectors(hosted_verifier.material) if hosted_verifier.can_ask(one)]
    answers = await run_concurrently((hosted_verifier.present(case, one) for one in chosen), at_once=8)
    for vector, answer in zip(chosen, answers, strict=True):
        _judge_report(case, hosted_verifier, vector, answer)


@check(
    "GW-RCPT-22",
    surface="gateway",
    fix="Give each of the eight faults a separate code: no receipt, form, algorithm, signature, canonical form's "
    "name, canonical form, member missing, other payment.",
)
async def eight_codes(case: Case) -> None:
    """The eight invalid cross-validation vectors give eight distinct codes.

    Presents eight receipts, each with a fault in another step of verification. Expects eight different codes. The
    interface does not contain the vectors themselves, so the suite's eight fail only a target that binds the nine
    codes.
    """
    hosted_verifier = await find_verifier(case)
    vector_list = cross_validation(hosted_verifier.material)
    answers = await run_concurrently(hosted_verifier.present(case, one) for one in vector_list)
    reports = [answer.read_object() for answer in answers]
    bound_codes = case.profile.gateway_bindings.receipt_codes
    member = code_member(reports, bound_codes)
    codes = [None if member is None else code(one, member) for one in reports]
    distinct_count = len(set(filter(None, codes)))
    if distinct_count < _VECTOR_CODES and bound_codes is None:
        keys = ["receipt_codes"] + ["receipt_hash_member"] * (case.profile.gateway_bindings.receipt_hash_member is None)
        reason = (
            f"unbound: the suite's eight vectors gave {distinct_count} codes; the interface does not contain its own; "
            f"bind [gateway] {' and '.join(keys)}"
        )
        case.mark_inconclusive("GW-RCPT-22", reason, exchange=answers[-1])
        return
    decidable_codes = [value for one, value in zip(vector_list, codes, strict=True) if hosted_verifier.can_ask(one)]
    if (
        distinct_count < _VECTOR_CODES
        and len(decidable_codes) < _VECTOR_CODES
        and len(set(filter(None, decidable_codes))) == len(decidable_codes)
    ):
        reason = "unbound: the member that names the expected payment; give [gateway] receipt_hash_member"
        case.mark_inconclusive("GW-RCPT-22", reason, exchange=answers[-1])
        return
    finding = ", ".join(f"{one.name}: {value}" for one, value in zip(vector_list, codes, strict=True))
    case.expect("GW-RCPT-22", distinct_count == _VECTOR_CODES, "eight distinct codes", finding, exchange=answers[-1])


def _judge_report(case: Case, verifier: Verifier, vector: Vector, answer: Answer) -> None:
    """Judge status and members of the report of one receipt.

    Nothing is judged where the receipt is no text, or if its key would be the platform's and that is unknown.
    """
    keys = verifier.material.jwks if vector.jwks is None else vector.jwks
    if keys is None or not isinstance(vector.jws, str):
        return
    examination = examine(vector.jws, keys, expected_payment_hash=vector.expected_payment_hash)
    report = answer.read_object()
    # The suite lets padded segments pass (P-RV-04).
    if "=" in vector.jws and report.get("verified") is True:
        return
    expected_status = 200 if examination.is_verified else 422
    faults = [] if answer.status == expected_status else [f"status {answer.status}, not {expected_status}"]
    faults += find_report_faults(
        report, examination, is_supplied=vector.jwks is not None, request_id=answer.headers.get("X-Request-Id")
    )
    where = {"receipt": vector.name}
    case.expect(REPORT_ROW, not faults, "the report of 2.4", "; ".join(faults) or "so", exchange=answer, where=where)
