"""Receipts parsed, verified and compared without any server."""
