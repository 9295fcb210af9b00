"""Receipt verification: nine steps in a fixed order, the first that fails decides (2.4).

The gateway's free endpoint and its paid twin on the rail answer with the same report. The table `STEPS` is the
algorithm: each row has the code, the sentence that says when the step fails, and the function that judges it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from pydantic import BaseModel, ConfigDict

from reference.protocol import jws as compact
from reference.protocol.canonical_json import (
    DuplicateMember,
    JsonValue,
    NotCanonical,
    NotJson,
    canonicalise,
    parse,
    parse_canonical,
)
from reference.protocol.keys import KeyRejected, KeyTypeUnsupported, from_base64url, public_key, raw_key_of_jwk
from reference.protocol.receipt_kinds import (
    ReceiptKind,
    kind_of,
    member_outside_its_set,
    missing_member,
    payment_hash_member,
)
from reference.protocol.receipts import CANON_VERSION

ALGORITHMS = ("EdDSA", "Ed25519")

_NO_KEY_SET = 'The key set is not of the form {"keys":[…]} with at least one key; send a JWKS document.'
# Report member -> payload member that it repeats.
_REPORTED_MEMBERS = {
    "screen_result": "screen_result",
    "settlement_status": "settlement_result",
    "canon_version": "canon_version",
    "screen_provider_did": "screen_provider_did",
    "payer_ref": "payer_ref",
    "payment_hash": "payment_hash",
    "service_id": "service_id",
    "request_hash": "request_hash",
    "response_hash": "response_hash",
    "settled_payment_ref": "settled_payment_ref",
}

# A report has every member, also if the first step fails: a reader need not tell "absent" from "not reached".
_EMPTY_REPORT: dict[str, JsonValue] = dict.fromkeys(
    (
        "verified",
        "error_code",
        "error_message",
        "error_field",
        "receipt_kind",
        *_REPORTED_MEMBERS,
        "alg",
        "kid",
        "content_hash",
        "key_source",
        "checks",
    )
)


class ReceiptVerifyRequest(BaseModel):
    """A request for verification (P-GR-01); unknown members are ignored."""

    model_config = ConfigDict(strict=True, extra="ignore", frozen=True, hide_input_in_errors=True)

    # A `jws` that is absent, null or empty is judged by step 1, and a `jwks` of wrong shape by step 2. Neither is
    # refused as a malformed request.
    jws: str | None = None
    jwks: Any = None
    expected_payment_hash: str | None = None
    receipt_required: bool = False


class ClosedReceiptVerifyRequest(ReceiptVerifyRequest):
    """The paid form of the request: unknown members and a missing `jws` are refused (P-CV-14)."""

    model_config = ConfigDict(extra="forbid")

    jws: str | None


class Refusal(Exception):
    """Why a step fails.

    Attributes:
        message: What the holder of the receipt can do; repeats nothing of what was sent.
        member: The payload member at fault, if one is.
        code: The error code where it differs from the step's own (8b).
    """

    def __init__(self, message: str, *, member: str | None = None, code: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.member = member
        self.code = code


@dataclass
class Case:
    """One verification: the request, and the results of the steps so far.

    Attributes:
        passed_steps: How many steps passed.
        code: The error code of the one that did not, None when all did; `message` and `member` are its refusal's.
    """

    jws: str | None
    jwks: object
    expected_payment_hash: str | None
    platform_keys: Sequence[Mapping[str, object]]
    # The defaults stay in the class. An instance is created for each receipt and is not filled with them.
    header: compact.Header | None = field(default=None, init=False)
    signing_input: bytes = field(default=b"", init=False)
    payload_bytes: bytes = field(default=b"", init=False)
    signature: bytes = field(default=b"", init=False)
    raw_key: bytes | None = field(default=None, init=False)
    payload: dict[str, JsonValue] = field(default_factory=dict, init=False)
    has_duplicates: bool = field(default=False, init=False)
    canonical: bytes | None = field(default=None, init=False)
    kind: ReceiptKind | None = field(default=None, init=False)
    passed_steps: int = field(default=0, init=False)
    code: str | None = field(default=None, init=False)
    message: str | None = field(default=None, init=False)
    member: str | None = field(default=None, init=False)

    @property
    def is_verified(self) -> bool:
        """Whether every step passed."""
        return self.code is None


def require_envelope(case: Case) -> None:
    """Step 1."""
    if not case.jws:
        raise Refusal("No receipt was sent; give it as a compact JWS in member jws.")


def require_format(case: Case) -> None:
    """Step 2: the token's form, then the key set's."""
    try:
        signing_input, header_segment, payload, signature = compact.split_compact(case.jws or "")
        case.header = header = compact.read_header(header_segment)
        case.payload_bytes = compact.decode_segment(payload)
        case.signature = compact.decode_segment(signature)
    except compact.JwsFault as fault:
        raise Refusal(str(fault)) from fault
    case.signing_input = signing_input.encode("ascii")
    if header.extension is not None:
        raise Refusal(f"Header member {header.extension} is not supported; have the receipt issued without it.")
    keys = case.platform_keys if case.jwks is None else supplied_keys(case.jwks)
    try:
        case.raw_key = raw_key_of_jwk(select_key(keys, header.kid))
    except KeyTypeUnsupported:
        case.raw_key = None  # step 3 judges that
    except ValueError as fault:
        raise Refusal("The selected key has no 32-byte x in base64url; send the issuer's key set unchanged.") from fault


def require_algorithm(case: Case) -> None:
    """Step 3."""
    if case.header is None or case.header.alg not in ALGORITHMS:
        raise Refusal("The receipt is not signed with EdDSA; have it issued with alg EdDSA or Ed25519.")
    if case.raw_key is None:
        raise Refusal("The selected key is not of type OKP on curve Ed25519; send the issuer's Ed25519 key.")


def require_signature(case: Case) -> None:
    """Step 4."""
    try:
        key = public_key(case.raw_key or b"")
    except KeyRejected as fault:
        raise Refusal("The selected key is not a sound Ed25519 key; trust no receipt signed with it.") from fault
    if not key.verify(case.signing_input, case.signature):
        raise Refusal("The signature does not match; use the receipt as it was issued and its issuer's key set.")


def require_object(case: Case) -> None:
    """Step 5; duplicate members are left to step 7."""
    canonical = parse_canonical(case.payload_bytes)
    if isinstance(canonical, dict):
        case.payload, case.canonical, case.kind = canonical, case.payload_bytes, kind_of(canonical)
        return
    try:
        payload = parse(case.payload_bytes)
    except DuplicateMember:
        case.has_duplicates = True
        # A text with duplicates is JSON and passes this step. Its fault is reported by step 7, so a lenient reading
        # is needed to go on to step 6.
        payload = _payload_with_duplicates(case.payload_bytes)
    except NotJson as fault:
        raise Refusal("The payload is not JSON; ask for a new receipt.") from fault
    if not isinstance(payload, dict):
        raise Refusal("The payload is not a JSON object; ask for a new receipt.")
    case.payload = payload
    if not case.has_duplicates:
        case.kind = kind_of(payload)
        case.canonical = _canonical_or_none(payload)


def require_canon_version(case: Case) -> None:
    """Step 6."""
    if case.payload.get("canon_version") != CANON_VERSION:
        message = f"The receipt's canon_version is not {CANON_VERSION}; have it issued in that version."
        raise Refusal(message, member="canon_version")


def require_canonical(case: Case) -> None:
    """Step 7."""
    if case.has_duplicates:
        raise Refusal("The payload names a member twice; ask for a new receipt.")
    if case.canonical != case.payload_bytes:
        raise Refusal("The payload is not in RFC 8785 form; have the receipt issued over its canonical bytes.")


def require_members(case: Case) -> None:
    """Steps 8 and 8b."""
    kind = case.kind or kind_of(case.payload)
    member = missing_member(kind, case.payload)
    if member is not None:
        raise Refusal(f"The receipt lacks {member}; have it issued with all members of its kind.", member=member)
    member = member_outside_its_set(kind, case.payload)
    if member is not None:
        sentence = f"The receipt's {member} has a value outside its set; ask for a new receipt."
        raise Refusal(sentence, member=member, code="INVALID_PAYLOAD")


def require_payment_hash(case: Case) -> None:
    """Step 9."""
    if case.expected_payment_hash is None:
        return
    member = payment_hash_member(case.kind or kind_of(case.payload))
    if case.payload.get(member) != case.expected_payment_hash:
        message = f"The receipt's {member} is not the payment hash you expect; use the receipt of that payment."
        raise Refusal(message, member=member)


class Step(NamedTuple):
    """One row of the algorithm."""

    code: str
    fails_when: str
    judge: Callable[[Case], None]


# The algorithm of 2.4. The first step that fails decides, and exactly one code is answered, so that independent
# verifiers agree on it. The signature is checked before the payload is parsed: nothing of an unsigned payload is
# reported.
STEPS: tuple[Step, ...] = (
    Step("MISSING_ENVELOPE", "jws is absent, null or the empty string", require_envelope),
    Step(
        "INVALID_JWS_FORMAT",
        "longer than 16,384 characters; not exactly three non-empty segments of canonical unpadded base64url; the "
        "header no JSON object, with duplicate members or a non-string alg or kid; crit present; b64 present and not "
        "true; a supplied jwks no object, its keys no non-empty array of objects, or the selected Ed25519 key without "
        "a well-formed 32-byte x",
        require_format,
    ),
    Step(
        "UNSUPPORTED_ALG",
        "alg is missing or not EdDSA or Ed25519, or the selected key is not of kty OKP and crv Ed25519",
        require_algorithm,
    ),
    Step(
        "TAMPERED_SIGNATURE",
        "the signature is not 64 bytes, S is not below the group order, the key is non-canonical or of small order, or "
        "the equation fails",
        require_signature,
    ),
    Step("INVALID_PAYLOAD", "the payload is not JSON or not an object", require_object),
    Step("UNSUPPORTED_CANON_VERSION", "canon_version is absent or not jcs-rfc8785-v1", require_canon_version),
    Step(
        "NON_CANONICAL_PAYLOAD", "duplicate members, or payload bytes that differ from JCS(payload)", require_canonical
    ),
    Step(
        "MISSING_FIELD",
        "a required member of the receipt's kind is absent or null; then (8b, INVALID_PAYLOAD) a required member has a "
        "value outside its set, or a hash reference of a payable receipt is malformed",
        require_members,
    ),
    Step(
        "PAYMENT_HASH_MISMATCH",
        "expected_payment_hash is given and is not the receipt's payment_hash (payable receipt and settlement "
        "attestation: settled_payment_ref), or the receipt has none",
        require_payment_hash,
    ),
)


_UP_TO_SIGNATURE = [step.code for step in STEPS].index("TAMPERED_SIGNATURE") + 1


def judge_receipt(
    *,
    jws: str | None,
    jwks: object,
    expected_payment_hash: str | None,
    platform_keys: Sequence[Mapping[str, object]],
) -> Case:
    """Return the case of a receipt: the number of steps that passed, and the reason why the next one did not.

    Args:
        jws: The compact JWS, or None.
        jwks: A third party's key set as it was sent; None means the platform set (P-RV-01).
        expected_payment_hash: Compared as text; None skips the comparison.
        platform_keys: JWKs of the platform set, in its order.

    Raises:
        ValueError: The platform set is needed and empty.
    """
    if jwks is None and not platform_keys:
        raise ValueError("the platform key set is empty")
    case = Case(jws, jwks, expected_payment_hash, platform_keys)
    passed_steps = count_sure_steps(case)
    if passed_steps == len(STEPS):
        case.passed_steps = passed_steps
        return case
    try:
        for _, _, judge in STEPS[passed_steps:]:
            judge(case)
            passed_steps += 1
    except Refusal as refusal:
        case.code, case.message, case.member = refusal.code or STEPS[passed_steps].code, refusal.message, refusal.member
    case.passed_steps = passed_steps
    return case


def count_sure_steps(case: Case) -> int:
    """Return how many steps surely pass: all nine, the four up to the signature, or none.

    It never refuses. A receipt that does not pass here is judged by the steps.
    """
    try:
        signing_input, header_segment, payload, signature = compact.split_compact(case.jws or "")
        header = compact.read_header(header_segment)
        payload_bytes = from_base64url(payload)
        keys = case.platform_keys if case.jwks is None else supplied_keys(case.jwks)
        key = public_key(raw_key_of_jwk(select_key(keys, header.kid)))
        if header.extension is not None or header.alg not in ALGORITHMS:
            return 0
        # The fast path for a sound receipt: the rules of every step in their order, without the calls between. Code
        # and sentence of every refusal come from the steps. Only a signature that fails is checked twice, and
        # senders of such receipts are bounded by rate limits (decision 0033).
        if not key.verify(signing_input.encode("ascii"), from_base64url(signature)):
            return 0
    except (ValueError, Refusal):
        return 0
    case.header, case.payload_bytes = header, payload_bytes
    members = parse_canonical(payload_bytes)
    if not isinstance(members, dict) or members.get("canon_version") != CANON_VERSION:
        return _UP_TO_SIGNATURE
    kind = kind_of(members)
    if missing_member(kind, members) is not None or member_outside_its_set(kind, members) is not None:
        return _UP_TO_SIGNATURE
    expected_hash = case.expected_payment_hash
    if expected_hash is not None and members.get(payment_hash_member(kind)) != expected_hash:
        return _UP_TO_SIGNATURE
    case.payload, case.canonical, case.kind = members, payload_bytes, kind
    return len(STEPS)


def verify_receipt(
    *,
    jws: str | None,
    jwks: object,
    expected_payment_hash: str | None,
    platform_keys: Sequence[Mapping[str, object]],
) -> dict[str, JsonValue]:
    """Return the report of specification 2.4, the same object for a pass and a fail; takes what `judge_receipt` takes.

    Raises:
        ValueError: The platform set is needed and empty.
    """
    case = judge_receipt(jws=jws, jwks=jwks, expected_payment_hash=expected_payment_hash, platform_keys=platform_keys)
    return _report(case)


def supplied_keys(jwks: object) -> list[Mapping[str, object]]:
    """Return the keys of a set that a caller sent.

    Raises:
        Refusal: It is not an object whose `keys` is a non-empty array of objects.
    """
    keys = jwks.get("keys") if isinstance(jwks, dict) else None
    if not isinstance(keys, list) or not keys:
        raise Refusal(_NO_KEY_SET)
    for key in keys:
        if not isinstance(key, dict):
            raise Refusal(_NO_KEY_SET)
    return keys


def select_key(keys: Sequence[Mapping[str, object]], kid: str | None) -> Mapping[str, object]:
    """Return the key of that `kid`, else the first key of the set (P-RV-01)."""
    # RFC 7517, 4.5: "different keys might use the same "kid" value [...] if they have different "kty" values". So the
    # first Ed25519 key with this `kid` counts, and the first one if none is an Ed25519 key (P-RV-01).
    keys_with_kid = [key for key in keys if kid is not None and key.get("kid") == kid]
    ed25519_keys = (key for key in keys_with_kid if (key.get("kty"), key.get("crv")) == ("OKP", "Ed25519"))
    return next(ed25519_keys, (keys_with_kid or keys)[0])


def _payload_with_duplicates(data: bytes) -> JsonValue:
    try:
        return parse(data, keep_last_duplicate=True)
    except NotJson as fault:
        raise Refusal("The payload is not JSON; ask for a new receipt.") from fault


def _canonical_or_none(payload: JsonValue) -> bytes | None:
    try:
        return canonicalise(payload)
    except NotCanonical:
        return None


def _report(case: Case) -> dict[str, JsonValue]:
    header = case.header or compact.Header(alg=None, kid=None, extension=None)
    # A pass and a fail have the same members, so that a client needs one reader for both.
    report = _EMPTY_REPORT.copy()
    report["verified"] = case.is_verified
    report["error_code"] = case.code
    report["error_message"] = case.message
    report["error_field"] = case.member
    report["receipt_kind"] = case.kind
    if not case.has_duplicates:  # a member that was sent twice has no one value to report
        _copy_reported_members(case.payload, report)
    report["alg"] = _text_or_none(header.alg)
    report["kid"] = _text_or_none(header.kid)
    if case.canonical is not None:
        report["content_hash"] = hashlib.sha256(case.canonical).hexdigest()
    report["key_source"] = "platform" if case.jwks is None else "supplied"
    report["checks"] = [check.copy() for check in _CHECKS[case.passed_steps]]
    return report


def _copy_reported_members(payload: Mapping[str, JsonValue], report: dict[str, JsonValue]) -> None:
    """Write the texts of a payload that the report repeats into it."""
    for name, member in _REPORTED_MEMBERS.items():
        value = payload.get(member)
        if value is not None:
            report[name] = _text_or_none(value)


def _result(number: int, passed_steps: int) -> str:
    return "pass" if number < passed_steps else "fail" if number == passed_steps else "skipped"


# By how many steps passed.
_CHECKS: tuple[tuple[dict[str, JsonValue], ...], ...] = tuple(
    tuple({"code": step.code, "result": _result(number, passed)} for number, step in enumerate(STEPS))
    for passed in range(len(STEPS) + 1)
)


def _text_or_none(value: object) -> str | None:
    """Return a text that can be written as UTF-8; a lone surrogate would break the answer that repeats it."""
    if not isinstance(value, str):
        return None
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        return None
    return value
