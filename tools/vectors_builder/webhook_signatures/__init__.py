"""Vectors of webhook signatures: deliveries that verify, and deliveries with one fault each."""

from tools.vectors_builder.webhook_signatures.family import FAMILY

__all__ = ["FAMILY"]
