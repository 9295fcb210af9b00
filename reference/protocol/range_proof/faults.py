"""Where a proof is refused."""

from __future__ import annotations

from enum import StrEnum


class Stage(StrEnum):
    """The stages of a verification, in their order; no equation is looked at before every encoding was."""

    LENGTH = "length"
    COMMITMENT = "commitment"
    POINT = "point"
    SCALAR = "scalar"
    CHALLENGE = "challenge"
    POLYNOMIAL = "polynomial"
    INNER_PRODUCT = "inner_product"


class ProofInvalid(ValueError):
    """The proof does not show its statement.

    Attributes:
        stage: Where it was refused.
        element: The element or the challenge at fault, if it is one.
    """

    def __init__(self, stage: Stage, element: str | None = None) -> None:
        super().__init__(stage.value if element is None else f"{stage.value} {element}")
        self.stage = stage
        self.element = element
