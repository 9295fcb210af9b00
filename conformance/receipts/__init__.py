"""Receipts: vectors for hosted verifiers, their reports, comparison of two targets, and offline verification."""
