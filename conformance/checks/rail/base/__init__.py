"""Checks of the pay rail on Base."""
