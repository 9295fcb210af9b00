"""The stages at which a proof can be refused."""

from __future__ import annotations

from enum import StrEnum


class Stage(StrEnum):
    """The stages of a verification, in their order."""

    # Every encoding is checked before any equation (8.4). The equations assume elements of the prime-order
    # subgroup: a point of order eight in them allows a second proof from an honest one (decision 0028).
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
