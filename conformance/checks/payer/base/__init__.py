"""Checks of payers on Base."""
