"""Payments on Base as checks make them."""
