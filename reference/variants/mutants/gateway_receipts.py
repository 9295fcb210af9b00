"""Mutants of receipts at the gateway: each drops one rule of specification 2.2 to 2.4, 3.6 or 3.7."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from reference.gateway import receipts
from reference.protocol import jws, keys, screening
from reference.protocol import receipt_verification as verification
from reference.protocol.keys import GROUP_ORDER, SigningKey
from reference.protocol.receipt_verification import Refusal
from reference.variants.mutants.mutant import Mutant
from reference.variants.seams import replace

Verify = Callable[..., dict[str, Any]]


def _without(*codes: str) -> Callable[[], None]:
    """Return what leaves out steps of verification."""

    def apply() -> None:
        kept = (step if step.code not in codes else step._replace(judge=_pass) for step in verification.STEPS)
        verification.STEPS = tuple(kept)

    return apply


def _pass(case: verification.Case) -> None:
    del case


def _verify(change: Callable[[Verify], Verify]) -> Callable[[], None]:
    """Return what changes verification as the gateway calls it."""
    return lambda: replace(receipts, "verify_receipt", change)


def _platform_beside(verify: Verify) -> Verify:
    def judged(**asked: Any) -> dict[str, Any]:
        report = verify(**asked)
        return report if report["verified"] or asked["jwks"] is None else verify(**{**asked, "jwks": None})

    return judged


def _private_members(made: Callable[..., Any]) -> Callable[..., Any]:
    return lambda published: {"keys": [{**jwk, "d": jwk["x"]} for jwk in made(published)["keys"]]}


def _each_key(verify: Verify) -> Verify:
    def judged(**asked: Any) -> dict[str, Any]:
        report = verify(**asked)
        for key in _listed(asked["jwks"]):
            if not report["verified"]:
                report = verify(**{**asked, "jwks": {"keys": [key]}})
        return report

    return judged


def _listed(jwks: Any) -> Sequence[Any]:
    listed = jwks.get("keys") if isinstance(jwks, dict) else None
    return listed if isinstance(listed, list) else ()


Select = Callable[..., Mapping[str, object]]


def _first_always(_: Select) -> Select:
    return lambda given, kid: given[0]  # noqa: ARG005 - the rule that is dropped


def _first_of_the_kid(select: Select) -> Select:
    """Of several keys of a `kid` the first counts, whatever its type."""

    def chosen(given: Sequence[Mapping[str, object]], kid: str | None) -> Mapping[str, object]:
        named = (key for key in given if kid is not None and key.get("kid") == kid)
        return next(named, None) or select(given, kid)

    return chosen


def _last_without_match(select: Select) -> Select:
    def chosen(given: Sequence[Mapping[str, object]], kid: str | None) -> Mapping[str, object]:
        return select(given, kid) if any(key.get("kid") == kid for key in given) else given[-1]

    return chosen


def _falls_back(verify: Verify) -> Verify:
    """A `kid` whose key does not verify falls back to the first key."""

    def judged(**asked: Any) -> dict[str, Any]:
        report = verify(**asked)
        if not report["verified"] and report["kid"] in [one.get("kid") for one in _listed(asked["jwks"])]:
            return verify(**{**asked, "jwks": {"keys": list(_listed(asked["jwks"]))[:1]}})
        return report

    return judged


def _empty_set_is_none(verify: Verify) -> Verify:
    """A key set without a key counts as no key set."""
    return lambda **asked: verify(**{**asked, "jwks": asked["jwks"] if _listed(asked["jwks"]) else None})


def _none_is_an_algorithm() -> None:
    setattr(verification, "ALGORITHMS", (*verification.ALGORITHMS, "none"))  # noqa: B010 - a longer tuple than its type says


def _macs(judge: Callable[[verification.Case], None]) -> Callable[[verification.Case], None]:
    """An HMAC keyed with the public key's bytes counts as its signature."""

    def judged(case: verification.Case) -> None:
        expected = hmac.new(case.raw_key or b"", case.signing_input, hashlib.sha256).digest()
        if case.header is None or case.header.alg != "HS256" or not hmac.compare_digest(expected, case.signature):
            judge(case)

    return judged


def _confused() -> None:
    setattr(verification, "ALGORITHMS", (*verification.ALGORITHMS, "HS256"))  # noqa: B010 - a longer tuple than its type says
    steps = (step._replace(judge=_macs(step.judge)) if _signs(step) else step for step in verification.STEPS)
    verification.STEPS = tuple(steps)


def _signs(step: verification.Step) -> bool:
    return step.code == "TAMPERED_SIGNATURE"


def _segments(change: Callable[[str], str]) -> Callable[[], None]:
    """Return what mends segments before they are decoded."""

    def lenient(decode: Callable[[str], bytes]) -> Callable[[str], bytes]:
        return lambda text: decode(change(text))

    return lambda: replace(jws, "decode_segment", lenient)


def _unpadded(text: str) -> str:
    return text.rstrip("=")


def _respelled(text: str) -> str:
    """Return segments with spare bits, as a lax decoder reads them."""
    try:
        raw = base64.b64decode(text.replace("-", "+").replace("_", "/") + "=" * (-len(text) % 4), validate=True)
    except ValueError:
        return text
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def _extra_segments(split: Callable[[str], jws.Segments]) -> Callable[[str], jws.Segments]:
    """What stands after the third segment is not looked at."""
    return lambda text: split(".".join(text.split(".")[:3]))


def _reduced(verify: Callable[..., bool]) -> Callable[..., bool]:
    """S is reduced before it is compared."""

    def judged(self: Any, message: bytes, signature: bytes) -> bool:
        if len(signature) == 64:
            scalar = int.from_bytes(signature[32:], "little") % GROUP_ORDER
            signature = signature[:32] + scalar.to_bytes(32, "little")
        return verify(self, message, signature)

    return judged


class _AnyPoint:
    """A key that is not looked at."""

    def __init__(self, raw: bytes) -> None:
        self._raw = raw

    def verify(self, message: bytes, signature: bytes) -> bool:
        try:
            Ed25519PublicKey.from_public_bytes(self._raw).verify(signature, message)
        except (InvalidSignature, UnsupportedAlgorithm, ValueError):
            return False
        return True


def _any_point() -> None:
    replace(verification, "public_key", lambda _: lambda raw: _AnyPoint(raw))  # noqa: PLW0108 - a class cannot be wrapped


def _critical_ignored() -> None:
    def lenient(read: Callable[[str], jws.Header]) -> Callable[[str], jws.Header]:
        return lambda segment: jws.Header(read(segment).alg, read(segment).kid, None)

    replace(jws, "read_header", lenient)


def _header_uncovered() -> None:
    """A header counts as signed when its usual members are."""

    def lenient(judge: Callable[[verification.Case], None]) -> Callable[[verification.Case], None]:
        def judged(case: verification.Case) -> None:
            try:
                judge(case)
            except Refusal:
                header = {"alg": "EdDSA", "kid": case.header and case.header.kid, "typ": "JWT"}
                text = json.dumps(header, separators=(",", ":"), sort_keys=True).encode()
                case.signing_input = keys.base64url(text).encode() + b"." + case.signing_input.partition(b".")[2]
                judge(case)

        return judged

    steps = (step._replace(judge=lenient(step.judge)) if _signs(step) else step for step in verification.STEPS)
    verification.STEPS = tuple(steps)


def _coded(code: Callable[[dict[str, Any]], Any]) -> Callable[[], None]:
    """Return what changes the code of fail reports."""

    def changed(verify: Verify) -> Verify:
        def judged(**asked: Any) -> dict[str, Any]:
            report = verify(**asked)
            return report if report["verified"] else {**report, "error_code": code(report)}

        return judged

    return _verify(changed)


def _finer(report: dict[str, Any]) -> str:
    """Return a code of its own for each member that is missing, and for each algorithm."""
    return "_".join(
        str(part).upper() for part in (report["error_code"], report["error_field"] or report["alg"]) if part
    )


_TRUSTED: list[Any] = []


def _remembers(verify: Verify) -> Verify:
    """Keys that verified a receipt once are the platform's from then on."""

    def judged(**asked: Any) -> dict[str, Any]:
        report = verify(**asked)
        if report["verified"]:
            _TRUSTED.extend(_listed(asked["jwks"]))
        for key in _TRUSTED if asked["jwks"] is None else ():
            if not report["verified"]:
                report = verify(**{**asked, "jwks": {"keys": [key]}})
        return report

    return judged


def _keys_required(verify: Verify) -> Verify:
    return lambda **asked: verify(**{**asked, "jwks": {} if asked["jwks"] is None else asked["jwks"]})


def _stranger() -> None:
    """Screening signs with a key that is not published."""
    stranger = SigningKey.from_seed(b"\x05" * 32)

    def foreign(sign: Callable[..., str]) -> Callable[..., str]:
        return lambda payload, key: sign(payload, stranger)  # noqa: ARG005 - the rule that is dropped

    replace(screening, "sign_compact", foreign)


def _unsigned() -> None:
    """Screening answers without a receipt."""

    def bare(screen: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
        return lambda *given, **named: {**screen(*given, **named), "compliance_receipt_jws": ""}

    replace(screening, "screen", bare)


MUTANTS: tuple[Mutant, ...] = tuple(
    Mutant(id_, rule, apply, "gateway")
    for id_, rule, apply in (
        ("receipts-signature-ignored", "the signature holds (2.4 step 4)", _without("TAMPERED_SIGNATURE")),
        (
            "receipts-structure-ignored",
            "a receipt has the members of its kind (2.4 steps 6 to 8)",
            _without("UNSUPPORTED_CANON_VERSION", "NON_CANONICAL_PAYLOAD", "MISSING_FIELD"),
        ),
        (
            "receipts-canonical-ignored",
            "payload bytes are their JCS form (2.4 step 7)",
            _without("NON_CANONICAL_PAYLOAD"),
        ),
        ("receipts-payment-ignored", "the payment is the expected one (2.4 step 9)", _without("PAYMENT_HASH_MISMATCH")),
        ("receipts-platform-beside", "with jwks only that set counts (P-RV-01)", _verify(_platform_beside)),
        ("receipts-each-key", "one key is selected, the others are not tried (P-RV-01)", _verify(_each_key)),
        (
            "receipts-first-key",
            "the kid selects the key (P-RV-01)",
            lambda: replace(verification, "select_key", _first_always),
        ),
        (
            "receipts-first-of-kid",
            "of several keys of a kid the Ed25519 key is selected (P-RV-01)",
            lambda: replace(verification, "select_key", _first_of_the_kid),
        ),
        (
            "receipts-last-key",
            "without a match it is the first key (P-RV-01)",
            lambda: replace(verification, "select_key", _last_without_match),
        ),
        ("receipts-kid-falls-back", "a matching kid never falls back (P-RV-01)", _verify(_falls_back)),
        ("receipts-empty-set", "a key set without keys is a failure (2.4 step 2)", _verify(_empty_set_is_none)),
        ("receipts-alg-none", "alg is EdDSA or Ed25519 (2.4 step 3)", _none_is_an_algorithm),
        ("receipts-hmac", "the key's type says the algorithm (2.4 step 3)", _confused),
        ("receipts-padded", "segments bear no padding (P-CV-06)", _segments(_unpadded)),
        ("receipts-spare-bits", "base64url is canonical (P-CV-06)", _segments(_respelled)),
        (
            "receipts-four-segments",
            "a compact JWS is three segments (2.4 step 2)",
            lambda: replace(jws, "split_compact", _extra_segments),
        ),
        (
            "receipts-s-reduced",
            "S is below the group order (2.4 step 4)",
            lambda: replace(keys.PublicKey, "verify", _reduced),
        ),
        ("receipts-small-order", "keys are not of small order (2.4 step 4)", _any_point),
        ("receipts-crit-ignored", "critical members are refused (2.4 step 2)", _critical_ignored),
        ("receipts-header-uncovered", "the signature covers the header (RFC 7515)", _header_uncovered),
        ("receipts-one-code", "each step has its code (2.4)", _coded(lambda _: "INVALID_PAYLOAD")),
        ("receipts-more-codes", "nine codes, no tenth (P-RV-05)", _coded(_finer)),
        ("receipts-no-code", "a fail report bears its code (2.4)", _coded(lambda _: None)),
        ("receipts-keys-remembered", "verification is stateless (P-GR-04)", _verify(_remembers)),
        ("receipts-keys-required", "jwks is optional (P-GR-01)", _verify(_keys_required)),
        (
            "gateway-jwks-private",
            "the key document holds public members only (P-KY-03)",
            lambda: replace(keys, "jwks", _private_members),
        ),
        ("screening-stranger", "screening signs with the published key (3.7)", _stranger),
        ("screening-unsigned", "screening emits a receipt (P-SC-02)", _unsigned),
    )
)
