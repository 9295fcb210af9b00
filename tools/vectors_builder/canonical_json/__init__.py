"""Vectors of canonical JSON (RFC 8785): texts with their forms and hashes, and texts that have none."""

from tools.vectors_builder.canonical_json.family import FAMILY

__all__ = ["FAMILY"]
