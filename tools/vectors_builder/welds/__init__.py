"""Welds for each lane, as complete signed transactions (profile 5.5): drafts, and other libraries' opinions."""

from tools.vectors_builder.welds.family import FAMILY

__all__ = ["FAMILY"]
