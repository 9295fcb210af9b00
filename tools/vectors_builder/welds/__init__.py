"""Welds for each lane, as complete signed transactions (profile 5.5): drafts, and libraries asked beside the judge."""

from tools.vectors_builder.welds.family import FAMILY

__all__ = ["FAMILY"]
