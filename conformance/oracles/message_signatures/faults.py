"""What can be wrong with a signed message: codes (6.3), the step each belongs to, and one found fault."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Step(StrEnum):
    """The steps of verification, in the order in which they are taken."""

    HEADERS = "headers"
    COVERAGE = "coverage"
    PARAMETERS = "parameters"
    KEY = "key"
    DIGEST = "digest"
    EQUATION = "equation"


class Code(StrEnum):
    """One kind of fault."""

    MISSING_SIGNATURE_INPUT = "missing_signature_input"
    MISSING_SIGNATURE = "missing_signature"
    MALFORMED_SIGNATURE_INPUT = "malformed_signature_input"
    MALFORMED_SIGNATURE = "malformed_signature"
    LABEL_MISMATCH = "label_mismatch"
    MULTIPLE_LABELS = "multiple_labels"
    EMPTY_COMPONENTS = "empty_components"
    DUPLICATE_COMPONENT = "duplicate_component"
    UNSUPPORTED_COMPONENT = "unsupported_component"
    MISSING_COMPONENT = "missing_component"
    REQUIRED_COMPONENT_MISSING = "required_component_missing"
    ALG_NOT_ALLOWED = "alg_not_allowed"
    TAG_MISMATCH = "tag_mismatch"
    CREATED_IN_FUTURE = "created_in_future"
    EXPIRED = "expired"
    TOO_OLD = "too_old"
    KEY_REJECTED = "key_rejected"
    CONTENT_DIGEST_MISSING = "content_digest_missing"
    CONTENT_DIGEST_NOT_COVERED = "content_digest_not_covered"
    CONTENT_DIGEST_MALFORMED = "content_digest_malformed"
    CONTENT_DIGEST_UNSUPPORTED = "content_digest_unsupported"
    CONTENT_DIGEST_MISMATCH = "content_digest_mismatch"
    SIGNATURE_MISMATCH = "signature_mismatch"

    @property
    def step(self) -> Step:
        """The step of verification that finds it."""
        return _STEP_OF[self]


# The steps run in this order. A fault in the headers ends the work, and all later faults are
# collected (6.3).
_GROUPS: Final = {
    Step.HEADERS: (
        Code.MISSING_SIGNATURE_INPUT,
        Code.MISSING_SIGNATURE,
        Code.MALFORMED_SIGNATURE_INPUT,
        Code.MALFORMED_SIGNATURE,
        Code.LABEL_MISMATCH,
        Code.MULTIPLE_LABELS,
    ),
    Step.COVERAGE: (
        Code.EMPTY_COMPONENTS,
        Code.DUPLICATE_COMPONENT,
        Code.UNSUPPORTED_COMPONENT,
        Code.MISSING_COMPONENT,
        Code.REQUIRED_COMPONENT_MISSING,
    ),
    Step.PARAMETERS: (
        Code.ALG_NOT_ALLOWED,
        Code.TAG_MISMATCH,
        Code.CREATED_IN_FUTURE,
        Code.EXPIRED,
        Code.TOO_OLD,
    ),
    Step.KEY: (Code.KEY_REJECTED,),
    Step.DIGEST: (
        Code.CONTENT_DIGEST_MISSING,
        Code.CONTENT_DIGEST_NOT_COVERED,
        Code.CONTENT_DIGEST_MALFORMED,
        Code.CONTENT_DIGEST_UNSUPPORTED,
        Code.CONTENT_DIGEST_MISMATCH,
    ),
    Step.EQUATION: (Code.SIGNATURE_MISMATCH,),
}
_STEP_OF: Final = {code: step for step, codes in _GROUPS.items() for code in codes}


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault found in a message.

    Attributes:
        code: Which kind.
        text: A sentence that names the place.
        component: Serialised identifier of the covered component it concerns, if any.
    """

    code: Code
    text: str
    component: str | None = None


class Refusal(Exception):
    """A step that cannot go on, with the fault that stopped it."""

    def __init__(self, code: Code, text: str, component: str | None = None) -> None:
        """Take the fault's members."""
        super().__init__(text)
        self.fault = Fault(code, text, component)
