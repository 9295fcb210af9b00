"""The demands of a caller on a signature beyond its equation (6.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


class Demands(Protocol):
    """The demands of the caller.

    Attributes:
        label: The label of the signature to verify, or None if there must be only one.
        required_components: Identifiers that must be covered.
        allowed_algorithms: Algorithms that are allowed.
        expected_tag: The tag that the signature must have, or None.
        max_age_seconds: How old `created` may be, or None.
        require_content_digest: Whether a non-empty body must have a covered, matching digest.
    """

    @property
    def label(self) -> str | None: ...  # noqa: D102 - said above
    @property
    def required_components(self) -> Sequence[str]: ...  # noqa: D102 - said above
    @property
    def allowed_algorithms(self) -> Sequence[str]: ...  # noqa: D102 - said above
    @property
    def expected_tag(self) -> str | None: ...  # noqa: D102 - said above
    @property
    def max_age_seconds(self) -> int | None: ...  # noqa: D102 - said above
    @property
    def require_content_digest(self) -> bool: ...  # noqa: D102 - said above


@dataclass(frozen=True, slots=True)
class Policy:
    """Demands of a caller of the library."""

    allowed_algorithms: Sequence[str]
    label: str | None = None
    required_components: Sequence[str] = ()
    expected_tag: str | None = None
    max_age_seconds: int | None = None
    require_content_digest: bool = True
