"""Vectors of RFC 9421 and RFC 9530: the RFC's own examples, messages that hold, and messages with one fault each."""

from tools.vectors_builder.message_signatures.family import FAMILY

__all__ = ["FAMILY"]
