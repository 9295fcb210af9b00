"""Challenge tokens (profile 5.4): drafts, and second opinions by other libraries."""

from tools.vectors_builder.challenges.family import FAMILY

__all__ = ["FAMILY"]
