"""Proof that the suite can fail: every broken reference is caught, by exactly the rows that should catch it."""
