"""Source of the score of a receipt: the caller's own members, or a verified certificate (8.4)."""

from __future__ import annotations

from decimal import Decimal

from reference.addons.zkp_receipt.requests import IssueRequest
from reference.protocol import falcon
from reference.protocol.credentials import Keys, Kind, Question, judge
from reference.web.errors import Unprocessable

_MILLIUNITS = 1000


def find_score(
    request: IssueRequest, question: Question, keys: Keys, library: falcon.Library | None
) -> tuple[str, int]:
    """Return the issuer that measured the score, and the score in milliunits.

    Raises:
        Unprocessable: The certificate is malformed, not active, or disagrees with the caller's members.
    """
    if request.atb_certificate is None:
        return request.bench_issuer or "", request.score_milliunits or 0
    judgement = judge(request.atb_certificate, question, keys, library)
    # Only an active certificate counts: an expired one says nothing about the score of now.
    if judgement.verified_payload is None or not judgement.valid:
        raise _build_refusal("atb_certificate", "the certificate is not active", judgement.reason or "")
    if judgement.kind is not Kind.CERTIFICATE:
        raise _build_refusal("atb_certificate", "the credential is not an ATB certificate", "not_a_certificate")
    issuer, score = str(judgement.issuer), to_milliunits(judgement.verified_payload["score"])
    # A caller that names another issuer or score would get a receipt that disagrees with what it meant.
    if request.bench_issuer not in {None, issuer}:
        raise _build_refusal("bench_issuer", "the certificate names another issuer", "disagrees")
    if request.score_milliunits not in {None, score}:
        raise _build_refusal("score_milliunits", "the certificate holds another score", "disagrees")
    return issuer, score


def to_milliunits(score: float) -> int:
    """Return a score from 0 to 1 in milliunits, rounded down."""
    # Of the number as it was written: a product of floats could fall below a whole number. Rounded down, so that no
    # receipt shows more than was measured.
    return int(Decimal(str(score)) * _MILLIUNITS)


def _build_refusal(member: str, sentence: str, kind: str) -> Unprocessable:
    return Unprocessable([{"loc": ["body", member], "msg": sentence, "type": kind}])
