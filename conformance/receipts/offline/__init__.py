"""Receipts taken apart, verified and compared without any server."""
