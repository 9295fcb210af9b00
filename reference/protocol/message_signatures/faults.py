"""Faults of a signed message: one code each, in the groups of specification 6.3."""

from __future__ import annotations

from dataclasses import dataclass

# A fault of this group ends the verification, because nothing is known of the signature. All later faults are
# collected.
HEADERS = (
    "missing_signature_input",
    "missing_signature",
    "malformed_signature_input",
    "malformed_signature",
    "label_mismatch",
    "multiple_labels",
)
COVERAGE = (
    "empty_components",
    "duplicate_component",
    "unsupported_component",
    "missing_component",
    "required_component_missing",
)
PARAMETERS = ("alg_not_allowed", "tag_mismatch", "created_in_future", "expired", "too_old")
DIGEST = (
    "content_digest_missing",
    "content_digest_not_covered",
    "content_digest_malformed",
    "content_digest_unsupported",
    "content_digest_mismatch",
)
ALL_CODES = (*HEADERS, *COVERAGE, *PARAMETERS, "key_rejected", *DIGEST, "signature_mismatch")


@dataclass(eq=False)
class Fault(Exception):
    """One reason.

    Attributes:
        code: One of `ALL_CODES`.
        sentence: The fault in words.
    """

    code: str
    sentence: str
