"""Challenge tokens (profile 5.4): drafts, and the libraries that are asked beside the judge."""

from tools.vectors_builder.challenges.family import FAMILY

__all__ = ["FAMILY"]
