"""Offline parsing, verification and comparison of receipts."""
