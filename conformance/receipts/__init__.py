"""Receipts at a hosted verifier: true ones, forged ones, and what its reports say of them."""
